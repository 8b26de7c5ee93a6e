"""Iterators of loops that a trace replaces: their numbers and items are values of the tape, and no constants.

The items of an array are read at a symbolic integer, those of a list or tuple from tables, one for each part of them.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wengert.compiling.watched.containers import is_named_tuple
from wengert.compiling.watched.growing_lists import GrowingItems
from wengert.compiling.watched.records import (
    CONSTANT_KIND,
    Column,
    ItemIndex,
    Records,
    are_few,
    by_kind,
    can_be_column,
    can_be_record,
    contents_of,
    table_kind,
)
from wengert.compiling.watched.symbolic_ints import (
    SymbolicInt,
    float_of,
    lift_constant,
    record_integer_call,
    recorded_key,
    refuse_counter,
    refusing,
    symbolic_int,
)
from wengert.hooks.items import array_items
from wengert.recording.primitives import INPUT, ruled
from wengert.recording.record import record_call
from wengert.recording.recording import STATE, Recording, silent
from wengert.recording.slots import slot_of
from wengert.values.functional import WHOLE, iterations
from wengert.values.views import owner_of

_OF_ITERATION = {"__new__", "__getattribute__", "__doc__", "__iter__", "start", "stop", "step"}
_RefusingRange: Any = type("_RefusingRange", (), {
    name: refusing(name, lambda bounds, *args, f=f: f(bounds.numbers(), *args)) for name, f in vars(range).items()
    if name not in _OF_ITERATION
})  # fmt: skip


class SymbolicBounds(_RefusingRange):
    """A `range` of which a bound is a symbolic integer; it can only be iterated over."""

    def __init__(self, start: Any, stop: Any = None, step: Any = 1) -> None:
        bounds: tuple[Any, Any] = (0, start) if stop is None else (start, stop)
        self.start, self.stop, self.step = *bounds, step
        if type(self.step) is not int or abs(self.step) != 1:
            refuse_counter("a counter is a bound of a range with a step")

    def numbers(self) -> range:
        """Return the range of the integers of this call."""
        return range(int(float_of(self.start)), int(float_of(self.stop)), self.step)

    def __iter__(self) -> Iterator[Any]:
        numbers = self.numbers()
        if STATE.recording is None:
            return iter(numbers)
        made = SymbolicRange(STATE.recording, iter(numbers), numbers, self.start)
        heads: Any = STATE.recording.reads.heads  # type: ignore[union-attr]
        first = slot_of(STATE.recording, made.next)
        for loop in heads.loops_behind((self.start, self.stop)):
            heads.lifted_slots.setdefault(first, loop)  # it is a counter because a bound is one
        ends = (self.stop, self.start) if self.step > 0 else (self.start, self.stop)
        made.runs(record_integer_call(operator.sub, *ends))
        return made


class SymbolicRange:
    """A replacement of a range iterator that computes each number from the one before, on the tape.

    It advances the `given` iterator as well, which other code may hold. `number` is its number of iterations, negative
    for none, if the tape computes that.
    """

    number: Any = None
    tables: Sequence[int] = ()
    """The slots of the tables from which it reads its items."""

    def __init__(self, recording: Any, given: Any, numbers: range, start: Any = None) -> None:
        self.given, self.step = given, numbers.step
        self.next = start if type(start) is SymbolicInt else lift_constant(recording, numbers.start)

    def runs(self, number: Any) -> None:
        """Have a number of iterations that the tape computes."""
        self.number = number
        record_call(ruled(iterations), (float_of(number),), {})  # a guard, unless the loop becomes one in the code

    @property
    def counters(self) -> list[Any]:
        """The symbolic integers that the next iteration reads."""
        return [self.next]

    def __iter__(self) -> Iterator[Any]:
        return self

    def __length_hint__(self) -> int:
        return operator.length_hint(self.given)

    def __next__(self) -> Any:
        with silent():
            item = next(self.given)
        return self.take(item)

    def take(self, item: Any) -> Any:
        """Return the traced item that replaces the one which the given iterator returned; no counter is that, too."""
        return record_integer_call(operator.pos, self.advance(item))

    def advance(self, item: Any) -> Any:
        """Count an iteration; return the symbolic integer before."""
        expected = self.next
        if item != int(float_of(expected)):
            refuse_counter("other code advances the iterator of a loop")
        self.next = record_integer_call(operator.add, expected, self.step)
        return expected


class SymbolicItems(SymbolicRange):
    """A replacement of an iterator over an array, which reads its items at a symbolic integer."""

    def __init__(self, recording: Recording, given: Any, array: np.ndarray) -> None:
        last = given.gi_frame.f_locals.get("i", -1)
        super().__init__(recording, given, range(last + 1, len(array)))
        self.array = array
        lengths: Any = recording.reads.lengths  # type: ignore[union-attr]
        number = None if lengths is None or last >= 0 else lengths.shape_of(array)[0]
        if type(number) is SymbolicInt:
            self.number = number
            self.tables = [slot_of(recording, array)]  # type: ignore[list-item]

    def __length_hint__(self) -> int:
        return len(self.array) - int(float_of(self.next))

    def take(self, item: Any) -> Any:
        place = self.advance(self.given.gi_frame.f_locals["i"])
        return record_call(ruled(operator.getitem), (self.array, recorded_key(place)), {})


class SymbolicTuples(SymbolicRange):
    """A replacement of a `zip` or `enumerate` of symbolic iterators."""

    def __init__(self, given: Any, parts: Sequence[Any]) -> None:
        self.given, self.parts = given, parts
        self.tables = [table for part in parts for table in part.tables]
        numbers = [operator.length_hint(part) if part.number is None else part.number for part in parts]
        if any([type(number) is SymbolicInt for number in numbers]):
            self.number = functools.reduce(_lesser, [number for number in numbers if int(float_of(number)) < WHOLE])

    @property
    def counters(self) -> list[Any]:
        return [counter for part in self.parts for counter in part.counters]

    def __length_hint__(self) -> int:
        return min(map(operator.length_hint, self.parts))

    def take(self, item: Any) -> Any:
        return tuple([part.take(x) for part, x in zip(self.parts, item, strict=True)])


def _lesser(a: Any, b: Any) -> Any:
    return b if record_call(ruled(operator.lt), (float_of(b), float_of(a)), {}) else a


class SymbolicGrown(SymbolicRange):
    """A replacement of an iterator over a growing list, which reads its items from the array."""

    def __init__(self, recording: Recording, given: GrowingItems) -> None:
        super().__init__(recording, given, range(len(given.table.root)))
        self.table, self.number = given.table, given.table.count
        self.tables = [slot_of(recording, given.table.array)]  # type: ignore[list-item]

    def take(self, item: Any) -> Any:
        k = int(float_of(self.next))
        if self.table.count is not self.number or not self.table.is_growing or item is not self.table.root[k]:
            self.table.refuse("a loop changes the list that it runs over")
        return self.table.item_at(self.advance(k), item)


class SymbolicRows(SymbolicRange):
    """A replacement of an iterator over like items of a list, tuple or dictionary, which reads them from tables."""

    def __init__(self, recording: Recording, given: Any, items: Sequence[Any]) -> None:
        super().__init__(recording, given, range(len(items)))
        self.before = [*items]
        reads: Any = recording.reads
        reads.effects.learned.reads_tables = True
        self.reads = reads
        begin = len(recording.entries)
        self.read = self.column(self.before)
        entries = enumerate(recording.entries[begin:], begin)
        self.tables = [slot for slot, entry in entries if entry is not None and entry[0] is not INPUT]

    def take(self, item: Any) -> Any:
        k = int(float_of(self.next))
        if _ids_of(item) not in [*map(_ids_of, self.before[k : k + 1])]:
            refuse_counter("a loop changes the list that it runs over")
        return self.read(ItemIndex.of(k, self.advance(k)))

    def container(self, item: Any, parts: Sequence[Any]) -> Any:
        """Return a tuple like one of the items, which holds these parts."""
        return self.reads.note_made(tuple.__new__(type(item), parts), self.reads.original_of(item))

    def column(self, items: Sequence[Any]) -> Column:
        """Return the function that reads a part of the items, which `has_columns`, at an index on the tape."""
        if all([item is items[0] for item in items]):
            return lambda at: items[0]
        kinds = [*map(table_kind, items)]
        groups = [*dict.fromkeys(kinds)]
        if len(groups) == 1:
            return self.column_of_kind(items, groups[0])
        numbers = [*map(groups.index, kinds)]
        table = np.array(numbers, float)
        columns = []
        for kind in groups:
            first = items[kinds.index(kind)]
            alike = [item if kinds[k] == kind else first for k, item in enumerate(items)]
            columns.append(self.column_of_kind(alike, kind))

        def read(at: ItemIndex) -> Any:
            made, number = record_call(ruled(np.ndarray.item), (table, at.index), {}), numbers[at.k]
            for k in range(min(number + 1, len(groups) - 1)):
                record_call(ruled(operator.gt), (made, float(k)), {})  # a guard
            return columns[number](at)

        return read

    def column_of_kind(self, items: Sequence[Any], kind: Any) -> Column:
        """Return the function that reads items of one kind."""
        t = type(items[0])
        if kind[0] is CONSTANT_KIND:
            return lambda at: items[at.k]
        if can_be_record(items[0]):
            return Records(self, items).stand_in
        if t is tuple or is_named_tuple(t):
            parts = [self.column(part) for part in zip(*map(tuple.__iter__, items), strict=True)]
            return lambda at: self.container(items[at.k], [part(at) for part in parts])
        numbers = [*map(float_of, items)]
        table: Any = np.array(items, float) if t is int else record_call(ruled(np.array), (numbers,), {})
        if t is np.ndarray:
            self.reads.recording.memory.capture([table, *items])  # it logs writes into them from now on
            self.reads.heads.tables.append((table, items, len(self.reads.recording.entries)))
        take = ruled(np.ndarray.item if t is not np.float64 and t is not np.ndarray else operator.getitem)

        def read(at: ItemIndex) -> Any:
            made = record_call(take, (table, at.index), {})
            made = symbolic_int(self.reads.recording, made) if t is int or t is SymbolicInt else made
            return self.reads.note_made(made, self.reads.original_of(items[at.k]))

        return read

    def column_if_any(self, items: Sequence[Any]) -> Column | None:
        """Return the function that reads a part of records; None if a table cannot hold it."""
        return self.column(items) if has_columns(self.reads.recording, items) else None


def column_reader(recording: Recording, items: Sequence[Any]) -> Column | None:
    """Return the function that reads an item of a list or tuple from tables; None if tables cannot hold the items."""
    reads: Any = recording.reads
    if len(items) < 2 or not reads.effects.learned.may_read_tables or not has_columns(recording, items):
        return None
    return SymbolicRows(recording, iter(items), items).read


def _ids_of(item: Any) -> Any:
    """Return what tells an item from others; an iterator over the items of a dictionary makes its tuples anew."""
    return [*map(id, item)] if type(item) is tuple else id(item)


def has_columns(recording: Recording, items: Sequence[Any]) -> bool:
    """Whether tables can hold the items of a list or tuple, one for each part of them, or of those of each kind."""
    groups = by_kind(items)
    return are_few(groups, len(items)) and all([_has_columns(recording, alike) for alike in groups.values()])


def _has_columns(recording: Recording, items: Sequence[Any]) -> bool:
    """Whether tables can hold these items of one kind."""
    first, t = items[0], type(items[0])
    if table_kind(first)[0] is CONSTANT_KIND:
        return True
    if t is tuple or is_named_tuple(t):
        return all([has_columns(recording, part) for part in zip(*map(tuple.__iter__, items), strict=True)])
    if can_be_record(first):
        return _have_tables(recording, items)
    if t is int:
        return all([-WHOLE <= item <= WHOLE for item in items])
    if t is np.ndarray:
        return first.ndim > 0 and all([_is_row(recording, item, first) for item in items])
    return t in (SymbolicInt, float, np.float64)


def _have_tables(recording: Recording, items: Sequence[Any]) -> bool:
    """Whether tables can hold a part of these records from outside."""
    reads: Any = recording.reads
    if STATE.site in reads.effects.learned.no_records or None in [*map(reads.accessor_of, items)]:
        return False
    parts = [*map(contents_of, items)]
    return any([can_be_column([part[name] for part in parts]) for name in parts[0]])


def _is_row(recording: Recording, array: np.ndarray, like: np.ndarray) -> bool:
    """Whether a row of a table has the values and the memory layout of an array, into which nothing was written."""
    is_known = slot_of(recording, array) is not None or array.dtype.kind in "iu"
    is_own = array.flags.num == like.flags.num and array.flags.c_contiguous and id(array) not in recording.rounded
    return is_known and is_own and (array.shape, array.dtype) == (like.shape, like.dtype)


def check_tables(recording: Recording) -> None:
    """Refuse a trace that writes into an item of a list which it read from tables, or that keeps or returns one."""
    reads: Any = recording.reads
    tables = reads.heads.tables
    for table, items, begin in tables:
        written = {id(owner_of(array)) for at, array, *_ in recording.memory.undo if at >= begin}
        is_written = not written.isdisjoint([id(owner_of(array)) for array in (table, *items)])
        if is_written or any([row.tobytes() != item.tobytes() for row, item in zip(table, items, strict=True)]):
            refuse_counter("a loop writes into an array of a list")
    owners = [owner_of(table) for table, _, _ in tables]
    for slot in reads.slots if tables else ():
        entry = recording.entries[slot]
        made = None if entry is None else entry[1]
        if isinstance(made, np.ndarray) and any([owner_of(made) is own for own in owners]):
            refuse_counter("it returns an array of a list")


SYMBOLIC_ITERATORS = (SymbolicRange, SymbolicItems, SymbolicTuples, SymbolicGrown, SymbolicRows)


def symbolic_iterator(recording: Recording, iterator: Any) -> Any:
    """Return the replacement of an iterator that has not begun; None if there is none."""
    made = _replacement(recording, iterator)
    if made is not None and made.number is not None:
        made.runs(made.number)
    return made


def _replacement(recording: Recording, iterator: Any) -> Any:
    if type(iterator) is GrowingItems:
        return SymbolicGrown(recording, iterator) if iterator.items is None and iterator.table.is_growing else None
    if type(iterator) is _RANGE_ITERATOR:
        reduced: Any = iterator.__reduce__()
        _, (numbers,), *begun = reduced
        return SymbolicRange(recording, iterator, numbers[begun[0] if begun and begun[0] else 0 :])
    array = array_behind(iterator)
    if array is not None:
        return SymbolicItems(recording, iterator, array)
    if (items := _items_behind(recording, iterator)) is not None:
        return SymbolicRows(recording, iterator, items)
    parts = zipped_parts(iterator)
    found = [_replacement(recording, part) for part in parts]
    return SymbolicTuples(iterator, found) if parts and None not in found else None


def may_be_symbolic(recording: Recording, iterator: Any) -> bool:
    """Whether an iterator has a replacement."""
    if type(iterator) in (_RANGE_ITERATOR, GrowingItems) or array_behind(iterator) is not None:
        return True
    if _items_behind(recording, iterator) is not None:
        return True
    parts = zipped_parts(iterator)
    return bool(parts) and all([may_be_symbolic(recording, part) for part in parts])


def _items_behind(recording: Recording, iterator: Any) -> Sequence[Any] | None:
    """Return the list or tuple over which an iterator runs that has not begun, if tables can hold its items."""
    reads: Any = recording.reads
    if type(iterator) not in _ITEM_ITERATORS or not reads.effects.learned.may_read_tables:
        return None
    _, (items,), *begun = iterator.__reduce__()
    is_whole = len(items) > 1 and begun in ([], [0])
    return items if is_whole and has_columns(recording, items) else None


def array_behind(iterator: Any) -> np.ndarray | None:
    """Return the array whose items a hook iterates over."""
    if type(iterator) is not types.GeneratorType or iterator.gi_code is not _ARRAY_ITEMS or iterator.gi_frame is None:
        return None
    array: np.ndarray = iterator.gi_frame.f_locals["array"]
    is_rounded = STATE.recording is not None and id(array) in STATE.recording.rounded
    return array if type(array) is np.ndarray and array.dtype.kind in "fciu" and not is_rounded else None


def zipped_parts(iterator: Any) -> Sequence[Any]:
    """Return the iterators that a `zip` or `enumerate` advances together."""
    if type(iterator) is zip:
        parts: Sequence[Any] = iterator.__reduce__()[1]
        return parts
    if type(iterator) is enumerate:
        reduced: Any = iterator.__reduce__()
        items, first = reduced[1]
        return iter(range(first, sys.maxsize)), items
    return ()


_ITEM_ITERATORS = {*map(type, (iter([]), iter(()), iter({}.values()), iter({}.items())))}
_RANGE_ITERATOR = type(iter(range(0)))
_ARRAY_ITEMS = array_items.__code__
