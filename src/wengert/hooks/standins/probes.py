"""Operators of `np.ndarray` subclasses: the ufunc that NumPy calls for each is found by a probe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.classes import as_traced
from wengert.recording.slots import recording_here, slot_of
from wengert.recording.subclasses import is_of_subclass, plain

_NoLoop: Any = np._core._exceptions._UFuncNoLoopError  # type: ignore[attr-defined]


class _UfuncProbe(np.ndarray):
    """An array that tells which ufunc NumPy calls for it, and how."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **words: Any) -> Any:
        return ufunc, inputs, words


def probe(a: Any) -> Any:
    """Return a probe of an `np.ndarray` subclass; return anything else unchanged."""
    return np.ndarray.view(a, _UfuncProbe) if is_of_subclass(a) else a


def by_ufunc(operator: Callable[..., Any], *operands: Any) -> Any:
    """Apply an operator to such arrays as NumPy's own method does, by a ufunc."""
    if any([isinstance(a, np.ndarray) and a.dtype.names for a in operands]):
        [slot_of(recording_here(), a) for a in operands]  # refused where one is traced
        return operator(*operands)  # which NumPy compares field by field
    probes = [probe(a) for a in operands]
    given = {id(probe): a for probe, a in zip(probes, operands, strict=True)}
    ufunc, inputs, words = operator(*probes)
    inputs = [given.get(id(a), a) for a in inputs]
    if "out" in words:
        words["out"] = tuple([given.get(id(a), a) for a in words["out"]])
    try:
        return as_traced(ufunc)(*inputs, **words)
    except _NoLoop:  # NumPy makes False of that where it compares, else an error
        return operator(*map(plain, operands))
