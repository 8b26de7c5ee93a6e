"""Stand-ins of methods and calls of objects of C: descriptors, exceptions, contexts, slices, caches."""

from __future__ import annotations

import builtins
import contextvars
import functools
import types
import typing
from typing import Any

from wengert.hooks.classes import REDUCED_BY, as_traced
from wengert.hooks.lookups import guard_reachable
from wengert.hooks.policy import (
    MOVES,
    Decision,
    decides_methods_of,
    decides_type,
    decides_unbound,
    native_call,
    stand_in_call,
)
from wengert.hooks.search import FROZEN


@decides_methods_of(BaseException)
def _of_exception(f: Any, t: type, name: str) -> Decision | None:
    if name in ("split", "subgroup"):
        return stand_in_call("It may call a test.", lambda f: lambda condition: f(_condition(condition)), _condition)
    return None if name in REDUCED_BY else native_call("An exception moves its arguments and computes nothing on them.")


@decides_unbound(
    types.FunctionType, types.MethodType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.MemberDescriptorType, functools._lru_cache_wrapper, staticmethod, classmethod,
)  # fmt: skip
def _of_descriptor(f: Any) -> Decision | None:
    is_binding = type(f) is types.WrapperDescriptorType and f.__name__ in ("__get__", "__set__", "__delete__")
    return native_call("The descriptor binds, or reads and writes a slot, and runs no code.") if is_binding else None


_EXCEPTIONS = [
    cls
    for cls in vars(builtins).values()
    if isinstance(cls, type) and issubclass(cls, BaseException) and not issubclass(cls, BaseExceptionGroup)
]  # each of them has an `__init__` of its own, which `super().__init__(...)` finds; those of groups call tests


@decides_unbound(
    object, type, *_EXCEPTIONS, types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType
)  # fmt: skip
def _of_basic_class(f: Any) -> Decision:
    return native_call(MOVES)


@decides_methods_of(
    range, *FROZEN, type(iter([])), type(iter(())), type(iter({})), property,
    contextvars.ContextVar,
)  # fmt: skip
def _of_free_owner(f: Any, t: type, name: str) -> Decision | None:
    return None if name in REDUCED_BY or (t in FROZEN and name in ("__eq__", "__ne__")) else native_call(MOVES)


@decides_methods_of(slice)
def _of_slice(f: Any, t: type, name: str) -> Decision | None:
    if name in REDUCED_BY:
        return None
    return stand_in_call("A tape guards the numbers of the slice.", _told_slice)


def _told_slice(f: Any) -> Any:
    guard_reachable(f.__self__.start, f.__self__.stop, f.__self__.step)
    return f


@decides_methods_of(contextvars.Context)
def _of_context(f: Any, t: type, name: str) -> Decision | None:
    return stand_in_call("It calls a function.", _run_in_context) if name == "run" else None


def _run_in_context(f: Any) -> Any:
    return lambda callable, /, *args, **kwargs: f(as_traced(callable), *args, **kwargs)


@decides_type(typing.NewType)
def _of_new_type(f: Any) -> Decision:
    return stand_in_call("It returns its argument.", lambda f: lambda value, /: value)


def _condition(a: Any) -> Any:
    return a if isinstance(a, (type, tuple)) else as_traced(a)
