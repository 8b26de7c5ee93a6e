"""Structured arrays: each numeric field is a variable of its own, owned by the array of that field of all records.

In memory the numbers of other fields lie between those of one field. So reads of a view, and stores into it, use its
index among the numbers of its field.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording.recording import Recording, users_line
from wengert.values.named_tuples import NamedTuple

_MOST_PER_RECORD = 4096
"""The most numbers of one record that a view may show."""


class _RecordArray(NamedTuple):
    """A structured array: its fields by the byte offsets of their numbers in a record, and all bytes of fields."""

    owner: np.ndarray
    fields: dict[int, np.ndarray]
    taken: set[int]


class Fields(dict[int, _RecordArray]):
    """The structured arrays into which traced values were written, by id, and their numeric fields."""

    __slots__ = ()

    def enter(self, recording: Recording, owner: np.ndarray) -> None:
        """Register the fields of a structured array. Errors: RefusedCallError if fields overlap, or in a context."""
        if id(owner) in self:
            return
        if recording.context is not None:
            raise _refused_view(recording, "under a context", "Copy the fields into separate arrays")
        fields: dict[int, np.ndarray] = {}
        taken: list[int] = []
        for field in number_fields(owner):
            for place in _byte_offsets(field, owner) or ():
                fields[place] = field
                taken.extend(range(place, place + field.itemsize))
        if len(taken) != len(set(taken)):
            raise _refused_view(recording, "whose fields overlap", "Copy the fields into separate arrays")
        self[id(owner)] = _RecordArray(owner, fields, set(taken))

    def of(self, recording: Recording, view: np.ndarray, owner: np.ndarray) -> np.ndarray | None:
        """Return the field whose numbers a view of an owner shows; None if it shows no field.

        Errors: RefusedCallError if it shows several fields, parts of one, or another dtype.
        """
        records = self.get(id(owner))
        if records is None or view.dtype.names is not None or view.size == 0:
            return None
        places = _byte_offsets(view, owner)
        found = {id(field): field for field in map(records.fields.get, places or ()) if field is not None}
        if places is not None and len(found) == 1 and all([place in records.fields for place in places]):
            field = next(iter(found.values()))
            if field.dtype == view.dtype:
                return field
        shown = [byte for place in places or () for byte in range(place, place + view.itemsize)]
        if places is None or not records.taken.isdisjoint(shown):
            raise _refused_view(
                recording, "and shows more than one field, or another dtype", "Copy a field: a['x'].copy()"
            )
        return None

    def all_of(self, owner: np.ndarray) -> list[np.ndarray]:
        """Return the numeric fields of a registered structured array."""
        records = self.get(id(owner))
        return [] if records is None else [*{id(field): field for field in records.fields.values()}.values()]


def _refused_view(recording: Recording, which: str, remedy: str) -> Exception:
    return recording.refuse(
        RefusedCallError(
            f"{users_line()}: this line uses a view of a structured array with traced values, {which}. {remedy}."
        )
    )


def number_fields(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield a view of each numeric field of a structured array, also of nested records."""
    array = np.ndarray.view(array, np.ndarray)
    for name in array.dtype.names or ():
        field = array[name]
        if field.dtype.names is not None:
            yield from number_fields(field)
        elif field.dtype.kind in "fciub":
            yield field


def _byte_offsets(view: np.ndarray, owner: np.ndarray) -> list[int] | None:
    """Return the offsets in a record, in bytes, of the numbers of a view; None if they are too many."""
    size = owner.itemsize
    start = view.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    steps = [(n, stride) for n, stride in zip(view.shape, view.strides, strict=True) if n > 1 and stride % size]
    if math.prod([n for n, _ in steps]) > _MOST_PER_RECORD:
        return None
    places: Any = np.array([start])
    for n, stride in steps:
        places = np.add.outer(places, np.arange(n) * stride)
    return sorted({int(place) for place in np.ravel(places) % size})


def is_record(a: Any) -> bool:
    """Whether `a` is a structured array, or one record."""
    return issubclass(type(a), (np.ndarray, np.void)) and a.dtype.names is not None


def is_traced_record(recording: Recording, a: Any) -> bool:
    """Whether `a` is a structured array, or one record, with traced values in a field."""
    return recording.memory.holds_objects and is_record(a) and recording.memory.is_traced(np.asarray(a))
