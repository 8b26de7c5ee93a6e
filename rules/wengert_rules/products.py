"""Products of vectors and matrices. A vector on the left of a product is a row, one on the right a column."""

from __future__ import annotations

import math
import operator

import numpy as np

from wengert.extend import accumulates, adjoint, is_complex, multilinear, vjp_rule
from wengert_rules.blas import PAYS, as_column, as_row, onto_product


def as_matrices(y_bar, from_row, from_column):
    """`y_bar` with the axes of length 1 that a product of a row, or with a column, has left out."""
    if from_row and from_column:
        return np.reshape(y_bar, (1, 1))  # of a number, which `float` may have made one of Python's
    y_bar = y_bar[..., np.newaxis] if from_column else y_bar
    return y_bar[..., np.newaxis, :] if from_row else y_bar


def conj(x):
    """The conjugate of `x`, which is `x` itself where that is real: NumPy would copy it."""
    return np.conjugate(x) if is_complex(x) else x


def weighted(cotangents, tangents):
    """Σ x̄ₖ* ẋₖ: the tangent of one number, from the cotangents that its pullback gives for 1; None is zero."""
    total = 0.0
    for x_bar, tangent in zip(cotangents, tangents, strict=True):
        if tangent is not None:
            total = total + np.sum(conj(x_bar) * tangent)
    return total


def flat(x):
    """All elements of `x` in a vector."""
    return np.reshape(x, (-1,))


def rows_of(a):
    """`a` as a matrix whose columns run over its last axis."""
    return np.reshape(a, (math.prod(np.shape(a)[:-1]), np.shape(a)[-1]))


def columns_of(b):
    """`b` as a matrix whose rows run over the axis that `np.dot` sums, the last but one, or the only one."""
    if np.ndim(b) < 3:
        return b[:, np.newaxis] if np.ndim(b) == 1 else b
    n = np.ndim(b)
    front = np.transpose(b, (n - 2, *range(n - 2), n - 1))
    return np.reshape(front, (np.shape(b)[-2], columns_count(np.shape(b))))


def from_columns(matrix, shape):
    """The array of `shape` from which `columns_of` made `matrix`."""
    n = len(shape)
    if n < 3:
        return np.reshape(matrix, shape)
    front = np.reshape(matrix, (shape[-2], *shape[:-2], shape[-1]))
    return np.transpose(front, (*range(1, n - 1), 0, n - 1))


def columns_count(shape):
    return math.prod(shape[:-2] + shape[-1:]) if len(shape) > 1 else 1


@vjp_rule(np.matmul, operator.matmul, broadcasts=True)
def matmul(y_bar, y, a, b):
    """Y = A B  ⇒  Ā = Ȳ Bᴴ,  B̄ = Aᴴ Ȳ; of two vectors each is scaled."""
    if np.ndim(a) == 2 and np.ndim(b) == 2:
        return y_bar @ adjoint(b), adjoint(a) @ y_bar
    if np.ndim(a) == 1 and np.ndim(b) == 1:
        return y_bar * conj(b), conj(a) * y_bar
    outer_bar = as_matrices(y_bar, np.ndim(a) == 1, np.ndim(b) == 1)
    left = a[np.newaxis, :] if np.ndim(a) == 1 else a
    right = b[:, np.newaxis] if np.ndim(b) == 1 else b
    a_bar = outer_bar @ adjoint(right)
    b_bar = adjoint(left) @ outer_bar
    return (a_bar[..., 0, :] if np.ndim(a) == 1 else a_bar), (b_bar[..., 0] if np.ndim(b) == 1 else b_bar)


@accumulates(np.matmul, arg=0, above=PAYS)
def matmul_onto_left(a_bar, y_bar, y, a, b):
    """Ā += Ȳ Bᴴ of two matrices, or of a matrix and a column."""
    if np.ndim(a) != 2 or np.ndim(b) not in (1, 2):
        return NotImplemented
    return onto_product(a_bar, as_column(y_bar), as_column(b).T, conj_b=True)


@accumulates(np.matmul, arg=1, above=PAYS)
def matmul_onto_right(b_bar, y_bar, y, a, b):
    """B̄ += Aᴴ Ȳ of two matrices, or of a row and a matrix."""
    if np.ndim(b) != 2 or np.ndim(a) not in (1, 2):
        return NotImplemented
    return onto_product(b_bar, as_row(a).T, as_row(y_bar), conj_a=True)


@vjp_rule(np.dot, np.ndarray.dot, broadcasts=True)
def dot(y_bar, y, a, b):
    """The product of matrices, b's last axis but one against a's last; of numbers and two vectors each is scaled."""
    if np.ndim(a) == 2 and np.ndim(b) == 2:
        return y_bar @ adjoint(b), adjoint(a) @ y_bar
    if np.ndim(a) * np.ndim(b) <= 1:
        return y_bar * conj(b), conj(a) * y_bar
    outer_bar = np.reshape(y_bar, (math.prod(np.shape(a)[:-1]), columns_count(np.shape(b))))
    a_bar = outer_bar @ adjoint(columns_of(b))
    b_bar = adjoint(rows_of(a)) @ outer_bar
    return np.reshape(a_bar, np.shape(a)), from_columns(b_bar, np.shape(b))


