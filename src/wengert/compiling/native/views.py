"""Native code for views of arrays, new arrays and stores into them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.compiling.native.values import (
    Affine,
    Computed,
    Counter,
    Known,
    Scalar,
    Splat,
    UnsupportedOp,
    View,
    is_native_array,
    is_table,
    number,
    row_major,
)
from wengert.tape.ops import Call

# -- views


def getitem_native(body: Any, op: Call, x: Any, key: Any) -> Any:
    """A part of an array, a number of one, or a part of a tuple."""
    if isinstance(x, tuple):
        return _table_entry(body, x, key) if isinstance(key, Affine) else x[key]
    if isinstance(key, Known):
        return _gathered(body, op, x, key)
    if isinstance(x, Splat):
        _keyed(View(None, Affine(0), row_major(x.shape), x.shape), key)  # type: ignore[arg-type]
        return Splat(x.number, op.val.shape) if isinstance(op.val, np.ndarray) else x.number
    return _load_or_view(body, op, _keyed(_view(body, x), key))


def _table_entry(body: Any, table: tuple[Any, ...], at: Affine) -> Any:
    """A number, or an array, of a table, in the place that an iteration has; a whole number may be an index."""
    if not is_table(table):
        raise UnsupportedOp("a table of other than numbers")
    values = np.array(table, float)
    view = body.program.parameter((values.tobytes(), "table"), values, values)
    part = _keyed(view, at)
    if part.shape:
        return part
    found: Scalar = body.level.load(part)
    if isinstance(table[0], float):
        return found
    least, most = int(min(table)), int(max(table))
    place = body.level.number(f"int({{0}}) - {least}", found)
    return Affine(least, ((Counter(place.text, most - least + 1), 1),))


def _gathered(body: Any, op: Call, x: Any, key: Known) -> Any:
    """Return the elements at known places of an array of one axis."""
    if len(x.shape) != 1 or op.val.ndim != 1:
        raise UnsupportedOp("rows at places")
    if isinstance(x, Splat):
        return Splat(x.number, op.val.shape)
    view = _view(body, x)
    at = body.program.places(key, view.shape[0])
    read = View(view.memory, view.offset, view.strides, op.val.shape, view.kind, at)
    return body.level.let("{0}", [read], op.val.shape, view.kind)


def bincount(body: Any, op: Call, at: Any, weights: Any, n: int) -> View:
    """A sum of the weights for each place."""
    if not isinstance(at, Known) or not is_native_array(weights) or op.val.dtype != np.float64 or op.val.shape != (n,):
        raise UnsupportedOp("a count of places")
    memory = body.level.memory((n,))
    view = View(memory, Affine(0), (1,), weights.shape, places=body.program.places(at, n))
    found: View = body.level.scatter(view, splat_number(body.as_float(weights)))
    return found


def item_native(body: Any, op: Call, x: Any, *key: Any) -> Any:
    if isinstance(x, Splat):
        return x.number
    view = _view(body, x)
    flat = len(key) == 1 and len(view.shape) != 1
    if flat or not (key or math.prod(view.shape) == 1):
        raise UnsupportedOp("item of a flat place")
    return _load_or_view(body, op, _keyed(view, key or (0,) * len(view.shape)))


def _load_or_view(body: Any, op: Call, view: View) -> Any:
    return view if isinstance(op.val, np.ndarray) else body.level.load(view)


def _view(body: Any, x: Any) -> View:
    if not is_native_array(x):
        raise UnsupportedOp(f"a part of a {type(x).__name__}")
    found: View = body.view(x)
    return found


def _keyed(view: View, key: Any) -> View:
    """The view that a basic key names."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if not all([part is None or part is Ellipsis or type(part) in (slice, int, np.int64, Affine) for part in parts]):
        raise UnsupportedOp("an index by an array")
    named = sum([part is not None and part is not Ellipsis for part in parts])
    at = next((k for k, part in enumerate(parts) if part is Ellipsis), len(parts))
    parts[at : at + 1] = [slice(None)] * (len(view.shape) - named)
    offset, strides, shape, axis = view.offset, list[int](), list[int](), 0
    for part in parts:
        if part is None:
            strides.append(0)
            shape.append(1)
            continue
        n, stride = view.shape[axis], view.strides[axis]
        axis += 1
        if isinstance(part, slice):
            start, count, step = _slice_span(part, n)
            offset += start * stride
            strides.append(stride * step)
            shape.append(count)
        else:
            offset += _axis_index(part, n) * stride
    return View(view.memory, offset, tuple(strides), tuple(shape), view.kind)


