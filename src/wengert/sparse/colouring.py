"""Members that one pass can tell apart: a colouring in which no two of a colour share anything.

Rows of a matrix that share no column, or columns that share no row, are found in one product with it. (Coleman and
Moré, Estimation of sparse Jacobian matrices and graph coloring problems, SIAM J. Numer. Anal. 20, 1983.)
"""

from __future__ import annotations

import numpy as np


def greedy(indptr: np.ndarray, indices: np.ndarray, others: int) -> np.ndarray:
    """Colours, from 0, for members of which no two of a colour share one of `others`; -1 for those that have none.

    Member k has `indices[indptr[k] : indptr[k + 1]]`. They are coloured in their own order, in which k diagonals side
    by side take k colours; where that takes more than needed for sure, also from those on that share with most, and the
    better colouring is taken.
    """
    if not len(indices):
        return np.full(len(indptr) - 1, -1)
    shared = np.bincount(indices, minlength=others)
    found = _in_order(np.arange(len(indptr) - 1), indptr, indices, others)
    if found.max(initial=-1) < shared.max(initial=0):
        return found
    sharing = np.add.reduceat(np.append(shared[indices], 0), indptr[:-1]) * (np.diff(indptr) > 0)
    other = _in_order(np.argsort(-sharing, kind="stable"), indptr, indices, others)
    return min(found, other, key=np.max)


def _in_order(order: np.ndarray, indptr: np.ndarray, indices: np.ndarray, others: int) -> np.ndarray:
    """Give each member the first colour that none of those it shares with has; `taken` are colours as bits."""
    taken = [0] * others
    colours = [0] * len(order)
    starts, found = indptr.tolist(), indices.tolist()
    for k in order.tolist():
        mine = found[starts[k] : starts[k + 1]]
        used = 0
        for i in mine:
            used |= taken[i]
        free = ~used & (used + 1)
        colours[k] = free.bit_length() - 1
        for i in mine:
            taken[i] |= free
    return np.where(np.diff(indptr) > 0, np.array(colours, np.int64), -1)
