"""A long reverse pass in a watched trace: its numbers at once, what it computes when the tape is there.

Recording each step of it takes longer than all else. On the tape one call stands for it, a Reverse; how loops make that
a short piece of work is told in `lowering.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.watched.loop_states import Head
from wengert.mutation.residuals import materialise
from wengert.recording.primitives import Bound, Primitive
from wengert.recording.recording import STATE, Level, Recording, flat_slots, silent
from wengert.recording.slots import slot_of
from wengert.recording.variables import fields
from wengert.reverse.accumulators import Cotangents, TracedCotangents
from wengert.reverse.strategies import Seeds
from wengert.reverse.walk import reverse
from wengert.values import functional

LEAST = 1000
"""Entries of a level from which on its reverse pass is postponed."""


class Reverse:
    """Stands on a tape for the cotangents of `inputs` values, from the cotangents of `outputs` values.

    Its arguments are the inputs, the outputs and the seeds.
    """

    __name__ = "reverse"
    taped: Callable[..., Any]  # of `taping.py`, as the next
    eager: Callable[..., Any]

    def __init__(self, inputs: int, outputs: int) -> None:
        self.inputs, self.outputs = inputs, outputs


def postponed(
    recording: Recording, here: Level, seeds: Seeds, depth: int, consume: bool, watching: Recording | None
) -> Cotangents:
    """Run `reverse` now, and record it as one deferred Reverse op if possible."""
    end = max([slot for slot, _ in seeds], default=-1)
    is_short = end - here.start < LEAST and not _repeats_freely(recording, here, end)
    if is_short or depth != 1 or not _is_plain(recording, here, end):
        return reverse(recording, here, seeds, depth, consume, watching)
    materialise(recording, here.start, end + 1, written_only=True)
    with silent(True):
        found = reverse(recording, here, seeds, 0, False, None)
    inputs = [slot for slot in sorted(here.inputs) if slot <= end and found.table[slot] is not None]
    values = tuple([_own(found.table[slot]) for slot in inputs])
    outer = [recording.entries[slot][2][0] for slot in inputs]  # type: ignore[index]
    if not values or any([value is None for value in values]) or len({*outer}) < len(outer):
        return reverse(recording, here, seeds, depth, consume, watching)
    if _reads_beside(recording, here, end, outer):
        return reverse(recording, here, seeds, depth, consume, watching)
    args = [recording.value(slot) for slot in (*inputs, *[slot for slot, _ in seeds])] + [
        cotangent for _, cotangent in seeds
    ]
    ins = (*outer, *[slot for slot, _ in seeds], *[slot_of(recording, cotangent) for _, cotangent in seeds])
    primitive = Primitive(Reverse(len(inputs), len(seeds)), None)
    place = recording.append((primitive, values, ins, tuple(args), None, STATE.site))
    fields(recording, values, place, None)
    recording.reads.heads.walked.append(here)  # type: ignore[union-attr]
    made = TracedCotangents(recording, recording)
    for slot, value in zip(inputs, values, strict=True):
        made.table[slot] = value
        made.owned.add(slot)
    return made


def _repeats_freely(recording: Recording, here: Level, end: int) -> bool:
    """Whether a loop may run as often as tests say, as far as its heads tell."""
    tests: Any = [
        entry[0].fn for entry in recording.entries[here.start : end + 1] if entry and entry[0].kind == "guard"
    ]
    heads = [fn for fn in tests if type(fn) is Head and fn.same]
    return any([head.left is None for head in heads]) or (bool(heads) and any([type(fn) is not Head for fn in tests]))


def _is_plain(recording: Recording, here: Level, end: int) -> bool:
    """Whether a level holds nothing but calls of primitives, on values of its own, of the outer level and constants.

    Nor may the function have set which floating-point errors raise, or asked whether an array can be written: playing
    its tape again does not.
    """
    inputs = [recording.entries[slot] for slot in here.inputs]
    return all([entry is not None and entry[2] and entry[2][0] is not None for entry in inputs]) and all(
        [
            entry is not None
            and (type(entry[0]) in (Bound, Primitive) or entry[0].kind in ("input", "constant", "guard"))
            and getattr(entry[0], "fn", None) is not functional.raises
            and not (entry[0].kind == "guard" and any([type(a) is functional.Path for a in entry[3]]))
            for entry in recording.entries[here.start : end + 1]
        ]
    )


def _reads_beside(recording: Recording, here: Level, end: int, outer: list[int]) -> bool:
    """Whether a level reads what depends on the outer values of its inputs, and not through them.

    It is constant there; but on the tape the inputs are those values, and all that is made of them would have a part.
    """
    depending = {*outer}

    def reads(slot: int) -> bool:
        entry = recording.entries[slot]
        return entry is not None and not depending.isdisjoint(flat_slots(entry[2]))

    for slot in range(min(outer), here.start):
        if reads(slot):
            depending.add(slot)
    return any([reads(slot) for slot in range(here.start, end + 1) if slot not in here.inputs])


def _own(cotangent: Any) -> Any:
    """A new number or array of the value of a cotangent; None where it is neither."""
    if type(cotangent) is np.ndarray:
        return cotangent.copy()
    return cotangent * 1.0 if type(cotangent) in (float, np.float64) else None
