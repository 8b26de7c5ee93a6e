"""Steps back through reads of a result's parts, and through stores into an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.reverse.accumulators import Cotangents, add_contributions
from wengert.values.functional import additem, getitem, setitem
from wengert.values.keys import may_repeat, names_once
from wengert.values.specs import FLOATS, Spec

_DOUBLE = np.dtype(float)


def field_step(cotangents: Cotangents, slot: int, args: Any, cotangent: Any) -> None:
    """Step back through `getfield`: add the cotangent to the container's, a dict, at the part's key."""
    parts = cotangents.table[slot]
    if parts is None:
        parts = cotangents.table[slot] = {}
    old = parts.get(args[1])
    parts[args[1]] = cotangent if old is None else cotangents.call(add_contributions, old, cotangent)


def number_step(cotangents: Cotangents, slot: int, entry: Any) -> bool:
    """Step back through a read, a store or an update in place of a part, if no other x̄ or ȳ changes by it.

    Else return False. This does what `general_step` does, in a tenth of the time.
    """
    op, _, ins, args, _, _ = entry
    table, owned, place, key = cotangents.table, cotangents.owned, ins[0], args[1]
    at = place if op.fn is getitem else slot
    is_owned = at in owned
    whole = table[at] if is_owned or op.fn is additem else None
    if type(whole) is not np.ndarray or whole.dtype is not _DOUBLE or (op.fn is getitem and op.scatter is None):
        return False
    part = whole[key]
    is_view = type(part) is np.ndarray and part.base is not None and (part.base is whole or part.base is whole.base)
    if op.fn is getitem:
        return _number_read(cotangents, slot, whole, key, part, is_view)
    value_slot, value = ins[2], args[2]
    if not (is_view or type(part) is np.float64) and (op.fn is setitem and not names_once(key)):
        return False
    if value_slot is not None:
        if type(part) is np.float64:
            if type(value) not in FLOATS:
                return False
            sum_of_others = table[value_slot]
            table[value_slot] = part if sum_of_others is None else sum_of_others + part
        elif type(value) is not Spec or not value.shape == part.shape != () or value.dtype is not _DOUBLE:
            return False
        elif table[value_slot] is None:
            table[value_slot] = part.copy() if is_view else part
            owned.add(value_slot)
        else:
            cotangents.add(value_slot, part)
    if op.fn is setitem:
        whole[key] = 0.0
    table[slot] = None
    owned.discard(slot)
    if place is not None:
        cotangents.add(place, whole, is_owned)
    return True


def _number_read(cotangents: Cotangents, slot: int, whole: np.ndarray, key: Any, part: Any, is_view: bool) -> bool:
    """Step back through a read of `part`, at a key of an array of which x̄ is `whole`, a buffer; see `number_step`."""
    y_bar = cotangents.table[slot]
    if type(part) is np.float64:
        if type(y_bar) not in FLOATS:
            return False
        whole[key] += y_bar
    elif type(y_bar) is not np.ndarray or y_bar.dtype is not _DOUBLE or y_bar.shape != part.shape:
        return False
    elif is_view:
        part += y_bar
    elif names_once(key):
        part += y_bar
        whole[key] = part
    else:
        return False
    cotangents.table[slot] = None
    cotangents.owned.discard(slot)
    return True


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
