"""Floating-point warnings in blocks: each is issued once, as for whole arrays."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


class _WarningLog:
    """A log of floating-point errors, which warns of each kind once, as NumPy would."""

    def __init__(self) -> None:
        self.warned: set[str] = set()

    def write(self, text: str) -> None:
        """Warn of a line such as "Warning: overflow encountered in exp"."""
        if text not in self.warned:
            self.warned.add(text)
            warnings.warn(text.removeprefix("Warning: ").rstrip(), RuntimeWarning, stacklevel=2)


def warn_once() -> Any:
    """Return a context in which NumPy issues each floating-point warning once.

    Errors that are set to raise, print, call or be ignored still are.
    """
    states = np.geterr()
    warned: Any = {error: "log" for error, how in states.items() if how == "warn"}
    return np.errstate() if {"call", "log"} & {*states.values()} else np.errstate(call=_WarningLog(), **warned)
