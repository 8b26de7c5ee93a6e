"""Windows: the cotangent of a part of a view is added to the cotangent of the view's array.

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
from wengert.values.views import Lens, basic_key, lens_of, owner_of

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


class Windows:
    """The positions of views in the array at the end of their chain: a view of a view of an array."""

    __slots__ = ("entries", "places")

    def __init__(self, entries: list[Any]) -> None:
        self.entries = entries
        self.places: dict[int, tuple[int, Any, Lens]] = {}  # by slot: the array's slot, the array or its Spec, the Lens

    def onto(self, cotangents: Any, slot: int) -> np.ndarray | None:
        """Return the part of the array's cotangent, a buffer, that the view at `slot` shows; None if there is none."""
        chain: list[Any] = []
        while cotangents.table[slot] is None and slot not in self.places and _is_view(self.entries[slot]):
            chain.append(slot)
            slot = self.entries[slot][2][0]
        if not chain and (slot not in self.places or cotangents.table[slot] is not None):
            return None
        root, x, lens = self.places.get(slot) or (slot, self.entries[chain[-1]][3][0], None)
        buffer = cotangents.buffer(root, x)
        if not buffer.flags.c_contiguous or (buffer.shape, buffer.dtype) != (x.shape, x.dtype):
            return None
        part = buffer if lens is None else np.ndarray(lens.shape, x.dtype, buffer, lens.offset, lens.strides)
        for view in reversed(chain):
            bound, _, _, args, kwargs, _ = self.entries[view]
            part = bound.fn(part, *args[1:], **(kwargs or {}))
            if type(part) is not np.ndarray or owner_of(part) is not owner_of(buffer) or not part.flags.writeable:
                return None
            self.places[view] = root, x, lens_of(part, buffer)
        return part


def root_of_view(cotangents: Any, entries: list[Any], slot: int, key: Any) -> tuple[int, Any, Any] | None:
    """Find the array at the end of the chain of views from `slot`; return its slot, its Spec, and `key` as a key in it.

    None if `slot` is not a view, or already has a cotangent, or if there is no such key.
    """
    keys, x = [key], None
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
