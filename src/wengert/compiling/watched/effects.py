"""Effects: what a function changes outside of it, and its calls of functions such as `print`.

A trace makes each change when the function does, and notes what was there before. The generated code makes the net
changes, and the calls in their order, after all numbers are known: if it raises, nothing has changed yet, and the
function runs uncompiled.
"""

from __future__ import annotations

import threading
import types
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from wengert.compiling.watched.lifting import Lifts
from wengert.compiling.watched.symbolic_ints import SymbolicDigit, SymbolicInt, float_of, refuse_counter
from wengert.compiling.watched.watchable import Unset, dictionary_of, has_only_attributes, lookup_with_owner, slot_value
from wengert.compiling.watched.written_arrays import WrittenArrays, apart_from
from wengert.recording.recording import STATE, silent
from wengert.values.random_states import is_same_state, random_state, set_random_state
from wengert.values.trees import walk


class Place(NamedTuple):
    """An attribute of an object, an item of a namespace or the content of a cell; `accessor` is that of the holder."""

    holder: Any
    name: str
    accessor: str


MOST_WAITS = 10
"""How many traces of a function are made anew, at most, because its caches were empty."""


class Learned:
    """The findings of earlier traces of a function: how the next one reads values from outside."""

    def __init__(self) -> None:
        self.counted: set[str] = set()  # the integers, and arrays of them, that are inputs since they often change
        self.grown: set[str] = set()  # the lists that the function only appends to
        self.replaced: set[str] = set()  # the places at which each call leaves a new object
        self.constants: set[str] = set()  # the numbers that rules take as constants only
        self.changes: Counter[str] = Counter()  # how often an integer had another value than in all traces
        self.may_count = True
        self.may_read_tables = True  # whether loops may read the items of lists from tables
        self.reads_tables = False  # whether a loop has done so
        self.no_records: set[Any] = set()  # the lines of loops whose items, dictionaries or objects, are as they are
        self.unlifted: set[Any] = set()  # the loops whose counters are constants, since they are used as such
        self.unfilled: set[Any] = set()  # the loops that fill no lists, since something uses these as lists only are
        self.mixed: set[Any] = set()  # the loops that fill lists with floats and np.float64
        self.depths: set[Any] = set()  # loops, the lists that they append to, and how many last items counters index
        self.sized: set[Any] = set()  # the loops that append to lists whose lengths are constants when the code asks
        self.rooms: set[Any] = set()  # loops, and for how many items the arrays of lists to which they append have room
        self.selected: dict[Any, tuple[int, ...]] = {}  # the lengths of the last trace's selections, by their lines
        self.varying: set[Any] = set()  # the lines whose selections have had several lengths
        self.may_select = True
        self.selects = False  # whether the number of items that a mask chooses has changed
        self.measures = True  # whether the tape then computes the lengths of such selections
        self.waits = 0  # how many traces have filled a cache of the function
        self.may_join = True  # whether paths outside of loops may join
        self.lifts_floats = False  # whether the tape has computed constant floats for that

    def note_changes(self, integers: set[str]) -> None:
        """Note the integers that have another value than in an earlier trace; those that changed twice are inputs."""
        self.changes.update(integers)
        if self.may_count:
            self.counted.update([name for name in integers if self.changes[name] > 1])

    def note_selections(self, lengths: dict[Any, tuple[int, ...]]) -> set[Any]:
        """Note the lengths of the selections of a trace, by lines; return the lines where they vary."""
        self.varying |= {line for line, found in lengths.items() if self.selected.get(line, found) != found}
        self.selected = self.selected | lengths
        return self.varying

    def select_no_more(self) -> None:
        """Guard the lengths of all selections from now on."""
        self.selects = self.may_select = False

    def count_no_more(self) -> None:
        """Guard all integers from now on: the function does more with one than the tape can record."""
        self.counted.clear()
        self.may_count = False

    def reads_less(self, error: Any) -> bool:
        """Have the next trace do without what an error refused; return False if it did without already.

        The lesson of an error, if it has one, concerns some loops alone. Else no loop reads items of lists from tables.
        """
        if error.lesson is not None:
            kind, things = error.lesson
            known: set[Any] = getattr(self, kind)
            if not known.issuperset(things):
                known.update(things)
                return True
        if self.selects and self.measures:
            self.measures = False
            return True
        did, self.reads_tables, self.may_read_tables = self.reads_tables, False, False
        return did

    def allowed(self, lifts: Lifts) -> Lifts:
        """Return these lifts but those of loops whose counters stay constants."""
        return {key: kinds for key, kinds in lifts.items() if key not in self.unlifted}

    def joins_less(self) -> bool:
        """Have no paths outside of loops join from now on; return False if no trace has been changed for that."""
        did, self.lifts_floats = self.lifts_floats, False
        self.may_join &= not did
        return did

    def waits_for_cache(self) -> None:
        """Note that a trace fills a cache, which the next one reads."""
        self.waits = min(self.waits + 1, MOST_WAITS)

    @property
    def needs_counters(self) -> bool:
        """Whether the next trace computes with symbolic integers."""
        return bool(self.counted or self.grown or self.selects)

    def __len__(self) -> int:
        return len(self.counted) + len(self.grown) + len(self.replaced) + len(self.constants) + self.waits


