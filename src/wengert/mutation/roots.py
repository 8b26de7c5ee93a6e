"""Traced arrays whose owner is not traced: views, of memory that was there, that are arguments or that a call gave."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from wengert.mutation.regions import store_region
from wengert.recording.recording import Level, Recording
from wengert.recording.shadow import forgetting
from wengert.values.specs import Spec, spec_of
from wengert.values.views import lens_of, owner_of, view_of


class Root(list[tuple[Any, int, Level | None]]):
    """Those in one owner's memory: (lens, slot, level); the level is None for the outermost."""

    def __init__(self) -> None:
        self.shared: list[Level | None] = []  # those of which two arguments lie here
        self.has_others = False  # arrays of another dtype than the owner's
        self.waiting: list[tuple[Any, int, Level | None]] = []  # not yet in the version of the owner

    def locate(self, owner: np.ndarray) -> None:
        """Find the lenses of those that were noted as arrays."""
        self[:] = [
            (lens_of(place, owner) if isinstance(place, np.ndarray) else place, slot, level)
            for place, slot, level in self
        ]

    def begin(self, array: np.ndarray, owner: np.ndarray, slot: int, level: Level | None, argument: bool) -> None:
        """Note the first array."""
        place = array if argument else lens_of(array, owner)  # an argument stays alive: its lens can wait
        self.has_others = array.dtype != owner.dtype
        self._note(place, slot, level, argument)

    def add(
        self, array: np.ndarray, owner: np.ndarray, slot: int, level: Level | None, argument: bool, apart: bool
    ) -> None:
        """Note another one; `apart`: it is no part of what is noted."""
        if array.dtype != owner.dtype:
            self.has_others |= argument
            if not argument:  # the parts of what is noted
                return
        lens = lens_of(array, owner)
        self.locate(owner)
        if argument and any(other is level for _, _, other in self):
            self.shared.append(level)
        elif not (argument or apart) and any(place[0] != lens for place in self):
            return
        self[:] = [place for place in self if place[0] != lens or place[2] is level]
        self._note(lens, slot, level, argument)

    def _note(self, place: Any, slot: int, level: Level | None, argument: bool) -> None:
        self.append((place, slot, level))
        self.waiting.append((place, slot, level if argument else None))

    def put_into(self, recording: Recording, owner: np.ndarray, slot: int | None) -> int | None:
        """The variable of an owner that was at `slot`, with what stands for its regions since: arguments of levels."""
        waiting, self.waiting = self.waiting, []
        for place, root, level in waiting:
            if not is_open(recording, level):
                continue
            lens = lens_of(place, owner) if isinstance(place, np.ndarray) else place
            if lens == lens_of(owner, owner):
                slot = root
                continue
            before = owner.copy(order="K") if recording.keep else spec_of(owner)
            value = view_of(owner, owner, lens) if recording.keep else Spec(lens.shape, owner.dtype)
            slot = store_region(recording, slot, owner, lens, before, value, root)
        return slot


Roots = dict[int, tuple[weakref.ref[np.ndarray], Root]]  # by the owner's id


def file(roots: Roots, array: np.ndarray, slot: int, level: Level | None, argument: bool, apart: bool = False) -> None:
    """Note an array with those that lie in the same memory."""
    owner = owner_of(array)
    found = root_of(roots, owner)
    if found is None:
        ref = weakref.ref(owner, forgetting(roots, id(owner)))
        made = Root()
        made.begin(array, owner, slot, level, argument)
        roots[id(owner)] = ref, made
    else:
        found.add(array, owner, slot, level, argument, apart)


def root_of(roots: Roots, owner: np.ndarray) -> Root | None:
    """Return the Root of the memory of an owner; None where there is none."""
    found = roots.get(id(owner))
    return None if found is None or found[0]() is not owner else found[1]


def is_open(recording: Recording, level: Level | None) -> bool:
    """Whether a level goes on; the outermost does as long as anything is recorded."""
    return level is None or level in recording.levels
