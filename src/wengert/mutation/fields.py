"""Arrays of records: each field of numbers is a variable of its own, owned by the array that shows it of all records.

Between the numbers of a field lie those of the others. So a view of a field is read, and stored into, by its place
among the numbers of the field, whatever lies between them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording.recording import Recording, here

_MOST = 4096
"""How many numbers of one record a view may show beside each other."""


class _Records(NamedTuple):
    """An array of records: its fields by the places of their numbers in a record, and the bytes that these take."""

    owner: np.ndarray
    fields: dict[int, np.ndarray]
    taken: set[int]


class Fields:
    """The arrays of records into which traced values were written, and their fields of numbers."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, _Records] = {}

    def __bool__(self) -> bool:
        return bool(self._known)

    def enter(self, recording: Recording, owner: np.ndarray) -> None:
        """Take down the fields of an array of records."""
        if id(owner) in self._known:
            return
        if recording.context is not None:
            raise _refusal(recording, "under a context", "Copy the fields into arrays of their own")
        fields: dict[int, np.ndarray] = {}
        taken: list[int] = []
        for field in number_fields(owner):
            for place in _places(field, owner) or ():
                fields[place] = field
                taken.extend(range(place, place + field.itemsize))
        if len(taken) != len(set(taken)):
            raise _refusal(recording, "whose fields overlap", "Copy the fields into arrays of their own")
        self._known[id(owner)] = _Records(owner, fields, set(taken))

    def of(self, recording: Recording, view: np.ndarray, owner: np.ndarray) -> np.ndarray | None:
        """The field whose numbers a view of an owner shows; None where it shows none of them.

        Errors: RefusedCallError where it shows them as something else.
        """
        records = self._known.get(id(owner))
        if records is None or view.dtype.names is not None or view.size == 0:
            return None
        places = _places(view, owner)
        found = {id(field): field for field in map(records.fields.get, places or ()) if field is not None}
        if places is not None and len(found) == 1 and all([place in records.fields for place in places]):
            field = next(iter(found.values()))
            if field.dtype == view.dtype:
                return field
        shown = [byte for place in places or () for byte in range(place, place + view.itemsize)]
        if places is None or not records.taken.isdisjoint(shown):
            raise _refusal(
                recording, "that shows other numbers than one field's", "Take a copy of a field: a['x'].copy()"
            )
        return None

    def all_of(self, owner: np.ndarray) -> list[np.ndarray]:
        """The fields of numbers of an array of records that is known."""
        records = self._known.get(id(owner))
        return [] if records is None else [*{id(field): field for field in records.fields.values()}.values()]


def _refusal(recording: Recording, which: str, remedy: str) -> Exception:
    return recording.refuse(
        RefusedCallError(f"{here()}: a view {which} is used of an array of records with traced values. {remedy}.")
    )


def number_fields(array: np.ndarray) -> Iterator[np.ndarray]:
    """The views that show each field of numbers of an array of records, also of records within them."""
    array = np.ndarray.view(array, np.ndarray)
    for name in array.dtype.names or ():
        field = array[name]
        if field.dtype.names is not None:
            yield from number_fields(field)
        elif field.dtype.kind in "fciub":
            yield field


def _places(view: np.ndarray, owner: np.ndarray) -> list[int] | None:
    """Where in a record, in bytes from its start, the numbers of a view lie; None where they are too many."""
    size = owner.itemsize
    start = view.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    steps = [(n, stride) for n, stride in zip(view.shape, view.strides, strict=True) if n > 1 and stride % size]
    if math.prod([n for n, _ in steps]) > _MOST:
        return None
    places: Any = np.array([start])
    for n, stride in steps:
        places = np.add.outer(places, np.arange(n) * stride)
    return sorted({int(place) for place in np.ravel(places) % size})


def is_record(a: Any) -> bool:
    """Whether `a` is an array of records, or one record."""
    return issubclass(type(a), (np.ndarray, np.void)) and a.dtype.names is not None


def is_traced_record(recording: Recording, a: Any) -> bool:
    """Whether `a` is an array of records, or one record, of which a field holds traced values."""
    return recording.memory.holds_objects and is_record(a) and recording.memory.is_traced(np.asarray(a))
