"""Counters: whole numbers of the program that a trace computes with, and does not take for what they are.

A Counted is an int to the code, and a float on the tape, its twin. What is computed of it is recorded as Python
computes it of ints (`functional.whole`), what is decided by it is decided by the twin, and a float meets the twin. What
else asks for its value ends the trace: no door of `symbolic_int_hooks.py` lets one through.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from wengert.errors import RefusedCallError
from wengert.recording.primitives import ruled
from wengert.recording.record import record_call
from wengert.recording.recording import STATE, Recording, here
from wengert.recording.shadow import SHADOW
from wengert.values.functional import WHOLE, whole
from wengert.values.specs import fresh


class AsksForNumber(RefusedCallError):
    """A counter's value was asked for, where a tape cannot hold what comes of it."""


def _refusing(name: str, method: Any) -> Any:
    """A method of ints as it is where nothing is recorded."""

    def call(self: Any, *args: Any) -> Any:
        return method(self, *args) if STATE.recording is None else refuse(f"{name} of a counter")

    return call


_FOR_ALL = {"__new__", "__getattribute__", "__doc__", "__getnewargs__", "__class__", "__sizeof__"}
Counted: Any = type("Counted", (int,), {
    **{name: _refusing(name, f) for name, f in vars(int).items() if name.startswith("__") and name not in _FOR_ALL},
    "__getattribute__": lambda self, name: int if name == "__class__" else refuse(f".{name} of a counter"),
})  # fmt: skip
"""An int whose methods, where C calls them, end the trace."""


def refuse(what: str) -> Any:
    recording = STATE.recording
    error = AsksForNumber(f"{here()}: {what}")
    raise error if recording is None else recording.refuse(error)


def twin(a: Any) -> Any:
    """The float that a counter is on the tape; any other number as it is."""
    return object.__getattribute__(a, "__dict__")["twin"] if type(a) is Counted else a


def _counted(recording: Recording, number: float) -> Any:
    """The counter of a float that is traced."""
    made = Counted(int(number))
    object.__getattribute__(made, "__dict__")["twin"] = number
    recording.reads.heads.counters.append(made)  # type: ignore[union-attr]
    SHADOW[id(made)] = SHADOW[id(number)]
    return made


def lifted(recording: Recording, value: Any) -> Any:
    """Turn a constant number into a variable of the tape."""
    if type(value) is int and not -WHOLE <= value <= WHOLE:
        refuse("a large whole number")
    number = float(value) if type(value) is int else fresh(value)
    slot = recording.constant(number)
    SHADOW[id(number)] = slot
    return _counted(recording, number) if type(value) is int else number


def of_whole(fn: Callable[..., Any], *numbers: Any) -> Any:
    """`fn` of whole numbers, of which one is counted."""
    twins = [float(a) if type(a) is bool else twin(a) for a in numbers]
    try:
        whole(fn, *twins)
    except Exception:
        refuse("a counter that is no whole number any more")
    recording: Any = STATE.recording
    return _counted(recording, record_call(ruled(whole), (fn, *twins), {}))


class Numbers:
    """The iterator of a `for` in place of a range: each number is computed from the one before."""

    def __init__(self, recording: Recording, iterator: Any) -> None:
        _, (numbers,), *begun = iterator.__reduce__()
        numbers = numbers[begun[0] if begun and begun[0] else 0 :]
        self.iterator, self.step = iterator, numbers.step
        self.next = lifted(recording, numbers.start)

    def __iter__(self) -> Numbers:
        return self

    def __length_hint__(self) -> int:
        return operator.length_hint(self.iterator)

    def __next__(self) -> Any:
        number, expected = next(self.iterator), self.next
        if number != int(twin(expected)):
            refuse("an iterator that is taken from elsewhere")
        self.next = of_whole(operator.add, expected, self.step)
        return expected
