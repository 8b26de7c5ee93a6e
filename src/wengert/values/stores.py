"""Functional stores carried out in place instead of in a copy."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.values import functional
from wengert.values.keys import may_repeat

ENTERED = "A tape that is played in traced code writes its arrays here, which an outer derivative traces."


def written(store: Any, x: np.ndarray, *args: Any) -> np.ndarray:
    """Apply the functional store `store` to `x` in place; return `x`, or a copy if an added window overlaps itself."""
    if store is functional.setitem:
        key, value = args
        x[key] = value
    elif store is functional.additem:
        key, value = args
        if may_repeat(key):
            np.add.at(x, key, value)
        else:
            x[key] += value
    elif store is functional.setpart:
        setattr(x, *args)
    else:
        window = functional._window(x, *args[:3])
        if store is functional.setlens:
            window[...] = args[3]
        elif functional.overlaps(window):
            return functional.addlens(x, *args)
        else:
            window += args[3]
    return x
