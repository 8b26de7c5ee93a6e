"""Index arrays in native code: by integers, slices and arrays of integers, which may be computed.

Integers that are computed are stored as floats; they are exact up to 2**53, beyond which the native function fails.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from wengert.compiling.native.values import (
    Affine,
    Counter,
    KnownInts,
    Scalar,
    Splat,
    UnsupportedOp,
    View,
    is_constant_table,
    is_native_array,
)
from wengert.compiling.ops import BOOL_KIND, FLOAT_KIND, info
from wengert.tape.ops import Call, value_of
from wengert.values.keys import full_key, key_parts
from wengert.values.specs import is_int_array


def unplaced_view(x: Splat) -> View:
    """Return a view with the shape of a Splat, to find the shape of its part."""
    return View.whole(None, x.shape)  # type: ignore[arg-type]


def index_view(body: Any, view: View, key: Any) -> View:
    """Return the view for a basic index."""
    offset, strides, shape, axis = view.offset, list[int](), list[int](), 0
    for part in full_key(key, len(view.shape)):
        if part is None:
            strides.append(0)
            shape.append(1)
            continue
        if axis == len(view.shape):
            raise UnsupportedOp("more indices than axes, of which some are bools")
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


# -- by arrays of integers


def index_arrays(key: Any) -> list[Any]:
    """Return the parts of a key that are arrays of integers, which select elements one by one."""
    return [part for part in key_parts(key) if isinstance(part, (KnownInts, list)) or is_native_array(part)]


def gather_view(body: Any, view: View, key: Any) -> View:
    """Return the view for an index with arrays of integers, which are broadcast together."""
    parts = full_key(key, len(view.shape))
    chosen = [k for k, part in enumerate(parts) if index_arrays((part,))]
    advanced = [k for k, part in enumerate(parts) if not (part is None or isinstance(part, slice))]
    lengths = iter(view.shape)
    sizes = [1 if part is None else next(lengths, None) for part in parts]
    if None in sizes:
        raise UnsupportedOp("a key of more parts than axes")
    found = [(_index_array(body, parts[k], sizes[k])) for k in chosen]
    whole = index_view(body, view, tuple([slice(None) if k in chosen else part for k, part in enumerate(parts)]))
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


def _index_array(body: Any, part: Any, n: Any) -> View:
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


# -- integers

INT_WORDS = {
    "add": "{0} + {1}", "subtract": "{0} - {1}", "multiply": "{0} * {1} + 0.0", "negative": "0.0 - {0}",
    "positive": "{0}", "stopped": "{0}", "where": "({1} if {0} else {2})", "absolute": "abs({0})",
    "larger": "max({0}, {1})", "smaller": "min({0}, {1})",
    "maximum": "max({0}, {1})", "minimum": "min({0}, {1})", "clip": "min(max({0}, {1}), {2})",
    "floor_divide": "(float(int({0}) // int({1})) if {1} != 0.0 and {0} - {0} == {1} - {1} else nan)",
    "remainder": "(float(int({0}) % int({1})) if {1} != 0.0 and {0} - {0} == {1} - {1} else nan)",
}  # fmt: skip
"""The source of functions of integers that are stored as floats; none returns -0.0."""
MOVES = (
    "getitem", "item", "getfield", "getattr", "tuple", "take", "as_index", "copy", "reshape", "expand_dims", "squeeze",
    "ravel", "transpose", "swapaxes", "broadcast_to", "diagonal", "astype", "concatenate", "stack",
    "zeros", "zeros_like", "empty", "empty_like",
)  # fmt: skip
"""Operations that compute nothing, so that they are the same for integers stored as floats."""
OF_PLACES = ("searchsorted", "flatnonzero", "cumsum", "argsort", "argmax", "argmin", "sum", "add_reduce", "max", "min")
"""Operations that return integers, which their emitters store as floats."""


def constant_table(body: Any, table: tuple[Any, ...]) -> Any:
    """Return a tuple of constants as an array."""
    if not is_constant_table(table):
        raise UnsupportedOp("a table of anything but numbers")
    values = np.array(table)
    if is_int_array(values):
        return KnownInts(values)
    return body.program.parameter((values.tobytes(), values.shape, "table"), values, values)


def part_of_ints(body: Any, known: KnownInts, part: View) -> Any:
    """Return a part of a known array of integers, or one of them, whose range is known."""
    if part.shape:
        return KnownInts(known.array, part)
    found: Scalar = body.level.load(replace(part, memory=body.program.known_ints(known.array)))
    least, most = int(known.array.min()), int(known.array.max())
    place = body.level.compute_number(f"{{0}} - {least}", found) if least else found
    return Affine(least, ((Counter(place.text, most - least + 1), 1),))


def emit_whole(body: Any, op: Call, fn: Any, *numbers: Any) -> Any:
    """Compute a function of integers, or of arrays of integers; beyond 2**53, the native function fails."""
    name = info(fn).name
    known = [x for x in numbers if isinstance(x, (int, Affine, np.integer))]
    exact = [x if isinstance(x, Affine) else Affine(int(x)) for x in known]
    if len(exact) == len(numbers) == 2:
        a, b = exact
        if name in ("add", "subtract"):
            return a + b * (1 if name == "add" else -1)
        if name == "multiply" and not (a.steps and b.steps):
            return a * b.first if not b.steps else b * a.first
    if name == "positive" and exact:
        return exact[0]
    if name not in INT_WORDS or len(numbers) != info(fn).arity:
        raise UnsupportedOp(f"{name or fn} of integers")
    word = info(fn).word
    operands = [body.operand(x) for x in numbers]
    operands = [x if word and k in word.bools else body.as_float(x) for k, x in enumerate(operands)]
    if isinstance(op.val, np.ndarray):
        return _exact_integer(body, body.level.let(INT_WORDS[name], operands, op.val.shape))
    given = [x if isinstance(x, Scalar) else body.item(x) for x in operands]
    return body.level.compute_number(INT_WORDS[name], *given, check=f"not {EXACT.format('', '{0}')}")


EXACT = "abs({1}) < 9007199254740992.0"


def _exact_integer(body: Any, x: Any) -> Any:
    """Return an array of integers; beyond 2**53, the native function fails."""
    check_elements(body, x, EXACT)
    return x


def check_sums_of_integers(body: Any, a: Any, recorded: Any) -> None:
    """Let the native function fail if sums of elements of an array of integers may be beyond 2**53.

    Errors: UnsupportedOp if it is no array of integers or bools.
    """
    dtype = getattr(value_of(recorded), "dtype", None)
    if dtype not in (np.int64, np.bool_):
        raise UnsupportedOp("a sum as an integer of anything but integers or bools")
    if dtype == np.int64:
        size = body.level.reduce("0.0", "{0} + abs({1})", a, a.shape, 0, None)
        body.level.guard(f"not {EXACT.format('', '{0}')}", size)


def emit_astype(body: Any, op: Call, x: Any, dtype: Any, *_: Any, **__: Any) -> Any:
    """Emit a conversion to floats, to bools, or to integers that are stored as floats."""
    given, x = value_of(op.args[0]).dtype, body.as_float(body.operand(x))
    if op.val.dtype == np.float64 or (op.val.dtype == given == np.int64):
        return x
    if op.val.dtype == np.bool_ and isinstance(op.val, np.ndarray):
        return body.level.let("{0} != 0.0", [x], op.val.shape, BOOL_KIND)
    if op.val.dtype == np.int32 and given == np.float64 and isinstance(op.val, np.ndarray):
        made = body.level.let("np.trunc({0}) + 0.0", [x], op.val.shape)
        check_elements(body, made, "abs({1}) < 2147483648.0")
        return made
    if op.val.dtype != np.int64 or given != np.float64:
        raise UnsupportedOp(f"astype of {given} to {op.val.dtype}")
    if not isinstance(op.val, np.ndarray):
        return body.level.compute_number("np.trunc({0}) + 0.0", x, check=f"not {EXACT.format('', '{0}')}")
    return _exact_integer(body, body.level.let("np.trunc({0}) + 0.0", [x], op.val.shape))


def emit_as_index(body: Any, op: Call, x: Any) -> Any:
    return int(x) if isinstance(x, float) else x
