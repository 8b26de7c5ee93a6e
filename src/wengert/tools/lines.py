"""A tracer of the user's code, line by line: it knows the active line and its callers."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import get_ident
from typing import Any

from wengert.recording.recording import LIBRARY_FOLDERS, STATE
from wengert.values.frames import is_at_caller

_OTHERS = ("<wengert", "<frozen", "<__array_function__", *LIBRARY_FOLDERS)
NO_FILE = "<string>"
"""The file name of code run by `exec`. A library's code may have it too, called from a line of a file."""
TOOLS = (2, 5, 1, 0)
"""The identifiers of `sys.monitoring` that are tried, the profilers' first; 3 and 4 are the net's."""
monitoring: Any = getattr(sys, "monitoring", None)  # from Python 3.12

Line = tuple[str, int, str]  # a file, a number, a function
Stack = tuple[Line, ...]  # the lines of the user's that are at work, the innermost last


class Place:
    """A line of the user's that is at work, below the place that called it; the topmost has no line."""

    __slots__ = ("above", "inner", "line")

    def __init__(self, line: Line | None = None, above: Place | None = None) -> None:
        self.line, self.above = line, above
        self.inner: dict[Line, Place] = {}

    def under(self, line: Line) -> Place:
        """The place of a line that this one called."""
        found = self.inner.get(line)
        if found is None:
            found = self.inner[line] = Place(line, self)
        return found

    @property
    def stack(self) -> Stack:
        """The lines from the topmost to this one."""
        found, place = [], self
        while place.above is not None and place.line is not None:
            found.append(place.line)
            place = place.above
        return tuple(reversed(found))


class Lines:
    """A context in which the user's code on this thread is followed; `place` is where it is at work.

    `leave()` is called when another line is about to be at work, and `begin()` when `place` is that. What a library
    computes counts for the line that called it. With `only_recorded`, what runs unrecorded counts for nobody. Where
    `sys.monitoring` has no tool to spare, `sys.settrace` follows: another that does so stands back meanwhile.
    """

    def __init__(self, leave: Callable[[], None], begin: Callable[[], None]) -> None:
        self.leave, self.begin = leave, begin
        self.top = self.place = Place()
        self.outer: list[Place] = []
        self.only_recorded = False

    def __enter__(self) -> Lines:
        self.following = ExitStack()
        tool = free_tool()
        self.following.enter_context(_traced(self) if tool is None else _monitored(self, tool))
        return self

    def __exit__(self, *error: object) -> None:
        self.pause()

    def pause(self) -> None:
        """Stop following."""
        self.following.close()

    def called(self, line: Line) -> None:
        """Handle the start, or a resumption, of the user's code at a line."""
        self.outer.append(self.place)
        if self._counts(line, self.place):
            self.leave()
            self.place = self.place.under(line)
            self.begin()

    def moved(self, line: Line) -> None:
        """Handle a new line of the user's code."""
        above = self.outer[-1] if self.outer else self.top
        if self._counts(line, above):
            self.leave()
            self.place = above.under(line)
            self.begin()

    def returned(self) -> None:
        """Handle the end, or a suspension, of a call of the user's code."""
        back = self.outer.pop() if self.outer else self.top
        if back is not self.place:
            self.leave()
            self.place = back
            self.begin()

    def _counts(self, line: Line, above: Place) -> bool:
        if self.only_recorded and STATE.recording is None:
            return False
        return line[0] != NO_FILE or above.line is None or above.line[0] == NO_FILE


def free_tool() -> int | None:
    """Return a free tool identifier of `sys.monitoring`; None if all are taken."""
    if monitoring is None:
        return None
    return next((tool for tool in TOOLS if monitoring.get_tool(tool) is None), None)


@contextmanager
def _traced(lines: Lines) -> Iterator[None]:
    """A block in which `sys.settrace` tells of the user's code."""

    def started(frame: types.FrameType, event: str, arg: Any) -> Any:
        if not _is_users_own(frame):
            return None
        lines.called(line_of(frame))
        return within

    def within(frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            lines.moved(line_of(frame))
        elif event == "return":
            lines.returned()
        return within

    before = sys.gettrace()
    sys.settrace(started)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def _monitored(lines: Lines, tool: int) -> Iterator[None]:
    """A block in which `sys.monitoring` tells of the user's code: of each start, then of what happens in that code."""
    events, thread = monitoring.events, get_ident()
    met: dict[int, types.CodeType] = {}

    def started(code: types.CodeType, *_: Any) -> Any:
        frame = sys._getframe(1)
        if not _is_users_own(frame):
            return monitoring.DISABLE
        if get_ident() == thread:
            if id(code) not in met:
                met[id(code)] = code
                monitoring.set_local_events(tool, code, events.LINE | events.PY_RETURN | events.PY_YIELD)
            lines.called(line_of(frame))
        return None

    def moved(code: types.CodeType, number: int) -> None:
        if get_ident() == thread:
            lines.moved((code.co_filename, number, code.co_qualname))

    def returned(code: types.CodeType, *_: Any) -> None:
        if get_ident() == thread and id(code) in met:
            lines.returned()

    def thrown(code: types.CodeType, *_: Any) -> None:  # an event that cannot be declined
        if get_ident() == thread and id(code) in met:
            lines.called(line_of(sys._getframe(1)))

    told = {
        events.PY_START: started,
        events.PY_RESUME: started,
        events.PY_THROW: thrown,
        events.LINE: moved,
        events.PY_RETURN: returned,
        events.PY_YIELD: returned,
        events.PY_UNWIND: returned,
    }
    monitoring.use_tool_id(tool, "wengert")
    try:
        for event, callback in told.items():
            monitoring.register_callback(tool, event, callback)
        monitoring.set_events(tool, events.PY_START | events.PY_RESUME | events.PY_THROW | events.PY_UNWIND)
        yield
    finally:
        monitoring.set_events(tool, 0)
        for code in met.values():
            monitoring.set_local_events(tool, code, 0)
        for event in told:
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)


@cache
def is_users(file: str) -> bool:
    """Whether a file has user code: neither a library's nor generated by one."""
    return not (is_at_caller(file) or file.startswith(_OTHERS))


def _is_users_own(frame: types.FrameType) -> bool:
    """Whether a frame's code is the user's; the class of a named tuple has a method of no file."""
    file = frame.f_code.co_filename
    return is_users(file) and not (file == NO_FILE and frame.f_globals.get("__name__", "").startswith("namedtuple_"))


def line_of(frame: types.FrameType) -> Line:
    """The line that a frame is at."""
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname


def named(found: Iterable[Line]) -> dict[tuple[str, int], Line]:
    """Each line once, by file and number, in the function of the shortest name: a comprehension is a part of it."""
    return {line[:2]: line for line in sorted(found, key=lambda line: -len(line[2]))}
