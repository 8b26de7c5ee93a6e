"""Strided windows, given in bytes of an array of numbers, on the array of its sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

SET_ITEMSIZE = np.dtype(np.int64).itemsize


def with_layout_of(sets: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return `sets` in an array with the memory layout of `x`, element by element."""
    strides = byte_offsets(x.strides, x.itemsize)
    if sets.strides == strides or not x.size:
        return sets
    low, high = byte_bounds(x)
    buffer = np.zeros((high - low) // x.itemsize, np.int64)
    first = (x.__array_interface__["data"][0] - low) // x.itemsize
    out: np.ndarray = np.ndarray(x.shape, np.int64, buffer, first * SET_ITEMSIZE, strides)
    out[...] = sets
    return out


def byte_offsets(offsets: Any, itemsize: int) -> Any:
    """Convert byte offsets (a number or a tuple) in an array of items of `itemsize` to those in its sets' array."""
    if isinstance(offsets, tuple):
        return tuple(byte_offsets(n, itemsize) for n in offsets)
    return offsets // itemsize * SET_ITEMSIZE
