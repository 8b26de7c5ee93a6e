"""Stand-ins for the records of a list, dictionaries or objects of a user's class, which loops read from tables.

Each part of the records has a table: it holds that part of every record, and a stand-in reads its own at an index that
the tape computes. Code can read a stand-in by its keys or attributes, and call its methods. Whatever else might tell it
from the record, or change the record, ends the trace.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.watched.symbolic_ints import SymbolicInt, recorded_key, refuse_counter
from wengert.compiling.watched.watchable import (
    ATOMS,
    can_be_rebuilt,
    dictionary_of,
    has_dictionary,
    has_own_attribute,
    lookup_with_owner,
    runs_code,
)
from wengert.recording.recording import STATE, Recording


class ItemIndex(NamedTuple):
    """The index of an item: the number, the counter that it is in the trace, and the index that the tape computes."""

    k: int
    counter: Any
    index: Any

    @classmethod
    def of(cls, k: int, counter: Any) -> ItemIndex:
        """Record the index that a counter is."""
        return cls(k, counter, recorded_key(counter))


Column = Callable[[ItemIndex], Any]
"""A function that reads a part of an item from a table."""


class Record:
    """A stand-in with its `original`, one of like `records`, and the index of its parts in their tables."""

    def __init__(self, stand_in: Any, records: Records, at: ItemIndex) -> None:
        self.stand_in, self.records, self.at, self.original = stand_in, records, at, records.items[at.k]

    def part(self, name: Any) -> Any:
        """Return the part under a key or attribute, which is that of the original as long as nothing changes it."""
        if contents_of(self.original).get(name) is not self.records.before[self.at.k][name]:
            self.refuse("a loop changes an item of the list that it runs over")
        column = self.records.columns.get(name)
        if column is None:
            return self.refuse(f"a loop reads {name!r} of the items of a list, which a table cannot hold")
        return column(self.at)

    def form(self, walk: Any) -> Any:
        """Return the form in the state of a loop: of which list, at which index, from which tables of the loop."""
        made = [slot for slot in self.records.iterator.tables if slot >= walk.begin]
        walk.slots += made
        return "a record", self.records.names, len(made), walk.form(self.at.counter)

    def refuse(self, reason: str) -> Any:
        """Raise SymbolicIntError at the user's line; the next trace uses no stand-ins in this loop."""
        return refuse_counter(reason, ("no_records", [self.records.place]))


class Records:
    """Like records, and the tables of their parts. Parts that no table can hold are left out."""

    def __init__(self, iterator: Any, items: Sequence[Any]) -> None:
        self.iterator, reads = iterator, iterator.reads
        self.heads, self.items, self.before = reads.heads, items, [{**contents_of(item)} for item in items]
        self.place = STATE.site
        self.names = tuple([reads.accessor_of(item) for item in items])
        self.columns: dict[Any, Column] = {}
        attributes = (*self.before[0],)
        if type(items[0]) is not dict:
            for accessor in self.names:  # a branch may call a method of some; others may have an attribute of that name
                reads.add_guard(f"(*{accessor}.__dict__,) == {reads.constant(attributes)}")
        for name in attributes:
            values = [before[name] for before in self.before]
            if not can_be_column(values):
                continue
            if type(items[0]) is not dict:
                values = [reads.object_attribute(item, name, x) for item, x in zip(items, values, strict=True)]
            column = iterator.column_if_any(values)
            if column is not None:
                self.columns[name] = column

    def stand_in(self, at: ItemIndex) -> Any:
        """Return a new stand-in for a record; it shares the attributes of an object."""
        original = self.items[at.k]
        if type(original) is dict:
            made: Any = DictStandIn(dict.fromkeys(original))
        else:
            made = object.__new__(type(original))
            object.__setattr__(made, "__dict__", dictionary_of(original))
        self.heads.records[id(made)] = Record(made, self, at)
        return made


def check_records(recording: Recording) -> None:
    """Refuse a trace after which a stand-in is left somewhere, where it would show."""
    reads: Any = recording.reads
    for kept in (reads.cells, reads.checked_calls, reads.plain_calls):
        kept.clear()  # functions that have run hold their variables
    for record in reads.heads.records.values():
        if is_held(record):
            record.refuse("it returns or keeps an item of a list that a loop reads from tables")


def is_held(record: Any) -> bool:
    """Whether something but its record holds a stand-in."""
    return sys.getrefcount(record.stand_in) > _OWN_REFERENCES


def contents_of(item: Any) -> dict[Any, Any]:
    """Return the parts of a record by their keys or attributes."""
    return item if type(item) is dict else dictionary_of(item)


def can_be_record(item: Any) -> bool:
    """Whether an item may have a stand-in: a dictionary with plain keys, or an object with nothing but attributes."""
    t = type(item)
    if t is dict:
        return {*map(type, item)} <= {str, int}
    setter: Any = t.__setattr__
    is_plain = has_dictionary(t) and can_be_rebuilt(t) and setter is object.__setattr__
    return is_plain and not hasattr(t, "__getattr__") and not any([runs_code(t, name) for name in dictionary_of(item)])


