"""Objects of the standard library's forms: named tuples, partial functions, enumerations; `reads` is a Reads."""

from __future__ import annotations

import enum
import functools
from typing import Any

from wengert.values.names import is_heap_type


def is_named_tuple(t: Any) -> bool:
    """Whether a class is that of named tuples, or of the user's made of one."""
    return issubclass(t, tuple) and hasattr(t, "_fields") and all(map(is_heap_type, t.__mro__[:-2]))


def read_named_tuple(reads: Any, value: Any, place: str) -> Any:
    """Return a copy of a named tuple with its items replaced by their traced counterparts."""
    reads.test(f"type({place}) is {reads.pin(type(value))}")
    reads.test(f"tuple.__len__({place}) == {tuple.__len__(value)}")
    if type(value).__dictoffset__:
        reads.test(f"not {place}.__dict__")
        if object.__getattribute__(value, "__dict__"):
            reads.give_up(f"it reads a named tuple with attributes from outside ({reads.said(place)})")
    parts = [reads.read(item, f"tuple.__getitem__({place}, {k})") for k, item in enumerate(tuple.__iter__(value))]
    if all(a is b for a, b in zip(parts, tuple.__iter__(value), strict=True)):
        return value
    made = tuple.__new__(type(value), parts)
    reads.originals[id(made)] = made, value
    return made


def read_partial(reads: Any, value: Any, place: str) -> Any:
    """Return a copy of a partial function with its parts replaced by their traced counterparts."""
    if functools.partial.__reduce__(value)[2][3]:  # vars(value) gives it a dictionary: partial tells it apart by that
        reads.give_up(f"it reads a partial function with attributes from outside ({reads.said(place)})")
        return value
    reads.test(f"type({place}) is {reads.pin(functools.partial)}")
    f = reads.read(value.func, f"{place}.func")
    args, words = reads.read(value.args, f"{place}.args"), reads.read(value.keywords, f"{place}.keywords")
    made = functools.partial(f, *args, **words)
    reads.originals[id(made)] = made, value
    return made


def read_member(reads: Any, value: Any, place: str) -> None:
    """A member of an enumeration is tested to be that one; its attributes are read as those of any object."""
    name = reads.pin(value, f"{type(value).__qualname__}.{vars(value)['_name_']}")
    if place != name:
        reads.test(f"{place} is {name}")
    reads.known[id(value)] = value, name
    if issubclass(type(value), enum.Flag):
        reads.read(vars(value)["_value_"], f"{name}.__dict__['_value_']")


def is_in_tests(obj: Any, name: str) -> bool:
    """Whether an attribute is what a flag is made of: its number is tested wherever it comes from."""
    return issubclass(type(obj), enum.Flag) and name.startswith("_")


def is_of_enumeration(reads: Any, cls: Any, name: str, value: Any) -> bool:
    """Whether an attribute of an enumeration is one of its members, which is known then, or tells how it is made."""
    if vars(cls).get("_member_map_", {}).get(name) is value and issubclass(type(value), enum.Enum):
        reads.read(value, reads.pin(value))
        return True
    return name[:1] == name[-1:] == "_" and name[:2] != "__" and not callable(value)
