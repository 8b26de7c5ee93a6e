"""Objects that are integers by their `__index__`: the method is followed, and the integer is handed on."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.hooks.classes import bind, python_method
from wengert.recording.primitives import Primitive
from wengert.recording.recording import PLAIN
from wengert.values.names import home_of, is_heap_type

_SHOWING = ("__float__", "__int__", "__trunc__", "__array__", "__len__", "__getitem__")
OF_NUMBERS = ("math", "_operator", "builtins")
"""Modules whose functions ask for an integer in any argument."""


def integer(a: Any) -> Any:
    """Convert an object with an `__index__` alone to its integer, also inside a tuple; return others unchanged."""
    if type(a) is tuple:
        return tuple(map(integer, a)) if may_be_integer(a) else a
    method = python_method(type(a), "__index__")
    if method is None or any([python_method(type(a), name) for name in _SHOWING]):
        return a
    value = bind(method, a)()
    return value if type(value) is int else a


def may_be_integer(a: Any) -> bool:
    """Whether an argument is an object of a class in Python, or a tuple that holds one."""
    t = type(a)
    return any(map(may_be_integer, a)) if t is tuple else t not in PLAIN and is_heap_type(t)


def with_integers(
    primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Convert the objects among a call's arguments that are sizes, axes or indices to integers."""
    if not any(map(may_be_integer, (*args, *kwargs.values()))):
        return args, kwargs
    fn, rule = primitive.fn, primitive.rule
    if home_of(fn).partition(".")[0] in OF_NUMBERS and fn is not operator.getitem:
        return tuple(map(integer, args)), kwargs
    if rule is None or rule.kind == "rrule" or not _of_arrays(fn):
        return args, kwargs
    names = () if rule.analysis is None else rule.analysis.names
    count = _count(primitive, names, len(args))
    places = [k >= count or names[k : k + 1] == ("shape",) for k in range(len(args))]
    words = {name: value if name in names else integer(value) for name, value in kwargs.items()}
    return tuple([integer(a) if says else a for a, says in zip(args, places, strict=True)]), words


def _of_arrays(fn: Any) -> bool:
    """Whether a function is NumPy's or a method of arrays, and no ufunc, which computes on all its arguments."""
    is_numpy = home_of(fn).partition(".")[0] == "numpy" or getattr(fn, "__objclass__", None) is np.ndarray
    return fn is operator.getitem or (is_numpy and not isinstance(fn, np.ufunc))


def _count(primitive: Primitive, names: tuple[str, ...], given: int) -> int:
    """Count the leading arguments that are operands; those after them are sizes, axes and indices."""
    rule = primitive.rule
    assert rule is not None
    if rule.sequence is not None:
        return int(rule.sequence) + 1
    is_method = getattr(primitive.fn, "__objclass__", None) is np.ndarray
    return given if rule.analysis is not None and rule.analysis.variadic and not is_method else len(names)
