"""Whether the code of an entry returns the numbers of its trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.compiling.entries import CompiledTrace
from wengert.compiling.joining import agree_numerically
from wengert.values.cotangents import has_nan


def reproducing(entry: CompiledTrace, expected: Any, given: Sequence[Any]) -> CompiledTrace | None:
    """Return an entry whose code returns what its trace did, if need be as NumPy code; None if that does not, either.

    Another trace would do without loops: native code of all iterations takes minutes to compile.
    """
    if _reproduces(entry, expected, given):
        return entry
    if not entry.native:
        return None
    entry.native = False
    return entry if _reproduces(entry.compile(), expected, given) else None


def _reproduces(entry: CompiledTrace, expected: Any, given: Sequence[Any]) -> bool:
    """Whether the code of an entry returns these numbers; floating-point warnings are not repeated."""
    with np.errstate(all="ignore"):
        made = entry.value(*given)
    if agree_numerically(made, expected):
        return True
    return entry.takes_derivative and has_nan(made) and not has_nan(expected)
