"""Defer a long reverse pass in a watched trace: compute its values at once, and record it as one call.

Recording its steps would take most of the time of the trace. `lowering.py` later replaces the call, a Reverse, by the
derivative of the loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.watched.marks import Head, Mark
from wengert.mutation.residuals import materialise
from wengert.recording.primitives import Bound, Primitive
from wengert.recording.recording import STATE, Level, Recording, flat_slots, silent
from wengert.recording.slots import slot_of
from wengert.recording.variables import fields
from wengert.reverse.accumulators import Cotangents, Seeds, TracedCotangents
from wengert.reverse.walk import reverse
from wengert.tape.ops import Call, Op
from wengert.values import functional
from wengert.values.lazy_attribute import imported_when_read
from wengert.values.specs import is_inexact

LEAST_ENTRIES = 1000
"""The reverse pass of a level with at least so many entries is deferred."""


class Reverse:
    """A deferred reverse pass from the cotangents of `outputs` values to those of `inputs` values.

    Its arguments on the tape are the inputs, the outputs and the seeds.
    """

    __name__ = "reverse"
    taped: Callable[..., Any] = imported_when_read("wengert.api.taping", "pullback_tape")

    def __init__(self, inputs: int, outputs: int) -> None:
        self.inputs, self.outputs = inputs, outputs


def is_reverse(op: Op) -> bool:
    """Whether an op calls a Reverse."""
    return isinstance(op, Call) and type(op.fn) is Reverse


def defer_reverse(
    recording: Recording, here: Level, seeds: Seeds, depth: int, consume: bool, watching: Recording | None
) -> Cotangents:
    """Run `reverse` now, and record it as one deferred Reverse op if possible."""
    end = max([slot for slot, _ in seeds], default=-1)
    may_change = recording.reads.lengths is not None or _may_take_other_path(recording, here, end)  # type: ignore[union-attr]
    is_short = end - here.start < LEAST_ENTRIES and not may_change
    if is_short or depth != 1 or not _is_replayable(recording, here, end):
        return reverse(recording, here, seeds, depth, consume, watching)
    materialise(recording, here.start, end + 1, written_only=True)
    with silent(True):
        found = reverse(recording, here, seeds, 0, False, None)
    inputs = [slot for slot in sorted(here.inputs) if slot <= end and is_inexact(recording.value(slot))]
    values = tuple([_fresh_cotangent(found.table[slot], recording.value(slot)) for slot in inputs])
    outer = [recording.entries[slot][2][0] for slot in inputs]  # type: ignore[index]
    is_plain = values and not any([value is None for value in values]) and len({*outer}) == len(outer)
    if not is_plain or _bypasses_inputs(recording, here, end, outer):
        return reverse(recording, here, seeds, depth, consume, watching)
    args = [recording.value(slot) for slot in (*inputs, *[slot for slot, _ in seeds])] + [
        cotangent for _, cotangent in seeds
    ]
    ins = (*outer, *[slot for slot, _ in seeds], *[slot_of(recording, cotangent) for _, cotangent in seeds])
    primitive = Primitive(Reverse(len(inputs), len(seeds)), None)
    place = recording.append((primitive, values, ins, tuple(args), None, STATE.site))
    fields(recording, values, place, None)
    recording.reads.heads.reversed_levels.append(here)  # type: ignore[union-attr]
    made = TracedCotangents(recording, recording)
    for slot, value in zip(inputs, values, strict=True):
        made.table[slot] = value
        made.owned.add(slot)
    return made


def _may_take_other_path(recording: Recording, here: Level, end: int) -> bool:
    """Whether there is a test on the level, or a head that allows a loop to become free, see `while_loops.py`."""
    entries = recording.entries[here.start : end + 1]
    guards: Any = [entry[0].fn for entry in entries if entry and entry[0].kind == "guard"]
    return any([not isinstance(fn, Mark) or (type(fn) is Head and _is_free(fn)) for fn in guards])


def _is_free(head: Head) -> bool:
    return head.same and (head.left is None or head.number)


def _is_replayable(recording: Recording, here: Level, end: int) -> bool:
    """Whether replaying the tape of a level is exact: it has only primitives, outer inputs, constants and guards.

    It reads no array of integers, which would be no input of the derivative's tape. Replaying does not set which
    floating-point errors raise, and does not ask whether an array is writable, so the function must do neither.
    """
    inputs = [recording.entries[slot] for slot in here.inputs]
    if not all([entry is not None and entry[2] and entry[2][0] is not None for entry in inputs]):
        return False
    integers = {slot for slot in recording.levels[0].inputs if not is_inexact(recording.value(slot))}
    for entry in recording.entries[here.start : end + 1]:
        if entry is not None and not integers.isdisjoint(flat_slots(entry[2])):
            return False
        if entry is None or getattr(entry[0], "fn", None) is functional.raises:
            return False
        if type(entry[0]) not in (Bound, Primitive) and entry[0].kind not in ("input", "constant", "guard"):
            return False
        if entry[0].kind == "guard" and any([type(a) is functional.Path for a in entry[3]]):
            return False
    return True


def _bypasses_inputs(recording: Recording, here: Level, end: int, outer: list[int]) -> bool:
    """Whether a level reads a value that depends on the `outer` slots of its inputs, but not through its inputs.

    The level treats it as a constant. On the tape inputs and outer values are the same, so it would get a derivative.
    """
    depending = {*outer}

    def reads(slot: int) -> bool:
        entry = recording.entries[slot]
        return entry is not None and not depending.isdisjoint(flat_slots(entry[2]))

    for slot in range(min(outer), here.start):
        if reads(slot):
            depending.add(slot)
    return any([reads(slot) for slot in range(here.start, end + 1) if slot not in here.inputs])


def _fresh_cotangent(cotangent: Any, x: Any) -> Any:
    """Copy the cotangent of x, if both are numbers or arrays, else return None.

    Without one it is 0: on another path of the trace the result may depend on x.
    """
    if cotangent is None:
        cotangent = np.zeros_like(x) if type(x) is np.ndarray else type(x)(0.0)
    if type(cotangent) is np.ndarray:
        return cotangent.copy()
    return cotangent * 1.0 if type(cotangent) in (float, np.float64) else None
