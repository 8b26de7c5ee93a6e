"""Arrays of records among whose fields are traced values: what moves records is done field by field.

A field is read and written as any view of an array is. What gives other records, a copy or those that indices choose,
is done of each number of a record alone, and must give what NumPy made of the records.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.classes import enter
from wengert.hooks.foreign import NOT_FOREIGN, Handler
from wengert.hooks.search import search
from wengert.hooks.writes import record_store
from wengert.interop.record_stores import stores_in_fields
from wengert.mutation.fields import is_record, is_traced_record, number_fields
from wengert.recording.decisions import exact, guard
from wengert.recording.primitives import Primitive
from wengert.recording.recording import STATE, Recording, here
from wengert.recording.slots import slot_of
from wengert.values.callables import named_parameters
from wengert.values.sites import Site
from wengert.values.specs import same_numbers
from wengert.values.views import owner_of

_MAKERS = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray)
_COPIES = (*_MAKERS, np.copy, np.ndarray.copy, np.ndarray.astype)
_MOVES = (
    operator.getitem, np.ndarray.__getitem__, np.take, np.ndarray.take, np.concatenate, np.repeat, np.ndarray.repeat,
    np.where, np.compress, np.ndarray.compress, np.reshape, np.ndarray.reshape, np.ravel, np.ndarray.ravel,
    np.ndarray.flatten, np.transpose, np.ndarray.transpose, np.swapaxes, np.ndarray.swapaxes, np.squeeze,
    np.ndarray.squeeze, np.broadcast_to, np.diagonal, np.ndarray.diagonal, np.stack, np.expand_dims, np.roll, np.flip,
    np.tile, np.moveaxis, np.atleast_1d, np.hstack, np.vstack, np.append, np.delete, np.insert, np.resize,
)  # fmt: skip
_SHAPED = (np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.shape, np.ndim, np.size)


class _Records(Handler):
    def call(
        self, recording: Recording, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        return _call(recording, primitive.fn, args, kwargs)

    def item(self, recording: Recording, container: Any, key: Any) -> Any:
        if not recording.memory.holds_objects:
            return NOT_FOREIGN
        return field(recording, container, key) if isinstance(container, np.void) else _item(recording, container, key)

    def store(self, recording: Recording, container: Any, key: Any, value: Any) -> bool:
        if isinstance(container, np.void):
            write(container, key, value)
            return True
        stores = stores_in_fields(recording, container, key, value)
        for array, place, part in stores or ():
            record_store(array, place, part)
        return stores is not None

    def iterate(self, recording: Recording, obj: Any) -> Any:
        return items(recording, obj) if isinstance(obj, np.void) else NOT_FOREIGN


def _call(recording: Recording, fn: Any, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
    """Call `fn` on or for arrays of records with traced values; return NOT_FOREIGN where there are none."""
    first = named_parameters(fn)[:1] if words and not args else []
    if first and first[0] in words:
        args, words = (words[first[0]],), {name: word for name, word in words.items() if name != first[0]}
    lists = args and type(args[0]) in (list, tuple)
    if lists and any([fn is maker for maker in _MAKERS]) and search(recording, args[:1]):
        made = fn(*args, **words) if _holds_records(args[0]) or "dtype" in words or len(args) > 1 else None
        if is_record(made):
            return _filled(made, args[0])
    if not any([is_traced_record(recording, a) for a in _flat((*args, *words.values()))]):
        return NOT_FOREIGN
    if any([fn is shaped for shaped in _SHAPED]):
        return fn(*args, **words)
    copies = any([fn is copy for copy in _COPIES])
    if not copies and not any([fn is move for move in _MOVES]):
        return NOT_FOREIGN
    made = fn(*args, **words)
    if fn is operator.getitem or fn is np.ndarray.__getitem__:
        return _item(recording, *args)
    if type(made) is np.void or not is_record(made) or any([_shares(made, a) for a in _flat(args)]):
        return made
    return _moved(recording, None if copies else fn, made, args, words)


def _shares(made: Any, a: Any) -> bool:
    return isinstance(a, np.ndarray) and owner_of(made) is owner_of(a)


def _holds_records(items: Any) -> bool:
    return any([is_record(item) for item in _flat(items)])


def _filled(made: Any, items: Any) -> np.ndarray:
    """Fill an array of records from nested lists."""
    for place in np.ndindex(made.shape):
        item = items
        for k in place:
            item = item[k]
        record_store(made, place, item)
    return made


def _moved(recording: Recording, fn: Any, made: np.ndarray, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
    """Record the numbers of records that NumPy made of other records: each as `fn` of theirs, or as a copy."""
    STATE.site = None if STATE.site is None else Site(*STATE.site)  # no number goes by the name of the records
    for k, part in enumerate(_numbers(made)):
        given = [_number(a, k) for a in args]
        value = enter(np.reshape)(given[0], part.shape) if fn is None else enter(fn)(*given, **words)
        slot = slot_of(recording, value)
        if recording.keep and slot is not None:
            guard(recording, np.shape, value, slot)
        if np.shape(value) != part.shape or not same_numbers(np.asarray(value, part.dtype), part):
            raise recording.refuse(
                RefusedCallError(
                    f"{here()}: what is done here with an array of records cannot be followed. "
                    "Do it with its fields one by one: a['x']."
                )
            )
        record_store(part, ..., value)
    return made


def _numbers(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield one view of an array of records for each number in a record; each view has the array's shape."""
    for field in number_fields(array):
        for place in np.ndindex(field.shape[array.ndim :]):
            yield field[(..., *place)]


