"""Residuals with memory of their own: the values that pullbacks read, as they were when they were captured."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from wengert.mutation.storage import Memory
from wengert.recording.layout import views_or_copies
from wengert.recording.primitives import INPUT, Bound, PartUpdate, Primitive
from wengert.recording.recording import STATE, Entry, Recording
from wengert.recording.shadow import SHADOW
from wengert.recording.user_pullbacks import RruleCall
from wengert.values.specs import is_inexact
from wengert.values.views import copy_as_laid_out, owner_of


def materialise(recording: Recording, start: int, end: int, written_only: bool, constants_only: bool = False) -> None:
    """Copy the residuals of the entries from `start` to `end`, with the content they had when they were captured.

    A pullback that the user keeps, or that an outer trace records, must not depend on later writes; nor must a tape's
    constants and inputs (`constants_only`). With `written_only`, copy only written memory.
    """
    if recording.keep:
        views_or_copies(recording)  # of the arrays, not of their copies
    memory = recording.memory
    written = {id(owner_of(record[1])) for record in memory.undo if record[0] > start}
    if written_only and not written:
        return
    copies = _Copies(written if written_only else None, constants_only)
    if written_only or len(recording.levels) > 1:  # an outer trace goes on
        memory.replaced.append(copies.made)
    done, owed = 0, len(recording.owed)
    try:
        for slot in range(end - 1, start - 1, -1):
            entry = recording.entries[slot]
            if entry is None or not isinstance(entry[0], (Bound, PartUpdate, Primitive, RruleCall)):
                continue
            if entry[0] is INPUT and not constants_only:
                continue
            done = memory.rewind(slot, done)
            state = getattr(entry[0], "outer_state", None)
            if state is not None:
                state.settle(copies.written)
            if type(entry[0]) is not RruleCall:
                recording.entries[slot] = copies.of(entry, slot, done)
    finally:
        recording.owed.pay(owed)


def excerpt(recording: Recording, start: int) -> Recording:
    """Copy the recording from `start` on, at the same slots, with residuals that no later write can change.

    The recording itself keeps these entries too, for a derivative around this one.
    """
    materialise(recording, start, len(recording.entries), written_only=False)
    recording.pin(start)
    made = Recording(False)
    made.memory = Memory(recording)  # of another recording: a cycle would keep arrays alive for checkpoints
    made.memory.has_outer_reads = recording.memory.has_outer_reads
    made.notes = recording.notes
    made.entries = dict(enumerate(recording.entries[start:], start))  # type: ignore[assignment]
    return made


_WITH_ARRAYS = np.ndarray, list, tuple


class _Copies:
    """Copies of residuals, one for each variable, array and state of its memory.

    The guards of a tape are recorded after the values that they check, so an array may be two variables in one state.
    """

    def __init__(self, written: set[int] | None, constants_only: bool) -> None:
        self.written = written
        self.constants_only = constants_only
        self.made: dict[tuple[int, int, Any], tuple[np.ndarray, np.ndarray, Any]] = {}

    def of(self, entry: Entry, slot: int, done: int) -> Entry:
        """Return the entry with copies of its residuals."""
        bound, y, ins, args, kwargs, site = entry
        if bound is INPUT:
            return bound, self.copy(y, None, done), ins, args, kwargs, site
        if not any([isinstance(a, _WITH_ARRAYS) for a in args]) and not isinstance(y, _WITH_ARRAYS):
            return entry
        kinds = getattr(bound, "residual_kinds", ("static",) * len(args))
        sequence = bound.rule.sequence if bound.rule is not None else None
        if sequence is not None:
            kinds = ("value",) * len(args)
        kept = tuple(
            [
                self.copy(a, variable, done) if how in ("value", "static") or variable is None else a
                for a, variable, how in zip(args, ins, kinds, strict=False)
            ]
        )
        reads_y = not self.constants_only and getattr(bound, "reads_y", None) == "value"
        return bound, self._result(y, slot, done) if reads_y else y, ins, kept, kwargs, site

    def _result(self, y: Any, slot: int, done: int) -> Any:
        """Copy the result that a pullback reads; the parts of a tuple have the slots after its own."""
        if not isinstance(y, tuple):
            return self.copy(y, slot, done)
        slots = count(slot + 1)
        parts = [self.copy(part, next(slots), done) if is_inexact(part) else part for part in y]
        return tuple.__new__(type(y), parts)

    def copy(self, value: Any, variable: Any, done: int) -> Any:
        """Return the copy of a value, as the same variable, in the state after `done` writes were undone."""
        if type(value) is list or type(value) is tuple:
            variables = variable if type(variable) is tuple else (None,) * len(value)
            return type(value)([self.copy(v, s, done) for v, s in zip(value, variables, strict=True)])
        if (
            not isinstance(value, np.ndarray)
            or (self.constants_only and variable is not None)
            or (self.written is not None and id(owner_of(value)) not in self.written)
        ):
            return value
        key = id(value), done, variable
        if key not in self.made:
            copy = copy_as_laid_out(value)
            self.made[key] = copy, value, variable  # the value too: its id is in the shadow table
            if type(variable) is int and STATE.recording is not None:
                SHADOW[id(copy)] = variable
        return self.made[key][0]
