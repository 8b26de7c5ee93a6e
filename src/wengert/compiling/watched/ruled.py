"""Functions of the user's that have a rule: one call where an argument is traced, and entered like any other where not.

As one call they stand in the code as they are, so that they read what they read at each call; what their rule reads is
watched. What they are given besides numbers must be the same in each call.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.watchable_types import ATOMS, COMPARED, SAME, parts_of
from wengert.hooks.decide import decide
from wengert.recording.recording import STATE
from wengert.recording.slots import slot_of
from wengert.recording.swapped_code import is_born

_PLAIN: Any = (*SAME, *ATOMS, *COMPARED, float, complex, np.generic, np.ndarray, type, types.ModuleType)


def where_traced(f: types.FunctionType, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a function with a rule."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None:
            return f(*args, **kwargs)
        parts = parts_of((args, kwargs))
        if any(slot_of(recording, part) is not None for part in parts):
            for part in parts:
                if not _is_the_same_again(part, reads):
                    reads.give_up(f"it hands a {type(part).__name__} to {f.__qualname__}, which has a rule")
            return decide(f).of(f)(*args, **kwargs)
        return decide(f, False).of(f)(*args, **kwargs)

    return call


def _is_the_same_again(thing: Any, reads: Reads) -> bool:
    """Whether a thing is a number, or tested to be what it is in each call."""
    if issubclass(type(thing), _PLAIN) and (type(thing) is not np.ndarray or not thing.dtype.hasobject):
        return True
    if type(thing) is types.FunctionType:
        return not is_born(thing)
    known, place = reads.known.get(id(thing), (None, "a"))
    return known is thing and not place.startswith("a")
