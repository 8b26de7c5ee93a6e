"""Stand-ins of the methods of records, and of array methods that read or write fields of records."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from wengert.hooks.classes import as_traced
from wengert.hooks.policy import IN_C, Decision, opaque_call, stand_in_call
from wengert.hooks.search import guarded
from wengert.hooks.writes import record_store
from wengert.interop.records import field_values, read_field, to_list, write_field
from wengert.mutation.fields import is_traced_record
from wengert.recording.recording import STATE
from wengert.recording.slots import recording_here


def record_getfield(a: Any, dtype: Any, offset: int = 0) -> Any:
    """`a.getfield(dtype, offset)`: a view for an array of records, the field's value for a record."""
    recording = STATE.recording
    if recording is None or not is_traced_record(recording, a):
        return guarded(type(a).getfield, a)(a, dtype, offset)
    view = np.asarray(a).getfield(dtype, offset)
    is_number = not isinstance(a, np.ndarray) and view.dtype.names is None
    return as_traced(operator.getitem)(view, ()) if is_number else view if isinstance(a, np.ndarray) else view[()]


def record_setfield(a: Any, value: Any, dtype: Any, offset: int = 0) -> None:
    """`a.setfield(value, dtype, offset)`."""
    record_store(np.asarray(a).getfield(dtype, offset), ..., value)


def copy_record(record: np.void, memo: Any = None) -> Any:
    """Copy a record into memory of its own."""
    return as_traced(np.ndarray.copy)(np.asarray(record))[()]


_RECORD_METHODS = {
    "__getitem__": lambda record, key: read_field(recording_here(), record, key),
    "__setitem__": write_field,
    "__iter__": lambda record: iter(field_values(recording_here(), record)),
    "copy": copy_record,
    "__copy__": copy_record,
    "__deepcopy__": copy_record,
    "getfield": record_getfield,
    "setfield": record_setfield,
    "item": lambda record: to_list(recording_here(), record),
    "tolist": lambda record: to_list(recording_here(), record),
}


_BY_FIELD = "It runs field by field."


def decide_record_method(f: Any, t: type, name: str) -> Decision:
    """Decide on a method of a record."""
    if name not in _RECORD_METHODS:
        return opaque_call(IN_C, lambda f: guarded(f, f.__self__))
    return stand_in_call(
        _BY_FIELD, functools.partial(_stand_in_if_traced, _RECORD_METHODS[name]), _RECORD_METHODS[name]
    )


def _stand_in_if_traced(standin: Any, f: Any) -> Any:
    """Return the stand-in of a record's method if the record holds traced values, else the method itself."""
    recording, record = STATE.recording, f.__self__
    return functools.partial(standin, record) if recording and is_traced_record(recording, record) else f


def decide_on_record_class(f: Any) -> Decision | None:
    """Decide on a method of the class of records, which is called with a record."""
    standin = _RECORD_METHODS.get(f.__name__)
    return (
        None if standin is None else stand_in_call(_BY_FIELD, functools.partial(_stand_in_on_class, standin), standin)
    )


def _stand_in_on_class(standin: Any, f: Any) -> Any:
    """Make the stand-in of a record method that is called on the class, with the record as first argument."""

    def call(record: Any, *args: Any) -> Any:
        recording = STATE.recording
        is_traced = recording is not None and is_traced_record(recording, record)
        return standin(record, *args) if is_traced else f(record, *args)

    return call
