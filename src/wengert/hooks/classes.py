"""Look-up of the methods of classes as in Python, and entry into their twins."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from wengert.hooks.code_swap import prepare
from wengert.recording.primitives import Primitive, primitive_of
from wengert.recording.recording import C_ONLY_TYPES, STATE
from wengert.recording.trace_state import methods
from wengert.rulebook.registry import rules
from wengert.values.names import lookup

IMMUTABLE = {float, int, bool, complex, str, bytes, np.float64, np.float32, np.complex128, np.int64}

_ABSENT = object()

REDUCED_BY = ("__reduce__", "__reduce_ex__", "__getstate__")
"""The methods by which `copy` and `pickle` take an object apart."""


def as_traced(f: Any) -> Any:
    """Return the callable that this thread's recording calls in place of `f`, such as its twin; `f` if none records."""
    recording = STATE.recording
    return f if recording is None else recording.enter(f)


def defines(t: type, name: str) -> bool:
    """Whether a class defines a name, even as None, which forbids the operation; `lookup` returns None for both."""
    return any(name in base.__dict__ for base in t.__mro__ or ())


def python_method(t: type, name: str) -> Any:
    """Find the method of a class if it is written in Python; else None."""
    key = (t, name)
    found = methods.get(key, _ABSENT)
    if found is _ABSENT:
        found = None if t in C_ONLY_TYPES or t is np.ndarray else lookup(t, name)
        if isinstance(found, (types.WrapperDescriptorType, types.MethodDescriptorType, types.BuiltinFunctionType)):
            found = None
        if prepare(t):
            methods[key] = found
    return found


def bind_method(method: Any, obj: Any) -> Any:
    """Bind a method found in a class to an object, as descriptors do, and enter it."""
    if isinstance(method, types.FunctionType):
        return types.MethodType(as_traced(method), obj)
    get = lookup(type(method), "__get__")
    return as_traced(method if get is None else method.__get__(obj, type(obj)))


def require_primitive(fn: Any) -> Primitive:
    """Return the primitive of a function. Errors: NoRuleError if it has no rule."""
    primitive = primitive_of(fn)
    return Primitive(fn, rules[fn]) if primitive is None else primitive
