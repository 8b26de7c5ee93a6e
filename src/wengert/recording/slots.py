"""The slots of values: where on this thread's recording a value stands, if it is traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording.primitives import CONSTANT
from wengert.recording.recording import C_ONLY_TYPES, STATE, Recording, users_line
from wengert.recording.shadow import SHADOW
from wengert.values.specs import is_inexact


def recording_here() -> Recording:
    """This thread's recording; a traced value in a thread that does not trace is refused."""
    recording = STATE.recording
    if recording is None:
        raise RefusedCallError(
            f"{users_line()}: a value traced by another thread is used here. Call wengert inside the thread instead."
        )
    return recording


def slot_of(recording: Recording, value: Any) -> int | None:
    """The slot of a value on this recording; None where it is not traced."""
    t = type(value)  # `isinstance` would ask an object its own `__class__`
    if t is np.ndarray or (t not in C_ONLY_TYPES and issubclass(t, (np.ndarray, np.void))):
        # a record shows an array, too
        slot = recording.memory.slot(value)
        return recording.memory.slot_in_place(value) if slot is None and t is not np.ndarray else slot
    return SHADOW.get(id(value))


def show_inside(outer: Recording, *values: Any) -> None:
    """Make values that are one new variable of a recording one of those within it, too, down to the open one.

    Within, it is a constant.
    """
    slot, recording = SHADOW[id(values[0])], STATE.recording
    inner: list[Any] = []
    while recording is not None and recording is not outer:
        inner.insert(0, recording)
        recording = recording.around
    for recording in (outer, *inner):
        if recording is not outer:
            recording.late_slots[len(recording.entries)], slot = slot, len(recording.entries)
            recording.entries.append((CONSTANT, values[0], (), (), None, STATE.site))
            if not is_inexact(values[0]):
                recording.inert.add(slot)
        saved = recording.saved_shadow
        (SHADOW if saved is None else saved.shadow).update({id(value): slot for value in values})
        if saved is not None:
            saved.held.extend(values)


def slots_in(recording: Recording, items: Any) -> Any:
    """The slots of what is in a list or tuple, as a nested tuple; None where nothing is traced."""
    found = tuple([slots_of(recording, item) for item in items])
    return found if any([slot is not None for slot in found]) else None


def slots_of(recording: Recording, value: Any) -> Any:
    """The slot of an argument, or those in it where it is a list or tuple."""
    return slots_in(recording, value) if type(value) in (list, tuple) else slot_of(recording, value)


def holds_traced(items: Any) -> bool:
    """Whether a list or tuple holds a traced value."""
    recording = STATE.recording
    return recording is not None and slots_in(recording, items) is not None


def flat(args: Sequence[Any]) -> list[Any]:
    """The arguments, with the items of lists and tuples one by one."""
    return [b for a in args for b in (a if type(a) in (list, tuple) else (a,))]