def state_of(rng: Any) -> Any:
    """Return the state of a random generator, without a trace of the methods that return it."""
    with silent():
        return random_state(rng)


class Effects:
    """The effects of one trace."""

    def __init__(self) -> None:
        self.learned = Learned()
        self.count = 0  # of all effects so far: states of loops with another count differ
        self.take_time = False  # whether one of the calls may take long
        self.refuse: Callable[[str], None] | None = None  # called before an effect that the trace may not have
        self.places: dict[tuple[int, str], tuple[Place, Any]] = {}  # with the values before the call
        self.dictionaries: list[tuple[dict[Any, Any], Any, str, dict[Any, Any]]] = []  # contents before, changed items
        self.lists: list[tuple[Any, Any, str, list[Any]]] = []  # contents before, and now
        self.sinks: dict[int, tuple[list[Any], str, Any]] = {}  # lists from outside, their accessors and replacements
        self.generators: dict[int, tuple[Any, Any]] = {}  # by id: with their states before the call
        self.drawn: dict[int, Any] = {}  # their states after the last draw that the generated code repeats
        self.arrays = WrittenArrays()
        self.calls: list[str] = []  # the lines of calls
        self.delayed: list[Callable[[], Any]] = []  # calls that are made when the trace has ended
        self.filters_warnings = False
        self.given_arrays: list[Any] = []  # to these calls

    def __bool__(self) -> bool:
        return self.count > 0

    def _count_one(self) -> None:
        self.count += 1
        if self.refuse is not None:
            self.refuse("it has side effects")

    def note_write(self, place: Place) -> None:
        """Note that the code is about to write to a place."""
        self._count_one()
        self.places.setdefault((id(place.holder), place.name), (place, value_at(place.holder, place.name)))

    def watch_generator(self, rng: Any) -> None:
        """Keep the state of a random generator from which the code may draw."""
        if id(rng) not in self.generators:
            self.generators[id(rng)] = rng, state_of(rng)
            self.note_draw(rng)

    def note_draw(self, rng: Any) -> None:
        """Keep the state of a random generator after a draw that the generated code repeats."""
        self.drawn[id(rng)] = state_of(rng)

    def has_drawn_unseen(self, rng: Any) -> bool:
        """Whether other draws have changed the state of a watched generator: C code may draw by a method."""
        return not is_same_state(self.drawn[id(rng)], state_of(rng))

    def note_call(self, line: str) -> None:
        """Note the line of the generated code that makes a call again."""
        self._count_one()
        self.calls.append(line)

    def is_written(self, holder: Any, name: str) -> bool:
        """Whether the code has written to a place: what it reads there is its own."""
        return (id(holder), name) in self.places

    def has_written_to(self, holder: Any) -> bool:
        """Whether the code has written to any attribute or global name of `holder`."""
        return any([place.holder is holder for place, _ in self.places.values()])

    def sink(self, value: list[Any], accessor: str) -> Any:
        """Return what replaces a list from outside that the code only appends to."""
        if id(value) not in self.sinks:
            self.sinks[id(value)] = value, accessor, Sink(self)
        return self.sinks[id(value)][2]

    def behind(self, sink: Any) -> tuple[list[Any], str]:
        """Return the list that a replacement stands for, and its accessor."""
        return next((own, accessor) for own, accessor, made in self.sinks.values() if made is sink)

    def lines(
        self, expression: Callable[[Any], str], content: Callable[[Any], str], pin: Callable[[Any], str]
    ) -> list[str]:
        """Return the lines of the generated code that make the effects again; it first evaluates all that they need.

        `expression` returns the expression of a value of the trace, `content` that of what stands in an array, and
        `pin` that of an object.
        """
        needed, changes, set_value = [], [*self.calls], pin(set_value_at) if self.places else ""
        for place, _ in self.places.values():  # in the next call another value may be there before
            value = value_at(place.holder, place.name)
            needed += [place.accessor, f"{set_value}.Unset" if value is Unset else expression(value)]
            changes.append(f"{set_value}(e{len(needed) - 2}, {place.name!r}, e{len(needed) - 1})")
        for _, _, accessor, items in self.dictionaries:
            needed.append(accessor)
            name = f"e{len(needed) - 1}"
            for key, value in items.items():
                if value is Unset:
                    changes.append(f"del {name}[{expression(key)}]")
                else:
                    needed.append(expression(value))
                    changes.append(f"{name}[{expression(key)}] = e{len(needed) - 1}")
        for _, _, accessor, now in self.lists:
            needed += [accessor, f"[{', '.join(map(expression, now))}]"]
            changes.append(f"{pin(set_content)}(e{len(needed) - 2}, e{len(needed) - 1})")
        for _, accessor, sink in self.sinks.values():
            needed += [accessor, f"[{', '.join(map(expression, list.__iter__(sink)))}]"]
            changes.append(f"e{len(needed) - 2}.extend(e{len(needed) - 1})")
        written = "".join([f"{name}, " for _, name in self.arrays.names.values()])
        for array, name in self.arrays.names.values():
            needed.append(f"{pin(apart_from)}(({written}), {content(array)})")
            changes.append(f"{name}[...] = e{len(needed) - 1}")
        return [*[f"e{k} = {text}" for k, text in enumerate(needed)], *changes]

    def untraced(self, value: Any) -> Any:
        """Return a value without the symbolic integers and the replaced lists in it."""
        if type(value) is Sink:
            return [*self.behind(value)[0], *list.__iter__(value)]
        return without_counters(value, {})

    def settle(self, originals: dict[int, tuple[Any, Any]]) -> None:
        """Leave what the function would have left: no object that was made for the trace."""
        for place, _ in self.places.values():
            value = value_at(place.holder, place.name)
            if value is not Unset:
                set_value_at(place.holder, place.name, without_counters(value, originals))
        for own, _, sink in self.sinks.values():
            more = [without_counters(value, originals) for value in list.__iter__(sink)]
            sink.settled = (*sink.settled, *more)
            own.extend(more)
            list.clear(sink)
        self.make_delayed()

    def make_delayed(self) -> None:
        """Make the delayed calls, in their order."""
        while self.delayed:
            with silent():
                self.delayed.pop(0)()

    def undo(self) -> None:
        """Have all places as they were before the call, made or not: the function will run again."""
        self.delayed.clear()
        self.arrays.undo()
        for rng, state in self.generators.values():
            set_random_state(rng, state)
        for place, before in self.places.values():
            set_value_at(place.holder, place.name, before)
        self.places.clear()
        self.sinks.clear()

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Have all places as they were before the call, for as long as the context is open."""
        after = [(place, value_at(place.holder, place.name)) for place, _ in self.places.values()]
        for place, before in self.places.values():
            set_value_at(place.holder, place.name, before)
        for own, _, sink in self.sinks.values():
            del own[len(own) - len(sink.settled) :]
        changed = [*self.dictionaries, *self.lists]
        contents = [(holder, holder.copy()) for holder, *_ in changed]
        for holder, content, *_ in changed:
            set_content(holder, content)
        try:
            with self.arrays.undone():
                yield
        finally:
            for holder, content in contents:
                set_content(holder, content)
            for place, value in after:
                set_value_at(place.holder, place.name, value)
            for own, _, sink in self.sinks.values():
                own.extend(sink.settled)


def without_counters(value: Any, originals: dict[int, tuple[Any, Any]]) -> Any:
    """Replace symbolic integers in a value by integers, and what was made for the trace by its originals."""

    def number(a: Any) -> Any:
        if type(a) is SymbolicDigit:
            return "".join([a])
        return int(float_of(a)) if type(a) is SymbolicInt else a

    return walk(value, "", dict(originals), at_other=number)


def value_at(holder: Any, name: str) -> Any:
    """Return the value at a place, without a call of code; `Unset` if there is none."""
    if type(holder) is dict:
        return holder.get(name, Unset)
    if type(holder) is types.CellType:
        try:
            return holder.cell_contents
        except ValueError:
            return Unset
    if type(lookup_with_owner(type(holder), name)[0]) is types.MemberDescriptorType:
        return slot_value(holder, name)
    return dictionary_of(holder).get(name, Unset)


def set_value_at(holder: Any, name: str, value: Any) -> None:
    """Write a value to a place, without a call of code; `Unset` deletes it."""
    if value is Unset and value_at(holder, name) is Unset:
        return
    if type(holder) is dict:
        if value is Unset:
            del holder[name]
        else:
            holder[name] = value
    elif type(holder) is types.CellType:
        if value is Unset:
            del holder.cell_contents
        else:
            holder.cell_contents = value
    elif value is Unset:
        object.__delattr__(holder, name)
    else:
        object.__setattr__(holder, name, value)


def set_content(container: Any, items: Any) -> None:
    """Replace all that a list, a dictionary or a set holds."""
    if type(container) is list:
        container[:] = items
        return
    container.clear()
    if isinstance(container, dict):
        set_items(container, items)
    else:
        (container.extend if type(container) in LISTS else container.update)(items)


def set_items(container: dict[Any, Any], items: dict[Any, Any]) -> None:
    """Write items into a dictionary of any class; `update` of a Counter would add to them."""
    for key, value in items.items():
        container[key] = value


LISTS = (list, deque)
set_value_at.Unset = Unset  # type: ignore[attr-defined]


def can_set(holder: Any, name: str) -> bool:
    """Whether an attribute is kept in the object's dictionary or a slot, so that `set_value_at` can write it."""
    if type(holder) is types.FunctionType:
        return not hasattr(types.FunctionType, name)
    if issubclass(type(holder), threading.local):
        return False  # `object.__setattr__` refuses to set it
    raw, _ = lookup_with_owner(type(holder), name)
    is_slot = type(raw) is types.MemberDescriptorType
    return has_only_attributes(type(holder)) and (is_slot or not hasattr(type(raw), "__set__"))


def _refusing_reads(name: str) -> Any:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if STATE.recording is None:
            return getattr(list, name)(self, *args, **kwargs)
        return refuse_counter(f"it calls {name} of a list that it appends to. Do so before or after the call")

    return call


def _extend(self: Any, values: Any) -> Any:
    for value in values:
        _append(self, value)
    return self


def _append(self: Any, value: Any) -> None:
    recording: Any = STATE.recording
    if recording is not None and recording.reads.recording is not recording:
        recording.reads.give_up(
            "a function under wg.vmap appends to a list from outside the function. Return the values instead"
        )
    self.effects.count += 1
    list.append(self, value)


_KEPT = {"__new__", "__init__", "__getattribute__", "__doc__", "__class__", "__sizeof__", "__class_getitem__"}
Sink: Any = type("Sink", (list,), {
    **{name: _refusing_reads(name) for name, f in vars(list).items() if callable(f) and name not in _KEPT},
    "__init__": lambda self, effects: setattr(self, "effects", effects),
    "__bool__": _refusing_reads("__len__"),
    "append": _append,
    "extend": lambda self, values: _extend(self, values) and None,
    "__iadd__": _extend,
    "settled": (),
})  # fmt: skip
"""A list that takes what the code appends, and refuses all else."""
