"""The shadow table: which live objects are traced values, by identity.

Values stay what they are; a value is traced when its id stands here. An id may be reused once its object is gone, so
each entry holds its object: scalars and small arrays by a reference, large arrays by a weak one that clears the id.
An id is written here after its entry, never before: an interrupt that the user's code catches may hit between the two,
or a finaliser may record something. An entry without an id is harmless; an id without its entry would be another's.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

SHADOW: dict[int, int] = {}
WEAKLY_HELD_ABOVE = 4096  # bytes; above it a weak reference (about 250 ns) costs less than keeping the array alive


def has_identity(value: Any) -> bool:
    """Whether a value may stand in the table: a number or array of a kind of which each is an object of its own."""
    return isinstance(value, (np.ndarray, np.number, float, complex))


def held(value: Any, strong: bool) -> Any:
    """Return what an entry holds of a new value: the value, or a weak reference to it."""
    return value if strong or not isinstance(value, np.ndarray) or value.nbytes <= WEAKLY_HELD_ABOVE else weak(value)


def weak(value: np.ndarray) -> weakref.ref[np.ndarray]:
    """A weak reference to a value, which takes the value's id out of the table when it is gone."""
    return weakref.ref(value, forgetting(SHADOW, id(value)))


def forgetting(table: dict[int, Any], key: int) -> Callable[[Any], Any]:
    """A function, C code all through, that takes a key out of a table when a weak reference calls it.

    No interrupt hits C code.
    """
    return functools.partial(table.pop, key)  # the reference is the default
