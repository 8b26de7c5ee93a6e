"""The undo log: what written memory held before each write, put back as the reverse pass walks.

A record is `[threshold, array, key, saved]`: entries below the threshold saw the memory as it was saved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.recording.shadow import LARGE

Undo = list[Any]


def swap(record: Undo) -> None:
    """Exchange what a record saved with what its memory holds."""
    _, array, key, saved = record
    now = np.array(array[key])
    array[key] = saved
    record[3] = now


class Everything(dict[int, np.ndarray]):
    """Stands for the owners of kept memory where each write is to be logged."""

    def __contains__(self, key: object) -> bool:
        return True

    def __setitem__(self, key: int, owner: np.ndarray) -> None:
        pass


class Finals:
    """What memory held before an undo log was used up: each region once, in its latest record."""

    __slots__ = ("_records", "_regions")

    def __init__(self) -> None:
        self._records: list[Undo] = []
        self._regions: set[Any] = set()

    def undo(self, record: Undo) -> None:
        """Put back what a record saved; the record is free unless it now holds what no later one does."""
        region = _region(record)
        if region in self._regions:
            record[1][record[2]] = record[3]
            return
        swap(record)
        self._records.append(record)
        if region is not None:
            self._regions.add(region)

    def restore(self) -> None:
        """Bring all memory back to its last content; may be repeated where it was interrupted."""
        while self._records:
            _, array, key, saved = self._records[-1]
            array[key] = saved
            self._records.pop()


def _region(record: Undo) -> Any:
    """The place in memory of a large record, where it has one that a view shows; the records keep it taken."""
    _, array, key, saved = record
    if saved.nbytes <= LARGE:
        return None
    part = array[key]
    if part.base is None:
        return None
    return part.__array_interface__["data"][0], part.shape, part.strides, part.dtype
