"""Colouring of the rows (or columns) of a sparse matrix: rows of the same colour have no column in common.

One product with the matrix then gives all rows of a colour. (Coleman and Moré, Estimation of sparse Jacobian matrices
and graph coloring problems, SIAM J. Numer. Anal. 20, 1983.)
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np


def greedy(indptr: np.ndarray, indices: np.ndarray, columns: int) -> np.ndarray:
    """Colour rows, with colours from 0, so that no two rows of a colour share a column; -1 for an empty row.

    Row k has the columns `indices[indptr[k] : indptr[k + 1]]`. The rows are coloured in order, in which k adjacent
    diagonals take k colours. If that takes more colours than the fullest column has rows, colour them also in the order
    of how many rows they share columns with, and by saturation if there are not too many; return the best colouring.
    """
    if not len(indices):
        return np.full(len(indptr) - 1, -1)
    shared = np.bincount(indices, minlength=columns)
    found = _in_order(np.arange(len(indptr) - 1), indptr, indices, columns)
    if found.max(initial=-1) < shared.max(initial=0):
        return found
    sharing = np.add.reduceat(np.append(shared[indices], 0), indptr[:-1]) * (np.diff(indptr) > 0)
    others = [_in_order(np.argsort(-sharing, kind="stable"), indptr, indices, columns)]
    if shared[indices].sum() <= MOST_SHARED:
        others.append(_by_saturation(indptr, indices, columns))
    return min(found, *others, key=np.max)


MOST_SHARED = 100_000
"""The most pairs of rows with a common column for colouring by saturation, which takes 40 ms then."""


def _by_saturation(indptr: np.ndarray, indices: np.ndarray, columns: int) -> np.ndarray:
    """Colour next the row that shares columns with rows of most colours. Fewer colours serve several species on a grid.

    Source: D. Brélaz, New methods to color the vertices of a graph, Communications of the ACM 22 (1979).
    """
    rows = [row.tolist() for row in np.split(indices, indptr[1:-1])]
    members = np.repeat(np.arange(len(rows)), np.diff(indptr))[np.argsort(indices, kind="stable")]
    ends = np.cumsum(np.bincount(indices, minlength=columns))
    in_column = [found.tolist() for found in np.split(members, ends[:-1])]
    taken, colours = [0] * len(rows), [-1] * len(rows)  # colours as bits
    queue = [(0, k) for k, row in enumerate(rows) if row]
    while queue:
        count, k = heappop(queue)
        if colours[k] >= 0 or -count != taken[k].bit_count():
            continue
        free = ~taken[k] & (taken[k] + 1)
        colours[k] = free.bit_length() - 1
        for other in [other for i in rows[k] for other in in_column[i]]:
            if colours[other] < 0 and not taken[other] & free:
                taken[other] |= free
                heappush(queue, (-taken[other].bit_count(), other))
    return np.array(colours)


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
