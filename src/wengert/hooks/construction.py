"""Classes called, and class statements."""

from __future__ import annotations

import abc
import contextlib
import types
from collections.abc import Callable, Iterator
from enum import EnumMeta
from functools import partial
from typing import Any

import numpy as np

from wengert.errors import RefusedCallError
from wengert.hooks.classes import bind, enter, lookup, python_method
from wengert.hooks.dispatch import HOOKS
from wengert.hooks.opaque import CARRIER_TYPES, opaque, search
from wengert.hooks.standins.carriers import taken
from wengert.recording.recording import STATE, here
from wengert.rewrite import instrument, original
from wengert.values.names import home_of

NATIVE_MODULES = frozenset(
    (
        "abc",
        "ast",
        "asyncio",
        "bdb",
        "codeop",
        "concurrent",
        "ctypes",
        "dis",
        "enum",
        "faulthandler",
        "gc",
        "importlib",
        "inspect",
        "io",
        "linecache",
        "logging",
        "multiprocessing",
        "pdb",
        "pickle",
        "re",
        "sre_compile",
        "sre_parse",
        "subprocess",
        "tempfile",
        "threading",
        "tokenize",
        "traceback",
        "typing",
        "warnings",
        "weakref",
        "_weakrefset",
        "_pytest",
        "pytest",
        "pluggy",
        "rich",
        "coverage",
    )
)


_DATA = {float, complex, int, str, bytes, list, dict, set, frozenset, np.ndarray, np.generic}  # a tuple keeps its items
_UNFOLLOWED = ("_generate_next_value_", "_missing_", "__subclasshook__")  # called by the standard library, or from C


