"""Guards on the memory layout of arrays, where code branches on it: a tape is played on other arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.recording.primitives import Primitive
from wengert.recording.recording import C_ONLY_TYPES, STATE, Recording, users_site
from wengert.recording.subclasses import plain
from wengert.values.functional import Path, getfield, lens
from wengert.values.views import owner_of


def laid_out(recording: Recording) -> None:
    """Guard the memory layout of the arguments: code asks for it, of them or of arrays made from them."""
    if laid_out in recording.caches:
        return
    recording.caches[laid_out] = {}
    strides = Primitive(getattr, None, "guard")
    for slot, array in _arrays_given(recording):
        recording.append((strides, array.strides, (slot, None), (array, "strides"), None, users_site()))


def kept_apart(recording: Recording) -> None:
    """Guard that written arguments are writable and share no memory: on a tape each is a variable."""
    given = _arrays_given(recording)
    written = [slot for slot, array in given if id(owner_of(array)) in recording.memory.storages]
    writable(recording, [owner_of(array) for slot, array in given if slot in written])
    shares = Primitive(np.shares_memory, None, "guard")
    for i, x in given:
        for j, y in given:
            if j in written and (i < j or (i > j and i not in written)):
                recording.append((shares, False, (i, j), (x, y), None, STATE.site))


def is_of_an_argument(recording: Recording, array: np.ndarray) -> bool:
    """Whether an array shows the memory of an argument, of which a tape knows neither owner nor size."""
    return any([owner_of(array) is owner_of(given) for _, given in _arrays_given(recording)])


def _arrays_given(recording: Recording) -> list[tuple[int, np.ndarray]]:
    """Return the arrays among the arguments by slot."""
    inputs = [(slot, recording.value(slot)) for slot in sorted(recording.levels[0].inputs)]
    return [(slot, value) for slot, value in inputs if issubclass(type(value), np.ndarray)]


def views_or_copies(recording: Recording) -> None:
    """Guard that a result is again a view or a copy, if its argument's layout decides and one of them is written."""
    if np.ndarray in C_ONLY_TYPES:
        return
    shares = Primitive(np.shares_memory, None, "guard")
    known = recording.caches.setdefault(views_or_copies, {})
    for slot, entry in enumerate(recording.entries[:]):
        if entry is None or id(entry[0].fn) not in _IDS_AS_IT_LIES or slot in known:
            continue
        _, y, ins, (x, *_), _, site = entry
        source = recording.entries[ins[0]] if type(ins[0]) is int else None
        if source is not None and getattr(source[0], "fn", None) is lens:
            continue  # of a window with strides of its own, which is a copy on a tape and lies in one way
        if ins[0] is None or not all([issubclass(type(a), np.ndarray) for a in (x, y)]) or not x.ndim:
            continue  # a single number lies in one way
        if _is_written_after(recording, slot, x) or _is_written_after(recording, slot, y):
            known[slot] = None
            recording.append((shares, np.shares_memory(plain(x), plain(y)), (ins[0], slot), (x, y), None, site))


def _is_written_after(recording: Recording, slot: int, array: np.ndarray) -> bool:
    """Whether the memory of an array may have been written after the call at a slot."""
    storage = recording.memory.storages.get(id(owner_of(array)))
    return storage is not None and (storage.slot is None or storage.slot > slot)


def unchanged(recording: Recording, primitive: Primitive, value: Any, args: Any, ins: Any, kwargs: Any) -> None:
    """Record a call that returned its own argument because of the argument's memory layout."""
    if _asks_for_order(primitive.fn, args, kwargs) and issubclass(type(value), np.ndarray):
        recording.caches.setdefault(unchanged, {})[id(value)] = value
        recording.inert.add(recording.append((primitive, value, ins, args, kwargs or None, STATE.site)))


def _asks_for_order(fn: Any, args: Any, kwargs: Any) -> bool:
    """Whether a call may return its argument, or a copy of it, depending on the order of the argument in memory."""
    ordered = any([fn is each for each in (np.ascontiguousarray, np.asfortranarray)]) or "order" in kwargs
    return id(fn) in _IDS_GIVING_BACK and (ordered or len(args) > 2)


def sameness_asked(*things: Any) -> None:
    """Guard the memory layout where code tests, for example, `np.ascontiguousarray(x) is x`."""
    recording = STATE.recording
    if recording is None or not recording.keep:
        return
    if any([_may_be_given_back(recording, thing) for thing in things if type(thing) is np.ndarray]):
        laid_out(recording)


def _may_be_given_back(recording: Recording, array: np.ndarray) -> bool:
    """Whether an array is an argument that a call returned unchanged, or a copy where it might have."""
    slot = recording.memory.slot(array)
    entry = None if slot is None else recording.entries[slot]
    rule = None if entry is None else getattr(entry[0], "rule", None)
    return id(array) in recording.caches.get(unchanged, ()) or (rule is not None and rule.identity)


def returned(recording: Recording, array: np.ndarray) -> None:
    """Guard the memory layout where it decides whether a result shows the memory of an argument or of a copy of it."""
    owner = owner_of(array)
    slot = recording.memory.slot(owner)
    entry = None if slot is None else recording.entries[slot]
    is_copy = entry is not None and _asks_for_order(getattr(entry[0], "fn", None), entry[3], entry[4] or ())
    if is_copy or any([owner is owner_of(one) for one in recording.caches.get(unchanged, {}).values()]):
        laid_out(recording)


def writable(recording: Recording, owners: Sequence[np.ndarray]) -> None:
    """Guard whether the arguments that show the memory of these owners are writable.

    Under a context there is no guard: its tape keeps its inputs in read-only arrays.
    """
    if recording.context is not None:
        return
    for slot, array in [item for item in _arrays_given(recording) if any([owner_of(item[1]) is o for o in owners])]:
        asked = Primitive(getfield, None, "guard")
        value = flags_of(recording, array).writeable
        recording.append((asked, value, (slot, None), (array, _WRITEABLE), None, users_site()))


def flags_of(recording: Recording, array: np.ndarray) -> Any:
    """Return the flags of an array; an argument of a batched function, which is kept read-only, counts as writable."""
    is_kept = recording.batched and any([array is given for _, given in _arrays_given(recording)])
    return (np.empty_like(array) if is_kept else array).flags


_WRITEABLE = Path(((".", "flags"), (".", "writeable")))

_GIVING_BACK = {np.ndarray.astype, np.asarray, np.array, np.asanyarray, np.ascontiguousarray, np.asfortranarray}
"""Functions that return their argument or a copy of it."""
_IDS_GIVING_BACK = frozenset(map(id, _GIVING_BACK))
_IDS_AS_IT_LIES = _IDS_GIVING_BACK | frozenset(map(id, (np.reshape, np.ravel, np.ndarray.reshape, np.ndarray.ravel)))
"""Functions that give a view or a copy, depending on the memory layout of their argument."""
