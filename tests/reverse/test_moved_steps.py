"""Small reverse steps that push tangents at once: second derivatives against differences of the function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.api import derivative_code
from wengert.reverse.accumulators import TracedCotangents
from wengert.reverse.moved_steps import moved_step

Fn = Callable[..., Any]
A = np.array([[0.3, -0.8, 0.5], [1.1, 0.2, -0.4], [-0.6, 0.9, 0.7], [0.1, -0.2, 0.4]])
X = np.array([0.3, 0.7, 0.45])


def at_line(u: np.ndarray) -> np.ndarray:
    with np.errstate(all="raise"):
        return np.log1p(u * u) / u


FUNCTIONS: dict[str, Fn] = {
    "sin": lambda x: np.sum(np.sin(x) * x),
    "quotient": lambda x: np.sum(x / (1.0 + x * x)),
    "quotients of numbers": lambda x: x[0] / x[1] / x[2],
    "power": lambda x: np.sum(x**3 + x**2.5 - x ** (-1)),
    "power by a number": lambda x: np.sum(2.0**x),
    "power by a variable": lambda x: np.sum(x ** x[0]),
    "root": lambda x: np.sqrt(np.sum(np.square(x))) + np.sum(np.cbrt(x)),
    "exponentials": lambda x: np.sum(np.exp(-x) + np.expm1(x) * np.exp2(x)),
    "logarithms": lambda x: np.sum(np.log(x) * np.log2(x) + np.log10(x) - np.log1p(x)),
    "hyperbolic": lambda x: np.sum(np.tanh(x) * np.cosh(x) + np.sinh(x) + np.arctanh(x) + np.arcsinh(x)),
    "circular": lambda x: np.sum(np.tan(x) + np.cos(x) * np.arcsin(x) + np.arccos(x) + np.arctan(x)),
    "arctan2": lambda x: np.arctan2(x[0], x[1]) + np.hypot(x[1], x[2]),
    "absolute": lambda x: np.sum(np.abs(x - 0.5) ** 3 + np.sign(x) * x),
    "mean and matmul": lambda x: np.mean((A @ x) ** 3),
    "dot": lambda x: np.sum(np.exp(np.dot(A, x))),
    "dot of itself": lambda x: np.dot(x, x) ** 2,
    "logistic": lambda x: np.sum(np.log1p(np.exp(np.dot(A, x)))),
    "a number against an array": lambda x: np.sum((A[:, 0] - x[0]) ** 2 / x[1] ** 2) + np.log(x[1]) * x[2],
    "rows and columns": lambda x: np.sum(np.exp(x[:, None] * x) / x),
    "a row against a matrix": lambda x: np.sum(np.tanh(A * x + x[0])),
    "parts": lambda x: np.sum(x[1:] * x[:-1] ** 2) + x[-1] ** 3,
    "one number twice": lambda x: (x[0] + x[0] * x[0]) * x[0] + np.sum(x * x[1]),
    "repeated items": lambda x: np.sum(x[[0, 0, 1]] ** 3),
    "maximum": lambda x: np.sum(np.maximum(x, 0.5) ** 2) + np.max(x) ** 3,
    "where": lambda x: np.sum(np.where(x > 0.4, x**3, np.sin(x))),
    "norm and variance": lambda x: np.linalg.norm(x) * np.var(x),
    "a loop over numbers": lambda x: _loop(x),
    "stores": lambda x: _stores(x),
    "an error state": lambda x: np.sum(at_line(x)),
    "linear": lambda x: np.sum(A @ x),
    "defaults of a rule": lambda x: math.log(x[0]) * math.log(x[1], 3.0),
    "float": lambda x: float(np.sum(x**2)) * float(x[0]),
}


def _loop(x: np.ndarray) -> Any:
    total = 1.0
    for k in range(3):
        total = total * x[k] + np.sin(total)
    return total


def _stores(x: np.ndarray) -> Any:
    y = np.zeros(4)
    for k in range(3):
        y[k + 1] = x[k] * y[k] + x[k] ** 2
    return np.sum(y**2)


def hessian_by_differences(f: Fn, x: np.ndarray, h: float = 1e-4) -> np.ndarray:
    steps = h * np.eye(len(x))
    rows = [[f(x + a + b) - f(x + a - b) - f(x - a + b) + f(x - a - b) for b in steps] for a in steps]
    return np.array(rows) / (4 * h * h)


@pytest.fixture(autouse=True)
def _by_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivative_code, "WARM_CALLS", 1 << 60)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_are_those_of_differences(name: str) -> None:
    f, v = FUNCTIONS[name], np.array([0.5, -1.0, 2.0])
    expected = hessian_by_differences(f, X)
    close = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(wg.hessian(f)(X), expected, **close)
    np.testing.assert_allclose(wg.hvp(f, X, v), expected @ v, **close)
    np.testing.assert_allclose(wg.jvp(wg.grad(f), (X,), (v,))[1], expected @ v, **close)
    np.testing.assert_allclose(wg.jacfwd(lambda x: wg.vjp(f, x)[1](1.0)[0])(X), expected, **close)


def taken(monkeypatch: pytest.MonkeyPatch, work: Callable[[], Any]) -> list[bool]:
    """Whether each small step back in some work pushed its tangents at once."""
    found = list[bool]()
    monkeypatch.setattr(TracedCotangents, "moved_step", lambda *args: found.append(moved_step(*args)) or found[-1])
    work()
    return found


COMMON = [*FUNCTIONS]
for _name in ("maximum", "norm and variance"):  # reductions that move, and their like
    COMMON.remove(_name)


@pytest.mark.parametrize("name", COMMON)
def test_all_steps_of_common_functions_push_tangents_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gradient = wg.grad(FUNCTIONS[name])
    found = taken(monkeypatch, lambda: (wg.jvp(gradient, (X,), (X,)), wg.jacfwd(gradient)(X)))
    assert found or name == "stores"  # into memory, which rules out such steps
    assert all(found)


def test_the_pullback_of_a_users_rule_need_not_be_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    def identity(x: Any) -> Any:
        return x * 1.0

    @wg.vjp_rule(identity)
    def clipped(y_bar: Any, y: Any, x: Any) -> Any:
        return np.clip(y_bar, -1.0, 1.0)

    f = wg.grad(lambda x: np.sum(identity(x) ** 2))
    found = wg.jvp(f, (np.array([0.2, 5.0]),), (np.ones(2),))[1]
    np.testing.assert_allclose(found, [2.0, 0.0])  # of clip(2x), which is constant beyond 1


def test_an_outer_variable_moves_the_partials_of_an_inner_gradient() -> None:
    def outer(t: float) -> Any:
        return wg.grad(lambda x: np.sum(np.sin(t * x) + x**t))(X)

    t, h = 1.3, 1e-5
    expected = (outer(t + h) - outer(t - h)) / (2 * h)
    np.testing.assert_allclose(wg.jvp(outer, (t,), (1.0,))[1], expected, rtol=1e-8, atol=1e-8)
    by_hand = np.cos(t * X) - t * X * np.sin(t * X) + X ** (t - 1) * (1 + t * np.log(X))
    np.testing.assert_allclose(wg.jvp(outer, (t,), (1.0,))[1], by_hand, rtol=1e-12)


def test_an_earlier_pullback_is_linear_in_its_cotangent() -> None:
    y, pullback = wg.vjp(lambda x: np.sin(x) * x**2, X)
    found = wg.jvp(lambda t: pullback(y * t * t)[0], (3.0,), (1.0,))[1]
    np.testing.assert_allclose(found, 6.0 * y * (np.cos(X) * X**2 + 2 * X * np.sin(X)), rtol=1e-12)


def test_a_gradient_inside_a_gradient_inside_a_direction() -> None:
    def inner(x: np.ndarray) -> Any:
        return np.sum(wg.grad(lambda z: np.sum(np.exp(z * x[0])) * x[1])(x) ** 2)

    def by_hand(x: np.ndarray) -> Any:  # of ∂/∂z, at z = x
        return np.sum((x[0] * x[1] * np.exp(x * x[0])) ** 2)

    v, h = np.array([0.5, -1.0, 2.0]), 1e-4
    expected = hessian_by_differences(by_hand, X, h) @ v
    np.testing.assert_allclose(wg.jvp(wg.grad(inner), (X,), (v,))[1], expected, rtol=1e-5)


def test_a_gradient_may_be_written_into() -> None:
    def f(x: np.ndarray) -> Any:
        g = wg.grad(lambda x: np.sum(x + x**3))(x)
        g[0] = x[1] ** 2
        g *= x
        return g

    x = np.array([2.0, 3.0])
    found = wg.jacfwd(f)(x)
    np.testing.assert_allclose(found, [[9.0, 12.0], [0.0, 82.0]])  # of (x₁² x₀, (1 + 3 x₁²) x₁)


def test_zeros_meet_no_infinity() -> None:
    x = np.array([0.0, 4.0])
    with np.errstate(all="ignore"):
        found = wg.hessian(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)))(x)
    np.testing.assert_allclose(found, [[0.0, 0.0], [0.0, -1 / 32]])


def test_a_division_by_zero_has_no_part_in_a_derivative() -> None:
    def f(x: np.ndarray) -> Any:
        t = float(x[0])
        return x[1] ** 2 + 0.0 * (1.0 if t > 0.0 else t**0.5)

    with np.errstate(all="ignore"):
        np.testing.assert_allclose(wg.hessian(f)(np.array([0.0, 4.0])), [[0.0, 0.0], [0.0, 2.0]])


def test_complex_numbers() -> None:
    def f(x: np.ndarray) -> Any:
        return np.sum(np.abs(np.exp(1j * x) * (x + 2j)) ** 2 + np.real(np.sin(x * (1 + 1j))))

    np.testing.assert_allclose(wg.hessian(f)(X), hessian_by_differences(f, X), rtol=1e-5, atol=1e-5)


def test_single_precision_stays() -> None:
    x = X.astype(np.float32)
    found = wg.hvp(lambda x: np.sum(np.sin(x) * x), x, np.ones(3, np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, 2 * np.cos(x) - x * np.sin(x), rtol=1e-5)


def test_a_third_derivative() -> None:
    f = lambda x: np.sum(np.sin(x) * x**2)
    third = wg.jacfwd(wg.hessian(f))(X)
    exact = 6 * np.cos(X) - 6 * X * np.sin(X) - X**2 * np.cos(X)
    np.testing.assert_allclose(third[np.arange(3), np.arange(3), np.arange(3)], exact, rtol=1e-10)
