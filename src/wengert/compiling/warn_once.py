"""NumPy warnings of blocks, given once, as for whole arrays."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


class _Once:
    """A log of floating-point errors that warns of each as NumPy would, the first time that it is written of."""

    def __init__(self) -> None:
        self.told: set[str] = set()

    def write(self, text: str) -> None:
        """Tell of "Warning: overflow encountered in exp", followed by the end of a line."""
        if text not in self.told:
            self.told.add(text)
            warnings.warn(text.removeprefix("Warning: ").rstrip(), RuntimeWarning, stacklevel=2)


def warn_once() -> Any:
    """A context in which each warning of NumPy's about floating-point errors is given once.

    What shall raise, print, call or be ignored there does.
    """
    states = np.geterr()
    warned: Any = {error: "log" for error, how in states.items() if how == "warn"}
    return np.errstate() if {"call", "log"} & {*states.values()} else np.errstate(call=_Once(), **warned)
