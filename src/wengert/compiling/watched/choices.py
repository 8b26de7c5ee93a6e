"""Choices in the state of a loop: the tape computes which of a few constants a variable holds, such as a flag."""

from __future__ import annotations

import operator
import types
from typing import Any

import numpy as np

from wengert.compiling.watched.lifting import Choice, Place, part_at
from wengert.compiling.watched.loop_states import frames_of
from wengert.compiling.watched.symbolic_ints import lift_constant
from wengert.compiling.watched.watchable import ATOMS
from wengert.recording.primitives import ruled
from wengert.recording.record import record_call
from wengert.recording.slots import slot_of

MOST_CHOICES = 8
"""How many constants may stand at a place of a loop's state before it is none of a few choices."""


def choose(heads: Any, frame: types.FrameType, kinds: dict[Place, type]) -> dict[Place, Any]:
    """Return, for each place of a choice, the number of the constant that stands there, as the tape computes it."""
    found: dict[Place, Any] = {}
    frames, recording = [*frames_of(frame)] if Choice in kinds.values() else [], heads.reads.recording
    for place in sorted([place for place, kind in kinds.items() if kind is Choice]):
        depth, function, name = place.variable
        f = frames[depth] if depth < len(frames) else frame
        if f.f_code.co_name != function or name not in f.f_locals:
            continue
        value = part_at(f.f_locals[name], place.path)
        known = heads.choices.setdefault(place, [])
        number = next((k for k, x in enumerate(known) if _is_same_choice(x, value)), len(known))
        if number == MOST_CHOICES or slot_of(recording, value) is not None:
            continue
        known += [value] * (number == len(known))
        key = place, number
        if key not in heads.constants:
            heads.constants[key] = lift_constant(recording, float(number))
        found[place] = record_call(ruled(operator.add), (heads.constants[key], 0.0), {})  # a step of its branch
    return found


def tell(chosen: dict[Place, Any]) -> None:
    """Record tests that tell which constants stand at the places of choices."""
    for made in chosen.values():
        for k in range(int(made) + 1):
            record_call(ruled(operator.gt), (made, float(k)), {})


def _is_same_choice(a: Any, b: Any) -> bool:
    """Whether two constants are one to the code: the same thing, or equal ones that are compared by their values."""
    return a is b or (type(a) is type(b) and type(a) in (*ATOMS, np.bool_) and bool(a == b))
