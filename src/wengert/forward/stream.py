"""A stream of entries for forward mode: each entry pushes its tangent at once and is dropped, so no tape is kept.

A slot keeps only its value (a large one by a weak reference) and its tangent. A sweep drops both when nothing refers to
the slot any more. It runs whenever there is twice as much as after the last sweep. To read a dropped slot is an error,
never a zero.

While an inner derivative is open, its entries are kept, because its pass over them needs them. The entries that this
pass makes itself are dropped at once.
"""

from __future__ import annotations

import contextvars
import weakref
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import Any

import numpy as np

from wengert.errors import WengertError, of_rule
from wengert.forward.step import ForwardStep, require_known
from wengert.mutation.storage import SINGLE_REFERENCE, memory_of, reference_count
from wengert.recording.nans import check_push
from wengert.recording.primitives import INPUT, Bound
from wengert.recording.recording import STATE, Entry, Recording, flat_slots, silent
from wengert.recording.shadow import SHADOW, held
from wengert.recording.subclasses import renewed
from wengert.values.codes import code_of
from wengert.values.cotangents import force
from wengert.values.functional import STORES, setlens
from wengert.values.projection import plainly
from wengert.values.results import with_leaves
from wengert.values.specs import spec_of
from wengert.values.stores import written
from wengert.values.trees import is_container
from wengert.values.views import owner_of
from wengert.values.warned import steps

FEW_SLOTS = 1000  # there is no sweep below so many slots and FEW_BYTES of tangents
FEW_BYTES = 1 << 22


