"""Settings around a compiled call that decide what it does: which floating-point errors raise, and how text is made."""

from __future__ import annotations

import contextvars
import sys
import warnings
from typing import Any

import numpy as np

from wengert.recording.decisions import what_raises

_TOLD: Any = getattr(sys.modules.get("numpy._core.umath"), "_extobj_contextvar", None)
"""Where NumPy keeps what np.errstate says: many times faster to read than by np.geterr()."""
_USUAL = _TOLD and contextvars.Context().run(_TOLD.get)
_QUIET: list[Any] = []
"""The filters of warnings that were met last and of which none raises: to compare is faster than to look."""


def raising() -> bool:
    """Whether NumPy is told to do more than warn where a number overflows, say: Python's floats do not."""
    return (_TOLD is None or _TOLD.get() is not _USUAL) and not {*np.geterr().values()} <= {"warn", "ignore"}


def _are_quiet() -> bool:
    """Whether no filter of warnings raises."""
    if any([action == "error" for action, *_ in warnings.filters]):
        return False
    _QUIET[:] = warnings.filters
    return True


def errors_around() -> Any:
    """A key of the floating-point errors that raise where a call begins, None where none does.

    A gradient drops calls that it does not need: code that was made where none raised does not raise for these. False
    means that each error is reported, to a function or by printing, so that no call may be dropped.
    """
    if not raising() and (warnings.filters == _QUIET or _are_quiet()):
        return None
    if {"call", "log", "print"} & {*np.geterr().values()}:
        return False
    errors, warned = what_raises()
    return (*errors.items(), warned) if errors or warned else None
