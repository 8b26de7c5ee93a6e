"""Gradients inside users' pullbacks: rules of solvers by the implicit function theorem, in every mode and depth.

z(x) solves z³ + z = x, so z' = 1 / (3z² + 1) and z'' = -6z z'³: all numbers are closed forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg


def residual(z: Any, x: Any) -> Any:
    return z**3 + z - x


def newton(x: Any) -> Any:
    z = x * 0.5
    for _ in range(12):
        z = z - residual(z, x) / (3 * z * z + 1)
    return z


def newton_by_gradients(x: Any) -> Any:
    """The same, which takes its slope from a gradient."""
    z = x * 0.5
    for _ in range(12):
        z = z - residual(z, x) / wg.grad(lambda z: np.sum(residual(z, x)))(z)
    return z


def ones_like(z: Any) -> Any:
    return np.ones_like(z) if isinstance(z, np.ndarray) else 1.0


def by_gradients(x: Any) -> Any:
    z = newton_by_gradients(x)

    def pullback(z_bar: Any) -> Any:
        w = z_bar / wg.grad(lambda z: np.sum(residual(z, x)))(z)
        return (-wg.grad(lambda x: np.sum(w * residual(z, x)))(x),)

    return z, pullback


def by_pullbacks_from_the_body(x: Any) -> Any:
    z = newton(x)
    _, to_z = wg.vjp(lambda z: residual(z, x), z)
    _, to_x = wg.vjp(lambda x: residual(z, x), x)

    def pullback(z_bar: Any) -> Any:
        return (-to_x(z_bar / to_z(ones_like(z))[0])[0],)

    return z, pullback


def by_pullbacks(x: Any) -> Any:
    z = newton(x)

    def pullback(z_bar: Any) -> Any:
        _, to_z = wg.vjp(lambda z: residual(z, x), z)
        _, to_x = wg.vjp(wg.checkpoint(lambda x: residual(z, x)), x)
        return (-to_x(z_bar / to_z(ones_like(z))[0])[0],)

    return z, pullback


def by_one_rule_in_another(x: Any) -> Any:
    def outer_solve(x: Any) -> Any:
        return solvers["by_gradients"](x)

    z, to_x = wg.vjp(outer_solve, x)
    return z, lambda z_bar: to_x(z_bar)


def solver(name: str) -> Callable[..., Any]:
    def solve(x: Any) -> Any:
        return newton(x)

    solve.__name__ = name
    return solve


RULES = [by_gradients, by_pullbacks_from_the_body, by_pullbacks, by_one_rule_in_another]
solvers = {rule.__name__: solver(rule.__name__) for rule in RULES}


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    with wg.rules.scope():
        for rule in RULES:
            wg.rrule(solvers[rule.__name__])(rule)
        yield


ARGUMENTS = {"float": 1.3, "array": np.array([1.3, -0.4, 2.2]), "large": np.linspace(0.1, 2, 2000)}


def _sum(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.sum(f(x))


def _slope(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return wg.grad(_sum(f))


Mode = Callable[[Callable[[Any], Any], Any], Any]

FIRST: dict[str, Mode] = {
    "grad": lambda f, x: _slope(f)(x),
    "at once": lambda f, x: wg.grad(_sum(f), x)[1][1],
    "vjp": lambda f, x: wg.vjp(f, x)[1](ones_like(x))[0],
    "tape": lambda f, x: wg.gradtape(_sum(f), x).play(x)[1][1],
    "tape of other numbers": lambda f, x: wg.gradtape(_sum(f), x + 0.125).compile()(x)[1][1],
    "checkpoint": lambda f, x: _slope(wg.checkpoint(f))(x),
    "inner checkpoint": lambda f, x: wg.grad(wg.checkpoint(_sum(wg.checkpoint(f))))(x),
    "inside another trace": lambda f, x: wg.vjp(lambda y: _slope(f)(x) * y, x)[0] / x,
    "as a factor": lambda f, x: wg.grad(lambda y: np.sum(y * _slope(f)(x)))(x),
}

SECOND: dict[str, Mode] = {
    "grad of grad": lambda f, x: _slope(_slope(f))(x),
    "grad of vjp": lambda f, x: _slope(lambda x: wg.vjp(f, x)[1](ones_like(x))[0])(x),
    "vjp of grad": lambda f, x: wg.vjp(_slope(f), x)[1](ones_like(x))[0],
    "tape of grad": lambda f, x: wg.gradtape(_sum(_slope(f)), x).play(x)[1][1],
    "grad of a checkpoint's": lambda f, x: _slope(_slope(wg.checkpoint(f)))(x),
    "checkpoint of grad": lambda f, x: _slope(wg.checkpoint(_slope(f)))(x),
}


@pytest.fixture(params=solvers)
def solve(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return solvers[request.param]


@pytest.fixture(params=ARGUMENTS)
def x(request: pytest.FixtureRequest) -> Any:
    return ARGUMENTS[request.param]


@pytest.mark.parametrize("mode", FIRST)
def test_first_derivatives(solve: Callable[[Any], Any], x: Any, mode: str) -> None:
    z = newton(x)
    np.testing.assert_allclose(FIRST[mode](lambda x: solve(x) ** 2, x), 2 * z / (3 * z * z + 1), rtol=1e-9)


@pytest.mark.parametrize("mode", FIRST)
def test_first_derivatives_of_a_composition(solve: Callable[[Any], Any], x: Any, mode: str) -> None:
    z, inner = newton(2 * np.sin(x)), 2 * np.cos(x)
    expected = z + x * inner / (3 * z * z + 1)
    np.testing.assert_allclose(FIRST[mode](lambda x: solve(2 * np.sin(x)) * x, x), expected, rtol=1e-9)


@pytest.mark.parametrize("mode", SECOND)
def test_second_derivatives(solve: Callable[[Any], Any], x: Any, mode: str) -> None:
    z = newton(x)
    slope = 1 / (3 * z * z + 1)
    expected = 2 * slope**2 - 12 * z * z * slope**3
    np.testing.assert_allclose(SECOND[mode](lambda x: solve(x) ** 2, x), expected, rtol=1e-9)


def test_third_derivatives(solve: Callable[[Any], Any]) -> None:
    z = newton(1.3)
    slope = 1 / (3 * z * z + 1)
    expected = -6 * slope**4 + 108 * z * z * slope**5
    np.testing.assert_allclose(wg.grad(wg.grad(wg.grad(solve)))(1.3), expected, rtol=1e-9)


def test_two_variables(solve: Callable[[Any], Any]) -> None:
    """∂/∂x ∂/∂y z(xy) = z' + xy z''."""
    z = newton(0.7 * 1.9)
    slope = 1 / (3 * z * z + 1)
    mixed = wg.grad(lambda x: wg.grad(lambda y: solve(x * y))(1.9))(0.7)
    np.testing.assert_allclose(mixed, slope + 0.7 * 1.9 * -6 * z * slope**3, rtol=1e-9)


def test_the_memory_of_a_solver_that_writes() -> None:
    """What the pullback's own gradient writes, and what the traced function wrote before, are told apart."""

    def double(x: np.ndarray) -> np.ndarray:
        return 2 * x

    @wg.rrule(double)
    def double_rule(x: np.ndarray) -> Any:
        def pullback(y_bar: np.ndarray) -> Any:
            def inner(w: np.ndarray) -> Any:
                buffer = np.zeros(3)
                for k in range(3):
                    buffer[k] = 2 * w[k]
                return (buffer * y_bar).sum()

            return (wg.grad(inner)(x),)

        return 2 * x, pullback

    def f(x: np.ndarray) -> Any:
        a = x.copy()
        a[0] *= 3
        b = double(a)
        b[1] = a[0]
        return (b * b).sum()

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(wg.grad(f)(x), [2 * 36 + 18, 0, 24])
    np.testing.assert_allclose(wg.grad(lambda x: wg.grad(f)(x).sum())(x), [90, 0, 8])
