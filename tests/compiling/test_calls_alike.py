"""A compiled function beside the plain one: what a call does besides its numbers, and how it decides."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg


def is_near_one(x: float) -> float:
    return x if math.isclose(x, 1.0) else -x


def of_a_table(x: float) -> float:
    return {0: x, 1: x * x}[np.count_nonzero(x > 1)]


def logarithm(x: float) -> float:
    try:
        return math.log(x)
    except ValueError:
        return 3.0 * x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [is_near_one, of_a_table, logarithm])
def test_examples_that_are_asked_one_by_one_decide_anew_in_each_call(f: Callable[[float], float]) -> None:
    batched = wg.vmap(f)
    g = wg.compile(lambda x: batched(np.stack([x, 1.5 * x])))
    for x in (-3.0, 3.0, 1.0, 0.5, 2.0, 3.0, 0.8):
        np.testing.assert_allclose(g(x), [f(x), f(1.5 * x)])


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: wg.value_and_grad(f, argnums=(0, 1)),
        lambda f: lambda a, b: wg.jvp(f, (a, b), (a, b)),
        lambda f: lambda a, b: wg.vjp(f, a, b)[0],
    ],
)
def test_one_array_given_twice_is_one_object_under_a_derivative(derivative: Callable[..., Any]) -> None:
    def f(a: np.ndarray, b: np.ndarray) -> np.floating[Any]:
        return np.sum(a * b) + (1.0 if a is b else 0.0)

    a, b = np.array([1.0, 2.0]), np.array([1.0, 3.0])
    g, plain = wg.compile(derivative(f)), derivative(f)
    for args in ((a, b), (a, a), (b, a), (a, a.copy()), (b, b)):
        assert repr(g(*args)) == repr(plain(*args))


def test_an_error_of_the_derivative_is_raised_by_the_first_run() -> None:
    """The function is not run again, which would write twice, and is compiled when it is called as it should be."""

    def f(x: np.ndarray, n: int) -> Any:
        if n:
            x += n
        return x if n else np.sum(x**2)

    g, x = wg.compile(wg.grad(f), strict=True), np.ones(2)
    with pytest.raises(wg.NonScalarOutputError):
        g(x, 2)
    np.testing.assert_array_equal(x, [3.0, 3.0])
    for _ in range(2):
        np.testing.assert_allclose(g(x, 0), [6.0, 6.0])
    assert g.explain().startswith("f: compiled (NumPy), 1 trace")


@pytest.mark.parametrize(
    "f",
    [
        np.asfortranarray,
        lambda x: np.array(x, order="F"),
        lambda x: (x, np.asfortranarray(x))[1],
        lambda x: np.arange(6).reshape(x.shape).T,
    ],
)
def test_what_is_made_in_the_order_of_fortran_has_it_in_each_call(f: Callable[[np.ndarray], np.ndarray]) -> None:
    g = wg.compile(f)
    for x in (np.arange(6.0).reshape(2, 3), np.ones((2, 3)), np.zeros((2, 3)), np.ones((2, 3))):
        found, right = g(x), f(x)
        np.testing.assert_array_equal(found, right)
        assert found.flags.f_contiguous == right.flags.f_contiguous
        assert found.flags.c_contiguous == right.flags.c_contiguous


@pytest.mark.filterwarnings("ignore")
def test_axes_that_are_computed_are_those_of_each_call() -> None:
    def f(x: np.ndarray) -> Any:
        first = x.argmax() % 2
        return np.ones((2, 3)).transpose((first, 1 - first)).shape[0] * x[0]

    g = wg.compile(wg.vmap(f))
    for x in ([[1.0, 2.0], [3.0, 5.0]], [[2.0, 1.0], [3.0, 0.5]], [[1.0, 2.0], [0.6, 0.5]]):
        np.testing.assert_array_equal(g(np.array(x)), list(map(f, np.array(x))))
