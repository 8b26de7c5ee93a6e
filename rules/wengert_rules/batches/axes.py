"""The axes of an example beside those of its batch."""

from __future__ import annotations

import math

import numpy as np


def rank(x, on):
    """The number of axes of an example."""
    return np.ndim(x) - 1 if on else np.ndim(x)


def lifted(x, ndim, on=True):
    """`x` whose examples have `ndim` axes: those that are missing stand in front, as broadcasting has them."""
    missing = ndim - np.ndim(x) + 1
    return np.expand_dims(x, tuple(range(1, 1 + missing))) if on and missing > 0 else x


def spread(x, on, size, ndim=0):
    """`x` with an axis of the examples, all of which see it where it had none, and at least `ndim` axes of theirs."""
    if not on:
        x = np.broadcast_to(x, (size, *np.shape(x)))
    return lifted(x, ndim)


def owned(x, on, size):
    """`x` for each example, in memory of its own: what all see would be written by all."""
    return x if on else np.copy(spread(x, on, size))


def aligned(batch, args):
    """Arguments that broadcast against each other, in each example."""
    ndim = max(map(rank, args, batch.axes))
    return [lifted(x, ndim, on) for x, on in zip(args, batch.axes, strict=True)]


def shifted(axis):
    """The axis, or axes, of a batch that are `axis` of an example."""
    if isinstance(axis, tuple | list):
        return tuple([shifted(k) for k in axis])
    return int(axis) + 1 if axis >= 0 else int(axis)


def of_example(x):
    """All axes of an example."""
    return tuple(range(1, np.ndim(x)))


def in_rows(x):
    """The elements of each example in a row."""
    return np.reshape(x, (np.shape(x)[0], math.prod(np.shape(x)[1:])))
