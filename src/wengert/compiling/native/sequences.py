"""Native code for running sums, searches in sorted arrays, and masks as indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.compiling.native.helper_calls import call_helper
from wengert.compiling.native.indices import EXACT, check_elements
from wengert.compiling.native.values import KnownInts, Scalar, Splat, UnsupportedOp, View, is_native_array, row_major
from wengert.compiling.ops import BOOL_KIND, info
from wengert.tape.ops import Call, value_of
from wengert.values.callables import callable_name
from wengert.values.keys import key_parts

RUNNING = """
def running_{name}(x, o, a, p, p0, p1, o0, o1, n, m):
    # join m numbers, from the first one on, in each of n rows
    for i in range(n):
        s = a[p + i * p0]
        x[o + i * o0] = s
        for j in range(1, m):
            y = a[p + i * p0 + j * p1]
            s = {word}
            x[o + i * o0 + j * o1] = s
    return False
"""
STEPS = {
    "cumsum": "s + y",
    "cumprod": "s * y",
    "running_max": "s if s > y or s != s else y",
    "running_min": "s if s < y or s != s else y",
}
"""The words that join the next number y with the result s so far, by operation."""

ONWARD = """
def sums_onward(x, o, a, p, p0, p1, b, q, q0, q1, n, m):
    # from the last of m numbers on, each plus its weight times the sum after it; what is zero has no weight
    for i in range(n):
        s = b[q + i * q0 + (m - 1) * q1]
        x[o + i * m + m - 1] = s
        for j in range(m - 2, -1, -1):
            s = b[q + i * q0 + j * q1] + (s * a[p + i * p0 + j * p1] if s != 0.0 else 0.0)
            x[o + i * m + j] = s
    return False
"""

CONVOLUTION = """
def convolution(x, o, a, p, p0, p1, b, q, q0, q1, n, m):
    # add up a, shifted and scaled by each of m numbers
    for i in range(n + m - 1):
        x[o + i] = 0.0
    for j in range(m):
        f = b[q + j * q0]
        for i in range(n):
            x[o + j + i] += f * a[p + i * p0]
    return False
"""

SEARCH = """
def search(x, o, a, p, p0, p1, b, q, q0, q1, n, m, right):
    # find where each of m numbers belongs among n sorted ones, in NumPy's steps, so that unsorted ones agree, too
    first, last, before = 0, n, b[q]
    for i in range(m):
        y = b[q + i * q0]
        if right:
            is_after = not (y < before or (before != before and y == y))
        else:
            is_after = before < y or (y != y and before == before)
        if is_after:
            last = n
        else:
            first, last = 0, min(last + 1, n)
        before = y
        while first < last:
            k = first + (last - first) // 2
            z = a[p + k * p0]
            if right:
                is_after = not (y < z or (z != z and y == y))
            else:
                is_after = z < y or (y != y and z == z)
            if is_after:
                first = k + 1
            else:
                last = k
        x[o + i] = first
    return False
"""

PLACES_IN_ROWS = """
def places_in_rows(x, o, a, p, p0, p1, n, m, count):
    # write the row and the column of each true element, and of one more; return whether they are other than count
    k = 0
    for i in range(n):
        for j in range(m):
            x[o + k] = i
            x[o + count + 1 + k] = j
            k += a[p + i * p0 + j * p1] != 0.0
            if k > count:
                return True
    return k != count
