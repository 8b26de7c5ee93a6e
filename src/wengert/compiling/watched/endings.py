"""The end of a trace: what the function changed outside is restored and noted, and the last guards are added.

Each change becomes an effect of the compiled function; a change that cannot become one makes the trace give up.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from wengert.compiling.watched import refusals
from wengert.compiling.watched.addresses import give_up_on_addresses
from wengert.compiling.watched.builtin_subclasses import holds_numbers
from wengert.compiling.watched.effects import LISTS, Place, value_at
from wengert.compiling.watched.inputs import Inputs
from wengert.compiling.watched.tables import Tables
from wengert.compiling.watched.trusted import RULES_FOLDER
from wengert.compiling.watched.watchable import Unset, has_own_attribute, nested_leaves
from wengert.compiling.watched.written_arrays import are_apart
from wengert.recording.recording import Recording
from wengert.values.names import home_of
from wengert.values.specs import is_inexact
from wengert.values.views import owner_of


class Endings(Inputs):
    """The inputs of a trace, and what happens to them and to its effects when it ends."""

    def __init__(self, recording: Recording, hooks: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__(recording, hooks)
        self.fp_settings: Any = np.geterr()  # those of np.seterr when the trace began
        self.clock_places, self.asks_time_again = set[Any](), False  # where clocks are read; if one is at a place twice
        self.lengths: Any = None  # the lengths of selections, if the tape computes those
        self.tables = Tables(self)
        self.placed: dict[int, Any] = {}  # what results and effects hold, by id: elsewhere it is the same object

    def before_write(self, owner: np.ndarray) -> None:
        """Keep the content of an array from outside into which the code is about to write."""
        self.effects.arrays.before_write(owner)

    def after_empty_write(self, owner: np.ndarray) -> None:
        """Guard the length of a selection into which the code has written nothing, which is not recorded."""
        if self.lengths is not None:
            self.lengths.fix(owner)

    check_result = staticmethod(refusals.check_result)

    def put_back(self) -> None:
        """Have all outside as it was before the trace: the function will run again."""
        self.effects.undo()
        self.swapped.undo()
        for held in self.held:
            held.put_back()
        for _, array, content in self.changed_arrays():
            array[...] = content

    def restore(self) -> None:
        """Restore containers and defaults; give up if the function changed one."""
        originals = {**self.originals, **self.swapped.as_they_are()}
        self.effects.settle(originals)
        for changed, before in self.swapped.restore(originals):
            if type(changed) is list and [*map(id, changed[: len(before)])] == [*map(id, before)]:
                self.effects.learned.grown.add(self.describe(self.accessor_of(changed) or ""))
            if not any([changed is holder for holder, *_ in (*self.effects.dictionaries, *self.effects.lists)]):
                self.give_up(f"it changes a {type(changed).__name__} from outside the function", may_retry=True)

    def add_effects(self) -> None:
        """Add the changes of places and dictionaries to the effects."""
        for place, before in self.effects.places.values():
            at = self.accessor_of_place(place)
            is_read = f"{at} is {self.accessor_of(before)}" in self.guards
            self._note_change(at, before, value_at(place.holder, place.name), is_read)
        for holder, original, begun in self.swapped.changed():
            accessor = self.accessor_of(holder)
            if type(holder) in LISTS:
                self._add_list(holder, original, accessor or "", [*begun])
                continue
            items = {key: holder.get(key, Unset) for key in {**begun, **holder}}
            changed = {key: value for key, value in items.items() if value is not begun.get(key, Unset)}
            if not accessor or {*map(type, changed)} - {str, int}:
                self.give_up("it changes a dictionary from outside under keys of other types", may_retry=True)
                continue
            give_up_on_addresses(self, changed)
            self.effects.count += 1
            self.effects.dictionaries.append((holder, original, accessor, changed))
            for key, value in changed.items():
                self._note_change(f"{accessor}[{key!r}]", begun.get(key), value)

    def _add_list(self, holder: Any, original: Any, accessor: str, begun: list[Any]) -> None:
        """Add the content of a list or deque to the effects; the next trace handles a list that only grows."""
        items = [*holder]
        is_longer = type(holder) is list and len(items) > len(begun)
        if accessor and not (is_longer and all([a is b for a, b in zip(begun, items, strict=False)])):
            self.effects.count += 1
            self.effects.lists.append((holder, original, accessor, items))
            for k, (before, after) in enumerate(zip(begun, items, strict=False)):
                self._note_change(f"{accessor}[{k}]", before, after)

    def _add_written_arrays(self) -> None:
        """Add the arrays from outside into which the code wrote to the effects, and guard that they lie apart."""
        arrays, written, others = self.effects.arrays, list[tuple[str, np.ndarray]](), list[tuple[str, np.ndarray]]()
        outside = [(name, outer.traced) for name, outer in self.inputs.items() if type(outer.traced) is np.ndarray]
        for accessor, array in outside:
            if accessor in self.draws:
                continue
            is_written = id(owner_of(array)) in arrays.before
            (written if is_written else others).append((self.input_name(array) or "", array))
        if not written:
            return
        self.effects.count += 1
        arrays.names = {id(array): (array, name) for name, array in written}
        others += [(accessor, array) for accessor, array, *_ in self._compared_arrays]
        if not are_apart([array for _, array in written], [array for _, array in others]):
            self.give_up("it writes into an array from outside that shares memory with another one")
        names = ["".join([f"{name}, " for name, _ in group]) for group in (written, others)]
        self._identity_guards[f"{self.pin(are_apart)}(({names[0]}), ({names[1]}))"] = None

    def _note_change(self, place: str, before: Any, after: Any, is_read: bool = True) -> None:
        """Have the next trace expect another integer or object at a place where this one has left another."""
        if type(before) is type(after) is int and before != after and place in self.integers.values():
            self._count_from_now_on(place, "it changes an integer from outside the function")
        is_new = type(before) is type(after) and before is not after and id(after) not in self.known_objects
        if is_new and is_read and self.accessor_of(before) in self.labels:
            self.effects.learned.replaced.add(self.describe(place))
            self.give_up("it replaces an object from outside the function", place, may_retry=True)

    def _count_from_now_on(self, accessor: str, reason: str, can_count: bool = True) -> None:
        """Give up; integers at this place are inputs of the next trace, if it can compute with them."""
        may_count = can_count and self.effects.learned.may_count
        self.effects.learned.counted.update([self.describe(accessor)] if may_count else [])
        self.give_up(reason, accessor, may_retry=may_count)

    def accessor_of_place(self, place: Place) -> str:
        """Return the accessor by which the value at a place is read."""
        if type(place.holder) is dict:
            return f"{place.accessor}[{place.name!r}]"
        is_own = type(place.holder) is not types.CellType and has_own_attribute(place.holder, place.name)
        return f"{place.accessor}.__dict__[{place.name!r}]" if is_own else f"{place.accessor}.{place.name}"

    def add_final_guards(self) -> None:
        """Guard the classes that were used; give up if an array from outside was written."""
        self.guard_used_classes()
        for primitive in {entry[0] for entry in self.recording.entries if entry is not None}:
            rule = None if type(primitive.fn) is types.FunctionType else getattr(primitive, "rule", None)
            is_ours = home_of(type(primitive.fn)).startswith("wengert.")
            if rule is not None and RULES_FOLDER not in rule.where and not is_ours:
                self.give_up(f"it calls an object with a custom rule ({rule.where})")
        if any([self.effects.has_drawn_unseen(rng) for rng, _ in self.effects.generators.values()]):
            self.give_up("it draws random numbers in C code")
        if self.lengths is not None:
            self.lengths.fix_iterated()
        self._add_written_arrays()
        for accessor, array, _ in self.changed_arrays():
            self._count_from_now_on(
                accessor, "it writes into an array from outside the function", array.dtype.kind in "iu"
            )
        self.give_up_on_cached_arrays()
        if np.geterr() != self.fp_settings:
            self.give_up("it leaves other settings of np.seterr than it found")
        self.tables.give_up_if_written()
        for changed in [held.owner for held in self.held if not held.is_in(held.owner)]:
            self.give_up(f"it changes a {type(changed).__name__} from outside the function")

    def check_alone(self, result: Any) -> None:
        """Give up if the function has effects, draws or reads a clock, or returns other than new numbers and arrays."""
        parts = nested_leaves(result)
        arrays = [owner_of(part) for part in parts if type(part) is np.ndarray]
        shared = [*self.effects.arrays.outer.values(), *[owner_of(array) for _, array, *_ in self._compared_arrays]]
        draws = self.draws or self.counters or self.effects.learned.constants
        if self.effects or self.swapped.are_changed(self.recording) or draws or self.clock_places:
            self.give_up("it has side effects, reads a clock, or is given numbers that it takes as constants")
        has_records = any([array.dtype.kind == "V" for _, array, *_ in self._compared_arrays])
        if has_records or self.tables.are_compared or any(map(holds_numbers, self.pins)):
            self.give_up("it compares numbers from outside, which its caller may differentiate, with earlier ones")
        if not all(map(is_inexact, parts)) or not parts:
            self.give_up("it returns other than numbers and arrays")
        if {*map(id, arrays)} & {*map(id, shared)} or len({*map(id, arrays)}) < len(arrays):
            self.give_up("it returns an array that shares memory with another one")
