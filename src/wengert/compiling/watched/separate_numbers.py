"""Give each variable of a loop a number of its own on the tape, also where variables hold the same one.

Else the tape would not tell which of them is read later: after `low = middle` in one branch and `high = middle` in the
other, or after a run of an inner loop that has changed no variable.
"""

from __future__ import annotations

import operator
import types
from typing import Any

from wengert.compiling.watched.loop_states import grown_lists
from wengert.compiling.watched.marks import LoopRun
from wengert.compiling.watched.symbolic_ints import SymbolicInt, record_integer_call
from wengert.recording.primitives import ruled
from wengert.recording.record import record_call
from wengert.recording.slots import slot_of
from wengert.rewrite.loop_head import LoopHead
from wengert.values.frames import set_local
from wengert.values.specs import FLOATS


def separate(heads: Any, frame: types.FrameType, head: LoopHead, loop: LoopRun, is_first: bool) -> set[int | None]:
    """Record a step for each number that a variable shares with another one, or with the counter of the loop.

    These are variables that the loop sets; return the slots of the steps. At the first head, record one for each float,
    which other runs may change; if iterations may branch, one for each number that they append to a list. A trace
    without lifts has no such steps: it could not end where code compares floats by `is`.
    """
    if not heads.lifts or heads.compares_identity:
        return set()
    recording, retyped, made = heads.reads.recording, heads.retyped, set[int | None]()
    held = dict(frame.f_locals)
    slots = {name: slot_of(recording, held[name]) for name in head.live & held.keys()}
    for name in grown_lists(head, loop).keys() & loop.lengths.keys() if heads.may_branch(loop) else ():
        if id(held.get(name)) not in heads.lists.views:
            _separate_items(heads, held.get(name), loop.lengths[name])
    seen = loop.counters.union([slot for name, slot in slots.items() if name not in head.set])
    for name in sorted(head.set & slots.keys() - {*frame.f_code.co_cellvars}):
        slot, value, step = slots[name], held[name], None
        if type(value) is SymbolicInt and slot in seen:
            step = record_integer_call(operator.pos, value)
        elif type(value) in FLOATS and slot not in heads.integers | {None} and (is_first or slot in seen):
            step = record_call(ruled(operator.mul), (value, 1.0), {})
            if slot in retyped.firsts:
                retyped.note(recording, len(recording.entries) - 1, retyped.firsts[slot])
        seen.add(slot)
        if step is not None:
            made.add(slot_of(recording, step))
            set_local(frame, name, step)
            heads.separates = True
    return made


def _separate_items(heads: Any, items: Any, first: int) -> None:
    """Record a step for each number in a list from the `first` on, since iterations may append older ones.

    Lists from outside stay as they are.
    """
    is_own = type(items) is list and id(items) not in heads.reads.known_objects
    for k in range(first, len(items)) if is_own else ():
        if type(items[k]) in FLOATS and slot_of(heads.reads.recording, items[k]) is not None:
            items[k] = record_call(ruled(operator.mul), (items[k], 1.0), {})
            heads.separates = True
        else:
            _separate_items(heads, items[k], 0)
