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
    names, defaults, takes_others = parameters_of(f)
    found = {**defaults, **dict(zip(names, given, strict=False)), **words}
    is_once = len(given) <= len(names) and not any([name in words for name in names[: len(given)]])
    is_known = takes_others or len(found) == len(defaults)
    if is_once and is_known and not any([value is EMPTY for value in found.values()]):
        return found
    bound = signature_of(f).bind(*given, **words)  # or an error
    bound.apply_defaults()
    found = dict(bound.arguments)
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            found.update(found.pop(name))
    return found


EMPTY = inspect.Parameter.empty
signature_of = functools.cache(inspect.signature)


@functools.cache
def parameters_of(f: Callable[..., Any]) -> tuple[list[str], dict[str, Any], bool]:
    """The names of the positional parameters, the defaults of all but `**kwargs`, and whether there are these."""
    each = signature_of(f).parameters.values()
    names = [one.name for one in each if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    defaults = {one.name: one.default for one in each if one.kind is not one.VAR_KEYWORD}
    return names, defaults, len(defaults) < len(each)


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
