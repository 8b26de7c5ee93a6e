"""Hessians of small functions and products with them, by a walk over one recording."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.api import derivative_code

X, V = np.array([0.3, 0.7, 0.45]), np.array([0.5, -1.0, 2.0])
A = np.array([[0.3, -0.8, 0.5], [1.1, 0.2, -0.4], [-0.6, 0.9, 0.7], [0.1, -0.2, 0.4]])


def _loop(x: Any) -> Any:
    total = 1.0
    for k in range(3):
        total = total * x[k] + math.sin(total)
    return total


WALKED: dict[str, Callable[[Any], Any]] = {
    "products": lambda x: np.sum(np.sin(x) * x) * x[0],
    "quotients": lambda x: x[0] / x[1] / x[2] + np.sum(x / (1.0 + x * x)),
    "powers": lambda x: np.sum(x**3 + x**2.5 - x ** (-1) + 2.0**x) + x[0] ** x[1],
    "matrix": lambda x: np.mean((A @ x) ** 3) + np.dot(x, x) ** 2,
    "logistic": lambda x: np.sum(np.log1p(np.exp(np.dot(A, x)))),
    "broadcast": lambda x: np.sum(np.exp(x[:, None] * x) / x) + np.sum(np.tanh(A * x + x[0])),
    "repeated items": lambda x: np.sum(x[[0, 0, 1]] ** 3) + x[-1] * np.sum(x[1:] * x[:-1] ** 2),
    "branches": lambda x: np.sum(np.where(x > 0.4, x**3, np.sin(x))) + np.sum(np.clip(x, 0.35, x[1] * x[1] + 0.1) ** 3),
    "sequences": lambda x: (
        np.sum(np.concatenate([x * x, [2.0], np.sin(x)]) ** 3) * np.sum(np.stack([x[:2], x[1:]]) ** 2)
    ),
    "numbers": _loop,
    "independent of one": lambda x: x[0] ** 2 * x[2],
    "an inner derivative": lambda x: wg.grad(lambda t: np.sum(np.sin(t * x)))(x[0]),
    "an error state": lambda x: np.sum(_quotient(x)),
    "copies": lambda x: np.sum(np.array(x * x, dtype=float) ** 2) * np.asarray(x)[0] * np.array(x[1] ** 2),
    "stores": lambda x: np.sum(_stored(x) ** 2),
    "stores in two axes": lambda x: np.sum(_stored_in_two_axes(x) ** 3),
    "stores by a mask": lambda x: np.sum(_stored_by_mask(x) ** 3 * x),
    "sums in parts": lambda x: np.sum(_summed_in_parts(x) ** 3),
}
NOT_WALKED: dict[str, Callable[[Any], Any]] = {
    "overwritten numbers": lambda x: _overwritten(x),
    "linear": lambda x: np.sum(A @ x),
    "constant": lambda x: 1.0,
    "a root of zero": lambda x: np.sqrt(x[0] * 0.0) + x[1] ** 3,
    "a hidden nan": lambda x: np.sum(np.where(x > 0.1, x**2, (x - 10.0) ** 1.5)),
}


def _quotient(x: Any) -> Any:
    with np.errstate(all="raise"):
        return np.log1p(x * x) / x


def _stored(x: Any) -> Any:
    y = np.ones(4)
    y[1:] = x
    y[0] = x[1] * y[2]
    return y


def _stored_in_two_axes(x: Any) -> Any:
    y = np.ones((3, 3)) * x[1]
    y[0] = x * x
    y[1, :2] = x[:2] * x[1:]
    y[..., 2] = x[0] * x[2]
    y[2, 1] = 0.5
    y[1:, 0] = y[0, 1:]
    return y


def _stored_by_mask(x: Any) -> Any:
    mask, y = np.array([True, False, True]), np.zeros(3)
    y[mask] = x[mask] ** 2
    y[~mask] = x[0] * x[1]
    return y


def _summed_in_parts(x: Any) -> Any:
    y = np.ones(4)
    y[1:] += x * x
    y[:2] += x[1]
    y[2] += y[3] * x[0]
    return y


def _overwritten(x: Any) -> Any:
    y = np.exp(x)
    total = np.sum(y * y)
    y[0] = 0.0
    return total + np.sum(y**3)


def by_differences(f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    def slopes(h: float) -> np.ndarray:
        return np.array([(wg.grad(f)(x + e) - wg.grad(f)(x - e)) / (2 * h) for e in h * np.eye(len(x))])

    return (4 * slopes(5e-5) - slopes(1e-4)) / 3


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each second derivative that might be walked was."""
    found: list[bool] = []
    monkeypatch.setattr(derivative_code, "WARM_CALLS", 1 << 60)
    for name in ("products_of_calls", "hessian_of_calls"):
        walk = getattr(derivative_code, name)

        def watched(*args: Any, walk: Any = walk) -> Any:
            found.append(False)
            value = walk(*args)
            found[-1] = value is not None
            return value

        monkeypatch.setattr(derivative_code, name, watched)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*WALKED, *NOT_WALKED])
