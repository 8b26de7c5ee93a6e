"""Checks that all examples take the same branches as the first one; an outer trace records them as guards."""

from __future__ import annotations

from typing import Any

import numpy as np

ENTERED = "An outer trace records these checks, so that playing its tape makes them again."


def all_equal_recorded(found: Any, recorded: Any) -> bool:
    """Whether the outcome of each example, along the first axis, equals the recorded one."""
    if isinstance(found, np.ndarray) or isinstance(recorded, np.ndarray):
        return bool(np.all(found == recorded))
    if isinstance(recorded, bool | np.bool_):
        return isinstance(found, bool | np.bool_) and bool(found) == bool(recorded)
    return type(found) is type(recorded) and bool(found == recorded)


def all_finite(found: Any) -> bool:
    """Whether all numbers are finite, so that Python's arithmetic would raise no error."""
    return bool(np.all(np.isfinite(found)))


def each_is_complex(values: Any) -> bool:
    """Whether each example, along the first axis, has a value with an imaginary part."""
    return bool(np.all(np.any(np.imag(values) != 0, axis=1)))
