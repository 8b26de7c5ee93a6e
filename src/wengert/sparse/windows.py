"""Windows onto memory, which are told in bytes, on arrays of sets in the place of arrays of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

ITEM = np.dtype(np.int64).itemsize


def laid_as(sets: np.ndarray, x: np.ndarray) -> np.ndarray:
    """`sets`, in an array that lies in memory as `x` does, element by element."""
    strides = scaled(x.strides, x.itemsize)
    if sets.strides == strides or not x.size:
        return sets
    low, high = byte_bounds(x)
    buffer = np.zeros((high - low) // x.itemsize, np.int64)
    first = (x.__array_interface__["data"][0] - low) // x.itemsize
    out: np.ndarray = np.ndarray(x.shape, np.int64, buffer, first * ITEM, strides)
    out[...] = sets
    return out


def scaled(places: Any, itemsize: int) -> Any:
    """Bytes of elements of `itemsize` as those of sets: a number, or a tuple of them."""
    return tuple(scaled(n, itemsize) for n in places) if isinstance(places, tuple) else places // itemsize * ITEM
