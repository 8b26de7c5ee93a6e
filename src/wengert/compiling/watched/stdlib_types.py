"""Reading of named tuples, partial functions and enumerations; `reads` is a Reads."""

from __future__ import annotations

import enum
import functools
from typing import Any

from wengert.values.names import is_heap_type


def is_named_tuple(t: Any) -> bool:
    """Whether a class is a named tuple class, or a user class derived from one."""
    return issubclass(t, tuple) and hasattr(t, "_fields") and all(map(is_heap_type, t.__mro__[:-2]))


def read_named_tuple(reads: Any, value: Any, accessor: str) -> Any:
    """Return a copy of a named tuple with its items replaced by their traced counterparts."""
    reads.add_guard(f"type({accessor}) is {reads.pin(type(value))}")
    reads.add_guard(f"tuple.__len__({accessor}) == {tuple.__len__(value)}")
    if type(value).__dictoffset__:
        reads.add_guard(f"not {accessor}.__dict__")
        if object.__getattribute__(value, "__dict__"):
            reads.give_up(f"it reads a named tuple with additional attributes ({reads.describe(accessor)})")
    parts = [reads.read(item, f"tuple.__getitem__({accessor}, {k})") for k, item in enumerate(tuple.__iter__(value))]
    if all(a is b for a, b in zip(parts, tuple.__iter__(value), strict=True)):
        return value
    made = tuple.__new__(type(value), parts)
    reads.originals[id(made)] = made, value
    return made


def read_partial(reads: Any, value: Any, accessor: str) -> Any:
    """Return a copy of a partial function with its parts replaced by their traced counterparts."""
    if functools.partial.__reduce__(value)[2][3]:  # vars(value) would create the dictionary, which code can notice
        reads.give_up(f"it reads a functools.partial with additional attributes ({reads.describe(accessor)})")
        return value
    reads.add_guard(f"type({accessor}) is {reads.pin(functools.partial)}")
    f = reads.read(value.func, f"{accessor}.func")
    args, keywords = reads.read(value.args, f"{accessor}.args"), reads.read(value.keywords, f"{accessor}.keywords")
    made = functools.partial(f, *args, **keywords)
    reads.originals[id(made)] = made, value
    return made


def read_enum_member(reads: Any, value: Any, accessor: str) -> None:
    """Guard the identity of a member of an enumeration; its attributes are read like those of any object."""
    name = reads.pin(value, f"{type(value).__qualname__}.{vars(value)['_name_']}")
    if accessor != name:
        reads.add_guard(f"{accessor} is {name}")
    reads.known_objects[id(value)] = value, name
    if issubclass(type(value), enum.Flag):
        reads.read(vars(value)["_value_"], f"{name}.__dict__['_value_']")


def is_flag_internal(obj: Any, name: str) -> bool:
    """Whether an attribute is an internal one of a flag: guards hold its value already."""
    return issubclass(type(obj), enum.Flag) and name.startswith("_")


def is_enum_internal(reads: Any, cls: Any, name: str, value: Any) -> bool:
    """Whether an attribute of an enumeration is a member, which this reads, or an internal one such as `_missing_`."""
    if vars(cls).get("_member_map_", {}).get(name) is value and issubclass(type(value), enum.Enum):
        reads.read(value, reads.pin(value))
        return True
    return name[:1] == name[-1:] == "_" and name[:2] != "__" and not callable(value)
