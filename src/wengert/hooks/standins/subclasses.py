"""`np.ndarray` subclasses: their Python methods are entered wherever NumPy calls them.

C code computes on plain arrays: that is recorded, and its result is viewed as an array of the subclass.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.classes import as_traced, bind_method, python_method
from wengert.hooks.code_swap import prepare
from wengert.hooks.lookups import kept_recording
from wengert.hooks.search import opaque, search
from wengert.hooks.standins.writers import WRITERS
from wengert.recording.decisions import exact
from wengert.recording.primitives import primitive_of
from wengert.recording.record import as_plain, record_call, view_of_traced
from wengert.recording.recording import STATE
from wengert.recording.subclasses import is_of_subclass

_methods: Any = np._core._methods  # type: ignore[attr-defined]


def is_array_class(thing: Any) -> bool:
    """Whether a thing is a class of arrays."""
    return isinstance(thing, type) and issubclass(thing, np.ndarray)


def has_own_float(a: Any) -> bool:
    """Whether `a` is an array whose class defines `__float__` in Python, which `math` calls."""
    return is_of_subclass(a) and python_method(type(a), "__float__") is not None


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **words: Any) -> Any:
    """`np.ndarray.__array_ufunc__`, which returns NotImplemented if another operand overrides ufuncs."""
    out = words.get("out", ())
    if any([_takes_ufuncs_over(type(a)) for a in (*inputs, *(out if type(out) is tuple else (out,)))]):
        return NotImplemented
    return as_traced(ufunc if method == "__call__" else getattr(ufunc, method))(*inputs, **words)


def _takes_ufuncs_over(t: type) -> bool:
    return getattr(t, "__array_ufunc__", _PLAIN_UFUNC) is not _PLAIN_UFUNC


_PLAIN_UFUNC = np.ndarray.__array_ufunc__


def array_function(self: Any, func: Any, classes: Any, args: Any, kwargs: Any) -> Any:
    """`np.ndarray.__array_function__`: NumPy's own code."""
    if not all([issubclass(t, np.ndarray) for t in classes]):
        return NotImplemented
    return by_numpy(func)(*args, **kwargs)


def by_numpy(func: Any) -> Callable[..., Any]:
    """Return a callable that runs NumPy's own implementation, past `__array_function__`."""
    if is_in_python(func):
        return as_traced(func._implementation)
    return functools.partial(_in_c, func)


def is_in_python(func: Any) -> bool:
    """Whether NumPy's Python code of a function is entered: not if it has a rule and converts to plain arrays first."""
    if type(func._implementation) is not types.FunctionType:
        return False
    is_converting = func in _CONVERTING or func.__module__ in ("numpy.linalg", "numpy.fft")
    return not (is_converting and primitive_of(func) is not None)


_CONVERTING: set[Any] = {
    np.broadcast_to, np.convolve, np.correlate, np.einsum, np.interp, np.take_along_axis,
    np.lib.stride_tricks.sliding_window_view,
}  # fmt: skip


def _in_c(func: Any, *args: Any, **kwargs: Any) -> Any:
    recording, primitive = STATE.recording, primitive_of(func)
    if recording is None or not search(recording, (*args, *kwargs.values())):
        return func._implementation(*args, **kwargs)
    if func in WRITERS:
        return WRITERS[func](func._implementation, *args, **kwargs)
    if primitive is None or kwargs.get("out") is not None:
        return opaque(recording, func._implementation, args, kwargs)
    return record_call(primitive, args, kwargs)


def array_wrap(self: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """`np.ndarray.__array_wrap__`: view an array as one of the class of `self`."""
    if not isinstance(self, np.ndarray):
        return as_traced(operator.getitem)(array, ())
    return view_of_traced(np.ndarray.__array_wrap__(self, array, context, return_scalar), array)


def wrapped(f: Any, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
    """Call a ufunc, or a ufunc method, on arrays whose class has an `__array_wrap__` in Python, and wrap the results.

    Source: NEP 13; NumPy asks the one of the highest priority, of several such the first.
    """
    outs = words.pop("out", None)
    stays_array = outs is ...
    outs = (None,) if stays_array else outs if type(outs) is tuple else (outs,)
    words = {name: value for name, value in words.items() if name != "subok"}
    if any([out is not None for out in outs]):
        words["out"] = tuple(map(as_plain, outs))
    made = as_traced(f)(*map(as_plain, args), **words)
    context = (f, (*args, *[out for out in outs if out is not None])) if isinstance(f, np.ufunc) else None
    several = type(made) is tuple
    values = made if several else (made,)
    outs = outs if len(outs) == len(values) else outs * len(values)
    results = [
        _wrapped_one(args, value, None if context is None else (*context, k), out, stays_array)
        for k, (value, out) in enumerate(zip(values, outs, strict=True))
    ]
    return tuple(results) if several else results[0]


def _wrapped_one(args: tuple[Any, ...], value: Any, context: Any, out: Any, stays_array: bool) -> Any:
    by = wrapping(args) if out is None else out
    array = value if out is None else out
    if python_method(type(by), "__array_wrap__") is None:
        return array if out is not None or not isinstance(by, np.ndarray) else array_wrap(by, _as_array(array))
    return wrapped_by(by, array, context, out is None and np.ndim(array) == 0 and not stays_array)


def wrapped_by(by: Any, array: Any, context: Any = None, scalar: bool = False) -> Any:
    """Wrap a result by the `__array_wrap__` of an argument, which is written in Python."""
    return bind_method(python_method(type(by), "__array_wrap__"), by)(_as_array(array), context, scalar)


def _as_array(value: Any) -> Any:
    return value if isinstance(value, np.ndarray) else as_traced(np.asarray)(value)


def wrapping(args: tuple[Any, ...]) -> Any:
    """Find the argument whose `__array_wrap__` NumPy calls; None if it calls none."""
    found, priority, is_plain = None, -np.inf, True
    for a in args:
        if type(a) is np.ndarray:
            if priority < 0.0:
                found, priority, is_plain = None, 0.0, True
        elif not np.isscalar(a) and hasattr(type(a), "__array_wrap__"):
            own = getattr(a, "__array_priority__", -1e6)
            if own > priority or (is_plain and own == 0.0):
                found, priority, is_plain = a, own, False
    return found


def new_array(cls: Any, shape: Any, dtype: Any = float, buffer: Any = None, *place: Any, **words: Any) -> Any:
    """`np.ndarray.__new__`, also of memory that is given it."""
    prepare(cls)
    if (recording := kept_recording()) is not None:
        exact(recording, (shape,))
    return view_of_traced(np.ndarray.__new__(cls, shape, dtype, buffer, *place, **words), buffer)


_METHODS_IN_PYTHON = {
    **{name: getattr(_methods, f"_{name}") for name in ("sum", "prod", "any", "all", "mean", "var", "std", "clip")},
    "max": _methods._amax,
    "min": _methods._amin,
}


def method_in_python(t: type, name: str) -> Callable[..., Any] | None:
    """Return NumPy's Python code of an array method, if the array's class takes part in it."""
    return _METHODS_IN_PYTHON.get(name) if any([python_method(t, asked) for asked in _ASKED_BY_NUMPY]) else None


_ASKED_BY_NUMPY = ("__array_ufunc__", "__array_wrap__")