class Stream:
    """The entries of a recording whose outermost level is a derivative in forward mode.

    It replaces the recording's list of entries. `tangents` are by slot, None for zero; `size` is the number of
    directions in the leading axis of each, or None.
    """

    def __init__(self, recording: Recording, size: int | None) -> None:
        self.recording, self.size = recording, size
        self.tangents: dict[int, Any] = {}
        self.entries: dict[int, Entry] = {}  # those that are kept whole
        self.values: dict[int, tuple[Any]] = {}  # of the others, each in its own tuple, to count references to it
        self.count = 0
        self.whole_from = 0  # the entries from here on are whole
        self.keeps_results = False  # whether an inner level in forward mode is recorded, which needs all results
        self.stored: set[int] = set()  # slots whose tangents a store made, and that belong to one array only
        self.aliases: set[int] = set()  # slots whose tangents may share memory with such a tangent
        self.old, self.young, self.most = 0, 0, FEW_SLOTS  # slots at the last sweep, slots since, and their maximum
        self.bytes, self.most_bytes = 0, FEW_BYTES  # of the tangents since the last sweep, and their maximum
        self.endings: dict[int, EndOfValue] = {}  # of the large values that have a tangent
        self.ended: list[Any] = []  # those whose value is gone; only C code appends here, as a weakref callback
        self.step = ForwardStep(recording, plainly, 0, size)
        self.rule_context = contextvars.copy_context()  # f's code may set np.errstate, which must not apply to rules

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self.entries.get(slot) for slot in range(*place.indices(self.count))]
        return self.entries.get(place)

    def __setitem__(self, slot: int, entry: Entry) -> None:
        self.entries[slot] = entry

    def __iter__(self) -> Iterator[Entry]:
        return iter([*self.entries.values()])

    def extend(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self.append(entry)

    @steps("self")
    def append(self, entry: Entry) -> None:
        """Record an entry, push its tangent, and drop the values that only this step needed."""
        is_number = entry[0].step is not None and self.size is None  # by far the most frequent calls, on floats
        if is_number and self.is_read_by_none and self.recording.nan_checker is None:
            self._append_number(entry)
            return
        slot = self.count
        self.count = slot + 1
        self.entries[slot] = entry
        try:
            tangent = self.tangents[slot] = self.rule_context.run(self._push_entry, slot, entry)
            if self.recording.nan_checker is not None:
                check_push(self.recording, slot, tuple(map(self._tangents_at, entry[2])), tangent)
        except Exception as error:
            raise self.recording.refuse(of_rule(error, entry[5])) from error.__cause__  # type: ignore[arg-type]
        self.young += 1
        if type(tangent) is np.ndarray:
            self.bytes += tangent.nbytes
        if self.is_alone:
            self._drop_what_was_read()
            if self.ended:
                self._drop_ended()
            if self.young > self.most or self.bytes > self.most_bytes:
                self._sweep()
        elif self.recording.nan_checker is None:
            if self.is_read_by_none:
                self._drop_entry(slot)
            elif not self.keeps_results:
                self._drop_result(slot)
            if self.ended:
                self._drop_ended()

    def _append_number(self, entry: Entry) -> None:
        """Do as `append` does, for a call on floats."""
        slot, bound = self.count, entry[0]
        self.count = slot + 1
        try:
            push = bound.forth or _float_step(bound)
            tangent = self.rule_context.run(push, entry, self.tangents)
            if tangent != tangent:
                tangent = self.rule_context.run(self.step, entry, tuple(map(self._tangents_at, entry[2])))
            self.tangents[slot] = tangent
        except Exception as error:
            self._look_for_dropped(entry)
            self.recording.refuse(error)  # type: ignore[arg-type]
            raise
        self.values[slot] = (entry[1],)
        self.young += 1
        if self.young > self.most and self.is_alone:
            self._sweep()

    def with_tangent(self, value: Any, tangent: Any) -> Any:
        """Record a small value that was computed with its tangent; return it, or a new object if it may be shared."""
        known = SHADOW.get(id(value))
        if known is not None and self.tangents.get(known) is tangent:
            return value
        if known is not None or type(value) is not np.ndarray:
            value = renewed(value)
        slot = self.count
        self.count = slot + 1
        self.values[slot] = (value,)
        self.tangents[slot] = tangent
        SHADOW[id(value)] = slot
        self.young += 1
        return value

    def _look_for_dropped(self, entry: Entry) -> None:
        """Raise an error if an argument's tangent was dropped or is unknown."""
        for slot in flat_slots(entry[2]):
            require_known(self.tangent(slot))

    @property
    def is_alone(self) -> bool:
        """Whether no inner derivative needs entries."""
        return not self.recording.inner and self.recording.pinned is None

    @property
    def is_read_by_none(self) -> bool:
        """Whether no inner derivative needs an entry recorded now: all are in their passes, or there is none."""
        return self.recording.inner == self.recording.walked and self.recording.pinned is None

    def value(self, slot: int) -> Any:
        """Return the value at a slot, also if its entry was dropped; None if it is not kept."""
        value = self.entries[slot][1] if slot in self.entries else self.values.get(slot, (None,))[0]
        return value() if type(value) is weakref.ref else value

    def tangent(self, slot: int) -> Any:
        """Return the tangent at a slot; None is zero."""
        try:
            return self.tangents[slot]
        except KeyError:
            raise WengertError(
                f"{STATE.site}: wengert dropped the tangent of a value that is still used. This is a bug in wengert; "
                "please report this program. Until it is fixed, use wg.vjp or wg.jacrev."
            ) from None

    def _push_entry(self, slot: int, entry: Entry) -> Any:
        """Return the tangent of an entry, computed with memory as it was at the call."""
        bound, _, ins, args, *_ = entry
        tangents = tuple([self._tangents_at(place) for place in ins])
        if not any([tangent is not None for tangent in tangents]):
            return None
        if (
            getattr(bound, "fn", None) in STORES
            and self.is_alone
            and not _is_strided_store_not_in_c_order(bound.fn, args[0])
        ):
            return self._push_store(slot, bound.fn, ins, args, tangents)
        memory = self.recording.memory
        overwritten = bool(memory.undo) and memory.undo[-1][0] > slot
        owed = len(self.recording.owed)
        try:
            if overwritten:
                memory.rewind(slot, 0)
            with silent():  # else rules would be traced, once an inner derivative has called them
                tangent = self.step(entry, tangents)
        finally:
            if overwritten:
                self.recording.owed.pay(owed)
        return self._copy_if_stored_into(slot, flat_slots(ins), entry[1], tangent) if self.aliases else tangent

    def _tangents_at(self, place: Any) -> Any:
        """Return the tangent of a slot, or a tuple of them for a sequence; None if all are zero."""
        if type(place) is not tuple:
            return None if place is None else self.tangent(place)
        found = tuple([self._tangents_at(part) for part in place])
        return found if any([tangent is not None for tangent in found]) else None

    def _push_store(self, slot: int, fn: Any, ins: Any, args: Any, tangents: Any) -> Any:
        """Return the tangent after a store: the array's, written in place if it belongs to this array only.

        So a store costs as much as in the function, without a copy of the array.
        """
        before = ins[0]
        x_dot, value = force(require_known(tangents[0])), force(require_known(tangents[-1]))
        if x_dot is None:
            x_dot = self._zeros(args[0])
        elif before in self.stored:
            self.stored.discard(before)
            del self.tangents[before]  # the array has moved on
        else:
            x_dot = np.array(x_dot)
        self.stored.add(slot)
        self.aliases.add(slot)
        self._write(fn, x_dot, args[1:-1], value)
        return x_dot

    def _write(self, fn: Any, x_dot: np.ndarray, where: Any, value: Any) -> None:
        if self.size is None:
            written(fn, x_dot, *where, 0.0 if value is None else value)
            return
        for k in range(self.size):
            written(fn, x_dot[k, ...], *where, 0.0 if value is None else value[k])

    def _zeros(self, x: Any) -> np.ndarray:
        spec = spec_of(x)
        return np.zeros(spec.shape if self.size is None else (self.size, *spec.shape), spec.dtype)

    def _copy_if_stored_into(self, slot: int, ins: list[int], y: Any, tangent: Any) -> Any:
        """Copy `tangent` if a store may write its memory, unless the value `y` is a view of the same written array."""
        aliased = [self.tangents[k] for k in ins if k in self.aliases]
        owners = {id(owner_of(x_dot)) for x_dot in aliased if isinstance(x_dot, np.ndarray)}
        if is_container(tangent):
            return with_leaves(tangent, lambda _, part: self._copy_if_stored_into(slot, ins, None, part))
        if not isinstance(tangent, np.ndarray) or id(owner_of(tangent)) not in owners:
            return tangent
        if isinstance(y, np.ndarray) and self.recording.memory.is_followed(y):
            self.aliases.add(slot)  # the recording reads it again after each write
            return tangent
        return tangent.copy()

    def share(self, slot: int) -> None:
        """Note that another array has the value of a slot, so that a store into one does not change both tangents."""
        self.stored.discard(slot)
        if slot in self.aliases and isinstance(self.tangents[slot], np.ndarray):
            self.tangents[slot] = self.tangents[slot].copy()

    def _drop_what_was_read(self) -> None:
        """Drop the entries since `whole_from`, but for their values (weakly if large); no pullback reads the rest."""
        for slot in range(self.whole_from, self.count):
            self._drop_entry(slot)
        self.whole_from = self.count
        self.recording.memory.forget_kept()

    def _drop_entry(self, slot: int) -> None:
        """Drop an entry, but for its value."""
        entry = self.entries.get(slot)
        if entry is None or entry[0] is INPUT:
            return
        self.values[slot] = (self._held_weakly(slot, entry[1]),)
        del self.entries[slot]

    def _drop_result(self, slot: int) -> None:
        """Drop the result of an entry of an inner level, unless the level's reverse pass reads it."""
        entry = self.entries[slot]
        if type(entry[0]) is Bound and entry[0].reads_y != "value":
            self.entries[slot] = (entry[0], self._held_weakly(slot, entry[1]), *entry[2:])

    def _held_weakly(self, slot: int, y: Any) -> Any:
        """Return what is kept of a value: a large array by a weak reference, so that its end drops its tangent."""
        value = held(y, False)
        if value is not y and y.base is None and self.tangents[slot] is not None:
            self.endings[slot] = EndOfValue(y, self.ended.append)
            self.endings[slot].slot = slot
        return value

    def _drop_ended(self) -> None:
        """Drop the tangents of large values that are gone, so that the next ones can use their memory.

        These values owned their memory, so only arrays with the same content can still refer to their slots.
        """
        memory = memory_of(self.recording)
        if memory.replaced or 64 * len(self.ended) < len(memory.storages) + len(memory.roots):
            return  # to search all of them at each step would cost more than the step
        needed = self._needed()
        for slot in [ending.slot for ending in self.ended]:
            if slot not in needed:
                if slot >= self.old:
                    self.bytes -= getattr(self.tangents.get(slot), "nbytes", 0)
                self._drop(slot)
        self.ended.clear()

    def _sweep(self) -> None:
        """Drop the slots to which nothing refers; those since the last sweep stay, as they may be in use."""
        old = [*takewhile(self.old.__gt__, self.values)]
        for slot in old:
            kept = self.values[slot]
            if reference_count(kept) == SINGLE_REFERENCE and SHADOW.get(id(kept[0])) == slot:
                del SHADOW[id(kept[0])]
        live = {*SHADOW.values(), *self._needed(), *self._current_views()}
        for slot in old:
            if slot not in live:
                self._drop(slot)
        left = [*takewhile(self.old.__gt__, self.values)]
        tangents = [tangent for slot in left if type(tangent := self.tangents.get(slot)) is np.ndarray]
        self.most, self.most_bytes = (
            FEW_SLOTS + 2 * len(left),
            FEW_BYTES + 2 * sum([tangent.nbytes for tangent in tangents]),
        )
        self.old, self.young, self.bytes = self.count, 0, 0

    def _drop(self, slot: int) -> None:
        for table in (self.values, self.tangents, self.endings, self.recording.specs):
            table.pop(slot, None)
        self.stored.discard(slot)
        self.aliases.discard(slot)

    def _needed(self) -> set[int | None]:
        """Return the slots of the variables that the recording finds by position."""
        memory = memory_of(self.recording)
        needed: set[int | None] = {*self.recording.levels[0].inputs}
        needed.update([storage.slot for storage in memory.storages.values()])
        for _, root in memory.roots.values():
            needed.update([slot for _, slot, _ in (*root, *root.waiting)])
        return needed

    def _current_views(self) -> list[int | None]:
        """List the slots of current views of written memory to which other code refers."""
        current: list[int | None] = []
        for storage in memory_of(self.recording).storages.values():
            storage.views = {key: view for key, view in storage.views.items() if view[0]() is not None}
            now = [slot for _, stamp, slot, *_ in storage.views.values() if stamp == storage.stamp]
            current += [
                slot for slot in now if slot not in self.values or reference_count(self.values[slot]) > SINGLE_REFERENCE
            ]
        return current


class EndOfValue(weakref.ref[np.ndarray]):
    """A weak reference to the value of a slot."""

    slot: int


def _is_strided_store_not_in_c_order(fn: Any, x: Any) -> bool:
    """Whether a store accesses `x` by strides and `x` has another memory layout than its tangent."""
    return fn is setlens and isinstance(x, np.ndarray) and not x.flags.c_contiguous


def _float_step(bound: Bound) -> Callable[[Any, Any], Any]:
    """Generate the forward step of a call on floats, and keep it with the call; functions it calls are not traced."""
    push = bound.rule.forward_step(bound.wanted, lambda mask: _silenced(bound.rule.pushing(mask)))
    calls = {*code_of(push).co_names} - {"ArithmeticError", "TypeError", "ValueError"}
    bound.forth = _silenced(push) if calls else push
    return bound.forth


def _silenced(push: Callable[..., Any]) -> Callable[..., Any]:
    def silenced(*given: Any) -> Any:
        with silent():
            return push(*given)

    return silenced
