"""Symbolic integers: loop counters that a trace computes on the tape, instead of taking their values as constants.

A SymbolicInt is an int to the code, and a float on the tape. Integer arithmetic on it is recorded as
`functional.whole`; comparisons and arithmetic with floats use the float. Any other use of its value ends the trace:
`symbolic_int_hooks.py` refuses it at each site.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.items import array_items
from wengert.hooks.search import note_made_text
from wengert.recording.primitives import ruled
from wengert.recording.record import record_call
from wengert.recording.recording import STATE, Recording, users_line
from wengert.recording.shadow import SHADOW
from wengert.values.functional import WHOLE, as_index, iterations, whole
from wengert.values.specs import fresh


class SymbolicIntError(RefusedCallError):
    """A symbolic integer is used where a tape cannot record what the code does with its value."""


def _refusing(name: str, method: Any) -> Any:
    """Return a method of int that raises while something is recorded."""

    def call(self: Any, *args: Any) -> Any:
        return method(self, *args) if STATE.recording is None else refuse_counter(f"{name} is called on a counter")

    return call


_INHERITED = {"__new__", "__getattribute__", "__doc__", "__getnewargs__", "__class__", "__sizeof__"}
SymbolicInt: Any = type("SymbolicInt", (int,), {
    **{name: _refusing(name, f) for name, f in vars(int).items() if name.startswith("__") and name not in _INHERITED},
    "__getattribute__": lambda self, name: int if name == "__class__" else refuse_counter(f".{name} of a counter"),
})  # fmt: skip
"""An int whose methods end the trace when C code calls them."""


SymbolicDigit: Any = type("SymbolicDigit", (str,), {
    name: _refusing(name, f) for name, f in vars(str).items() if callable(f) and name not in _INHERITED
})  # fmt: skip
"""A string of one character, made from a symbolic integer: CPython shares strings of one character."""


def refuse_counter(reason: str) -> Any:
    """Raise SymbolicIntError at the user's line."""
    recording = STATE.recording
    error = SymbolicIntError(f"{users_line()}: {reason}")
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


class SymbolicBounds:
    """A `range` of which a bound is a symbolic integer; it can only be iterated over."""

    def __init__(self, start: Any, stop: Any = None, step: Any = 1) -> None:
        bounds: tuple[Any, Any] = (0, start) if stop is None else (start, stop)
        self.start, self.stop, self.step = *bounds, step
        if type(self.step) is not int or abs(self.step) != 1:
            refuse_counter("a counter is a bound of a range with a step")

    def __iter__(self) -> Iterator[Any]:
        numbers = range(int(float_of(self.start)), int(float_of(self.stop)), self.step)
        if STATE.recording is None:
            return iter(numbers)
        made = SymbolicRange(STATE.recording, iter(numbers), self.start)
        ends = (self.stop, self.start) if self.step > 0 else (self.start, self.stop)
        made.number = record_integer_call(operator.sub, *ends)
        record_call(ruled(iterations), (float_of(made.number),), {})  # a guard, unless the loop becomes one in the code
        return made


class SymbolicRange:
    """A replacement of a range iterator that computes each number from the one before, on the tape.

    `number` is its number of iterations, negative for none, if the tape computes that.
    """

    number: Any = None

    def __init__(self, recording: Any, iterator: Any, start: Any = None) -> None:
        _, (numbers,), *begun = iterator.__reduce__()
        numbers = numbers[begun[0] if begun and begun[0] else 0 :]
        self.iterator, self.step = iterator, numbers.step
        self.next = start if type(start) is SymbolicInt else lift_constant(recording, numbers.start)

    @property
    def counters(self) -> list[Any]:
        """The symbolic integers that the next iteration reads."""
        return [self.next]

    def __iter__(self) -> Iterator[Any]:
        return self

    def __length_hint__(self) -> int:
        return operator.length_hint(self.iterator)

    def __next__(self) -> Any:
        number, expected = next(self.iterator), self.next
        if number != int(float_of(expected)):
            refuse_counter("other code advances the iterator of a loop")
        self.next = record_integer_call(operator.add, expected, self.step)
        return expected


class SymbolicItems(SymbolicRange):
    """A replacement of an iterator over an array, which reads its items at a symbolic integer."""

    def __init__(self, recording: Recording, array: np.ndarray) -> None:
        super().__init__(recording, iter(range(len(array))))
        self.array = array

    def __next__(self) -> Any:
        return record_call(ruled(operator.getitem), (self.array, recorded_key(super().__next__())), {})


class SymbolicTuples:
    """A replacement of a `zip` or `enumerate` of symbolic iterators."""

    number = None

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = parts

    @property
    def counters(self) -> list[Any]:
        """The symbolic integers that the next iteration reads."""
        return [counter for part in self.parts for counter in part.counters]

    def __iter__(self) -> SymbolicTuples:
        return self

    def __length_hint__(self) -> int:
        return min(map(operator.length_hint, self.parts))

    def __next__(self) -> Any:
        if not operator.length_hint(self):
            raise StopIteration
        return tuple([next(part) for part in self.parts])


SYMBOLIC_ITERATORS = (SymbolicRange, SymbolicItems, SymbolicTuples)


def symbolic_iterator(recording: Recording, iterator: Any) -> Any:
    """Return the replacement of an iterator that has not begun; None if there is none."""
    t = type(iterator)
    if t is _RANGE_ITERATOR:
        return SymbolicRange(recording, iterator)
    array = _array_behind(iterator)
    if array is not None:
        return SymbolicItems(recording, array)
    parts = _parts_of(iterator)
    found = [symbolic_iterator(recording, part) for part in parts]
    return SymbolicTuples(found) if parts and None not in found else None


def may_be_symbolic(iterator: Any) -> bool:
    """Whether an iterator has a replacement."""
    if type(iterator) is _RANGE_ITERATOR or _array_behind(iterator) is not None:
        return True
    parts = _parts_of(iterator)
    return bool(parts) and all(map(may_be_symbolic, parts))


def _array_behind(iterator: Any) -> np.ndarray | None:
    """Return the array whose items a hook iterates over."""
    if type(iterator) is not types.GeneratorType or iterator.gi_code is not _ARRAY_ITEMS or iterator.gi_frame is None:
        return None
    array: np.ndarray = iterator.gi_frame.f_locals["array"]
    is_rounded = STATE.recording is not None and id(array) in STATE.recording.rounded
    return array if type(array) is np.ndarray and array.dtype.kind in "fciu" and not is_rounded else None


def _parts_of(iterator: Any) -> Sequence[Any]:
    """Return the iterators that a `zip` or `enumerate` advances together."""
    if type(iterator) is zip:
        parts: Sequence[Any] = iterator.__reduce__()[1]
        return parts
    if type(iterator) is enumerate:
        reduced: Any = iterator.__reduce__()
        items, first = reduced[1]
        return iter(range(first, sys.maxsize)), items
    return ()


_RANGE_ITERATOR = type(iter(range(0)))
_ARRAY_ITEMS = array_items.__code__
