"""The arguments of a call, by the names of the parameters."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from wengert.extend import RefusedCallError, directly


def arguments(f: Callable[..., Any], given: tuple[Any, ...], words: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `f(*given, **words)` by name, with the defaults; those of `**kwargs` too."""
    return directly(bound_arguments, f, given, words)


def bound_arguments(f: Callable[..., Any], given: tuple[Any, ...], words: dict[str, Any]) -> dict[str, Any]:
    """The same, for code without hooks."""
    bound = signature_of(f).bind(*given, **words)
    bound.apply_defaults()
    found = dict(bound.arguments)
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            found.update(found.pop(name))
    return found


signature_of = functools.cache(inspect.signature)


def in_tuple(args: Any) -> tuple[Any, ...]:
    """The `args` of a solver that takes anything but a tuple as its only argument; the other solvers unpack them."""
    return args if isinstance(args, tuple) else (args,)


def unpacked(args: Any) -> tuple[Any, ...]:
    """The `args` of a solver that unpacks them, whatever they are; None is no argument."""
    if isinstance(args, Iterator):
        raise RefusedCallError("args= is an iterator, which the solver has used up. Pass a tuple.")
    return () if args is None else tuple(args)


def joined(native: Callable[..., Any], args: Any) -> tuple[Any, ...]:
    """The `args` of a solver that adds them to a tuple, where NumPy would add an array to its numbers."""
    if not isinstance(args, tuple):
        raise RefusedCallError(
            f"scipy.optimize.{native.__name__} ignores args= if it is an array. Pass a tuple: args=(a,)."
        )
    return args
