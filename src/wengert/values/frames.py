"""Frames of this package, hidden from the user's code: in tracebacks, `sys._getframe` and warnings."""

from __future__ import annotations

import ctypes
import os
import sys
import types
import warnings
from typing import Any

from wengert.values.sites import Site

ENGINE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OURS = (ENGINE, "<wengert")
STANDARD = "<wengert standard library>"
_RULE_FILES = os.path.join("wengert_rules", "")


def is_at_caller(file: str) -> bool:
    """Whether instrumented code of a file reports its caller's line as its site."""
    return file.startswith(ENGINE) or file == STANDARD or _RULE_FILES in file


def is_ours(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_OURS)


def users_frames(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """Remove this package's frames from a traceback, in place; return its first remaining entry."""
    kept = []
    while traceback is not None:
        if not is_ours(traceback.tb_frame):
            kept.append(traceback)
        traceback = traceback.tb_next
    for part, following in zip(kept, [*kept[1:], None], strict=False):
        if part.tb_next is not following:
            part.tb_next = following
    return kept[0] if kept else None


def caught(error: BaseException, site: Site | None) -> None:
    """Remove this package's frames from the traceback of `error`, which the user's code at `site` has caught."""
    found = error.__traceback__
    kept = users_frames(found)
    if kept is not found:
        error.__traceback__ = kept


def set_local(frame: types.FrameType, name: str, value: Any) -> None:
    """Set a local variable of a running function."""
    frame.f_locals[name] = value
    if sys.version_info < (3, 13):  # `f_locals` is a copy
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), 0)


def user_frame(frame: types.FrameType | None) -> types.FrameType | None:
    """Return the first frame of the user's code, from `frame` outwards."""
    while frame is not None and is_ours(frame):
        frame = frame.f_back
    return frame


def get_frame(depth: int = 0, /) -> types.FrameType:
    """Replace `sys._getframe` in traced code: count the user's frames only."""
    found = user_frame(sys._getframe())
    while depth > 0 and found is not None:
        found, depth = user_frame(found.f_back), depth - 1
    if found is None:
        raise ValueError("call stack is not deep enough")
    return found


def frame_module_name(depth: int = 0) -> Any:
    """Replace `sys._getframemodulename` (Python 3.12) in traced code: count the user's frames only."""
    try:
        return get_frame(depth).f_globals.get("__name__")
    except ValueError:
        return None


def warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **options: Any) -> None:
    """Replace `warnings.warn` in traced code: only the user's frames count as levels."""
    warnings.warn(message, category, levels_above(stacklevel, sys._getframe()), source, **options)


def levels_above(stacklevel: int, frame: types.FrameType) -> int:
    """Convert a `stacklevel` that counts only the user's frames into one that counts all frames from `frame` on."""
    level, found = 1, frame.f_back
    while found is not None and stacklevel > 0:
        level, stacklevel, found = level + 1, stacklevel - (not is_ours(found)), found.f_back
    return level + max(stacklevel, 0)
