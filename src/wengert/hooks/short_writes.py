"""Short paths for in-place writes of floats: `y[k] = v`, `y[a:b] = v`, `y[a:b] *= v`, `np.add(a, b, out=y)`.

A function here returns False, and has done nothing, if its short path does not apply.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wengert.mutation.regions import read_at_key
from wengert.mutation.storage import Memory, memory_of
from wengert.mutation.undo import saved_region
from wengert.mutation.versions import NO_UPDATE, Storage
from wengert.recording.interface import WrittenMemory
from wengert.recording.primitives import Bound, Primitive, ShortForms
from wengert.recording.recording import STATE, Recording
from wengert.recording.shadow import SHADOW, WEAKLY_HELD_ABOVE
from wengert.values.keys import frozen, has_known_parts, has_plain_parts, is_element, names_once
from wengert.values.sites import Site
from wengert.values.specs import SCALARS, spec_of

_FLOAT64, _array = np.dtype(float), np.ndarray
_SIGNS = {operator.add: 1, np.add: 1, operator.sub: -1, np.subtract: -1}


def store_entry(memory: Memory, array: np.ndarray, key: Any, value: Any, site: Site | None) -> bool:
    """Store a number or floats into a part of an array, or of a view of one written before, and record that."""
    owner, dtype = array if (base := array.base) is None else base, array.dtype
    stores, entries, storage = ShortForms.stores, memory.recording.entries, memory.storage_for_short_path(owner, dtype)
    if stores is None or (storage is None and (owner is not array or not memory.may_begin(owner, dtype))):
        return False
    region, where = None, key
    kept, is_whole = value, False
    ends_update = value is memory.update[0] and array.shape == memory.update[2]  # which was read at this key
    if ends_update or type(key) is slice or not is_element(key, array.ndim):
        if ends_update:
            region = value
        elif has_plain_parts(key) or (array.nbytes <= WEAKLY_HELD_ABOVE and has_known_parts(key)):
            region = array[key]  # a copy, if the key has arrays
        else:
            return False
        if not 0 < region.size < owner.size:
            if not region.size or not _is_like_owner(owner, array, region, value):
                return False
            is_whole = True
        if region.base is None:
            where = memory.capture(key)
    if type(value) is not _array:
        value_slot = SHADOW.get(id(value))
    elif region is None or value.dtype is not dtype:
        return False
    else:
        source = value if (base := value.base) is None else base
        if type(source) is not _array or source.base is not None or source is owner:
            return False
        is_plain = id(source) not in memory.storages and not memory.holds_objects
        kept, value_slot = spec_of(value), SHADOW.get(id(value)) if is_plain else memory.slot(value)
    if storage is None:
        if value_slot is None and id(owner) not in SHADOW:
            return False
        storage = memory.join(owner).storage
    if owner is not array:
        where = storage.key_within(array, key, owner)
        if where is None:
            return False
    slot = len(entries)
    if memory.is_captured(owner):
        saved = array[key] if region is None or region.base is None else region.copy()
        memory.undo.append([slot, array, frozen(key), saved])
    memory.update = NO_UPDATE
    memory.unfinished += 1
    try:
        array[key] = value
    except Exception as error:
        memory.ended_by(error)
        raise
    if is_whole:
        memory.hold(storage, owner, value_slot)
    else:
        before = storage.slot
        form = stores[before is not None, value_slot is not None]
        entries.append((form, None, (before, None, value_slot), (storage.spec, where, kept), None, site))
        memory.captured_to = slot + 1  # what it reads is captured
        SHADOW[id(owner)] = storage.slot = slot
        storage.stamp += 1
    memory.unfinished -= 1
    return True


def _is_like_owner(owner: np.ndarray, array: np.ndarray, region: np.ndarray, value: Any) -> bool:
    """Whether a value that is stored into a region of an owner's size becomes the owner's content as it is."""
    is_whole = region.base is array is owner and region.shape == owner.shape and region.strides == owner.strides
    return is_whole and type(value) is _array and value.shape == owner.shape


def sign_of_sum(primitive: Primitive) -> int:
    """Return 1 for an addition, -1 for a subtraction that can be recorded as one, and 0 for other calls on floats."""
    sign = _SIGNS.get(primitive.fn, 0) if ShortForms.sums is not None and primitive.on_floats else 0
    can_negate = ShortForms.negative is not None and not primitive.has_users_rule
    return sign if sign == 1 or can_negate else 0


def update_entry(
    recording: Recording,
    primitive: Primitive,
    sign: int,
    fn: Callable[..., Any],
    given: tuple[Any, ...],
    target: np.ndarray,
    operand: Any,
) -> bool:
    """Do `target op= operand` by `fn(*given)` on floats, and record it as one entry, for a part with the store of it.

    The target is that of `memory.update`, a view, or a copy whose store into the array is recorded here; or else it
    owns its memory, and was written before. `sign` is `sign_of_sum(primitive)`.
    """
    memory: Memory = recording.memory  # type: ignore[assignment]
    part, key, shape_of_array, shape, storage, _ = memory.update
    owner: Any = target.base
    is_copy, kind, entries = False, type(operand), recording.entries
    if target is not part:
        owner, key, storage = target, None, memory.storage_for_short_path(target)
        if storage is None:
            return False
    elif owner is None:
        is_copy, owner = True, storage.owner()
        if not _is_new_copy(memory):
            return False
    elif owner.shape != shape or memory.storage_for_short_path(owner) is not storage:
        return False
    if kind is _array:
        if operand.dtype is not _FLOAT64:
            return False
        kept, slot = spec_of(operand), memory.slot(operand)
    elif kind in SCALARS:
        kept, slot = operand, SHADOW.get(id(operand))
    else:
        return False
    if recording.stream is not None or not target.size or not target.ndim:
        return False
    if sign and key is not None:
        if sign == -1 and slot is not None:
            slot = _record_negative(recording, operand, kept, slot)
        op, y = ShortForms.sums[True, slot is not None], None
        ins, args = (storage.slot, None, slot), (storage.spec, key, kept)
    else:
        made = _entry_of_update(memory, primitive, storage, key, target, operand, kept, slot)
        if made is None:
            return False
        op, y, ins, args = made
    if memory.is_captured(owner) and target.flags.writeable:
        saved = saved_region(len(entries) + (y is not None), target)  # its own entry reads what was there before
        if is_copy:
            saved[1:3] = owner, frozen(key)
        memory.undo.append(saved)
    memory.unfinished += 1
    try:
        fn(*given)
    except Exception as error:
        memory.ended_by(error)
        raise
    if y is not None and op.reads_y == "value":
        y = target.copy()
    place = len(entries)
    entries.append((op, y, ins, args, None, STATE.site))
    SHADOW[id(owner)] = storage.slot = place
    storage.stamp += 1
    if is_copy:
        memory.update = part, key, shape_of_array, shape, None, None
    memory.captured_to = place + 1  # what the new entries read is captured
    memory.unfinished -= 1
    return True


def _entry_of_update(
    memory: Memory,
    primitive: Primitive,
    storage: Storage,
    key: Any,
    target: np.ndarray,
    operand: Any,
    kept: Any,
    slot: int | None,
) -> tuple[Any, ...] | None:
    """Return the op, value, slots and arguments of the entry of an update; None if it is not for the short path.

    The value is the Spec of the target. `kept` is the operand if it is a number, else its Spec. A sum into a part has
    an entry of another form.
    """
    before, bound = storage.slot, primitive.simple_bound((True, slot is not None))
    if not (bound.is_simple and memory.residuals_may_be_copies) or memory.recording.inert:
        return None
    if target.nbytes > WEAKLY_HELD_ABOVE:  # a copy would cost more than to save and restore it
        return None
    places, spec = bound.residual_places, spec_of(target)
    old = target.copy() if 0 in places else spec
    if 1 in places and type(operand) is _array:
        kept = old if operand is target and 0 in places else memory.capture(operand)
    if key is None:
        return bound, spec, (before, slot), (old, kept)
    return bound.on_part, spec, (before, None, before, slot), (storage.spec, key, old, kept)


def sum_entry(recording: Recording, add: Callable[..., Any], array: np.ndarray, key: Any, value: Any) -> bool:
    """Do and record `add(array, key, value)`, which is `np.add.at`, on floats in a small array written before."""
    memory, sums, kept, slot = memory_of(recording), ShortForms.sums, value, SHADOW.get(id(value))
    storage = memory.storage_for_short_path(array)
    if storage is None or sums is None or recording.stream is not None or array.nbytes > WEAKLY_HELD_ABOVE:
        return False
    if not array.flags.writeable:  # np.add.at may write into it
        return False
    if type(key) is not _array or key.dtype.kind not in "iu":
        return False
    if recording.checks_fp_errors or recording.context is not None:
        return False
    if type(value) is _array:
        if value.dtype is not _FLOAT64 or not _owns_other_memory(value, array):
            return False
        kept, slot = spec_of(value), memory.slot(value)
    elif type(value) not in SCALARS:
        return False
    if memory.is_captured(array):
        memory.undo.append(saved_region(len(recording.entries), array))
    run_unfinished(memory, add, (array, key, value))
    args = storage.spec, memory.capture(key), kept
    recording.entries.append((sums[True, slot is not None], None, (storage.slot, None, slot), args, None, STATE.site))
    memory.written(storage, array, len(recording.entries) - 1)
    memory.unfinished -= 1
    return True


def _owns_other_memory(value: np.ndarray, array: np.ndarray) -> bool:
    """Whether the memory of an array belongs to NumPy, and not to the owner `array`."""
    owner = value if value.base is None else value.base
    return type(owner) is _array and owner.base is None and owner is not array


def write_entry(
    recording: Recording,
    primitive: Primitive,
    fn: Callable[..., Any],
    given: tuple[Any, ...],
    target: np.ndarray,
    args: tuple[Any, ...],
) -> bool:
    """Do and record an elementwise call on floats, `primitive` of `args`, that writes into `target`: `target *= v`.

    `fn(*given)` does it. The target owns its memory, or is selected by a basic key from an array written before. The
    copy that an update has read gets no version, as it has no views; its store is recorded here, before it is done.
    """
    if recording.keep or recording.checks_fp_errors or recording.context is not None or ShortForms.sums is None:
        return False
    if not primitive.on_floats or not _are_floats(target, args):
        return False
    memory: Memory = recording.memory  # type: ignore[assignment]
    place = _place_of(memory, target) or _new_place(memory, target, args)
    if place is None:
        return False
    owner, storage, key, is_update, is_copy = place
    sign = sign_of_sum(primitive) if key is not None and args[0] is target else 0
    if sign and storage is not None:
        if not is_copy:
            shape = memory.update[2] if is_update else None
            memory.update = target, key, shape, owner.shape, storage, storage.stamp
        try:
            if update_entry(recording, primitive, sign, fn, given, target, args[1]):
                return True
        finally:
            if not is_update:  # a view that other code may refer to, and may change
                memory.update = NO_UPDATE
    return _write_at_place(recording, place, primitive, fn, given, target, args)


_Place = tuple[np.ndarray, Storage | None, Any, bool, bool]
"""Where a call writes: the array that owns the memory, its Storage if it was written before, and the key of the target
in it, None for the owner itself; whether the target is the part that an update has read, and whether that is a copy."""


def _place_of(memory: Memory, target: np.ndarray) -> _Place | None:
    """Return the place of an array that is about to be written; None if no short path may write there."""
    update, base = memory.update, target.base
    if target is not update[0]:
        if base is None:
            return target, memory.storage_for_short_path(target), None, False, False
        storage = memory.storage_for_short_path(base)
        key = None if storage is None else storage.key_of(target, base)
        return None if key is None else (base, storage, key, False, False)
    if base is None:
        if not _is_new_copy(memory):
            return target, memory.storage_for_short_path(target), None, True, False
        return update[4].owner(), update[4], update[1], True, True
    storage = memory.storage_for_short_path(base)
    if storage is None:
        return None
    is_update = base.shape == update[3]
    key = update[1] if is_update else storage.key_of(target, base)
    return None if key is None else (base, storage, key, is_update, False)


def _new_place(memory: Memory, target: np.ndarray, args: tuple[Any, ...]) -> _Place | None:
    """Return the place of a part of memory that is about to hold its first traced values; None if it has no key."""
    owner = target.base
    if owner is None or not memory.may_begin(owner) or all([_slot_of(memory, a) is None for a in args]):
        return None
    storage = memory.join(owner).storage
    key = storage.key_of(target, owner)
    is_traced = storage.slot is not None or any([a is not target and _slot_of(memory, a) is not None for a in args])
    return (owner, storage, key, False, False) if is_traced and key is not None else None


def _write_at_place(
    recording: Recording,
    place: _Place,
    primitive: Primitive,
    fn: Callable[..., Any],
    given: tuple[Any, ...],
    target: np.ndarray,
    args: tuple[Any, ...],
) -> bool:
    """Do and record a call by `fn(*given)`: first the call alone, then the store of its result into a part."""
    memory: Memory = recording.memory  # type: ignore[assignment]
    owner, storage, key, is_update, is_copy = place
    entries, spec, own = recording.entries, spec_of(target), None
    if is_update and key is not None and not is_copy:
        assert storage is not None
        assert storage.slot is not None
        own = read_at_key(recording, target, storage.slot, storage.spec, key)
    ins: tuple[int | None, ...] = ()
    mask: tuple[bool, ...] = ()
    kept: list[Any] = []
    for a in args:
        is_array = type(a) is _array
        slot = SHADOW.get(id(a)) if not is_array else own if a is target and own is not None else memory.slot(a)
        ins, mask = (*ins, slot), (*mask, slot is not None)
        kept.append(spec if a is target else spec_of(a) if is_array else a)
    if recording.inert:
        mask = recording.mask(ins)
    bound = primitive.simple.get(mask) or primitive.simple_bound(mask)
    if not bound.places:
        return False
    if storage is None and not is_update:
        storage = memory.join(target).storage
    if bound.residual_places:
        _keep_residuals(memory, bound, target, args, kept)
    _log_and_run(memory, place, target, len(entries) + 1, fn, given)
    slot, y = len(entries), cast(Any, spec)
    if bound.reads_y == "value":
        y = target.copy()  # the undo of a write restores the target itself
    elif storage is None:
        y = target
    entries.append((bound, y, ins, tuple(kept), None, STATE.site))
    if y is not spec:
        SHADOW[id(y)] = slot
    if key is not None:
        _append_store(memory, place, target, spec, slot)
        if storage is not None and not is_update:
            storage.add_view(target, slot, key, owner.shape)
        return True
    if storage is None:
        SHADOW[id(target)] = slot
    else:
        if recording.stream is not None:
            recording.stream.share(slot)
        memory.written(storage, target, slot)
    memory.captured_to = len(entries)  # what the new entries read is captured
    memory.unfinished -= 1
    return True


def _log_and_run(
    memory: Memory, place: _Place, target: np.ndarray, threshold: int, fn: Callable[..., Any], given: tuple[Any, ...]
) -> None:
    """Do a write by `fn(*given)`; first save what pullbacks below the threshold read of the place."""
    if memory.is_captured(place[0]) and target.flags.writeable:
        saved = saved_region(threshold, target)
        if place[4]:
            saved[1:3] = place[0], frozen(place[2])
        memory.undo.append(saved)
    run_unfinished(memory, fn, given)


def _append_store(memory: Memory, place: Any, target: np.ndarray, kept: Any, slot: int) -> None:
    """Append the entry of the store of the result at this slot into a part, and end the write."""
    owner, storage, key, _, is_copy = place
    entries = memory.recording.entries
    form = ShortForms.stores[storage.slot is not None, True]
    entries.append((form, None, (storage.slot, None, slot), (storage.spec, key, kept), None, STATE.site))
    memory.written(storage, owner, len(entries) - 1)
    if is_copy:
        memory.update = target, key, memory.update[2], owner.shape, None, None
    memory.captured_to = len(entries)  # what the new entries read is captured
    memory.unfinished -= 1


def _is_new_copy(memory: Memory) -> bool:
    """Whether the small copy that an update has read is still up to date, so that its store can be recorded at once.

    Its indices must be different: of an element that is named twice, the last number counts.
    """
    part, key, shape, _, storage, stamp = memory.update
    assert part is not None
    owner = storage.owner()
    if owner is None or owner.shape != shape or storage.stamp != stamp or not owner.flags.writeable:
        return False
    if part.nbytes > WEAKLY_HELD_ABOVE or not memory.residuals_may_be_copies or memory.recording.stream is not None:
        return False
    if memory.undo and memory.undo[-1][0] > SHADOW[id(part)]:  # the indices may have been written since
        return False
    return memory.storage_for_short_path(owner) is storage and names_once(key)


def _record_negative(recording: Recording, value: Any, kept: Any, slot: int) -> int:
    """Record the negative of an array or number at this slot, `kept` as its Spec or itself; return its slot."""
    negative = ShortForms.negative
    assert negative is not None
    is_array = type(value) is _array
    bound = negative.simple_bound((True,)) if is_array else negative.scalar_bound((True,))
    recording.entries.append((bound, kept if is_array else -value, (slot,), (kept,), None, STATE.site))
    return len(recording.entries) - 1


def _slot_of(memory: Memory, value: Any) -> int | None:
    return memory.slot(value) if type(value) is _array else SHADOW.get(id(value))


def _keep_residuals(memory: Memory, bound: Bound, target: np.ndarray, args: tuple[Any, ...], kept: list[Any]) -> None:
    """Enter in `kept` the arguments that the pullback of a call reads which is about to overwrite the `target`.

    A small target is copied, which costs less than to save and restore it. An inner level's residuals are variables of
    the outer one, and copies would not be.
    """
    for k in bound.residual_places:
        if args[k] is target and target.nbytes <= WEAKLY_HELD_ABOVE and memory.residuals_may_be_copies:
            kept[k] = target.copy()
        elif type(args[k]) is _array:
            kept[k] = memory.capture(args[k])


def run_unfinished(memory: WrittenMemory, fn: Callable[..., Any], given: tuple[Any, ...] = ()) -> Any:
    """Call `fn(*given)`, which writes, and mark the write as unfinished until it is recorded."""
    memory.unfinished += 1
    try:
        return fn(*given)
    except Exception as error:
        memory.ended_by(error)
        raise


def _are_floats(target: np.ndarray, args: tuple[Any, ...]) -> bool:
    """Whether a call has floats only, and an argument of the target's shape, so that its result has it too."""
    if type(target) is not _array or target.dtype is not _FLOAT64 or not target.ndim or not target.size:
        return False
    is_whole = False
    for a in args:
        if a is target:
            is_whole = True
        elif type(a) is _array:
            if a.dtype is not _FLOAT64:
                return False
            is_whole = is_whole or a.shape == target.shape
        elif type(a) not in SCALARS:
            return False
    return is_whole
