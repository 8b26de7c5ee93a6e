"""C functions that write into arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.classes import enter
from wengert.dispatch import HOOKS
from wengert.errors import RefusedCallError
from wengert.opaque import search
from wengert.record import (
    as_array,
)
from wengert.recording import STATE, here
from wengert.writes import record_store


def _fill(array: np.ndarray, f: Any, value: Any) -> None:
    record_store(array, ..., value)


def _copyto(f: Any, dst: np.ndarray, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if where is True:
        record_store(dst, ..., as_array(src) if type(src) in (list, tuple) else src)
    else:
        where = np.broadcast_to(where, dst.shape)
        source = (
            src if np.ndim(src) == 0 else HOOKS["getitem"](where, enter(np.broadcast_to)(src, dst.shape), STATE.site)
        )
        record_store(dst, where, source)


def _writer_refused(array: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
    """A method that rearranges an array in place: run and logged where nothing is traced, else refused."""
    recording = STATE.recording
    if recording is None:
        return f(*args, **kwargs)
    if recording.memory.is_traced(array) or search(recording, (*args, *kwargs.values())):
        raise recording.refuse(
            RefusedCallError(
                f"{here()}: ndarray.{f.__name__} changes a traced array in place and cannot be followed yet. "
                "Assign a new array instead."
            )
        )
    recording.memory.before_write(array, ..., len(recording.entries))
    return f(*args, **kwargs)


def _rearrange(order_of: Any) -> Any:
    """`a.sort()` or `a.partition(k)`: the order found is a constant, the elements are read in it and stored."""

    def call(array: np.ndarray, f: Any, *args: Any, **kwargs: Any) -> None:
        recording = STATE.recording
        if recording is None or not recording.memory.is_traced(array):
            return _writer_refused(array, f, *args, **kwargs)
        order = enter(order_of)(array, *args, **kwargs)
        axis = kwargs.get("axis", args[-1] if order_of is np.argsort and args else -1)
        moved = (
            HOOKS["getitem"](order, array, STATE.site)
            if array.ndim == 1
            else enter(np.take_along_axis)(array, order, axis)
        )
        return record_store(array, ..., moved)

    return call


def _setitem_method(array: np.ndarray, f: Any, key: Any, value: Any) -> None:
    record_store(array, key, value)


ARRAY_WRITERS: dict[str, Any] = {
    "fill": _fill,
    "__setitem__": _setitem_method,
    "sort": _rearrange(np.argsort),
    "partition": _rearrange(np.argpartition),
    **dict.fromkeys(("put", "resize", "byteswap", "setfield", "itemset", "setflags"), _writer_refused),
}

WRITERS: dict[Any, Any] = {np.copyto: _copyto}
