"""Methods of records, and those of arrays of records by which fields are read and written."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from wengert.hooks.classes import enter
from wengert.hooks.policy import IN_C, Decision, replaced, searched
from wengert.hooks.search import guarded
from wengert.hooks.writes import record_store
from wengert.interop.records import field, items, listed, write
from wengert.mutation.fields import is_traced_record
from wengert.recording.recording import STATE
from wengert.recording.slots import recording_here


def getfield(a: Any, dtype: Any, offset: int = 0) -> Any:
    """`a.getfield(dtype, offset)`: of an array of records a view, of a record what it shows."""
    recording = STATE.recording
    if recording is None or not is_traced_record(recording, a):
        return guarded(type(a).getfield, a)(a, dtype, offset)
    made = np.asarray(a).getfield(dtype, offset)
    is_number = not isinstance(a, np.ndarray) and made.dtype.names is None
    return enter(operator.getitem)(made, ()) if is_number else made if isinstance(a, np.ndarray) else made[()]


def setfield(a: Any, value: Any, dtype: Any, offset: int = 0) -> None:
    """`a.setfield(value, dtype, offset)`."""
    record_store(np.asarray(a).getfield(dtype, offset), ..., value)


def copied(record: np.void, memo: Any = None) -> Any:
    """Copy a record into memory of its own."""
    return enter(np.ndarray.copy)(np.asarray(record))[()]


_METHODS = {
    "__getitem__": lambda record, key: field(recording_here(), record, key),
    "__setitem__": write,
    "__iter__": lambda record: iter(items(recording_here(), record)),
    "copy": copied,
    "__copy__": copied,
    "__deepcopy__": copied,
    "getfield": getfield,
    "setfield": setfield,
    "item": lambda record: listed(recording_here(), record),
    "tolist": lambda record: listed(recording_here(), record),
}


_BY_FIELD = "It is done of each field."


def of_record(f: Any, t: type, name: str) -> Decision:
    """Decide on a method of a record."""
    if name not in _METHODS:
        return searched(IN_C, lambda f: guarded(f, f.__self__))
    return replaced(_BY_FIELD, functools.partial(_unless_plain, _METHODS[name]), _METHODS[name])


def _unless_plain(standin: Any, f: Any) -> Any:
    """Return the stand-in of a record's method if the record holds traced values, else the method itself."""
    recording, record = STATE.recording, f.__self__
    return functools.partial(standin, record) if recording and is_traced_record(recording, record) else f


def of_class(f: Any) -> Decision | None:
    """Decide on a method of the class of records, which is called with a record."""
    standin = _METHODS.get(f.__name__)
    return None if standin is None else replaced(_BY_FIELD, functools.partial(_called, standin), standin)


def _called(standin: Any, f: Any) -> Any:
    """Make the stand-in of a record method that is called on the class, with the record as first argument."""

    def call(record: Any, *args: Any) -> Any:
        recording = STATE.recording
        is_traced = recording is not None and is_traced_record(recording, record)
        return standin(record, *args) if is_traced else f(record, *args)

    return call
