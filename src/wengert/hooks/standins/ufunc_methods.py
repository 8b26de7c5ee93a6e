"""Methods of ufuncs: `np.add.reduce`, `np.multiply.outer`, `np.add.at` and their like."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.hooks import foreign
from wengert.hooks.classes import as_traced
from wengert.hooks.policy import IN_C, MOVES, Decision, decides_methods_of, declare_native, opaque_call, stand_in_call
from wengert.hooks.search import can_read_traced, function_of, guarded, run_watching_writes
from wengert.hooks.short_writes import sum_entry
from wengert.hooks.standins.functions import recorded, recorder
from wengert.hooks.writes import record_store, refused_complex
from wengert.recording.decisions import guard
from wengert.recording.primitives import primitive_of
from wengert.recording.record import as_array
from wengert.recording.recording import STATE, Recording
from wengert.recording.slots import holds_traced, slot_of
from wengert.values.functional import additem
from wengert.values.specs import is_inexact

# The parameters of a method after the array, by position.
_PARAMETERS = {
    "reduce": ("axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("axis", "dtype", "out"),
    "reduceat": ("indices", "axis", "dtype", "out"),
}


declare_native(MOVES, np.frompyfunc)


@decides_methods_of(np.ufunc)
def _of_ufunc(f: Any, t: type, name: str) -> Decision:
    primitive = primitive_of(f)
    if name in ("at", "outer"):
        return stand_in_call(
            "Its derivative follows from the rule of the ufunc.", _ufunc_method, _at if name == "at" else _outer
        )
    return opaque_call(IN_C, _ufunc_method) if primitive is None else recorded(primitive, _ufunc_method)


def _ufunc_method(f: Any) -> Callable[..., Any]:
    """Make the stand-in of a ufunc method, which first lets an argument's class override the call."""
    return functools.partial(_unless_taken, _standin_of(f, f.__self__, f.__name__), f)


def _unless_taken(call: Callable[..., Any], f: Any, *args: Any, **kwargs: Any) -> Any:
    value = foreign.overridden(f, args, kwargs)
    return call(*args, **kwargs) if value is foreign.NOT_FOREIGN else value


def _standin_of(f: Any, ufunc: np.ufunc, name: str) -> Callable[..., Any]:
    if name == "at":
        return functools.partial(_at, f, ufunc)
    if name == "outer":
        return functools.partial(_outer, f, ufunc)
    function, primitive = function_of(ufunc), primitive_of(f)
    if primitive is None:
        return guarded(f, function) if function is None or name != "reduce" else _folded(f, function)
    return functools.partial(_record_reduction, recorder(primitive), name)


