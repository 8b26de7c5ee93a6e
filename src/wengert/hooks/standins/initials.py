"""Reductions that begin with a traced number: `np.sum(a, initial=s)` is recorded as `s + np.sum(a)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.hooks.classes import as_traced
from wengert.hooks.writes import record_store
from wengert.recording.primitives import Primitive, ruled
from wengert.recording.record import record_as, record_call
from wengert.recording.recording import Recording
from wengert.recording.slots import slot_of
from wengert.values.specs import is_inexact

_NEUTRAL = {
    np.add: 0.0, np.multiply: 1.0, np.hypot: 0.0, np.maximum: -np.inf, np.fmax: -np.inf, np.minimum: np.inf,
    np.fmin: np.inf, np.logaddexp: -np.inf, np.logaddexp2: -np.inf,
}  # fmt: skip
"""The number with which a reduction by each ufunc may begin without a change of its result."""
_UFUNCS = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "nanmax": np.fmax,
    "nanmin": np.fmin,
}


def begins_traced(recording: Recording, primitive: Primitive, words: dict[str, Any]) -> bool:
    """Whether a call is a reduction that begins with a traced number, and that `reduced` can record."""
    initial = words.get("initial")
    return initial is not None and slot_of(recording, initial) is not None and _ufunc(primitive) in _NEUTRAL


def _ufunc(primitive: Primitive) -> Any:
    return getattr(primitive.fn, "__self__", None) or _UFUNCS.get(primitive.name)


def reduced(primitive: Primitive, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
    """Record a reduction that begins with a traced number; its value is that of the call itself."""
    ufunc, out = _ufunc(primitive), words.get("out")
    words = {name: value for name, value in words.items() if name != "out"}
    if isinstance(out, np.ndarray):
        primitive.fn(*args, out=np.empty(out.shape, out.dtype), **words)  # raises where NumPy does
        if ufunc in (np.add, np.multiply):
            words.setdefault("dtype", out.dtype)
        record_store(out, ..., reduced(primitive, args, words))
        return out
    value = primitive.fn(*args, **words)
    if not is_inexact(value):
        return record_call(primitive, args, words)  # which refuses it
    initial, rest = words["initial"], as_traced(primitive.fn)(*args, **{**words, "initial": _NEUTRAL[ufunc]})
    if getattr(initial, "dtype", value.dtype) != value.dtype:
        initial = as_traced(value.dtype.type)(initial)
    return record_as(ruled(ufunc), value, (initial, rest))


__all__ = ["begins_traced", "reduced"]
