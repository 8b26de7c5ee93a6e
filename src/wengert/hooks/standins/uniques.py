"""`np.unique` along an axis: NumPy compares rows by a view of their memory as records, which hides traced numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.classes import as_traced
from wengert.hooks.policy import stand_in_for
from wengert.hooks.search import search
from wengert.recording.recording import STATE, users_line
from wengert.values.specs import same_numbers

_native: Any = np.unique


@stand_in_for(np.unique)
def _unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    **words: Any,
) -> Any:
    """Find the different numbers of an array, or its different parts along an axis."""
    recording = STATE.recording
    wanted = return_index, return_inverse, return_counts
    if recording is None or axis is None or np.ndim(ar) < 2 or not search(recording, (ar,)):
        return as_traced(_native._implementation)(ar, *wanted, axis, **words)
    found = _native(ar, True, True, True, axis, **words)
    if not found[0].size:
        return _native(ar, *wanted, axis=axis, **words)
    _, index, inverse, counts = as_traced(np.unique)(_ranks(ar, axis), True, True, True)
    values = as_traced(np.take)(ar, index, axis)
    if not same_numbers(values, found[0]):
        raise recording.refuse(
            RefusedCallError(f"{users_line()}: np.unique cannot be traced for rows with nans. Remove these rows first.")
        )
    others = index, as_traced(np.reshape)(inverse, found[2].shape), counts
    chosen = [other for other, is_wanted in zip(others, wanted, strict=True) if is_wanted]
    return (values, *chosen) if chosen else values


def _ranks(ar: Any, axis: int) -> Any:
    """Number the parts of an array along an axis in ascending order; equal parts have the same number."""
    front = as_traced(np.moveaxis)(ar, axis, 0)
    rows = as_traced(np.reshape)(front, (np.shape(front)[0], -1))
    order = as_traced(np.lexsort)(as_traced(np.flip)(as_traced(np.transpose)(rows), 0))
    ordered = as_traced(operator.getitem)(rows, order)
    differs = as_traced(operator.ne)(
        *[as_traced(operator.getitem)(ordered, part) for part in (slice(1, None), slice(None, -1))]
    )
    steps = as_traced(np.concatenate)([[0], as_traced(np.any)(differs, axis=1)])
    return as_traced(operator.getitem)(as_traced(np.cumsum)(steps), as_traced(np.argsort)(order))
