"""The undo log: the content of memory before each write, which the reverse pass restores as it walks back.

A record is `[threshold, array, key, saved]`: entries below the threshold saw the saved content.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from wengert.recording.shadow import WEAKLY_HELD_ABOVE
from wengert.values.undo_stack import Owed
from wengert.values.views import owner_of

UndoRecord = list[Any]


class EveryOwner(dict[int, np.ndarray]):
    """A table of captured owners that contains every owner: each write is logged."""

    def __contains__(self, key: object) -> bool:
        return True

    def __setitem__(self, key: int, owner: np.ndarray) -> None:
        pass


def saved_region(threshold: int, region: np.ndarray) -> UndoRecord:
    """Return the record of a write into a whole region, which is about to be done."""
    return [threshold, region.view(), ..., region.copy()]


def undo_write(record: UndoRecord, owed: Owed) -> None:
    """Restore the content that a record saved; push to `owed` the write that brings the present content back."""
    _, array, key, saved = record
    owed.append(partial(overwrite, array, key, np.array(array[key])))
    overwrite(array, key, saved)


def overwrite(array: np.ndarray, key: Any, content: np.ndarray) -> None:
    """Write into an array, also if it has been made read-only since it was written; it stays so."""
    locked = [] if array.flags.writeable else [a for a in (owner_of(array), array) if not a.flags.writeable]
    for each in locked:
        each.flags.writeable = True
    try:
        array[key] = content
    finally:
        for each in locked:
            each.flags.writeable = False


class FinalContents:
    """The final contents to restore after an undo log is used up: each region once, as its last write left it."""

    __slots__ = ("_owed", "_regions")

    def __init__(self, owed: Owed) -> None:
        self._owed = owed
        self._regions: set[Any] = set()

    def undo(self, record: UndoRecord) -> None:
        """Restore the content that a record saved; save the final content first, if the region has not had it yet."""
        region = _large_region(record)
        if region in self._regions:
            overwrite(*record[1:])
            return
        undo_write(record, self._owed)
        if region is not None:
            self._regions.add(region)


def _large_region(record: UndoRecord) -> Any:
    """Return the address and layout of a large record's region, if a view shows it; None for others."""
    _, array, key, saved = record
    if saved.nbytes <= WEAKLY_HELD_ABOVE:
        return None
    part = array[key]
    if part.base is None:
        return None
    return part.__array_interface__["data"][0], part.shape, part.strides, part.dtype
