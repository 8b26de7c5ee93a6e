"""Symbolic integers: loop counters that a trace computes on the tape, instead of taking their values as constants.

A SymbolicInt is an int to the code, and a float on the tape. Integer arithmetic on it is recorded as
`functional.whole`; comparisons and arithmetic with floats use the float. Any other use of its value ends the trace:
`symbolic_int_hooks.py` refuses it at each site.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

from wengert.errors import RefusedCallError
from wengert.hooks.search import note_made_text
from wengert.recording.primitives import ruled
from wengert.recording.record import record_call
from wengert.recording.recording import STATE, Recording, users_line
from wengert.recording.shadow import SHADOW
from wengert.values.functional import WHOLE, as_index, whole
from wengert.values.specs import fresh


class SymbolicIntError(RefusedCallError):
    """A symbolic integer is used where a tape cannot record what the code does with its value.

    Its `lesson`, if it has one, names what the next trace does otherwise, in a set of `Learned`.
    """

    lesson: tuple[str, Collection[Any]] | None = None


def refusing(name: str, method: Any) -> Any:
    """Return a method of int, str or range that raises while something is recorded."""

    def call(self: Any, *args: Any) -> Any:
        return method(self, *args) if STATE.recording is None else refuse_counter(f"{name} is called on a counter")

    return call


_INHERITED = {"__new__", "__getattribute__", "__doc__", "__getnewargs__", "__class__", "__sizeof__"}
SymbolicInt: Any = type("SymbolicInt", (int,), {
    **{name: refusing(name, f) for name, f in vars(int).items() if name.startswith("__") and name not in _INHERITED},
    "__getattribute__": lambda self, name: int if name == "__class__" else refuse_counter(f".{name} of a counter"),
})  # fmt: skip
"""An int whose methods end the trace when C code calls them."""


SymbolicDigit: Any = type("SymbolicDigit", (str,), {
    name: refusing(name, f) for name, f in vars(str).items() if callable(f) and name not in _INHERITED
})  # fmt: skip
"""A string of one character, made from a symbolic integer: CPython shares strings of one character."""


def refuse_counter(reason: str, lesson: tuple[str, Collection[Any]] | None = None) -> Any:
    """Raise SymbolicIntError at the user's line."""
    recording = STATE.recording
    if lesson is None and recording is not None:
        lesson = recording.reads.heads.lists.lesson  # type: ignore[union-attr]
    error = SymbolicIntError(f"{users_line()}: {reason}")
    error.lesson = lesson
    raise error if recording is None else recording.refuse(error)


def float_of(a: Any) -> Any:
    """Return the float that a symbolic integer is on the tape; any other number itself."""
    return object.__getattribute__(a, "__dict__")["float"] if type(a) is SymbolicInt else a


def symbolic_int(recording: Recording, number: float) -> Any:
    """Make the symbolic integer of a traced float."""
    made = SymbolicInt(int(number))
    object.__getattribute__(made, "__dict__")["float"] = number
    recording.reads.heads.counters.append(made)  # type: ignore[union-attr]
    SHADOW[id(made)] = SHADOW[id(number)]
    return made


def text_of(fn: Callable[..., str], *args: Any) -> str:
    """Return the string that `fn` makes of arguments with symbolic integers among them; the tape can make it again."""
    recording, places = STATE.recording, [k for k, a in enumerate(args) if type(a) is SymbolicInt]
    text = _text_of_floats(fn, places, *map(float_of, args))
    if recording is None:
        return text
    made = SymbolicDigit(text) if len(text) == 1 else text
    remake = functools.partial(_text_of_floats, fn, places)
    note_made_text(recording, made, tuple(map(float_of, args)), remake)
    return made


def _text_of_floats(fn: Callable[..., str], places: Sequence[int], *args: Any) -> str:
    return fn(*[int(a) if k in places else a for k, a in enumerate(args)])


def lift_constant(recording: Recording, value: Any) -> Any:
    """Turn a constant number into a variable of the tape, an integer into a symbolic one."""
    if type(value) is int and not -WHOLE <= value <= WHOLE:
        refuse_counter("an integer beyond 2**53 is in a loop")
    number = float(value) if type(value) is int else fresh(value)
    slot = recording.constant(number)
    SHADOW[id(number)] = slot
    return symbolic_int(recording, number) if type(value) is int else number


def record_integer_call(fn: Callable[..., Any], *numbers: Any) -> Any:
    """Record `fn` of integers, of which one is symbolic, and return the symbolic result; an int where none records."""
    if STATE.recording is None:
        return fn(*[int(a) for a in numbers])
    floats = [float(a) if type(a) is bool else float_of(a) for a in numbers]
    try:
        whole(fn, *floats)
    except Exception:
        refuse_counter("a counter is no longer an integer or exceeds 2**53")
    recording: Any = STATE.recording
    return symbolic_int(recording, record_call(ruled(whole), (fn, *floats), {}))


def recorded_key(key: Any) -> Any:
    """Return a key of an array, with each symbolic integer in it replaced by an integer that the tape computes."""
    if type(key) is tuple:
        return tuple(map(recorded_key, key))
    return record_call(ruled(as_index), (float_of(key),), {}) if type(key) is SymbolicInt else key
