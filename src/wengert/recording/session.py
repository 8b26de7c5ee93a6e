"""Opening and closing recordings, so that nothing is left behind wherever an interrupt, a fork or an error hits.

What is open is said by one list, which changes in single steps; all else follows from it and is settled anew each time.
A recording whose frame runs no more is over, however it ended, and who finds it closes it: the door through which the
user came in, and whoever waits for it, in any thread.

The shadow table and the modes are one thread's at a time. Threads take turns, in the order of a second list: the first
one on it records. Who waits for other threads, or runs code of the user's that may, leaves the list meanwhile, and has
its table put aside if another one comes. There is no lock: one could be left taken.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from wengert.recording.recording import C_ONLY_TYPES, OPERANDS, STATE, OpenCounts, Recording, SavedShadow, SavedState
from wengert.recording.shadow import SHADOW
from wengert.recording.trace_state import clear_caches, give_back
from wengert.values.codes import original
from wengert.values.frames import ENGINE

RARER = 20
F = TypeVar("F", bound=Callable[..., Any])

PATIENCE = 0.05  # seconds after which a thread that waits looks whether the one that records is still at it

_NOTHING_AROUND = SavedState(None, None, None, None)


class Session:
    """The open recordings of this process, in all its threads. There is one Session.

    It sets what hooks read, which stands beside it for that: `STATE`, `SHADOW`, and all that `settle` does.
    """

    __slots__ = ("inside", "outside", "recordings", "shown", "turns")

    def __init__(self) -> None:
        self.recordings: list[Recording] = []  # in the order in which they were opened; `settle` follows from them
        self.turns: list[Recording] = []  # those that record, or wait for it: the thread of the first one records
        self.shown: Recording | None = None  # whose values the shadow table holds; it is empty where nobody's
        self.outside: tuple[int, ...] = ()  # the thresholds of the cyclic collector, as the program has set them,
        self.inside: tuple[int, ...] = ()  # and those while a recording is open, empty where none is

    def open(self, recording: Recording, frame: types.FrameType) -> None:
        """Have this thread's turn to record, in a frame that will close the recording."""
        recording.frame, recording.thread = frame, threading.get_ident()
        if STATE.recording is not STATE.silenced:  # else both are None
            recording.saved_state = _save_state()
        shown = self.shown
        if shown is not None and shown.thread == recording.thread:
            recording.displaced = shown, shown.saved_shadow
        self.recordings.append(recording)
        is_alone = len(self.recordings) == 1
        self.turns.append(recording)
        if self.turns[0] is recording and self.shown is None:
            recording.is_open = True
            self.shown = recording
        else:
            self._bury(self.recordings)
            self.take_turn(recording)
            recording.is_open = True
        self.settle(1)
        if not is_alone and recording.saved_state is None:
            clear_caches()  # what the others have learnt: with the last of them it is forgotten

    def close(self, recording: Recording) -> None:
        """Stop recording, with all put back as it was; may be repeated until it goes through."""
        if recording.owed:
            recording.owed.pay()
        if recording.memory is not None:
            recording.memory.recording = None  # no cycle for the collector: 30 µs a gradient
        if recording in self.recordings:
            first = self.turns[0] if self.turns else None
            if recording.is_open and first is not recording:
                self.take_turn(recording)
                first = self.turns[0]
            if first is not None and (first is recording or first.thread == recording.thread):  # else it never began
                self._resume(recording)
                recording.is_open = False
                self.settle(0)
            self.leave_turn(recording)
            self.recordings.remove(recording)
        recording.thread = recording.frame = recording.saved_state = recording.saved_shadow = recording.displaced = None

    def take_turn(self, recording: Recording) -> None:
        """Wait until no other thread records; may be repeated."""
        if recording not in self.turns:
            self.turns.append(recording)
        if self.turns[0] is not recording:
            self._wait(recording)
        self._show(recording)

    def leave_turn(self, recording: Recording) -> None:
        """Let other threads record; may be repeated."""
        if recording in self.turns:
            self.turns.remove(recording)
        if self.turns and (bell := self.turns[0].turn_lock) is not None and bell.locked():
            with contextlib.suppress(RuntimeError):  # another one has rung it
                bell.release()

    def is_waiting(self, thread: int) -> bool:
        """Whether what a thread traces waits for other threads, or may."""
        return any([other.thread == thread and other not in self.turns for other in self.recordings[:]])

    def forget_values(self) -> None:
        """Nothing is traced from now on."""
        SHADOW.clear()
        self.shown = None

    def tidy(self) -> None:
        """Close what an interrupt kept from being closed on this thread."""
        if self.recordings:
            me = threading.get_ident()
            for recording in reversed(self.recordings[:]):
                if recording.thread == me and _is_over(recording):
                    self.close(recording)

    def _resume(self, recording: Recording) -> None:
        """Go on with what a recording was opened in the middle of, if anything.

        The table holds what it held then: what breaks in between two steps of changing it leaves it to them as it was.
        """
        around = recording.saved_state or _NOTHING_AROUND
        STATE.recording, STATE.fast, STATE.site, STATE.silenced = around
        if recording.displaced is not None and recording.displaced[0] in self.recordings:
            shown, saved_shadow = recording.displaced
            self._show(shown)
            shown.saved_shadow = saved_shadow
        elif (outer := around.recording or around.silenced) in self.turns:
            self._show(outer)
        elif self.shown is not None or SHADOW:
            self.forget_values()

    def _show(self, recording: Recording) -> None:
        """Put the values of a recording into the shadow table; those of another one are put aside."""
        shown = self.shown
        if shown is recording and recording.saved_shadow is None:
            return
        if shown is not None and shown is not recording and shown.is_open and shown.saved_shadow is None:
            held = [entry[1]() for entry in shown.entries if entry is not None and type(entry[1]) is weakref.ref]
            held += [storage.owner() for storage in [*shown.memory.storages.values()]]
            shown.saved_shadow = SavedShadow(dict(SHADOW), held)
        self.shown = recording
        SHADOW.clear()
        if recording.saved_shadow is not None:
            SHADOW.update(recording.saved_shadow.shadow)
            recording.saved_shadow = None

    def _is_next(self, recording: Recording) -> bool:
        """Whether it is this thread's turn; what stands before it on the list it waits for."""
        self._bury(self.turns)
        return self.turns[0].thread == recording.thread

    def _wait(self, recording: Recording) -> None:
        bell = recording.turn_lock = threading.Lock()
        bell.acquire()
        while not self._is_next(recording):
            bell.acquire(timeout=PATIENCE)

    def _bury(self, recordings: list[Recording]) -> None:
        """Close recordings that are over and were not closed."""
        for recording in [other for other in recordings if _is_over(other)]:
            recording.owed.pay()
            recording.is_open = False
            for table in (self.turns, self.recordings):
                if recording in table:
                    table.remove(recording)

    def settle(self, anew: int) -> None:
        """Bring all that follows from the open recordings in line with them.

        If at most `anew` of them have begun, no array has been written in any.
        """
        begun = tapes = contexts = 0
        for recording in self.recordings:
            if recording.is_open:
                begun += 1
                tapes += recording.keep
                contexts += recording.context is not None
        if (tapes, contexts) != (OpenCounts.tapes, OpenCounts.contexts):  # to set them takes caches from the hooks
            OpenCounts.tapes, OpenCounts.contexts = tapes, contexts
        if begun <= anew:
            C_ONLY_TYPES.add(np.ndarray)
            OPERANDS.add(np.ndarray)
        now = gc.get_threshold()
        if begun:
            # A recording only grows and holds no cycles; to walk through all of it so often took a quarter of the time.
            # Young objects are collected as ever: garbage of the user's lies longer only if it is old and in a cycle.
            if now != self.inside:  # else full collections are postponed already
                young, middle, old = self.outside = now
                self.inside = young, middle, old * RARER
                gc.set_threshold(*self.inside)
        else:
            give_back()
            clear_caches()
            if now == self.inside:  # else the user's code has set others
                gc.set_threshold(*self.outside)
            self.inside = ()

    def forked(self) -> None:
        """In the child of a fork: forget other threads, which are gone, and what they recorded."""
        mine = [recording for recording in self.recordings if recording.thread == threading.get_ident()]
        if mine != self.recordings:
            self.recordings[:] = mine
            self.turns[:] = [recording for recording in self.turns if recording in mine]
            if self.shown not in mine:
                self.forget_values()
            self.settle(-1)


