"""This package's own frames, kept out of the sight of the user's code: tracebacks, `sys._getframe`, warnings."""

from __future__ import annotations

import os
import sys
import types
import warnings
from typing import Any

from wengert.sites import Site

ENGINE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_OURS = (ENGINE, "<wengert")


def is_ours(frame: types.FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_OURS)


def users_frames(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback without this package's frames; itself where there are none."""
    frames = []
    part = traceback
    while part is not None:
        frames.append(part)
        part = part.tb_next
    kept = [part for part in frames if not is_ours(part.tb_frame)]
    if len(kept) == len(frames):
        return traceback
    rest = None
    for part in reversed(kept):
        rest = types.TracebackType(rest, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return rest


def caught(error: BaseException, site: Site | None) -> None:
    """An exception has arrived at a handler, where the user's code may look at its traceback."""
    found = error.__traceback__
    kept = users_frames(found)
    if kept is not found:
        error.__traceback__ = kept


def user_frame(depth: int, frame: types.FrameType) -> types.FrameType:
    """The frame so many levels above one, of which those of this package do not count.

    Errors: ValueError where the stack is not so deep.
    """
    found: types.FrameType | None = frame
    while found is not None and is_ours(found):
        found = found.f_back
    while depth > 0 and found is not None:
        found = found.f_back
        while found is not None and is_ours(found):
            found = found.f_back
        depth -= 1
    if found is None:
        raise ValueError("call stack is not deep enough")
    return found


def get_frame(depth: int = 0, /) -> types.FrameType:
    """`sys._getframe`."""
    return user_frame(depth, sys._getframe(1))


def warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **options: Any) -> None:
    """`warnings.warn`, where only the user's frames count as levels."""
    warnings.warn(message, category, levels_above(stacklevel, sys._getframe()), source, **options)


def levels_above(stacklevel: int, frame: types.FrameType) -> int:
    """The `stacklevel` that means, from one frame, what the user's meant where this package's frames did not count."""
    level, found = 1, frame.f_back
    while found is not None and stacklevel > 0:
        level, stacklevel, found = level + 1, stacklevel - (not is_ours(found)), found.f_back
    return level + max(stacklevel, 0)