def test_second_derivatives_are_differences_of_gradients(name: str, walks: list[bool]) -> None:
    f = (WALKED | NOT_WALKED)[name]
    expected = by_differences(f, X)
    close = {"rtol": 1e-6, "atol": 1e-7 * np.nanmax(np.abs(expected), initial=1e-3)}
    np.testing.assert_allclose(wg.hessian(f)(X), expected, **close)
    np.testing.assert_allclose(wg.hvp(f, X, V), expected @ V, **close)
    np.testing.assert_allclose(wg.vhp(f, X, V), V @ expected, **close)
    assert all(walks) if name in WALKED else not any(walks)
    general = wg.jacfwd(wg.grad(f))(X)
    np.testing.assert_allclose(wg.hessian(f)(X), general, rtol=1e-12, atol=1e-14)


def test_several_arguments(walks: list[bool]) -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        return np.sum(np.sin(a) * b[0]) + np.sum(b**3) * c

    a, b = np.array([[0.2, 0.4]]), np.array([0.5, 0.6, 0.7])
    (aa, ab), (ba, bb) = wg.hessian(f, argnums=(0, 1))(a, b, 2.0)
    np.testing.assert_allclose(aa, np.diag(-np.sin(a[0]) * b[0]).reshape(1, 2, 1, 2))
    np.testing.assert_allclose(ab, np.einsum("ij,k->ijk", np.cos(a), [1.0, 0.0, 0.0]))
    np.testing.assert_allclose(ba, np.moveaxis(ab, -1, 0))
    np.testing.assert_allclose(bb, np.diag(12.0 * b))
    v, w = np.array([[1.0, -1.0]]), np.array([2.0, 0.5, 1.0])
    by_a, by_b = wg.hvp(lambda a, b: f(a, b, 2.0), (a, b), (v, w))
    np.testing.assert_allclose(by_a, np.einsum("ijkl,kl->ij", aa, v) + ab @ w)
    np.testing.assert_allclose(by_b, np.einsum("ijk,jk->i", ba, v) + bb @ w)
    assert walks
    assert all(walks)


def test_results_share_no_memory_with_directions() -> None:
    v = V.copy()
    found = wg.hvp(lambda x: np.sum(x * x) * 0.5, X, v)
    np.testing.assert_array_equal(found, V)
    found[:] = 0.0
    np.testing.assert_array_equal(v, V)


def test_the_function_may_write_into_the_direction() -> None:
    v = V.copy()

    def f(x: Any) -> Any:
        v[:] = 7.0
        return np.sum(x**3)

    np.testing.assert_allclose(wg.hvp(f, X, v), 6.0 * X * V)


def test_the_function_may_write_into_its_argument() -> None:
    def f(x: Any) -> Any:
        x[0] = x[1] * x[2]
        return np.sum(x**3) * x[1]

    expected = wg.hessian(lambda x: ((x[1] * x[2]) ** 3 + x[1] ** 3 + x[2] ** 3) * x[1])(X)
    np.testing.assert_allclose(wg.hessian(f)(X.copy()), expected)
    np.testing.assert_allclose(wg.hvp(f, X.copy(), V), expected @ V)


@pytest.mark.parametrize("name", ["powers", "overwritten numbers"])
def test_the_function_runs_once(name: str) -> None:
    runs = []

    def f(x: Any) -> Any:
        runs.append(1)
        return (WALKED | NOT_WALKED)[name](x)

    for count, second in enumerate((wg.hessian(f), lambda x: wg.hvp(f, x, V), lambda x: wg.vhp(f, x, V)), 1):
        second(X)
        assert len(runs) == count


def test_users_rules_are_not_walked(walks: list[bool]) -> None:
    def identity(x: Any) -> Any:
        return x * 1.0

    @wg.vjp_rule(identity)
    def clipped(y_bar: Any, y: Any, x: Any) -> Any:
        return np.clip(y_bar, -1.0, 1.0)

    x = np.array([0.2, 5.0])
    np.testing.assert_allclose(wg.hvp(lambda x: np.sum(identity(x) ** 2), x, np.ones(2)), [2.0, 0.0])
    assert not any(walks)


def test_warnings_are_those_of_the_function() -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        value = wg.hvp(lambda x: np.sum(x**2) + np.sqrt(x[0]), np.array([0.0, 1.0]), np.ones(2))
    assert not np.isfinite(value[0])
    assert value[1] == 2.0
    assert all(issubclass(w.category, RuntimeWarning) for w in found)
