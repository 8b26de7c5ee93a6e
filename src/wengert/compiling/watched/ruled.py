"""User functions with a rule: recorded as one call if an argument is traced, and entered like any other if not.

The generated code calls such a function itself, which reads what it needs at each call. What its rule reads is watched.
Its arguments other than numbers and arrays must be the same in each call.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.watchable_types import ATOMS, COMPARED_BY_VALUE, CONSTANT_CALLABLES, nested_leaves
from wengert.hooks.decide import decide
from wengert.recording.recording import STATE
from wengert.recording.slots import slot_of
from wengert.recording.swapped_code import is_born

_UNCHANGING_TYPES: Any = (
    *CONSTANT_CALLABLES,
    *ATOMS,
    *COMPARED_BY_VALUE,
    float,
    complex,
    np.generic,
    np.ndarray,
    type,
    types.ModuleType,
)


def recorded_if_traced(f: types.FunctionType, reads: Reads) -> Callable[..., Any]:
    """Return the replacement of a function with a rule."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None:
            return f(*args, **kwargs)
        parts = nested_leaves((args, kwargs))
        if any(slot_of(recording, part) is not None for part in parts):
            for part in parts:
                if not _is_same_in_each_call(part, reads):
                    reads.give_up(f"it passes a {type(part).__name__} to {f.__qualname__}, which has a custom rule")
            return decide(f).of(f)(*args, **kwargs)
        return decide(f, False).of(f)(*args, **kwargs)

    return call


def _is_same_in_each_call(thing: Any, reads: Reads) -> bool:
    """Whether an argument is a number or an array, or is the same in each call, by its type or a guard."""
    if issubclass(type(thing), _UNCHANGING_TYPES) and (type(thing) is not np.ndarray or not thing.dtype.hasobject):
        return True
    if type(thing) is types.FunctionType:
        return not is_born(thing)
    known, accessor = reads.known_objects.get(id(thing), (None, "a"))
    return known is thing and not accessor.startswith("a")
