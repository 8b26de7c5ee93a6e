"""Classes of the user's that take NumPy's calls over: `__array_ufunc__` and `__array_function__`, entered.

Source: NEP 13 and NEP 18, for the order in which the arguments are asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.hooks.classes import bind, python_method
from wengert.recording.recording import PLAIN

NOT_TAKEN = object()


def taken_over(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], method: str = "__call__") -> Any:
    """What an argument's class makes of a call of NumPy; NOT_TAKEN where none takes it."""
    things = (*args, *kwargs.values())
    if all([type(a) in PLAIN and type(a) not in (list, tuple) for a in things]):
        return NOT_TAKEN
    if isinstance(fn, np.ufunc):
        return _by_ufunc(fn, method, args, kwargs)
    return _by_function(fn, args, kwargs) if type(fn) is type(np.sum) else NOT_TAKEN


def _by_ufunc(ufunc: np.ufunc, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    out = kwargs.get("out")
    if out is not None and type(out) is not tuple:
        kwargs = {**kwargs, "out": (out,)}
    asked = _in_order("__array_ufunc__", (*args, *(kwargs.get("out") or ())))
    for obj, how in asked:
        value = bind(how, obj)(ufunc, method, *args, **kwargs)
        if value is not NotImplemented:
            return value
    if asked:
        names = ", ".join([repr(type(a).__name__) for a in args])
        raise TypeError(
            f"operand type(s) all returned NotImplemented from __array_ufunc__({ufunc!r}, {method!r}): {names}"
        )
    return NOT_TAKEN


def _by_function(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    things = [part for a in (*args, *kwargs.values()) for part in (a if type(a) in (list, tuple) else (a,))]
    asked = _in_order("__array_function__", things)
    for obj, how in asked:
        value = bind(how, obj)(fn, tuple([type(obj) for obj, _ in asked]), args, kwargs)
        if value is not NotImplemented:
            return value
    if asked:
        name, types = f"{fn.__module__}.{fn.__name__}", [type(obj) for obj, _ in asked]
        raise TypeError(f"no implementation found for '{name}' on types that implement __array_function__: {types}")
    return NOT_TAKEN


def _in_order(name: str, things: Iterable[Any]) -> list[tuple[Any, Any]]:
    """The objects to be asked and their methods: from left to right, a subclass before its base, each class once."""
    asked: list[tuple[Any, Any]] = []
    for thing in things:
        t = type(thing)
        how = None if t in PLAIN or issubclass(t, np.ndarray) else python_method(t, name)
        if how is not None and all(type(obj) is not t for obj, _ in asked):
            place = next((k for k, (obj, _) in enumerate(asked) if issubclass(t, type(obj))), len(asked))
            asked.insert(place, (thing, how))
    return asked
