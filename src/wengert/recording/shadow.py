"""The shadow table: which live objects are traced values, by identity.

Values stay what they are; a value is traced when its id stands here. An id may be reused once its object is gone, so
each entry holds its object: scalars and small arrays by a reference, large arrays by a weak one that clears the id.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

SHADOW: dict[int, int] = {}
LARGE = 4096  # bytes; above it a weak reference (about 250 ns) costs less than keeping the array alive


def hold(value: Any, slot: int, strong: bool) -> Any:
    """Register a fresh value at a slot; what the entry keeps of it: the value, or a weak reference to it."""
    SHADOW[id(value)] = slot
    if strong or not isinstance(value, np.ndarray) or value.nbytes <= LARGE:
        return value
    return weakref.ref(value, forgetting(SHADOW, id(value)))


def forgetting(table: dict[int, Any], key: int) -> Callable[[Any], Any]:
    """What takes a key out of a table when a weak reference calls it: C code all through, which no interrupt hits."""
    return functools.partial(table.pop, key)  # the reference is the default