SESSION = Session()


def tidying(f: F) -> F:
    """Make calls of `f` end with `SESSION.tidy()`. A decorator; `grad` does it inline, to save a call."""

    @functools.wraps(f)
    def tidied(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        finally:
            SESSION.tidy()

    return tidied  # type: ignore[return-value]


def _save_state() -> SavedState | None:
    """Save the state that a recording is opened in the middle of, if that goes on afterwards."""
    silenced, STATE.silenced = STATE.silenced, None
    recording = STATE.recording or silenced
    if recording is None or not recording.is_open:
        return None
    return SavedState(STATE.recording, STATE.fast, STATE.site, silenced)


def _is_over(recording: Recording) -> bool:
    """Whether the frame that opened a recording has ended, in whatever way; only then can it be cleared."""
    try:
        if recording.frame is not None:
            recording.frame.clear()
    except RuntimeError:
        return False
    return True


def active_recording() -> Recording | None:
    """This thread's recording, where it follows the code that asks; None in what breaks in on a trace.

    A signal handler, a finaliser or a trace function may run between any two steps of the recording: what it does is
    none of the function's, and a gradient that it takes has a recording of its own.
    """
    recording = STATE.recording
    if recording is None or not recording.is_open:
        return None
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame is not recording.frame:
        code = frame.f_code
        if not code.co_filename.startswith(ENGINE):
            return None if original(code) is None else recording
        frame = frame.f_back
    return recording


class outside_turn:
    """A context that gives up this thread's turn: another may record while this one waits, or runs code that may wait.

    No trace sees what runs in it. `silent` is another context: it keeps the turn.
    """

    __slots__ = ("before", "recording")

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    def __enter__(self) -> None:
        self.before = SavedState(STATE.recording, STATE.fast, STATE.site, STATE.silenced)
        STATE.silenced, STATE.recording, STATE.fast = self.recording, None, None
        SESSION.leave_turn(self.recording)

    def __exit__(self, *error: object) -> None:
        SESSION.take_turn(self.recording)
        SESSION.settle(-1)
        STATE.recording, STATE.fast, STATE.site, STATE.silenced = self.before


def run_outside_turn(recording: Recording, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`fn(*args, **kwargs)` in the context `outside_turn`."""
    with outside_turn(recording):
        return fn(*args, **kwargs)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=SESSION.forked)
