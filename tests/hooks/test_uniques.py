"""`np.unique` along an axis in traced functions, and views of the bits of traced numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X, NEAR, OTHER = np.array([0.31, 0.57, 0.83]), np.array([0.32, 0.58, 0.84]), np.array([-0.2, 1.4, 0.6])


def rows(x: Any) -> Any:
    return np.stack([x * 2, x[::-1], x * 2, x * x])


def restored(x: Any) -> Any:
    found, index, inverse, counts = np.unique(rows(x), True, True, True, 0)
    return found[inverse.ravel()] * counts[inverse.ravel(), None] + rows(x)[index[0]]


def boxes(x: Any) -> Any:
    return np.stack([np.stack([x, x * 2]), np.stack([x * 2, x]), np.stack([x, x * 2])])


CASES: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: np.unique(rows(x), axis=0),
    "columns": lambda x: np.unique(rows(x).T, axis=1),
    "boxes": lambda x: np.unique(boxes(x), axis=0),
    "last axis": lambda x: np.unique(boxes(x), axis=-1, return_counts=True)[0],
    "restored": restored,
    "of lists": lambda x: np.unique([list(x), [1.0, 2.0, x[0]], list(x)], axis=0),
    "of one axis": lambda x: np.unique(x, axis=0) * np.arange(3),
    "flat": lambda x: np.unique(rows(x)[:2]),
    "in Fortran's order": lambda x: np.unique(np.asfortranarray(rows(x)), axis=1),
    "complex": lambda x: np.unique(np.stack([x, x * 1j]), axis=0).imag,
    "empty": lambda x: x * np.unique(rows(x)[:, :0], axis=0).shape[0],
    "no axis": lambda x: np.unique(rows(x), axis=4),
    "no option": lambda x: np.unique(rows(x), axis=0, odd=True),
}


@pytest.mark.filterwarnings("ignore::wengert.NoBatchingRuleWarning")
@pytest.mark.parametrize("name", CASES)
def test_unique(name: str) -> None:
    f = CASES[name]
    try:
        plain = f(X)
    except Exception as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            wg.vjp(f, X)
        return
    value, jacobian = wg.vjp(f, X)[0], wg.jacrev(f)(X)
    assert np.array_equal(value, plain)
    expected = np.stack([(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)], -1)
    np.testing.assert_allclose(jacobian, expected, atol=1e-8)
    np.testing.assert_allclose(wg.jacfwd(f)(X), expected, atol=1e-8)
    _, tape = wg.trace(f, X)
    assert np.array_equal(tape.play(NEAR), f(NEAR))
    try:
        played = tape.play(OTHER)
    except wg.StaleTapeError:
        return
    assert np.array_equal(played, f(OTHER))


def test_a_tape_with_other_numbers_of_rows_is_stale() -> None:
    _, tape = wg.trace(lambda x: np.unique(rows(x), axis=0), X)
    with pytest.raises(wg.StaleTapeError):
        tape.play(np.zeros(3))


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, [("a", float), ("b", float), ("c", float)], np.dtype("V24")])
def test_bits_are_refused_and_may_be_viewed_of_a_constant(dtype: Any) -> None:
    with pytest.raises(wg.RefusedCallError, match=r"wg\.stop_gradient\(x\); .* np\.unique\(a, axis=0\)"):
        wg.grad(lambda x: np.sum(x) * len(set(x.view(dtype).tolist())))(X)
    slope = wg.grad(lambda x: np.sum(x) * len(set(wg.stop_gradient(x).view(dtype).tolist())))(X)
    assert np.array_equal(slope, np.full(3, len(set(X.view(dtype).tolist()))))
