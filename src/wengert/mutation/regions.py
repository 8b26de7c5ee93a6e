"""Recording of views of written memory: each read or store becomes a functional call on the owner.

An owner of complex numbers may be seen through views of their real or imaginary parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording.primitives import ShortForms, ruled
from wengert.recording.recording import STATE, Recording, users_line
from wengert.recording.shadow import SHADOW, WEAKLY_HELD_ABOVE, held, weak
from wengert.values.functional import getitem, setitem, setlens, setpart
from wengert.values.functional import lens as read_lens
from wengert.values.specs import Spec, spec_of
from wengert.values.views import Lens, basic_key, covers, is_field, lens_of, memory_order, part_of, ranks_of


def read_region(recording: Recording, view: np.ndarray, owner: np.ndarray, slot: int, placed: Any = None) -> int:
    """Record a read of `view` from the variable of its owner, at `slot`; return the slot of the view.

    `placed` is a key of the view with the slots in it, if traced integers decide where the view lies.
    """
    if placed is not None:
        return append_call(recording, getitem, view, (slot, placed[1]), (recording.unread(owner), placed[0]))
    if view.dtype != owner.dtype:
        return _read_part(recording, view, owner, slot)
    lens = lens_of(view, owner)
    if covers(view, owner):
        return slot
    key = basic_key(lens, owner)
    kept = recording.unread(owner)
    if key is not None:
        if view.ndim == 0:
            key = (*key, ...) if type(key) is tuple else (key, ...)
        return append_call(recording, getitem, view, (slot, None), (kept, key))
    flat, kept = _flatten(recording, slot, owner, kept)
    if is_field(owner):
        return append_call(recording, getitem, view, (flat, None), (kept, ranks_of(lens, owner)))
    return append_call(recording, read_lens, view, (flat, None, None, None), (kept, *lens))


def read_at_key(recording: Recording, value: Any, whole: int | None, array: Any, key: Any) -> int:
    """Record a read of `value` at a key of the array at slot `whole`, of which the entry keeps `array`."""
    kept, entries = value, recording.entries
    if type(value) is np.ndarray and value.nbytes > WEAKLY_HELD_ABOVE and not recording.keeps_results:
        kept = weak(value)
    slot = len(entries)
    entries.append((ShortForms.item, kept, (whole, None), (array, key), None, STATE.site))
    SHADOW[id(value)] = slot
    return slot


def _read_part(recording: Recording, view: np.ndarray, owner: np.ndarray, slot: int) -> int:
    """Record a read through a view of real or imaginary parts. Errors: RefusedCallError for another dtype."""
    found = part_of(view, owner)
    if found is None:
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: this line reads an array of {view.dtype} whose memory was written through an array "
                f"of {owner.dtype}. Copy the part (.real.copy(), .astype(...)) before the write."
            )
        )
    part, region = found
    slot = read_region(recording, region, owner, slot)
    return append_call(recording, PARTS[part], view, (slot,), (recording.unread(region),))


PARTS = {"real": np.real, "imag": np.imag}


def _flatten(recording: Recording, slot: int | None, owner: np.ndarray, kept: Any) -> tuple[Any, Any]:
    """Record the owner as one row in the order of its memory, so that a lens is valid in any layout."""
    order = memory_order(owner)
    if order is not None:
        slot, kept = _record_reshape(recording, np.transpose, slot, kept, order, tuple(owner.shape[k] for k in order))
    return _record_reshape(recording, np.ravel, slot, kept, None, (owner.size,))


def _unflatten(recording: Recording, slot: int, owner: np.ndarray, kept: Any) -> int:
    """Record the owner restored from such a row."""
    order = memory_order(owner)
    shape = owner.shape if order is None else tuple(owner.shape[k] for k in order)
    slot, kept = _record_reshape(recording, np.reshape, slot, kept, shape, shape)
    if order is not None:
        back = tuple(order.index(k) for k in range(owner.ndim))
        slot, _ = _record_reshape(recording, np.transpose, slot, kept, back, owner.shape)
    return slot


def _record_reshape(
    recording: Recording, fn: Any, slot: Any, kept: Any, how: Any, shape: tuple[int, ...]
) -> tuple[Any, Any]:
    """Record a change of shape of a value that only the recording has; return its slot and value."""
    args = (kept,) if how is None else (kept, how)
    value = fn(*args) if recording.keep else Spec(shape, kept.dtype)
    if slot is None:
        return None, value
    primitive = ruled(fn)
    ins = (slot,) if how is None else (slot, None)
    bound = primitive.bound(len(ins), recording.mask(ins), ())
    return recording.append((bound, value, ins, args, None, STATE.site)), value


def append_call(recording: Recording, fn: Any, value: np.ndarray, ins: tuple[Any, ...], args: tuple[Any, ...]) -> int:
    """Record a call whose value is known already; return its slot."""
    primitive = ruled(fn)
    mask = recording.mask([None if type(slot) is tuple else slot for slot in ins])
    bound = primitive.bound(len(args), mask, ())
    if fn in _STORE_FUNCTIONS and not recording.keep:
        return recording.append((bound, None, ins, args, None, STATE.site))
    slot = recording.append((bound, held(value, recording.keeps_results), ins, args, None, STATE.site))
    SHADOW[id(value)] = slot
    return slot


_STORE_FUNCTIONS = (setitem, setpart)  # which return the written array itself


def store_region(
    recording: Recording,
    slot: int | None,
    owner: np.ndarray,
    lens: Lens,
    before: Any,
    value: Any,
    value_slot: int | None,
) -> int:
    """Record a store into an owner, and return its new slot.

    The owner was `before`, at `slot`; `value`, at `value_slot`, is stored at `lens`.
    """
    key = basic_key(lens, owner)
    slot = slot_before(recording, slot, before)
    if key is not None:
        return append_call(recording, setitem, owner, (slot, None, value_slot), (before, key, value))
    flat, row = _flatten(recording, slot, owner, before)
    fn: Any = setitem if is_field(owner) else setlens
    where: tuple[Any, ...] = (ranks_of(lens, owner),) if is_field(owner) else tuple(lens)
    ins = (flat, *[None] * len(where), value_slot)
    bound = ruled(fn).bound(len(ins), recording.mask(ins), ())
    after = fn(row, *where, value) if recording.keep else spec_of(row)
    flat = recording.append((bound, after, ins, (row, *where, value), None, STATE.site))
    return _unflatten(recording, flat, owner, after)


def slot_before(recording: Recording, slot: int | None, before: Any) -> int | None:
    """Return the slot of an owner before a store; on a tape, an untraced content becomes a constant."""
    return recording.constant(before) if slot is None and recording.keep else slot
