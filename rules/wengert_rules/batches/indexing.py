"""Reading and writing at keys: those of an example behind the axis of the batch, keys of each example beside it.

Where a key has arrays, NumPy puts their axes in front if something stands between them; so does an axis of the batch.
An array that counts the examples then stands for that axis, and what NumPy moved to the front is moved back.
"""

from __future__ import annotations

import operator

import numpy as np

from wengert.extend import additem, addlens, batching, lens, setitem, setlens
from wengert_rules.batches.axes import in_rows, lifted, owned, rank, shifted, spread
from wengert_rules.indexing import within

ALL = slice(None)


def spelt_out(key, on, ndim):
    """The parts of a key, which of them each example has for itself, and the ellipsis as slices."""
    parts = list(key) if isinstance(key, tuple) else [key]
    has = list(on) if isinstance(on, tuple) and isinstance(key, tuple) else [on] * len(parts)
    parts = [as_array(part) if isinstance(part, list | range | tuple) else part for part in parts]
    used = sum([axes_read(part, own) for part, own in zip(parts, has, strict=True)])
    place = next((k for k, part in enumerate(parts) if part is Ellipsis), len(parts))
    tangents = [ALL] * (ndim - used)
    return [*parts[:place], *tangents, *parts[place + 1 :]], [*has[:place], *[False] * len(tangents), *has[place + 1 :]]


def as_array(part):
    """A list in a key as NumPy takes it: an empty one names no elements, and is not one of floats."""
    return np.asarray(part) if np.size(part) else np.zeros(np.shape(part), np.intp)


def axes_read(part, own):
    """Count the axes that a part of a key reads."""
    if part is None or part is Ellipsis:
        return 0
    return np.ndim(part) if is_mask(part) and not own else 1


def is_mask(part):
    return isinstance(part, np.ndarray) and part.dtype.kind == "b"


def is_slice(part):
    return part is None or isinstance(part, slice)


class Places:
    """The key of a batch, and where the axes of its arrays stand in what it reads.

    `key` reads from a batch of arrays. Of what it reads, `count` axes behind that of the batch belong after `before`
    others.
    """

    def __init__(self, key, count=0, before=0):
        self.key, self.count, self.before = key, count, before

    def read(self, x):
        """The elements of each example at its key, from an array of each."""
        return moved(x[self.key], self.count, 1, 1 + self.before)

    def given(self, value):
        """Move the axes of the array to be written into the order in which the key has them."""
        return moved(value, self.count, 1 + self.before, 1)


def moved(x, count, start, to):
    """`x` with the `count` axes from `start` on moved to start at `to`."""
    if count == 0 or start == to:
        return x
    rest = [*range(start), *range(start + count, np.ndim(x))]
    return np.transpose(x, (*rest[:to], *range(start, start + count), *rest[to:]))


def places_of(key, on, ndim, size):
    """The Places of a key in examples of `ndim` axes; None of one that cannot be told for all at once."""
    key, on = without_masks(key, on)
    if key is None or any([isinstance(part, bool | np.bool_) for part in (key if isinstance(key, tuple) else (key,))]):
        return None
    parts, has = spelt_out(key, on, ndim)
    if any([own and isinstance(part, slice) for part, own in zip(parts, has, strict=True)]):
        return None
    arrays = [k for k, part in enumerate(parts) if isinstance(part, np.ndarray) and (has[k] is False or part.ndim > 1)]
    if not any(has) and not arrays:
        return Places((ALL, *parts))
    advanced = [k for k, part in enumerate(parts) if not is_slice(part)]
    together = advanced == list(range(advanced[0], advanced[-1] + 1))
    if not any(has) and together:
        return Places((ALL, *parts))
    count = max([width(parts[k], has[k]) for k in advanced])
    parts = [lifted(part, count) if own else part for part, own in zip(parts, has, strict=True)]
    examples = np.reshape(np.arange(size), (size,) + (1,) * count)
    return Places((examples, *parts), count, advanced[0] if together and arrays else 0)


def width(part, own):
    """Count the axes that a part of a key adds to the result."""
    return 1 if is_mask(part) else rank(part, own)


def without_masks(key, on):
    """A key with the places of what a mask of each example chooses, of as many for all; (None, None) of others."""
    pairs = zip(key, on, strict=True) if isinstance(key, tuple) and isinstance(on, tuple) else [(key, on)]
    if not any([own and is_mask(part) for part, own in pairs]):
        return key, on
    parts: list = []
    has: list = []
    for part, own in zip(key, on, strict=True) if isinstance(key, tuple) else [(key, on)]:
        if not (own and is_mask(part)):
            parts, has = [*parts, part], [*has, own]
            continue
        counts = np.sum(in_rows(part), axis=1)
        if np.ndim(part) == 1 or np.any(counts != counts[:1]):
            return None, None
        places = [np.reshape(places, (len(part), -1)) for places in np.nonzero(part)[1:]]
        parts, has = [*parts, *places], [*has, *[True] * len(places)]
    return tuple(parts), tuple(has)


@batching(operator.getitem, np.ndarray.__getitem__)
def getitem(batch, x, key):
    on_x, on_key = batch.axes
    if isinstance(x, tuple | list | dict):
        return x[key] if not on_key and on_x is True else NotImplemented
    places = places_of(key, on_key, rank(x, on_x), batch.size)
    return NotImplemented if places is None else places.read(spread(x, on_x, batch.size))