def construct(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`cls(...)`, entering a metaclass's `__call__`."""
    meta = python_method(type(cls), "__call__")
    if meta is not None:
        return bind(meta, cls)(*args, **kwargs)
    return instantiate(cls, *args, **kwargs)


def instantiate(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`type.__call__(cls, ...)`, entering `__new__` and `__init__`."""
    new, init = lookup(cls, "__new__"), lookup(cls, "__init__")
    python_new = isinstance(new, staticmethod) and isinstance(new.__func__, types.FunctionType)
    python_init = isinstance(init, types.FunctionType)
    if not python_new and not python_init:
        if _is_carrier_class(cls):
            given, words = taken(cls, args, kwargs) if issubclass(cls, CARRIER_TYPES) else (args, kwargs)
            return cls(*given, **words)
        if issubclass(cls, type) and len(args) == 3:
            with _entering(_called_by_type(*args, kwargs)):
                return cls(*args, **kwargs)
        recording = STATE.recording
        return type.__call__(cls, *args, **kwargs) if recording is None else opaque(recording, cls, args, kwargs)
    if python_new:
        obj = enter(new.__func__)(cls, *args, **kwargs)
    elif new is lookup(object, "__new__"):
        obj = object.__new__(cls)
    else:
        obj = _native_new(cls, args, kwargs)
    if isinstance(obj, cls):
        init = lookup(type(obj), "__init__")
        if isinstance(init, types.FunctionType):
            result = enter(init)(obj, *args, **kwargs)
            if result is not None:
                raise TypeError(f"__init__() should return None, not {type(result).__name__!r}")
        elif init is not lookup(object, "__init__"):
            fill = type(obj).__init__
            (enter(fill) if isinstance(obj, CARRIER_TYPES) else fill)(obj, *args, **kwargs)
    return obj


def build_class(body: types.FunctionType, name: str, /, *bases: Any, **options: Any) -> Any:
    """A class statement; a metaclass written in Python is entered, as are the statements of the body."""
    resolved = enter(types.resolve_bases)(bases)
    meta, namespace, rest = enter(types.prepare_class)(name, resolved, options)
    if lookup(type(namespace), "__getitem__") is None:
        asked = meta.__name__ if isinstance(meta, type) else "<metaclass>"
        raise TypeError(f"{asked}.__prepare__() must return a mapping, not {type(namespace).__name__}")
    with _entering(_of_mapping(type(namespace))):
        exec(instrument(body.__code__, HOOKS), body.__globals__, namespace, closure=body.__closure__)
    if resolved is not bases:
        namespace["__orig_bases__"] = bases
    written = not isinstance(meta, type) or (
        python_method(meta, "__call__")
        or python_method(type(meta), "__call__")
        or any(
            type(found := lookup(meta, method)) in (types.FunctionType, staticmethod)
            and of_user(getattr(found, "__func__", found))
            for method in ("__new__", "__init__")
        )
    )
    cell = namespace.get("__classcell__") if isinstance(namespace, dict) else None
    make = meta if not written else partial(construct, meta) if isinstance(meta, type) else enter(meta)
    _refuse_unfollowed(name, namespace)
    called = {*_called_by_type(name, resolved, namespace, rest), *_called_by_library(name, meta, resolved, namespace)}
    with _entering([*called, *_of_mapping(type(namespace))]):
        made = make(name, resolved, namespace, **rest)
    if isinstance(made, type) and cell is not None:
        _check_cell(cell, name, made)
    return made


def _check_cell(cell: types.CellType, name: str, made: type) -> None:
    """The class that `super()` and `__class__` mean in the methods is the one made. Errors: as the interpreter's."""
    try:
        filled = cell.cell_contents
    except ValueError:
        raise RuntimeError(
            f"__class__ not set defining {name!r} as {made!r}. Was __classcell__ propagated to type.__new__?"
        ) from None
    if filled is not made:
        raise TypeError(f"__class__ set to {filled!r} defining {name!r} as {made!r}")


def _called_by_type(name: str, bases: tuple[Any, ...], namespace: Any, options: dict[str, Any]) -> list[Any]:
    """The functions that `type` itself calls while it makes a class: `__set_name__` and `__init_subclass__`."""
    recording = STATE.recording
    if recording is None:
        return []
    values = [namespace[key] for key in namespace]
    named = [(value, python_method(type(value), "__set_name__")) for value in values]
    lineage = [ancestor for base in bases if isinstance(base, type) for ancestor in base.__mro__[:-1]]
    told = [(values, getattr(vars(a).get("__init_subclass__"), "__func__", None)) for a in lineage]
    hooks = [(given, f) for given, f in (*named, *told) if f is not None]
    unseen = [(given, f) for given, f in hooks if type(f) is not types.FunctionType or not of_user(f)]
    if unseen and search(recording, (*unseen, *options.values())):
        raise recording.refuse(
            RefusedCallError(
                f"{here()}: a __set_name__ or __init_subclass__ that cannot be followed is given traced values while "
                f"class {name} is made. Set them on the class afterwards."
            )
        )
    return [f for _, f in hooks if type(f) is types.FunctionType and of_user(f)]


def _called_by_library(name: str, meta: Any, bases: tuple[Any, ...], namespace: Any) -> list[Any]:
    """The functions that a metaclass of the standard library may call while it makes a class, as that of Enum does."""
    recording = STATE.recording
    kinds = {*meta.__mro__} - {type, object, abc.ABCMeta} if isinstance(meta, type) else set()
    if recording is None or all(map(of_user, kinds)):
        return []
    lineage = {ancestor for base in bases if isinstance(base, type) for ancestor in base.__mro__}
    held = {key: value for a in lineage for key, value in vars(a).items()} | {key: namespace[key] for key in namespace}
    functions = {key: getattr(value, "__func__", value) for key, value in held.items()}
    found = {key: f for key, f in functions.items() if type(f) is types.FunctionType and of_user(f)}
    values = [namespace[key] for key in namespace if type(functions[key]) is not types.FunctionType]
    if lineage & _DATA and "__new__" not in found and search(recording, values):
        raise recording.refuse(
            RefusedCallError(
                f"{here()}: class {name} makes members of a built-in type from traced values, by code in C. Leave that "
                "base out, and keep the numbers as values."
            )
        )
    return [*found.values()]


def _refuse_unfollowed(name: str, namespace: Any) -> None:
    recording = STATE.recording
    told = {key: getattr(namespace[key], "__func__", namespace[key]) for key in namespace if key in _UNFOLLOWED}
    keys = [key for key, f in told.items() if of_user(f)]
    if recording is not None and keys:
        held = [told[key] for key in keys]
        if "_generate_next_value_" in keys:  # is given the values before
            held += [namespace[key] for key in namespace if not callable(namespace[key])]
        if search(recording, held):
            raise recording.refuse(
                RefusedCallError(
                    f"{here()}: {', '.join(keys)} of class {name} can reach traced values, and is called where nothing "
                    "follows it. Compute with these values outside of the class."
                )
            )


def _of_mapping(t: type) -> list[Any]:
    """The methods of a namespace that the statements of a class body call, where its class has its own."""
    methods = [python_method(t, name) for name in ("__setitem__", "__getitem__", "__delitem__", "__missing__")]
    return [f for f in methods if type(f) is types.FunctionType and of_user(f)]


def looks_up(cls: type) -> bool:
    """Whether a class is an Enum that a method of the user's tells what to give for other values."""
    found = getattr(lookup(cls, "_missing_"), "__func__", None)
    return issubclass(type(cls), EnumMeta) and type(found) is types.FunctionType and of_user(found)


def reduced(f: Any, t: type) -> Callable[..., Any]:
    """`object.__reduce_ex__` and its like, which call what the class says of copies."""
    said = [python_method(t, name) for name in ("__reduce__", "__getstate__", "__getnewargs__", "__getnewargs_ex__")]
    methods = [method for method in said if type(method) is types.FunctionType]

    def call(*args: Any) -> Any:
        with _entering(methods):
            return f(*args)

    return call if methods else f


@contextlib.contextmanager
def _entering(functions: list[Any]) -> Iterator[None]:
    """While the interpreter itself calls these functions, their own code is the instrumented one."""
    plain = {f: f.__code__ for f in functions}
    try:
        for f, code in plain.items():
            f.__code__ = instrument(code, HOOKS) if original(code) is None else code
        yield
    finally:
        for f, code in plain.items():
            f.__code__ = code


def of_user(f: Any) -> bool:
    return home_of(f).partition(".")[0] not in NATIVE_MODULES


def _native_new(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    recording = STATE.recording
    if recording is None or issubclass(cls, (*CARRIER_TYPES, BaseException, type)):
        return enter(cls.__new__)(cls, *args, **kwargs)
    return opaque(recording, cls.__new__, (cls, *args), kwargs)


def _is_carrier_class(cls: type) -> bool:
    new = lookup(cls, "__new__")
    return issubclass(cls, BaseException) or any(new is lookup(base, "__new__") for base in (object, *CARRIER_TYPES))