def _folded(f: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Replace `reduce` of a ufunc of `np.frompyfunc`: its function is traced along an array of one axis."""
    guard = guarded(f, function)

    def call(array: Any, *args: Any, **kwargs: Any) -> Any:
        if STATE.recording is None or args or kwargs or np.ndim(array) != 1 or not len(array):
            return guard(array, *args, **kwargs)
        return functools.reduce(as_traced(function), foreign.OBJECTS.module.as_objects(array))

    return call


def _record_reduction(record: Callable[..., Any], name: str, /, *given: Any, **kwargs: Any) -> Any:
    """Record a reduction or accumulation by the rule of its method; options that are not given are left out."""
    given = (kwargs.pop("array"), *given) if "array" in kwargs else given
    if not given or len(given) > len(_PARAMETERS[name]) + 1:
        return record(*given, **kwargs)  # which has the method raise
    array, *args = given
    words = {**dict(zip(_PARAMETERS[name], args, strict=False)), **kwargs}
    absent = {word for word, value in words.items() if value is np._NoValue or (value is None and word in _OPTIONAL)}
    return record(array, **{word: value for word, value in words.items() if word not in absent})


_OPTIONAL = {"dtype", "out"}


def _outer(f: Any, ufunc: np.ufunc, a: Any, b: Any, /, **kwargs: Any) -> Any:
    """The stand-in of `outer`: the ufunc itself on `a`, with an axis of length 1 for each axis of `b`."""
    recording = STATE.recording
    if recording is None or not can_read_traced(recording, (ufunc, a, b, *kwargs.values())):
        return guarded(f, function_of(ufunc))(a, b, **kwargs)
    return as_traced(ufunc)(as_traced(np.reshape)(a, np.shape(a) + (1,) * np.ndim(b)), b, **kwargs)


def _at(f: Any, ufunc: np.ufunc, a: Any, indices: Any, /, *operands: Any) -> Any:
    """The stand-in of `at`: `a[indices] = ufunc(a[indices], operand)`; a repeated index is met each time."""
    recording = STATE.recording
    if recording is None:
        return f(a, indices, *operands)
    is_sum = ufunc is np.add and type(a) is np.ndarray and len(operands) == 1
    if is_sum and sum_entry(recording, f, a, indices, operands[0]):
        return None
    if not isinstance(a, np.ndarray) or not can_read_traced(recording, (ufunc, a, indices, *operands)):
        if isinstance(a, np.ndarray):
            recording.memory.before_write(a, ..., len(recording.entries))
        return run_watching_writes(recording, f, (a, indices, *operands), {})
    try:
        _record_at(recording, ufunc, a, indices, operands)
    except (IndexError, TypeError, ValueError):
        f(np.array(a), indices, *operands)  # NumPy's own error, unless the array is read-only
        raise


def _record_at(recording: Recording, ufunc: np.ufunc, a: np.ndarray, indices: Any, operands: tuple[Any, ...]) -> None:
    """Do and record `ufunc.at(a, indices, *operands)`."""
    operands = tuple([as_array(b) if type(b) is list and holds_traced(b) else b for b in operands])
    if ufunc in (np.add, np.subtract):
        if np.iscomplexobj(operands[0]) and is_inexact(a) and not np.iscomplexobj(a):
            raise refused_complex(recording)
        _add_at(recording, a, indices, operands[0] if ufunc is np.add else _negative(a, operands[0]))
        return
    for part in indices if type(indices) is tuple else (indices,):
        slot = slot_of(recording, part)
        if recording.keep and slot is not None:
            guard(recording, np.asarray, part, slot)  # the rounds depend on which indices are repeated
    for key, parts in _rounds(a, indices, operands):
        record_store(a, key, as_traced(ufunc)(as_traced(operator.getitem)(a, key), *parts))


def _negative(a: np.ndarray, term: Any) -> Any:
    """Return -term; integers and booleans, which have none, in the precision in which NumPy subtracts them from `a`."""
    number = term if is_inexact(term) else np.asarray(term, np.result_type(a, np.asarray(term)))
    return as_traced(np.negative)(number)


def _add_at(recording: Recording, a: np.ndarray, indices: Any, term: Any) -> None:
    """The stand-in of `np.add.at`, which reads and writes only the places that are named."""
    parts = indices if type(indices) is tuple else (indices,)
    known = len(parts) == a.ndim and all([_is_integers(part) and slot_of(recording, part) is None for part in parts])
    if not known:
        record_store(a, ..., as_traced(additem)(a, indices, term))
        return
    places = _flat_indices(a.shape, parts)
    named, inverse = np.unique(places, return_inverse=True)
    key = np.unravel_index(named, a.shape)
    spread = as_traced(np.broadcast_to)(term, places.shape) if np.shape(term) != places.shape else term
    old = as_traced(operator.getitem)(a, key)
    record_store(a, key, as_traced(additem)(old, inverse.reshape(places.shape), spread))


def _is_integers(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype.kind in "iu"


def _flat_indices(shape: tuple[int, ...], indices: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the flat index of each element that integer arrays, one for each axis, select."""
    wide = [index.astype(np.intp) for index in indices]  # a small integer would overflow
    inside = [np.where(index < 0, index + n, index) for index, n in zip(wide, shape, strict=True)]
    return np.asarray(np.ravel_multi_index(np.broadcast_arrays(*inside), shape))


def _rounds(a: np.ndarray, indices: Any, operands: tuple[Any, ...]) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Split an index and its operands into rounds that select no element twice: first uses, second uses and so on."""
    places = np.arange(a.size).reshape(a.shape)[indices]
    turns = _turns(places)
    if not np.any(turns):
        yield indices, operands
        return
    spread = [as_traced(np.broadcast_to)(b, np.shape(places)) for b in operands]
    for now in _by_turn(turns):
        yield (
            np.unravel_index(places[now], a.shape),
            tuple([as_traced(operator.getitem)(b, now) for b in spread]),
        )


def _by_turn(turns: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    """Return the positions of each round."""
    order = np.argsort(turns, axis=None, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(np.ravel(turns)))[:-1])
    return [np.unravel_index(part, turns.shape) for part in parts]


def _turns(places: Any) -> np.ndarray:
    """Return for each position how often its element was selected before."""
    order = np.argsort(places, axis=None, kind="stable")
    sorted_places = np.ravel(places)[order]
    turns = np.empty(np.size(places), int)
    turns[order] = np.arange(len(order)) - np.searchsorted(sorted_places, sorted_places)
    return turns.reshape(np.shape(places))
