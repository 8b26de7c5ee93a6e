"""Types that guards can watch: values to compare, and classes whose attributes run Python functions only."""

from __future__ import annotations

import collections
import functools
import types
from typing import Any

import numpy as np

from wengert.values.names import home_of, is_heap_type
from wengert.values.transformed import Transformed

ATOMS = {int, bool, str, bytes, type(None), type(...), type(NotImplemented)}
CONSTANT_CALLABLES = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc, type(np.sum),
    type(np.where), types.GenericAlias,
)  # fmt: skip
"""Types of callables that cannot change: a guard of their identity is enough."""
COMPARED_BY_VALUE = (np.bool_, np.integer, np.datetime64, np.dtype, range, slice)
"""Types whose values guards compare, type included; the comparison runs no user code."""
_HARMLESS_DESCRIPTORS = (
    types.FunctionType, types.WrapperDescriptorType, types.MemberDescriptorType, types.NoneType, Transformed,
    type(vars(collections.namedtuple("_", "item"))["item"]),
)  # fmt: skip
"""Types of descriptors that read no hidden state. NoneType is that of a name which only `__getattr__` finds."""


def has_only_attributes(t: Any) -> bool:
    """Whether instances of a class have no state besides their attributes, which Python reads in its default way."""
    if t is types.SimpleNamespace:
        return True
    bases = t.__mro__[:-1]
    if not all(is_heap_type(base) for base in bases) or type(t).__module__ not in ("builtins", "abc"):
        return False
    plain = object.__basicsize__ + 8 * len(slot_names(t)) + (8 if t.__weakrefoffset__ > 0 else 0)
    return t.__basicsize__ <= plain and t.__getattribute__ is object.__getattribute__


def can_be_rebuilt(t: Any) -> bool:
    """Whether `new_with_attributes` can copy instances of a class."""
    is_plain = has_only_attributes(t) and t is not types.SimpleNamespace and not slot_names(t)
    return is_plain and t.__new__ is object.__new__ and not hasattr(t, "__del__")


def new_with_attributes(t: Any, attributes: dict[str, Any]) -> Any:
    """Make an instance of a class with these attributes, without a call of `__init__`."""
    made = object.__new__(t)
    object.__getattribute__(made, "__dict__").update(attributes)
    return made


def nested_leaves(thing: Any) -> list[Any]:
    """Return the leaves of a nested list, tuple or dictionary; of any other object, the object itself."""
    if type(thing) in (list, tuple):
        return [part for item in thing for part in nested_leaves(item)]
    return nested_leaves([*thing.values()]) if type(thing) is dict else [thing]


def slot_names(t: Any) -> list[str]:
    """Return the names of the slots of a class."""
    found = [item for base in t.__mro__ for item in vars(base).items()]
    return [name for name, raw in found if type(raw) is types.MemberDescriptorType and name != "__dict__"]


def is_unset(thing: Any, slot: types.MemberDescriptorType) -> bool:
    """Whether a slot of an object is not set."""
    try:
        slot.__get__(thing)
    except AttributeError:
        return True
    return False


def runs_functions_only(raw: Any) -> bool:
    """Whether reading a class attribute with this raw value runs nothing but Python functions, which are watched."""
    if issubclass(type(raw), (staticmethod, classmethod)):
        return issubclass(type(raw.__func__), (types.FunctionType, *CONSTANT_CALLABLES))
    if type(raw) is functools.cached_property:
        return issubclass(type(raw.func), types.FunctionType)
    if type(raw) is property or issubclass(type(raw), types.DynamicClassAttribute):
        return all(
            issubclass(type(f), (*_HARMLESS_DESCRIPTORS, *CONSTANT_CALLABLES)) for f in (raw.fget, raw.fset, raw.fdel)
        )
    return issubclass(type(raw), (*_HARMLESS_DESCRIPTORS, *CONSTANT_CALLABLES))


def runs_code(t: Any, name: str) -> bool:
    """Whether a class defines an attribute by a descriptor other than a slot."""
    raw, _ = lookup_with_owner(t, name)
    return hasattr(type(raw), "__get__") and type(raw) is not types.MemberDescriptorType


def is_tensor_function(t: Any) -> bool:
    """Whether a class is that of functions in the tensor language, which check their own outer reads."""
    return home_of(t) == "wengert.tensor.function"


def is_unbound(f: Any) -> bool:
    """Whether a callable is bound to no object but a module or a class."""
    owner = getattr(f, "__self__", None) if type(f) is types.BuiltinFunctionType else None
    return owner is None or issubclass(type(owner), (types.ModuleType, type))


def hides_python_function(thing: Any) -> bool:
    """Whether a thing calls a Python function that it holds in C: `np.vectorize` and `np.frompyfunc` make such."""
    return issubclass(type(thing), np.vectorize) or (type(thing) is np.ufunc and {*"".join(thing.types)} <= {*"O->"})


def lookup_with_owner(t: Any, name: str) -> tuple[Any, Any]:
    """Return the raw value of a class attribute, and the base class that defines it."""
    return next(((vars(base)[name], base) for base in t.__mro__ if name in vars(base)), (None, None))


def has_own_attribute(obj: Any, name: str) -> bool:
    """Whether the `__dict__` of an object holds an attribute."""
    try:
        return name in object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return False
