"""Marks where paths through straight code may join: statements outside of loops, after a test."""

from __future__ import annotations

import operator
import types
from collections.abc import Sequence
from typing import Any

from wengert.compiling.watched.loop_states import (
    FORMS_OF_FLOATS,
    MOST_PARTS,
    IncomparableError,
    StateWalk,
    frames_of,
    local_variables,
)
from wengert.compiling.watched.marks import LoopRun, Mark, StraightJoin
from wengert.compiling.watched.symbolic_ints import lift_constant
from wengert.recording.primitives import Primitive, ruled
from wengert.recording.record import record_call
from wengert.recording.slots import slot_of
from wengert.rewrite.loop_head import STRAIGHT, LoopHead
from wengert.values.codes import original
from wengert.values.frames import set_local
from wengert.values.sites import Site
from wengert.values.specs import FLOATS

STRAIGHT_CODE = (lambda: None).__code__
"""Stands for the code of all straight code of a trace in the key of its run."""
MOST_JOINS = 300
"""In so many places of a trace it is looked for a join of its paths."""


class StraightJoins:
    """The places in the straight code of a trace where its paths may join those of other traces."""

    def __init__(self, heads: Any) -> None:
        self.heads = heads
        self.run = LoopRun(0, (STRAIGHT_CODE, STRAIGHT))
        self.passed: dict[tuple[types.CodeType, int], int] = {}  # after which entry each place was passed
        self.tested, self.searched = -1, 0  # the last entry that is a test, of so many that were looked at
        self.count = 0

    def begin_statement(self, frame: types.FrameType, head: LoopHead, site: Site | None) -> None:
        """Record that paths may join here, if there was a test since they parted."""
        recording, code = self.heads.reads.recording, original(frame.f_code) or frame.f_code
        begin, self.passed[code, head.place] = self.passed.get((code, head.since), 0), len(recording.entries)
        is_full = self.count == MOST_JOINS or self.heads.seen > MOST_PARTS
        if is_full or not self.learned.may_join or self.last_test() < begin:
            return
        if self.heads.reads.swapped.are_changed(recording):
            return
        seen = self.heads.seen
        try:
            if not all([self.heads.after_call(f)[0] for f in [*frames_of(frame)][1:]]):
                return
            self.count += 1
            self.lift(frame, head)
            state = StateWalk(self.heads).state(frame, head, [], self.run, {})
            if self.separate(frame, head, state.slots):
                state = StateWalk(self.heads).state(frame, head, [], self.run, {})
        except IncomparableError:
            return
        finally:
            self.heads.seen = seen
        key = code, head.place
        forms = {name: float if form in FORMS_OF_FLOATS.values() else form for name, form in state.forms.items()}
        mark = StraightJoin(self.run, key, self.heads.number_of_forms(key, forms), self.heads)
        recording.append((Primitive(mark, None, "guard"), None, state.slots, (), None, site))

    @property
    def learned(self) -> Any:
        """The findings of earlier traces of the function."""
        return self.heads.reads.effects.learned

    def last_test(self) -> int:
        """Return the number of the last entry that is a test; -1 if there is none."""
        entries = self.heads.reads.recording.entries
        for k in range(len(entries) - 1, self.searched - 1, -1):
            if entries[k] is not None and entries[k][0].kind == "guard" and not isinstance(entries[k][0].fn, Mark):
                self.tested = k
                break
        self.searched = len(entries)
        return self.tested

    def floats_set(self, frame: types.FrameType, head: LoopHead) -> list[tuple[str, Any, int | None]]:
        """Return the floats that paths to a statement may have set: the variables, their values and their slots."""
        held, recording = local_variables(frame), self.heads.reads.recording
        names = sorted((head.set & head.live).intersection(held))
        return [(name, held[name], slot_of(recording, held[name])) for name in names if type(held[name]) in FLOATS]

    def lift(self, frame: types.FrameType, head: LoopHead) -> None:
        """Have the tape compute the constants among these floats."""
        for name, value, slot in self.floats_set(frame, head):
            if slot is None:
                set_local(frame, name, lift_constant(self.heads.reads.recording, value))
                self.heads.separates = self.learned.lifts_floats = True

    def separate(self, frame: types.FrameType, head: LoopHead, slots: Sequence[int]) -> bool:
        """Record a step for each of these floats that something else holds, too; return whether there are such."""
        shared = [(name, value) for name, value, slot in self.floats_set(frame, head) if slots.count(slot or 0) > 1]
        for name, value in shared:
            set_local(frame, name, record_call(ruled(operator.mul), (value, 1.0), {}))
            self.heads.separates = self.learned.lifts_floats = True
        return bool(shared)
