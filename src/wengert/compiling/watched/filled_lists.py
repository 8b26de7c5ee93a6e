"""Filled lists: lists that a loop writes at a counter, whose items the tape has in an array.

The list stays the one that the code made, with the same items for all to see, so any name of it may be used. The hooks
of items read and write the array instead. Each item is a number of its own that no op of the tape may read; whatever
else reads items first has them read from the array (`settle`). If something gets past that, the trace is refused.

Lists of lists of one length have one array, too. An item of such a list is a stand-in that knows its index. A
dictionary whose keys are integers is like a list of its values.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.constants import constant_key
from wengert.compiling.watched.counter_lookups import KeyPlaces, has_tables
from wengert.compiling.watched.growing_lists import GrowingTable
from wengert.compiling.watched.lifting import (
    FILLED,
    FilledList,
    FilledWithBoth,
    GrowingList,
    LoopKey,
    of_both_floats,
)
from wengert.compiling.watched.records import is_held, open_heads, refused_method
from wengert.compiling.watched.symbolic_ints import SymbolicInt, float_of, lift_constant, recorded_key, refuse_counter
from wengert.compiling.watched.watchable import ATOMS
from wengert.hooks.code_swap import HOOKS
from wengert.recording.decisions import guard
from wengert.recording.primitives import ruled
from wengert.recording.record import record_call
from wengert.recording.recording import STATE, flat_slots
from wengert.recording.slots import slot_of
from wengert.values.specs import FLOATS

MOST_SETTLED = 4
"""How often the items of a list may be read from its array at once, before loops no longer fill it."""

FILLABLE = {list, dict}
"""The types of containers whose items the tape may have in an array."""

LEAST_ITEMS = 9
"""Of a list with fewer items the items are variables of their own, unless a loop has so many iterations."""


class Table:
    """The array of a list, the lists of which it has the items, and the loops that fill it."""

    def __init__(self, kind: type[FilledList], root: Any, shape: tuple[int, ...], loops: Collection[LoopKey]) -> None:
        self.kind, self.root, self.shape, self.loops = kind, root, shape, frozenset(loops)
        self.places = KeyPlaces.of(root) if type(root) is dict else None
        self.firsts: set[float] = set()  # the floats among its items
        self.array: Any = None
        self.has_holes = False  # whether some items have no number in the array

    def is_number(self, item: Any) -> bool:
        """Whether the array has an item; those of other types are holes, nan in the array."""
        return type(item) in self.kind.types


class ListView(NamedTuple):
    """A list whose `items` are in the array of a table, of which `at` are their first indices."""

    table: Table
    at: tuple[Any, ...]
    items: Any

    @property
    def has_numbers(self) -> bool:
        """Whether the items of the list are numbers, no lists."""
        return len(self.at) + 1 == len(self.table.shape)


class FilledLists:
    """The lists that loops of a trace fill."""

    def __init__(self, heads: Any) -> None:
        self.heads, self.reads = heads, heads.reads
        self.views: dict[int, Any] = {}  # a ListView or GrowingTable
        self.settled: dict[int, tuple[Any, int]] = {}
        self.grown: list[GrowingTable] = []
        self.measured = frozenset[LoopKey]()  # the loops of growing lists whose lengths the code has asked for
        self.settled_integers = frozenset[LoopKey]()  # those of growing lists with integers that it uses in other ways
        self.gathered: list[list[Any]] = []  # to which wengert appends what a generator yields
        self.masks: list[tuple[GrowingTable, int, np.ndarray]] = []  # of growing lists, with the lengths that these had
        self.unread: dict[int, Any] = {}  # by the slots of the items of lists
        self.lent, self.most_lent = (
            list[int](),
            64,
        )  # the ids of stand-ins, and from how many on unused ones are dropped

    # -- which lists have an array

    def fill(self, root: Any, loops: Collection[LoopKey], kind: type[FilledList] | None = None) -> bool:
        """Have an array for the items of a list from here on, if possible of this `kind`; return whether it has one."""
        shape = self._shape(root, set()) if STATE.recording is self.reads.recording else (0,)
        if self._is_short(shape, loops) or not loops or not self.learned.unfilled.isdisjoint(loops):
            return False
        for _, holder in _lists_in(root, len(shape)):
            if id(holder) in self.views:
                self.settle(self.views[id(holder)])
        items = [*_items_of(root, len(shape))]
        kind = self._kind(
            [item for _, _, item in items], kind if self.learned.mixed.isdisjoint(loops) else FilledWithBoth
        )
        if kind is None:
            return False
        table = Table(kind, root, shape, loops)
        table.firsts = {self.known_float(item) for _, _, item in items if type(item) is float}
        table.has_holes = not all([table.is_number(item) for _, _, item in items])
        table.array = self._array(table, [item if table.is_number(item) else np.nan for _, _, item in items])
        for holder, k, item in items:
            if table.is_number(item):
                self._put(table, holder, k, item)
        for index, holder in _lists_in(root, len(shape)):
            self.views[id(holder)] = ListView(table, index, holder)
        return True

    def grow(self, root: Any, loop: LoopKey, kind: type[GrowingList]) -> None:
        """Have an array for the items of a list to which a loop appends, if possible of this `kind`."""
        is_gathered = any([root is gathered for gathered in self.gathered])
        is_own = type(root) is list and id(root) not in self.reads.known_objects and not is_gathered
        if not is_own or STATE.recording is not self.reads.recording or loop in self.learned.unfilled:
            return
        if kind.types <= FLOATS and kind.types and loop in self.learned.mixed:
            kind = of_both_floats(kind)
        table = GrowingTable(self, root, kind, loop)
        if not all(map(table.holds, root)) and kind.types and kind.types <= FLOATS:
            table = GrowingTable(self, root, of_both_floats(kind), loop)
        if all(map(table.holds, root)):
            table.begin()
            self.show(table)

    def show(self, table: GrowingTable) -> None:
        """Have the hooks read the items of a list from an array from now on."""
        self.views[id(table.root)] = table
        self.grown.append(table)

    def catch_up(self, root: Any) -> None:
        """Have the array of the list that a comprehension makes hold what the last iteration has appended."""
        table = self.views.get(id(root))
        if type(table) is GrowingTable:
            table.catch_up()

    def mask_of(self, table: GrowingTable) -> np.ndarray:
        """Return which places of the array of a growing list have an item; lists of one length have one mask."""
        for other, length, mask in self.masks:
            if length == len(other.root) and table.is_like(other):
                return mask
        self.masks.append((table, len(table.root), table.mask()))
        return self.masks[-1][-1]

    def _is_short(self, shape: tuple[int, ...], loops: Collection[LoopKey]) -> bool:
        """Whether the items of a list of this shape are few, and written in few iterations of these loops."""
        runs = [run.length for run, _ in self.heads.loops.values() if run.key in loops]
        return not math.prod(shape) or max([math.prod(shape), *runs]) < LEAST_ITEMS

    @property
    def learned(self) -> Any:
        """The findings of earlier traces."""
        return self.reads.effects.learned

    def _is_traced(self, item: Any) -> bool:
        return slot_of(self.reads.recording, item) is not None

    def known_float(self, item: float) -> float:
        """Return a float that is constant; 0.0 for others, of which nothing is known."""
        return 0.0 if self._is_traced(item) else item

    def _kind(self, items: list[Any], wanted: type[FilledList] | None) -> type[FilledList] | None:
        """Return the kind of a list with these items, the wanted one if the holes are constants; None for no kind."""
        numbers = {type(item) for item in items} & FilledWithBoth.types
        wanted = wanted or (FILLED[next(iter(numbers))] if len(numbers) == 1 else FilledWithBoth)
        others = [item for item in items if type(item) not in FilledWithBoth.types]
        if (others and len(others) == len(items) and wanted is FilledWithBoth) or not {*map(type, others)} <= ATOMS:
            return None
        holes = [item for item in items if type(item) not in wanted.types]
        return FilledWithBoth if any(map(self._is_traced, holes)) else wanted

    def _shape(self, thing: Any, seen: set[int]) -> tuple[int, ...]:
        """Return the shape of a list of the code's own, or of lists of one length; (0,) if it has none."""
        others = seen, self.heads.indexed, self.reads.known_objects
        if type(thing) not in FILLABLE or not thing or any([id(thing) in known for known in others]):
            return (0,)
        if type(thing) is dict:
            return (len(thing) if not seen and has_tables(thing) else 0,)
        seen.add(id(thing))
        kinds = {type(item) is list for item in thing}
        if kinds == {False}:
            return (len(thing),)
        shapes = {self._shape(item, seen) for item in thing}
        return (len(thing), *shapes.pop()) if len(shapes) == 1 else (0,)

    def _array(self, table: Table, values: list[Any]) -> Any:
        """Record the array of these values: if most are one constant, full of it, and then the others are written."""
        recording = self.reads.recording
        keys = [None if self._is_traced(x) else constant_key(x) for x in values]
        (key, count), *_ = Counter(keys).most_common(1)
        if key is None or 2 * count < len(values):
            first, *rest = values
            values = [first if self._is_traced(first) else lift_constant(recording, first), *rest]
            made = record_call(ruled(np.array), (values,), {})
            return made if len(table.shape) == 1 else record_call(ruled(np.reshape), (made, table.shape), {})
        common = float(values[keys.index(key)])
        made = record_call(ruled(np.full), (table.shape, lift_constant(recording, common)), {})
        for index, own, x in zip(itertools.product(*map(range, table.shape)), keys, values, strict=True):
            if own != key:
                HOOKS["setitem"](made, index, x, STATE.site)
        return made

    def unread_item(self, table: Any, value: Any) -> Any:
        """Return a value that is like an item, and that nothing may read."""
        recording = self.reads.recording
        if type(value) in (list, tuple):
            return type(value)([self.unread_item(table, part) for part in value])
        if type(value) is np.ndarray:
            made: Any = value.copy()
            recording.memory.add_root(made, recording.constant(made))
        else:
            made = lift_constant(recording, int(float_of(value)) if type(value) is SymbolicInt else value)
        self.unread[slot_of(recording, made)] = table  # type: ignore[index]
        return made

    def _put(self, table: Table, holder: Any, k: int, value: Any) -> None:
        """Set an item of a list to a number that nothing may read."""
        HOOKS["setitem"](holder, k, self.unread_item(table, value), STATE.site)

    def slot_of(self, value: Any) -> int | None:
        """Return the slot of a value of the trace."""
        return slot_of(self.reads.recording, value)

    # -- items

    def read(self, view: Any, key: Any) -> Any:
        """Return the item of a list at an integer, read from its array."""
        if type(view) is GrowingTable:
            return view.read(key)
        table = view.table
        item = view.items[int(float_of(key))]  # may raise an IndexError or a KeyError
        self._check_recording(table)
        index = (*view.at, self._place(table, key))
        if not view.has_numbers:
            return self._stand_in(table, index, item)
        return self.number(table, index, item, table.has_holes)

    def _place(self, table: Table, key: Any) -> Any:
        """Return at which index an array has the item of a list at an index, or of a dictionary under a key."""
        if table.places is None:
            return key
        return table.places.at(key) if type(key) is int else self.heads.lookups.place(table.places, key)

    def copy(self, view: ListView, guards: bool = True) -> list[Any]:
        """Return a list of the items, each read from the array."""
        is_fixed = _has_no_counter(view.at)
        self._guard_holes(view, is_fixed and guards)
        guards = guards and not is_fixed
        places = [((*view.at, k), item) for k, item in enumerate(view.items)]
        if view.has_numbers:
            return [self.number(view.table, *place, guards and view.table.has_holes) for place in places]
        return [self.copy(ListView(view.table, *place), guards) for place in places]

    def number(self, table: Table, index: tuple[Any, ...], item: Any, guards: bool) -> Any:
        """Return the number at an index, read from the array; with `guards`, one that it is no hole."""
        if slot_of(self.reads.recording, item) not in self.unread:
            is_other = type(item) in FilledWithBoth.types and not self._is_traced(item)
            self.refuse(table, "an item of a list is read before it is written", is_other)
        is_float = type(item) is float and (table.kind is FILLED[float] or _has_no_counter(index))
        made = record_call(ruled(np.ndarray.item if is_float else operator.getitem), (table.array, _key_of(index)), {})
        if guards:
            self._refuse_nan(table, item)
            record_call(ruled(operator.eq), (made, made), {})
        if table.kind is not FilledWithBoth or type(made) is float:
            return made
        retyped, recording = self.heads.retyped, self.reads.recording
        retyped.note(recording, slot_of(recording, made), table.firsts)
        return retyped.as_float(recording, made) if type(item) is float else made

    def _guard_holes(self, view: ListView, guards: bool) -> None:
        """Guard which items are holes."""
        if guards and view.table.has_holes:
            array, recording = view.table.array, self.reads.recording
            array = record_call(ruled(operator.getitem), (array, view.at), {}) if view.at else array
            guard(recording, holes_in, array, slot_of(recording, array))  # type: ignore[arg-type]

    def _refuse_nan(self, table: Table, item: Any) -> None:
        if table.is_number(item) and item != item:
            self.refuse(table, "an item of a list is nan")

    def write(self, view: Any, key: Any, value: Any) -> bool:
        """Set the item of a list at an integer, and of its array; return False if the array cannot hold it."""
        if type(view) is GrowingTable:
            return view.write(key, value)
        table, place = view.table, int(float_of(key))
        is_new = table.places is not None and place not in table.places
        if is_new or not view.has_numbers or type(value) not in FilledWithBoth.types:
            self.settle(view)
            return False
        view.items[place] = view.items[place]  # may raise an IndexError
        self._check_recording(table)
        index = (*view.at, self._place(table, key))
        if not table.is_number(value):
            self.refuse(table, "a list has items of several types", True)
        if type(value) is float:
            table.firsts.add(self.known_float(value))
        HOOKS["setitem"](table.array, _key_of(index), value, STATE.site)
        self._put(table, view.items, place, value)
        self.heads.stores.note(view.items, place)
        return True

    def may_settle(self, table: Any) -> bool:
        """Note that the items of a list are read from its array at once; return False if that is so too often."""
        _, count = self.settled.get(id(table.root), (None, 0))
        self.settled[id(table.root)] = table.root, count + 1
        return count < MOST_SETTLED

    def settle(self, view: Any) -> None:
        """Have the items of a list that has an array be numbers read from it: something reads or changes them."""
        if type(view) is GrowingTable:
            view.settle()
            return
        table = view.table
        self._check_recording(table)
        if not self.may_settle(table):
            self.refuse(table, "a loop also uses a list otherwise than by items")
        self.views = {key: other for key, other in self.views.items() if other.table is not table}
        items = [*_items_of(table.root, len(table.shape))]
        self._guard_holes(ListView(table, (), table.root), True)
        for index, (holder, k, item) in zip(itertools.product(*map(range, table.shape)), items, strict=True):
            self._refuse_nan(table, item)
            if table.is_number(item) or type(item) in FilledWithBoth.types:
                HOOKS["setitem"](holder, k, self.number(table, index, item, False), STATE.site)

    def _stand_in(self, table: Table, index: tuple[Any, ...], items: list[Any]) -> Any:
        """Return a stand-in for a list of a list, which knows at which index it is."""
        if len(self.lent) > self.most_lent:
            self._drop_unused()
        made = ListStandIn(items)
        self.lent.append(id(made))
        self.views[id(made)] = ListView(table, index, items)
        self.heads.records[id(made)] = ItemOfList(self, self.views[id(made)], made)
        return made

    def _drop_unused(self) -> None:
        """Drop the stand-ins that nothing holds any more: each has as many items as its list."""
        records = self.heads.records
        unused = [key for key in self.lent if not is_held(records[key])]
        for key in unused:
            del records[key]
            self.views.pop(key, None)
        self.lent = [key for key in self.lent if key in records]
        self.most_lent = 64 + 2 * len(self.lent)

    def _check_recording(self, table: Table) -> None:
        if STATE.recording is not self.reads.recording:
            self.refuse(table, "a function under wg.vmap uses a list that a loop fills")

    def refuse(self, table: Any, reason: str, is_mixed: bool = False) -> Any:
        """Raise SymbolicIntError at the user's line; the next trace has no array, or one for numbers of both types."""
        is_mixed &= table.kind is not FilledWithBoth
        return refuse_counter(reason, ("mixed" if is_mixed else "unfilled", table.loops))

    @property
    def lesson(self) -> tuple[str, Collection[LoopKey]] | None:
        """Return what the next trace does otherwise if this one cannot use a counter: it may be of a growing list."""
        if self.settled_integers:
            return "unfilled", self.settled_integers
        return ("sized", self.measured) if self.measured else None

    def refuse_identity(self, t: type) -> None:
        """Refuse to compare the identity of things of a type, if lists have such items: each read makes another one."""
        for table in self.unread.values() if t in FLOATS else [x for x in self.grown if x.item.shape]:
            self.refuse(table, "it compares the identity of numbers or arrays")

    def check(self) -> None:
        """Refuse a trace that has read an item otherwise than from the array."""
        slots = self.unread and [
            slot for entry in self.reads.recording.entries if entry for slot in flat_slots(entry[2])
        ]
        for slot in (*slots, *self.reads.slots):
            if slot in self.unread:
                self.refuse(self.unread[slot], "an item of a list that a loop fills is read unseen")
        for table in self.grown:
            table.check()

    def form(self, walk: Any, view: Any) -> Any:
        """Return the form of a list in the state of a loop."""
        if type(view) is GrowingTable:
            return view.form(walk)
        table = view.table
        walk.slots.append(slot_of(self.reads.recording, table.array))
        for _, holder in _lists_in(view.items, len(table.shape) - len(view.at)):
            walk.number(holder)  # as if it had no array
        index = [*map(walk.form, view.at)]
        keys = (*table.root,) if type(table.root) is dict else ()
        return table.kind, walk.number(table.root), table.has_holes, table.shape, keys, *index


