"""Diagonals and triangles of matrices, and of stacks of them."""

from __future__ import annotations

import numpy as np

from wengert.extend import accumulates, linear, setitem, vjp_rule
from wengert_rules.shapes import inverse_permutation


def onto_diagonal(y_bar, shape, offset, axis1, axis2):
    """Zeros of `shape` with `y_bar` on the diagonal of two axes: every (columns + 1)th element of a matrix."""
    offset, axis1, axis2 = int(offset), int(axis1) % len(shape), int(axis2) % len(shape)
    others = [k for k in range(len(shape)) if k not in (axis1, axis2)]
    stack, columns = tuple(shape[k] for k in others), shape[axis2]
    start = max(offset, -offset * columns)
    places = slice(start, start + np.shape(y_bar)[-1] * (columns + 1), columns + 1)
    flat = setitem(np.zeros((*stack, shape[axis1] * columns), y_bar.dtype), (..., places), y_bar)
    made = np.reshape(flat, (*stack, shape[axis1], columns))
    return np.transpose(made, inverse_permutation((*others, axis1, axis2), len(shape)))


def add_diagonal(x_bar, y_bar, offset, axis1, axis2):
    """`x_bar`, to the diagonal of which `y_bar` is added in place."""
    places = np.diagonal(x_bar, offset, axis1, axis2)
    places.flags.writeable = True  # a view that NumPy gives for reading
    places += y_bar
    return x_bar


@vjp_rule(np.diagonal, np.ndarray.diagonal, view=True)
def diagonal(y_bar, y, a, *, offset=0, axis1=0, axis2=1):
    return onto_diagonal(y_bar, np.shape(a), offset, axis1, axis2)


@accumulates(np.diagonal, arg=0, scatters=True)
def diagonal_onto(x_bar, y_bar, y, a, offset=0, axis1=0, axis2=1):
    return add_diagonal(x_bar, y_bar, offset, axis1, axis2)


@vjp_rule(np.diag, view=True)
def diag(y_bar, y, v, *, k=0):
    """Of a vector, the matrix that has it on its diagonal; of a matrix, its diagonal."""
    return np.diagonal(y_bar, k) if np.ndim(v) == 1 else onto_diagonal(y_bar, np.shape(v), k, 0, 1)


@accumulates(np.diag, arg=0, scatters=True)
def diag_onto(x_bar, y_bar, y, v, k=0):
    """Of a vector every element has one place: nothing is zero in most of them."""
    if np.ndim(v) == 1:
        x_bar += np.diagonal(y_bar, k)
        return x_bar
    return add_diagonal(x_bar, y_bar, k, 0, 1)


@vjp_rule(np.diagflat)
def diagflat(y_bar, y, v, *, k=0):
    return np.reshape(np.diagonal(y_bar, int(k)), np.shape(v))


@vjp_rule(np.tril, broadcasts=True)
def tril(y_bar, y, m, *, k=0):
    return np.tril(y_bar, k)


@vjp_rule(np.triu, broadcasts=True)
def triu(y_bar, y, m, *, k=0):
    return np.triu(y_bar, k)


linear(np.diagonal, np.diag, np.diagflat, np.tril, np.triu)
