"""The floating-point error settings around a compiled call: which errors raise an exception there."""

from __future__ import annotations

import contextvars
import sys
import warnings
from typing import Any

import numpy as np

from wengert.recording.decisions import what_raises

_ERROR_STATE: Any = getattr(sys.modules.get("numpy._core.umath"), "_extobj_contextvar", None)
"""NumPy's context variable of np.errstate, None where NumPy has none: much faster to read than np.geterr()."""
_DEFAULT_ERROR_STATE = _ERROR_STATE and contextvars.Context().run(_ERROR_STATE.get)
_HARMLESS_FILTERS: list[Any] = []
"""The last list of warning filters of which none raises: comparing with it is faster than a new search."""


def handles_fp_errors() -> bool:
    """Whether NumPy raises, calls, logs or prints at some floating-point error, instead of warning or ignoring it."""
    return (_ERROR_STATE is None or _ERROR_STATE.get() is not _DEFAULT_ERROR_STATE) and not {*np.geterr().values()} <= {
        "warn",
        "ignore",
    }


def _are_harmless() -> bool:
    """Whether no warning filter raises."""
    if any([action == "error" for action, *_ in warnings.filters]):
        return False
    _HARMLESS_FILTERS[:] = warnings.filters
    return True


def fp_errors_key() -> Any:
    """Return a cache key of the floating-point errors that raise at this call; None if none does.

    Code that was traced where no error raises may have dropped calls, and with them their errors: hence the key.
    Return False if NumPy prints, logs or passes errors to a function: then no call may be dropped.
    """
    if not handles_fp_errors() and (warnings.filters == _HARMLESS_FILTERS or _are_harmless()):
        return None
    if {"call", "log", "print"} & {*np.geterr().values()}:
        return False
    errors, warned = what_raises()
    return (*errors.items(), warned) if errors or warned else None
