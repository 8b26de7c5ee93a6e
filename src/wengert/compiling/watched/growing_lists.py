"""Growing lists: lists to which a loop appends any number of items, which the tape has in an array with room for more.

The list stays the one that the code made. Its items are numbers or arrays that no op of the tape may read, as those of
a filled list: the hooks read the array instead. The tape computes the number of items. Where the code reads the list as
a whole, it reads the selection of the items from the array; where it uses the list in another way, a guard has the
number of items stay the same, and the items become values of their own.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.compiling.watched.lifting import FILLED, FilledList, FilledWithBoth, GrowingList, LoopKey
from wengert.compiling.watched.symbolic_ints import (
    SymbolicInt,
    float_of,
    lift_constant,
    record_integer_call,
    recorded_key,
    refuse_counter,
    symbolic_int,
)
from wengert.hooks.code_swap import HOOKS
from wengert.recording.primitives import ruled
from wengert.recording.record import record_call
from wengert.recording.recording import STATE
from wengert.values.specs import FLOATS
from wengert.values.views import owner_of

LEAST_ROOM = 256
"""For how many items the array of a list has room at first; each time that this is too few, for four times as many."""


_WHOLE_TYPES = {int, SymbolicInt}


class GrowingTable:
    """The array of a list `root`, of which the first `count` rows are the items, and the loops that append to it."""

    has_holes = False

    def __init__(self, lists: Any, root: list[Any], kind: type[GrowingList], loop: LoopKey) -> None:
        self.lists, self.root, self.item, self.loops = lists, root, kind, frozenset([loop])
        self.recording = lists.reads.recording
        [known] = kind.types if len(kind.types) == 1 else [None]
        self.kind: type[FilledList] = FILLED.get(known, FilledWithBoth)
        self.firsts: set[float] = set()  # the floats among its items
        self.room = max([LEAST_ROOM, *[room for key, room in lists.learned.rooms if key == loop]])
        self.array: Any = None
        self.count: Any = None
        self.length = 0  # how many items of the list the array has
        self.frozen: list[tuple[np.ndarray, int]] = []  # arrays that are items, and since when nothing may write them
        self.frozen_rows: list[tuple[list[Any], list[Any]]] = []  # lists that are items, with their content

    @property
    def is_growing(self) -> bool:
        """Whether its items still are in the array."""
        return self.lists.views.get(id(self.root)) is self

    def begin(self) -> None:
        """Record the array, with the items that the list has now."""
        zero = lift_constant(self.recording, np.zeros((), self.item.dtype)[()])
        self.array = record_call(ruled(np.full), ((self.room, *self.item.shape), zero), {})
        self.count = lift_constant(self.recording, 0)
        self.catch_up()

    def catch_up(self) -> None:
        """Have the array hold the items that the list alone has."""
        added = self.root[self.length :]
        del self.root[self.length :]
        for item in added:
            self.append(item)

    def holds(self, item: Any) -> bool:
        """Whether the array can hold an item."""
        kind: Any = self.item
        if kind.container is not None:
            if type(item) is not kind.container or len(item) != kind.shape[0]:
                return False
            return all([type(x) in (_WHOLE_TYPES if k in kind.whole else kind.types) for k, x in enumerate(item)])
        if not kind.shape:
            return type(item) in (_WHOLE_TYPES if self.is_whole else kind.types)
        is_alike = type(item) is np.ndarray and (item.shape, item.dtype) == (kind.shape, kind.dtype)
        return is_alike and item.flags.c_contiguous

    @property
    def is_whole(self) -> bool:
        """Whether the items are integers."""
        return self.item.types == {int}

    def append(self, item: Any) -> None:
        """Append an item, as `list.append` does."""
        self._check_recording()
        if not self.holds(item):
            parts = item if type(item) in (list, tuple) else (item,)
            self.refuse("a list has items of several types", {*map(type, parts)} <= FLOATS | _WHOLE_TYPES)
        if len(self.root) >= self.room:
            [loop] = self.loops
            refuse_counter("a list grows beyond its room", ("rooms", [(loop, 4 * self.room)]))
        record_call(ruled(operator.lt), (float_of(self.count), float(self.room)), {})  # a guard
        for key, part in self._parts(self.count, item):
            HOOKS["setitem"](self.array, recorded_key(key), float_of(part), STATE.site)
            if type(part) is float:
                self.firsts.add(self.lists.known_float(part))
        self._freeze(item)
        self.root.append(self.lists.unread_item(self, item))
        self.length += 1
        self.count = record_integer_call(operator.add, self.count, 1)

    def measured(self) -> Any:
        """Return the number of items; a constant, if an earlier trace has used it as the tape cannot."""
        if not self.lists.learned.sized.isdisjoint(self.loops):
            record_call(ruled(operator.eq), (float_of(self.count), float(len(self.root))), {})  # a guard
            return len(self.root)
        self.lists.measured |= self.loops
        return self.count

    def sliced(self, part: slice) -> list[Any]:
        """Return a list of the items in a slice: one of any length, too, if the slice ends at or before the end."""
        self._check_recording()
        start, stop, dropped = part.start or 0, part.stop or 0, (part.start or 0) - (part.stop or 0)
        made = self.root[part]
        if part.step not in (None, 1) or start < 0 or stop > 0 or part.stop == 0 or dropped > len(self.root):
            record_call(ruled(operator.eq), (float_of(self.count), float(len(self.root))), {})  # a guard
            return [self.item_at(k, self.root[k]) for k in range(len(self.root))[part]]
        record_call(ruled(operator.ge), (float_of(self.count), float(dropped)), {})  # a guard
        table = GrowingTable(self.lists, made, self.item, *self.loops)
        table.room, table.firsts, table.length = self.room, self.firsts, len(made)
        table.array = record_call(ruled(np.copy), (self.array,), {})
        if start:
            ends = [HOOKS["getitem"](end, self.array, STATE.site) for end in (slice(start, None), slice(start))]
            table.array = record_call(ruled(np.concatenate), (ends,), {})
        table.count = record_integer_call(operator.sub, self.count, dropped)
        self.lists.show(table)
        return made

    def extremum(self, f: Any) -> Any:
        """Return the first largest or smallest item, as `max` or `min` does; None if there is none, or one is nan."""
        if self.item.shape or self.is_whole or not self.root or any([item != item for item in self.root]):
            return None
        record_call(ruled(operator.gt), (float_of(self.count), 0.0), {})  # a guard
        place = record_call(ruled(np.argmax if f is max else np.argmin), (self.items(),), {})
        made = self.item_at(place, self.root[int(place)])
        record_call(ruled(operator.eq), (made, made), {})  # a guard: no item is nan
        return made

    def total(self) -> Any:
        """Return the sum of the items, as `sum` does; that of none is an integer."""
        record_call(ruled(operator.gt), (float_of(self.count), 0.0), {})  # a guard
        terms = record_call(ruled(np.where), (self.mask(), self.array, 0.0), {})
        totals = record_call(ruled(np.cumsum), (terms,), {})
        is_float = self.is_whole or self.kind is FILLED[float]
        total = record_call(ruled(np.ndarray.item if is_float else operator.getitem), (totals, -1), {})
        return symbolic_int(self.recording, total) if self.is_whole else total

    @property
    def has_plain_sum(self) -> bool:
        """Whether `sum` adds the items one by one: from Python 3.12 on it adds floats with a correction."""
        if self.item.shape or not self.length:
            return False
        return len(self.item.types) == 1 and (self.kind is not FILLED[float] or sys.version_info < (3, 12))

    def _parts(self, place: Any, item: Any) -> list[tuple[Any, Any]]:
        """Return the parts of an item that the array has at keys of their own, with these keys."""
        if self.item.container is None:
            return [(place, item)]
        return [((place, k), part) for k, part in enumerate(item)]

    def _freeze(self, item: Any) -> None:
        """Have the trace refused if the code writes into an array or list that is an item."""
        if type(item) is list:
            self.frozen_rows.append((item, [*item]))
        elif type(item) is np.ndarray:
            self.recording.memory.capture([item])
            self.frozen.append((item, len(self.recording.entries)))

    def check(self) -> None:
        """Refuse a trace that writes into an item."""
        last = {id(owner_of(array)): at for at, array, *_ in self.recording.memory.undo} if self.frozen else {}
        is_written = any([last.get(id(owner_of(item)), -1) >= begin for item, begin in self.frozen])
        if is_written or any([[*map(id, row)] != [*map(id, then)] for row, then in self.frozen_rows]):
            self.refuse("a loop writes into an array or list that it has appended to a list")

    def read(self, key: Any) -> Any:
        """Return the item at an integer, read from the array."""
        self._check_recording()
        place = record_integer_call(operator.add, self.count, key) if int(float_of(key)) < 0 else key
        for number in {id(key): key, id(place): place}.values():
            if type(number) is not int:
                record_call(ruled(operator.ge), (float_of(number), 0.0), {})  # a guard, as the next
        if place is key:
            record_call(ruled(operator.gt), (float_of(self.count), float_of(key)), {})
        item = self.root[int(float_of(key))]  # may raise an IndexError
        return self.item_at(place, item)

    def item_at(self, place: Any, item: Any) -> Any:
        """Return the item at a place that there is, read from the array; `item` is like it."""
        if self.item.container is not None:
            made = self.item.container([self._number(key, part) for key, part in self._parts(place, item)])
        elif self.item.shape:
            row = record_call(ruled(operator.getitem), (self.array, recorded_key(place)), {})
            made = record_call(ruled(np.copy), (row,), {})
        else:
            return self._number((place,), item)
        self._freeze(made)
        return made

    def _number(self, key: tuple[Any, ...], item: Any) -> Any:
        """Return the number at a key of the array."""
        if type(item) is not SymbolicInt:
            return self.lists.number(self, key, item, False)
        key = recorded_key(key if len(key) > 1 else key[0])
        return symbolic_int(self.recording, record_call(ruled(np.ndarray.item), (self.array, key), {}))

    def write(self, key: Any, value: Any) -> bool:
        """Set the item at an integer, and of the array; return False if the array cannot hold it."""
        if not self.holds(value) or self.item.shape:
            self.settle()
            return False
        self.read(key)
        place = record_integer_call(operator.add, self.count, key) if int(float_of(key)) < 0 else key
        HOOKS["setitem"](self.array, recorded_key(place), value, STATE.site)
        self.root[int(float_of(key))] = self.lists.unread_item(self, value)
        return True

    def items(self) -> np.ndarray:
        """Return an array of the items, of which the tape computes how many there are."""
        self._check_recording()
        self.lists.learned.varying.add(STATE.site)
        made: np.ndarray = HOOKS["getitem"](self.lists.mask_of(self), self.array, STATE.site)
        return made

    def mask(self) -> np.ndarray:
        """Return which places of the array have an item."""
        made: np.ndarray = record_call(ruled(np.less), (np.arange(float(self.room)), float_of(self.count)), {})
        return made

    def is_like(self, other: Any) -> bool:
        """Whether another list has grown to the same length; a guard has it do so."""
        if (self.room, len(self.root)) != (other.room, len(other.root)):
            return False
        return bool(record_call(ruled(operator.eq), (float_of(self.count), float_of(other.count)), {}))

    def settle(self) -> None:
        """Have as many items as now, and each a value of its own that is read from the array."""
        self._check_recording()
        if not self.lists.may_settle(self):
            self.refuse("a loop also uses a list otherwise than by appending to it and reading its items")
        record_call(ruled(operator.eq), (float_of(self.count), float(len(self.root))), {})  # a guard
        del self.lists.views[id(self.root)]
        if self.is_whole or self.item.whole:
            self.lists.settled_integers |= self.loops
        for k, item in enumerate(self.root):
            self.root[k] = self.item_at(k, item)

    def refuse(self, reason: str, is_mixed: bool = False) -> Any:
        """Raise SymbolicIntError at the user's line; the next trace has no array, or one for numbers of both types."""
        is_mixed &= self.kind is not FilledWithBoth
        return refuse_counter(reason, ("mixed" if is_mixed else "unfilled", self.loops))

    def form(self, walk: Any) -> Any:
        """Return the form of the list in the state of a loop."""
        walk.slots.append(self.lists.slot_of(self.array))
        return self.item, walk.number(self.root), self.room, walk.form(self.count)

    def _check_recording(self) -> None:
        if STATE.recording is not self.recording:
            self.refuse("a function under wg.vmap uses a list that a loop fills")


class GrowingItems:
    """An iterator over a growing list, which a loop may replace; elsewhere a guard fixes the number of items."""

    def __init__(self, table: GrowingTable) -> None:
        self.table = table
        self.items: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __length_hint__(self) -> int:
        return operator.length_hint(self.table.root if self.items is None else self.items)

    def __next__(self) -> Any:
        if self.items is None:
            self.items = iter(self.table.root)
            if self.table.is_growing and STATE.recording is not None:  # else a symbolic iterator advances it
                self.table.settle()
        return next(self.items)