def _affine(x: Any) -> Affine:
    if isinstance(x, (int, np.integer)):
        return Affine(int(x))
    if isinstance(x, Affine):
        return x
    raise UnsupportedOp("an index that is computed")


def _axis_index(part: Any, n: int, most: int = -1) -> Affine:
    """An index along an axis of n elements, from the front; for the end of a slice, n is one too."""
    place = _affine(part)
    if place.most < 0:
        place += n
    if place.least < 0 or place.most > n + most:
        raise UnsupportedOp("an index that is not on one side of zero")
    return place


def _slice_span(part: slice, n: int) -> tuple[Affine, int, int]:
    """Where a slice begins, how many elements it has, and its step."""
    if not any([isinstance(bound, Affine) for bound in (part.start, part.stop, part.step)]):
        span = range(n)[part]
        return Affine(span.start), len(span), span.step
    if part.step not in (None, 1) or part.start is None or part.stop is None:
        raise UnsupportedOp("a slice whose length is computed")
    start, stop = _axis_index(part.start, n, 0), _axis_index(part.stop, n, 0)
    length = stop + start * -1
    if length.steps or length.first < 0:
        raise UnsupportedOp("a slice whose length changes")
    return start, length.first, 1


def reshape(body: Any, op: Call, x: Any, *_: Any, **__: Any) -> Any:
    """An array with other axes: a view, or a copy."""
    shape = op.val.shape
    if not is_native_array(x):
        return Splat(body.operand(x), shape)
    if isinstance(x, Splat):
        return Splat(x.number, shape, x.blank)
    if [a for a in (*_, *__.values()) if type(a) is str and a != "C"]:
        raise UnsupportedOp("reshape in an order")
    view = _view(body, x)
    longer = [(n, s) for n, s in zip(view.shape, view.strides, strict=True) if n != 1]
    if [n for n, _ in longer] == [n for n in shape if n != 1]:
        strides = iter([s for _, s in longer])
        return View(view.memory, view.offset, tuple([next(strides) if n != 1 else 0 for n in shape]), shape, view.kind)
    if not view.is_contiguous:
        view = body.level.view(body.level.let("{0}", [view], view.shape, view.kind))
    return View(view.memory, view.offset, row_major(shape), shape, view.kind)


def transpose(body: Any, op: Call, x: Any, *axes: Any, **named: Any) -> Any:
    if isinstance(x, Splat):
        return Splat(x.number, op.val.shape)
    view = _view(body, x)
    given = named.get("axes", axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None)
    n = len(view.shape)
    order = range(n)[::-1] if given is None else [axis % n for axis in given]
    strides, shape = [tuple([row[axis] for axis in order]) for row in (view.strides, view.shape)]
    return View(view.memory, view.offset, strides, shape, view.kind)


def attribute_native(body: Any, op: Call, x: Any, name: Any) -> Any:
    if name != "T" or not is_native_array(x):
        raise UnsupportedOp(f"attribute {name}")
    return transpose(body, op, x)


def swapaxes(body: Any, op: Call, x: Any, a: int, b: int) -> Any:
    order = list(range(op.val.ndim))
    order[a], order[b] = order[b], order[a]
    return transpose(body, op, x, order)


def broadcast_to(body: Any, op: Call, x: Any, shape: Any) -> Any:
    if not is_native_array(x) or isinstance(x, Splat):
        return Splat(x.number if isinstance(x, Splat) else body.operand(x), op.val.shape)
    return _view(body, x).over(op.val.shape)


# -- new arrays and stores


def zeros(body: Any, op: Call, *_: Any, **__: Any) -> Any:
    return _splat_of(op, number(0.0))


def ones(body: Any, op: Call, *_: Any, **__: Any) -> Any:
    return _splat_of(op, number(1.0))


def empty(body: Any, op: Call, *_: Any, **__: Any) -> Any:
    return replace(_splat_of(op, number(0.0)), blank=True)


def full(body: Any, op: Call, shape: Any, value: Any, *_: Any, **__: Any) -> Any:
    value = body.operand(value)
    if not isinstance(value, Scalar):
        raise UnsupportedOp("full of an array")
    return _splat_of(op, value)


def _splat_of(op: Call, value: Scalar) -> Splat:
    if op.val.dtype != np.float64:
        raise UnsupportedOp(f"an array of {op.val.dtype}")
    return Splat(value, op.val.shape)


def setitem_native(body: Any, op: Call, x: Any, key: Any, value: Any) -> Any:
    return _store_into(body, op, x, key, value, "=")


