"""Gradients as the user receives them: one for each leaf of the arguments, from the cotangent of its slot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.recording.recording import Level
from wengert.reverse.accumulators import Cotangents
from wengert.values.cotangents import is_exclusive
from wengert.values.specs import is_complex
from wengert.values.views import owner_of

_FLOAT64 = np.dtype(float)


class LeafGradients:
    """A function from a leaf to its gradient: of the leaf's type, in memory of its own, zero without a cotangent.

    `cotangents` are by slot; `slots` has the slot of a leaf by its id. `traced` says that an outer level records the
    computations made here.
    """

    def __init__(self, cotangents: Cotangents, slots: Mapping[int, int | None], traced: bool) -> None:
        self.cotangents, self.slots, self.traced = cotangents, slots, traced
        self.returned: set[int] = set()  # the owners of gradients

    def is_reached(self, here: Level) -> bool:
        """Whether any input of the level `here` has a cotangent."""
        table = self.cotangents.table
        return any([table[slot] is not None for slot in here.inputs if self.traced or slot < len(table)])

    def __call__(self, leaf: Any) -> Any:
        slot = self.slots.get(id(leaf))
        table = self.cotangents.table
        cotangent = None if slot is None or (not self.traced and slot >= len(table)) else table[slot]
        exclusive = self.traced or (slot is not None and cotangent is not None and is_exclusive(table, slot, 1))
        return self.gradient_of(leaf, slot, cotangent, exclusive)

    def gradient_of(self, leaf: Any, slot: int | None, cotangent: Any, exclusive: bool) -> Any:
        """Return the gradient of `leaf` from its cotangent, copied if other code may share its memory."""
        if cotangent is None:
            return np.zeros_like(leaf) if isinstance(leaf, np.ndarray) else type(leaf)(0)
        original = cotangent
        cotangent = self.cotangents.project(cotangent, leaf, True)
        if is_complex(leaf):
            cotangent = self.cotangents.call(np.conj, cotangent)
        if isinstance(cotangent, np.ndarray):
            owner = id(owner_of(cotangent))
            own = cotangent.base is None and cotangent.flags.writeable and (exclusive or cotangent is not original)
            if owner in self.returned or not (slot in self.cotangents.owned or own):
                cotangent = self.cotangents.call(np.array, cotangent)
                owner = id(owner_of(cotangent))
            self.returned.add(owner)
            return cotangent if type(leaf) is np.ndarray else self._masked(cotangent, leaf)
        if isinstance(leaf, np.ndarray):  # zero-dimensional: arithmetic returns scalars
            return self.cotangents.call(np.array, cotangent)
        return (
            cotangent if self.traced and type(cotangent) is type(leaf) else self.cotangents.call(type(leaf), cotangent)
        )

    def _masked(self, cotangent: np.ndarray, leaf: np.ndarray) -> np.ndarray:
        """Mask the gradient of a masked array; return that of any other array unchanged."""
        if not isinstance(leaf, np.ma.MaskedArray):
            return cotangent
        return self.cotangents.call(np.ma.array, cotangent, mask=np.array(leaf.mask))


def leading_gradients(cotangents: Cotangents, leaves: list[Any], start: int) -> list[Any]:
    """List the gradients of `leaves`, whose slots begin at `start`; most cotangents are returned as is."""
    table, out, others = cotangents.table, list[Any](), None
    for slot, leaf in enumerate(leaves, start):
        cotangent = table[slot] if slot < len(table) else None
        if (
            type(cotangent) is np.ndarray is type(leaf)
            and cotangent.dtype is _FLOAT64 is leaf.dtype
            and is_exclusive(table, slot, 1)
            and cotangent.shape == leaf.shape
        ):
            out.append(cotangent)
        else:
            others = others or LeafGradients(cotangents, {}, False)
            out.append(others.gradient_of(leaf, slot, cotangent, False))
    return out
