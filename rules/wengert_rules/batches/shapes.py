"""Changes of shape: those of the example, behind the axis of the batch."""

from __future__ import annotations

import math

import numpy as np

from wengert.extend import batching, setitem
from wengert_rules.batches.axes import in_rows, lifted, of_example, rank, shifted
from wengert_rules.shapes import integers


def reshaped(x, shape, order="C"):
    """The examples in another shape, of which one length may be left open."""
    shape = [int(n) for n in shape]
    if -1 in shape:
        others = -math.prod(shape)
        shape[shape.index(-1)] = math.prod(np.shape(x)[1:]) // others if others else 0
    if order != "F":
        return np.reshape(x, (len(x), *shape))
    made = np.reshape(np.transpose(x, (0, *of_example(x)[::-1])), (len(x), *shape[::-1]))
    return np.transpose(made, (0, *range(len(shape), 0, -1)))


_ORDERS = ("C", "F", None)  # not those that ask the layout in memory; None is "C"


@batching(np.reshape)
def reshape(batch, x, shape=None, order="C", *, copy=None):
    shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    return reshaped(x, shape, order) if batch.first and order in _ORDERS else NotImplemented


@batching(np.ndarray.reshape, np.generic.reshape)
def reshape_method(batch, x, *shape, order="C", copy=None):
    return reshape(batch, x, shape[0] if len(shape) == 1 else shape, order)


@batching(np.ravel, np.ndarray.flatten, np.generic.flatten)
def ravel(batch, x, order="C"):
    return reshaped(x, (-1,), order) if order in _ORDERS else NotImplemented


@batching(np.squeeze)
def squeeze(batch, x, axis=None):
    if axis is None:
        return np.reshape(x, (len(x), *[n for n in np.shape(x)[1:] if n != 1]))
    return x if np.ndim(x) == 1 else np.squeeze(x, shifted(axis))


@batching(np.expand_dims)
def expand_dims(batch, x, axis):
    return np.expand_dims(x, shifted(axis))


@batching(np.broadcast_to)
def broadcast_to(batch, x, shape, subok=False):
    shape = tuple(shape) if np.ndim(shape) else (shape,)
    return np.broadcast_to(lifted(x, len(shape)), (batch.size, *shape))


@batching(np.transpose)
def transpose(batch, x, axes=None):
    order = of_example(x)[::-1] if axes is None else [axis % (np.ndim(x) - 1) + 1 for axis in axes]
    return np.transpose(x, (0, *order))


@batching(np.ndarray.transpose, np.generic.transpose)
def transpose_method(batch, x, *axes):
    return transpose(batch, x, axes[0] if len(axes) == 1 and (axes[0] is None or np.ndim(axes[0])) else axes or None)


@batching(np.swapaxes)
def swapaxes(batch, x, axis1, axis2):
    return np.swapaxes(x, shifted(axis1), shifted(axis2))


@batching(np.matrix_transpose)
def matrix_transpose(batch, x):
    return np.swapaxes(x, -1, -2)


@batching(np.flip)
def flip(batch, x, axis=None):
    return np.flip(x, of_example(x) if axis is None else shifted(axis))


@batching(np.roll)
def roll(batch, x, shift, axis=None):
    if not batch.first:
        return NotImplemented
    if axis is None:
        return np.reshape(np.roll(in_rows(x), sum(integers(shift)), 1), np.shape(x))
    return np.roll(x, shift, shifted(axis))


@batching(np.repeat)
def repeat(batch, x, repeats, axis=None):
    if not batch.first:
        return NotImplemented
    if axis is None or np.ndim(x) == 1:
        return np.repeat(in_rows(x), repeats, 1)
    return np.repeat(x, repeats, shifted(axis))


@batching(np.tile)
def tile(batch, x, reps):
    if not batch.first:
        return NotImplemented
    reps = integers(reps)
    ndim = max(len(reps), rank(x, True))
    return np.tile(lifted(x, ndim), (1,) * (1 + ndim - len(reps)) + reps)


@batching(np.ndarray.item, np.generic.item)
def item(batch, x, *index):
    place = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
    if len(place) > 1:
        found = x[(slice(None), *place)]
    else:
        found = in_rows(x)[:, place[0] if place else 0]
    return found.astype(complex if found.dtype.kind == "c" else float) if found.dtype.kind in "fc" else found


@batching(np.diagonal)
def diagonal(batch, x, offset=0, axis1=0, axis2=1):
    return np.diagonal(x, offset, shifted(axis1), shifted(axis2))


@batching(np.trace)
def trace(batch, x, offset=0, axis1=0, axis2=1, *args, **kwargs):
    return np.trace(x, offset, shifted(axis1), shifted(axis2), *args, **kwargs)


@batching(np.diag)
def diag(batch, x, k=0):
    return on_diagonal(x, int(k)) if np.ndim(x) == 2 else np.diagonal(x, k, 1, 2)


@batching(np.diagflat)
def diagflat(batch, x, k=0):
    return on_diagonal(in_rows(x), int(k))


def on_diagonal(x, k):
    """Matrices of zeros with the vectors on a diagonal."""
    size, n = np.shape(x)
    places = np.arange(n)
    key = (slice(None), places + max(-k, 0), places + max(k, 0))
    return setitem(np.zeros((size, n + abs(k), n + abs(k)), x.dtype), key, x)


@batching(np.tril, np.triu)
def triangle(batch, x, k=0):
    if np.ndim(x) == 2:  # of vectors: matrices of equal rows
        x = np.broadcast_to(lifted(x, 2), (*np.shape(x), np.shape(x)[1]))
    return batch.fn(x, k)


@batching(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(batch, x, window_shape, axis=None, **kwargs):
    axis = of_example(x) if axis is None else shifted(axis)
    return np.lib.stride_tricks.sliding_window_view(x, window_shape, axis)
