"""Norms of vectors and of matrices. Where a norm has a kink, equal parts share, and a zero gets zero."""

from __future__ import annotations

import numpy as np

from wengert.extend import adjoint, jvp_rule, vjp_rule
from wengert_rules.elementwise import nonzero
from wengert_rules.products import conj
from wengert_rules.reductions import weighted_sum
from wengert_rules.shapes import inverse_permutation


@vjp_rule(np.linalg.norm)
def norm(y_bar, y, x, *, ord=None, axis=None, keepdims=False):
    """Of all elements, of vectors along one axis or of matrices along two."""
    given = range(np.ndim(x)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple([k % np.ndim(x) for k in given])
    if not keepdims:
        y_bar, y = np.expand_dims(y_bar, axes), np.expand_dims(y, axes)
    if ord is None or ord == "fro" or ord == "f":
        return y_bar * (x / nonzero(y))
    if len(axes) == 1:
        return vector_bar(y_bar, y, x, ord, axes)
    if ord in ("nuc", 2, -2):
        return spectral_bar(y_bar, x, ord, axes)
    return sums_bar(y_bar, x, ord, axes)


@jvp_rule(np.linalg.norm, broadcasts=True)
def push_norm(tangents, y, x, *, ord=None, axis=None, keepdims=False):
    """Each element counts in one norm: Σ p ẋ, with p from the pullback."""
    if ord is None or ord == "fro" or ord == "f":
        return weighted_sum(x, tangents[0], x, axis, keepdims) / nonzero(y)
    partial = norm(np.ones(np.shape(y), y.dtype), y, x, ord=ord, axis=axis, keepdims=keepdims)
    return weighted_sum(partial, tangents[0], x, axis, keepdims)


def vector_bar(y_bar, y, x, ord, axes):
    """y = (Σ |x|ᵖ)¹ᐟᵖ  ⇒  x̄ = ȳ sign(x) (|x|/y)ᵖ⁻¹."""
    if ord == 2:
        return y_bar * (x / nonzero(y))
    if ord == 1:
        return y_bar * np.sign(x)
    if ord == 0:
        return np.zeros(np.shape(x), x.dtype)
    if abs(ord) == np.inf:
        return shared(y_bar, np.abs(x) == y, axes) * np.sign(x)
    sizes = np.where(x == 0, 1, np.abs(x))
    if ord < 0:  # y is 0 where an element is
        return y_bar * np.sign(x) * (y / sizes) ** (1 - ord)
    return y_bar * np.sign(x) * (sizes / nonzero(y)) ** (ord - 1)


def shared(y_bar, hits, axes):
    """ȳ, in equal parts, where the extremum was found."""
    ties = np.sum(hits, axis=axes, dtype=y_bar.dtype, keepdims=True)
    return np.where(hits, y_bar / nonzero(ties), 0)


def sums_bar(y_bar, x, ord, axes):
    """The largest or smallest sum of |x| along the columns (1, -1) or along the rows (inf, -inf)."""
    along, across = axes if abs(ord) == 1 else axes[::-1]
    sums = np.sum(np.abs(x), axis=along, keepdims=True)
    if np.size(sums) == 0:
        return np.zeros(np.shape(x), x.dtype)
    extreme = np.max(sums, axis=across, keepdims=True) if ord > 0 else np.min(sums, axis=across, keepdims=True)
    return shared(y_bar, sums == extreme, across) * np.sign(x)


def spectral_bar(y_bar, x, ord, axes):
    """X = U diag(s) Vᴴ  ⇒  X̄ = U diag(s̄) Vᴴ, for the sum, the largest or the smallest of s."""
    order = (*[k for k in range(np.ndim(x)) if k not in axes], *axes)
    u, s, vh = np.linalg.svd(transposed(x, order), full_matrices=False)
    each = transposed(y_bar, order)[..., 0]
    if ord != "nuc":
        each = shared(each, s == (s[..., :1] if ord == 2 else s[..., -1:]), -1)
    made = (u * np.expand_dims(each * np.sign(s), -2)) @ vh
    return transposed(made, inverse_permutation(order, np.ndim(x)))


def transposed(x, order):
    """`np.transpose`, where it changes anything."""
    return x if order == tuple(range(len(order))) else np.transpose(x, order)


@vjp_rule(np.linalg.cond)
def cond(y_bar, y, x, *, p=None):
    """‖X‖ ‖X⁻¹‖; in the norm 2, which is the usual one, the largest singular value over the smallest."""
    if p in (None, 2, -2):
        above, below = (-2, 2) if p == -2 else (2, -2)
        share = y_bar / np.linalg.norm(x, below, axis=(-2, -1))
        return matrix_bar(share, x, above) - matrix_bar(share * y, x, below)
    inverse = np.linalg.inv(x)
    of_inverse = matrix_bar(y_bar * np.linalg.norm(x, p, axis=(-2, -1)), inverse, p)
    of_x = matrix_bar(y_bar * np.linalg.norm(inverse, p, axis=(-2, -1)), x, p)
    return of_x - adjoint(inverse) @ of_inverse @ adjoint(inverse)


@jvp_rule(np.linalg.cond, broadcasts=True)
def push_cond(tangents, y, x, *, p=None):
    return np.sum(conj(cond(np.ones(np.shape(y), y.dtype), y, x, p=p)) * tangents[0], axis=(-2, -1))


def matrix_bar(y_bar, x, ord):
    """The pullback of the norm of a stack of matrices."""
    return norm(y_bar, np.linalg.norm(x, ord, axis=(-2, -1)), x, ord=ord, axis=(-2, -1))
