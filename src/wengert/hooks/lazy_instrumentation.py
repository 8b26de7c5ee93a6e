"""Lazy instrumentation of methods at their first call: a trace calls few methods of the classes that it meets.

The user's code swaps the code of a method before it calls the method. C calls code that does the swap, then calls the
method.
"""

from __future__ import annotations

import inspect
import types
import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from wengert.values.codes import code_of, note_original
from wengert.values.names import is_name

_lazy_codes: weakref.WeakKeyDictionary[types.FunctionType, tuple[types.CodeType, types.CodeType]] = (
    weakref.WeakKeyDictionary()
)
"""Map a function to its own code and the lazy code that replaces it."""
_FIRST = "first"
SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def may_be_lazy(f: types.FunctionType) -> bool:
    """Whether a function can be instrumented at its first call: no special method, generator or coroutine can."""
    code, name = f.__code__, f.__name__
    is_special = name.startswith("__") and name.endswith("__")
    return (
        not is_special
        and not code.co_flags & SUSPENDED
        and all(map(is_name, code.co_varnames[: _count_parameters(code)]))
    )


def is_lazy(f: types.FunctionType) -> bool:
    """Whether a function runs lazy code, which awaits its first call."""
    found = _lazy_codes.get(f)
    return found is not None and f.__code__ is found[1]


def lazy_code(f: types.FunctionType, start: Callable[[types.FunctionType, Any, Any], Any]) -> types.CodeType:
    """Return code for `f`, with the same parameters, that calls `start(f, args, kwargs)`."""
    plain_code, found = code_of(f), _lazy_codes.get(f)
    if found is None or found[0] is not plain_code:
        found = _lazy_codes[f] = plain_code, _make_lazy_code(plain_code, weakref.ref(f), start)
    return found[1]


def _make_lazy_code(plain_code: types.CodeType, reference: Any, start: Callable[..., Any]) -> types.CodeType:
    """Make the lazy code for the function behind the weak reference, with the parameters of `plain_code`."""

    def first(*args: Any, **kwargs: Any) -> Any:
        return start(reference(), args, kwargs)

    code = _compile_caller(
        plain_code.co_varnames[: _count_parameters(plain_code)],
        plain_code.co_posonlyargcount,
        plain_code.co_argcount,
        plain_code.co_kwonlyargcount,
        bool(plain_code.co_flags & inspect.CO_VARARGS),
        len(plain_code.co_freevars),
    )
    consts = tuple([first if constant == _FIRST else constant for constant in code.co_consts])
    lazy = code.replace(
        co_consts=consts,
        co_freevars=plain_code.co_freevars,
        co_name=plain_code.co_name,
        co_qualname=plain_code.co_qualname,
        co_filename=plain_code.co_filename,
        co_firstlineno=plain_code.co_firstlineno,
    )
    note_original(lazy, plain_code)
    return lazy


def _count_parameters(code: types.CodeType) -> int:
    """Count the parameters of a code object, with `*args` and `**kwargs`."""
    gathering = (code.co_flags & inspect.CO_VARARGS != 0) + (code.co_flags & inspect.CO_VARKEYWORDS != 0)
    return code.co_argcount + code.co_kwonlyargcount + gathering


@lru_cache(maxsize=1024)
def _compile_caller(
    names: tuple[str, ...], positional_only: int, positional: int, keywords: int, gathers: bool, count: int
) -> types.CodeType:
    """Compile a function with these parameters that calls the constant "first" with all its arguments.

    It has so many free variables: a frame of code that lacked them would crash where its `f_locals` are read.
    """
    plain, named, rest = names[:positional], names[positional : positional + keywords], names[positional + keywords :]
    gathered = [f"*{name}" for name in rest[:gathers]]
    last = [f"**{name}" for name in rest[gathers:]]
    only = ["/"] if positional_only else []
    parameters = [*plain[:positional_only], *only, *plain[positional_only:]]
    parameters += [*(gathered or (["*"] if named else [])), *named, *last]
    arguments = [*plain, *gathered, *[f"{name}={name}" for name in named], *last]
    local = "_".join(["f", *names])  # a name that none of them has
    free = [f"{local}_{k}" for k in range(count)]
    source = f"def outer({', '.join(free)}):\n def f({', '.join(parameters)}):\n"
    source += f"  nonlocal {', '.join(free)}\n" if free else ""
    source += f"  return ({local} := {_FIRST!r})({', '.join(arguments)})"
    outer = next(part for part in compile(source, "<wengert>", "exec").co_consts if type(part) is types.CodeType)
    return next(part for part in outer.co_consts if type(part) is types.CodeType)
