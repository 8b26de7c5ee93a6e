"""The policy of calls: what traced code calls in place of a callable, and why.

A callable is looked up by itself, then by its owner and name, then by its type, then by its module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

STANDINS: dict[Any, Callable[..., Any]] = {}
"""What runs in place of a callable where something is recorded."""
RULED: set[Any] = set()
"""Callables of which the stand-in applies the rule."""


def stands_for(*callables: Any, ruled: bool = False, native_errors: bool = False) -> Callable[[_Function], _Function]:
    """Have a function run in place of these callables where something is recorded.

    A rule of the callable goes before it, unless the stand-in is `ruled`: it applies the rule itself. With
    `native_errors` the error is the callable's own where the arguments do not fit.
    """

    def register(standin: _Function) -> _Function:
        for f in callables:
            STANDINS[f] = _as_called(f, standin) if native_errors else standin
        if ruled:
            RULED.update(callables)
        return standin

    return register


def _as_called(native: Any, standin: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return standin(*args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # it was not even entered
                return native(*args, **kwargs)
            raise

    return call
