"""Values in a few words: numbers themselves, large arrays by range, mean, and counts of zeros, nan and inf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.tape.dump import SHOWN, value_text
from wengert.values.names import in_line

LONGEST = 300


def in_words(value: Any) -> str:
    """Return a value as a string; a large array by its range, mean and counts."""
    if isinstance(value, np.ndarray) and value.size > SHOWN and value.dtype.kind in "biufc":
        return ", ".join(_of_array(value))
    return in_line(value_text(value))[:LONGEST]


def _of_array(x: np.ndarray) -> Iterator[str]:
    if x.dtype.kind == "b":
        yield f"{np.count_nonzero(x)} of {x.size} true"
        return
    good = x[np.isfinite(x)] if x.dtype.kind in "fc" else x
    if good.size:
        yield f"|z| {_range_text(np.abs(good))}" if x.dtype.kind == "c" else _range_text(good)
    zeros = x.size - np.count_nonzero(x)
    if zeros:
        yield f"{zeros} of {x.size} zero"
    if good.size < x.size:
        nans = int(np.count_nonzero(np.isnan(x)))
        yield from [f"{count} {name}" for count, name in ((nans, "nan"), (x.size - good.size - nans, "inf")) if count]


def _range_text(x: np.ndarray) -> str:
    with np.errstate(all="ignore"):
        return f"{np.min(x):.4g} … {np.max(x):.4g}, mean {np.mean(x, dtype=float):.4g}"
