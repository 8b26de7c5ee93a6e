"""Reads of tables that hold no traced value: one look at what a table holds, then its library's own code, untraced.

In compiled code a guard compares what the table holds. A tape has no guards, so it records the library's code.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wengert.recording.recording import STATE, Recording, silent
from wengert.recording.shadow import SHADOW
from wengert.recording.slots import slot_of
from wengert.values.data_classes import READS
from wengert.values.names import lookup
from wengert.values.projection import plainly
from wengert.values.specs import elements

_SINGLE = {
    str, bytes, int, bool, float, complex, type(None), type(...), type(NotImplemented), type, range, np.float64,
    np.int64, np.bool_, np.datetime64, np.timedelta64, type(np.dtype(float)), type(np.dtype(int)),
}  # fmt: skip
"""Types of objects that hold no others."""
_WITHOUT_NUMBERS = {str, bytes, type(None)}
"""Types of objects that are never traced values."""
NOT_READ: Any = object()
"""The result where a traced value is read, or where nobody knows: the library's code is traced."""


def read_attribute(obj: Any, name: str) -> Any:
    """Read a declared attribute, or a column by its name."""
    recording = STATE.recording
    known, found = READS[type(obj)].names.get(name), lookup(type(obj), name)
    if found is not known or not are_data(recording, (obj,)):
        return NOT_READ
    _guard_method(type(obj), name)
    return getattr(obj, name) if type(found) is types.FunctionType else run_untraced(getattr, obj, name)


def read_by(obj: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Any:
    """Call the method `name` of an object if it is declared to read only, and nothing that it gets is traced."""
    known, found = READS[type(obj)].names.get(name), lookup(type(obj), name)
    given = kwargs or {}
    if known is None or found is not known or not are_data(STATE.recording, (obj, *args, *given.values())):
        return NOT_READ
    _guard_method(type(obj), name)
    return run_untraced(found, obj, *args, **given)


def are_data(recording: Recording | None, things: Iterable[Any]) -> bool:
    """Whether all that these things hold is known and untraced; compiled code compares it at each call from now on."""
    things = [*things]
    if recording is None or not are_untraced(recording, things):
        return False
    return recording.reads is None or recording.reads.tables.hold(things)


def is_data_table(recording: Recording | None, thing: Any) -> bool:
    """Whether a thing is an object of a declared class of which `are_data` holds."""
    return type(thing) in READS and are_data(recording, (thing,))


def are_untraced(recording: Recording | None, things: Iterable[Any]) -> bool:
    """Whether all that these things hold is known, and nothing of it is traced."""
    if recording is None or recording.context is not None or (recording.keep and recording.reads is None):
        return False
    if recording.reads is not None or recording.memory.storages:  # to look up a view of those may record a read
        return _are_known_and_untraced(recording, things, run_untraced)
    with silent():  # of code of the library that lists parts
        return _are_known_and_untraced(recording, things, plainly)


def _guard_method(t: type, name: str) -> None:
    if (tables := _watched_tables()) is not None:
        tables.guard_method(t, name)


def _watched_tables() -> Any:
    """The tables that compiled code compares; None in a gradient that nothing else watches."""
    recording = STATE.recording
    return None if recording is None or recording.reads is None else recording.reads.tables


def _are_known_and_untraced(recording: Recording, things: Iterable[Any], read: Callable[..., Any]) -> bool:
    """Look at these things and at all that they hold; `read(fn, thing)` runs what lists the parts of a thing."""
    pending, seen, texts = [*things], set[int](), recording.texts
    for thing in pending:  # which grows
        t = type(thing)
        if t in _SINGLE:
            if id(thing) in SHADOW or id(thing) in texts:
                return False
        elif t is np.ndarray:
            if not _are_untraced_elements(recording, thing):
                return False
        elif t is slice:
            pending += (thing.start, thing.stop, thing.step)
        elif id(thing) not in seen:  # a list may hold itself
            seen.add(id(thing))
            parts = read(_parts_of, thing) if t in READS else thing if t is list or t is tuple else None
            if parts is None:
                return False
            pending += parts
    return True


def plain_key(key: Any) -> Any:
    """Return the array as which NumPy reads a table that is a key, if the table is data; else the key itself."""
    reads = READS.get(type(key))
    is_table = reads is not None and "__array__" in reads.names
    return run_untraced(np.asarray, key) if is_table and are_data(STATE.recording, (key,)) else key


def _parts_of(thing: Any) -> Iterable[Any] | None:
    """Return what a thing of a declared class holds; None while it is being made."""
    try:
        return READS[type(thing)].parts(thing)
    except AttributeError:
        return None


def _are_untraced_elements(recording: Recording, array: np.ndarray) -> bool:
    if not array.dtype.hasobject:
        return slot_of(recording, array) is None
    if array.dtype.char != "O":  # the objects stand in records
        return False
    items = elements(array)
    types_of_items = {*map(type, items)}
    if not types_of_items <= _SINGLE or (recording.texts and not recording.texts.keys().isdisjoint(map(id, items))):
        return False
    return types_of_items <= _WITHOUT_NUMBERS or SHADOW.keys().isdisjoint(map(id, items))


def run_untraced(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if (tables := _watched_tables()) is not None:
        return tables.run(fn, args, kwargs)
    with silent():
        return fn(*args, **kwargs)


def reading(f: types.MethodType, resolve: Callable[[Any], Any]) -> Callable[..., Any]:
    """Wrap a bound method of a class with declared reads; `resolve(f)` is called where it cannot be called untraced."""

    def call(*args: Any, **kwargs: Any) -> Any:
        value = read_by(f.__self__, f.__name__, args, kwargs)
        return resolve(f)(*args, **kwargs) if value is NOT_READ else value

    return call
