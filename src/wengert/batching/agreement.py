"""Whether all examples decide as the first one did: a decision itself, where an outer trace keeps what was decided."""

from __future__ import annotations

from typing import Any

import numpy as np

ENTERED = "What the examples decide is decided again when a tape of all is played."


def agree(found: Any, recorded: Any) -> bool:
    """Whether each outcome that was found, along the first axis, is the one that was recorded."""
    if isinstance(found, np.ndarray) or isinstance(recorded, np.ndarray):
        return bool(np.all(found == recorded))
    if isinstance(recorded, bool | np.bool_):
        return isinstance(found, bool | np.bool_) and bool(found) == bool(recorded)
    return type(found) is type(recorded) and bool(found == recorded)


def are_finite(found: Any) -> bool:
    """Whether all numbers are finite, for which Python raises no error."""
    return bool(np.all(np.isfinite(found)))


def are_complex(values: Any) -> bool:
    """Whether each example, along the first axis, has a value that is not real."""
    return bool(np.all(np.any(np.imag(values) != 0, axis=1)))