@batching(setitem, additem)
def store(batch, x, key, value):
    """Into an array of each example; a value of theirs has as many axes as what it is written to."""
    on_x, on_key, on_value = batch.axes
    x = owned(x, on_x, batch.size)
    if is_mask(key) and on_key is True and np.ndim(key) == np.ndim(x):
        return masked(batch, x, key, value)
    places = places_of(key, on_key, np.ndim(x) - 1, batch.size)
    if places is None:
        return NotImplemented
    if np.ndim(value) > 0:
        target = np.ndim(x[places.key]) - 1
        if rank(value, on_value) > target:
            return NotImplemented
        value = places.given(spread(value, on_value, batch.size, target))
    return batch.fn(x, places.key, value)


def masked(batch, x, mask, value):
    """Where the mask of each example is true, a number for all of the example."""
    if rank(value, batch.axes[2]) > 0:
        return NotImplemented
    value = lifted(value, np.ndim(x) - 1, batch.axes[2])
    written = value if batch.fn is setitem else x + value
    return np.where(mask, written, x).astype(x.dtype)


@batching(np.take)
def take(batch, a, indices, axis=None, out=None, mode="raise"):
    on_a, on_indices = batch.axes[:2]
    if out is not None or any(batch.axes[2:]) or batch.named:
        return NotImplemented
    if not on_indices:
        if axis is None or np.ndim(a) == 1:
            return np.take(in_rows(a), indices, 1, mode=mode)
        return np.take(a, indices, shifted(axis), mode=mode)
    if not on_a:
        return np.take(a, indices, None, mode=mode) if axis is None else along_axis(batch, a, indices, axis, mode)
    a = in_rows(a) if axis is None else a
    return along_axis(batch, a, indices, 0 if axis is None else axis, mode)


def along_axis(batch, a, indices, axis, mode):
    """Of indices of each example, along one axis of arrays."""
    on_a = batch.axes[0]
    axis = axis % rank(a, on_a)
    indices = within(indices, np.shape(a)[axis + bool(on_a)], mode)
    places = places_of((ALL,) * axis + (indices,), (False,) * axis + (True,), rank(a, on_a), batch.size)
    return places.read(spread(a, on_a, batch.size))


@batching(np.take_along_axis)
def take_along_axis(batch, arr, indices, axis=-1):
    on_arr, on_indices = batch.axes[:2]
    arr, indices = spread(arr, on_arr, batch.size), spread(indices, on_indices, batch.size)
    return np.take_along_axis(arr if axis is not None else in_rows(arr), indices, 1 if axis is None else shifted(axis))


@batching(np.ndarray.compress)
def compress(batch, a, condition, axis=None, out=None):
    if not batch.first or out is not None:
        return NotImplemented
    places = np.flatnonzero(condition)
    return np.take(in_rows(a), places, 1) if axis is None else np.take(a, places, shifted(axis))


@batching(np.choose)
def choose(batch, a, choices, out=None, mode="raise"):
    on_a, on = batch.axes[:2]
    if on is True or out is not None or not isinstance(choices, tuple | list):
        return NotImplemented
    on = on if isinstance(on, tuple) else (False,) * len(choices)
    ndim = max([rank(a, on_a), *map(rank, choices, on)])
    given = [lifted(x, ndim, has) for x, has in zip(choices, on, strict=True)]
    return np.choose(lifted(a, ndim, on_a), given, mode=mode)


@batching(lens)
def lens_(batch, x, offset, shape, strides):
    return in_rows(x)[:, shown(x, batch.strides, offset, shape, strides)] if batch.first else NotImplemented


@batching(setlens, addlens)
def through_lens(batch, x, offset, shape, strides, value):
    """The elements that a window shows, in memory that lies as that of each example does."""
    on_x, *others, on_value = batch.axes
    if any(others):
        return NotImplemented
    places = shown(x if on_x else x[np.newaxis], batch.strides, offset, shape, strides)
    x = owned(x, on_x, batch.size)
    key, value = (ALL, places), lifted(value, len(shape), on_value)
    if batch.fn is addlens:
        value = np.broadcast_to(value, (batch.size, *shape))
    return np.reshape((setitem if batch.fn is setlens else additem)(in_rows(x), key, value), np.shape(x))


def shown(x, laid, offset, shape, strides):
    """Which elements of an example, read as a row, a window onto its memory shows: by a window onto their numbers."""
    if laid is None:
        laid = x.strides[1:] if x.size else np.empty(np.shape(x)[1:], x.dtype).strides
    offset, *steps = [n * 8 // x.itemsize for n in (offset, *strides)]
    return lens(strided_numbers(np.shape(x)[1:], [n * 8 // x.itemsize for n in laid]), offset, shape, tuple(steps))


def strided_numbers(shape, strides):
    """The numbers from 0 on in C order, in memory of these strides."""
    starts = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
    below = -sum([n for n in starts if n < 0])
    length = below + sum([n for n in starts if n > 0]) + 8
    made = np.ndarray(shape, np.int64, np.zeros(length // 8, np.int64), below, strides)
    made[...] = np.reshape(np.arange(made.size), shape)
    return made
