"""Short paths for in-place writes of floats: `y[k] = v`, `y[a:b] = v`, `y[a:b] *= v`, `np.add(a, b, out=y)`.

A function here returns False, and has done nothing, if its short path does not apply.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.mutation.storage import Memory, memory_of
from wengert.mutation.undo import saved_region
from wengert.mutation.versions import Storage
from wengert.recording.interface import WrittenMemory
from wengert.recording.primitives import Bound, Primitive
from wengert.recording.recording import STATE, Recording
from wengert.recording.shadow import SHADOW, WEAKLY_HELD_ABOVE
from wengert.values.keys import frozen, has_known_parts, has_plain_parts, is_element
from wengert.values.specs import SCALARS, Spec, light, spec_of

_FLOAT64 = np.dtype(float)
_SIGNS = {operator.add: 1, np.add: 1, operator.sub: -1, np.subtract: -1}


class ShortForms:
    """The bound primitives that the hooks of items record on the short path."""

    item: Any = None
    stores: Any = None  # of a constant, and of a traced number
    sums: Any = None  # of `y[a:b] += v`, of a constant and of a traced `v`
    negative: Primitive | None = None  # of the `v` of `y[a:b] -= v`, which is recorded as `y[a:b] += -v`


def store_entry(recording: Recording, memory: Memory, array: np.ndarray, key: Any, value: Any) -> bool:
    """Store floats into a part of an array written before, and record that."""
    storage, stores = _storage_for_short_path(recording, memory, array), ShortForms.stores
    if storage is None or stores is None:
        return False
    region, kept, value_slot = None, value, SHADOW.get(id(value))
    if not is_element(key, array.ndim):
        is_known = has_plain_parts(key) or (array.nbytes <= WEAKLY_HELD_ABOVE and has_known_parts(key))
        region = array[key] if is_known else None  # a copy, if the key has arrays
        if region is None or not 0 < region.size < array.size:
            return False
    if type(value) is np.ndarray:
        if region is None or value.dtype is not _FLOAT64 or not _owns_other_memory(value, array):
            return False
        kept, value_slot = spec_of(value), memory.slot(value)
    slot = len(recording.entries)
    if id(array) in memory.captured:
        memory.undo.append([slot, array, frozen(key), array[key] if region is None else region.copy()])
    memory.unfinished += 1
    try:
        array[key] = value
    except Exception as error:
        memory.ended_by(error)
        raise
    bound, ins = stores[value_slot is not None], (storage.slot, None, value_slot)
    key = key if region is None or region.base is not None else memory.capture(key)
    recording.entries.append((bound, None, ins, (storage.spec, key, kept), None, STATE.site))
    SHADOW[id(array)] = storage.slot = slot
    storage.stamp += 1
    memory.unfinished -= 1
    return True


def ends_update(owner: np.ndarray, key: Any, view: np.ndarray) -> bool:
    """Whether a store, on no tape, ends `owner[key] op= v`, which has written into the view `owner[key]`."""
    recording = STATE.recording
    if view.base is not owner or recording is None or recording.memory.lent:
        return False
    storage = recording.memory.storages.get(id(owner))
    known = None if storage is None else storage.key_of(view, owner)
    if known is None or known is key:
        return known is not None
    return type(known) is type(key) and type(key) is not tuple and has_plain_parts(key) and bool(known == key)


def _storage_for_short_path(recording: Recording, memory: Memory, owner: Any) -> Storage | None:
    """Return the version of an owner of traced floats to which short paths may write, else None."""
    storage = memory.storages.get(id(owner))
    if storage is None or storage.slot is None or not storage.is_float64 or recording.keep or memory.lent:
        return None
    if owner.base is not None:  # memory that is not NumPy's
        return None
    found = memory.roots.get(id(owner))
    if found is not None and found[1].waiting and found[0]() is owner:  # inner arguments, which `join` must add
        return None
    return storage


def _owns_other_memory(value: np.ndarray, array: np.ndarray) -> bool:
    """Whether the memory of an array belongs to NumPy, and not to the owner `array`."""
    owner = value if value.base is None else value.base
    return type(owner) is np.ndarray and owner.base is None and owner is not array


def write_entry(
    recording: Recording, primitive: Primitive, run: Callable[[], Any], target: np.ndarray, args: tuple[Any, ...]
) -> bool:
    """Do and record an elementwise call on floats that writes into `target`, such as `target *= v`.

    The target owns its memory, or is selected by a basic key from an array written before.
    """
    if recording.keep or recording.checks_fp_errors or recording.context is not None or ShortForms.sums is None:
        return False
    if not primitive.on_floats or not _are_floats(target, args):
        return False
    memory, owner, key = memory_of(recording), target if target.base is None else target.base, None
    storage = _storage_for_short_path(recording, memory, owner)
    if owner is not target:
        key = None if storage is None else storage.key_of(target, owner)
        if key is None:
            return False
    sign = None if key is None or args[0] is not target or recording.stream is not None else _SIGNS.get(primitive.fn)
    if sign == 1 or (sign and ShortForms.negative is not None and not primitive.has_users_rule):
        form, kept, slot = ShortForms.sums, light(args[1]), _slot_of(memory, args[1])
        if slot is not None and sign == -1:
            slot = _record_negative(recording, args[1], kept, slot)
        _save_region(memory, owner, target, 0)
        run_unfinished(memory, run)
    else:
        ins = tuple([_slot_of(memory, a) for a in args])
        bound = primitive.simple_bound(recording.mask(ins))
        if not bound.places:
            return False
        storage = memory.join(target).storage if storage is None else storage
        kept = spec_of(target)
        form, slot = ShortForms.stores, _record_result(memory, bound, run, target, args, ins, kept)
    assert storage is not None
    if key is None:
        if recording.stream is not None:
            recording.stream.share(slot)
        memory.written(storage, target, slot)
    else:
        entry = form[slot is not None], None, (storage.slot, None, slot), (storage.spec, key, kept), None, STATE.site
        recording.entries.append(entry)
        memory.written(storage, owner, len(recording.entries) - 1)
        if form is ShortForms.stores:
            storage.add_view(target, slot, key, owner.shape)
    memory.unfinished -= 1
    return True


def _record_negative(recording: Recording, value: Any, kept: Any, slot: int) -> int:
    """Record the negative of an array or number at this slot, `kept` as its Spec or itself; return its slot."""
    negative = ShortForms.negative
    assert negative is not None
    is_array = type(value) is np.ndarray
    bound = negative.simple_bound((True,)) if is_array else negative.scalar_bound((True,))
    recording.entries.append((bound, kept if is_array else -value, (slot,), (kept,), None, STATE.site))
    return len(recording.entries) - 1


def _slot_of(memory: Memory, value: Any) -> int | None:
    return memory.slot(value) if type(value) is np.ndarray else SHADOW.get(id(value))


def _record_result(
    memory: Memory,
    bound: Bound,
    run: Callable[[], Any],
    target: np.ndarray,
    args: tuple[Any, ...],
    ins: tuple[int | None, ...],
    spec: Spec,
) -> int:
    """Do the call, and record it as one that returns a new array; return its slot."""
    entries = memory.recording.entries
    kinds = zip(bound.residual_kinds, args, strict=True)
    residuals = tuple([memory.capture(a) if how == "value" else spec if a is target else light(a) for how, a in kinds])
    _save_region(memory, target if target.base is None else target.base, target, 1)
    run_unfinished(memory, run)
    y = target.copy() if bound.reads_y == "value" else spec
    entries.append((bound, y, ins, residuals, None, STATE.site))
    if type(y) is np.ndarray:
        SHADOW[id(y)] = len(entries) - 1
    return len(entries) - 1


def _save_region(memory: Memory, owner: np.ndarray, target: np.ndarray, entries: int) -> None:
    """Save what a write after so many more entries is about to overwrite, if the owner is captured."""
    if id(owner) in memory.captured and target.flags.writeable:
        memory.undo.append(saved_region(len(memory.recording.entries) + entries, target))


def run_unfinished(memory: WrittenMemory, run: Callable[[], Any]) -> Any:
    """Call `run`, which writes, and mark the write as unfinished until it is recorded."""
    memory.unfinished += 1
    try:
        return run()
    except Exception as error:
        memory.ended_by(error)
        raise


def _are_floats(target: np.ndarray, args: tuple[Any, ...]) -> bool:
    """Whether a call has floats only, and an argument of the target's shape, so that its result has it too."""
    if type(target) is not np.ndarray or target.dtype is not _FLOAT64 or not target.ndim or not target.size:
        return False
    is_whole = False
    for a in args:
        if type(a) is np.ndarray:
            if a.dtype is not _FLOAT64:
                return False
            is_whole = is_whole or a.shape == target.shape
        elif type(a) not in SCALARS:
            return False
    return is_whole
