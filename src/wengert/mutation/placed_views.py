"""Views whose place in memory a traced integer decides, as `a[k]` and `np.diagonal(a, k)`.

As a value such a view is the result of its call, which a tape repeats with another integer. As memory it is read and
written where it lies now: by its key, if it is an item of an array that owns its memory; else the integer is guarded.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from wengert.recording.decisions import exact
from wengert.recording.recording import Recording
from wengert.values.functional import as_index
from wengert.values.named_tuples import NamedTuple
from wengert.values.views import owner_of


class PlacedView(NamedTuple):
    """The bounds of a view in memory, the integers, and its key in the owner with the slots in it, if it has one."""

    view: weakref.ref[np.ndarray]
    low: int
    high: int
    integers: list[Any]
    key: Any


class _InOwner:
    """The views of the memory of one array: all of them, and by id the last one with it."""

    def __init__(self, owner: np.ndarray) -> None:
        self.owner = weakref.ref(owner)
        self.all: list[PlacedView] = []
        self.by_id: dict[int, PlacedView] = {}


class PlacedViews:
    """The views of one recording whose integers are not guarded yet, by the ids of the arrays that own their memory."""

    __slots__ = ("_views",)

    def __init__(self) -> None:
        self._views: dict[int, _InOwner] = {}

    def note(self, view: np.ndarray, owner: np.ndarray, integers: list[Any], key: Any) -> None:
        """Note a view that a call with these traced integers returned."""
        if not self.are_in(owner):
            self._views[id(owner)] = _InOwner(owner)
        known, placed = self._views[id(owner)], PlacedView(weakref.ref(view), *byte_bounds(view), integers, key)
        known.all.append(placed)
        known.by_id[id(view)] = placed

    def are_in(self, owner: np.ndarray) -> bool:
        """Whether there are such views of the memory of this array."""
        return bool(self._views) and id(owner) in self._views and self._views[id(owner)].owner() is owner

    def stays(self, recording: Recording, view: np.ndarray, array: np.ndarray, key: Any) -> None:
        """Guard that `array[key]` lies where this view does; `key` has the slots in it, too."""
        if key[1] is None and not self._views:
            return
        mine = self.use(recording, view)
        if mine is None or array is not owner_of(view) or not _are_same(recording, mine[1], key[1]):
            exact(recording, [[part for each in (mine, key) if each for part in _parts(each[0])]])

    def use(self, recording: Recording, array: np.ndarray) -> Any:
        """Return the key of an array that is about to be read or written as memory, and the slots in it.

        If it has none, return None, and guard the integers that decide where the array lies. Views of a view lie within
        it, so these are the integers of all views that enclose the array.
        """
        known = self._views.get(id(owner_of(array))) if self._views else None
        if known is None:
            return None
        mine = known.by_id.get(id(array))
        if mine is not None and mine.key is not None and mine.view() is array:
            return mine.key
        low, high = byte_bounds(array)
        enclosing = [each for each in known.all if each.low <= low and high <= each.high]
        if enclosing:
            known.all = [each for each in known.all if not (each.low <= low and high <= each.high)]
        for each in enclosing:
            exact(recording, each.integers)
        return None


def _parts(key: Any) -> list[Any]:
    return [*key] if type(key) is tuple else [key]


def _are_same(recording: Recording, a: Any, b: Any) -> bool:
    """Whether the slots in two keys hold the same integers: equal slots, or those of one counter as an index."""
    if type(a) is tuple and type(b) is tuple:
        return len(a) == len(b) and all([_are_same(recording, x, y) for x, y in zip(a, b, strict=True)])
    if a == b or type(a) is not int or type(b) is not int:
        return bool(a == b)
    one, other = recording.entries[a], recording.entries[b]
    return bool(one and other and one[0].fn is other[0].fn is as_index and one[2] == other[2])
