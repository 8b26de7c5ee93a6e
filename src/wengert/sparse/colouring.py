"""Colouring of the rows (or columns) of a sparse matrix: rows of the same colour have no column in common.

One product with the matrix then gives all rows of a colour. (Coleman and Moré, Estimation of sparse Jacobian matrices
and graph coloring problems, SIAM J. Numer. Anal. 20, 1983.)
"""

from __future__ import annotations

import numpy as np


def greedy(indptr: np.ndarray, indices: np.ndarray, columns: int) -> np.ndarray:
    """Colour rows, with colours from 0, so that no two rows of a colour share a column; -1 for an empty row.

    Row k has the columns `indices[indptr[k] : indptr[k + 1]]`. The rows are coloured in order, in which k adjacent
    diagonals take k colours. If that takes more colours than the fullest column has rows, colour them also in the order
    of how many rows they share columns with, and return the better colouring.
    """
    if not len(indices):
        return np.full(len(indptr) - 1, -1)
    shared = np.bincount(indices, minlength=columns)
    found = _in_order(np.arange(len(indptr) - 1), indptr, indices, columns)
    if found.max(initial=-1) < shared.max(initial=0):
        return found
    sharing = np.add.reduceat(np.append(shared[indices], 0), indptr[:-1]) * (np.diff(indptr) > 0)
    other = _in_order(np.argsort(-sharing, kind="stable"), indptr, indices, columns)
    return min(found, other, key=np.max)


def _in_order(order: np.ndarray, indptr: np.ndarray, indices: np.ndarray, columns: int) -> np.ndarray:
    """Give each row the first colour that no row sharing a column with it has; `taken` holds colours as bits."""
    taken = [0] * columns
    colours = [0] * len(order)
    starts, column_of_entry = indptr.tolist(), indices.tolist()
    for k in order.tolist():
        row = column_of_entry[starts[k] : starts[k + 1]]
        used = 0
        for i in row:
            used |= taken[i]
        free = ~used & (used + 1)
        colours[k] = free.bit_length() - 1
        for i in row:
            taken[i] |= free
    return np.where(np.diff(indptr) > 0, np.array(colours, np.int64), -1)
