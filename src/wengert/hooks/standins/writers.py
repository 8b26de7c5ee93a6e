"""Stand-ins of C functions that write into arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks import flat_iterators
from wengert.hooks.classes import as_traced
from wengert.hooks.search import search
from wengert.hooks.standins.ufuncs import as_mask
from wengert.hooks.writes import record_store
from wengert.recording.record import as_array, as_plain
from wengert.recording.recording import STATE, users_line
from wengert.recording.slots import holds_traced
from wengert.values.specs import is_inexact


def _fill_array(array: np.ndarray, f: Any, value: Any) -> None:
    record_store(array, ..., value)


def _raise_as_numpy(f: Any, array: np.ndarray, *args: Any) -> None:
    """Raise what NumPy raises where it does not write this into an array, because of shapes or dtypes."""
    f(np.empty(array.shape, array.dtype), *args)


def _copyto(f: Any, dst: np.ndarray, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if src is dst:
        f(dst, src, casting, where)  # copies nothing, also where it may not write
        return
    _raise_as_numpy(f, dst, src, casting, where)
    if casting == "unsafe" and not is_inexact(dst) and is_inexact(src):
        src = as_traced(np.ndarray.astype)(as_traced(np.asarray)(src), dst.dtype)  # asked for in so many words
    if where is True:
        record_store(dst, ..., as_array(src) if type(src) in (list, tuple) else src)
    else:
        where = as_traced(np.broadcast_to)(as_mask(where), dst.shape)
        if np.ndim(src) > dst.ndim:
            src = as_traced(np.reshape)(src, np.shape(src)[np.ndim(src) - dst.ndim :])
        if np.ndim(src):  # for any number of places, so that it serves a batch
            record_store(dst, ..., as_traced(np.where)(where, src, as_plain(dst)))
        else:
            record_store(dst, where, src)


def _writer_refused(array: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
    """The stand-in of a method that rearranges an array: refused where anything is traced, else run and logged."""
    recording = STATE.recording
    if recording is None:
        return f(*args, **kwargs)
    if recording.memory.is_traced(array) or search(recording, (*args, *kwargs.values())):
        raise recording.refuse(
            RefusedCallError(
                f"{users_line()}: ndarray.{f.__name__} changes a traced array in place, which wengert cannot trace. "
                "Assign a new array instead."
            )
        )
    recording.memory.before_write(array, ..., len(recording.entries))
    return f(*args, **kwargs)


def _rearrange(function: Any) -> Any:
    """Make the stand-in of `a.sort()` or `a.partition(k)`: it stores the result of `np.sort` or `np.partition`."""

    def call(array: np.ndarray, f: Any, *args: Any, **kwargs: Any) -> None:
        recording = STATE.recording
        if recording is None or not (recording.memory.is_traced(array) or holds_traced(args)):
            return _writer_refused(array, f, *args, **kwargs)
        return record_store(array, ..., as_traced(function)(as_plain(array), *args, **kwargs))

    return call


def _put_array(array: np.ndarray, f: Any, indices: Any, values: Any, mode: str = "raise") -> None:
    if not (np.size(indices) and np.size(values)):
        return f(indices, values, mode)  # writes nothing
    if np.asarray(indices).dtype.kind not in "iu":  # NumPy takes floats and booleans as numbers of places
        indices = as_traced(np.ndarray.astype)(as_traced(np.asarray)(indices), np.intp)
    if mode == "wrap":
        indices = as_traced(np.remainder)(indices, array.size)
    elif mode == "clip":
        indices = as_traced(np.clip)(indices, 0, array.size - 1)
    else:
        _put_until_wrong(array, indices, values)
    return flat_iterators.write_flat(array, as_traced(np.ravel)(indices), values)


def _put_until_wrong(array: np.ndarray, indices: Any, values: Any) -> None:
    """If an index is out of range, write the values before it and raise NumPy's error, as `np.put` does."""
    places = np.ravel(indices)
    wrong = (places < -array.size) | (places >= array.size) if places.dtype.kind in "iu" else np.zeros(1, bool)
    if wrong.any():
        first = int(wrong.argmax())
        if first:
            written = as_traced(np.resize)(values, first) if np.ndim(values) else values
            flat_iterators.write_flat(array, places[:first], written)
        np.zeros(array.shape).put(indices, np.zeros(np.shape(values)))


def _putmask(f: Any, a: np.ndarray, mask: Any, values: Any) -> None:
    """The stand-in of `np.putmask`: each value is taken from the place of the element that it replaces."""
    _raise_as_numpy(f, a, mask, values)
    if not np.size(values):
        return  # writes nothing
    key = as_traced(np.ravel)(as_mask(mask))
    if np.ndim(values):
        values = as_traced(operator.getitem)(as_traced(np.ravel)(as_traced(np.resize)(values, a.shape)), key)
    flat_iterators.write_flat(a, key, values)


def _place_array(f: Any, arr: np.ndarray, mask: Any, vals: Any) -> None:
    """The stand-in of `np.place`: values are taken one after the other, also those that have been replaced by then."""
    recording = STATE.recording
    if recording is not None and isinstance(vals, np.ndarray) and np.may_share_memory(arr, vals):
        raise recording.refuse(
            RefusedCallError(f"{users_line()}: np.place reads values from the memory that it writes. Pass vals.copy().")
        )
    _raise_as_numpy(f, arr, mask, vals)
    places = as_traced(np.flatnonzero)(mask)
    if np.size(places):
        flat_iterators.write_flat(arr, places, vals)
    else:  # values that go nowhere have no cotangent, where 0 times an infinite derivative would be nan
        f(arr, mask, vals)


def _setitem_method(array: np.ndarray, f: Any, key: Any, value: Any) -> None:
    record_store(array, key, value)


ARRAY_WRITERS: dict[str, Any] = {
    "fill": _fill_array,
    "__setitem__": _setitem_method,
    "put": _put_array,
    "sort": _rearrange(np.sort),
    "partition": _rearrange(np.partition),
    **dict.fromkeys(("resize", "byteswap", "itemset"), _writer_refused),
}

WRITERS: dict[Any, Any] = {np.copyto: _copyto, np.putmask: _putmask, np.place: _place_array}
