"""Traced arrays whose owner is not traced: views of earlier memory that are arguments or results of calls."""

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
    """The traced arrays in the memory of one untraced owner: (lens, slot, level); None is the outermost level."""

    def __init__(self) -> None:
        self.levels: list[Level | None] = []  # of all arrays so far, also of those that others replaced
        self.shared: list[Level | None] = []  # those with two arguments in this memory
        self.has_others = False  # whether there are arrays of another dtype than the owner's
        self.waiting: list[tuple[Any, int, Level | None]] = []  # not yet in the version of the owner

    def locate(self, owner: np.ndarray) -> None:
        """Replace arrays that are arguments by their lenses."""
        self[:] = [
            (lens_of(place, owner) if isinstance(place, np.ndarray) else place, slot, level)
            for place, slot, level in self
        ]

    def has_level(self, level: Level | None) -> bool:
        """Whether an array of this level was added."""
        return any([other is level for other in self.levels])

    def begin(self, array: np.ndarray, owner: np.ndarray, slot: int, level: Level | None, argument: bool) -> None:
        """Add the first array."""
        place = array if argument else lens_of(array, owner)  # an argument stays alive: its lens can wait
        self.has_others = array.dtype != owner.dtype
        self._note(place, slot, level, argument)

    def add(
        self, array: np.ndarray, owner: np.ndarray, slot: int, level: Level | None, argument: bool, apart: bool
    ) -> None:
        """Add another array; `apart`: it is not a part of one present."""
        if array.dtype != owner.dtype:
            self.has_others |= argument
            if not argument:  # real or imaginary parts of an array present
                return
        lens = lens_of(array, owner)
        self.locate(owner)
        if argument and self.has_level(level):
            self.shared.append(level)
        elif not (argument or apart) and any(place[0] != lens for place in self):
            return
        self[:] = [place for place in self if place[0] != lens or place[2] is level]
        self._note(lens, slot, level, argument)

    def _note(self, place: Any, slot: int, level: Level | None, argument: bool) -> None:
        self.append((place, slot, level))
        self.levels.append(level)
        self.waiting.append((place, slot, level if argument else None))

    def put_into(self, recording: Recording, owner: np.ndarray, slot: int | None) -> int | None:
        """Record stores of the waiting arrays into their owner, which was at `slot`; return its new slot."""
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


def file_array(
    roots: Roots, array: np.ndarray, slot: int, level: Level | None, argument: bool, apart: bool = False
) -> None:
    """Add an array to the Root of its memory; make that if it is the first."""
    owner = owner_of(array)
    found = root_of(roots, owner)
    if found is None:
        ref = weakref.ref(owner, forgetting(roots, id(owner)))
        root = Root()
        root.begin(array, owner, slot, level, argument)
        roots[id(owner)] = ref, root
    else:
        found.add(array, owner, slot, level, argument, apart)


def root_of(roots: Roots, owner: np.ndarray) -> Root | None:
    """Return the Root of the memory of an owner; None where there is none."""
    found = roots.get(id(owner))
    return None if found is None or found[0]() is not owner else found[1]


def is_open(recording: Recording, level: Level | None) -> bool:
    """Whether a level has not ended; the outermost is open as long as anything is recorded."""
    return level is None or level in recording.levels
