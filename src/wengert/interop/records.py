"""Arrays of records with traced values in their fields: operations that move records are done field by field.

A field is read and written like any view of an array. An operation that makes new records (a copy, fancy indexing) is
done for each number of a record separately; the result must equal what NumPy makes of the records.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.classes import as_traced
from wengert.hooks.foreign import NOT_FOREIGN, ForeignHandler, nested_items
from wengert.hooks.search import search
from wengert.hooks.writes import record_store
from wengert.interop.record_stores import stores_in_fields
from wengert.mutation.fields import is_record, is_traced_record, number_fields
from wengert.recording.decisions import exact, guard
from wengert.recording.primitives import Primitive
from wengert.recording.recording import STATE, Recording, users_line
from wengert.recording.slots import slot_of
from wengert.values.callables import named_parameters
from wengert.values.sites import Site
from wengert.values.specs import same_numbers
from wengert.values.views import owner_of

_LIST_CONSTRUCTORS = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray)
_COPIES = (*_LIST_CONSTRUCTORS, np.copy, np.ndarray.copy, np.ndarray.astype)
_MOVES = (
    operator.getitem, np.ndarray.__getitem__, np.take, np.ndarray.take, np.concatenate, np.repeat, np.ndarray.repeat,
    np.where, np.compress, np.ndarray.compress, np.reshape, np.ndarray.reshape, np.ravel, np.ndarray.ravel,
    np.ndarray.flatten, np.transpose, np.ndarray.transpose, np.swapaxes, np.ndarray.swapaxes, np.squeeze,
    np.ndarray.squeeze, np.broadcast_to, np.diagonal, np.ndarray.diagonal, np.stack, np.expand_dims, np.roll, np.flip,
    np.tile, np.moveaxis, np.atleast_1d, np.hstack, np.vstack, np.append, np.delete, np.insert, np.resize,
)  # fmt: skip
_SHAPE_FUNCTIONS = (np.zeros_like, np.ones_like, np.empty_like, np.full_like, np.shape, np.ndim, np.size)


class _RecordHandler(ForeignHandler):
    def call(self, recording: Recording, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return _call_on_records(recording, primitive.fn, args, kwargs)

    def item(self, recording: Recording, container: Any, key: Any) -> Any:
        if not recording.memory.holds_objects:
            return NOT_FOREIGN
        return (
            read_field(recording, container, key)
            if isinstance(container, np.void)
            else _index_records(recording, container, key)
        )

    def store(self, recording: Recording, container: Any, key: Any, value: Any) -> bool:
        if isinstance(container, np.void):
            write_field(container, key, value)
            return True
        stores = stores_in_fields(recording, container, key, value)
        for array, place, part in stores or ():
            record_store(array, place, part)
        return stores is not None

    def iterate(self, recording: Recording, obj: Any) -> Any:
        return field_values(recording, obj) if isinstance(obj, np.void) else NOT_FOREIGN


def _call_on_records(recording: Recording, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `fn` on arrays of records with traced values, or to make one; return NOT_FOREIGN if there are none."""
    first = named_parameters(fn)[:1] if kwargs and not args else []
    if first and first[0] in kwargs:
        args, kwargs = (kwargs[first[0]],), {name: word for name, word in kwargs.items() if name != first[0]}
    lists = args and type(args[0]) in (list, tuple)
    if lists and any([fn is maker for maker in _LIST_CONSTRUCTORS]) and search(recording, args[:1]):
        result = fn(*args, **kwargs) if _holds_records(args[0]) or "dtype" in kwargs or len(args) > 1 else None
        if is_record(result):
            return _fill_records(result, args[0])
    if not any([is_traced_record(recording, a) for a in nested_items((*args, *kwargs.values()))]):
        return NOT_FOREIGN
    if any([fn is shaped for shaped in _SHAPE_FUNCTIONS]):
        return fn(*args, **kwargs)
    copies = any([fn is copy for copy in _COPIES])
    if not copies and not any([fn is move for move in _MOVES]):
        return NOT_FOREIGN
    result = fn(*args, **kwargs)
    if fn is operator.getitem or fn is np.ndarray.__getitem__:
        return _index_records(recording, *args)
    if type(result) is np.void or not is_record(result) or any([_shares_owner(result, a) for a in nested_items(args)]):
        return result
    return _record_moves(recording, None if copies else fn, result, args, kwargs)


