"""Emit native code for views of arrays, new arrays and stores into them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wengert.compiling.native.indices import (
    constant_table,
    gather_view,
    index_arrays,
    index_view,
    part_of_ints,
    unplaced_view,
)
from wengert.compiling.native.sequences import NO_ELEMENT, flat_view, is_mask, with_places
from wengert.compiling.native.values import (
    STORED_AS_FLOATS,
    Affine,
    ComputedArray,
    KnownInts,
    RowList,
    Scalar,
    Splat,
    UnsupportedOp,
    View,
    is_native_array,
    number_literal,
    row_major,
    splat_number,
)
from wengert.compiling.ops import FLOAT_KIND, info
from wengert.tape.ops import Call, value_of
from wengert.values import functional

# -- views


def emit_getitem(body: Any, op: Call, x: Any, key: Any) -> Any:
    """Emit `x[key]` for an array or a tuple."""
    if isinstance(x, tuple):
        if not isinstance(key, (Affine, Scalar)):
            return x[key]
        x = constant_table(body, x)
    if is_mask(key, op.args[1]) and 1 < len(key.shape) == len(getattr(x, "shape", ())):
        x, key = (flat_view(body, _view_of(body, part)) for part in (x, key))
    key = with_places(body, key, op.args[1])
    if key is NO_ELEMENT:
        return Splat(number_literal(0.0), op.val.shape)
    if isinstance(x, KnownInts) and not index_arrays(key):
        return part_of_ints(body, x, index_view(body, x.view, key))
    if index_arrays(key):
        read = gather_view(body, body.view(body.operand(x)), key)
        if read.shape != np.shape(op.val):
            raise UnsupportedOp("this index")
        made = body.level.let("{0}", [read], read.shape, read.kind)
        return made if isinstance(op.val, np.ndarray) else body.level.load(body.level.view(made))
    if isinstance(x, Scalar) and key == ():
        return x
    if isinstance(x, Splat):
        index_view(body, unplaced_view(x), key)
        return Splat(x.number, op.val.shape) if isinstance(op.val, np.ndarray) else x.number
    return _load_or_view(body, op, index_view(body, _view_of(body, x), key))


def emit_bincount(body: Any, op: Call, at: Any, weights: Any, minlength: int = 0) -> View:
    """Emit np.bincount: the sum of the weights for each bin."""
    known, n = isinstance(at, KnownInts) and is_native_array(weights), op.val.size
    if not known or op.val.dtype != np.float64 or type(minlength) is not int:
        raise UnsupportedOp("np.bincount with these arguments")
    places = ((body.program.known_indices(at, n), 1),)
    view = View(body.level.new_array((n,)).memory, Affine(0), (0,), weights.shape, places=places)
    found: View = body.level.scatter(view, body.as_float(weights))
    return found


def emit_take(body: Any, op: Call, x: Any, at: Any, axis: Any = None) -> Any:
    axes = np.ndim(value_of(op.args[0]))
    if not isinstance(axis, int) and not (axis is None and axes == 1):
        raise UnsupportedOp("np.take with these arguments")
    before = (slice(None),) * ((axis or 0) % axes)
    part = Call(op.fn, (op.args[0], (*before, op.args[1])), val=op.val, site=op.site)
    return emit_getitem(body, part, x, (*before, at))


def emit_item(body: Any, op: Call, x: Any, *key: Any) -> Any:
    if isinstance(x, Splat):
        return x.number
    view = _view_of(body, x)
    flat = len(key) == 1 and len(view.shape) != 1
    if flat or not (key or math.prod(view.shape) == 1):
        raise UnsupportedOp("item() with a flat index")
    return _load_or_view(body, op, index_view(body, view, key or (0,) * len(view.shape)))


def _load_or_view(body: Any, op: Call, view: View) -> Any:
    return view if isinstance(op.val, (np.ndarray, tuple)) else body.level.load(view)


def _view_of(body: Any, x: Any) -> View:
    if not is_native_array(x):
        raise UnsupportedOp(f"indexing a {type(x).__name__}")
    found: View = body.view(x)
    return found


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
    return replace(flat_view(body, view), strides=row_major(shape), shape=shape)


def emit_transpose(body: Any, op: Call, x: Any, *axes: Any, **named: Any) -> Any:
    if isinstance(x, Splat):
        return Splat(x.number, op.val.shape)
    view = _view_of(body, x)
    axes = tuple([a.array.tolist() if isinstance(a, KnownInts) else a for a in axes])
    given = named.get("axes", axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None)
    n = len(view.shape)
    if n < 2:
        return view
    return view.transposed(range(n)[::-1] if given is None else [axis % n for axis in given])


def emit_diag(body: Any, op: Call, x: Any, k: Any = 0, *axes: Any, offset: Any = 0) -> Any:
    """Return the diagonal of a matrix as a view, or a matrix with a diagonal."""
    if not is_native_array(x) or not all([type(part) is int for part in (k, offset, *axes)]):
        raise UnsupportedOp("np.diag with these arguments")
    x, k = body.as_float(x), k or offset
    if len(x.shape) > 1:
        return replace(x, shape=op.val.shape) if isinstance(x, Splat) else _diagonals(op, body.view(x), k, *axes)
    made = body.level.new_array(op.val.shape)
    body.level.store(made, "=", number_literal(0.0))
    n = op.val.shape[0]
    body.level.store(View(made.memory, _beside(made, k), (n + 1,), x.shape), "=", x)
    return made


def _diagonals(op: Call, x: View, k: int, first: int = 0, second: int = 1) -> View:
    """Return the diagonals over two axes as a view, of which they are the last axis."""
    n = len(x.shape)
    others = [s for axis, s in enumerate(x.strides) if axis not in (first % n, second % n)]
    pair = replace(x, strides=(x.strides[first], x.strides[second]))
    return View(x.memory, _beside(pair, k), (*others, sum(pair.strides)), op.val.shape, x.kind)


def _beside(view: View, k: int) -> Affine:
    """Return the offset of the first element of a diagonal that is k columns beside the main one."""
    return view.offset + (k * view.strides[1] if k > 0 else -k * view.strides[0])


def diagonal_of_matrix(body: Any, x: Any) -> View:
    """Return the diagonal of a matrix as a view."""
    view = body.view(x)
    return View(view.memory, view.offset, (sum(view.strides),), (min(view.shape),), view.kind)


def emit_attribute(body: Any, op: Call, x: Any, name: Any) -> Any:
    if name != "T" or not is_native_array(x):
        raise UnsupportedOp(f"the attribute {name}")
    return emit_transpose(body, op, x)


def emit_real_part(body: Any, op: Call, x: Any) -> Any:
    """Emit np.real or np.imag of floats."""
    x = body.as_float(body.operand(x))
    if info(op.fn).name == "real":
        return x
    zero = number_literal(0.0)
    return Splat(zero, x.shape) if is_native_array(x) else zero


def emit_swapaxes(body: Any, op: Call, x: Any, a: int, b: int) -> Any:
    order = list(range(op.val.ndim))
    order[a], order[b] = order[b], order[a]
    return emit_transpose(body, op, x, order)


def emit_broadcast_to(body: Any, op: Call, x: Any, shape: Any) -> Any:
    if not is_native_array(x) or isinstance(x, Splat):
        return Splat(x.number if isinstance(x, Splat) else body.operand(x), op.val.shape)
    return _view_of(body, x).broadcast(op.val.shape)


# -- new arrays and stores


def emit_uniform(body: Any, op: Call, *_: Any, **__: Any) -> Any:
    """Emit np.zeros, np.ones, np.empty and the like."""
    name = info(op.fn).name
    found = _splat_of(op, number_literal(1.0 if name in ("ones", "ones_like") else 0.0))
    return replace(found, blank=name in ("empty", "empty_like"))


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


def emit_store(body: Any, op: Call, x: Any, key: Any, value: Any) -> Any:
    """Emit a store or an addition: into the array itself if nothing reads it afterwards, else into a copy."""
    sign = "+=" if op.fn is functional.additem else "="
    x, stored = body.operand(x), STORED_AS_FLOATS if sign == "=" else STORED_AS_FLOATS[:1]
    is_rounded = op.val.dtype == np.int64 and np.asarray(value_of(op.args[2])).dtype.kind == "f"
    if is_rounded or not is_native_array(x) or op.val.dtype not in stored:
        raise UnsupportedOp("a store into anything but an array of floats or bools")
    value = body.as_float(body.operand(value))
    masked = is_mask(key, op.args[1])
    if masked and isinstance(splat_number(value), Scalar) and key.shape == x.shape and op.val.dtype == np.float64:
        word = "({2} if {0} else {1})" if sign == "=" else "({1} + {2} if {0} else {1})"
        return body.level.let(word, [key, x, value], x.shape)
    if isinstance(x, Splat):
        blank = unplaced_view(x)
        if sign == "+=" and not index_arrays(key) and index_view(body, blank, key).has_same_elements(blank):
            return body.level.let("{0} + {1}", [x.number, value], x.shape)
    whole = body.writable(op, x)
    target = whole
    if masked and len(key.shape) == len(x.shape) and whole.is_contiguous:
        target = View(whole.memory, whole.offset, (1,), (math.prod(x.shape),), whole.kind)
        key = flat_view(body, key)
    key = with_places(body, key, op.args[1])
    if key is NO_ELEMENT:
        return whole
    part = (gather_view if index_arrays(key) else index_view)(body, target, key)
    if math.prod(part.shape):
        if len(getattr(value, "shape", ())) > len(part.shape):
            value = _drop_leading_ones(body, value, len(part.shape))
        fits = sign == "=" and isinstance(value, ComputedArray) and part.shape == value.shape and not part.places
        if fits and body.level.may_write_at(value, part):
            body.level.write_to(value, part)
        else:
            body.level.store(part, sign, value)
    return whole


def emit_window(body: Any, op: Call, x: Any, offset: Any, shape: Any, strides: Any, value: Any = None) -> Any:
    """Emit a read, a write or a sum through a window that is given in bytes, on an array in C order."""
    recorded = value_of(op.args[0])
    in_order = is_native_array(x) and recorded.dtype == np.float64 and recorded.flags.c_contiguous
    if op.fn not in functional.WINDOWED or not in_order or any([n % 8 for n in (offset, *strides)]):
        raise UnsupportedOp("a window onto memory")
    whole = body.view(x) if op.fn is functional.lens else body.writable(op, x)
    if not whole.is_contiguous:
        whole = body.level.view(body.level.let("{0}", [whole], whole.shape))
    steps = tuple([n // 8 for n in strides])
    part = View(whole.memory, whole.offset + offset // 8, steps, tuple(shape))
    if op.fn is functional.lens:
        return part
    if op.fn is functional.setlens and not part.is_injective:
        raise UnsupportedOp("a write to elements that share memory")
    if math.prod(part.shape):
        sign = "=" if op.fn is functional.setlens else "+="
        body.level.store(part, sign, body.as_float(body.operand(value)))
    return whole


def _drop_leading_ones(body: Any, value: Any, axes: int) -> Any:
    if isinstance(value, Splat):
        return value
    view, more = _view_of(body, value), len(value.shape) - axes
    if any([n != 1 for n in view.shape[:more]]):
        raise UnsupportedOp("a store of a value with more axes than its target")
    return View(view.memory, view.offset, view.strides[more:], view.shape[more:], view.kind)


def emit_concatenate(body: Any, op: Call, parts: Any, axis: Any = 0) -> Any:
    if not isinstance(parts, (tuple, list)) or not isinstance(axis, int):
        raise UnsupportedOp("np.concatenate with these arguments")
    parts = [body.operand(array_of_parts(body, part)) for part in parts]
    whole = _new_array(body, op)
    begin, axis = 0, axis % op.val.ndim
    for part in parts:
        n = part.shape[axis]
        _fill_part(body, whole, (slice(None),) * axis + (slice(begin, begin + n),), part)
        begin += n
    return whole


def _fill_part(body: Any, whole: View, key: Any, x: Any) -> None:
    """Store a number or an array into a part of a new array."""
    body.level.store(index_view(body, whole, key), "=", body.as_float(body.operand(x)))


def emit_array(
    body: Any,
    op: Call,
    parts: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    ndmin: int = 0,
    copy: Any = True,
    subok: bool = False,
) -> Any:
    """Emit np.array, which copies an array, also where it need not, and may prepend axes of one element.

    Values of native code have no memory order.
    """
    parts = parts.whole if isinstance(parts, RowList) else parts
    if is_native_array(parts) and op.val.dtype == np.float64:
        copied = body.level.let("{0}", [body.as_float(parts)], parts.shape)
        return emit_reshape(body, op, copied)
    if ndmin or not isinstance(parts, (tuple, list)) or op.val.dtype != np.float64:
        raise UnsupportedOp("np.array of anything but a list of floats")
    return array_of_parts(body, parts)


def emit_list(body: Any, op: Call, x: Any) -> RowList:
    """Return the list of the rows of an array; np.ndarray.tolist makes lists of rows as well."""
    if not is_native_array(x) or x.kind != FLOAT_KIND or (len(x.shape) > 1 and op.fn is not list):
        raise UnsupportedOp("a list of lists, or of anything but floats")
    return RowList(x)


def join_lists(body: Any, op: Call, parts: Sequence[Any]) -> RowList:
    """Return the list that consists of lists of rows, and of lists of numbers or arrays."""
    arrays = [body.operand(part.whole if isinstance(part, RowList) else array_of_parts(body, part)) for part in parts]
    if not all(map(is_native_array, arrays)) or len({x.shape[1:] for x in arrays}) != 1:
        raise UnsupportedOp("lists of unlike items")
    whole = body.level.new_array((len(op.val), *arrays[0].shape[1:]))
    begin = 0
    for x in arrays:
        _fill_part(body, whole, slice(begin, begin + x.shape[0]), x)
        begin += x.shape[0]
    return RowList(whole)


def emit_copy(body: Any, op: Call, x: Any, order: Any) -> Any:
    """Copy an array in another memory order, which values of native code do not have."""
    if not is_native_array(x) or type(order) is not str:
        raise UnsupportedOp("a copy with these arguments")
    return body.level.let("{0}", [x], x.shape, x.kind)


def array_of_parts(body: Any, parts: Any) -> Any:
    """Return the array of a nested list of numbers and arrays; other values unchanged."""
    if not isinstance(parts, (tuple, list)) or not parts:
        return parts
    whole = body.level.new_array(_shape_of_parts(parts))

    def put(parts: Any, place: tuple[int, ...]) -> None:
        for k, part in enumerate(parts):
            if isinstance(part, (tuple, list)):
                put(part, (*place, k))
            else:
                _fill_part(body, whole, (*place, k), part)

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
        _fill_part(body, whole, (slice(None),) * axis + (k,), part)
    return whole


def _new_array(body: Any, op: Call) -> View:
    if op.val.dtype not in (np.float64, np.int64, np.int32, np.bool_):
        raise UnsupportedOp(f"arrays of dtype {op.val.dtype}")
    return body.level.new_array(op.val.shape)


# -- tuples


def emit_tuple(body: Any, op: Call, *parts: Any) -> Any:
    return parts


def emit_getfield(body: Any, op: Call, x: Any, i: Any) -> Any:
    if not isinstance(x, tuple) or not isinstance(i, int):
        raise UnsupportedOp("a field of anything but a tuple")
    return x[i]
