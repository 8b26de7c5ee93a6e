"""New values that a function with a rule puts into containers that it is given: its rule cannot tell of them."""

from __future__ import annotations

from array import array as Packed
from collections.abc import Iterable, Iterator, Set
from functools import partial
from typing import Any

import numpy as np

from wengert.errors import NoRuleError, RefusedCallError
from wengert.recording.fresh_results import in_other_form, note_stand
from wengert.recording.primitives import Primitive
from wengert.recording.pullback_reads import COMMON, FarReach
from wengert.recording.recording import Recording, users_line
from wengert.values.lazy_attribute import computed_once
from wengert.values.results import MOST_OBJECTS, hidden, with_leaves
from wengert.values.snapshots import Contents, identical
from wengert.values.specs import fresh, is_inexact
from wengert.values.trees import is_container


class Given(FarReach):
    """The arrays and containers that the arguments of a call lead to, with what these held before it."""

    def __init__(self, args: Iterable[Any]) -> None:
        self._args = tuple(args)
        self._known: list[Any] = []
        self._closed: list[tuple[Any, list[Any]]] = []
        self.is_cut = False
        super().__init__(self._args)

    def _entered(self, parts: Iterable[Any]) -> Iterable[Any]:
        held = list(parts)
        self._known.extend(held)
        return super()._entered(held)

    def _parts(self, thing: Any) -> Iterable[Any]:
        """Yield what a thing refers to, except by global names."""
        t = type(thing)
        if len(self._seen) > MOST_OBJECTS:
            self.is_cut = True
            return ()
        if issubclass(t, _CLOSED) or (issubclass(t, np.ndarray) and thing.dtype.hasobject):
            held = _items_of_array(thing)
            self._closed.append((thing, held))
            return held
        if issubclass(t, type):
            if not any([thing is a for a in self._args]):
                return ()
            read, write = partial(_class_attributes, thing), partial(_set_attributes, thing)
            self._places.append(Contents(read, write, read()))
            return read()
        return super()._parts(thing)

    def _named(self, space: dict[str, Any], names: Set[str], read: Set[str]) -> Iterator[Any]:
        return iter(())

    def _of_class(self, cls: type) -> Iterator[Any]:
        return iter(())

    def contents(self) -> list[tuple[Contents, list[Any]]]:
        """The containers, each with what it holds now."""
        return [(place, place.read()) for place in self._places]

    @computed_once
    def old(self) -> set[int]:
        """The ids of all that the call was given, at any depth."""
        known = [part for place in self._places for part in place.was]
        return set(map(id, (*self._args, *self._known, *known)))

    def closed_to(self) -> Any:
        """A set or an array that holds new numbers, for which no variable can stand; None where there is none."""
        for thing, was in self._closed:
            held = _items_of_array(thing)
            is_packed = isinstance(thing, bytearray | Packed)  # whose numbers are new objects at each look
            new = [part for part in held if is_packed or id(part) not in self.old]
            if any(map(is_inexact, new)) and not (is_packed and held == was):
                return thing
        return None


_CLOSED = (set, bytearray, Packed)


def _items_of_array(thing: Any) -> list[Any]:
    return thing.ravel().tolist() if isinstance(thing, np.ndarray) else list(thing)


def _class_attributes(cls: type) -> list[Any]:
    """The names and values of a class's own attributes, in turn."""
    return [part for item in vars(cls).items() for part in item]


def _set_attributes(cls: type, contents: list[Any]) -> None:
    for name, value in zip(contents[::2], contents[1::2], strict=True):
        if vars(cls)[name] is not value:
            type.__setattr__(cls, name, value)


def given_to(args: Iterable[Any]) -> Given | None:
    """Return what the containers among the arguments of a call hold; None where there are none."""
    return Given(args) if any([_may_hold(a) for a in args]) else None


def _may_hold(a: Any) -> bool:
    return type(a) not in COMMON and not (type(a) is np.ndarray and not a.dtype.hasobject)


def stored(recording: Recording, primitive: Primitive, given: Given) -> list[Any]:
    """The numbers and arrays that a call has put into containers, each of which is a new object there from now on.

    Errors: RefusedCallError where there is too much to search, NoRuleError where no variable can stand for them.
    """
    if given.is_cut:
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: {primitive.name} is called with containers of more than {MOST_OBJECTS} objects, too "
                "many to search for values that it stores there. Pass only the numbers and arrays that it reads."
            )
        )
    what, made = given.closed_to(), _Made(recording, primitive, given)
    for place, held in given.contents():
        if not identical(held, place.was):
            made.renew(place, held)
    what = what if made.hidden is None else made.hidden
    if what is not None:
        raise recording.refuse(
            NoRuleError(
                f"{users_line()}: {primitive.name} stored numbers in an argument, in a {type(what).__name__}, in "
                "which wengert finds no derivative. Return them instead."
            )
        )
    return made.leaves


class _Made:
    """New objects for the numbers that a call has put into containers."""

    def __init__(self, recording: Recording, primitive: Primitive, given: Given) -> None:
        self._recording, self._primitive, self._given = recording, primitive, given
        self._known: dict[int, tuple[Any, Any]] = {}
        self.leaves: list[Any] = []
        self.hidden: Any = None

    def renew(self, place: Contents, held: list[Any]) -> None:
        """Have a container hold new objects for the numbers that are new in it."""
        new = [item if id(item) in self._given.old else self._of(item) for item in held]
        if not identical(new, held):
            place.write(new)

    def _of(self, item: Any) -> Any:
        """Return what a container gets for a new item: for a container the same one, with new numbers in it."""
        known = self._known.get(id(item))
        return self._new(item) if known is None else known[1]

    def _new(self, item: Any) -> Any:
        what = None if is_inexact(item) else hidden(item)
        self.hidden = what if self.hidden is None else self.hidden
        made = item
        self._known[id(item)] = item, made
        if is_inexact(item):
            made = item if isinstance(item, np.ndarray) else fresh(item)
            note_stand(made, item)
            self.leaves.append(made)
        elif what is None and isinstance(item, tuple):
            made = with_leaves(item, lambda _, leaf: self._of(leaf), self._in_other_form)
        elif what is None and is_container(item):
            for place, held in Given((item,)).contents():
                self.renew(place, held)
        elif what is None:
            self._in_other_form(item)
        self._known[id(item)] = self._known[id(made)] = item, made
        return made

    def _in_other_form(self, part: Any) -> Any:
        is_word = isinstance(part, str) and not any(map(str.isdigit, part))  # of which no number is read
        return part if is_word else in_other_form(self._recording, self._primitive, part)


__all__ = ["Given", "given_to", "stored"]
