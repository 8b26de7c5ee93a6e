"""Arrays of Python objects that hold traced values.

Such an array holds references, as a list does: a value that is stored in it and read again is the same variable.
Operations that move references run unchanged. Computations are done again, traced, element by element as NumPy does.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.classes import as_traced
from wengert.hooks.foreign import NOT_FOREIGN, ForeignHandler, has_array, nested_items
from wengert.hooks.search import search
from wengert.recording.primitives import Primitive, primitive_of
from wengert.recording.recording import STATE, Recording, leave_array_fast_path, users_line
from wengert.recording.subclasses import is_of_subclass
from wengert.values.specs import is_inexact, same_numbers

_OPERATORS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: abs,
}
_PYTHON_OPERATORS = {*_OPERATORS.values(), operator.matmul}
_OPERATORS |= {f: f for f in _OPERATORS.values()}
_FOLDS = {
    **dict.fromkeys((np.sum, np.ndarray.sum, np.add.reduce), operator.add),
    **dict.fromkeys((np.prod, np.ndarray.prod, np.multiply.reduce), operator.mul),
}
_DOTS = (np.dot, np.ndarray.dot, np.matmul, operator.matmul)
_COMPARISONS = {operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge}
_OBJECT_CONSTRUCTORS = (np.array, np.asarray, np.asanyarray, np.ndarray.astype)


class _ObjectArrayHandler(ForeignHandler):
    def call(self, recording: Recording, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        fn = primitive.fn
        is_constructor = any([fn is maker for maker in _OBJECT_CONSTRUCTORS]) and _names_objects(args, kwargs)
        is_wanted = is_constructor and search(recording, args[:1])
        if not (is_wanted or (recording.memory.holds_objects and holds_object_array((*args, *kwargs.values())))):
            return NOT_FOREIGN
        if recording.keep or recording.context is not None or (fn in _PYTHON_OPERATORS and not has_array(args)):
            return NOT_FOREIGN
        if "out" in kwargs and kwargs["out"] is not None:
            raise _object_array_error(recording, f"{primitive.name} with out=")
        if is_wanted and isinstance(args[0], np.ndarray) and not _is_object_array(args[0]):
            return _note_and_return(recording, as_objects(args[0]))
        return apply_to_objects(recording, fn, args, kwargs)

    def operate(self, recording: Recording, fn: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
        applies = recording.memory.holds_objects and fn not in _COMPARISONS
        return apply_to_objects(recording, fn, operands, {}) if applies else NOT_FOREIGN

    def update(self, recording: Recording, fn: Callable[..., Any], inplace: Any, left: Any, right: Any) -> Any:
        if not (recording.memory.holds_objects and _is_object_array(left)):
            return NOT_FOREIGN
        _store_objects(recording, left, ..., apply_to_objects(recording, fn, (left, right), {}))
        return left

    def item(self, recording: Recording, container: Any, key: Any) -> Any:
        return container[key] if recording.memory.holds_objects else NOT_FOREIGN

    def store(self, recording: Recording, container: Any, key: Any, value: Any) -> bool:
        if recording.keep or recording.context is not None:
            return False
        _store_objects(recording, container, key, value)
        return True


def holds_object_array(things: Any) -> bool:
    """Whether an array of objects is among these things."""
    return any([_is_object_array(a) for a in nested_items(things)])


def _store_objects(recording: Recording, array: np.ndarray, key: Any, value: Any) -> None:
    """Do `array[key] = value` for an array of objects, which keeps the value itself."""
    recording.memory.before_write(array, key, len(recording.entries))
    array[key] = value
    if not search(recording, (value,)):
        return
    _note_objects(recording)
    if _are_moved(array[key], (value,)):
        return
    if not (isinstance(value, np.ndarray) and is_inexact(value)):
        raise _object_array_error(recording, "a store of these values")
    array[key] = as_objects(value)


def apply_to_objects(recording: Recording, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `fn(*args, **kwargs)`, with arrays of objects among the arguments or as the result."""
    if fn in _OPERATORS and not kwargs:
        return map_elements(_OPERATORS[fn], args)
    primitive = primitive_of(fn)
    if args and _is_object_array(args[0]) and fn not in _OBJECT_CONSTRUCTORS:
        if primitive is not None and primitive.rule is not None and primitive.rule.sequence == 0 and args[0].ndim:
            return as_traced(fn)([*args[0]], *args[1:], **kwargs)  # np.stack and similar functions take any sequence
        if fn in (float, complex) and args[0].ndim == 0:
            return as_traced(fn)(args[0][()])
    value = fn(*args, **kwargs)
    if _are_moved(value, (*args, *kwargs.values())):
        return _note_and_return(recording, value)
    if primitive is not None and primitive.rule is not None and primitive.rule.kind == "constant":
        return value
    if isinstance(value, np.ndarray) and is_inexact(value) and fn in _OBJECT_CONSTRUCTORS:
        return _convert_to_numbers(recording, value, args[0])
    again = NOT_FOREIGN
    if fn in _FOLDS and not kwargs and len(args) == 1 and np.size(args[0]):
        again = functools.reduce(as_traced(_FOLDS[fn]), np.ravel(args[0]))
    elif fn in _DOTS and not kwargs and all([isinstance(a, np.ndarray) and a.ndim == 1 for a in args]):
        again = functools.reduce(as_traced(operator.add), map_elements(operator.mul, args))
    if again is NOT_FOREIGN or type(again) is not type(value) or not same_numbers(np.asarray(again), np.asarray(value)):
        raise _object_array_error(recording, getattr(fn, "__name__", "this call"))
    return again


