"""Callables as a user writes them: their dotted names, their places, a rule to paste for them."""

from __future__ import annotations

import abc
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["callable_name", "called", "key_of", "named_parameters", "place", "stub", "unwrapped"]

# Callables that are told apart by identity, and hash so, or as a method of the same object.
_TOLD_APART = {
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.ClassMethodDescriptorType, type, abc.ABCMeta, np.ufunc,
    type(np.sum), type(np.where),
}  # fmt: skip


class Same:
    """A callable object as a key: itself, whatever it says that it equals."""

    __slots__ = ("it",)

    def __init__(self, it: Any) -> None:
        self.it = it

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and self.it is other.it

    def __hash__(self) -> int:
        return id(self.it)


def key_of(f: Any) -> Any:
    """The key of a callable in the table of rules."""
    return f if type(f) in _TOLD_APART else Same(f)


def called(key: Any) -> Any:
    """The callable of a key."""
    return key.it if type(key) is Same else key


def unwrapped(f: Any) -> Any:
    """The function in a static method or class method, which is what a call of it reaches."""
    return f.__func__ if isinstance(f, (staticmethod, classmethod)) else f


def callable_name(f: Any) -> str:
    """The dotted name under which a user would write a callable."""
    if isinstance(f, np.ufunc):  # knows its name, not its module
        modules = [(name, vars(m)) for name, m in sys.modules.copy().items() if hasattr(m, "__dict__")]
        homes = [name for name, names in modules if names.get(f.__name__) is f and "._" not in name]
        known = [name for name in homes if name.partition(".")[0] in ("numpy", "scipy")]
        return f"{min(known or homes or ['numpy'], key=len)}.{f.__name__}"
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or type(f).__name__
    module = getattr(getattr(f, "__objclass__", f), "__module__", None) or ""
    if module in ("_operator", "_functools"):
        module = module[1:]
    return name if module in ("", "builtins", "__main__") else f"{module}.{name}"


def place(function: Any) -> str:
    """file:line of a Python function."""
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else callable_name(function)


def named_parameters(f: Callable[..., Any]) -> list[str]:
    """The parameters of a callable that can be given by position, as far as it tells them."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def stub(f: Callable[..., Any], nargs: int) -> str:
    """A rule to paste and fill in."""
    name = callable_name(f)
    short = name.rpartition(".")[2]
    short = short if short.isidentifier() else "f"
    xs = ["x"] if nargs == 1 else [f"x{i + 1}" for i in range(nargs)]
    if nargs == 1:
        results = ["        return y_bar * ...  # dy/dx, times y_bar"]
    else:
        each = [f"            y_bar * ...,  # dy/d{x}, times y_bar" for x in xs]
        results = ["        return (", *each, "        )"]
    lines = [
        f"@wg.rrule({name})",
        f"def {short}_rule({', '.join(xs)}):",
        f"    y = {name}({', '.join(xs)})",
        f"    def {short}_pullback(y_bar):",
        *results,
        f"    return y, {short}_pullback",
    ]
    return "\n".join(lines)
