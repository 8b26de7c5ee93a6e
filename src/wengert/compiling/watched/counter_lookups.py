"""Lookups of counters: in dictionaries whose keys are integers, and in sets, lists and tuples of integers.

The tape looks a counter up in tables that have an item for each integer from the smallest key to the largest one.
"""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any, NamedTuple

from wengert.compiling.watched.symbolic_ints import SymbolicInt, float_of, record_integer_call, refuse_counter
from wengert.compiling.watched.watchable import Unset
from wengert.recording.primitives import ruled
from wengert.recording.record import record_call
from wengert.values.functional import WHOLE

MOST_INTEGERS = 10_000
"""The largest number of integers from the smallest key to the largest one."""
_LOOKED_UP_IN = (dict, set, frozenset, list, tuple)


class LookupTables(NamedTuple):
    """The keys and values of a container, and what it has for each integer from its smallest key on."""

    keys: tuple[int, ...]
    values: tuple[Any, ...]
    members: tuple[bool, ...]
    items: tuple[Any, ...]

    def are_of(self, container: Any) -> bool:
        """Whether a container holds the same keys and values."""
        return self.keys == (*container,) and all(map(operator.is_, self.values, _values(container)))


class KeyPlaces(NamedTuple):
    """The places of the integer keys of a dictionary in their order; -1 for each integer between that is none."""

    low: int
    numbers: tuple[int, ...]

    @classmethod
    def of(cls, keys: Collection[int]) -> KeyPlaces:
        """Return the places of these keys."""
        places = {key: k for k, key in enumerate(sorted(keys))}
        return cls(min(keys), tuple([places.get(k, -1) for k in range(min(keys), max(keys) + 1)]))

    def __contains__(self, key: Any) -> bool:
        return 0 <= key - self.low < len(self.numbers) and self.at(key) >= 0

    def at(self, key: int) -> int:
        """Return the place of a key."""
        return self.numbers[key - self.low]


class CounterLookups:
    """The containers in which a trace has looked up counters, by id, with their tables."""

    def __init__(self, heads: Any) -> None:
        self.heads, self.known = heads, dict[int, tuple[Any, LookupTables]]()

    def contains(self, container: Any, key: Any) -> bool:
        """Return whether a container has a counter as its key or item."""
        if not container and type(container) in _LOOKED_UP_IN:
            return False
        tables = self._tables(container, key)
        place = self._offset(min(tables.keys), max(tables.keys), key)
        return place is not None and self.heads.item(tables.members, place)

    def value(self, container: dict[int, Any], key: Any) -> Any:
        """Return the value of a dictionary under a counter; an absent key has another kind of item in the table."""
        if int(float_of(key)) not in container:
            self.heads.refuse_key(key)
        self._make_tables(container)
        _, tables = self.known[id(container)]
        *_, read = self.heads.reader(tables.items)
        is_in_tables, lists = read is not None and tables.are_of(container), self.heads.lists
        if not is_in_tables and lists.fill(container, self.heads.loops_behind([key])):
            return lists.read(lists.views[id(container)], key)
        tables = self._tables(container, key)
        return self.heads.item(tables.items, self._offset(min(tables.keys), max(tables.keys), key))

    def place(self, places: KeyPlaces, key: Any) -> Any:
        """Return the place of a counter among the keys of a dictionary. The tape tests that it is a key."""
        place = self._offset(places.low, places.low + len(places.numbers) - 1, key)
        if -1 not in places.numbers:
            return place
        place = self.heads.item(places.numbers, place)
        record_call(ruled(operator.ge), (float_of(place), 0.0), {})
        return place

    def _tables(self, container: Any, key: Any) -> LookupTables:
        """Return the tables of a container; refuse the counter if there are none, or the container has changed."""
        self._make_tables(container)
        _, tables = self.known[id(container)]
        if not tables.are_of(container):
            self.heads.refuse_key(key)
        return tables

    def _make_tables(self, container: Any) -> None:
        """Make the tables of a container when a counter is first looked up in it."""
        if id(container) in self.known:
            return
        if not has_tables(container):
            refuse_counter("a counter is looked up in a container")
        self.known[id(container)] = container, _tables_of(container)
        for table in self.known[id(container)][1][2:]:  # all now, so that the next iterations are alike
            self.heads.reader(table)

    def _offset(self, low: int, high: int, key: Any) -> Any:
        """Return how far a counter is from the lowest key; None if that or the highest is beyond. The tape tests it."""
        for test, bound in ((operator.ge, low), (operator.le, high)):
            if not record_call(ruled(test), (float_of(key), float(bound)), {}):
                return None
        return record_integer_call(operator.sub, key, low)


def is_lookup(container: Any, key: Any) -> bool:
    """Whether a key is a counter, and tables may hold what a container of this type has for it."""
    return type(key) is SymbolicInt and type(container) in _LOOKED_UP_IN


def has_tables(container: Any) -> bool:
    """Whether all keys or items of a container that has some are integers, not far from each other."""
    is_of_counters = all([type(k) is int and -WHOLE <= k <= WHOLE for k in container])
    return is_of_counters and max(container) - min(container) < MOST_INTEGERS


def _values(container: Any) -> Collection[Any]:
    return container.values() if type(container) is dict else container


def _tables_of(container: Any) -> LookupTables:
    integers = range(min(container), max(container) + 2)  # at least two: one item would be a constant
    items = tuple([container.get(k, Unset) for k in integers]) if type(container) is dict else ()
    return LookupTables((*container,), (*_values(container),), tuple([k in container for k in integers]), items)
