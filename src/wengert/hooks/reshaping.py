"""The hook of `a.shape = …`: the array becomes a new variable; earlier entries keep a view of the old shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.mutation.storage import memory_of
from wengert.recording.layout import laid_out
from wengert.recording.primitives import ruled
from wengert.recording.record import bind
from wengert.recording.recording import STATE, Recording, users_line
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import slot_of
from wengert.recording.variables import append_result
from wengert.values.specs import spec_of
from wengert.values.views import owner_of

_set_shape_in_c: Any = vars(np.ndarray)["shape"].__set__


def set_shape(array: np.ndarray, shape: Any) -> None:
    """Do and record `array.shape = shape`."""
    recording = STATE.recording
    if recording is None:
        _set_shape_in_c(array, shape)
        return
    if recording.keep:
        laid_out(recording)
    memory, slot = memory_of(recording), slot_of(recording, array)
    if slot is not None and _is_argument(recording, array):
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: this line sets .shape of an argument, the caller's array. Use a.reshape(...) instead."
            )
        )
    owner, before = owner_of(array), np.ndarray.view(array, np.ndarray)
    _set_shape_in_c(array, shape)
    if array.shape == before.shape:
        return
    if slot is not None or id(owner) in memory.captured:
        _replace_in_entries(recording, array, before)
    storage = memory.storages.get(id(owner))
    if storage is not None:
        storage.views.pop(id(array), None)
        if array is owner:
            storage.spec = spec_of(array)
    if slot is None or (storage is not None and array is not owner):  # then it is read through its storage
        return
    memory.replaced.append({0: (before, array, slot)})
    SHADOW[id(before)] = slot
    bound = bind(recording, ruled(np.reshape), (before, array.shape), (slot, None), {})
    append_result(recording, bound, array, (before, array.shape), (slot, None), None)
    if storage is not None:
        memory.written(storage, array, SHADOW[id(array)])


def _is_argument(recording: Recording, array: np.ndarray) -> bool:
    """Whether an array is an argument, also if it was written since, and so has another slot."""
    return any([e is not None and e[0].kind == "input" and e[1] is array for e in recording.entries])


def _replace_in_entries(recording: Recording, array: np.ndarray, before: np.ndarray) -> None:
    """Replace an array by `before`, a view of its old shape, in all entries and in the undo log."""

    def replaced(thing: Any) -> Any:
        if thing is array:
            return before
        return type(thing)([replaced(part) for part in thing]) if type(thing) in (list, tuple) else thing

    for slot, entry in enumerate(recording.entries[:]):
        if entry is not None:
            primitive, value, ins, args, kwargs, site = entry
            keywords = {name: replaced(word) for name, word in kwargs.items()} if kwargs else kwargs
            recording.entries[slot] = primitive, replaced(value), ins, replaced(args), keywords, site
    for record in memory_of(recording).undo:
        record[1] = replaced(record[1])
