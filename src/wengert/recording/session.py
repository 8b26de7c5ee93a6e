"""Opening and closing recordings, so that nothing is left behind wherever an interrupt, a fork or an error hits.

What is open is said by one list, which changes in single steps; all else follows from it and is settled anew each time.
A recording whose frame runs no more is over, however it ended, and who finds it closes it: the door through which the
user came in, and whoever opens the next one, in any thread. There is no lock: one could be left taken.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
import threading
import types
import weakref
from typing import Any

import numpy as np

from wengert.recording.exchanged import give_back
from wengert.recording.recording import ACTIVE, OPERANDS, PLAIN, STATE, Modes, Outside, Recording
from wengert.recording.shadow import SHADOW
from wengert.rewrite import original
from wengert.values.frames import ENGINE

RARER = 20
PATIENCE = 0.05  # seconds after which a thread that waits looks whether the one that records is still at it

_turn = threading.Lock()  # taken while a thread records, for others to wait on; who may record is said by ACTIVE


class Thresholds:
    """Of the cyclic collector: those of the program, and those while a recording is open, empty where none is."""

    outside: tuple[int, ...] = ()
    inside: tuple[int, ...] = ()


THRESHOLDS = Thresholds()


def followed() -> Recording | None:
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


def open_recording(recording: Recording, frame: types.FrameType) -> None:
    """Have this thread's turn to record, in a frame that will close the recording."""
    recording.frame, recording.thread, recording.is_open = frame, threading.get_ident(), True
    recording.outside = None if STATE.recording is STATE.silenced else _outside()  # both None
    while not _opened(recording):
        _turn.acquire(timeout=PATIENCE)
    _turn.acquire(False)


def _opened(recording: Recording) -> bool:
    """Put a recording on the list, unless another thread's stands there: the shadow table knows one thread's values."""
    ACTIVE.append(recording)
    around = [] if ACTIVE[0] is recording else _around(recording)
    if around is None:
        ACTIVE.remove(recording)
        return False
    if ACTIVE[0] is not recording:
        for over in [other for other in ACTIVE[: ACTIVE.index(recording)] if _is_over(other)]:
            over.owed.pay()
            ACTIVE.remove(over)
    SHADOW.clear()
    _settle([*around, recording])
    return True


def close_recording(recording: Recording) -> None:
    """Stop recording, with all put back as it was; may be repeated until it goes through."""
    recording.owed.pay()
    if recording.memory is not None:
        recording.memory.recording = None  # no cycle for the collector: 30 µs a gradient
    if recording in ACTIVE:
        around = [] if ACTIVE[0] is recording else _around(recording)
        if around is not None:
            outside = recording.outside
            SHADOW.clear()
            if outside is not None:
                SHADOW.update(outside.shadow)
                STATE.silenced = outside.silenced
            STATE.recording, STATE.quick, STATE.site = (None, None, None) if outside is None else outside[:3]
            recording.is_open = False
            _settle(around)
        ACTIVE.remove(recording)
        try:  # noqa: SIM105 -- `suppress` takes 0.5 µs of the 25 of a gradient
            _turn.release()
        except RuntimeError:  # it is free
            pass
    recording.thread = recording.frame = recording.outside = None


def tidy() -> None:
    """Close what an interrupt kept from being closed on this thread."""
    if ACTIVE:
        me = threading.get_ident()
        for recording in reversed(ACTIVE[:]):
            if recording.thread == me and _is_over(recording):
                close_recording(recording)


def _around(recording: Recording) -> list[Recording] | None:
    """The recordings of its thread in the middle of which one was opened; None while another thread records."""
    before = itertools.takewhile(lambda other: other is not recording, ACTIVE[:])
    live = [other for other in before if not _is_over(other)]
    if any([other.thread != recording.thread for other in live]):
        return None
    return [other for other in live if other.is_open]


def _outside() -> Outside | None:
    """What a recording is opened in the middle of, where that goes on afterwards."""
    silenced, STATE.silenced = STATE.silenced, None
    recording = STATE.recording or silenced
    if recording is None or not recording.is_open:
        return None
    held = [entry[1]() for entry in recording.entries if entry is not None and type(entry[1]) is weakref.ref]
    held += [storage.owner() for storage in [*recording.memory.storages.values()]]
    return Outside(STATE.recording, STATE.quick, STATE.site, dict(SHADOW), silenced, held)


def _settle(recordings: list[Recording]) -> None:
    """All that follows from which recordings are open."""
    guarding = asking = 0
    for recording in recordings:
        guarding += recording.keep
        asking += recording.context is not None
    if (guarding, asking) != (Modes.guarding, Modes.asking):  # to set them takes caches from the hooks
        Modes.guarding, Modes.asking = guarding, asking
    if len(recordings) < 2:
        PLAIN.add(np.ndarray)
        OPERANDS.add(np.ndarray)
    if recordings:
        _postpone_full_collections()
    else:
        give_back()
        _resume_full_collections()


def _postpone_full_collections() -> None:
    """A recording only grows and holds no cycles; to walk through all of it so often took a quarter of the time.

    Young objects are collected as ever: garbage of the user's lies longer only if it is old and in a cycle.
    """
    now = gc.get_threshold()
    if now != THRESHOLDS.inside:  # else they are postponed already
        young, middle, old = THRESHOLDS.outside = now
        THRESHOLDS.inside = young, middle, old * RARER
        gc.set_threshold(*THRESHOLDS.inside)


def _resume_full_collections() -> None:
    if gc.get_threshold() == THRESHOLDS.inside:  # else the user's code has set others
        gc.set_threshold(*THRESHOLDS.outside)
    THRESHOLDS.inside = ()


def _is_over(recording: Recording) -> bool:
    """Whether the frame that opened a recording has ended, in whatever way: only then it can be cleared."""
    try:
        if recording.frame is not None:
            recording.frame.clear()
    except RuntimeError:
        return False
    return True


def _forked() -> None:
    """In the child of a fork other threads are gone, and what they recorded with them."""
    turn: Any = _turn
    turn._at_fork_reinit()
    mine = [recording for recording in ACTIVE if recording.thread == threading.get_ident()]
    if mine != ACTIVE:
        ACTIVE[:] = mine
        SHADOW.clear()
        _settle(mine)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