def additem_native(body: Any, op: Call, x: Any, key: Any, value: Any) -> Any:
    return _store_into(body, op, x, key, value, "+=")


def _store_into(body: Any, op: Call, x: Any, key: Any, value: Any, sign: str) -> Any:
    """A store into the array itself where nobody reads it afterwards, else into a copy."""
    if not is_native_array(x) or op.val.dtype != np.float64:
        raise UnsupportedOp("a store into no array")
    value = body.as_float(body.operand(value))
    if isinstance(x, Splat):
        blank = View(None, Affine(0), row_major(x.shape), x.shape)  # type: ignore[arg-type]
        if sign == "+=" and _keyed(blank, key).is_like(blank):
            return body.level.let("{0} + {1}", [x.number, splat_number(value)], x.shape)
    whole = body.own(op, x)
    part = _keyed(whole, key)
    if math.prod(part.shape):
        if len(getattr(value, "shape", ())) > len(part.shape):
            value = _without_ones(body, value, len(part.shape))
        if (
            sign == "="
            and isinstance(value, Computed)
            and part.shape == value.shape
            and body.level.may_write_at(value, part)
        ):
            body.level.give_memory(value, part)
        else:
            body.level.store(part, sign, splat_number(value))
    return whole


def _without_ones(body: Any, value: Any, axes: int) -> Any:
    if isinstance(value, Splat):
        return value
    view, more = _view(body, value), len(value.shape) - axes
    if any([n != 1 for n in view.shape[:more]]):
        raise UnsupportedOp("a store of more axes than its place has")
    return View(view.memory, view.offset, view.strides[more:], view.shape[more:], view.kind)


def splat_number(x: Any) -> Any:
    return x.number if isinstance(x, Splat) else x


def concatenate(body: Any, op: Call, parts: Any, axis: Any = 0) -> Any:
    if not isinstance(parts, (tuple, list)) or not isinstance(axis, int) or not all(map(is_native_array, parts)):
        raise UnsupportedOp("a concatenation of what is computed")
    whole = _new(body, op)
    begin, axis = 0, axis % op.val.ndim
    for part in parts:
        n = part.shape[axis]
        place = _keyed(whole, (slice(None),) * axis + (slice(begin, begin + n),))
        begin += n
        body.level.store(place, "=", splat_number(body.as_float(part)))
    return whole


def gathered(body: Any, op: Call, parts: Any) -> Any:
    if not isinstance(parts, (tuple, list)) or op.val.dtype != np.float64:
        raise UnsupportedOp("an array of what is no list of floats")
    return array_of_parts(body, parts)


def array_of_parts(body: Any, parts: Any) -> Any:
    """A value; where it is a list of numbers and arrays, or of lists of them, the array of these."""
    if not isinstance(parts, (tuple, list)) or not parts:
        return parts
    shape = _shape(parts)
    whole = View.whole(body.level.memory(shape), shape)

    def put(parts: Any, place: tuple[int, ...]) -> None:
        for k, part in enumerate(parts):
            if isinstance(part, (tuple, list)):
                put(part, (*place, k))
            else:
                body.level.store(_keyed(whole, (*place, k)), "=", splat_number(body.as_float(body.operand(part))))

    put(parts, ())
    return whole


def _shape(parts: Any) -> tuple[int, ...]:
    if isinstance(parts, (tuple, list)) and parts:
        return len(parts), *_shape(parts[0])
    return parts.shape if is_native_array(parts) else ()


def stack(body: Any, op: Call, parts: Any, axis: Any = 0) -> Any:
    if not isinstance(parts, (tuple, list)) or not isinstance(axis, int):
        raise UnsupportedOp("a stack of what is computed")
    whole, axis = _new(body, op), axis % op.val.ndim
    for k, part in enumerate(parts):
        body.level.store(
            _keyed(whole, (slice(None),) * axis + (k,)), "=", splat_number(body.as_float(body.operand(part)))
        )
    return whole


def _new(body: Any, op: Call) -> View:
    if op.val.dtype != np.float64:
        raise UnsupportedOp(f"an array of {op.val.dtype}")
    return View.whole(body.level.memory(op.val.shape), op.val.shape)


# -- tuples


def make_tuple_native(body: Any, op: Call, *parts: Any) -> Any:
    return parts


def getfield_native(body: Any, op: Call, x: Any, i: Any) -> Any:
    if not isinstance(x, tuple) or not isinstance(i, int):
        raise UnsupportedOp("a part of a container")
    return x[i]
