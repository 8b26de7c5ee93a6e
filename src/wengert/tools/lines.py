"""A tracer of the user's code, line by line: it knows the active line and its callers."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import get_ident
from typing import Any

from wengert.hooks.escape_monitor import monitoring
from wengert.recording.recording import STATE, library_folders
from wengert.values.frames import is_at_caller

_NOT_USERS = ("<wengert", "<frozen", "<__array_function__", *library_folders())
NO_FILE = "<string>"
"""The file name of code run by `exec`. A library's code may have it too, called from a line of a file."""
MONITORING_IDS = (2, 5, 1, 0)
"""The identifiers of `sys.monitoring` that are tried, the profilers' first; the escape monitor takes 3 and 4."""

Line = tuple[str, int, str]  # a file, a number, a function
LineStack = tuple[Line, ...]  # the user's active lines, the innermost last


class ActiveLine:
    """An active line of the user, below the line that called it; the topmost has no line."""

    __slots__ = ("above", "inner", "line")

    def __init__(self, line: Line | None = None, above: ActiveLine | None = None) -> None:
        self.line, self.above = line, above
        self.inner: dict[Line, ActiveLine] = {}

    def under(self, line: Line) -> ActiveLine:
        """Return the ActiveLine of a line that this one called."""
        found = self.inner.get(line)
        if found is None:
            found = self.inner[line] = ActiveLine(line, self)
        return found

    @property
    def stack(self) -> LineStack:
        """Return the lines from the topmost to this one."""
        lines, place = [], self
        while place.above is not None and place.line is not None:
            lines.append(place.line)
            place = place.above
        return tuple(reversed(lines))


class LineFollower:
    """A context that follows the user's code on this thread; `place` is its ActiveLine.

    It calls `leave()` before another line becomes active, and `begin()` once `place` is that line. A library's work
    counts for the line that called it. With `only_recorded`, unrecorded code counts for no line. If `sys.monitoring`
    has no free tool, it uses `sys.settrace`, in place of any other trace function.
    """

    def __init__(self, leave: Callable[[], None], begin: Callable[[], None]) -> None:
        self.leave, self.begin = leave, begin
        self.top = self.place = ActiveLine()
        self.outer: list[ActiveLine] = []
        self.only_recorded = False

    def __enter__(self) -> LineFollower:
        self.following = ExitStack()
        tool = free_tool()
        self.following.enter_context(_with_settrace(self) if tool is None else _with_monitoring(self, tool))
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

    def _counts(self, line: Line, above: ActiveLine) -> bool:
        if self.only_recorded and STATE.recording is None:
            return False
        return line[0] != NO_FILE or above.line is None or above.line[0] == NO_FILE


def free_tool() -> int | None:
    """Return a free tool identifier of `sys.monitoring`; None if all are taken."""
    if monitoring is None:
        return None
    return next((tool for tool in MONITORING_IDS if monitoring.get_tool(tool) is None), None)


@contextmanager
def _with_settrace(lines: LineFollower) -> Iterator[None]:
    """Follow the user's code by `sys.settrace`."""

    def started(frame: types.FrameType, event: str, arg: Any) -> Any:
        if not _is_user_frame(frame):
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
def _with_monitoring(lines: LineFollower, tool: int) -> Iterator[None]:
    """Follow the user's code by `sys.monitoring`: each start, then the events in that code."""
    events, thread = monitoring.events, get_ident()
    met: dict[int, types.CodeType] = {}

    def started(code: types.CodeType, *_: Any) -> Any:
        frame = sys._getframe(1)
        if not _is_user_frame(frame):
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

    def thrown(code: types.CodeType, *_: Any) -> None:  # an event that cannot be disabled
        if get_ident() == thread and id(code) in met:
            lines.called(line_of(sys._getframe(1)))

    callbacks = {
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
        for event, callback in callbacks.items():
            monitoring.register_callback(tool, event, callback)
        monitoring.set_events(tool, events.PY_START | events.PY_RESUME | events.PY_THROW | events.PY_UNWIND)
        yield
    finally:
        monitoring.set_events(tool, 0)
        for code in met.values():
            monitoring.set_local_events(tool, code, 0)
        for event in callbacks:
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)


@cache
def is_user_file(file: str) -> bool:
    """Whether a file has user code: neither a library's nor generated by one."""
    return not (is_at_caller(file) or file.startswith(_NOT_USERS))


def _is_user_frame(frame: types.FrameType) -> bool:
    """Whether a frame's code is the user's; a named tuple's class has a method without file, which is not."""
    file = frame.f_code.co_filename
    return is_user_file(file) and not (
        file == NO_FILE and frame.f_globals.get("__name__", "").startswith("namedtuple_")
    )


def line_of(frame: types.FrameType) -> Line:
    """Return the line that a frame is at."""
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname


def lines_by_number(found: Iterable[Line]) -> dict[tuple[str, int], Line]:
    """Return each line once, by file and number, in the function with the shortest name: no comprehension."""
    return {line[:2]: line for line in sorted(found, key=lambda line: -len(line[2]))}