def table_kind(item: Any) -> Any:
    """Return the kind of an item or of a part of it. Items of one kind share a table; equal constants need none."""
    t = type(item)
    if t is np.ndarray:
        return t, item.shape, item.dtype
    if t in _NUMBERS_IN_TABLES:
        return (t,)
    if t in ATOMS or t is np.bool_:
        return CONSTANT_KIND, t, item
    if issubclass(t, tuple):
        return t, tuple.__len__(item)
    return (t, *contents_of(item)) if can_be_record(item) else (CONSTANT_KIND, id(item))


def by_kind(items: Iterable[Any]) -> dict[Any, list[Any]]:
    """Return the items of each kind, in their order."""
    groups: dict[Any, list[Any]] = {}
    for item in items:
        groups.setdefault(table_kind(item), []).append(item)
    return groups


def are_few(groups: Mapping[Any, Sequence[Any]], count: int) -> bool:
    """Whether so many items are of few kinds: of each there should be several."""
    are_bools = all([kind[0] is CONSTANT_KIND and kind[1] in (bool, np.bool_) for kind in groups])
    return len(groups) == 1 or are_bools or (len(groups) <= MOST_KINDS and 3 * len(groups) <= count)


def can_be_column(values: Sequence[Any]) -> bool:
    """Whether a table may hold these parts of records: numbers, arrays or constants of few kinds."""
    groups = by_kind(values)
    is_known = all([kind[0] in (*_NUMBERS_IN_TABLES, np.ndarray) or kind[1] in _PLAIN_CONSTANTS for kind in groups])
    return is_known and are_few(groups, len(values))


CONSTANT_KIND = "a constant"
MOST_KINDS = 8
_PLAIN_CONSTANTS = {*ATOMS, np.bool_}
_NUMBERS_IN_TABLES = (int, float, np.float64, SymbolicInt)


def record_of(thing: Any) -> Record | None:
    """Return the record for which a thing stands; None for all other things."""
    return next((heads.records[id(thing)] for heads in open_heads() if id(thing) in heads.records), None)


def has_records() -> bool:
    """Whether anything stands for a record: most traces have no table."""
    return any([heads.records for heads in open_heads()])


def open_heads() -> Iterator[Any]:
    """Yield the Heads of each trace that is open, the innermost first."""
    recording: Any = STATE.recording
    while recording is not None:
        if recording.reads is not None:
            yield recording.reads.heads
        recording = recording.around


def is_stand_in(thing: Any) -> bool:
    """Whether a thing is a stand-in for a record."""
    return record_of(thing) is not None


def refuse_record(thing: Any, what: str) -> None:
    """Refuse a stand-in: something asks for the record itself, or changes or keeps it."""
    record = record_of(thing)
    if record is not None:
        record.refuse(f"{what} an item of a list that a loop reads from tables")


def read_stand_in(reads: Any, record: Record, name: str, value: Any) -> Any:
    """Return the attribute of a stand-in for an object; `value` is that of the record, with methods bound to it."""
    raw, _ = lookup_with_owner(type(record.original), name)
    if has_own_attribute(record.original, name) and not hasattr(type(raw), "__set__"):
        return record.part(name)
    return reads.object_attribute(record.original, name, value)


# -- classes of stand-ins


def refused_method(name: str) -> Any:
    """Return the method of a stand-in that ends the trace."""
    return lambda self, *args, **kwargs: refuse_record(self, f"{name} is called on")


class DictStandIn(dict):
    """A stand-in for a dictionary: C code that merges it, too, reads its parts by `__getitem__`, as it is iterable."""

    __class__ = property(lambda self: dict)

    def __getitem__(self, key: Any) -> Any:
        record: Any = record_of(self)
        dict.__getitem__(self, key)  # may raise a KeyError
        return record.part(key)

    def __iter__(self) -> Iterator[Any]:
        return dict.__iter__(self)

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the part under a key, or the default."""
        return self[key] if dict.__contains__(self, key) else default

    def keys(self) -> Any:
        """Return the keys."""
        return dict.fromkeys(self).keys()

    def values(self) -> Any:
        """Return the parts, in their order."""
        return self.copy().values()

    def items(self) -> Any:
        """Return the keys and parts, in their order."""
        return self.copy().items()

    def copy(self) -> dict[Any, Any]:
        """Return a dictionary of the parts."""
        return {key: self[key] for key in self}


_READ = {*vars(DictStandIn), "__new__", "__init__", "__getattribute__", "__len__", "__contains__", "__class_getitem__"}
for _name in {*vars(dict)} - _READ - {"fromkeys", "__doc__"}:
    setattr(DictStandIn, _name, refused_method(_name))

_HOLDER = SimpleNamespace(stand_in=object())
_OWN_REFERENCES = sys.getrefcount(_HOLDER.stand_in)
