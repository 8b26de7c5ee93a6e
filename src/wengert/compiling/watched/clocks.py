"""Clocks in a watched trace: the tape reads them again, each after the value that was computed last before it.

So a time that a function measures is that of the generated code. No derivative passes through a clock.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

from wengert.compiling.watched.outer_reads import Reads
from wengert.recording.primitives import Primitive
from wengert.recording.record import record_call
from wengert.recording.recording import STATE
from wengert.recording.slots import slot_of
from wengert.rulebook.rule import Carrier, Rule
from wengert.values.identity_set import Functions
from wengert.values.specs import is_inexact

CLOCKS = Functions(time.time, time.perf_counter, time.monotonic, time.process_time, time.thread_time)
MOST_LOOKED_AT = 100
"""How many entries are looked at, at most, for a value that the tape computes before the clock is read."""


class Clock(Carrier):
    """The primitive that reads a clock once a value is known."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self.__name__ = clock, clock.__name__

    def __call__(self, value: Any) -> float:
        return self._clock()

    @functools.cached_property
    def own_rule(self) -> Rule:
        """The rule: it has no derivative."""
        return Rule(self.__name__, (self,), "constant", None, __name__)


@functools.cache
def _primitive(clock: Callable[[], float]) -> Primitive:
    made = Clock(clock)
    return Primitive(made, made.own_rule)


def watched_clock(clock: Any, reads: Reads) -> Callable[[], float]:
    """Return the replacement of a clock; a loop that reads it keeps its traced number of iterations."""

    def call() -> float:
        recording, frame = reads.recording, sys._getframe(1)
        before = None if STATE.recording is not recording else _last_value(recording)
        if before is None:
            reads.give_up(f"it calls time.{clock.__name__} before it computes anything, or under wg.vmap")
            return float(clock())
        if reads.effects.take_time:
            reads.give_up(f"it calls time.{clock.__name__} after time.sleep or np.save, which its code would call last")
        place = frame.f_code, frame.f_lasti
        reads.asks_time_again |= place in reads.clock_places
        reads.clock_places.add(place)
        made: float = record_call(_primitive(clock), (before,), {})
        return made

    return call


def _last_value(recording: Any) -> Any:
    """Return the last number or array that the tape computes; None without one."""
    for slot in range(len(recording.entries) - 1, max(len(recording.entries) - MOST_LOOKED_AT, 0) - 1, -1):
        value = recording.value(slot)
        if is_inexact(value) and slot_of(recording, value) == slot:
            return value
    return None
