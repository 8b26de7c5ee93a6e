"""Queues in C: a call that takes an item of one may wait for another thread."""

from __future__ import annotations

import queue
from typing import Any

from wengert.hooks.classes import REDUCED_BY
from wengert.hooks.policy import MOVES, Decision, decides_methods_of, native_call, stand_in_call
from wengert.recording.recording import STATE
from wengert.recording.session import run_outside_turn


@decides_methods_of(queue.SimpleQueue)
def _of_queue(f: Any, t: type, name: str) -> Decision | None:
    waiting = stand_in_call("It may wait for another thread, which may record meanwhile.", _waited_for)
    return waiting if name == "get" else None if name in REDUCED_BY else native_call(MOVES)


def _waited_for(f: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs) if STATE.recording is None else run_outside_turn(STATE.recording, f, *args, **kwargs)

    return call