"""

NO_ELEMENT = object()
"""A key that selects nothing."""


def flat_view(body: Any, x: Any) -> View:
    """Return the elements of an array in C order; copy them unless they lie so in memory."""
    view: View = body.view(x)
    if not view.is_contiguous:
        view = body.level.view(body.level.let("{0}", [view], view.shape, view.kind))
    return View(view.memory, view.offset, (1,), (math.prod(view.shape),), view.kind)


def emit_convolution(body: Any, long: Any, short: Any) -> View:
    """Emit the convolution of two vectors, with all its elements."""
    operands = [body.view(body.as_float(x)) for x in (long, short)]
    n, m = (x.shape[0] for x in operands)
    return call_helper(body, "convolution", (CONVOLUTION,), operands, (n, m), (n + m - 1,))


def emit_running(body: Any, op: Call, a: Any, axis: Any = None) -> Any:
    """Emit np.cumsum or the like of a vector, or along an axis of a matrix."""
    name, is_ufuncs = info(op.fn).name, getattr(op.fn, "__name__", "") == "accumulate"
    if axis is None and is_native_array(a) and not is_ufuncs:
        a = flat_view(body, a)
    axis = 0 if axis is None else axis
    known = is_native_array(a) and 0 < len(a.shape) <= 2 and type(axis) is int and 0 not in a.shape
    if not known or (op.val.dtype != float and (name, op.val.dtype) != ("cumsum", np.int64)):
        raise UnsupportedOp(f"{callable_name(op.fn)} with these arguments")
    view = body.view(body.as_float(a)).as_rows()
    along = view.transposed((1, 0)) if axis % len(a.shape) == 0 and len(a.shape) == 2 else view
    strides = row_major(view.shape) if along is view else row_major(view.shape)[::-1]
    source = RUNNING.format(name=name, word=STEPS[name])
    made = call_helper(body, f"running_{name}", (source,), [along], (*strides, *along.shape), view.shape)
    found = View(made.memory, made.offset, row_major(a.shape), a.shape)
    if op.val.dtype == np.int64:
        check_elements(body, found, EXACT)
    return found


def emit_sums_onward(body: Any, op: Call, weights: Any, z: Any) -> View:
    """Emit the recurrence by which running products and extrema are differentiated."""
    shape = op.val.shape
    if not 0 < len(shape) <= 2 or 0 in shape or op.val.dtype != np.float64 or z.shape != shape:
        raise UnsupportedOp("a recurrence of these numbers")
    if weights.shape != (*shape[:-1], shape[-1] - 1):
        raise UnsupportedOp("a recurrence of these numbers")
    rows = [body.view(body.as_float(body.operand(x))).as_rows() for x in (weights, z)]
    return call_helper(body, "sums_onward", (ONWARD,), rows, rows[1].shape, shape)


def emit_searchsorted(body: Any, op: Call, a: Any, v: Any, side: Any = "left") -> Any:
    """Emit np.searchsorted; the indices are stored as floats."""
    if not is_native_array(a) or len(a.shape) != 1 or side not in ("left", "right") or isinstance(v, (list, tuple)):
        raise UnsupportedOp("np.searchsorted with these arguments")
    v = body.operand(v)
    is_number = isinstance(v, Scalar)
    v = Splat(body.as_float(v), (1,)) if is_number else body.as_float(v)
    if 0 in v.shape or (len(v.shape) > 1 and not body.view(v).is_contiguous):
        raise UnsupportedOp("np.searchsorted with these arguments")
    keys = body.view(v)
    flat = View(keys.memory, keys.offset, (keys.strides or (1,))[-1:], (math.prod(v.shape),))
    sizes = (a.shape[0], flat.shape[0], int(side == "right"))
    made = call_helper(body, "search", (SEARCH,), [body.view(body.as_float(a)), flat], sizes, v.shape)
    return body.level.load(View(made.memory, made.offset, (), ())) if is_number else made


def with_places(body: Any, key: Any, recorded: Any) -> Any:
    """Return a key in which the places of true elements replace a mask, of which there must be as many as recorded.

    NO_ELEMENT if there must be none.
    """
    parts, then = key_parts(key) or (key,), key_parts(recorded) or (recorded,)
    pairs = zip(parts, then, strict=True)
    at = next((k for k, (part, known) in enumerate(pairs) if is_mask(part, known)), None)
    if at is None:
        return key
    if not all([type(part) in (int, slice) for k, part in enumerate(parts) if k != at]):
        raise UnsupportedOp("indexing by this mask")
    if type(then[at]) is np.ndarray and then[at].ndim:  # a constant
        return (*parts[:at], *map(KnownInts, then[at].nonzero()), *parts[at + 1 :])
    view, count = body.view(parts[at]), int(np.count_nonzero(value_of(then[at])))
    if len(view.shape) not in ((1, 2) if count else (1,)):
        raise UnsupportedOp("indexing by this mask")
    if not count:
        body.level.guard("{0} != 0.0", body.level.reduce("0.0", "{0} + {1}", body.as_float(view), view.shape, 0, None))
        return NO_ELEMENT
    return (*parts[:at], *_places_of_true(body, view, count), *parts[at + 1 :])


def emit_nonzero(body: Any, op: Call, a: Any) -> Any:
    """Emit np.nonzero of a vector or matrix, also as np.where, with as many elements as recorded, as floats."""
    if not is_native_array(a) or not 1 <= len(a.shape) <= 2 or not op.val[0].size:
        raise UnsupportedOp("np.nonzero with these arguments")
    return tuple(_places_of_true(body, body.view(body.operand(a)), op.val[0].size))


def _places_of_true(body: Any, view: View, count: int) -> list[View]:
    """Return the places of the true elements of a vector or matrix, of which there must be as many as recorded."""
    rows = view.as_rows()
    made = call_helper(body, "places_in_rows", (PLACES_IN_ROWS,), [rows], (*rows.shape, count), (2, count + 1))
    places = [View(made.memory, made.offset + k * (count + 1), (1,), (count,)) for k in range(2)]
    return places[-len(view.shape) :]


def emit_flatnonzero(body: Any, op: Call, a: Any) -> Any:
    if len(getattr(a, "shape", ())) != 1:
        raise UnsupportedOp("np.flatnonzero of a matrix")
    return emit_nonzero(body, Call(op.fn, op.args, val=(op.val,)), a)[0]


def is_mask(x: Any, recorded: Any) -> bool:
    """Whether a value is an array of bools, which memory may hold as floats."""
    if not is_native_array(x):
        return False
    is_bool = getattr(value_of(recorded), "dtype", None) == np.bool_
    return is_bool or x.kind == BOOL_KIND
