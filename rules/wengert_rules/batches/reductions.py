"""Reductions, accumulations and sorting: along the same axes, one further; of all elements, of all of an example."""

from __future__ import annotations

import numpy as np

from wengert.extend import batching
from wengert_rules.batches.axes import in_rows, lifted, of_example, rank, shifted, spread
from wengert_rules.recurrences import products_of_others, sums_onward


def given_shape(y, x, keepdims):
    """A number for each example, with `keepdims` an array of as many axes as its array has."""
    return np.reshape(y, (len(y),) + (1,) * (np.ndim(x) - 1)) if keepdims else y


def masks_lifted(batch, x, kwargs):
    """The keywords, with a mask of each example aligned with its array; None where another keyword has the examples."""
    if batch.axes[0] is not True or any(batch.axes[1:]) or {*batch.named} - {"where"}:
        return None
    if "where" in batch.named:
        return kwargs | {"where": lifted(kwargs["where"], np.ndim(x) - 1)}
    return kwargs


@batching(
    np.sum, np.prod, np.mean, np.var, np.std, np.max, np.min, np.any, np.all, np.count_nonzero,
    np.nanvar, np.nanstd, np.nanmax, np.nanmin, np.median, np.nanmedian,
)  # fmt: skip
def reduced(batch, x, axis=None, *args, **kwargs):
    kwargs = masks_lifted(batch, x, kwargs)
    if kwargs is None or (np.ndim(x) == 1 and (args or kwargs)):
        return NotImplemented
    if np.ndim(x) == 1:  # of numbers, which have axes 0 and -1 though they have none
        return batch.fn(np.reshape(x, (-1, 1)), axis=1)
    return batch.fn(x, of_example(x) if axis is None else shifted(axis), *args, **kwargs)


@batching(np.ufunc.reduce)
def reduce(batch, x, axis=0, *args, **kwargs):
    return reduced(batch, x, axis, *args, **kwargs)


@batching(np.argmax, np.argmin)
def extreme_place(batch, x, axis=None, out=None, *, keepdims=False):
    if not batch.first or out is not None:
        return NotImplemented
    if axis is None or np.ndim(x) == 1:
        return given_shape(batch.fn(in_rows(x), axis=1), x, keepdims)
    return batch.fn(x, axis=shifted(axis), **({"keepdims": True} if keepdims else {}))


@batching(np.cumsum, np.cumprod)
def accumulated(batch, x, axis=None, *args, **kwargs):
    if not batch.first:
        return NotImplemented
    if axis is None or np.ndim(x) == 1:
        return batch.fn(in_rows(x), 1, *args, **kwargs)
    return batch.fn(x, shifted(axis), *args, **kwargs)


@batching(np.ufunc.accumulate)
def accumulate(batch, x, axis=0, *args, **kwargs):
    return batch.fn(x, shifted(axis or 0), *args, **kwargs) if batch.first else NotImplemented


@batching(np.ufunc.reduceat)
def reduceat(batch, x, indices, axis=0, *args, **kwargs):
    return batch.fn(x, indices, shifted(axis or 0), *args, **kwargs) if batch.first else NotImplemented


@batching(np.ufunc.outer)
def outer(batch, a, b, **kwargs):
    """Each axis of the first beside each of the second."""
    if batch.named:
        return NotImplemented
    on_a, on_b = batch.axes
    left = np.reshape(a, np.shape(a) + (1,) * rank(b, on_b))
    return batch.fn.__self__(left, lifted(b, rank(a, on_a) + rank(b, on_b), on_b), **kwargs)


@batching(np.sort, np.argsort)
def ordered(batch, x, axis=-1, *args, **kwargs):
    if not batch.first or np.ndim(x) == 1:
        return NotImplemented
    return batch.fn(in_rows(x), 1, *args, **kwargs) if axis is None else batch.fn(x, shifted(axis), *args, **kwargs)


@batching(np.partition, np.argpartition)
def parted(batch, x, kth, axis=-1, *args, **kwargs):
    if not batch.first:
        return NotImplemented
    if axis is None:
        return batch.fn(in_rows(x), kth, 1, *args, **kwargs)
    return batch.fn(x, kth, shifted(axis), *args, **kwargs)


@batching(np.searchsorted)
def searchsorted(batch, a, v, *args, **kwargs):
    """Of values of each example in one array, which all share."""
    return NotImplemented if batch.axes[0] or any(batch.axes[2:]) else np.searchsorted(a, v, *args, **kwargs)


@batching(np.digitize, np.interp)
def against_shared(batch, x, *args, **kwargs):
    return batch.fn(x, *args, **kwargs) if batch.first else NotImplemented


@batching(np.bincount)
def bincount(batch, x, weights=None, minlength=0):
    """Of places that all share, with the weights of each example."""
    if batch.axes[0] or weights is None or batch.named:
        return NotImplemented
    length = max(np.max(x, initial=-1) + 1, minlength)
    return np.stack([np.sum(weights[:, x == k], axis=1) for k in range(length)], axis=1).astype(float)


@batching(np.linalg.norm)
def norm(batch, x, ord=None, axis=None, keepdims=False):
    if not batch.first:
        return NotImplemented
    if axis is not None:
        return np.linalg.norm(x, ord, shifted(axis), keepdims)
    if ord is None:
        return given_shape(np.linalg.norm(in_rows(x), axis=1), x, keepdims)
    axes = of_example(x)
    return np.linalg.norm(x, ord, axes[0] if len(axes) == 1 else axes, keepdims)


@batching(sums_onward)
def sums_onward_(batch, weights, z):
    """Along the last axis of both, whatever stands before it."""
    return sums_onward(*[spread(x, on, batch.size) for x, on in zip((weights, z), batch.axes, strict=True)])


@batching(products_of_others)
def products_of_others_(batch, a):
    return products_of_others(a)
