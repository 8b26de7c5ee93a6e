"""Identity: guards that two accessors reach one object, or that they reach two, where the code can tell.

A mutable object is one object in the trace, whichever accessors reach it; so is a nan, since containers search by
identity. Guards check that each further accessor reaches it, too. Guards check that containers and integer arrays, into
which the code may write, are distinct objects. They do so for float arrays and nans only if code asks, by `is`, `id`
(and so `copy.deepcopy`) or a search in a container. Other numbers get a fresh object for each accessor.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from wengert.recording.slots import slot_of

MUTABLE = (list, dict, set, np.ndarray)
"""Mutable types whose values keep their identity in the trace; instances of classes have guards of their own."""
_NUMBER_TYPES = (float, complex, np.generic)


def is_nan(thing: Any) -> bool:
    """Whether a thing is a nan."""
    return issubclass(type(thing), _NUMBER_TYPES) and bool(thing != thing)


def memory_distances(*arrays: Any) -> dict[tuple[int, int], int]:
    """Return the distances in memory between arrays that may overlap, by the positions of the two."""
    pairs = itertools.combinations(enumerate(arrays), 2)
    near = [((i, j), a, b) for (i, a), (j, b) in pairs if np.may_share_memory(a, b)]
    starts = [(pair, *[array.__array_interface__["data"][0] for array in (a, b)]) for pair, a, b in near]
    return {pair: one - other for pair, one, other in starts}


class Identities:
    """The identity of objects that one trace has read, its `reads`, and the guards of it."""

    def __init__(self, reads: Any) -> None:
        self.reads = reads
        self.shared: dict[
            int, tuple[Any, Any, str]
        ] = {}  # by id: an object, its counterpart in the trace, and its first accessor
        self.guards: dict[str, None] = {}  # with the names of inputs in them
        self.copyable: dict[int, Any] = {}  # by id: values that guards compare by value, so that the next may be a copy
        self._asked: dict[int, Any] = {}

    def ask(self, thing: Any) -> None:
        """Guard that a thing of the trace is distinct from all others that are asked about."""
        if issubclass(type(thing), MUTABLE) or is_nan(thing):
            self._asked[id(thing)] = thing

    def original_of(self, thing: Any) -> Any:
        """Return the original of an object that was made for the trace, or the thing itself."""
        return self.reads.originals.get(id(thing), (thing, thing))[1]

    def are_one(self, a: Any, b: Any) -> bool:
        """Whether two numbers of the trace, of which one is an input, are the same nan outside.

        If they are two objects now, a guard holds that they stay two, or are no nan.
        """
        names = [*filter(None, map(self._name, (a, b)))] if type(a) is type(b) else []
        if len(names) < 2 or not any([name.startswith("i") for name in names]):
            return False
        one, other = self.original_of(a), self.original_of(b)
        if one is other:
            if is_nan(one):
                self.guards[" is ".join(names)] = None
            return is_nan(one)
        either = "" if type(a) is np.ndarray else f" or {names[0]} == {names[0]}"
        self.guards[f"{' is not '.join(names)}{either}"] = None
        return False

    def _name(self, thing: Any) -> str | None:
        """Return the expression of an input, a constant nan or a constant array; None for all else."""
        name: str | None = (
            self.reads.input_name(thing) if issubclass(type(thing), (*_NUMBER_TYPES, np.ndarray)) else None
        )
        is_constant = slot_of(self.reads.recording, thing) is None and (type(thing) is np.ndarray or is_nan(thing))
        return self.reads.pin(thing) if name is None and is_constant else name

    def all_guards(self) -> list[str]:
        """Return all guards of identity; they come after the guards that bind the names of inputs.

        Containers and integer arrays are always guarded to be distinct: the code may write into one of them.
        """
        shared = self.shared.values()
        accessors = {id(made): (made, accessor) for _, made, accessor in shared} | self.reads.known_objects
        held = {key for key, (thing, accessor) in accessors.items() if accessor and type(thing) in (list, dict, set)}
        contents = [
            (made, accessor) for original, made, accessor in shared if original is made and type(made) is np.ndarray
        ]
        apart = {*self._asked, *held, *[id(array) for array, _ in contents]}
        asked = [accessors[key] for key in accessors if key in apart]
        groups = [
            [f"id({accessor})" for thing, accessor in asked if type(thing) is t] for t in {type(a[0]) for a in asked}
        ]
        guards = [*self.guards, *[f"len({{{', '.join(ids)}}}) == {len(ids)}" for ids in groups if len(ids) > 1]]
        if len(contents) > 1 and any([array.base is not None for array, _ in contents]):
            arrays, reached = zip(*contents, strict=True)
            guards.append(f"{self.reads.pin(memory_distances)}({', '.join(reached)}) == {memory_distances(*arrays)}")
        return guards
