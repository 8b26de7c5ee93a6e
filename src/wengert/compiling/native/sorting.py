"""Native code for sorted arrays, the order of their elements, and the places of extrema."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from wengert.compiling.native.helper_calls import call_helper
from wengert.compiling.native.sequences import flat_view
from wengert.compiling.native.values import UnsupportedOp, View, is_native_array
from wengert.compiling.ops import info
from wengert.tape.ops import Call

LONGEST_SORT = 128

MERGE = """
def merged_runs(x, now, other, n, width):
    # merge each two sorted runs of a width: keys, with their places n elements behind them
    begin = 0
    while begin < n:
        middle, end = min(begin + width, n), min(begin + 2 * width, n)
        left, right = begin, middle
        for k in range(begin, end):
            is_left = right >= end
            if left < middle and right < end:
                is_left = x[now + left] <= x[now + right]
            at = now + (left if is_left else right)
            x[other + k] = x[at]
            x[other + n + k] = x[at + n]
            left += is_left
            right += not is_left
        begin = end
    return False
"""

SORT = """
def sorted_rows(x, o, a, p, p0, p1, rows, n, has_order):
    # sort each row: its numbers, their places, and as much work space; fail for nan, and where NumPy's order is unknown
    for i in range(rows):
        here = o + 4 * n * i
        for j in range(n):
            y = a[p + i * p0 + j * p1]
            if y != y:
                return True
            x[here + n + j] = j
            k = here + j
            while k > here + j // 8 * 8:
                if x[k - 1] <= y:
                    break
                x[k] = x[k - 1]
                x[k + n] = x[k + n - 1]
                k = k - 1
            x[k] = y
            x[k + n] = j
        now = here
        other = here + 2 * n
        width = 8
        while width < n:
            merged_runs(x, now, other, n, width)
            now, other = other, now
            width = width * 2
        if now != here:
            for j in range(2 * n):
                x[here + j] = x[now + j]
        for j in range(here + 1, here + n):
            if x[j] == x[j - 1] and (has_order != 0 or np.copysign(1.0, x[j]) != np.copysign(1.0, x[j - 1])):
                return True
    return False
"""

EXTREMUM = """
def places_of_extrema(x, o, a, p, p0, p1, rows, n, sign):
    # the place of the first largest number of each row, or of the first nan; with a sign of -1 of the smallest
    for i in range(rows):
        best = sign * a[p + i * p0]
        x[o + i] = 0.0
        for j in range(1, n):
            y = sign * a[p + i * p0 + j * p1]
            if y > best or (y != y and best == best):
                best = y
                x[o + i] = j
    return False
"""


def _rows_along(body: Any, a: Any, axis: Any) -> View:
    """Return an array as a view of rows along an axis; of all elements if that is None."""
    if not is_native_array(a) or len(a.shape) > 2 or 0 in a.shape or not a.shape:
        raise UnsupportedOp("a sort of this array")
    view = flat_view(body, body.as_float(a)) if axis is None else body.view(body.as_float(a))
    return view.transposed((1, 0)) if len(view.shape) == 2 and axis % 2 == 0 else view.as_rows()


def _as_recorded(view: View, shape: tuple[int, ...], axis: Any) -> View:
    """Return rows as the array of this shape."""
    if len(shape) != 2:
        return replace(view, strides=view.strides[1:], shape=view.shape[1:])
    return view.transposed((1, 0)) if axis % 2 == 0 else view


def emit_sort(body: Any, op: Call, a: Any, axis: Any = -1, kind: Any = None, stable: Any = None) -> View:
    """Emit np.sort or np.argsort, whose indices are stored as floats."""
    has_order = info(op.fn).name == "argsort"
    is_stable = stable is True or kind in ("stable", "mergesort")
    lines = _rows_along(body, a, axis)
    rows, n = lines.shape
    if n > LONGEST_SORT:
        raise UnsupportedOp("a long sort, where NumPy is faster")
    sizes = rows, n, int(has_order and not is_stable)
    made = call_helper(body, "sorted_rows", (MERGE, SORT), [lines], sizes, (rows, 4, n))
    found = View(made.memory, made.offset + has_order * n, (4 * n, 1), (rows, n))
    return _as_recorded(found, op.val.shape, axis)


def emit_place_of_extremum(body: Any, op: Call, a: Any, axis: Any = None) -> Any:
    """Emit np.argmax or np.argmin."""
    lines = _rows_along(body, a, axis)
    sizes = *lines.shape, 1 if info(op.fn).name == "argmax" else -1
    made = call_helper(body, "places_of_extrema", (EXTREMUM,), [lines], sizes, (lines.shape[0],))
    if isinstance(op.val, np.ndarray) and op.val.shape:
        return made
    return body.level.load(replace(made, strides=(), shape=()))
