"""Products of vectors and matrices, of which each example may have one or both."""

from __future__ import annotations

import operator

import numpy as np

from wengert.extend import batching
from wengert_rules.batches.axes import aligned, in_rows, lifted, rank, spread
from wengert_rules.contractions import spelt_out
from wengert_rules.products import conj

_AXIS_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@batching(np.matmul, operator.matmul)
def matmul(batch, a, b, **kwargs):
    return product(a, b, batch.axes) if not kwargs else NotImplemented


def product(a, b, axes):
    """A vector on the left is a row, one on the right a column; a matrix that all share takes the batch as its rows."""
    (on_a, on_b), (of_a, of_b) = axes, map(rank, (a, b), axes)
    if not on_b and of_b <= 2:
        return a @ b
    if not on_a and of_a <= 2 and of_b == 1:
        return b @ a if of_a == 1 else b @ np.swapaxes(a, 0, 1)
    left = a[..., np.newaxis, :] if of_a == 1 else a
    right = b[..., np.newaxis] if of_b == 1 else b
    ndim = max(of_a, of_b, 2)
    y = lifted(left, ndim, on_a) @ lifted(right, ndim, on_b)
    y = y[..., 0] if of_b == 1 else y
    return y if of_a > 1 else y[..., 0] if of_b == 1 else y[..., 0, :]


@batching(np.dot)
def dot(batch, a, b, **kwargs):
    """The last axis of a with the last but one of b."""
    of_a, of_b = map(rank, (a, b), batch.axes)
    if kwargs:
        return NotImplemented
    if of_a * of_b == 0:
        a, b = aligned(batch, (a, b))
        return a * b
    return product(a, b, batch.axes) if of_b <= 2 else contracted(batch, a, b, of_b - 2)


@batching(np.inner)
def inner(batch, a, b):
    of_a, of_b = map(rank, (a, b), batch.axes)
    if of_a * of_b == 0:
        a, b = aligned(batch, (a, b))
        return a * b
    return contracted(batch, a, b, of_b - 1)


def contracted(batch, a, b, along):
    """The sum over the last axis of the examples of a and the axis `along` of those of b."""
    of_a, of_b = map(rank, (a, b), batch.axes)
    left = _AXIS_LETTERS[:of_a]
    right = _AXIS_LETTERS.upper()[:of_b]
    right = right[:along] + left[-1] + right[along + 1 :]
    result = left[:-1] + right.replace(left[-1], "")
    prefixes = ["Z" if on else "" for on in batch.axes]
    return np.einsum(f"{prefixes[0]}{left},{prefixes[1]}{right}->Z{result}", a, b)


@batching(np.outer)
def outer(batch, a, b, out=None):
    a, b = [in_rows(x) if on else np.ravel(x) for x, on in zip((a, b), batch.axes, strict=False)]
    return a[..., :, np.newaxis] * b[..., np.newaxis, :]


@batching(np.vdot)
def vdot(batch, a, b):
    a, b = [in_rows(x) if on else np.ravel(x) for x, on in zip((a, b), batch.axes, strict=True)]
    return product(conj(a), b, batch.axes)


@batching(np.vecdot)
def vecdot(batch, a, b, *, axis=-1, **kwargs):
    of_a, of_b = map(rank, (a, b), batch.axes)
    if kwargs.get("out") is not None or (axis >= 0 and of_a != of_b):
        return NotImplemented
    return batch.fn(*aligned(batch, (a, b)), axis=axis - of_a if axis >= 0 else axis, **kwargs)


if hasattr(np, "matvec"):  # NumPy 2.2

    @batching(np.matvec)
    def matvec(batch, a, b, **kwargs):
        on_a, on_b = batch.axes
        ndim = max(rank(a, on_a), rank(b, on_b) + 1)
        return np.matvec(lifted(a, ndim, on_a), lifted(b, ndim - 1, on_b), **kwargs)

    @batching(np.vecmat)
    def vecmat(batch, a, b, **kwargs):
        on_a, on_b = batch.axes
        ndim = max(rank(a, on_a) + 1, rank(b, on_b))
        return np.vecmat(lifted(a, ndim - 1, on_a), lifted(b, ndim, on_b), **kwargs)


@batching(np.einsum)
def einsum(batch, *given, out=None, **kwargs):
    """One letter more, in front."""
    subscripts, places = spelt_out(given)
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    letter = next(c for c in _AXIS_LETTERS + _AXIS_LETTERS.upper() if c not in subscripts)
    terms = [letter + term if batch.axes[k] else term for k, term in zip(places, left.split(","), strict=True)]
    if not arrow:
        once = sorted([c for c in {*left} - {*",."} if left.count(c) == 1])
        result = "..." * ("..." in left) + "".join(once)
    return np.einsum(",".join(terms) + "->" + letter + result, *[given[k] for k in places], **kwargs)


@batching(np.kron)
def kron(batch, a, b):
    """Each axis of a beside the same of b, and the two as one."""
    ndim = max(map(rank, (a, b), batch.axes))
    a, b = [spread(x, on, batch.size, ndim) for x, on in zip((a, b), batch.axes, strict=True)]
    left = np.reshape(a, (len(a), *[n for length in np.shape(a)[1:] for n in (length, 1)]))
    right = np.reshape(b, (len(b), *[n for length in np.shape(b)[1:] for n in (1, length)]))
    return np.reshape(left * right, (len(a), *[m * n for m, n in zip(np.shape(a)[1:], np.shape(b)[1:], strict=True)]))
