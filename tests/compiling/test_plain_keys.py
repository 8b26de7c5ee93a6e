"""Keys in plain form: lists of indices become arrays, stores at False are dropped; the numbers stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.plain_keys import with_arrays, with_plain_keys

E = np.random.default_rng(4).normal(size=(6, 4))


WEIGHTS = np.arange(4.0)


def all_but_one(e: np.ndarray) -> Any:
    x, total = np.sin(e), 0.0
    for k in range(12):
        others = [j for j in range(6) if j != k % 6]
        x[others] = x[others] * 0.9 + 0.1 * e[k % 6]
        total = total + np.sum(x[others] ** 2 * WEIGHTS) + np.sum(x[[True, False, True] * 2] * e[:4])
    return total


def at_a_bool(e: np.ndarray) -> Any:
    x, y = np.sin(e), np.array(e[0, 0])
    x[False] = e[1]
    x[np.array(False)] += 3.0
    y[True] = np.sum(e[2])
    return np.sum(x**2) * y[()]


def quantiles(e: np.ndarray) -> Any:
    """NumPy interpolates by a store at a constant bool."""
    total = 0.0
    for k in range(12):
        total = total + np.quantile(np.sin(e[k % 6] + k), 0.1) * np.quantile(e[:, 1], 0.7)
    return total


@pytest.mark.parametrize("f", [all_but_one, at_a_bool, quantiles], ids=lambda f: f.__name__)
def test_gradients_are_right(f: Any) -> None:
    compiled = wg.compile(wg.value_and_grad(f), strict=True)
    for e in (E, 1.1 * E):
        value, gradient = compiled(e)
        assert value == pytest.approx(f(e), rel=1e-12)
        np.testing.assert_allclose(gradient, wg.ngradient(f, e)[0], rtol=1e-5, atol=1e-7)


def test_no_store_at_false_is_left() -> None:
    tape = wg.trace(at_a_bool, E)[1]
    assert [str(each).count(" setitem(") for each in (tape, with_plain_keys(tape))] == [3, 1]


def test_only_lists_of_indices_change() -> None:
    for key in (1, slice(2), (slice(None), 3), [], [1, True], ([[0], [1]],), np.array([1]), None):
        assert with_arrays(key) is key
    np.testing.assert_array_equal(with_arrays([3, 1]), np.array([3, 1]))
    assert with_arrays((slice(2), [True, False]))[1].dtype == bool
