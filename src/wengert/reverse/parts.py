"""Steps back through reads of a result's parts, and through stores into an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.recording.primitives import ShortForms
from wengert.reverse.accumulators import Cotangents, add_contributions
from wengert.reverse.windows import part_of_view
from wengert.values.keys import may_repeat, names_once
from wengert.values.specs import COMPLEX, FLOATS, Spec

_DOUBLE, _ZERO, _array = np.dtype(float), np.zeros(()), np.ndarray
_SIMPLE_DTYPES = (_DOUBLE, np.dtype(complex), np.dtype(np.float32))
_LIKE: dict[type, frozenset[type]] = {
    np.float64: FLOATS,
    np.complex128: COMPLEX,
    np.float32: frozenset((np.float32,)),
}
"""The types of the numbers that are stored and read where NumPy returns a number of the first type."""


def field_step(cotangents: Cotangents, slot: int, args: Any, cotangent: Any) -> None:
    """Step back through `getfield`: add the cotangent to the container's, a dict, at the part's key."""
    parts = cotangents.table[slot]
    if parts is None:
        parts = cotangents.table[slot] = {}
    old = parts.get(args[1])
    parts[args[1]] = cotangent if old is None else cotangents.call(add_contributions, old, cotangent)


def number_store(cotangents: Cotangents, slot: int, entry: Any) -> bool:
    """Step back through a store into a part, if no other x̄ or ȳ changes by it; else return False.

    This does what `general_step` does, in a tenth of the time.
    """
    (place, _, value_slot), (_, key, value) = entry[2], entry[3]
    table, whole = cotangents.table, cotangents.table[slot]
    if type(whole) is not _array or whole.dtype not in _SIMPLE_DTYPES or slot not in cotangents.owned:
        return False
    part = whole[key]
    is_view = (base := part.base) is whole or (base is not None and base is whole.base)
    if type(part) is _array:
        if not is_view and not names_once(key):
            return False
        if value_slot is not None and not _add_part(cotangents, value_slot, value, part):
            return False
    elif value_slot is not None and not _add_number(table, value_slot, value, part):
        return False
    if is_view:
        part.fill(0.0)  # in half the time of a store
    else:
        whole[key] = 0.0
    _hand_on(cotangents, slot, place, whole, True)
    return True


def number_sum(cotangents: Cotangents, slot: int, entry: Any) -> bool:
    """Step back through an update `x[key] += value` in place as `number_store` does through a store."""
    (place, _, value_slot), (_, key, value) = entry[2], entry[3]
    table, whole = cotangents.table, cotangents.table[slot]
    if type(whole) is not _array or whole.dtype not in _SIMPLE_DTYPES or entry[1] is not None:
        return False
    if value_slot is not None:
        part = whole[key]
        if type(part) is _array:
            if not _add_part(cotangents, value_slot, value, part):
                return False
        elif not _add_number(table, value_slot, value, part):
            return False
    _hand_on(cotangents, slot, place, whole, slot in cotangents.owned)
    return True


def _add_number(table: Any, slot: int, value: Any, part: Any) -> bool:
    """Add a number of a cotangent to the cotangent of a `value` like it; return False for others."""
    if type(value) not in _LIKE[type(part)]:
        return False
    sum_of_others = table[slot]
    table[slot] = part if sum_of_others is None else sum_of_others + part
    return True


def _add_part(cotangents: Cotangents, slot: int, value: Any, part: np.ndarray) -> bool:
    """Add a part of a cotangent, a view or a copy, to the cotangent of a `value` like it; return False for others."""
    if type(value) is not Spec or value.dtype is not part.dtype or value.shape != part.shape or not value.ndim:
        return False
    if cotangents.table[slot] is None:
        cotangents.table[slot] = part if part.base is None else part.copy()
        cotangents.owned.add(slot)
    else:
        cotangents.add(slot, part)
    return True


def _hand_on(cotangents: Cotangents, slot: int, place: int | None, whole: np.ndarray, is_owned: bool) -> None:
    """Move the cotangent `whole` from a slot to that of the array before a write, None if that is not traced."""
    table = cotangents.table
    table[slot] = None
    if place is None:
        return
    if table[place] is not None:
        cotangents.add(place, whole, is_owned)
        return
    table[place] = whole
    if is_owned:
        cotangents.owned.add(place)


def number_update(cotangents: Cotangents, slot: int, entry: Any, simple_step: Callable[..., None]) -> bool:
    """Step back through an update of a part as `number_store` does; `simple_step` does so through the call in it."""
    op, y, ins, args, _, site = entry
    table, owned, key, bound = cotangents.table, cotangents.owned, args[1], op.bound
    whole = table[slot]
    if type(whole) is not _array or whole.dtype is not _DOUBLE or slot not in owned:
        return False
    part = whole[key]
    is_view = (base := part.base) is whole or (base is not None and base is whole.base)
    table[slot] = None
    owned.discard(slot)
    call = bound, y, (slot, ins[3]), (args[2], args[3]), None, site
    (bound.array_step or simple_step)(cotangents, table, part if base is None else part.copy(), call)
    part_bar = table[slot]  # its own slot stands for that of the part
    if part_bar is None:
        whole[key] = 0.0
    elif is_view:
        np.add(part_bar, _ZERO, part)  # as if added to zeros
    else:
        whole[key] = part_bar + _ZERO
    _hand_on(cotangents, slot, ins[0], whole, True)
    return True


def number_read(cotangents: Cotangents, slot: int, entry: Any) -> bool:
    """Step back through a read of a part, as `number_store` does through a store."""
    op, _, (place, _), (array, key), _, _ = entry
    if op.scatter is None:  # an array of constants is read
        return False
    table = cotangents.table
    y_bar, whole = table[slot], table[place] if place in cotangents.owned else _part_at(cotangents, place)
    if whole is None and type(array) is Spec and array.ndim:
        whole = cotangents.buffer(place, array)
    if type(whole) is not _array or whole.dtype not in _SIMPLE_DTYPES:
        return False
    part = whole[key]
    if type(part) is not _array:
        if type(y_bar) not in _LIKE[type(part)]:
            return False
        whole[key] = part + y_bar
    elif type(y_bar) is not _array or y_bar.dtype is not part.dtype or y_bar.shape != part.shape:
        return False
    elif (base := part.base) is whole or (base is not None and base is whole.base):
        part += y_bar
    elif names_once(key):
        part += y_bar
        whole[key] = part
    else:
        return False
    table[slot] = None
    return True


def _part_at(cotangents: Cotangents, slot: int) -> np.ndarray | None:
    """Do `part_of_view`, at once if the view at `slot` is an item of an array whose cotangent is a buffer."""
    op, _, ins, args, _, _ = cotangents.entries[slot]
    root = ins[0] if op is ShortForms.item and cotangents.table[slot] is None else None
    if root in cotangents.owned:
        buffer = cotangents.table[root]
        part = buffer[args[1]] if type(buffer) is np.ndarray and buffer.shape == args[0].shape else None
        if type(part) is np.ndarray and part.base is not None and (part.base is buffer or part.base is buffer.base):
            return part
    return part_of_view(cotangents, slot)


def store_step(cotangents: Cotangents, y_bar: Any, owned: bool, ins: Any, args: Any) -> None:
    """Step back through `x[key] = value`: value's cotangent is ȳ[key]; x's is ȳ with zeros there."""
    slot, _, value_slot = ins
    key, value = args[1], args[2]
    if value_slot is not None:
        if may_repeat(key):
            y_bar, owned = y_bar if owned else cotangents.copy(y_bar), True
        cotangents.add(value_slot, cotangents.project(cotangents.read_last(y_bar, key), value, True))
    if slot is not None:
        cotangents.add(slot, cotangents.clear(y_bar, owned, key), True)


def sum_step(cotangents: Cotangents, y_bar: Any, owned: bool, ins: Any, args: Any) -> None:
    """Step back through `x[key] += value`: value's cotangent is ȳ[key]; x's is ȳ itself."""
    slot, _, value_slot = ins
    if value_slot is not None:
        cotangents.add(value_slot, cotangents.project(cotangents.read(y_bar, args[1]), args[2], True))
    if slot is not None:
        x_bar = cotangents.project(y_bar, args[0], True)
        cotangents.add(slot, x_bar, owned and x_bar is y_bar)
