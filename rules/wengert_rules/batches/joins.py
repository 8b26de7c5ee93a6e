"""Arrays made of several: what all examples share is seen by each."""

from __future__ import annotations

import numpy as np

from wengert.extend import batching, getfield, make_dict, make_list, make_tuple
from wengert_rules.batches.axes import in_rows, lifted, rank, shifted, spread


def parts(batch, arrays, ndim=0):
    """The items of a sequence, each with an axis of the examples; None where that is no sequence of arrays."""
    on = batch.axes[0]
    if batch.named or any(batch.axes[1:]):
        return None
    if on is True:  # an array of each example, whose rows are the sequence
        arrays, on = [arrays[:, i] for i in range(np.shape(arrays)[1])], (True,) * np.shape(arrays)[1]
    return [spread(x, has, batch.size, ndim) for x, has in zip(arrays, on, strict=True)]


@batching(np.concatenate)
def concatenate(batch, arrays, axis=0, **kwargs):
    whole = parts(batch, arrays)
    if whole is None:
        return NotImplemented
    if axis is None:
        return np.concatenate([in_rows(x) for x in whole], axis=1, **kwargs)
    return np.concatenate(whole, axis=shifted(axis), **kwargs)


@batching(np.stack)
def stack(batch, arrays, axis=0, **kwargs):
    whole = parts(batch, arrays)
    return NotImplemented if whole is None else np.stack(whole, axis=shifted(axis), **kwargs)


@batching(np.hstack)
def hstack(batch, arrays, **kwargs):
    whole = parts(batch, arrays, 1)
    return NotImplemented if whole is None else np.concatenate(whole, axis=min(2, np.ndim(whole[0]) - 1), **kwargs)


@batching(np.vstack)
def vstack(batch, arrays, **kwargs):
    whole = parts(batch, arrays, 2)
    return NotImplemented if whole is None else np.concatenate(whole, axis=1, **kwargs)


@batching(np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray)
def array(batch, given, dtype=None, *, ndmin=0, **kwargs):
    """Of an array itself; of numbers and arrays, which are of one shape, the stack of them."""
    if {*kwargs} - {"order", "copy", "subok"}:
        return NotImplemented
    if batch.axes[0] is True:
        made = np.copy(given)
    else:
        made = np.stack([spread(x, on, batch.size) for x, on in zip(given, batch.axes[0], strict=True)], axis=1)
    made = made if dtype is None or made.dtype == dtype else made.astype(dtype)
    return lifted(made, 1 if batch.fn is np.ascontiguousarray else ndmin)


@batching(make_tuple, make_list)
def make_sequence(batch, *xs):
    return batch.fn(*[spread(x, on, batch.size) for x, on in zip(xs, batch.axes, strict=True)])


@batching(make_dict)
def make_dict_(batch, keys, *values):
    return make_dict(keys, *[spread(x, on, batch.size) for x, on in zip(values, batch.axes[1:], strict=True)])


@batching(getfield)
def getfield_(batch, t, i):
    return getfield(t, i)


@batching(np.linspace)
def linspace(batch, start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    ndim = max(rank(start, batch.axes[0]), rank(stop, batch.axes[1]))
    first, last = [lifted(x, ndim, on) for x, on in zip((start, stop), batch.axes[:2], strict=True)]
    return np.linspace(first, last, num, endpoint, retstep, dtype, shifted(axis))


@batching(np.arange)
def arange(batch, start, stop, step, dtype=None):
    """NumPy's own steps: from the first number to the second, as they are rounded."""
    start, stop, step = [spread(x, on, batch.size) for x, on in zip((start, stop, step), batch.axes, strict=False)]
    lengths = np.ceil((stop - start) / step)
    if not len(lengths) or np.any(lengths != lengths[0]):
        return NotImplemented
    return start[:, np.newaxis] + (start + step - start)[:, np.newaxis] * np.arange(max(int(lengths[0]), 0))
