"""Values that guards can compare, and classes whose attributes they can watch, as these run Python functions only."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import functools
import io
import logging
import operator
import pathlib
import threading
import types
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from wengert.compiling.watched.trusted import belongs_to_user
from wengert.values.names import is_heap_type
from wengert.values.specs import Spec
from wengert.values.transformed import Transformed

ATOMS = {int, bool, str, bytes, type(None), type(...), type(NotImplemented)}
CONSTANT_CALLABLES = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, np.ufunc, type(np.sum),
    type(np.where), types.GenericAlias,
)  # fmt: skip
"""Types of callables that cannot change: a guard of their identity is enough."""
COMPARED_BY_VALUE = (
    np.bool_, np.integer, np.datetime64, np.dtype, range, slice, Spec, datetime.date, datetime.time, datetime.timedelta,
    datetime.timezone, pathlib.PurePath, decimal.Decimal, uuid.UUID, np.str_, np.bytes_,
)  # fmt: skip
"""Types whose values guards compare, type included; the comparison runs no user code."""
OUTLETS = (io.TextIOBase, logging.Logger)
"""Classes of objects to which calls such as `print` write."""
_HARMLESS_DESCRIPTORS = (
    *CONSTANT_CALLABLES, types.FunctionType, types.MemberDescriptorType, types.NoneType, Transformed,
    functools._lru_cache_wrapper,
    type(vars(collections.namedtuple("_", "item"))["item"]),
)  # fmt: skip
"""Types of descriptors that read no hidden state. NoneType is that of a name which only `__getattr__` finds."""


_READ_BY_CALLS = (types.FunctionType, functools._lru_cache_wrapper, *CONSTANT_CALLABLES)
_OF_EXTENSIONS = {"cython_function_or_method", "fused_cython_function", "nb_func", "nb_method"}
"""Names of the types of functions that Cython and nanobind compile; each module has its own."""


def is_of_extension(t: type) -> bool:
    """Whether a class is that of functions which Cython or nanobind compiled, or of those of `scipy.fft` (uarray)."""
    return t.__name__ in _OF_EXTENSIONS or t.__module__ == "uarray"


SELECTORS = (operator.attrgetter, operator.itemgetter, operator.methodcaller)


def is_constant_selector(value: Any) -> bool:
    """Whether a value is an `attrgetter`, `itemgetter` or `methodcaller` of names and numbers only."""
    if type(value) not in SELECTORS:
        return False
    make, parts, *_ = value.__reduce__()
    return make is type(value) and all([type(part) in (*ATOMS, float) for part in parts])


def is_descriptor_of_user(raw: Any) -> bool:
    """Whether a class attribute is an object whose class, the user's, computes attributes by Python functions."""
    t = type(raw)
    if not is_heap_type(t) or not hasattr(t, "__get__") or issubclass(t, type) or not has_only_attributes(t):
        return False
    methods = [lookup_with_owner(t, name)[0] for name in ("__get__", "__set__", "__delete__")]
    return belongs_to_user(t) and all([f is None or type(f) is types.FunctionType for f in methods])


class Wrapper:
    """A callable object of this package that calls the function `wrapped`."""

    wrapped: Any


_WITH_DICTIONARIES = (threading.local, types.ModuleType)
"""Classes of C whose instances have nothing but a dictionary that code can change."""


def has_only_attributes(t: Any) -> bool:
    """Whether instances of a class have no state besides their attributes, which Python reads in its default way."""
    if t is types.SimpleNamespace or t is object:
        return True
    bases = t.__mro__[:-1]
    if bases[-1] in _WITH_DICTIONARIES and t is not types.ModuleType:
        return all(map(is_heap_type, bases[:-1])) and t.__getattribute__ is bases[-1].__getattribute__
    if not all(map(is_heap_type, (*bases, *type(t).__mro__[:-2]))):
        return False
    plain = object.__basicsize__ + 8 * len(slot_names(t)) + (8 if t.__weakrefoffset__ > 0 else 0)
    return t.__basicsize__ <= plain and t.__getattribute__ is object.__getattribute__


def can_be_rebuilt(t: Any, base: Any = object) -> bool:
    """Whether `new_with_attributes` can copy instances of a class, whose content is that of a `base`."""
    slots = slot_names(t)
    are_plain = all([type(lookup_with_owner(t, name)[0]) is types.MemberDescriptorType for name in slots])
    are_plain = are_plain and len({*slots}) == len(slots)  # a class may hide a slot of its base by one of its own
    is_plain = are_plain and not (slots and has_dictionary(t)) and type(t).__module__ in ("builtins", "abc")
    is_plain = is_plain and (base is not object or (has_only_attributes(t) and t is not types.SimpleNamespace))
    return is_plain and t.__new__ is base.__new__ and not hasattr(t, "__del__")


