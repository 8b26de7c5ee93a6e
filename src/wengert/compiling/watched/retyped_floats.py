"""Floats of a trace that are np.float64 on its tape.

A loop that begins with `s = 0.0` and adds NumPy's numbers has a float in the first iteration, and np.float64 in all
others. On the tape they are alike, so that the loop is one loop; the traced code keeps its float.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compiling.ops import info
from wengert.recording.recording import Recording
from wengert.recording.shadow import SHADOW
from wengert.values.specs import fresh


def keeps_float(t: type, kind: type) -> bool:
    """Whether a number of type `t` may stay a float in the trace while the tape has one of type `kind`."""
    return t is float and kind is np.float64


class RetypedFloats(dict[int, Any]):
    """The numbers on the tape by their slots: lifted floats, and the results of arithmetic and tests on these."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = 0  # entries that were looked at

    def as_float(self, recording: Recording, number: Any) -> float:
        """Return a float that takes the place of a np.float64 in the trace."""
        made, slot = fresh(float(number)), SHADOW.pop(id(number))
        self.seen = self.seen if self else len(recording.entries)
        self[slot] = number
        recording.entries[slot] = _with_value(recording.entries[slot], made)
        SHADOW[id(made)] = slot
        return made

    def follow(self, recording: Recording) -> None:
        """Find the results of arithmetic and tests since the last time, and their numbers on the tape."""
        first, self.seen = self.seen, len(recording.entries)
        for slot in range(first, self.seen) if self else ():
            entry = recording.entries[slot]
            if entry is None or type(entry[1]) not in (float, bool) or self.keys().isdisjoint(entry[2]):
                continue
            if info(entry[0].fn).arity and not entry[4]:
                args = [*map(self.get, entry[2], entry[3]), *entry[3][len(entry[2]) :]]
                number = _computed(entry[0].fn, args)
                if type(number) in (np.float64, np.bool_):
                    self[slot] = number

    def write(self, recording: Recording) -> None:
        """Enter the numbers in the recording, which has ended."""
        self.follow(recording)
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


def _with_value(entry: Any, value: Any) -> Any:
    return entry[0], value, *entry[2:]


def _computed(fn: Any, args: list[Any]) -> Any:
    """Return `fn(*args)`; None if it raises an exception."""
    try:
        with np.errstate(all="ignore"):
            return fn(*args)
    except Exception:
        return None
