"""Objects as sizes, axes and indices: `__index__` is traced, and its integer passed on."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from wengert.hooks import data_reads
from wengert.hooks.classes import bind_method, python_method
from wengert.recording.primitives import Primitive
from wengert.recording.recording import C_ONLY_TYPES
from wengert.values.names import home_of, is_heap_type

_OTHER_CONVERSIONS = ("__float__", "__int__", "__trunc__", "__array__", "__len__", "__getitem__")
NUMBER_MODULES = ("math", "_operator", "builtins")
"""Modules whose functions may convert any argument to an integer."""


def integer(a: Any) -> Any:
    """Convert an object whose only conversion is `__index__`, also in a tuple or slice, and a table that is data.

    Other objects are returned unchanged.
    """
    if type(a) is tuple:
        return tuple(map(integer, a)) if may_be_integer(a) else a
    if type(a) is slice:
        return slice(integer(a.start), integer(a.stop), integer(a.step)) if may_be_integer(a) else a
    a = data_reads.plain_key(a)
    method = python_method(type(a), "__index__")
    if method is None or any([python_method(type(a), name) for name in _OTHER_CONVERSIONS]):
        return a
    value = bind_method(method, a)()
    return value if type(value) is int else a


def may_be_integer(a: Any) -> bool:
    """Whether an argument is an object of a class in Python, or a tuple or slice that holds one."""
    t = type(a)
    parts = a if t is tuple else (a.start, a.stop, a.step) if t is slice else ()
    return any(map(may_be_integer, parts)) or (t not in C_ONLY_TYPES and is_heap_type(t))


def with_integers(
    primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Convert the objects among a call's arguments that are sizes, axes or indices to integers."""
    if not any(map(may_be_integer, (*args, *kwargs.values()))):
        return args, kwargs
    fn, rule = primitive.fn, primitive.rule
    if home_of(fn).partition(".")[0] in NUMBER_MODULES and fn is not operator.getitem:
        return tuple(map(integer, args)), kwargs
    if rule is None or rule.kind == "rrule" or not _takes_arrays(fn):
        return args, kwargs
    names = () if rule.analysis is None else rule.analysis.names
    count = _count_operands(primitive, names, len(args))
    is_size = [k >= count or names[k : k + 1] == ("shape",) for k in range(len(args))]
    keywords = {name: value if name in names else integer(value) for name, value in kwargs.items()}
    return tuple([integer(a) if converts else a for a, converts in zip(args, is_size, strict=True)]), keywords


def _takes_arrays(fn: Any) -> bool:
    """Whether a function is NumPy's or a method of arrays, but not a ufunc, which computes on all its arguments."""
    is_numpy = home_of(fn).partition(".")[0] == "numpy" or getattr(fn, "__objclass__", None) is np.ndarray
    return fn is operator.getitem or (is_numpy and not isinstance(fn, np.ufunc))


def _count_operands(primitive: Primitive, names: tuple[str, ...], n_args: int) -> int:
    """Count the leading arguments that are operands; those after them are sizes, axes and indices."""
    rule = primitive.rule
    assert rule is not None
    if rule.sequence is not None:
        return int(rule.sequence) + 1
    is_method = getattr(primitive.fn, "__objclass__", None) is np.ndarray
    return n_args if rule.analysis is not None and rule.analysis.variadic and not is_method else len(names)