accumulates(np.dot, arg=0, above=PAYS)(matmul_onto_left)
accumulates(np.dot, arg=1, above=PAYS)(matmul_onto_right)


@vjp_rule(np.inner, broadcasts=True)
def inner(y_bar, y, a, b):
    """Y = A Bᵀ  ⇒  Ā = Ȳ B*,  B̄ = Ȳᵀ A*, over the last axes; of numbers and two vectors each is scaled."""
    if np.ndim(a) * np.ndim(b) <= 1:
        return y_bar * conj(b), conj(a) * y_bar
    outer_bar = np.reshape(y_bar, (math.prod(np.shape(a)[:-1]), math.prod(np.shape(b)[:-1])))
    a_bar = outer_bar @ conj(rows_of(b))
    b_bar = np.transpose(outer_bar) @ conj(rows_of(a))
    return np.reshape(a_bar, np.shape(a)), np.reshape(b_bar, np.shape(b))


@vjp_rule(np.outer)
def outer(y_bar, y, a, b):
    """Y = a bᵀ  ⇒  ā = Ȳ b*,  b̄ = Ȳᵀ a*."""
    a_bar = y_bar @ conj(flat(b))
    b_bar = conj(flat(a)) @ y_bar
    return np.reshape(a_bar, np.shape(a)), np.reshape(b_bar, np.shape(b))


@vjp_rule(np.vdot)
def vdot(y_bar, y, a, b):
    """y = Σ a* b, in which a* turns the other way."""
    return conj(y_bar) * np.reshape(b, np.shape(a)), y_bar * np.reshape(a, np.shape(b))


@vjp_rule(np.vecdot, broadcasts=True)
def vecdot(y_bar, y, a, b, *, axis=-1, keepdims=False, out=None, dtype=None):
    """y = Σ a* b along one axis of each, in which a* turns the other way."""
    last = to_end(y_bar, axis) if keepdims else np.expand_dims(y_bar, -1)
    a_bar = conj(last) * to_end(b, axis)
    b_bar = last * to_end(a, axis)
    return from_end(a_bar, axis, np.ndim(a)), from_end(b_bar, axis, np.ndim(b))


def to_end(x, axis):
    """`x` with one axis moved to the end."""
    k, n = axis % np.ndim(x), np.ndim(x)
    return x if k == n - 1 else np.transpose(x, (*range(k), *range(k + 1, n), k))


def from_end(x, axis, ndim):
    """`x` with its last axis moved to where `axis` is in an array of `ndim` axes, counted from the end."""
    n = np.ndim(x)
    k = n - ndim + axis % ndim
    return x if k == n - 1 else np.transpose(x, (*range(k), n - 1, *range(k, n - 1)))


@vjp_rule(np.cross, broadcasts=True)
def cross(y_bar, y, a, b, *, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """y = a × b  ⇒  ā = b* × ȳ,  b̄ = ȳ × a*, of the vectors along one axis; those of two numbers lie in a plane."""
    along_a, along_b = axisa if axis is None else axis, axisb if axis is None else axis
    left, right = in_space(a, along_a), in_space(b, along_b)
    if np.shape(a)[along_a] == np.shape(b)[along_b] == 2:
        up = np.reshape(y_bar, (*np.shape(y_bar), 1)) * np.array([0, 0, 1], y.dtype)
    else:
        up = to_end(y_bar, axisc if axis is None else axis)
    a_bar = from_end(np.cross(conj(right), up)[..., : np.shape(a)[along_a]], along_a, np.ndim(a))
    b_bar = from_end(np.cross(up, conj(left))[..., : np.shape(b)[along_b]], along_b, np.ndim(b))
    return a_bar, b_bar


def in_space(x, axis):
    """`x` with the vectors along an axis moved to the end, and a third number, zero, to those of two."""
    last = to_end(x, axis)
    return last if np.shape(last)[-1] == 3 else np.concatenate([last, np.zeros_like(last[..., :1])], axis=-1)


if hasattr(np, "matvec"):  # NumPy 2.2

    @vjp_rule(np.matvec, broadcasts=True)
    def matvec(y_bar, y, a, b, *, out=None, dtype=None):
        """y = A b  ⇒  Ā = ȳ bᴴ,  b̄ = Aᴴ ȳ."""
        column = y_bar[..., np.newaxis]
        return column * conj(b)[..., np.newaxis, :], (adjoint(a) @ column)[..., 0]

    @vjp_rule(np.vecmat, broadcasts=True)
    def vecmat(y_bar, y, a, b, *, out=None, dtype=None):
        """y = aᴴ B  ⇒  ā = B ȳ*,  B̄ = a ȳ, in which a* turns the other way."""
        row = y_bar[..., np.newaxis, :]
        return (b @ conj(y_bar)[..., np.newaxis])[..., 0], a[..., np.newaxis] * row


multilinear(np.matmul, np.dot, np.inner, np.outer, np.vdot, np.vecdot, np.cross)
if hasattr(np, "matvec"):
    multilinear(np.matvec, np.vecmat)