def map_elements(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Apply `f` to the elements of the broadcast arguments; return an array of objects, or the only object."""
    recording = STATE.recording
    if recording is not None and any(map(is_of_subclass, args)):
        raise _object_array_error(recording, "arithmetic")
    rows = np.broadcast_arrays(*[a if _is_object_array(a) else as_objects(a) for a in args])
    result = np.empty(rows[0].shape, object)
    each = as_traced(f)
    for index in np.ndindex(result.shape):
        result[index] = each(*[row[index] for row in rows])
    if recording is not None and search(recording, (result,)):
        _note_objects(recording)
    return result if result.ndim else result[()]


def split_outputs(tuples: Any, count: int) -> tuple[Any, ...]:
    """Split an array of tuples into arrays of their first, second, … items; return a single tuple unchanged."""
    if type(tuples) is tuple:
        return tuples
    outs = tuple([np.empty(tuples.shape, object) for _ in range(count)])
    for index in np.ndindex(tuples.shape):
        for out, item in zip(outs, tuples[index], strict=True):
            out[index] = item
    return outs


def as_objects(a: Any) -> np.ndarray:
    """Convert an array or number to an array of objects: Python numbers, each an item of `a`."""
    a = as_traced(np.array)(a) if type(a) is list or type(a) is tuple else a
    item = as_traced(type(a).item) if isinstance(a, (np.ndarray, np.generic)) else lambda a: a
    objects = np.empty(np.shape(a), object)
    for index in np.ndindex(objects.shape):
        objects[index] = item(a, *index)
    return objects


def _convert_to_numbers(recording: Recording, made: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """Record the conversion of an array of objects to the array of numbers `made`."""
    items = [
        as_traced(operator.getitem)(a, ()) if isinstance(a, np.ndarray) and a.ndim == 0 else a
        for a in _elements(objects)
    ]
    others = {type(item).__name__ for item in items if not isinstance(item, (float, complex, int, np.generic))}
    if others:
        raise _object_array_error(
            recording, f"a conversion of {', '.join(sorted(others))} items", "Store numbers in it."
        )
    row = as_traced(np.array)(items)
    row = row if row.dtype == made.dtype else as_traced(np.ndarray.astype)(row, made.dtype)
    if row.size != made.size or not same_numbers(np.ravel(made), row):
        raise _object_array_error(recording, "this conversion", "Build the array of its items: np.array([*a]).")
    return as_traced(np.reshape)(row, made.shape)


def _names_objects(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call of an array constructor asks for an array of objects."""
    dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
    return dtype is object or (isinstance(dtype, (str, np.dtype)) and dtype == np.dtype(object))


def _are_moved(value: Any, sources: Any) -> bool:
    """Whether a value is, or consists of, references from the sources, or None."""
    known = {id(item) for source in sources for item in _elements(source)} | {id(None)}
    return all([id(item) in known for item in _elements(value)])


def _elements(thing: Any) -> Iterator[Any]:
    """Yield the elements of an array of objects, or the leaves of nested lists and tuples; else the thing itself."""
    if _is_object_array(thing):
        for index in np.ndindex(thing.shape):
            yield np.ndarray.__getitem__(thing, index)
    elif type(thing) is list or type(thing) is tuple:
        for item in thing:
            yield from _elements(item)
    else:
        yield thing


def _is_object_array(a: Any) -> bool:
    return isinstance(a, np.ndarray) and a.dtype == object


def as_traced_objects(recording: Recording, numbers: np.ndarray) -> np.ndarray:
    """Convert a traced array to an array of objects, its numbers."""
    objects: np.ndarray = _note_and_return(recording, as_objects(numbers))
    return objects


def _note_objects(recording: Recording) -> None:
    """Note that from now on arrays of objects may hold traced values."""
    recording.memory.holds_objects = True
    leave_array_fast_path()


def _note_and_return(recording: Any, value: Any) -> Any:
    """Note that arrays of objects may hold traced values, and return `value`."""
    _note_objects(recording)
    return value


def _object_array_error(
    recording: Recording, what: str, advice: str = "Convert it first: a.astype(float)."
) -> Exception:
    return recording.refuse(
        RefusedCallError(
            f"{users_line()}: wengert cannot trace {what} of an object array that holds traced values. {advice}"
        )
    )


HANDLER = _ObjectArrayHandler()
