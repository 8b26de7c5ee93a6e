"""Identity: which things from outside are one object, and the tests that those stay apart which the code told apart.

Whatever can be changed is one thing in the trace wherever it is read, and so is a nan, which containers find by its
identity; each further place is tested to hold it. That two are two is tested for all containers and for arrays of
indices, into which the code may write. For arrays of floats and nans it is tested where the code asks: `is`, `id` (and
so `copy.deepcopy`), and containers, which look at the identity of items before they compare them. Other numbers are
read at each place anew: `==` tells as much of them, and has a guard.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from wengert.recording.slots import slot_of

CHANGING = (list, dict, set, np.ndarray)
"""Mutable types whose values keep their identity in the trace; objects have tests of their own."""
_NUMBERS = (float, complex, np.generic)


def is_nan(thing: Any) -> bool:
    """Whether a thing is a number that does not equal itself."""
    return issubclass(type(thing), _NUMBERS) and bool(thing != thing)


def overlaps(*arrays: Any) -> dict[tuple[int, int], int]:
    """Return the distances in memory of the arrays that may overlap, by their numbers."""
    pairs = itertools.combinations(enumerate(arrays), 2)
    near = [((i, j), a, b) for (i, a), (j, b) in pairs if np.may_share_memory(a, b)]
    starts = [(pair, *[array.__array_interface__["data"][0] for array in (a, b)]) for pair, a, b in near]
    return {pair: one - other for pair, one, other in starts}


class Identities:
    """The questions of a trace about the identity of what its `reads` have taken in."""

    def __init__(self, reads: Any) -> None:
        self.reads = reads
        self.shared: dict[int, tuple[Any, Any, str]] = {}  # by id: an object, what the trace has for it, and its place
        self.tests: dict[str, None] = {}  # in which inputs have their names
        self.equal: dict[int, Any] = {}  # by id: values from outside, of which an equal one may be in their places
        self._asked: dict[int, Any] = {}

    def ask(self, thing: Any) -> None:
        """Test that a thing of the trace is none of the others that this is called with, if they are from outside."""
        if issubclass(type(thing), CHANGING) or is_nan(thing):
            self._asked[id(thing)] = thing

    def own(self, thing: Any) -> Any:
        """The object outside that a thing of the trace is made for, or the thing itself."""
        return self.reads.originals.get(id(thing), (thing, thing))[1]

    def are_one(self, a: Any, b: Any) -> bool:
        """Whether two numbers of the trace are one nan outside, of which one is a constant of the code.

        Those that are two now are tested to be two, or a number that equals itself: for that `==` has a guard.
        """
        names = [*filter(None, map(self._name, (a, b)))] if type(a) is type(b) else []
        if len(names) < 2 or not any([name.startswith("i") for name in names]):
            return False
        one, other = self.own(a), self.own(b)
        if one is other:
            if is_nan(one):
                self.tests[" is ".join(names)] = None
            return is_nan(one)
        either = "" if type(a) is np.ndarray else f" or {names[0]} == {names[0]}"
        self.tests[f"{' is not '.join(names)}{either}"] = None
        return False

    def _name(self, thing: Any) -> str | None:
        """The expression of an input, or of a constant that may be one: a nan or an array; None for all else."""
        name: str | None = self.reads.input_name(thing) if issubclass(type(thing), (*_NUMBERS, np.ndarray)) else None
        is_constant = slot_of(self.reads.recording, thing) is None and (type(thing) is np.ndarray or is_nan(thing))
        return self.reads.pin(thing) if name is None and is_constant else name

    def finished(self) -> list[str]:
        """All tests; they come after those that give inputs their names.

        Containers and indices are always tested to be two: what is written into one, and taken back, shows in no other.
        """
        shared = self.shared.values()
        places = {id(made): (made, place) for _, made, place in shared} | self.reads.known
        held = {key for key, (thing, place) in places.items() if place and type(thing) in (list, dict, set)}
        contents = [(made, place) for own, made, place in shared if own is made and type(made) is np.ndarray]
        apart = {*self._asked, *held, *[id(array) for array, _ in contents]}
        asked = [places[key] for key in places if key in apart]
        groups = [[f"id({place})" for thing, place in asked if type(thing) is t] for t in {type(a[0]) for a in asked}]
        tests = [*self.tests, *[f"len({{{', '.join(ids)}}}) == {len(ids)}" for ids in groups if len(ids) > 1]]
        if len(contents) > 1 and any([array.base is not None for array, _ in contents]):
            arrays, where = zip(*contents, strict=True)
            tests.append(f"{self.reads.pin(overlaps)}({', '.join(where)}) == {overlaps(*arrays)}")
        return tests
