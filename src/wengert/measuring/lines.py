"""Following the user's code line by line while it runs: which of its lines is at work, and who called it."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from functools import cache
from typing import Any

from wengert.recording.recording import LIBRARIES
from wengert.values.frames import is_at_caller

_OTHERS = ("<wengert", "<frozen", "<string>", "<__array_function__", *LIBRARIES)
Line = tuple[str, int, str]  # a file, a number, a function
Stack = tuple[Line, ...]  # the lines of the user's that are at work, the innermost last


class Lines:
    """A context in which the user's code is followed; `stack` are the lines at work.

    `leave()` is called each time when another line is about to be at work. What a library computes counts for the line
    that called it. Another tool that follows code by `sys.settrace` stands back meanwhile.
    """

    def __init__(self, leave: Callable[[], None]) -> None:
        self.leave = leave
        self.stack: Stack = ()
        self.outer: list[Stack] = []

    def __enter__(self) -> Lines:
        self.before = sys.gettrace()
        sys.settrace(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(self.before)

    def pause(self) -> None:
        """Follow no more."""
        sys.settrace(self.before)

    def _called(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if not is_users(frame.f_code.co_filename):
            return None
        self.leave()
        self.outer.append(self.stack)
        self.stack = (*self.stack, line_of(frame))
        return self._moved

    def _moved(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.leave()
            self.stack = (*self.outer[-1], line_of(frame))
        elif event == "return":
            self.leave()
            self.stack = self.outer.pop()
        return self._moved


@cache
def is_users(file: str) -> bool:
    """Whether a file has code of the user's: no library's, and none that a library makes."""
    return not (is_at_caller(file) or file.startswith(_OTHERS))


def line_of(frame: types.FrameType) -> Line:
    """The line that a frame is at."""
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname


def stack_here() -> Stack:
    """The lines of the user's that are at work now."""
    found = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            found.append(line_of(frame))
        frame = frame.f_back
    return tuple(reversed(found))
