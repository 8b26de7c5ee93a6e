"""Steps back through reads of a result's parts, and through stores into an array."""

from __future__ import annotations

from typing import Any

from wengert.reverse.accumulators import Bars, plus
from wengert.values.keys import may_repeat


def field_step(bars: Bars, slot: int, args: Any, bar: Any) -> None:
    """A step back through `getfield`: the cotangent goes into the place of the part."""
    parts = bars.table[slot]
    if parts is None:
        parts = bars.table[slot] = {}
    old = parts.get(args[1])
    parts[args[1]] = bar if old is None else bars.call(plus, old, bar)


def store_step(bars: Bars, y_bar: Any, owned: bool, ins: Any, args: Any) -> None:
    """A step back through `x[key] = value`: the region is read for the value, and zeroed for x."""
    slot, _, value_slot = ins
    key, value = args[1], args[2]
    if value_slot is not None:
        if may_repeat(key):
            y_bar, owned = y_bar if owned else bars.copy(y_bar), True
        bars.add(value_slot, bars.project(bars.read_last(y_bar, key), value, True))
    if slot is not None:
        bars.add(slot, bars.clear(y_bar, owned, key), True)
