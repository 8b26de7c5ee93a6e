"""Tables from outside: a declared read of one is a constant of the trace, and a guard compares what the table holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert.recording.recording import silent
from wengert.values.data_classes import READS
from wengert.values.names import lookup


class Tables:
    """The tables that a trace has read: those from outside, and those that reads of them have returned."""

    def __init__(self, reads: Any) -> None:
        self.reads = reads
        self._known: dict[int, tuple[Any, Content | None]] = {}  # by id; with the content of those from outside

    def hold(self, things: Iterable[Any]) -> bool:
        """Whether a guard compares what these things hold; it is made for those from outside."""
        return all([*map(self._holds, things)])

    def _holds(self, thing: Any) -> bool:
        t = type(thing)
        if t is list or t is tuple:
            return self.hold(thing)
        if t not in READS or id(thing) in self._known:
            return True
        accessor = self.reads.accessor_of(thing)
        if accessor is None or self.reads.effects.has_written_to(thing):
            return False
        content = self.run(Content, (thing,), {})
        self._known[id(thing)] = thing, content
        self.reads.add_guard(f"{self.reads.pin(content, f'content of a {t.__name__}')}.is_that_of({accessor})")
        return True

    @property
    def are_compared(self) -> bool:
        """Whether a guard compares what a table holds."""
        return any([content is not None for _, content in self._known.values()])

    def run(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a declared read, whose tables belong to the trace from now on."""
        with self.reads.unwatched(), silent():
            value = fn(*args, **kwargs)
        for part in value if type(value) in (list, tuple) else (value,):
            if type(part) in READS:
                self._known[id(part)] = part, None
        return value

    def guard_method(self, t: type, name: str) -> None:
        """Guard that a class still has, or still lacks, the method or property of a declared read."""
        found = READS[t].names.get(name)  # None for a column by its name
        self.reads.add_guard(f"{self.reads.pin(lookup)}({self.reads.pin(t)}, {name!r}) is {self.reads.pin(found)}")

    def share_memory(self, array: np.ndarray) -> bool:
        """Whether an array may be in memory of a table that the trace has read."""
        return any([self._is_in(array, table) for table, _ in self._known.values()])

    def _is_in(self, array: np.ndarray, table: Any) -> bool:
        return any([np.may_share_memory(array, part) for part in self.run(_arrays_of, (table,), {})])

    def give_up_if_written(self) -> None:
        """Give up if the function has written into a table from outside, or into memory of one."""
        owners = [storage.owner() for storage in self.reads.recording.memory.storages.values()]
        written = [one for owner in owners if owner is not None for one in (owner, self.reads.original_of(owner))]
        for table, content in self._known.values():
            if content is None:
                continue
            is_same = self.run(content.is_that_of, (table,), {})
            if not is_same or any([self._is_in(array, table) for array in written]):
                self.reads.give_up("it writes into a table from outside the function, or into memory of one")


class Content:
    """All that a read of a table can see, as it was: types, memory order, bytes, and objects."""

    def __init__(self, table: Any) -> None:
        self._kept = _content(table)
        of_objects = [array for array in _arrays_of(table) if array.dtype.hasobject]
        self._objects = [[*array.flat] for array in of_objects]  # alive, so that no other object gets their ids

    def is_that_of(self, table: Any) -> bool:
        """Whether this is what `table` holds; an object that was replaced by an equal one is another content."""
        return bool(_content(table) == self._kept)


def _content(thing: Any) -> Any:
    t = type(thing)
    if t is np.ndarray:
        return thing.dtype, thing.shape, thing.strides, thing.flags.num, thing.tobytes()
    if t in READS:
        return t, *map(_content, READS[t].parts(thing))
    if t is list or t is tuple:
        return t, *map(_content, thing)
    return t, thing if t is type else repr(thing)


def _arrays_of(thing: Any) -> list[np.ndarray]:
    """Return the arrays in a table."""
    if type(thing) is np.ndarray:
        return [thing]
    parts = READS[type(thing)].parts(thing) if type(thing) in READS else thing if type(thing) in (list, tuple) else ()
    return [array for part in parts for array in _arrays_of(part)]
