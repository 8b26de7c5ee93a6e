"""Snapshots of the state that a function can reach and change, so that it can run again as if for the first time.

A snapshot covers its arguments, closure, defaults and bound object with their contents, and random number generators.
Of objects that only a global name refers to, it covers generators alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import is_
from types import CellType, FunctionType, MethodType
from typing import Any
from weakref import ProxyTypes

import numpy as np

from wengert.values.codes import code_of
from wengert.values.named_tuples import NamedTuple
from wengert.values.random_states import (
    generator_types,
    has_state,
    is_same_state,
    random_state,
    set_random_state,
    shared_generators,
)
from wengert.values.transformed import Transformed
from wengert.values.trees import form_of, is_filled, load_cell, namespace
from wengert.values.undo_stack import Owed

ReadAll = Callable[[], list[Any]]
WriteAll = Callable[[list[Any]], None]


class Contents(NamedTuple):
    """The contents of a container at the time of the snapshot, and functions that read and write them."""

    read: ReadAll
    write: WriteAll
    was: list[Any]


def identical(now: list[Any], was: list[Any]) -> bool:
    """Whether two lists hold the same objects, compared without running their code."""
    return len(now) == len(was) and all(map(is_, now, was))


class Reach:
    """A snapshot of the containers and random number generators that `things` refer to, directly or not."""

    def __init__(self, things: Iterable[Any], generators: Iterable[Any] | None = None) -> None:
        self.arrays: list[np.ndarray] = []
        self._places: list[Contents] = []
        self._random: list[tuple[Any, Any]] = [
            (it, random_state(it)) for it in (shared_generators() if generators is None else generators)
        ]
        self._generators = generator_types()
        self._seen: set[int] = set()
        queue = list(things)
        for thing in queue:
            if id(thing) not in self._seen and not _is_dead_proxy(thing):
                self._seen.add(id(thing))
                queue.extend(self._entered(self._parts(thing)))
        del self._seen, self._generators

    def _entered(self, parts: Iterable[Any]) -> Iterable[Any]:
        """Return the parts to follow; a subclass may omit some."""
        return parts

    def _parts(self, thing: Any) -> Iterable[Any]:
        """Yield the objects that `thing` refers to directly; record arrays and generators."""
        if isinstance(thing, np.ndarray):
            self.arrays.append(thing)
        elif isinstance(thing, FunctionType):
            yield from (*(thing.__closure__ or ()), *(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values())
            named = [thing.__globals__.get(name) for name in code_of(thing).co_names]
            yield from [it for it in named if isinstance(it, self._generators)]
        elif isinstance(thing, MethodType):
            yield from (thing.__func__, thing.__self__)
        elif isinstance(thing, Transformed):
            yield thing.__func__
        elif isinstance(thing, partial):
            yield from (thing.func, *thing.args, *thing.keywords.values())
        elif isinstance(thing, self._generators) and has_state(thing):
            self._random.append((thing, random_state(thing)))
        else:
            yield from self._held(thing)

    def _held(self, thing: Any) -> Iterator[Any]:
        """Yield the contents of a container, and record them."""
        form = form_of(type(thing))
        if form is None:
            return
        if form.items is tuple:
            yield from tuple.__iter__(thing)
        for read, write in _access(thing, form):
            was = read()
            self._places.append(Contents(read, write, was))
            yield from was

    def drop_unused_random(self) -> None:
        """Drop the generators whose state has not changed since the snapshot."""
        self._random = [(it, state) for it, state in self._random if not is_same_state(state, random_state(it))]

    def is_unchanged(self, same: Callable[[list[Any], list[Any]], bool] = identical) -> bool:
        """Whether all contents and random states are the same as at the snapshot."""
        kept = all([same(place.read(), place.was) for place in self._places])
        return kept and all([is_same_state(state, random_state(it)) for it, state in self._random])

    def added(self) -> list[Any]:
        """Return what the containers hold now and did not hold at the snapshot."""
        pairs = [(place.read(), {id(part) for part in place.was}) for place in self._places]
        return [part for now, was in pairs for part in now if id(part) not in was]

    def put_back(self, owed: Owed, same: Callable[[list[Any], list[Any]], bool] = identical) -> None:
        """Restore the contents of the snapshot that are not the `same`; append to `owed` functions that undo this."""
        for place in self._places:
            if not same(now := place.read(), place.was):
                owed.append(partial(place.write, now))
                place.write(place.was)
        for it, state in self._random:
            owed.append(partial(set_random_state, it, random_state(it)))
            set_random_state(it, state)


def _is_dead_proxy(thing: Any) -> bool:
    """Whether a thing is a weak proxy of an object that is gone: asked anything, it raises a ReferenceError."""
    if type(thing) in ProxyTypes:
        try:
            thing.__class__  # noqa: B018
        except ReferenceError:
            return True
    return False


def _access(thing: Any, form: Any) -> Iterator[tuple[ReadAll, WriteAll]]:
    """Yield functions that read and write the contents of a container, past the methods of its class."""
    if form.items is list:
        yield partial(list.__getitem__, thing, slice(None)), partial(list.__setitem__, thing, slice(None))
    elif form.items is CellType:
        yield _slots_access([(load_cell, CellType.cell_contents.__set__, CellType.cell_contents.__delete__)], thing)
    elif form.items in (dict, OrderedDict):
        yield _items_access(form.items, thing)
    if form.named:
        yield _items_access(dict, namespace(thing))
    if form.slots:
        yield _slots_access(
            [(lambda it, _, s=slot: s.__get__(it), slot.__set__, slot.__delete__) for slot in form.slots], thing
        )


def _items_access(base: Any, thing: Any) -> tuple[ReadAll, WriteAll]:
    """Return functions that read and write a dictionary as a list of alternating keys and values."""

    def write(contents: list[Any]) -> None:
        base.clear(thing)
        for key, value in zip(contents[::2], contents[1::2], strict=True):
            base.__setitem__(thing, key, value)

    return lambda: [part for item in base.items(thing) for part in item], write


_EMPTY = object()


def _slots_access(slots: list[Any], thing: Any) -> tuple[ReadAll, WriteAll]:
    """Return functions that read and write slots or a cell, which may be empty."""

    def read() -> list[Any]:
        return [load(thing, None) if is_filled(thing, None, load) else _EMPTY for load, _, _ in slots]

    def write(contents: list[Any]) -> None:
        for (load, store, delete), value in zip(slots, contents, strict=True):
            if value is not _EMPTY:
                store(thing, value)
            elif is_filled(thing, None, load):
                delete(thing)

    return read, write
