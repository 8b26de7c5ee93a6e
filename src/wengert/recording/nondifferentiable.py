"""Non-differentiable results, and results that would carry a traced number on unseen, such as its digits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.recording.primitives import Primitive
from wengert.recording.recording import STATE, Recording, users_line, users_site
from wengert.values.functional import stopped
from wengert.values.specs import is_certain, is_inexact

LARGE_INTEGER = 2**52
"""From here on every float is whole: an integer made from it counts nothing and leaves nothing out."""

FEW = 100  # so many rounded numbers a cache is thought to be keyed by


def note_cut(recording: Recording, primitive: Primitive, ins: tuple[Any, ...], value: Any) -> None:
    """Note the last line that made a constant of a traced value, and whether the user asked for it."""
    if ins.count(None) == len(ins):
        return
    slot = len(recording.entries)
    recording.last_nondifferentiable = slot, primitive.name, STATE.site
    if primitive.has_users_rule or primitive.fn is stopped:
        recording.stopped = slot
    elif recording.survey is not None and is_inexact(value):
        recording.survey.cut.append((primitive.fn, users_site(), "its result is constant"))
    elif type(value) is int:
        if not -LARGE_INTEGER < value < LARGE_INTEGER and primitive.name != "hash":
            if recording.reads is not None:
                recording.reads.want_constants(ins)
            raise taken_apart(recording, primitive.name)
        if not is_certain(value):
            recording.rounded[id(value)] = value
    elif is_inexact(value) and np.size(value) < FEW:
        recording.rounded[id(value)] = value


def refuse_odd(recording: Recording, name: str, value: Any) -> None:
    """Refuse a non-differentiable array that encodes the numbers from which it was made."""
    if not isinstance(value, np.ndarray):
        return
    if value.dtype.kind in "OUSTV":
        kind = "Python objects" if value.dtype.kind == "O" else str(value.dtype)
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: {name} returned an array of {kind}, which cannot be differentiated. "
                "Build it with a float dtype."
            )
        )
    converted = name == "astype" and value.dtype.kind in "iu" and value.dtype.itemsize == 8 and value.size
    if converted and (value.max() >= LARGE_INTEGER or value.min() <= -LARGE_INTEGER):
        raise taken_apart(recording, name)


def taken_apart(recording: Recording, name: str) -> RefusedCallError:
    return _digits_refusal(recording, name, "an integer of 2**52 or more contains all its digits", "the integer")


def note_digit(recording: Recording, digit: str) -> str:
    """Remember a digit taken from the string of a traced value; CPython shares one object for each character."""
    recording.texts[id(digit)] = recording.caches.setdefault(note_digit, {})[id(digit)] = digit
    return digit


def refuse_digit(recording: Recording | None, key: Any, among: Iterable[Any], name: str) -> None:
    """Refuse to look up such a digit in a table of digits."""
    if recording is None or id(key) not in recording.caches.get(note_digit, ()):
        return
    if sum([type(other) is str and other in _DIGITS for other in among]) > 1:
        raise digits_told(recording, name)


def digits_told(recording: Recording, name: str) -> RefusedCallError:
    return _digits_refusal(recording, name, "the code reads the digits of its string", "the string")


def _digits_refusal(recording: Recording, name: str, why: str, what: str) -> RefusedCallError:
    error = RefusedCallError(
        f"{users_line()}: {name} takes a traced float apart: {why}, and results computed from them have no derivative. "
        f"Compute with the float itself. If you need {what} (as a hash, a seed, a label), pass wg.stop_gradient(x)."
    )
    recording.refuse(error)
    return error


_DIGITS = frozenset("0123456789")
