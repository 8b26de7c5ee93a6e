"""Reading and writing parts of arrays and containers; an in-place change is recorded as one of these."""

from __future__ import annotations

import math
import operator

import numpy as np

from wengert.extend import (
    accumulates,
    additem,
    addlens,
    getfield,
    jvp_rule,
    lens,
    linear,
    make_dict,
    make_list,
    make_tuple,
    overlaps,
    setitem,
    setlens,
    setpart,
    vjp_rule,
)

ALL = slice(None)


def names_twice(key):
    """Whether the index `key` may name an element twice: only one with a sequence of integers can."""
    parts = key if isinstance(key, tuple) else (key,)
    return any(
        part.dtype.kind != "b" if isinstance(part, np.ndarray) else isinstance(part, (list, tuple, range))
        for part in parts
    )


def last_writes(shape, key):
    """Which places of the written value last: an element named twice keeps what was written to it last."""
    writers = np.zeros(shape, int)
    order = np.reshape(np.arange(np.size(writers[key])), np.shape(writers[key]))
    return setitem(writers, key, order)[key] == order


def within(indices, length, mode):
    """The indices that `np.take` reads in this mode."""
    indices = np.asarray(indices, np.intp)
    if mode == "wrap":
        return indices % length
    return np.clip(indices, 0, length - 1) if mode == "clip" else indices


def blank(x):
    """Zeros with the strides of `x`, in which a window is stated; what only has a shape stands in C order."""
    return setitem(x, ..., 0) if isinstance(x, np.ndarray) else np.zeros(np.shape(x), x.dtype)


def like(y_bar, x):
    """`y_bar` with the strides of `x`."""
    return setitem(blank(x), ..., y_bar)


def add_rows(x, index, rows):
    """Add `rows` to those of `x` that `index` names, one element at a time: `add.at` is faster on vectors."""
    width = math.prod(np.shape(x)[1:])
    places = index.astype(np.intp)  # a small integer would overflow
    starts = np.reshape(np.where(places < 0, places + len(x), places), (-1, 1)) * width
    np.add.at(np.reshape(x, (-1,)), np.reshape(starts + np.arange(width), (-1,)), np.reshape(rows, (-1,)))


@vjp_rule(operator.getitem, np.ndarray.__getitem__, view=True)
def getitem(y_bar, y, x, *, key):
    return additem(np.zeros(np.shape(x), x.dtype), key, y_bar)


@accumulates(operator.getitem, arg=0, scatters=True)
def getitem_onto(x_bar, y_bar, y, x, key):
    if isinstance(key, np.ndarray) and key.dtype.kind in "iu" and x_bar.ndim > 1 and x_bar.flags.c_contiguous:
        add_rows(x_bar, key, y_bar)
    elif names_twice(key):
        np.add.at(x_bar, key, y_bar)
    else:
        x_bar[key] += y_bar
    return x_bar


@vjp_rule(np.take, np.ndarray.take, np.generic.take)
def take(y_bar, y, a, *, indices, axis=None, out=None, mode="raise"):
    shape, key = taken(a, indices, axis, mode)
    return np.reshape(additem(np.zeros(shape, a.dtype), key, y_bar), np.shape(a))


def laid(a, axis):
    """The shape in which a function along one axis sees `a`, and that axis; None is that of all elements in a row."""
    if axis is None or np.ndim(a) == 0:
        return (np.size(a),), 0
    return np.shape(a), axis % np.ndim(a)


def taken(a, indices, axis, mode):
    """The shape that `np.take` sees `a` in, and the key of what it takes."""
    shape, along = laid(a, axis)
    return shape, (ALL,) * along + (within(indices, shape[along], mode),)


@accumulates(np.take, arg=0, scatters=True)
def take_onto(x_bar, y_bar, y, a, indices, axis=None, out=None, mode="raise"):
    if not x_bar.flags.c_contiguous:
        return NotImplemented
    shape, key = taken(a, indices, axis, mode)
    np.add.at(np.reshape(x_bar, shape), key, y_bar)
    return x_bar


@vjp_rule(np.take_along_axis)
def take_along_axis(y_bar, y, arr, *, indices, axis=-1):
    """Each element goes back to where its index found it; on the other axes it stayed in its place."""
    shape, key = taken_along(arr, indices, axis)
    return np.reshape(additem(np.zeros(shape, arr.dtype), key, y_bar), np.shape(arr))


def taken_along(arr, indices, axis):
    """The shape that `np.take_along_axis` sees `arr` in, and the key of what it takes."""
    shape, along = laid(arr, axis)
    rest = [(1,) * k + (-1,) + (1,) * (len(shape) - k - 1) for k in range(len(shape))]
    return shape, tuple(indices if k == along else np.reshape(np.arange(shape[k]), rest[k]) for k in range(len(shape)))


@vjp_rule(np.ndarray.compress)
def compress(y_bar, y, a, *, condition, axis=None, out=None):
    shape, along = laid(a, axis)
    key = (ALL,) * along + (np.flatnonzero(condition),)
    return np.reshape(setitem(np.zeros(shape, a.dtype), key, y_bar), np.shape(a))


linear(operator.getitem, np.take, np.take_along_axis, np.ndarray.compress)


@vjp_rule(np.ndarray.choose, np.choose, sequence=1, broadcasts=True)
def choose(y_bar, y, a, *choices, out=None, mode="raise"):
    """ȳ goes to the array that each element was taken from."""
    chosen = within(a, len(choices), mode)
    return (None, *[np.where(chosen == i, y_bar, 0) for i in range(len(choices))])


