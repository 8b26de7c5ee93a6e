"""Warnings of primitives and rules, shown at the user's line.

C code warns at the innermost Python frame. If that is a frame of this package, the warning is issued again at the line
that the user would see without it, subject to the filters and the registry of that module.
"""

from __future__ import annotations

import linecache
import re
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from wengert.values.frames import is_at_caller, is_ours
from wengert.values.named_tuples import NamedTuple

F = TypeVar("F", bound=Callable[..., Any])
_warnings: Any = warnings
_shown: Callable[[Any], None] = _warnings._showwarnmsg
_steps: dict[types.CodeType, str] = {}
_warned_before: weakref.WeakKeyDictionary[Any, set[Any]] = weakref.WeakKeyDictionary()
_SITE = r"# (.+):(\d+) in .*$"


class _Place(NamedTuple):
    """A line of the user's code and the globals of its module."""

    file: str
    line: int
    names: dict[str, Any]


def steps(one_pass: str) -> Callable[[F], F]:
    """Declare a function that differentiates its local variable `entry`; `one_pass` names the local of the pass.

    In one pass, each warning is shown once per line of the user.
    """

    def declared(function: F) -> F:
        _steps[function.__code__] = one_pass
        return function

    return declared


def go_on(first: Any, second: Any) -> None:
    """Treat the pass of `second` as part of that of `first`, whose steps it repeats."""
    _warned_before[second] = _warned_before.setdefault(first, set())


class _Repeating(threading.local):
    filters: Any = None


_repeating = _Repeating()


@contextmanager
def repeating() -> Iterator[None]:
    """Hide the warnings of a block that runs the user's code a second time.

    Warnings are shown while the code has filters of its own, since it may record them.
    """
    before, _repeating.filters = _repeating.filters, warnings.filters
    try:
        yield
    finally:
        _repeating.filters = before


def show_warning(message: Any) -> None:
    """Show a warning at the user's line; Python calls this for each warning that passes the filters."""
    if _repeating.filters is warnings.filters:
        return
    found = _frame_of(sys._getframe(1), message)
    if found is None:
        _shown(message)
        return
    found.f_globals.get("__warningregistry__", {}).clear()  # it would suppress the same warning of another user line
    place = _place_of_warning(found, message)
    if place is None:
        return
    warnings.warn_explicit(
        message.message,
        message.category,
        place.file,
        place.line,
        place.names.get("__name__", "<string>"),
        place.names.setdefault("__warningregistry__", {}),
        source=message.source,
    )


def _is_ours(frame: types.FrameType) -> bool:
    return is_ours(frame) or is_at_caller(frame.f_code.co_filename)


def _frame_of(frame: types.FrameType | None, message: Any) -> types.FrameType | None:
    """Return the frame that warned if it is one of this package; None otherwise."""
    while frame is not None:
        if frame.f_lineno == message.lineno and frame.f_code.co_filename == message.filename:
            return frame if _is_ours(frame) else None
        frame = frame.f_back
    return None


def _place_of_warning(frame: types.FrameType, message: Any) -> _Place | None:
    """Return the user's line for a warning of a frame of this package; None if it was shown there in this pass."""
    here = frame
    while _is_ours(here):
        if here.f_code in _steps:
            return _place_of_step(here, message)
        if here.f_code.co_filename.startswith("<wengert tape"):
            text = re.search(_SITE, linecache.getline(here.f_code.co_filename, here.f_lineno))
            if text:
                return _of_file(text[1], int(text[2]))
        if here.f_back is None:
            break
        here = here.f_back
    return _Place(here.f_code.co_filename, here.f_lineno, here.f_globals)


def _place_of_step(frame: types.FrameType, message: Any) -> _Place | None:
    names = frame.f_locals
    site = names["entry"][5] if names.get("entry") else None
    shown = _warned_before.setdefault(names.get(_steps[frame.f_code], frame.f_code), set())
    key = (site, message.category, str(message.message))
    if key in shown:
        return None
    shown.add(key)
    if site is not None:
        return _of_file(site.file, site.line)
    while _is_ours(frame) and frame.f_back is not None:
        frame = frame.f_back
    return _Place(frame.f_code.co_filename, frame.f_lineno, frame.f_globals)


def _of_file(file: str, line: int) -> _Place:
    for module in [*sys.modules.values()]:
        if getattr(module, "__file__", None) == file:
            return _Place(file, line, vars(module))
    return _Place(file, line, {"__name__": file})


_warnings._showwarnmsg = show_warning