class ItemOfList:
    """The record of a stand-in for a list of lists."""

    def __init__(self, lists: FilledLists, view: ListView, stand_in: Any) -> None:
        self.lists, self.view, self.stand_in, self.original = lists, view, stand_in, view.items

    def refuse(self, reason: str) -> Any:
        """Raise SymbolicIntError at the user's line; the next trace has no array."""
        return self.lists.refuse(self.view.table, reason)

    def form(self, walk: Any) -> Any:
        """Return the form in the state of a loop: of which array it is an item, and at which index."""
        return self.lists.form(walk, self.view)


def holes_in(array: np.ndarray) -> bytes:
    """Return which items of an array are nan."""
    return np.isnan(array).tobytes()


def list_view(thing: Any) -> Any:
    """Return the ListView or GrowingTable of a list that has an array; None for all other things."""
    found = lists_here()
    return None if found is None else found.views.get(id(thing))


def lists_here() -> FilledLists | None:
    """Return the filled lists of the trace; None outside of one."""
    return next((heads.lists for heads in open_heads()), None)


def _has_no_counter(index: tuple[Any, ...]) -> bool:
    """Whether no counter is in an index."""
    return not any([type(k) is SymbolicInt for k in index])


def _key_of(index: tuple[Any, ...]) -> Any:
    return recorded_key(index if len(index) > 1 else index[0])


def _lists_in(thing: Any, rank: int) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield a list and all lists in it, with their indices."""
    yield (), thing
    for k, part in enumerate(thing if rank > 1 else ()):
        for index, found in _lists_in(part, rank - 1):
            yield (k, *index), found


def _items_of(thing: Any, rank: int) -> Iterator[tuple[Any, int, Any]]:
    """Yield the numbers in a list, or in lists of it, each with its holder and its index or key there."""
    for index, holder in _lists_in(thing, rank):
        if len(index) == rank - 1:
            for k, item in [(k, holder[k]) for k in sorted(holder)] if type(holder) is dict else enumerate(holder):
                yield holder, k, item


_KEPT_METHODS = {"__new__", "__init__", "__getattribute__", "__doc__", "__len__", "__sizeof__", "__class_getitem__"}
ListStandIn: Any = type("ListStandIn", (list,), {
    **{name: refused_method(name) for name, f in vars(list).items() if callable(f) and name not in _KEPT_METHODS},
    "__class__": property(lambda self: list),
})  # fmt: skip
"""A stand-in for a list of a list; C code that reads it ends the trace."""
