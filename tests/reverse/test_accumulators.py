"""Which cotangents are written in place: those that nobody else can read, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.reverse import accumulators
from wengert.reverse.accumulators import Cotangents


@pytest.fixture(autouse=True)
def small_arrays_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accumulators, "MADE_ANEW", -1)  # bytes of sums that need no buffer


def added(first: Any, second: Any) -> Cotangents:
    bars = Cotangents(1)
    bars.add(0, first)
    del first
    bars.add(0, second)
    return bars


def test_a_cotangent_without_another_reference_is_written() -> None:
    bars = Cotangents(1)
    bars.add(0, np.ones(3))
    buffer = id(bars.table[0])
    for _ in range(3):
        bars.add(0, np.ones(3))
    assert id(bars.table[0]) == buffer and bars.in_place == 3
    np.testing.assert_array_equal(bars.table[0], [4, 4, 4])


def test_a_cotangent_that_somebody_holds_is_not() -> None:
    held = np.ones(3)
    bars = Cotangents(1)
    bars.add(0, held)
    bars.add(0, np.ones(3))
    assert bars.in_place == 0 and held.tolist() == [1, 1, 1] and bars.table[0].tolist() == [2, 2, 2]


def test_a_cotangent_on_memory_that_somebody_holds_is_not() -> None:
    held = np.ones(4)
    bars = Cotangents(1)
    bars.add(0, held[1:])
    bars.add(0, np.ones(3))
    assert bars.in_place == 0 and held.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("first", [np.ones(3, np.float32), np.broadcast_to(1.0, 3), np.ones((1, 3))], ids=str)
def test_what_cannot_hold_the_sum_is_not_written(first: np.ndarray) -> None:
    second = np.full(3, 2.0) if first.ndim == 1 else np.full((1, 3), 2.0)
    if first.dtype == np.float64 and first.flags.writeable:
        first = first.copy()
        first.flags.writeable = False
    before = first.copy()
    bars = added(first, second)
    assert bars.in_place == 0
    np.testing.assert_array_equal(first, before)
    np.testing.assert_array_equal(bars.table[0], before + second)


def test_seeds_arguments_and_kept_cotangents_are_never_written() -> None:
    kept: list[np.ndarray] = []

    def thrice(x: np.ndarray) -> np.ndarray:
        return 3 * x

    with wg.rules.scope():

        @wg.rrule(thrice)
        def thrice_rule(x: np.ndarray) -> Any:
            def pullback(y_bar: np.ndarray) -> np.ndarray:
                kept.append(3 * y_bar)
                return kept[-1]

            return 3 * x, pullback

        def f(x: np.ndarray) -> np.ndarray:
            return thrice(x) + thrice(x) + x + x

        x, seed = np.ones(3), np.array([1.0, 2.0, 3.0])
        _, pullback = wg.vjp(f, x)
        first, second = pullback(seed)[0], pullback(seed)[0]
    np.testing.assert_array_equal(seed, [1, 2, 3])
    np.testing.assert_array_equal(x, [1, 1, 1])
    for x_bar in (first, second):
        np.testing.assert_array_equal(x_bar, 8 * seed)
    for y_bar in kept:
        np.testing.assert_array_equal(y_bar, 3 * seed)


def test_many_uses_of_one_array_add_into_one_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Cotangents] = []
    init = Cotangents.__init__
    monkeypatch.setattr(Cotangents, "__init__", lambda self, size: (made.append(self), init(self, size))[1])
    rows = np.random.default_rng(0).normal(size=(20, 4))

    def f(w: np.ndarray) -> Any:
        return sum(np.sum(np.sin(w * row)) for row in rows)

    w = np.array([0.3, -0.2, 0.7, 1.1])
    gradient = wg.grad(f)(w)
    assert made[0].in_place == 19
    np.testing.assert_allclose(gradient, np.sum(rows * np.cos(w * rows), axis=0), rtol=1e-12)


def test_empty_cotangents_add_up_whatever_their_strides() -> None:
    x, c = np.ones((0, 3)), 0.8
    shown = np.broadcast_to(np.float64(2.0), (0, 3))
    assert not any(shown.strides)
    _, pullback = wg.vjp(lambda x: (c * x, c * x), x)
    (found,) = pullback((shown, shown))
    assert found.shape == (0, 3)
    assert wg.extend.rules[np.multiply].accumulators[0].add(np.ones((0, 3)), shown, x, x, np.float64(c)).shape == (0, 3)