def _shares_owner(made: Any, a: Any) -> bool:
    """Whether two arrays are views of the same memory."""
    return isinstance(a, np.ndarray) and owner_of(made) is owner_of(a)


def _holds_records(items: Any) -> bool:
    return any([is_record(item) for item in nested_items(items)])


def _fill_records(array: Any, items: Any) -> np.ndarray:
    """Fill an array of records from nested lists."""
    for index in np.ndindex(array.shape):
        item = items
        for k in index:
            item = item[k]
        record_store(array, index, item)
    return array


def _record_moves(
    recording: Recording, fn: Any, made: np.ndarray, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Record each number of the records `made` by NumPy: as `fn` of the numbers in `args`, or as a copy."""
    STATE.site = None if STATE.site is None else Site(*STATE.site)  # so that no number gets the name of the records
    for k, part in enumerate(_number_views(made)):
        views = [_number_view(a, k) for a in args]
        value = as_traced(np.reshape)(views[0], part.shape) if fn is None else as_traced(fn)(*views, **kwargs)
        slot = slot_of(recording, value)
        if recording.keep and slot is not None:
            guard(recording, np.shape, value, slot)
        if np.shape(value) != part.shape or not same_numbers(np.asarray(value, part.dtype), part):
            raise recording.refuse(
                RefusedCallError(
                    f"{users_line()}: wengert cannot trace this operation on a structured array. "
                    "Do it for its fields one by one: a['x']."
                )
            )
        record_store(part, ..., value)
    return made


def _number_views(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield one view of an array of records for each number in a record; each view has the array's shape."""
    for field in number_fields(array):
        for index in np.ndindex(field.shape[array.ndim :]):
            yield field[(..., *index)]


def _number_view(a: Any, k: int) -> Any:
    """Return the view of the k-th number of the records in an argument; return anything else unchanged."""
    if type(a) is list or type(a) is tuple:
        return type(a)([_number_view(item, k) for item in a])
    return [*_number_views(np.asarray(a))][k] if is_record(a) else a


def _index_records(recording: Recording, array: np.ndarray, key: Any) -> Any:
    """Read `array[key]` of an array of records; fields and slices are views."""
    result = np.ndarray.__getitem__(array, key)
    if not is_traced_record(recording, array):
        return result
    if isinstance(result, np.void) or _shares_owner(result, array):
        if recording.keep:
            exact(recording, _numbers_in_key(key))
        return result
    return _record_moves(recording, operator.getitem, result, (array, key), {})


def _numbers_in_key(key: Any) -> list[Any]:
    """List the integers and slice bounds in a basic key."""
    parts = [(k.start, k.stop, k.step) if type(k) is slice else (k,) for k in (key if type(key) is tuple else (key,))]
    return [number for part in parts for number in part]


def read_field(recording: Recording, record: Any, key: Any) -> Any:
    """Read `record[key]`; a number is read from the array over the record's memory."""
    if not is_traced_record(recording, record):
        return record[key]
    part = np.asarray(record)[record.dtype.names[key] if isinstance(key, (int, np.integer)) else key]
    return record[key] if part.ndim or part.dtype.names is not None else as_traced(operator.getitem)(part, ())


def write_field(record: Any, key: Any, value: Any) -> None:
    """Do `record[key] = value`, as a write into the array over the record's memory."""
    record_store(np.asarray(record), record.dtype.names[key] if isinstance(key, (int, np.integer)) else key, value)


def field_values(recording: Recording, record: Any) -> tuple[Any, ...]:
    """Return the values of the fields of a record."""
    return tuple([read_field(recording, record, k) for k in range(len(record.dtype.names or ()))])


def to_list(recording: Recording, a: Any) -> Any:
    """Do `tolist()` for records: lists of tuples of Python numbers."""
    if isinstance(a, np.ndarray) and a.ndim:
        return [to_list(recording, a[k]) for k in range(len(a))]
    return (
        tuple([as_traced(type(part).tolist)(part) for part in field_values(recording, a[()])])
        if is_record(a)
        else a.tolist()
    )


HANDLER = _RecordHandler()
