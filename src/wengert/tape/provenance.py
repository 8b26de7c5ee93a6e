"""Provenance of a tape's ops: the user's line, and the user's variable that the value was stored in."""

from __future__ import annotations

import contextlib
import linecache
import os
from collections.abc import Sequence
from typing import Any

from wengert.recording.recording import library_folders
from wengert.tape.ops import Op, Variable
from wengert.values.frames import ENGINE
from wengert.values.names import in_line
from wengert.values.sites import Site, StoringSite

_RULES_FOLDER = f"{os.sep}wengert_rules{os.sep}"
COMMENT_WIDTH = 100


def user_line_comment(op: Op) -> str:
    """Return a comment with the user's line of an op; a derivative step has the line of the call it differentiates."""
    words = ""
    while isinstance(op.note, tuple) and isinstance(subject := op.note[-1], Variable) and subject.op is not None:
        words, op = f"{words}{op.note[0]} ", subject.op
    if op.site is None or not _is_users(op.site):
        return ""
    text = ""
    with contextlib.suppress(ValueError):  # a file's name may be any string
        text = linecache.getline(op.site.file, op.site.line).strip()
    place = f"{words}{os.path.basename(op.site.file)}:{op.site.line}"
    return in_line(f"{place}  {text}" if text else f"{place} in {op.site.function}")[:COMMENT_WIDTH]


def variable_names(ops: Sequence[Any]) -> dict[int, str]:
    """Map each op's position to the user's variable that its value was stored in, if that is certain.

    One call may be recorded as several calls of the same function (an array of lists). The last one has its value.
    """
    found: dict[int, str] = {}
    site: Any = None
    last = 0
    for op in ops:
        if op.site is not site:
            site, last = op.site, 0
        name = None if op.note else _stored_name(site, getattr(op, "fn", None))
        if name is not None:
            if last and site.called is not None:
                del found[last]
            found[op.id], last = name, op.id
    return found


def _stored_name(site: Any, fn: Any) -> str | None:
    if type(site) is not StoringSite or not _is_users(site):
        return None
    if site.called is None:
        return site.target if getattr(fn, "__module__", None) == "_operator" else None
    return site.target if getattr(fn, "__name__", None) == site.called else None


def _is_users(site: Site) -> bool:
    return not site.file.startswith(("<wengert", ENGINE, *library_folders())) and _RULES_FOLDER not in site.file
