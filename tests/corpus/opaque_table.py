"""The table of programs for `test_opaque`."""

from __future__ import annotations

from typing import Any

import numpy as np

CASES: dict[str, tuple[Any, Any]] = {}


def vector(f: Any) -> Any:
    CASES[f.__name__] = f, np.array([0.5, 1.25, 2.0])
    return f


def number(f: Any) -> Any:
    CASES[f.__name__] = f, 1.25
    return f
