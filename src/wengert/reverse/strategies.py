"""Strategies for cotangents: pass on each contribution at once, or their sum. The choice is made for each value.

A value with one use has one contribution: there is nothing to choose. With several, the sum goes on as a whole, so that
its pullback runs once; but where the pullback does nothing (a copy, x + c) the sum is left to the argument,
unless reads and stores of parts add to a buffer of its own. An opaque pullback, which an rrule tape calls, does much.
Source: the seed "Autodiff" (nGraph): `initialize`, `increment`, `finalize`.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import numpy as np

from wengert.recording.primitives import Bound
from wengert.recording.recording import Level, Recording, flat_slots
from wengert.recording.user_pullbacks import Pull
from wengert.reverse.accumulators import Cotangents, TracedCotangents
from wengert.values.functional import getfield, setitem
from wengert.values.settings import SETTINGS
from wengert.values.specs import Spec
from wengert.values.trees import is_container

Seeds = list[tuple[int, Any]]


def passed_through(recording: Recording, here: Level, seeds: Seeds) -> set[int]:
    """The slots of a level whose contributions go on at once, each in a step of its own."""
    if SETTINGS.strategy == "accumulate":
        return set()
    entries = recording.entries
    uses, buffered = _uses(recording, here, seeds)
    found = {slot for slot, n in uses.items() if n > 1 and slot not in here.inputs and _may_pass(entries[slot])}
    if SETTINGS.strategy == "pass through":
        return found
    return {slot for slot in found - buffered if _is_trivial(entries[slot])}


def _uses(recording: Recording, here: Level, seeds: Seeds) -> tuple[Counter[int], set[int]]:
    """Count the contributions to each slot's cotangent; find the slots where reads and stores need a buffer."""
    uses = Counter([slot for slot, _ in seeds])
    buffered = set()
    for slot in range(max(uses, default=here.start - 1), here.start - 1, -1):
        entry = recording.entries[slot]
        if slot in uses and entry is not None:
            uses.update([s for s in flat_slots(entry[2]) if s >= here.start and s in here.dependent])
            if type(entry[0]) is Bound and (entry[0].scatter is not None or entry[0].fn is setitem):
                buffered.add(entry[2][0])
    return uses, buffered


def _may_pass(entry: Any) -> bool:
    """Whether the step back through an entry can be taken for a part of the sum; parts of a container are gathered."""
    primitive, value = entry[0], entry[1]
    if is_container(value):
        return False
    return type(primitive) is Pull or (
        type(primitive) is Bound and primitive.variant is not None and primitive.fn is not getfield
    )


def _is_trivial(entry: Any) -> bool:
    """Whether the step back through an entry hands ȳ itself to its one argument."""
    bound, _, ins, args, _, _ = entry
    if type(bound) is not Bound or len(bound.places) != 1 or len(flat_slots(ins)) != 1:
        return False
    (k,) = bound.places
    others = [np.shape(a) for j, a in enumerate(args) if j != k and isinstance(a, (np.ndarray, Spec))]
    return not any(others) and bound.rule.sequence is None and bound.rule.passes_on(k)


class _Passing(Cotangents):
    """Cotangents of which those in some slots are not summed: each contribution waits for a step back of its own."""

    through: set[int]
    waiting: deque[tuple[int, Any, bool]]

    def add(self, slot: int, x_bar: Any, owned: bool = False) -> None:
        if slot in self.through:
            self.waiting.append((slot, x_bar, owned))
        else:
            super().add(slot, x_bar, owned)

    def settle(self, slot: int, *args: Any) -> None:
        super().settle(slot, *args)
        self._let_wait(slot)

    def scatter(self, bound: Bound, slot: int, *args: Any) -> bool:
        done = super().scatter(bound, slot, *args)
        self._let_wait(slot)
        return done

    def absorb(self, rule: Any, ins: Any, *args: Any) -> tuple[bool, ...]:
        left = super().absorb(rule, ins, *args)
        for slot in flat_slots(ins):
            self._let_wait(slot)
        return left

    def _let_wait(self, slot: int) -> None:
        if slot in self.through and self.table[slot] is not None:
            self.waiting.append((slot, *self.take(slot)))

    def next(self) -> int:
        """Put a contribution that waits in its slot, and return the slot; None where none waits."""
        slot, self.table[slot], owned = self.waiting.popleft()
        if owned:
            self.owned.add(slot)
        return slot


class PassingCotangents(_Passing, Cotangents):
    """Cotangents of which some are not summed."""

    careful = True


class PassingTracedCotangents(_Passing, TracedCotangents):
    """TracedCotangents of which some are not summed."""


def choosing(cotangents: _Passing, recording: Recording, here: Level, seeds: Seeds) -> _Passing:
    """`cotangents`, or a form of it that does not sum the slots which the strategy in force passes through."""
    cotangents.through, cotangents.waiting = passed_through(recording, here, seeds), deque()
    return cotangents
