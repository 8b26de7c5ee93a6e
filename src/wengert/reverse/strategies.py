"""Strategies for cotangents: for each value, pass on each contribution at once, or pass on their sum.

A value that is used once has one contribution, so there is no choice. If there are several, the sum is passed on, so
that the pullback runs once. But if the pullback returns ȳ itself (a copy, x + c), each contribution is passed on, and
the argument sums them, unless reads and stores of parts need a buffer for this value. Pullbacks on an rrule tape are
opaque, so there the default is to sum.
Source: the seed "Autodiff" (nGraph): `initialize`, `increment`, `finalize`.
"""

from __future__ import annotations

from collections import deque
from typing import Any, TypeAlias

import numpy as np

from wengert.recording.primitives import Bound, PartUpdate
from wengert.recording.recording import Level, Recording, flat_slots
from wengert.recording.user_pullbacks import RruleCall
from wengert.reverse.accumulators import Cotangents, Seeds, TracedCotangents
from wengert.values.functional import getfield, setitem
from wengert.values.settings import SETTINGS
from wengert.values.specs import Spec
from wengert.values.trees import is_container


def passed_through(recording: Recording, here: Level, seeds: Seeds) -> set[int]:
    """Find the slots of a level that pass on each contribution at once, in a step of its own."""
    if SETTINGS.strategy == "accumulate":
        return set()
    entries = recording.entries
    uses, buffered = _count_contributions(recording, here, seeds)
    found = {slot for slot, n in uses.items() if n > 1 and slot not in here.inputs and _may_pass(entries[slot])}
    if SETTINGS.strategy == "pass through":
        return found
    return {slot for slot in found - buffered if _is_trivial(entries[slot])}


def _count_contributions(recording: Recording, here: Level, seeds: Seeds) -> tuple[dict[int, int], set[int]]:
    """Count the contributions to each slot's cotangent; find the slots where reads and stores need a buffer."""
    uses, buffered = dict[int, int](), set[int]()
    for slot, _ in seeds:
        uses[slot] = uses.get(slot, 0) + 1
    for slot in range(max(uses, default=here.start - 1), here.start - 1, -1):
        entry = recording.entries[slot]
        if slot in uses and entry is not None:
            for s in flat_slots(entry[2]):
                if s >= here.start and s in here.dependent:
                    uses[s] = uses.get(s, 0) + 1
            op = entry[0]
            if type(op) is PartUpdate or (type(op) is Bound and (op.scatter is not None or op.fn is setitem)):
                buffered.add(entry[2][0])
    return uses, buffered


def _may_pass(entry: Any) -> bool:
    """Whether the step back through an entry can be taken for one contribution; a container's parts must be summed."""
    primitive, value = entry[0], entry[1]
    if is_container(value):
        return False
    return type(primitive) is RruleCall or (
        type(primitive) is Bound and primitive.variant is not None and primitive.fn is not getfield
    )


def _is_trivial(entry: Any) -> bool:
    """Whether the step back through an entry passes ȳ itself to its one argument."""
    bound, _, ins, args, _, _ = entry
    if type(bound) is not Bound or len(bound.places) != 1 or len(flat_slots(ins)) != 1:
        return False
    (k,) = bound.places
    others = [np.shape(a) for j, a in enumerate(args) if j != k and isinstance(a, (np.ndarray, Spec))]
    return not any(others) and bound.rule.sequence is None and bound.rule.passes_on(k)


class _UnsummedSlots(Cotangents):
    """Cotangents that are not summed in the slots `through`; there each contribution waits for its own step back."""

    through: set[int]
    waiting: deque[tuple[int, Any, bool]]

    def add(self, slot: int, x_bar: Any, owned: bool = False) -> None:
        if slot in self.through:
            self.waiting.append((slot, x_bar, owned))
        else:
            super().add(slot, x_bar, owned)

    def add_contribution(self, slot: int, *args: Any) -> None:
        super().add_contribution(slot, *args)
        self._postpone(slot)

    def scatter(self, bound: Bound, slot: int, *args: Any) -> bool:
        done = super().scatter(bound, slot, *args)
        self._postpone(slot)
        return done

    def let_rule_add(self, rule: Any, ins: Any, *args: Any) -> tuple[bool, ...]:
        left = super().let_rule_add(rule, ins, *args)
        for slot in flat_slots(ins):
            self._postpone(slot)
        return left

    def _postpone(self, slot: int) -> None:
        if slot in self.through and self.table[slot] is not None:
            self.waiting.append((slot, *self.take(slot)))

    def pop_waiting(self) -> int:
        """Put the next waiting contribution into its slot, and return the slot."""
        slot, self.table[slot], owned = self.waiting.popleft()
        if owned:
            self.owned.add(slot)
        return slot


class PassingCotangents(_UnsummedSlots, Cotangents):
    """Cotangents that are not summed in some slots."""

    checks_nans = True


class PassingTracedCotangents(_UnsummedSlots, TracedCotangents):
    """TracedCotangents that are not summed in some slots."""


Passing: TypeAlias = PassingCotangents | PassingTracedCotangents


def passing(recording: Recording, here: Level, seeds: Seeds, size: int, watching: Recording | None) -> Passing:
    """Return the cotangents of a walk, with the slots in which they are not summed, by the strategy in force."""
    made = PassingCotangents(size) if watching is None else PassingTracedCotangents(watching, recording)
    made.through, made.waiting = passed_through(recording, here, seeds), deque()
    return made
