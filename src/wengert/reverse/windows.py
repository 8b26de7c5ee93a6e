"""Views: the cotangent of a part of a view is added to the cotangent of the view's array.

Otherwise a view made in a loop, such as `a[i]` in `a[i][j]`, would get a cotangent of its full size for each number
read.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from wengert.recording.primitives import Bound
from wengert.values.keys import as_view, is_basic
from wengert.values.views import basic_key, lens_of, owner_of

VIEWS = {
    operator.getitem,
    np.transpose,
    np.ndarray.transpose,
    np.swapaxes,
    np.ndarray.swapaxes,
    np.matrix_transpose,
    np.flip,
    np.reshape,
    np.ndarray.reshape,
    np.ravel,
    np.ndarray.ravel,
    np.squeeze,
    np.ndarray.squeeze,
    np.expand_dims,
}


def part_of_view(cotangents: Any, slot: int) -> np.ndarray | None:
    """Return the part of an array's cotangent, a buffer, that the view at `slot` shows; None if there is none.

    `cotangents.shown` says which array is at the end of a chain of views, and where the view lies in it: by slot, the
    array's slot, the array or its Spec, and the Lens.
    """
    table, entries, shown = cotangents.table, cotangents.entries, cotangents.shown
    chain: list[int] = []
    while table[slot] is None and slot not in shown and _is_view(entries[slot]):
        chain.append(slot)
        slot = entries[slot][2][0]
    if not chain and (slot not in shown or table[slot] is not None):
        return None
    root, x, lens = shown.get(slot) or (slot, entries[chain[-1]][3][0], None)
    buffer: np.ndarray = cotangents.buffer(root, x)
    if not buffer.flags.c_contiguous or (buffer.shape, buffer.dtype) != (x.shape, x.dtype):
        return None
    part = buffer if lens is None else np.ndarray(lens.shape, x.dtype, buffer, lens.offset, lens.strides)
    for view in reversed(chain):
        bound, _, _, args, kwargs, _ = entries[view]
        part = bound.fn(part, *args[1:], **(kwargs or {}))
        if type(part) is not np.ndarray or owner_of(part) is not owner_of(buffer) or not part.flags.writeable:
            return None
        shown[view] = root, x, lens_of(part, buffer)
    return part


def root_of_view(cotangents: Any, slot: int, key: Any) -> tuple[int, Any, Any] | None:
    """Find the array at the end of the chain of views from `slot`; return its slot, its Spec, and `key` as a key in it.

    None if `slot` is not a view, or already has a cotangent, or if there is no such key.
    """
    entries, keys, x = cotangents.entries, [key], None
    while cotangents.table[slot] is None and _is_view(entries[slot]) and _has_constant_key(entries[slot]):
        _, _, (slot, _), (x, key), _, _ = entries[slot]
        keys.append(key)
    if x is None or not all(map(is_basic, keys)):
        return None
    whole = as_strided(np.zeros(1, x.dtype), x.shape, _c_strides(x))
    part = whole
    for key in reversed(keys):
        part = part[as_view(key)]
    found = basic_key(lens_of(part, whole), whole)
    return None if found is None else (slot, x, found)


def _c_strides(x: Any) -> list[int]:
    """Return the strides of an array like `x` in C order."""
    return [x.dtype.itemsize * math.prod(x.shape[k + 1 :]) for k in range(x.ndim)]


def _has_constant_key(entry: Any) -> bool:
    """Whether an entry is an item read whose key is a constant."""
    return entry[0].fn is operator.getitem and entry[2][1] is None


def _is_view(entry: Any) -> bool:
    """Whether an entry is a call that returns a view of its first argument; a reshape must be in C order."""
    bound, _, _, args, kwargs, _ = entry
    if type(bound) is not Bound or bound.fn not in VIEWS or bound.places != (0,) or not np.ndim(args[0]):
        return False
    return str not in map(type, args) and (not kwargs or kwargs.get("order", "C") == "C")
