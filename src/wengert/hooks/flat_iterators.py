"""Flat iterators, `a.flat`: reads of them and writes to them are reads of the array and writes to it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.writes import record_store, slot_of_key
from wengert.recording.primitives import ruled
from wengert.recording.record import as_array, as_plain, record_call
from wengert.recording.recording import here
from wengert.recording.slots import holds_traced, recording_here, slot_of
from wengert.values.functional import setitem

INTEGERS = (int, np.integer)
_END = object()


def read_flat(array: np.ndarray, key: Any) -> Any:
    """`array.flat[key]`, which no class of arrays has a say in."""
    array = as_plain(array)
    if isinstance(key, INTEGERS):
        return _call(operator.getitem, array, _place(array, key))
    return _call(operator.getitem, _call(np.ndarray.flatten, array), key)


def write_flat(array: np.ndarray, key: Any, value: Any) -> None:
    """`array.flat[key] = value`; values are repeated as often as there are places."""
    array, value = as_plain(array), as_plain(value)
    if type(value) in (list, tuple):
        value = as_array(value) if holds_traced(value) else np.asarray(value)
    if np.size(value) == 1:
        value = _call(np.reshape, value, ()) if np.ndim(value) else value
    if isinstance(key, INTEGERS):
        record_store(array, _place(array, key), value)
        return
    recording = recording_here()
    decides = recording.keep and slot_of_key(recording, key) is not None
    if not (decides or recording.memory.is_traced(array) or slot_of(recording, value) is not None):
        recording.memory.before_write(array, ..., len(recording.entries))
        array.flat[key] = value
        return
    row = _call(np.ndarray.flatten, array)
    if np.ndim(value):
        value = _repeated(value, row[key].size)
    record_store(array, ..., _call(np.reshape, _call(setitem, row, key, value), array.shape))


def assign_flat(array: np.ndarray, key: Any, value: Any) -> None:
    """`array.flat[key] = value` and `array.flat = value`, which NumPy reads while it writes."""
    recording = recording_here()
    traced = recording.memory.is_traced(array) or slot_of(recording, value) is not None
    if traced and isinstance(value, np.ndarray) and np.may_share_memory(array, value):
        raise recording.refuse(
            RefusedCallError(f"{here()}: .flat is given values from the memory that it writes. Give it a copy.")
        )
    write_flat(array, key, value)


def flat_items(flat: Any) -> Iterator[Any]:
    """The items that a flat iterator has not given yet."""
    while True:
        k = flat.index
        if next(flat, _END) is _END:
            return
        yield read_flat(flat.base, k)


def _repeated(values: np.ndarray, count: int) -> Any:
    """So many of the values as are needed, beginning again after the last."""
    row = _call(np.ndarray.flatten, values)
    if row.size == count or row.size == 0:
        return row
    return _call(operator.getitem, row, np.arange(count) % row.size)


def _place(array: np.ndarray, k: Any) -> tuple[int, ...]:
    """The index of the k-th element of an array in C order."""
    k = range(array.size)[k]  # of a k below 0 too, with an IndexError of one outside
    return tuple([int(part) for part in np.unravel_index(k, array.shape)])


def _call(fn: Callable[..., Any], *args: Any) -> Any:
    return record_call(ruled(fn), args, {})
