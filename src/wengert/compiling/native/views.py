"""Emit native code for views of arrays, new arrays and stores into them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.compiling.native.values import (
    Affine,
    ComputedArray,
    Counter,
    KnownInts,
    Scalar,
    Splat,
    UnsupportedOp,
    View,
    is_constant_table,
    is_native_array,
    number_literal,
    row_major,
    splat_number,
)
from wengert.compiling.ops import BOOL_KIND, FLOAT_KIND, info
from wengert.tape.ops import Call

# -- views


STORED_AS_FLOATS = (np.float64, np.bool_, np.uint8)
"""Types of arrays whose elements are floats in memory: masks and counts of ties are exact so."""


def emit_getitem(body: Any, op: Call, x: Any, key: Any) -> Any:
    """Emit `x[key]` for an array or a tuple."""
    if isinstance(x, tuple):
        if not isinstance(key, (Affine, Scalar)):
            return x[key]
        x = _constant_table(body, x)
    if isinstance(x, KnownInts) and not _index_arrays(key):
        return _part_of_ints(body, x, _index_view(body, x.view, key))
    if _index_arrays(key):
        read = _gather_view(body, body.view(body.operand(x)), key)
        if read.shape != np.shape(op.val):
            raise UnsupportedOp("this index")
        made = body.level.let("{0}", [read], read.shape, read.kind)
        return made if isinstance(op.val, np.ndarray) else body.level.load(body.level.view(made))
    if isinstance(x, Splat):
        _index_view(body, _unplaced_view(x), key)
        return Splat(x.number, op.val.shape) if isinstance(op.val, np.ndarray) else x.number
    return _load_or_view(body, op, _index_view(body, _view_of(body, x), key))


def _constant_table(body: Any, table: tuple[Any, ...]) -> Any:
    """Return a tuple of constants as an array."""
    if not is_constant_table(table):
        raise UnsupportedOp("a table of anything but numbers")
    values = np.array(table)
    if values.dtype != np.float64:
        return KnownInts(values)
    return body.program.parameter((values.tobytes(), "table"), values, values)


def _part_of_ints(body: Any, known: KnownInts, part: View) -> Any:
    """Return a part of a known array of integers, or one of them, whose range is known."""
    if part.shape:
        return KnownInts(known.array, part)
    found: Scalar = body.level.load(replace(part, memory=body.program.known_ints(known.array)))
    least, most = int(known.array.min()), int(known.array.max())
    place = body.level.compute_number(f"{{0}} - {least}", found) if least else found
    return Affine(least, ((Counter(place.text, most - least + 1), 1),))


def _index_arrays(key: Any) -> list[Any]:
    """Return the parts of a key that are arrays of integers, which select elements one by one."""
    parts = key if isinstance(key, tuple) else (key,)
    return [part for part in parts if isinstance(part, (KnownInts, list)) or is_native_array(part)]


def _gather_view(body: Any, view: View, key: Any) -> View:
    """Return the view for an index with arrays of integers, which are broadcast together."""
    parts = _full_key(key, len(view.shape))
    chosen = [k for k, part in enumerate(parts) if _index_arrays((part,))]
    advanced = [k for k, part in enumerate(parts) if not (part is None or isinstance(part, slice))]
    lengths = iter(view.shape)
    sizes = [1 if part is None else next(lengths) for part in parts]
    found = [(_index_array(body, parts[k], sizes[k])) for k in chosen]
    whole = _index_view(body, view, tuple([slice(None) if k in chosen else part for k, part in enumerate(parts)]))
    # the axes of the arrays stand where the arrays do, or in front if others lie between them
    axes = [k for k in range(len(parts)) if k in chosen or k not in advanced]
    steps = [whole.strides[axes.index(k)] for k in chosen]
    kept = [k for k in axes if k not in chosen]
    together = advanced[-1] - advanced[0] < len(advanced)
    before = sum([k < advanced[0] for k in kept]) if together else 0
    shape = np.broadcast_shapes(*[at.shape for at in found])
    rest, strides = (tuple([row[axes.index(k)] for k in kept]) for row in (whole.shape, whole.strides))
    full = (*rest[:before], *shape, *rest[before:])
    after, zeros = (1,) * (len(rest) - before), (0,) * (len(rest) - before)
    places = [replace(at, shape=at.shape + after, strides=at.strides + zeros).broadcast(full) for at in found]
    strides = (*strides[:before], *(0,) * len(shape), *strides[before:])
    return replace(whole, strides=strides, shape=full, places=tuple(zip(places, steps, strict=True)))


def _index_array(body: Any, part: Any, n: int) -> View:
    """Return indices along an axis of n elements, made non-negative; those that are computed are checked."""
    if isinstance(part, list):
        part = KnownInts(np.array(part))
        if part.array.dtype.kind != "i":
            raise UnsupportedOp("indexing by a list of anything but integers")
    if isinstance(part, KnownInts):
        found: View = body.program.known_indices(part, n)
        return found
    part = body.operand(part)
    if getattr(part, "kind", BOOL_KIND) != FLOAT_KIND:
        raise UnsupportedOp("indexing by a mask")
    check_elements(body, part, f"-{n}.0 <= {{1}} < {n}.0")
    inside = f"({{0}} + {n}.0 if -{n}.0 <= {{0}} < 0.0 else {{0}} if 0.0 <= {{0}} < {n}.0 else 0.0)"
    made: View = body.level.view(body.level.let(inside, [part], part.shape))
    return made


def check_elements(body: Any, x: Any, condition: str) -> None:
    """Let the native function fail unless a condition holds for all elements of an array."""
    bad = body.level.reduce("0.0", f"{{0}} + (0.0 if {condition} else 1.0)", x, x.shape, 0, None)
    body.level.guard("{0} != 0.0", bad)


def emit_bincount(body: Any, op: Call, at: Any, weights: Any, n: int) -> View:
    """Emit np.bincount: the sum of the weights for each bin."""
    if (
        not isinstance(at, KnownInts)
        or not is_native_array(weights)
        or op.val.dtype != np.float64
        or op.val.shape != (n,)
    ):
        raise UnsupportedOp("np.bincount with these arguments")
    places = ((body.program.known_indices(at, n), 1),)
    view = View(body.level.new_memory((n,)), Affine(0), (0,), weights.shape, places=places)
    found: View = body.level.scatter(view, splat_number(body.as_float(weights)))
    return found


def emit_take(body: Any, op: Call, x: Any, at: Any, axis: Any = None) -> Any:
    if not isinstance(axis, int) and not (axis is None and len(x.shape) == 1):
        raise UnsupportedOp("np.take with these arguments")
    return emit_getitem(body, op, x, (slice(None),) * ((axis or 0) % len(x.shape)) + (at,))


def emit_item(body: Any, op: Call, x: Any, *key: Any) -> Any:
    if isinstance(x, Splat):
        return x.number
    view = _view_of(body, x)
    flat = len(key) == 1 and len(view.shape) != 1
    if flat or not (key or math.prod(view.shape) == 1):
        raise UnsupportedOp("item() with a flat index")
    return _load_or_view(body, op, _index_view(body, view, key or (0,) * len(view.shape)))


def _load_or_view(body: Any, op: Call, view: View) -> Any:
    return view if isinstance(op.val, np.ndarray) else body.level.load(view)


def _view_of(body: Any, x: Any) -> View:
    if not is_native_array(x):
        raise UnsupportedOp(f"indexing a {type(x).__name__}")
    found: View = body.view(x)
    return found


def _unplaced_view(x: Splat) -> View:
    """Return a view with the shape of a Splat, to find the shape of its part."""
    return View.whole(None, x.shape)  # type: ignore[arg-type]


def _full_key(key: Any, axes: int) -> list[Any]:
    """Return the parts of a key, with slices for the axes that it does not name."""
    parts = list(key) if isinstance(key, tuple) else [key]
    named = sum([part is not None and part is not Ellipsis for part in parts])
    at = next((k for k, part in enumerate(parts) if part is Ellipsis), len(parts))
    parts[at : at + 1] = [slice(None)] * (axes - named)
    return parts


def _index_view(body: Any, view: View, key: Any) -> View:
    """Return the view for a basic index."""
    offset, strides, shape, axis = view.offset, list[int](), list[int](), 0
    for part in _full_key(key, len(view.shape)):
        if part is None:
            strides.append(0)
            shape.append(1)
            continue
        n, stride = view.shape[axis], view.strides[axis]
        axis += 1
        if isinstance(part, slice):
            start, count, step = _slice_span(body, part, n)
            offset += start * stride
            strides.append(stride * step)
            shape.append(count)
        else:
            offset += _axis_index(body, part, n) * stride
    return View(view.memory, offset, tuple(strides), tuple(shape), view.kind)


def _axis_index(body: Any, part: Any, n: int, most: int = -1) -> Affine:
    """Return a non-negative index along an axis of n elements; `most` = 0 also allows n, the end of a slice.

    If it may be out of bounds, the native function checks it.
    """
    if isinstance(part, (bool, np.bool_)) or not isinstance(part, (int, np.integer, Affine, Scalar)):
        raise UnsupportedOp("indexing by an array" if is_native_array(part) else "this index")
    if not isinstance(part, Scalar):
        place = part if isinstance(part, Affine) else Affine(int(part))
        if place.most < 0:
            place += n
        if place.least >= 0 and place.most <= n + most:
            return place
        part = body.operand(part)
    if part.kind != FLOAT_KIND:
        raise UnsupportedOp("indexing by a bool")
    body.level.guard(f"not {-n}.0 <= {{0}} <= {n + most}.0", part)
    found = body.level.compute_number(f"int({{0}} + {n}.0 if {{0}} < 0.0 else {{0}})", part)
    return Affine(0, ((Counter(found.text, n + most + 1), 1),))


def _slice_span(body: Any, part: slice, n: int) -> tuple[Affine, int, int]:
    """Return the start, length and step of a slice."""
    if not any([isinstance(bound, (Affine, Scalar)) for bound in (part.start, part.stop, part.step)]):
        span = range(n)[part]
        return Affine(span.start), len(span), span.step
    if part.step not in (None, 1) or part.start is None or part.stop is None:
        raise UnsupportedOp("a slice with a loop variable, and a step or an open end")
    start, stop = _axis_index(body, part.start, n, 0), _axis_index(body, part.stop, n, 0)
    length = stop + start * -1
    if length.steps or length.first < 0:
        raise UnsupportedOp("a slice whose length changes in a loop")
    return start, length.first, 1


def emit_reshape(body: Any, op: Call, x: Any, *_: Any, **__: Any) -> Any:
    """Emit a reshape: a view, or a copy."""
    shape = op.val.shape
    if not is_native_array(x):
        return Splat(body.operand(x), shape)
    if isinstance(x, Splat):
        return Splat(x.number, shape, x.blank)
    if [a for a in (*_, *__.values()) if type(a) is str and a != "C"]:
        raise UnsupportedOp("reshape in another order than C")
    view = _view_of(body, x)
    longer = [(n, s) for n, s in zip(view.shape, view.strides, strict=True) if n != 1]
    if [n for n, _ in longer] == [n for n in shape if n != 1]:
        strides = iter([s for _, s in longer])
        return View(view.memory, view.offset, tuple([next(strides) if n != 1 else 0 for n in shape]), shape, view.kind)
    if not view.is_contiguous:
        view = body.level.view(body.level.let("{0}", [view], view.shape, view.kind))
    return View(view.memory, view.offset, row_major(shape), shape, view.kind)


def emit_transpose(body: Any, op: Call, x: Any, *axes: Any, **named: Any) -> Any:
    if isinstance(x, Splat):
        return Splat(x.number, op.val.shape)
    view = _view_of(body, x)
    given = named.get("axes", axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None)
    n = len(view.shape)
    order = range(n)[::-1] if given is None else [axis % n for axis in given]
    strides, shape = [tuple([row[axis] for axis in order]) for row in (view.strides, view.shape)]
    return View(view.memory, view.offset, strides, shape, view.kind)


def emit_diag(body: Any, op: Call, x: Any, k: Any = 0) -> Any:
    """Return the diagonal of a matrix as a view, or a matrix with a diagonal."""
    if k != 0 or not is_native_array(x) or len(op.val.shape) > 2:
        raise UnsupportedOp("np.diag with these arguments")
    x = body.as_float(x)
    if len(x.shape) == 2:
        return replace(x, shape=op.val.shape) if isinstance(x, Splat) else diagonal_of_matrix(body, x)
    n = x.shape[0]
    made = View.whole(body.level.new_memory((n, n)), (n, n))
    body.level.store(made, "=", number_literal(0.0))
    body.level.store(View(made.memory, Affine(0), (n + 1,), (n,)), "=", splat_number(x))
    return made


def diagonal_of_matrix(body: Any, x: Any) -> View:
    """Return the diagonal of a matrix as a view."""
    view = body.view(x)
    return View(view.memory, view.offset, (sum(view.strides),), (min(view.shape),), view.kind)


def emit_attribute(body: Any, op: Call, x: Any, name: Any) -> Any:
    if name != "T" or not is_native_array(x):
        raise UnsupportedOp(f"the attribute {name}")
    return emit_transpose(body, op, x)


def emit_swapaxes(body: Any, op: Call, x: Any, a: int, b: int) -> Any:
    order = list(range(op.val.ndim))
    order[a], order[b] = order[b], order[a]
    return emit_transpose(body, op, x, order)


def emit_broadcast_to(body: Any, op: Call, x: Any, shape: Any) -> Any:
    if not is_native_array(x) or isinstance(x, Splat):
        return Splat(x.number if isinstance(x, Splat) else body.operand(x), op.val.shape)
    return _view_of(body, x).broadcast(op.val.shape)


# -- new arrays and stores


def emit_zeros(body: Any, op: Call, *_: Any, **__: Any) -> Any:
    return _splat_of(op, number_literal(0.0))


def emit_ones(body: Any, op: Call, *_: Any, **__: Any) -> Any:
    return _splat_of(op, number_literal(1.0))


def emit_empty(body: Any, op: Call, *_: Any, **__: Any) -> Any:
    return replace(_splat_of(op, number_literal(0.0)), blank=True)


def emit_full(body: Any, op: Call, shape: Any, value: Any, *_: Any, **__: Any) -> Any:
    value = body.operand(value)
    if not isinstance(value, Scalar):
        raise UnsupportedOp("np.full with an array")
    return _splat_of(op, value)


def _splat_of(op: Call, value: Scalar) -> Splat:
    """Return an array with a number everywhere."""
    if op.val.dtype not in STORED_AS_FLOATS:
        raise UnsupportedOp(f"arrays of dtype {op.val.dtype}")
    return Splat(value, op.val.shape)


def emit_setitem(body: Any, op: Call, x: Any, key: Any, value: Any) -> Any:
    return _store_into(body, op, x, key, value, "=")


def emit_additem(body: Any, op: Call, x: Any, key: Any, value: Any) -> Any:
    return _store_into(body, op, x, key, value, "+=")


def _store_into(body: Any, op: Call, x: Any, key: Any, value: Any, sign: str) -> Any:
    """Emit a store into the array itself if nothing reads it afterwards, else into a copy."""
    if not is_native_array(x) or op.val.dtype not in (STORED_AS_FLOATS if sign == "=" else STORED_AS_FLOATS[:1]):
        raise UnsupportedOp("a store into anything but an array of floats or bools")
    value = body.as_float(body.operand(value))
    if isinstance(x, Splat):
        blank = _unplaced_view(x)
        if sign == "+=" and not _index_arrays(key) and _index_view(body, blank, key).has_same_elements(blank):
            return body.level.let("{0} + {1}", [x.number, splat_number(value)], x.shape)
    whole = body.writable(op, x)
    part = (_gather_view if _index_arrays(key) else _index_view)(body, whole, key)
    if math.prod(part.shape):
        if len(getattr(value, "shape", ())) > len(part.shape):
            value = _drop_leading_ones(body, value, len(part.shape))
        if (
            sign == "="
            and isinstance(value, ComputedArray)
            and part.shape == value.shape
            and not part.places
            and body.level.may_write_at(value, part)
        ):
            body.level.write_to(value, part)
        else:
            body.level.store(part, sign, splat_number(value))
    return whole


def _drop_leading_ones(body: Any, value: Any, axes: int) -> Any:
    if isinstance(value, Splat):
        return value
    view, more = _view_of(body, value), len(value.shape) - axes
    if any([n != 1 for n in view.shape[:more]]):
        raise UnsupportedOp("a store of a value with more axes than its target")
    return View(view.memory, view.offset, view.strides[more:], view.shape[more:], view.kind)


def emit_concatenate(body: Any, op: Call, parts: Any, axis: Any = 0) -> Any:
    if not isinstance(parts, (tuple, list)) or not isinstance(axis, int) or not all(map(is_native_array, parts)):
        raise UnsupportedOp("np.concatenate with these arguments")
    whole = _new_array(body, op)
    begin, axis = 0, axis % op.val.ndim
    for part in parts:
        n = part.shape[axis]
        place = _index_view(body, whole, (slice(None),) * axis + (slice(begin, begin + n),))
        begin += n
        body.level.store(place, "=", splat_number(body.as_float(part)))
    return whole


def emit_array(body: Any, op: Call, parts: Any) -> Any:
    if not isinstance(parts, (tuple, list)) or op.val.dtype != np.float64:
        raise UnsupportedOp("np.array of anything but a list of floats")
    return array_of_parts(body, parts)


def emit_copy(body: Any, op: Call, x: Any, order: Any) -> Any:
    """Copy an array in another memory order, which values of native code do not have."""
    if not is_native_array(x) or type(order) is not str:
        raise UnsupportedOp("a copy with these arguments")
    return body.level.let("{0}", [splat_number(x)], x.shape, x.kind)


def array_of_parts(body: Any, parts: Any) -> Any:
    """Return the array of a nested list of numbers and arrays; other values unchanged."""
    if not isinstance(parts, (tuple, list)) or not parts:
        return parts
    shape = _shape_of_parts(parts)
    whole = View.whole(body.level.new_memory(shape), shape)

    def put(parts: Any, place: tuple[int, ...]) -> None:
        for k, part in enumerate(parts):
            if isinstance(part, (tuple, list)):
                put(part, (*place, k))
            else:
                x = splat_number(body.as_float(body.operand(part)))
                body.level.store(_index_view(body, whole, (*place, k)), "=", x)

    put(parts, ())
    return whole


def _shape_of_parts(parts: Any) -> tuple[int, ...]:
    if isinstance(parts, (tuple, list)) and parts:
        return len(parts), *_shape_of_parts(parts[0])
    return parts.shape if is_native_array(parts) else ()


def emit_stack(body: Any, op: Call, parts: Any, axis: Any = 0) -> Any:
    if not isinstance(parts, (tuple, list)) or not isinstance(axis, int):
        raise UnsupportedOp("np.stack with these arguments")
    whole, axis = _new_array(body, op), axis % op.val.ndim
    for k, part in enumerate(parts):
        body.level.store(
            _index_view(body, whole, (slice(None),) * axis + (k,)), "=", splat_number(body.as_float(body.operand(part)))
        )
    return whole


def _new_array(body: Any, op: Call) -> View:
    if op.val.dtype != np.float64:
        raise UnsupportedOp(f"arrays of dtype {op.val.dtype}")
    return View.whole(body.level.new_memory(op.val.shape), op.val.shape)


# -- tuples


def emit_tuple(body: Any, op: Call, *parts: Any) -> Any:
    return parts


def emit_getfield(body: Any, op: Call, x: Any, i: Any) -> Any:
    if not isinstance(x, tuple) or not isinstance(i, int):
        raise UnsupportedOp("a field of anything but a tuple")
    return x[i]


# -- integers

INT_WORDS = {
    "add": "{0} + {1}", "subtract": "{0} - {1}", "multiply": "{0} * {1} + 0.0", "negative": "0.0 - {0}",
    "absolute": "abs({0})", "larger": "max({0}, {1})", "smaller": "min({0}, {1})",
    "maximum": "max({0}, {1})", "minimum": "min({0}, {1})",
    "floor_divide": "float(int({0}) // int({1}))", "remainder": "float(int({0}) % int({1}))",
}  # fmt: skip
"""The source of functions of integers that are stored as floats; none returns -0.0."""
MOVES = (
    "getitem", "item", "getfield", "getattr", "tuple", "take", "as_index", "copy", "reshape", "expand_dims", "squeeze",
    "ravel", "transpose", "swapaxes", "broadcast_to", "diagonal",
)  # fmt: skip
"""Operations that compute nothing, so that they are the same for integers stored as floats."""


def emit_whole(body: Any, op: Call, fn: Any, *numbers: Any) -> Any:
    """Compute a function of integers; beyond 2**53, the native function fails."""
    name = info(fn).name
    exact = [
        x if isinstance(x, Affine) else Affine(int(x)) for x in numbers if isinstance(x, (int, Affine, np.integer))
    ]
    if len(exact) == len(numbers) == 2:
        a, b = exact
        if name in ("add", "subtract"):
            return a + b * (1 if name == "add" else -1)
        if name == "multiply" and not (a.steps and b.steps):
            return a * b.first if not b.steps else b * a.first
    if name not in INT_WORDS or len(numbers) != 1 + ("{1}" in INT_WORDS[name]):
        raise UnsupportedOp(f"{name or fn} of integers")
    operands = [body.operand(x) for x in numbers]
    for x in operands:
        if not isinstance(x, Scalar) or x.kind != FLOAT_KIND:
            raise UnsupportedOp(f"{name} of integers")
    if name in ("floor_divide", "remainder"):
        body.level.guard("{0} == 0.0", operands[1])
    return body.level.compute_number(INT_WORDS[name], *operands, check="not abs({0}) < 9007199254740992.0")


def emit_as_index(body: Any, op: Call, x: Any) -> Any:
    return int(x) if isinstance(x, float) else x
