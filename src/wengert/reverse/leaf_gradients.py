"""Gradients as users get them: of each leaf of the arguments, from the cotangent of its slot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.recording.recording import Level
from wengert.reverse.accumulators import Bars
from wengert.values.cotangents import is_exclusive
from wengert.values.specs import is_complex
from wengert.values.views import owner_of

_DOUBLE = np.dtype(float)


class LeafGradients:
    """Makes the gradient that the user gets of a leaf: of the leaf's own type, in memory of its own, zero where it has
    no cotangent.

    `bars` holds the cotangents; `slots` gives the slot of a leaf by its id; `traced` says that an outer level records
    what is computed here.
    """

    def __init__(self, bars: Bars, slots: Mapping[int, int | None], traced: bool) -> None:
        self.bars, self.slots, self.traced = bars, slots, traced
        self.given: set[int] = set()

    def reached(self, here: Level) -> bool:
        """Whether a cotangent came to any input of the level `here`."""
        table = self.bars.table
        return any([table[slot] is not None for slot in here.inputs if self.traced or slot < len(table)])

    def leading(self, made: list[Any], start: int) -> list[Any]:
        """The gradients of the leaves `made`, whose slots run from `start` on; most cotangents go out as they are."""
        given, table, out = self.given, self.bars.table, []
        for slot, leaf in enumerate(made, start):
            bar = table[slot] if slot < len(table) else None
            if (
                type(bar) is np.ndarray is type(leaf)
                and bar.dtype is _DOUBLE is leaf.dtype
                and is_exclusive(table, slot, 1)
                and bar.shape == leaf.shape
            ):
                given.add(id(bar))
                out.append(bar)
            else:
                out.append(self.of(leaf, slot, bar, False))
        return out

    def __call__(self, leaf: Any) -> Any:
        slot = self.slots.get(id(leaf))
        table = self.bars.table
        bar = None if slot is None or (not self.traced and slot >= len(table)) else table[slot]
        alone = self.traced or (slot is not None and bar is not None and is_exclusive(table, slot, 1))
        return self.of(leaf, slot, bar, alone)

    def of(self, leaf: Any, slot: int | None, bar: Any, alone: bool) -> Any:
        """Return the gradient of `leaf` from its cotangent `bar`, copied where others may share its memory."""
        if bar is None:
            return np.zeros_like(leaf) if isinstance(leaf, np.ndarray) else type(leaf)(0)
        found = bar
        bar = self.bars.project(bar, leaf, True)
        if is_complex(leaf):
            bar = self.bars.call(np.conj, bar)
        if isinstance(bar, np.ndarray):
            owner = id(owner_of(bar))
            own = bar.base is None and bar.flags.writeable and (alone or bar is not found)
            if owner in self.given or not (slot in self.bars.owned or own):
                bar = self.bars.call(np.array, bar)
                owner = id(owner_of(bar))
            self.given.add(owner)
            return bar if type(leaf) is np.ndarray else self._masked(bar, leaf)
        if isinstance(leaf, np.ndarray):  # of no dimension, where arithmetic gives numbers
            return self.bars.call(np.array, bar)
        return bar if self.traced and type(bar) is type(leaf) else self.bars.call(type(leaf), bar)

    def _masked(self, bar: np.ndarray, leaf: np.ndarray) -> np.ndarray:
        """Mask the gradient of a masked array; return that of any other array unchanged."""
        if not isinstance(leaf, np.ma.MaskedArray):
            return bar
        return self.bars.call(np.ma.array, bar, mask=np.array(leaf.mask))