def _number(a: Any, k: int) -> Any:
    """Return the view of the k-th number of the records in an argument; return anything else unchanged."""
    if type(a) is list or type(a) is tuple:
        return type(a)([_number(item, k) for item in a])
    return [*_numbers(np.asarray(a))][k] if is_record(a) else a


def _item(recording: Recording, array: np.ndarray, key: Any) -> Any:
    """`array[key]` of an array of records: fields and slices are views."""
    made = np.ndarray.__getitem__(array, key)
    if not is_traced_record(recording, array):
        return made
    if isinstance(made, np.void) or _shares(made, array):
        if recording.keep:
            exact(recording, _parts_of(key))
        return made
    return _moved(recording, operator.getitem, made, (array, key), {})


def _parts_of(key: Any) -> list[Any]:
    """The integers and bounds of slices in a basic key."""
    parts = [(k.start, k.stop, k.step) if type(k) is slice else (k,) for k in (key if type(key) is tuple else (key,))]
    return [number for part in parts for number in part]


def field(recording: Recording, record: Any, key: Any) -> Any:
    """`record[key]`: a number is read in the array that the record shows."""
    if not is_traced_record(recording, record):
        return record[key]
    part = np.asarray(record)[record.dtype.names[key] if isinstance(key, (int, np.integer)) else key]
    return record[key] if part.ndim or part.dtype.names is not None else enter(operator.getitem)(part, ())


def write(record: Any, key: Any, value: Any) -> None:
    """`record[key] = value`: a write into the array that the record shows."""
    record_store(np.asarray(record), record.dtype.names[key] if isinstance(key, (int, np.integer)) else key, value)


def items(recording: Recording, record: Any) -> tuple[Any, ...]:
    """The fields of a record."""
    return tuple([field(recording, record, k) for k in range(len(record.dtype.names or ()))])


def listed(recording: Recording, a: Any) -> Any:
    """`tolist()` of records: lists of tuples of Python numbers."""
    if isinstance(a, np.ndarray) and a.ndim:
        return [listed(recording, a[k]) for k in range(len(a))]
    return tuple([enter(type(part).tolist)(part) for part in items(recording, a[()])]) if is_record(a) else a.tolist()


def _flat(things: Any) -> Iterator[Any]:
    for thing in things:
        if type(thing) is list or type(thing) is tuple:
            yield from _flat(thing)
        else:
            yield thing


HANDLER = _Records()