def attributes_of(thing: Any) -> dict[str, Any]:
    """Return the attributes in the dictionary and the slots of an object, without a call of its code."""
    slots = {name: slot_value(thing, name) for name in slot_names(type(thing))}
    own = dictionary_of(thing) if has_dictionary(type(thing)) else {}
    return {**own, **{name: value for name, value in slots.items() if value is not Unset}}


def new_with_attributes(t: Any, attributes: dict[str, Any], base: Any = object, content: Any = ()) -> Any:
    """Make an instance of a class with these attributes, and the content of its built-in base, without its code."""
    made = base.__new__(t)
    for name, value in attributes.items():
        raw, _ = lookup_with_owner(t, name)
        if type(raw) is types.MemberDescriptorType:
            raw.__set__(made, value)
        else:
            object.__getattribute__(made, "__dict__")[name] = value
    if content:
        (base.update if base is dict else base.extend)(made, content)
    return made


def is_struct_sequence(t: Any) -> bool:
    """Whether a class is one of C's named tuples of constants, such as that of `sys.version_info`."""
    return issubclass(t, tuple) and hasattr(t, "n_sequence_fields") and not is_heap_type(t)


def nested_leaves(thing: Any) -> list[Any]:
    """Return the leaves of a nested list, tuple or dictionary; of any other object, the object itself."""
    if type(thing) in (list, tuple):
        return [part for item in thing for part in nested_leaves(item)]
    return nested_leaves([*thing.values()]) if type(thing) is dict else [thing]


