"""Steps back through reads of a result's parts, and through stores into an array."""

from __future__ import annotations

from typing import Any

from wengert.reverse.accumulators import Cotangents, add_contributions
from wengert.values.keys import may_repeat


def field_step(cotangents: Cotangents, slot: int, args: Any, cotangent: Any) -> None:
    """Step back through `getfield`: add the cotangent to the container's, a dict, at the part's key."""
    parts = cotangents.table[slot]
    if parts is None:
        parts = cotangents.table[slot] = {}
    old = parts.get(args[1])
    parts[args[1]] = cotangent if old is None else cotangents.call(add_contributions, old, cotangent)


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
