"""Floats of a trace that are np.float64 on its tape.

A loop that begins with `s = 0.0` and adds NumPy's numbers has a float in the first iteration, and np.float64 in all
others. On the tape they are alike, so that the loop is one loop; the traced code keeps its float.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from wengert.compiling.ops import RAISING, info
from wengert.compiling.watched.symbolic_ints import refuse_counter
from wengert.recording.decisions import guard
from wengert.recording.primitives import CONSTANT, INPUT, Primitive
from wengert.recording.recording import STATE, Recording, flat_slots
from wengert.recording.shadow import SHADOW
from wengert.values.specs import FLOATS, fresh

MAY_RAISE = "a float may raise an error where np.float64 returns inf or nan"
_GREATER, _LESS = Primitive(operator.gt, None, "guard"), Primitive(operator.lt, None, "guard")


def keeps_float(t: type, kind: type) -> bool:
    """Whether a number of type `t` may stay a float in the trace while the tape has one of type `kind`."""
    return t is float and kind is np.float64


class RetypedFloats(dict[int, Any]):
    """The numbers on the tape by their slots: lifted floats, and the results of arithmetic and tests on these.

    Where Python's floats raise an error or return a complex number, np.float64 returns inf or nan. So the tape guards
    divisors and bases in each iteration, and divisors from before the first loop, at `begin`, once. `floats` are the
    slots of all numbers that may be floats: a variable may leave the loop as one if a branch does not change it.
    `firsts` has for those of lifted variables the constants with which they begin.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen = self.begin = 0  # entries that were looked at, and that lie before the first loop
        self.floats, self.divisors = set[int](), dict[Any, None]()
        self.carried = set[int | None]()  # the slots of all variables at heads
        self.firsts: dict[int, set[float]] = {}
        self.relied: dict[int, Any] = {}  # the firsts that no float is to differ from, by id

    def note(self, recording: Recording, slot: int, firsts: set[float]) -> None:
        """Note the value of a variable at a head, where it may be a float."""
        self.follow(recording)
        if slot in self.floats and slot not in self.firsts:  # a branch computes it from floats: it may be any
            firsts.add(0.0)
            if id(firsts) in self.relied:
                refuse_counter(MAY_RAISE)
        self.floats.add(slot)
        self.firsts[slot] = firsts

    def as_float(self, recording: Recording, number: Any) -> float:
        """Return a float that takes the place of a np.float64 in the trace."""
        made, slot = fresh(float(number)), SHADOW.pop(id(number))
        self[slot] = number
        recording.entries[slot] = _with_value(recording.entries[slot], made)
        SHADOW[id(made)] = slot
        return made

    def follow(self, recording: Recording) -> None:
        """Find the results of arithmetic and tests since the last time, and their numbers on the tape.

        Errors: SymbolicIntError if a float may raise an error that no guard expects.
        """
        first, self.seen = self.seen, len(recording.entries)
        for slot in range(max(first, self.begin), self.seen) if self.begin else ():
            entry = recording.entries[slot]
            if entry is not None and (entry[0].fn is min or entry[0].fn is max):
                self._retype_extremum(slot, entry)
            if entry is None or self.floats.isdisjoint(entry[2]) or entry[4] or not info(entry[0].fn).arity:
                continue
            slots, number = _slots_of_args(entry), entry[1]
            if type(number) in (float, bool):
                number = _result_of(entry[0].fn, [*map(self.get, slots, entry[3])])
            elif type(entry[0].fn) is np.ufunc or not all(map(self._is_float, slots, entry[3])):
                continue
            if type(number) in (np.float64, np.bool_, tuple):  # a tuple of divmod
                if number is not entry[1]:
                    self[slot] = number
                self.floats.add(slot)
                self._expect_errors(recording, slot, entry, slots)

    def _retype_extremum(self, slot: int, entry: Any) -> None:
        """Note the smaller or larger of floats and np.float64: in another call, one of the other type may be it."""
        pairs = [(self.get(k, value), k) for k, value in zip(_slots_of_args(entry), entry[3], strict=True)]
        if {type(value) for value, _ in pairs} == FLOATS and slot not in self.floats:
            constants = [(value, k) for value, k in pairs if type(value) is float]
            self.firsts[slot] = {value if k is None else 0.0 for value, k in constants}
            self.floats.add(slot)
            if type(entry[1]) is float:
                self[slot] = np.float64(entry[1])

    def _is_float(self, slot: int | None, value: Any) -> bool:
        """Whether an operand is one of Python's numbers in a run that is not traced."""
        return type(value) in (float, int, bool) or slot in self.floats

    def _expect_errors(self, recording: Recording, power: int, entry: Any, slots: tuple[Any, ...]) -> None:
        """Guard what an operation on floats needs: a divisor other than zero, a positive base, a finite power."""
        name, (number, exponent) = info(entry[0].fn).name, (entry[3][0], entry[3][-1])
        if name not in RAISING:
            return
        is_power = name == "power"
        if is_power and slots[1] is None and exponent > 0 and exponent == int(exponent):
            return  # it may only overflow
        may_fail = [slot for slot in (slots if is_power else slots[1:]) if self._may_be_zero(recording, slot, is_power)]
        if not may_fail:
            return
        divisor = None if is_power else self._invariant(recording, slots[1])
        if divisor is not None:
            self.divisors[divisor] = None
        elif not (number > 0.0 if is_power else exponent):
            refuse_counter(MAY_RAISE)
        elif not is_power:
            guard(recording, bool, exponent, slots[1])
        else:
            recording.append((_GREATER, True, (slots[0], None), (number, 0.0), None, STATE.site))
            recording.append((_LESS, True, (power, None), (entry[1], math.inf), None, STATE.site))

    def _may_be_zero(self, recording: Recording, slot: int | None, is_power: bool) -> bool:
        """Whether a number may be zero, or negative if it is part of a power, where it is a float."""
        if slot is None or _is_fixed(recording, slot):
            return False
        firsts = self.firsts.get(slot, (0.0,))
        if all([first > 0.0 or (first and not is_power) for first in firsts]):
            self.relied[id(firsts)] = firsts
            return False
        return True

    def _invariant(self, recording: Recording, slot: int | None) -> Any:
        """Return the slot of a number from before the first loop, or its computation from such; None for others."""
        entry: Any = None if slot is None else recording.entries[slot]
        if slot is None or slot < self.begin or (entry[0] is INPUT and not entry[2]):
            return slot
        if slot in self.carried:
            return None
        is_called = type(entry[1]) is float and info(entry[0].fn).arity == len(entry[2]) == len(entry[3])
        if slot in self.floats or not entry[2] or entry[4] or not is_called:
            return None
        parts = [self._invariant(recording, part) for part in entry[2]]
        if parts.count(None) > entry[2].count(None):
            return None
        others = [value if part is None else None for part, value in zip(parts, entry[3], strict=True)]
        return entry[0], tuple(parts), tuple(others)

    def write(self, recording: Recording) -> None:
        """Enter the numbers and guards in the recording, which has ended."""
        for divisor in self.divisors:
            slot, value = _compute(recording, divisor)
            guard(recording, bool, value, slot)
        for slot, number in self.items():
            recording.entries[slot] = _with_value(recording.entries[slot], number)

    def restore(self, tape: Any) -> None:
        """Make floats and bools of the numbers on the tape, whose loops are all as long as in the trace."""
        numbers = {id(number) for number in self.values()}
        for op in tape.calls if numbers else ():
            if type(op.val) is np.float64 and id(op.val) in numbers:
                op.fn, op.val = float if op.fn is np.float64 else op.fn, float(op.val)
            elif (
                type(op.val) is np.bool_
                and type(op.fn) is not np.ufunc
                and {type(v.op.val) for v in op.references()} <= {float, int}
            ):
                op.val = bool(op.val)


