"""Flat iterators, `a.flat`: their reads and writes are recorded as reads and writes of the array."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.writes import record_store, slot_of_key
from wengert.recording.primitives import ruled
from wengert.recording.record import as_array, as_plain, record_call
from wengert.recording.recording import users_line
from wengert.recording.slots import holds_traced, recording_here, slot_of
from wengert.values.functional import setitem

INTEGER_KEYS = (int, np.integer)
_END = object()


def read_flat(array: np.ndarray, key: Any) -> Any:
    """Read `array.flat[key]`, which ignores the array's class."""
    array = as_plain(array)
    if isinstance(key, INTEGER_KEYS):
        return _record_rule(operator.getitem, array, _index_of_element(array, key))
    return _record_rule(operator.getitem, _record_rule(np.ndarray.flatten, array), key)


def write_flat(array: np.ndarray, key: Any, value: Any) -> None:
    """Do and record `array.flat[key] = value`; the values are repeated as often as needed."""
    array, value = as_plain(array), as_plain(value)
    if type(value) in (list, tuple):
        value = as_array(value) if holds_traced(value) else np.asarray(value)
    if np.size(value) == 0:
        array.flat[key] = value  # stores nothing
        return
    if np.size(value) == 1:
        value = _record_rule(np.reshape, value, ()) if np.ndim(value) else value
    if isinstance(key, INTEGER_KEYS):
        record_store(array, _index_of_element(array, key), value)
        return
    recording = recording_here()
    decides = recording.keep and slot_of_key(recording, key) is not None
    if not (decides or recording.memory.is_traced(array) or slot_of(recording, value) is not None):
        recording.memory.before_write(array, ..., len(recording.entries))
        array.flat[key] = value
        return
    row = _record_rule(np.ndarray.flatten, array)
    if np.ndim(value):
        value = _repeat_to(value, row[key].size)
    record_store(array, ..., _record_rule(np.reshape, _record_rule(setitem, row, key, value), array.shape))


def assign_flat(array: np.ndarray, key: Any, value: Any) -> None:
    """Do `array.flat[key] = value`; refuse if NumPy would read traced values from the memory that it writes."""
    recording = recording_here()
    traced = recording.memory.is_traced(array) or slot_of(recording, value) is not None
    if traced and isinstance(value, np.ndarray) and np.may_share_memory(array, value):
        raise recording.refuse(
            RefusedCallError(f"{users_line()}: this line assigns to .flat values of the same memory. Assign a copy.")
        )
    write_flat(array, key, value)


def remaining_items(flat: Any) -> Iterator[Any]:
    """Yield the items that a flat iterator has not returned yet."""
    while True:
        k = flat.index
        if next(flat, _END) is _END:
            return
        yield read_flat(flat.base, k)


def _repeat_to(values: np.ndarray, count: int) -> Any:
    """Repeat the values cyclically to `count` items."""
    row = _record_rule(np.ndarray.flatten, values)
    if row.size == count or row.size == 0:
        return row
    return _record_rule(operator.getitem, row, np.arange(count) % row.size)


def _index_of_element(array: np.ndarray, k: Any) -> tuple[int, ...]:
    """Return the index of the k-th element of an array in C order."""
    k = range(array.size)[k]  # also for a negative k; IndexError if out of range
    return tuple([int(part) for part in np.unravel_index(k, array.shape)])


def _record_rule(fn: Callable[..., Any], *args: Any) -> Any:
    """Call a function that has a rule, and record the call."""
    return record_call(ruled(fn), args, {})