@jvp_rule(np.choose, broadcasts=True)
def push_choose(tangents, y, a, *choices, out=None, mode="raise"):
    """At once, as each choice is no more than broadcast."""
    return np.choose(a, [0.0 if tangent is None else tangent for tangent in tangents[1:]], mode=mode)


@vjp_rule(np.bincount)
def bincount(y_bar, y, x, weights=None, *, minlength=0):
    return None, y_bar[x]


linear(np.bincount, args=(1,))


@vjp_rule(setitem, broadcasts=True)
def setitem_(y_bar, y, x, key, value):
    """The overwritten elements of x get 0; the written value gets ȳ[key]."""
    kept = np.where(last_writes(np.shape(x), key), y_bar[key], 0) if names_twice(key) else y_bar[key]
    return setitem(y_bar, key, 0), None, kept


@vjp_rule(additem, broadcasts=True)
def additem_(y_bar, y, x, key, value):
    return y_bar, None, y_bar[key]


def written(tangent, y):
    """A tangent that a write may start from: zeros for None, a copy of one that shows an element twice."""
    if tangent is None:
        return np.zeros(np.shape(y), y.dtype)
    return np.copy(tangent) if overlaps(tangent) else tangent


@jvp_rule(setitem)
def push_setitem(tangents, y, x, key, value):
    return setitem(written(tangents[0], y), key, writing(tangents[2], y))


@jvp_rule(additem)
def push_additem(tangents, y, x, key, value):
    return tangents[0] if tangents[2] is None else additem(written(tangents[0], y), key, writing(tangents[2], y))


def writing(tangent, y):
    """A tangent that is written: real where y is, as NumPy writes."""
    if tangent is None:
        return 0
    return tangent if np.iscomplexobj(y) else np.real(tangent)


@vjp_rule(lens)
def lens_(y_bar, y, x, *, offset, shape, strides):
    return addlens(blank(x), offset, shape, strides, y_bar)


@accumulates(lens, arg=0, scatters=True)
def lens_onto(x_bar, y_bar, y, x, offset, shape, strides):
    """Through the window itself, where x̄ lies in memory as x does and no element is seen twice."""
    if getattr(x, "strides", x_bar.strides) != x_bar.strides or not x_bar.flags.c_contiguous:
        return NotImplemented
    window = np.ndarray(shape, x_bar.dtype, x_bar, offset, strides) if np.size(y_bar) else y_bar
    if overlaps(window):
        return NotImplemented
    window += y_bar
    return x_bar


@vjp_rule(setlens, broadcasts=True)
def setlens_(y_bar, y, x, offset, shape, strides, value):
    """As `setitem`, on windows whose elements do not share memory."""
    aligned = like(y_bar, x)
    x_bar = setlens(aligned, offset, shape, strides, 0)
    return x_bar, None, None, None, lens(aligned, offset, shape, strides)


@vjp_rule(setpart, broadcasts=True)
def setpart_(y_bar, y, x, part, value):
    """The real part of ȳ belongs to what is now the real part, and so the imaginary one."""
    if part == "real":
        return 1j * np.imag(y_bar), None, np.real(y_bar)
    return np.real(y_bar), None, np.imag(y_bar)


@vjp_rule(addlens, broadcasts=True)
def addlens_(y_bar, y, x, offset, shape, strides, value):
    return y_bar, None, None, None, lens(like(y_bar, x), offset, shape, strides)


@jvp_rule(lens)
def push_lens(tangents, y, x, *, offset, shape, strides):
    return lens(like(tangents[0], x), offset, shape, strides)


@jvp_rule(setlens)
def push_setlens(tangents, y, x, offset, shape, strides, value):
    return setlens(laid_out(tangents[0], x), offset, shape, strides, writing(tangents[4], y))


@jvp_rule(addlens)
def push_addlens(tangents, y, x, offset, shape, strides, value):
    return addlens(laid_out(tangents[0], x), offset, shape, strides, writing(tangents[4], y))


def laid_out(tangent, x):
    """A tangent with the strides of `x`; zeros for None."""
    return blank(x) if tangent is None else like(tangent, x)


@jvp_rule(setpart)
def push_setpart(tangents, y, x, part, value):
    return setpart(written(tangents[0], y), part, writing(tangents[2], np.real(tangents[2])))


@vjp_rule(make_tuple)
def make_tuple_(y_bar, y, *xs):
    return tuple(y_bar[i] for i in range(len(xs)))


@vjp_rule(make_list)
def make_list_(y_bar, y, *xs):
    return tuple(y_bar[i] for i in range(len(xs)))


@vjp_rule(make_dict)
def make_dict_(y_bar, y, keys, *values):
    return (None, *[y_bar[key] for key in keys])


@jvp_rule(make_tuple, broadcasts=True)
def push_make_tuple(tangents, y, *xs):
    return tangents


@jvp_rule(make_list, broadcasts=True)
def push_make_list(tangents, y, *xs):
    return list(tangents)


@jvp_rule(make_dict, broadcasts=True)
def push_make_dict(tangents, y, keys, *values):
    return dict(zip(keys, tangents[1:], strict=True))


@vjp_rule(getfield)
def getfield_(y_bar, y, t, i):
    """The cotangent of a container names only the parts that have one."""
    return {i: y_bar}, None


@jvp_rule(getfield, broadcasts=True)
def push_getfield(tangents, y, t, i):
    return getfield(tangents[0], i)
