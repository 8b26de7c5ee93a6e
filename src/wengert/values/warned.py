"""Warnings at the user's line, where C or a library gives them at a line of this package.

C warns at the innermost frame of Python. Where that is one of ours, which calls a primitive or a rule, the warning is
given again at the line that the user would see without us, where the filters and the registry of that module decide.
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
from typing import Any, NamedTuple, TypeVar

from wengert.values.frames import is_at_caller, is_ours

F = TypeVar("F", bound=Callable[..., Any])
_warnings: Any = warnings
_shown: Callable[[Any], None] = _warnings._showwarnmsg
_steps: dict[types.CodeType, str] = {}
_warned_before: weakref.WeakKeyDictionary[Any, set[Any]] = weakref.WeakKeyDictionary()
_SITE = re.compile(r"# (.+):(\d+) in .*$")


class _Place(NamedTuple):
    """A line of the user's code, and the globals of its module."""

    file: str
    line: int
    names: dict[str, Any]


def steps(one_pass: str) -> Callable[[F], F]:
    """Declare a function that takes the derivative of its local variable `entry`, in the pass that `one_pass` names.

    In one pass each warning of the derivative is given once a line.
    """

    def declared(function: F) -> F:
        _steps[function.__code__] = one_pass
        return function

    return declared


def go_on(first: Any, second: Any) -> None:
    """Count the pass that `second` names as one with that of `first`: it takes the same steps again."""
    _warned_before[second] = _warned_before.setdefault(first, set())


class _Repeating(threading.local):
    filters: Any = None


_repeating = _Repeating()


@contextmanager
def repeating() -> Iterator[None]:
    """A context in which the user's code runs a second time: nobody is shown again what it warns of.

    Where it has filters of its own meanwhile, it may listen to its warnings, and gets them.
    """
    before, _repeating.filters = _repeating.filters, warnings.filters
    try:
        yield
    finally:
        _repeating.filters = before


def show_warning(message: Any) -> None:
    """Show a warning, at the user's line; C and `warnings.warn` call this where a filter lets a warning pass."""
    if _repeating.filters is warnings.filters:
        return
    found = _frame_of(sys._getframe(1), message)
    if found is None:
        _shown(message)
        return
    found.f_globals.get("__warningregistry__", {}).clear()  # which would hold back the next one, of another line
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
    """The frame of ours at whose line a warning was given; None where it was given at another's."""
    while frame is not None:
        if frame.f_lineno == message.lineno and frame.f_code.co_filename == message.filename:
            return frame if _is_ours(frame) else None
        frame = frame.f_back
    return None


def _place_of_warning(frame: types.FrameType, message: Any) -> _Place | None:
    """Where a warning of one of our frames belongs; None where it was given there in this pass."""
    here = frame
    while _is_ours(here):
        if here.f_code in _steps:
            return _place_of_step(here, message)
        if here.f_code.co_filename.startswith("<wengert tape"):
            text = _SITE.search(linecache.getline(here.f_code.co_filename, here.f_lineno))
            if text:
                return _of_file(text[1], int(text[2]))
        if here.f_back is None:
            break
        here = here.f_back
    return _Place(here.f_code.co_filename, here.f_lineno, here.f_globals)


def _place_of_step(frame: types.FrameType, message: Any) -> _Place | None:
    names = frame.f_locals
    site = names["entry"][5] if names.get("entry") else None
    told = _warned_before.setdefault(names.get(_steps[frame.f_code], frame.f_code), set())
    key = (site, message.category, str(message.message))
    if key in told:
        return None
    told.add(key)
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
