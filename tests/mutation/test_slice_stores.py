"""Stores by slices into written arrays, in loops and over each other, against complex steps."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

KEYS: dict[str, Any] = {
    "a part": slice(1, 4),
    "a step": slice(0, None, 2),
    "backwards": slice(4, 0, -1),
    "one": slice(2, 3),
    "none": slice(3, 3),
    "all": slice(None),
    "all backwards": slice(None, None, -1),
    "an ellipsis": ...,
    "from the end": slice(-3, None),
    "a new axis": (None, slice(1, 4)),
    "beyond": slice(2, 100),
}


def by_complex_step(f: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    return np.array([f(x + 1e-20j * e).imag for e in np.eye(len(x))]) / 1e-20


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("begun", [False, True], ids=["new", "written"])
def test_a_store_by_a_slice(key: Any, begun: bool) -> None:
    def f(x: Any) -> Any:
        y = np.zeros(6, dtype=x.dtype)
        if begun:
            y[...] = np.cos(x)
            y[0] = x[1] * x[2]
        before = np.sin(y)
        y[key] = y[key] * x[3] + np.exp(x[key])
        y[2] = y[3] * x[0]
        y[key] = 2.0 * x[key]
        y[key] = y[key] * x[1]
        return np.sum(y**2 * x) + np.sum(before * y)

    x = np.linspace(0.3, 1.4, 6)
    expected = by_complex_step(f, x)
    np.testing.assert_allclose(wg.grad(f)(x), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(x), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.hessian(f)(x) @ x, wg.jvp(wg.grad(f), (x,), (x,))[1], rtol=1e-11)


@pytest.mark.parametrize("key", [1, (0, slice(1, 3)), (slice(None), 1), (slice(0, 2), slice(1, None)), (..., 2)])
def test_a_store_by_a_slice_of_a_matrix(key: Any) -> None:
    def f(x: Any) -> Any:
        a = np.zeros((3, 4), dtype=x.dtype)
        a[0] = x[:4]
        a[key] = a[key] + x[2] * x[3]
        a[1:, ::2] = a[:2, 1::2] * x[0]
        a[key] = a[key] ** 2
        return np.sum(a * np.sin(a))

    x = np.linspace(0.3, 1.4, 6)
    np.testing.assert_allclose(wg.grad(f)(x), by_complex_step(f, x), rtol=1e-12, atol=1e-15)


def test_windows_that_move_over_each_other() -> None:
    def f(x: Any) -> Any:
        y = np.ones(9, dtype=x.dtype)
        for k in range(6):
            y[k : k + 3] = y[k + 1 : k + 4] * x[k]
            y[k + 1 : k + 4] = y[k : k + 3] + x[k : k + 3] if k < 4 else x[k]
            y[k:] = y[: 9 - k]
        return np.sum(y * y)

    x = np.linspace(0.3, 1.4, 6)
    np.testing.assert_allclose(wg.grad(f)(x), by_complex_step(f, x), rtol=1e-12)


def test_a_store_that_fails_changes_nothing() -> None:
    def f(x: Any) -> Any:
        y = np.zeros(6)
        y[1:4] = x[0]
        with pytest.raises(ValueError, match="could not broadcast"):
            y[1:4] = x[:2]
        with pytest.raises(IndexError):
            operator.setitem(y, (slice(1, 4), 0), x[1])
        return np.sum(y)

    assert np.array_equal(wg.grad(f)(np.ones(6)), [3.0, 0.0, 0.0, 0.0, 0.0, 0.0])
