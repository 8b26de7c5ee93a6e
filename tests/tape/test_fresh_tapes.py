"""A new tape holds at the inputs that it was made at, and at others like them: windows, and new sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as ss
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import wengert as wg

X = np.arange(1.0, 7.0)

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "window, then ravel": lambda x: np.sum(as_strided(x, (4, 3), (8, 8)).ravel() ** 2),
    "window of a result": lambda x: np.sum(as_strided(x * 2, (4, 3), (8, 8)).ravel() ** 2),
    "window, then reshape": lambda x: np.sum(as_strided(x * 2, (4, 3), (8, 8)).reshape(-1) ** 3),
    "window without overlap": lambda x: np.sum(as_strided(x * 1.0, (3, 2), (16, 8)).ravel() ** 2),
    "sliding window": lambda x: np.sum(sliding_window_view(x, 3).ravel() ** 2),
    "broadcast": lambda x: np.sum(np.broadcast_to(x, (2, 6)).ravel() ** 2),
    "broadcast along no axis": lambda x: np.sum(np.broadcast_to(x, (1, 6)).ravel() ** 2),
    "broadcast, transposed": lambda x: np.sum(np.broadcast_to(x[:, None], (6, 2)).T.ravel() ** 2),
    "broadcast arrays": lambda x: np.sum(np.broadcast_arrays(x, np.ones((2, 6)))[0].ravel() ** 2),
    "csr_array, transposed": lambda x: np.sum((ss.csr_array(x.reshape(2, 3)).T @ np.ones(2)) ** 2),
    "csr_matrix": lambda x: np.sum((ss.csr_matrix(np.outer(x, x)) @ x) ** 2),
    "csc_array": lambda x: np.sum(ss.csc_array(np.outer(x, x)).data ** 2),
    "coo_array": lambda x: np.sum(ss.coo_array(np.diag(x)).toarray() ** 2),
    "coo_array to csr": lambda x: np.sum((ss.coo_array(np.outer(x, x)).tocsr() @ x) ** 2),
    "dia_array": lambda x: np.sum(ss.dia_array(np.diag(x)) @ x),
    "bsr_array": lambda x: np.sum((ss.bsr_array(np.outer(x, x)) @ x) ** 2),
    "csc_array to csr": lambda x: np.sum((ss.csc_array(np.outer(x, x)).tocsr() @ x) ** 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_new_tape_holds(name: str) -> None:
    f, h = PROGRAMS[name], 1e-6
    _, tape = wg.trace(f, X)
    gradient = wg.compile(wg.grad(f), native=False)
    for x in (X, X + 0.5):
        np.testing.assert_allclose(tape.play(x), f(x))
        slopes = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(6)]
        np.testing.assert_allclose(gradient(x), slopes, rtol=1e-5)
        np.testing.assert_allclose(wg.grad(f)(x), slopes, rtol=1e-5)