def _slots_of_args(entry: Any) -> tuple[Any, ...]:
    """Return the slot of each argument of an entry, None for a constant."""
    return (*entry[2], *[None] * (len(entry[3]) - len(entry[2])))


def _with_value(entry: Any, value: Any) -> Any:
    return entry[0], value, *entry[2:]


def _compute(recording: Recording, number: Any) -> tuple[int, Any]:
    """Record the computation of an invariant number; return its slot and its value."""
    if type(number) is int:
        entry: Any = recording.entries[number]
        return number, entry[1]
    primitive, parts, others = number
    found = [(None, other) if part is None else _compute(recording, part)
             for part, other in zip(parts, others, strict=True)]  # fmt: skip
    slots, args = zip(*found, strict=True)
    value = primitive.fn(*args)
    return recording.append((primitive, value, slots, args, None, STATE.site)), value


def _is_fixed(recording: Recording, slot: int) -> bool:
    """Whether a number depends on no input, so that it is the same in the first iteration of each call."""
    waiting, seen = [slot], {slot}
    while waiting:
        entry = recording.entries[waiting.pop()]
        slots = [] if entry is None else flat_slots(entry[2])
        if not slots and (entry is None or entry[0] is not CONSTANT):
            return False
        waiting += {*slots} - seen
        seen.update(slots)
    return True


def _result_of(fn: Any, args: list[Any]) -> Any:
    """Return `fn(*args)`; None if it raises an exception."""
    try:
        with np.errstate(all="ignore"):
            return fn(*args)
    except Exception:
        return None
