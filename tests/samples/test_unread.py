"""Products of which a part is infinite and read by nobody: that part has gradient 0, and the others theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

INFINITE = [np.inf, -np.inf, 1e200]  # of the last, the product of two is

# Functions of six numbers, of which the last three are not in the result.
ROWS: dict[str, Callable[..., Any]] = {
    "prod": lambda x: np.prod(x.reshape(2, 3), axis=1)[0],
    "prod keepdims": lambda x: np.prod(x.reshape(2, 3), axis=1, keepdims=True)[0, 0],
    "prod of columns": lambda x: x.reshape(2, 3).T.prod(axis=0)[0],
    "prod with initial": lambda x: np.prod(x.reshape(2, 3), axis=1, initial=2.0)[0],
    "prod where": lambda x: np.prod(x.reshape(2, 3), axis=1, where=[True, True, False])[0],
    "nanprod": lambda x: np.nanprod(x.reshape(2, 3), axis=1)[0],
    "multiply.reduce": lambda x: np.multiply.reduce(x.reshape(2, 3), axis=1)[0],
    "cumprod": lambda x: np.cumprod(x)[2],
    "cumprod method": lambda x: x.cumprod()[:3] @ np.array([1.0, 2.0, 3.0]),
    "cumprod of rows": lambda x: np.cumprod(x.reshape(2, 3), axis=1)[0] @ np.array([1.0, -2.0, 3.0]),
    "cumprod of rows, its end": lambda x: np.cumprod(x.reshape(2, 3), axis=1)[0, -1],
    "nancumprod": lambda x: np.nancumprod(x)[2],
    "multiply.accumulate": lambda x: np.multiply.accumulate(x.reshape(2, 3), axis=1)[0, 1],
    "long cumprod": lambda x: np.cumprod(np.concatenate([x] + 30 * [x[3:]]))[2],
    "read with weight 0": lambda x: np.sum(np.where([True, False], np.prod(x.reshape(2, 3), axis=1), 0.0)),
}
DIVIDED: dict[str, Callable[..., Any]] = {
    "divide.accumulate": lambda x: np.true_divide.accumulate(x)[2],
    "divide.accumulate of rows": lambda x: np.true_divide.accumulate(x.reshape(2, 3), axis=1)[0, 2],
}


def check(f: Callable[..., Any], rest: Any) -> None:
    first = np.array([2.0, 3.0, -0.5])
    with np.errstate(all="ignore"):
        got = wg.grad(f)(np.concatenate([first, rest]))
    expected = wg.grad(f)(np.concatenate([first, [1.0, 1.0, 1.0]]))
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    assert not expected[3:].any()
    step = 1e-30j  # ∂f/∂x₀ by a complex step, that the two are not wrong alike
    moved = f(np.concatenate([first + [step, 0, 0], [1.0, 1.0, 1.0]]))
    np.testing.assert_allclose(got[0], np.imag(moved) / 1e-30, rtol=1e-12)


@pytest.mark.parametrize("huge", INFINITE)
@pytest.mark.parametrize("where", [[3], [4], [5], [3, 4], [3, 5], [4, 5], [3, 4, 5]])
@pytest.mark.parametrize("name", ROWS)
def test_of_products(name: str, where: list[int], huge: float) -> None:
    rest = np.array([5.0, 0.0, 7.0])
    rest[np.array(where) - 3] = huge
    check(ROWS[name], rest)


@pytest.mark.parametrize("rest", [[0.0, 1.0, 2.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [np.inf, 0.0, 1.0]])
@pytest.mark.parametrize("name", DIVIDED)
def test_of_quotients(name: str, rest: list[float]) -> None:
    check(DIVIDED[name], rest)


@pytest.mark.parametrize("name", ROWS)
def test_second_order(name: str) -> None:
    """The gradient of Σ ∂f/∂xᵢ, of which the infinite part is read by nobody either."""
    first = np.array([2.0, 3.0, -0.5])
    twice = wg.grad(lambda x: np.sum(wg.grad(ROWS[name])(x)[:3]))
    with np.errstate(all="ignore"):
        got = twice(np.concatenate([first, [np.inf, np.inf, 4.0]]))
    np.testing.assert_allclose(got, twice(np.concatenate([first, [1.0, 1.0, 1.0]])), rtol=1e-12)


def test_a_cotangent_of_zero_keeps_its_derivative() -> None:
    """∂/∂t ∂(t Π xᵢ)/∂x at t = 0 is the product of the others, an infinite one too."""

    def by_t(x: np.ndarray) -> Any:
        return wg.grad(lambda t: wg.grad(lambda x: t * np.prod(x))(x)[0])(0.0)

    assert by_t(np.array([2.0, 3.0, 4.0])) == 12.0
    assert wg.grad(lambda t: wg.grad(lambda x: (t * np.cumprod(x))[2])(np.array([2.0, 3.0, 4.0]))[0])(0.0) == 12.0
    bar, pull = wg.vjp(lambda t: wg.vjp(np.prod, np.array([2.0, np.inf, 4.0]))[1](t)[0], 0.0)
    np.testing.assert_array_equal(bar, [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(pull(np.array([1.0, 0.0, 0.0]))[0], np.inf)


def test_what_is_read_is_infinite() -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(wg.grad(np.prod)(np.array([2.0, np.inf, 4.0])), [np.inf, 8.0, np.inf])
        got = wg.grad(lambda x: np.sum(np.cumprod(x)))(np.array([2.0, np.inf, 4.0]))
    np.testing.assert_array_equal(got, [np.inf, 10.0, np.inf])


def test_elementwise_it_is_zero() -> None:
    """As docs/kinks.md says: a product with a factor of zero is zero."""
    with np.errstate(all="ignore"):
        got = wg.grad(lambda x: (x * np.array([1.0, np.inf]))[0])(np.array([2.0, 3.0]))
    np.testing.assert_array_equal(got, [1.0, 0.0])
