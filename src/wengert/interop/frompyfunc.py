"""`np.nditer` and ufuncs of `np.frompyfunc` for arrays of Python objects that hold traced values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.code_swap import instrumented
from wengert.hooks.rule_errors import object_array_error
from wengert.hooks.search import can_read_traced, function_of, opaque, run_watching_writes, search
from wengert.hooks.standins import plain
from wengert.interop import object_arrays
from wengert.recording.primitives import Primitive
from wengert.recording.recording import STATE
from wengert.rulebook.rule import Rule
from wengert.values.views import axes_in_memory


def nditer(*args: Any, **kwargs: Any) -> Any:
    """Return an iterator over the elements in memory order, each as an array without axes."""
    recording = STATE.recording
    if recording is None:
        return np.nditer(*args, **kwargs)
    plain = len(args) == 1 and kwargs == {"flags": ["refs_ok"]} and type(args[0]) is np.ndarray
    if not plain or min(args[0].strides, default=0) < 0 or not object_arrays.holds_object_array(args):
        return opaque(recording, np.nditer, args, kwargs)
    array = np.transpose(args[0], axes_in_memory(args[0]))
    return iter([array[(*place, ...)] for place in np.ndindex(array.shape)])


def call_by_element(ufunc: np.ufunc) -> Callable[..., Any]:
    """Make the stand-in of a ufunc from `np.frompyfunc`: it calls the Python function for each element."""
    function: Any = function_of(ufunc)

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None:
            return ufunc(*args, **kwargs)
        is_on_tape = recording.keep or recording.context is not None  # a tape cannot hold arrays of objects
        if kwargs or not args or len(args) != ufunc.nin or (is_on_tape and any(map(np.ndim, args))):
            return opaque(recording, ufunc, args, kwargs, function)
        values = object_arrays.map_elements(function, args)
        return values if ufunc.nout == 1 else object_arrays.split_outputs(values, ufunc.nout)

    return call


def record_by_element(ufunc: np.ufunc, record: Callable[..., Any]) -> Callable[..., Any]:
    """Make the recorder of a ufunc of `np.frompyfunc` that has a rule: it records an array element by element."""

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None or kwargs or len(args) != ufunc.nin or not any(map(np.ndim, args)):
            return record(*args, **kwargs)
        if not can_read_traced(recording, (ufunc, *args)):
            return run_watching_writes(recording, ufunc, args, kwargs)
        if recording.keep or recording.context is not None:
            raise recording.refuse(object_array_error(ufunc))
        values = object_arrays.map_elements(ufunc, args)
        return values if ufunc.nout == 1 else object_arrays.split_outputs(values, ufunc.nout)

    return call


def record_as_numbers(
    primitive: Primitive, record: Callable[..., Any], recorder: Callable[[Primitive], Any]
) -> Callable[..., Any]:
    """Make the recorder of a ufunc of `np.frompyfunc` with an rrule, which returns an array of objects.

    The recorded variable is the array of their numbers; the user's code gets an array of objects.
    """
    ufunc, numbers = primitive.fn, _number_primitive(primitive)

    def call(*args: Any, **kwargs: Any) -> Any:
        recording = STATE.recording
        if recording is None:
            return ufunc(*args, **kwargs)
        if can_read_traced(recording, (ufunc,)):
            return opaque(recording, ufunc, args, kwargs, ufunc)
        is_on_tape = recording.keep or recording.context is not None
        if kwargs or ufunc.nout > 1 or len(args) != ufunc.nin or not any(map(np.ndim, args)) or is_on_tape:
            return record(*args, **kwargs)
        if not search(recording, args):
            return run_watching_writes(recording, ufunc, args, {})
        return object_arrays.as_traced_objects(recording, recorder(numbers)(*args))

    return call


def _number_primitive(primitive: Primitive) -> Primitive:
    """Make the primitive that converts the result of a ufunc of `np.frompyfunc` to an array of numbers."""
    ufunc, rule = primitive.fn, primitive.rule
    assert rule is not None
    assert rule.body is not None

    def numbers(*args: Any) -> Any:
        return plain.numbers_of_objects(ufunc(*args))

    body = instrumented(plain.of_numbers(rule.body))
    return Primitive(numbers, Rule(rule.name, [numbers], "rrule", body, rule.where))
