"""What the engine computes on cotangents that an outer derivative watches: seeds, sums, casts, parts, conjugates.

The pullback of a function that is linear in ȳ is its own derivative: where each test sums it, the weights of ȳ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def rules() -> Iterator[None]:
    with wg.rules.scope():
        for f, rule in ((total_of_list, total_of_list_rule), (two, two_rule), (by_inplace, by_inplace_rule)):
            wg.rrule(f)(rule)
        yield


def weights(back: Callable[[Any], Any], y_bar: Any) -> Any:
    """∂/∂ȳ of the sum of what a pullback gives, in three ways that agree."""

    def total(y_bar: Any) -> Any:
        return np.sum(np.real(back(y_bar)))

    found = wg.grad(total)(y_bar)
    np.testing.assert_array_equal(wg.vjp(total, y_bar)[1](1.0)[0], found)
    np.testing.assert_array_equal(wg.gradtape(total, y_bar).play(y_bar)[1][1], found)
    return found


def back(f: Callable[..., Any], x: Any, wrap: Callable[[Any], Any] = lambda y_bar: y_bar) -> Callable[[Any], Any]:
    return lambda y_bar: wg.vjp(f, x)[1](wrap(y_bar))[0]


@pytest.mark.parametrize("y_bar", [2.0, 2 + 1j, X, X + 1j], ids=["float", "complex", "array", "complex array"])
def test_one_result(y_bar: Any) -> None:
    x = (X if np.ndim(y_bar) else 1.5) + (0j if np.iscomplexobj(y_bar) else 0)
    np.testing.assert_array_equal(weights(back(lambda x: 3 * x, x), y_bar), 3 + 0 * np.asarray(x))
    np.testing.assert_array_equal(weights(lambda g: wg.grad(lambda x: 3 * x, x, seed=g)[1][1], y_bar), 3 + 0 * x)


def test_results_that_are_the_same_value() -> None:
    def twice(x: Any) -> Any:
        y = 3 * x
        return y, y

    assert weights(back(twice, 1.5, lambda g: (g, 2 * g)), 2.0) == 9
    np.testing.assert_array_equal(weights(back(twice, X, lambda g: (g, 2 * g)), X), [9, 9, 9])
    np.testing.assert_array_equal(weights(back(twice, X + 0j, lambda g: (g, 2 * g)), X + 1j), [9, 9, 9])


def test_a_complex_cotangent_of_a_real_argument() -> None:
    np.testing.assert_array_equal(weights(back(lambda x: 3 * x + 1j, X), X + 1j), [3, 3, 3])


def test_lists_and_dictionaries_of_results() -> None:
    assert weights(back(lambda x: [3 * x, {"a": 2 * x}], 1.5, lambda g: [g, {"a": g}]), 2.0) == 5
    np.testing.assert_array_equal(weights(back(lambda x: [3 * x, 2 * x], 1.5, lambda g: [g[0], g[1]]), X[:2]), [3, 2])


def test_a_seed_that_is_a_list() -> None:
    def total(t: float) -> Any:
        return np.sum(wg.grad(lambda x: 3 * x, X, seed=[t, 2 * t, t])[1][1])

    assert wg.grad(total)(1.0) == 12


@pytest.mark.parametrize("dtype", ["e", "f", "d", "F", "D"])
def test_casts(dtype: str) -> None:
    y_bar = X + 1j if dtype in "FD" else X
    np.testing.assert_array_equal(weights(back(lambda x: 3 * x, X.astype(dtype)), y_bar), [3, 3, 3])
    number = np.dtype(dtype).type(1.5)
    assert weights(back(lambda x: 3 * x, number), 2 + 1j if dtype in "FD" else 2.0) == 3


def test_numbers_broadcast_to_arrays() -> None:
    for x in (2.0, np.float32(2.0), np.array(2.0), np.array([[2.0]])):
        np.testing.assert_array_equal(
            weights(back(lambda x: 3 * x + X, x), X.reshape(np.shape(x * X))), np.full(np.shape(x * X), 3.0)
        )


def test_parts_of_arrays_that_are_read_many_times() -> None:
    index = np.array([0, 1, 1])
    y_bar = X[:2]
    read = weights(back(lambda x: x[0] * x[:2] + x[1:] + x[index][1:] + x.reshape(3, 1)[1:, 0], X), y_bar)
    np.testing.assert_array_equal(read, [1 + 1 + 1 + 1 + 1, 2 + 1 + 1 + 1 + 1])


def test_views_that_another_recording_has_at_the_same_places() -> None:
    """A pullback that is called in the trace of another function knows views by the places where its own has them."""
    pull = wg.vjp(lambda x: x[1:][0] * x[1:] ** 2, X)[1]

    def size(y_bar: Any) -> Any:
        first = y_bar[:1]
        second = y_bar[:1]
        return np.sum(pull(y_bar)[0] ** 2) + 0 * first[0] * second[0]

    y_bar = np.array([1.0, 2.0])
    np.testing.assert_allclose(wg.grad(size)(y_bar), wg.ngradient(size, y_bar)[0], rtol=1e-6)


def test_parts_of_arrays_that_are_written() -> None:
    def store(x: Any) -> Any:
        y = np.zeros(3)
        for k in range(3):
            y[k] = 2 * x[k]
        y[1:] += x[:2]
        y[[0, 0]] = x[1:]
        return y

    np.testing.assert_array_equal(weights(back(store, X), X), [1, 3, 3])


def total_of_list(items: Any) -> Any:
    return items[0] + 2 * items[1]


def total_of_list_rule(items: Any) -> Any:
    return total_of_list(items), lambda y_bar: (y_bar * np.array([1.0, 2.0]),)


def test_the_cotangent_of_a_list_given_as_an_array() -> None:
    assert weights(back(lambda x: total_of_list([x, x]), 1.5), 2.0) == 3
    assert wg.grad(wg.grad(lambda x: total_of_list([x, x]) ** 2))(2.0) == 18


def two(x: Any) -> Any:
    return x * 2, x * 3


def two_rule(x: Any) -> Any:
    return two(x), lambda y_bar: (y_bar[0] * 2 + y_bar[1] * 3,)


def test_tuples() -> None:
    assert weights(back(two, 1.5, lambda g: (g, 2 * g)), 2.0) == 8
    assert weights(back(lambda x: two(x)[1], 1.5), 2.0) == 3


def by_inplace(x: Any) -> Any:
    return 3 * x * x


def by_inplace_rule(x: Any) -> Any:
    def pullback(y_bar: Any) -> Any:
        x_bar = wg.add_inplace(np.zeros(3), y_bar * x)
        thunk = wg.Thunk(lambda: 2 * y_bar * x)
        acting = wg.InplaceableThunk(val=lambda: 3 * y_bar * x, add=lambda x_bar: np.add(x_bar, 3 * y_bar * x, x_bar))
        return (wg.add_inplace(wg.add_inplace(x_bar, thunk), acting),)

    return 3 * x * x, pullback


def test_add_inplace() -> None:
    np.testing.assert_array_equal(wg.grad(lambda x: by_inplace(x).sum())(X), 6 * X)
    np.testing.assert_array_equal(weights(back(by_inplace, X), X), 6 * X)
    gradient = wg.grad(lambda x: by_inplace(x).sum())
    np.testing.assert_array_equal(wg.grad(lambda x: (gradient(x) * x).sum())(X), 12 * X)
    np.testing.assert_array_equal(wg.gradtape(lambda x: by_inplace(x).sum(), X).play(X + 1)[1][1], 6 * (X + 1))


def test_what_add_inplace_wrote_and_the_outer_derivative_reads() -> None:
    """x̄ = ȳ x, whose square is read before x̄ is written."""

    def square(x: Any) -> Any:
        return x * x

    with wg.rules.scope():

        @wg.rrule(square)
        def square_rule(x: Any) -> Any:
            def pullback(y_bar: Any) -> Any:
                x_bar = y_bar * x
                squared = x_bar * x_bar
                x_bar = wg.add_inplace(x_bar, y_bar * x)
                return (x_bar + squared,)

            return x * x, pullback

        gradient = wg.grad(lambda x: square(x).sum())
        np.testing.assert_array_equal(gradient(X), 2 * X + X * X)
        np.testing.assert_array_equal(wg.grad(lambda x: gradient(x).sum())(X), 2 + 2 * X)
