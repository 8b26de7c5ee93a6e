"""Stores into arrays of records: each becomes one store per field."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.classes import as_traced
from wengert.hooks.search import search
from wengert.mutation.fields import is_record
from wengert.recording.recording import Recording, users_line

Store = tuple[np.ndarray, Any, Any]
"""The array, key and value of a store."""


def stores_in_fields(recording: Recording, array: np.ndarray, key: Any, value: Any) -> list[Store] | None:
    """Return the stores that together do `array[key] = value` for an array of records; None if nothing is traced."""
    if not (recording.memory.is_traced(array) or search(recording, (value,))):
        return None
    if type(key) is str or (type(key) is list and key and type(key[0]) is str):
        return [(array[key], ..., value)]
    names = array.dtype.names or ()
    fields = [array[name] for name in names]
    is_wide = any([field.ndim > array.ndim for field in fields])
    if is_wide and type(key) is tuple and any([k is ... for k in key]):
        raise _store_error(recording)
    parts = _values_by_field(array, value)
    if parts is None and np.ndim(value) and is_wide:
        raise _store_error(recording)
    return [(field, key, part) for field, part in zip(fields, parts or [value] * len(names), strict=True)]


def _values_by_field(array: np.ndarray, value: Any) -> Any:
    """Split a value stored into an array of records by field; return None if every field gets the whole value."""
    names = array.dtype.names or ()
    if type(value) is list:
        value = as_traced(np.array)(value, dtype=array.dtype)
    if is_record(value):
        source = np.asarray(value)
        source = as_traced(np.ndarray.copy)(source) if np.may_share_memory(source, array) else source
        if len(source.dtype.names or ()) != len(names):
            np.empty_like(array)[...] = source  # raises
        return [source[name] for name in source.dtype.names or ()]
    if type(value) is tuple:
        if len(value) != len(names):
            np.empty(1, array.dtype)[0] = value  # raises
        return value
    return None


def _store_error(recording: Recording) -> Exception:
    return recording.refuse(
        RefusedCallError(
            f"{users_line()}: wengert cannot trace this store of traced values into a structured array. "
            "Store into its fields one by one: a['x'][...] = x."
        )
    )
