"""Classes that override NumPy calls by `__array_ufunc__` and `__array_function__`, or convert by `__array__`.

Source: NEP 13 and NEP 18, for the order in which the arguments' methods are called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.hooks.classes import as_traced, bind_method, python_method
from wengert.hooks.data_reads import are_data, run_untraced
from wengert.hooks.foreign import NOT_FOREIGN, ForeignHandler, has_array
from wengert.hooks.standins.functions import recorder
from wengert.hooks.standins.subclasses import by_numpy, has_own_float, is_in_python, wrapped
from wengert.recording.primitives import Primitive
from wengert.recording.recording import C_ONLY_TYPES, Recording
from wengert.recording.subclasses import has_own_methods, is_of_subclass
from wengert.values.callables import callable_name


class _OverrideHandler(ForeignHandler):
    def call(self, recording: Recording, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        things = (*args, *kwargs.values())
        if _writes_nothing(primitive.fn, args, kwargs) and are_data(recording, things):
            return run_untraced(primitive.fn, *args, **kwargs)
        value = call_override(primitive.fn, args, kwargs)
        if value is NOT_FOREIGN and converts_arguments(primitive.fn, things):
            return recorder(primitive)(
                *map(convert_by_method, args), **{name: convert_by_method(a) for name, a in kwargs.items()}
            )
        return value


def _writes_nothing(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a NumPy function gets no array into which it could write."""
    return "out" not in kwargs and len(args) <= getattr(f, "nin", len(args)) and not has_array(args)


def call_override(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result of a NumPy call that an argument's class overrides; NOT_FOREIGN if no class does."""
    if isinstance(f, np.ufunc) or isinstance(getattr(f, "__self__", None), np.ufunc):
        out = kwargs.get("out", ())
        operands = (*args, *(out if type(out) is tuple else (out,)))
        if any([_override_of(a, "__array_ufunc__") for a in operands]):
            return f(*args, **kwargs)
        calls_ufunc = getattr(f, "__name__", "") == "outer"  # the ufunc that it calls wraps the result
        is_wrapped = not calls_ufunc and any(
            [is_of_subclass(a) and _override_of(a, "__array_wrap__") for a in operands]
        )
        return wrapped(f, args, kwargs) if is_wrapped else NOT_FOREIGN
    if getattr(f, "__module__", "") == "math" and any([has_own_float(a) for a in args]):
        return as_traced(f)(*[as_traced(float)(a) if has_own_float(a) else a for a in args], **kwargs)
    return _call_array_function(f, args, kwargs) if type(f) is type(np.sum) else NOT_FOREIGN


def _call_array_function(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the `__array_function__` of the classes of all arguments in turn; NumPy asks some arguments only."""
    things = [part for a in (*args, *kwargs.values()) for part in (a if type(a) in (list, tuple) else (a,))]
    overrides: list[tuple[Any, Any]] = []
    for thing in things:  # from left to right, a subclass before its base, each class once
        t, method = type(thing), _override_of(thing, "__array_function__")
        if method is not None and all(type(obj) is not t for obj, _ in overrides):
            position = next((k for k, (obj, _) in enumerate(overrides) if issubclass(t, type(obj))), len(overrides))
            overrides.insert(position, (thing, method))
    kinds = tuple([type(obj) for obj, _ in overrides])
    if overrides and _names_arrays(f, args, kwargs):
        kinds += tuple({type(a): None for a in things if isinstance(a, np.ndarray) and type(a) not in kinds})
    for obj, method in overrides:
        value = bind_method(method, obj)(f, kinds, args, kwargs)
        if value is not NotImplemented:
            return value
    if len(kinds) > len(overrides) and all([issubclass(kind, np.ndarray) for kind in kinds]):
        return by_numpy(f)(*args, **kwargs)  # as `__array_function__` of other array classes does
    if overrides:
        name, asking = f"{f.__module__}.{f.__name__}", [type(obj) for obj, _ in overrides]
        raise TypeError(f"no implementation found for '{name}' on types that implement __array_function__: {asking}")
    if is_in_python(f) and any([has_own_methods(a) or _is_converted_by_method(a) for a in things]):
        return by_numpy(f)(*args, **kwargs)  # it calls the argument's method of that name
    return NOT_FOREIGN


def _names_arrays(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether NumPy would pass plain arrays among the types to `__array_function__`, as for some arguments only."""

    def probe(a: Any) -> Any:
        if type(a) in (list, tuple):
            return type(a)(map(probe, a))
        return (
            _TypesProbe()
            if _override_of(a, "__array_function__")
            else _ArrayProbe()
            if isinstance(a, np.ndarray)
            else a
        )

    try:
        kinds = f(*map(probe, args), **{name: probe(a) for name, a in kwargs.items()})
    except Exception:
        return False
    return type(kinds) is tuple and _ArrayProbe in kinds


class _TypesProbe:
    """An argument whose `__array_function__` returns the types that NumPy passes."""

    def __array_function__(self, f: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        return kinds


class _ArrayProbe(_TypesProbe):
    """A substitute for a plain array among the arguments."""


def _override_of(a: Any, name: str) -> Any:
    """Find the Python method by which the class of an argument overrides calls; None if there is none."""
    t = type(a)
    return None if t in C_ONLY_TYPES or t is np.ndarray else python_method(t, name)


def converts_arguments(f: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether a NumPy function would convert an argument, or an item of a list, by a method in Python."""
    converted = [part for a in args for part in (a if type(a) in (list, tuple) else (a,)) if _is_converted(part)]
    is_of_ufunc = isinstance(f, np.ufunc) or isinstance(getattr(f, "__self__", None), np.ufunc)
    if is_of_ufunc or getattr(f, "__module__", None) == "numpy.linalg":  # these wrap their results
        return bool(converted) and not any([hasattr(type(a), "__array_wrap__") for a in converted])
    return bool(converted) and callable_name(f).startswith("np.")


def _is_converted(a: Any) -> bool:
    """Whether `a` is a flat iterator, or is converted by a method in Python."""
    return type(a) is np.flatiter or _is_converted_by_method(a)


def _is_converted_by_method(a: Any) -> bool:
    """Whether NumPy would convert `a` by an `__array__` in Python."""
    return _override_of(a, "__array__") is not None and not any(
        [hasattr(type(a), name) for name in _PREFERRED_PROTOCOLS]
    )


_PREFERRED_PROTOCOLS = ("__buffer__", "__array_struct__", "__array_interface__")


def convert_by_method(a: Any) -> Any:
    """Convert an argument by its `__array__`, which is traced; return anything else unchanged."""
    if type(a) in (list, tuple):
        return type(a)([convert_by_method(part) for part in a])
    if type(a) is np.flatiter:
        return as_traced(np.ndarray.flatten)(a.base)
    return bind_method(_override_of(a, "__array__"), a)() if _is_converted(a) else a


HANDLER = _OverrideHandler()
