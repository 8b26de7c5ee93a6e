"""Where a derivative ends: results without one, and those that would carry a number on where nobody sees it."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording.primitives import Primitive
from wengert.recording.recording import STATE, Recording, here
from wengert.values.values import is_certain, is_inexact

WHOLE = 2**52
"""From here on every float is whole: an integer made from it counts nothing and leaves nothing out."""

FEW = 100  # so many rounded numbers a cache is thought to be keyed by


def note_cut(recording: Recording, primitive: Primitive, ins: tuple[Any, ...], value: Any) -> None:
    """Note the last line where a traced value gave a constant, and whether that was asked for."""
    if ins.count(None) == len(ins):
        return
    slot = len(recording.entries)
    recording.cut = slot, primitive.name, STATE.site
    if primitive.stops:
        recording.stopped = slot
    elif type(value) is int:
        if not -WHOLE < value < WHOLE and primitive.name != "hash":
            raise taken_apart(recording, primitive.name)
        if not is_certain(value):
            recording.rounded[id(value)] = value
    elif is_inexact(value) and np.size(value) < FEW:
        recording.rounded[id(value)] = value


def refuse_odd(recording: Recording, name: str, value: Any) -> None:
    """Refuse an array without a derivative that holds the numbers it was made from in another form."""
    if not isinstance(value, np.ndarray):
        return
    if value.dtype.kind in "OUSTV":
        kind = "Python objects" if value.dtype.kind == "O" else str(value.dtype)
        raise recording.refuse(
            RefusedCallError(
                f"{here()}: {name} gave an array of {kind}, which cannot be differentiated. "
                "Build it with a float dtype."
            )
        )
    converted = name == "astype" and value.dtype.kind in "iu" and value.dtype.itemsize == 8 and value.size
    if converted and (value.max() >= WHOLE or value.min() <= -WHOLE):
        raise taken_apart(recording, name)


def taken_apart(recording: Recording, name: str) -> RefusedCallError:
    error = RefusedCallError(
        f"{here()}: {name} takes a traced float apart: an integer of 2**52 or more holds all its digits, and what is "
        "computed from it would have no derivative. Compute with the float itself; where the integer is meant (a hash, "
        "a seed), give it wg.stop_gradient(x)."
    )
    recording.refuse(error)
    return error
