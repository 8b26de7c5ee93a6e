"""Sums, means and extrema along axes, as functions of NumPy and as methods."""

from __future__ import annotations

import math

import numpy as np

from wengert.extend import pullback

SMALL = 1000  # elements; up to about here filling an array costs less than making a view of one number (4 µs)


def spread(y, shape, axis, keepdims):
    """The result `y` of a reduction of an array of `shape`, set against each element that went into it."""
    if axis is None and math.prod(shape) <= SMALL:
        return np.full(shape, y)
    if axis is not None and not keepdims:
        y = np.expand_dims(y, axis)
    return np.broadcast_to(y, shape)


@pullback(np.sum, np.ndarray.sum, np.generic.sum)
def sum_(y_bar, y, a, *, axis=None, dtype=None, out=None, keepdims=False, initial=0, where=True):
    every = spread(y_bar, np.shape(a), axis, keepdims)
    return every if where is True else np.where(where, every, 0)


@pullback(np.add.reduce)
def add_reduce(y_bar, y, a, *, axis=0, dtype=None, out=None, keepdims=False, initial=0, where=True):
    every = spread(y_bar, np.shape(a), axis, keepdims)
    return every if where is True else np.where(where, every, 0)


@pullback(np.mean, np.ndarray.mean, np.generic.mean)
def mean(y_bar, y, a, *, axis=None, dtype=None, out=None, keepdims=False):
    count = np.size(a) // max(np.size(y), 1)
    return spread(y_bar / max(count, 1), np.shape(a), axis, keepdims)


@pullback(np.max, np.min, np.ndarray.max, np.ndarray.min, np.generic.max, np.generic.min)
def extremum(y_bar, y, a, *, axis=None, out=None, keepdims=False):
    """ȳ is shared equally by the elements that tie."""
    hits = a == spread(y, np.shape(a), axis, keepdims)
    ties = np.sum(hits, axis=axis, dtype=y.dtype, keepdims=keepdims)
    share = y_bar / np.where(ties == 0, 1, ties)
    return np.where(hits, spread(share, np.shape(a), axis, keepdims), 0)


@pullback(np.cumsum, np.ndarray.cumsum, np.generic.cumsum)
def cumsum(y_bar, y, a, *, axis=None, dtype=None, out=None):
    """The sum of ȳ from each place to the end."""
    along = 0 if axis is None else axis
    return np.reshape(np.flip(np.cumsum(np.flip(y_bar, along), along), along), np.shape(a))
