"""Types that can be watched: values that are compared, and classes whose attributes run functions only."""

from __future__ import annotations

import collections
import functools
import types
from typing import Any

import numpy as np

from wengert.values.names import home_of, is_heap_type
from wengert.values.transformed import Transformed

ATOMS = {int, bool, str, bytes, type(None), type(...), type(NotImplemented)}
SAME = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc, type(np.sum),
    type(np.where), types.GenericAlias,
)  # fmt: skip
"""Of what these are, nothing can change but which of them it is."""
COMPARED = (np.bool_, np.integer, np.datetime64, np.dtype, range, slice)
"""Types whose values are compared with what they were, type included; their comparison runs no code of the user's."""
_FOLLOWED = (
    types.FunctionType, types.WrapperDescriptorType, types.MemberDescriptorType, types.NoneType, Transformed,
    type(vars(collections.namedtuple("_", "item"))["item"]),
)  # fmt: skip
"""Descriptors of attributes whose reading reads nothing else; None where there is a `__getattr__`."""


def has_attributes_alone(t: Any) -> bool:
    """Whether the state of the objects of a class lies in their attributes alone, and these are read as Python does."""
    if t is types.SimpleNamespace:
        return True
    bases = t.__mro__[:-1]
    if not all(is_heap_type(base) for base in bases) or type(t).__module__ not in ("builtins", "abc"):
        return False
    plain = object.__basicsize__ + 8 * len(slots_of(t)) + (8 if t.__weakrefoffset__ > 0 else 0)
    return t.__basicsize__ <= plain and t.__getattribute__ is object.__getattribute__


def is_made_of_attributes(t: Any) -> bool:
    """Whether an object of a class is another one with the same attributes, made by `with_attributes`."""
    is_plain = has_attributes_alone(t) and t is not types.SimpleNamespace and not slots_of(t)
    return is_plain and t.__new__ is object.__new__ and not hasattr(t, "__del__")


def with_attributes(t: Any, attributes: dict[str, Any]) -> Any:
    made = object.__new__(t)
    object.__getattribute__(made, "__dict__").update(attributes)
    return made


def parts_of(thing: Any) -> list[Any]:
    """Return the leaves of a nested list, tuple or dictionary; of anything else the thing alone."""
    if type(thing) in (list, tuple):
        return [part for item in thing for part in parts_of(item)]
    return parts_of([*thing.values()]) if type(thing) is dict else [thing]


def slots_of(t: Any) -> list[str]:
    """The attributes for which the objects of a class have slots."""
    found = [item for base in t.__mro__ for item in vars(base).items()]
    return [name for name, raw in found if type(raw) is types.MemberDescriptorType and name != "__dict__"]


def is_unset(thing: Any, slot: types.MemberDescriptorType) -> bool:
    """Whether nothing is in a slot of an object."""
    try:
        slot.__get__(thing)
    except AttributeError:
        return True
    return False


def is_followed(raw: Any) -> bool:
    """Whether reading what a class has under a name runs functions only, if anything."""
    if issubclass(type(raw), (staticmethod, classmethod)):
        return issubclass(type(raw.__func__), (types.FunctionType, *SAME))
    if type(raw) is functools.cached_property:
        return issubclass(type(raw.func), types.FunctionType)
    if type(raw) is property or issubclass(type(raw), types.DynamicClassAttribute):
        return all(issubclass(type(f), (*_FOLLOWED, *SAME)) for f in (raw.fget, raw.fset, raw.fdel))
    return issubclass(type(raw), (*_FOLLOWED, *SAME))


def runs_code(t: Any, name: str) -> bool:
    """Whether a class has more under the name of an attribute than a default or a slot."""
    raw, _ = lookup_with_owner(t, name)
    return hasattr(type(raw), "__get__") and type(raw) is not types.MemberDescriptorType


def is_tensor_function(t: Any) -> bool:
    """Whether a class is that of functions in the tensor language, which look themselves at what they read outside."""
    return home_of(t) == "wengert.tensor.function"


def is_bound_to_none(f: Any) -> bool:
    owner = getattr(f, "__self__", None) if type(f) is types.BuiltinFunctionType else None
    return owner is None or issubclass(type(owner), (types.ModuleType, type))


def hides_a_function(thing: Any) -> bool:
    """Whether a thing runs a function that it holds in C: what np.frompyfunc made, a ufunc of objects alone, does."""
    return issubclass(type(thing), np.vectorize) or (type(thing) is np.ufunc and {*"".join(thing.types)} <= {*"O->"})


def lookup_with_owner(t: Any, name: str) -> tuple[Any, Any]:
    """Return what a class defines under a name, and the base that does."""
    return next(((vars(base)[name], base) for base in t.__mro__ if name in vars(base)), (None, None))


def has_of_its_own(obj: Any, name: str) -> bool:
    """Whether an object has an attribute of its own under a name."""
    try:
        return name in object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return False
