"""Where in the user's code an op of a tape comes from: its line, and the variable that it was stored in."""

from __future__ import annotations

import contextlib
import linecache
import os
from collections.abc import Sequence
from typing import Any

from wengert.recording.recording import LIBRARY_FOLDERS
from wengert.tape.ops import Op, Variable
from wengert.values.frames import ENGINE
from wengert.values.names import in_line
from wengert.values.sites import Site, StoringSite

_RULES = f"{os.sep}wengert_rules{os.sep}"
WIDTH = 100


def behind(op: Op) -> str:
    """The user's line that an op does, with its text, as a comment; that of a step back or forward is its call's."""
    words, op = "", op
    while isinstance(op.note, tuple) and isinstance(about := op.note[-1], Variable) and about.op is not None:
        words, op = f"{words}{op.note[0]} ", about.op
    if op.site is None or not _is_users(op.site):
        return ""
    text = ""
    with contextlib.suppress(ValueError):  # a file's name may be any text
        text = linecache.getline(op.site.file, op.site.line).strip()
    said = f"{words}{os.path.basename(op.site.file)}:{op.site.line}"
    return in_line(f"{said}  {text}" if text else f"{said} in {op.site.function}")[:WIDTH]


def variables_of(ops: Sequence[Any]) -> dict[int, str]:
    """The variables of the user's in which values were stored, by the position of the op; only those that are certain.

    One call may be recorded as several of its kind (an array of lists, as arrays): its value is the last.
    """
    found: dict[int, str] = {}
    site: Any = None
    last = 0
    for op in ops:
        if op.site is not site:
            site, last = op.site, 0
        name = None if op.note else _stored(site, getattr(op, "fn", None))
        if name is not None:
            if last and site.called is not None:
                del found[last]
            found[op.id], last = name, op.id
    return found


def _stored(site: Any, fn: Any) -> str | None:
    if type(site) is not StoringSite or not _is_users(site):
        return None
    if site.called is None:
        return site.target if getattr(fn, "__module__", None) == "_operator" else None
    return site.target if getattr(fn, "__name__", None) == site.called else None


def _is_users(site: Site) -> bool:
    return not site.file.startswith(("<wengert", ENGINE, *LIBRARY_FOLDERS)) and _RULES not in site.file
