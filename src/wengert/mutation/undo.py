"""The undo log: what memory held before each write, which is put back as the reverse pass walks.

A record is `[threshold, array, key, saved]`: entries below the threshold saw the memory as it was saved.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from wengert.recording.shadow import WEAKLY_HELD_ABOVE
from wengert.values.undo_stack import Owed

Undo = list[Any]


class Everything(dict[int, np.ndarray]):
    """Stands for the owners of kept memory where each write is to be logged, whatever it writes into."""

    def __contains__(self, key: object) -> bool:
        return True

    def __setitem__(self, key: int, owner: np.ndarray) -> None:
        pass


def undo(record: Undo, owed: Owed) -> None:
    """Put back what a record saved; `owed` gets what brings the present content back."""
    _, array, key, saved = record
    owed.append(partial(array.__setitem__, key, np.array(array[key])))
    array[key] = saved


class Finals:
    """The contents to restore after an undo log has been used up: each region once, as its latest record finds it."""

    __slots__ = ("_owed", "_regions")

    def __init__(self, owed: Owed) -> None:
        self._owed = owed
        self._regions: set[Any] = set()

    def undo(self, record: Undo) -> None:
        """Put back what a record saved; the record is free then, unless it holds the last content of its region."""
        region = _region(record)
        if region in self._regions:
            record[1][record[2]] = record[3]
            return
        undo(record, self._owed)
        if region is not None:
            self._regions.add(region)


def _region(record: Undo) -> Any:
    """The place in memory of a large record, if a view shows it; None for others."""
    _, array, key, saved = record
    if saved.nbytes <= WEAKLY_HELD_ABOVE:
        return None
    part = array[key]
    if part.base is None:
        return None
    return part.__array_interface__["data"][0], part.shape, part.strides, part.dtype