def walked(things: list[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield each object in these things and in containers among them once, and the list of what is left to walk."""
    todo, seen = [*things], set()
    while todo:
        thing = todo.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if issubclass(type(thing), (list, tuple, dict)):
            todo += thing.values() if issubclass(type(thing), dict) else thing
        else:
            yield thing, todo


def slot_names(t: Any) -> list[str]:
    """Return the names of the slots of a class."""
    found = [item for base in t.__mro__[:-1] for item in vars(base).items()]  # the last is `object`
    return [name for name, raw in found if type(raw) is types.MemberDescriptorType and name != "__dict__"]


class Unset:
    """Stands for the value of a slot that is not set."""


def slot_value(thing: Any, name: str) -> Any:
    """Return the value of a slot of an object, without a call of its code; Unset if it has none."""
    try:
        return object.__getattribute__(thing, name)
    except AttributeError:
        return Unset


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
        return issubclass(type(raw.__func__), _READ_BY_CALLS) or is_of_extension(type(raw.__func__))
    if is_of_extension(type(raw)):
        return True
    if type(raw) is functools.cached_property:
        return issubclass(type(raw.func), types.FunctionType)
    is_property = issubclass(type(raw), property) and type(raw).__get__ is property.__get__
    if is_property or issubclass(type(raw), types.DynamicClassAttribute):
        parts = [type(f) for f in (raw.fget, raw.fset, raw.fdel)]
        return all([issubclass(t, _HARMLESS_DESCRIPTORS) or is_of_extension(t) for t in parts])
    return issubclass(type(raw), _HARMLESS_DESCRIPTORS)


def runs_code(t: Any, name: str) -> bool:
    """Whether a class defines an attribute by a descriptor other than a slot."""
    raw, _ = lookup_with_owner(t, name)
    return hasattr(type(raw), "__get__") and type(raw) is not types.MemberDescriptorType


def bound_to(f: Any) -> Any:
    """Return the object to which a method is bound; None for other callables. It runs no code of the user."""
    return f.__self__ if type(f) in (types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType) else None


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


def has_dictionary(t: Any) -> bool:
    """Whether instances of a class have a `__dict__`; those of `threading.local` have one for each thread."""
    return t.__dictoffset__ != 0 or issubclass(t, threading.local)


def dictionary_of(obj: Any) -> dict[str, Any]:
    """Return the `__dict__` of an object, in this thread, without a call of its code.

    Errors: AttributeError if it has none.
    """
    owner = threading.local if issubclass(type(obj), threading.local) else object
    found: dict[str, Any] = owner.__getattribute__(obj, "__dict__")
    return found


def has_own_attribute(obj: Any, name: str) -> bool:
    """Whether the `__dict__` of an object holds an attribute."""
    try:
        return name in dictionary_of(obj)
    except AttributeError:
        return False


# -- equality in all that code can read: types, signs and order of iteration included

_PATHS = {pathlib.PosixPath, pathlib.WindowsPath, pathlib.PurePosixPath, pathlib.PureWindowsPath}
_TIMES = {datetime.date, datetime.datetime, datetime.time, datetime.timedelta}
_SCALAR_CLASSES = {t for t in np.sctypeDict.values() if issubclass(t, np.generic) and not issubclass(t, np.flexible)}
_FLEXIBLE = "OSUV"  # kinds of NumPy's own data types besides numbers, times and bools


def is_same_value(a: Any, b: Any) -> bool:
    """Whether code can tell two values apart only by `is`. No user code runs.

    Errors: TypeError for values of other types than `readable_state` knows.
    """
    return a is b or (type(a) is type(b) and bool(readable_state(a) == readable_state(b)))


def are_same(values: Iterable[Any], others: Sequence[Any]) -> bool:
    """Whether values are the same objects as others, or constants that code can tell apart by `is` alone."""
    values = [*values]
    return all(map(operator.is_, values, others)) or all(map(_is_same, values, others))


def _is_same(a: Any, b: Any) -> bool:
    try:
        return is_same_value(a, b)
    except TypeError:
        return False


def readable_state(value: Any) -> Any:
    """Return everything that code can read of an immutable value, or of a set, as something to compare and to hash.

    Errors: TypeError for a nan, because containers compare it by identity, and for values of other types.
    """
    t = type(value)
    if t in ATOMS:
        return t, value
    if t in (tuple, frozenset, set):
        return t, *map(readable_state, value)
    if t in _TIMES and getattr(value, "tzinfo", None) is None:
        return t, value, getattr(value, "fold", 0)
    if t is range or t is slice:
        return t, readable_state(value.start), readable_state(value.stop), readable_state(value.step)
    if (t is float or t is complex) and value == value:
        return t, repr(value)
    if t in _SCALAR_CLASSES and value == value:
        return t, _readable_dtype(value.dtype), value.tobytes()
    if isinstance(value, np.dtype):
        return _readable_dtype(value)
    if t in _PATHS or t is decimal.Decimal or t is uuid.UUID:
        return t, str(value)
    if t is datetime.timezone:
        return t, value.utcoffset(None), value.tzname(None)
    if t is np.str_ or t is np.bytes_:
        return t, value.item()
    if t is Spec:
        return t, value.shape, _readable_dtype(value.dtype), value.pytype
    raise TypeError(f"wengert cannot compare a {t.__name__} with its earlier value")


def _readable_dtype(dtype: np.dtype) -> Any:
    """Return everything that code can read of a data type; `==` ignores metadata, alignment and names."""
    is_copy = dtype.isnative and dtype.kind in "biufc"  # an unpickled one, which differs in `isbuiltin` alone
    if dtype.metadata is None and (dtype.isbuiltin or is_copy):
        return dtype.num
    if type(dtype) not in _NUMPY_DTYPE_CLASSES:
        raise TypeError(f"{dtype!r} is not one of NumPy's own data types")
    fields = tuple(
        [
            (name, _readable_dtype(field[0]), field[1], readable_state(field[2:]))
            for name, field in (dtype.fields or {}).items()
        ]
    )
    base = dtype.subdtype and (_readable_dtype(dtype.subdtype[0]), dtype.subdtype[1])
    metadata = tuple([(readable_state(key), readable_state(part)) for key, part in (dtype.metadata or {}).items()])
    parts = dtype.names, fields, base, metadata
    return type(dtype), dtype.type, dtype.num, dtype.str, dtype.flags, dtype.alignment, parts


_NUMPY_DTYPE_CLASSES = {type(np.dtype(code)) for code in [*np.typecodes["All"], *_FLEXIBLE]}


def has_readable_state(value: Any) -> bool:
    """Whether `readable_state` knows a value."""
    try:
        readable_state(value)
    except TypeError:
        return False
    return True


def is_found_by_identity(thing: Any) -> bool:
    """Whether sets and dictionaries find a thing by its identity, without a call of code."""
    t: Any = type(thing)
    if issubclass(t, (enum.Enum, type, types.FunctionType, types.ModuleType, *CONSTANT_CALLABLES)):
        return True
    return t.__hash__ is object.__hash__ and t.__eq__ is object.__eq__ and has_only_attributes(t)


def may_have_copies(value: Any) -> bool:
    """Whether an equal value may be another object: None, small integers and one-character strings are singletons."""
    is_singleton = value in range(-5, 257) if type(value) is int else type(value) in (str, bytes) and len(value) < 2
    return (
        not is_singleton
        and type(value) not in (bool, type(None), type(...), type(NotImplemented), float, complex)
        and (not isinstance(value, np.inexact) and has_readable_state(value))
    )


def literal(value: Any) -> str | None:
    """Return the literal of an atom or a tuple of atoms; None for other values and for huge integers."""
    if type(value) is tuple:
        has_literal = None not in map(literal, value)
    else:
        has_literal = type(value) in ATOMS and not (type(value) is int and abs(value) > 2**63)
    return repr(value) if has_literal else None
