"""Objects of the user's classes that derive from numbers, strings, arrays, containers and `property`.

What they hold is a constant of the code, under a guard; their attributes are read like those of any object.
"""

from __future__ import annotations

import collections
import enum
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.compiling.watched.trusted import belongs_to_user, top_package
from wengert.compiling.watched.watchable import are_same, has_readable_state, slot_names
from wengert.values.names import is_heap_type
from wengert.values.specs import is_inexact


def _bytes(array: np.ndarray) -> tuple[Any, ...]:
    """Return all that code can read of an array, but its memory."""
    own = np.ndarray.view(array, np.ndarray)
    return own.shape, own.strides, own.dtype, own.flags.num, own.tobytes()


def _flat(items: Any) -> tuple[Any, ...]:
    return tuple([part for item in items for part in item])


_OF_PROPERTIES = [vars(property)[name] for name in ("fget", "fset", "fdel")]
_NUMBERS: dict[Any, Callable[[Any], Any]] = {
    float: float.hex, int: int.__int__, complex: complex.__repr__, str: str.__str__, bytes: bytes.__bytes__,
}  # fmt: skip
_CONTAINERS: dict[Any, Callable[[Any], Any]] = {
    tuple: lambda own: (*tuple.__iter__(own),),
    list: lambda own: (*list.__iter__(own),),
    set: lambda own: (*set.__iter__(own),),
    frozenset: lambda own: (*frozenset.__iter__(own),),
    dict: lambda own: _flat(dict.items(own)),
    collections.OrderedDict: lambda own: _flat(collections.OrderedDict.items(own)),
    collections.defaultdict: lambda own: (own.default_factory, *_flat(dict.items(own))),
    property: lambda own: tuple([part.__get__(own) for part in _OF_PROPERTIES]),
}
_PARTS = {**_NUMBERS, **_CONTAINERS, np.ndarray: _bytes}
"""By built-in class: what an object of it holds, read without a call of the user's code."""


def built_in_base(t: Any) -> Any:
    """Return the built-in class whose content the objects of a user's class hold; None if there is none."""
    if t in _PARTS or not is_heap_type(t):
        return None
    bases = t.__mro__[:-1]
    base: Any = next((cls for cls in bases if cls in _PARTS or not is_heap_type(cls)), None)
    if base not in _PARTS or issubclass(t, enum.Enum) or hasattr(t, "_fields"):
        return None
    is_plain = t.__getattribute__ is base.__getattribute__ and all(map(_adds_attributes_only, bases))
    added = [bool(getattr(t, name)) - bool(getattr(base, name)) for name in ("__dictoffset__", "__weakrefoffset__")]
    room = base.__basicsize__ + 8 * (len(slot_names(t)) - len(slot_names(base)) + sum(added))
    return base if is_plain and t.__basicsize__ <= room else None


def _adds_attributes_only(cls: type) -> bool:
    """Whether a class is built in, abstract without content, or defined in Python by the user or by SciPy."""
    is_in_python = belongs_to_user(cls) or top_package(cls.__module__) == "scipy"
    return cls in _PARTS or not is_heap_type(cls) or is_in_python or vars(cls).get("__slots__") == ()


class Held:
    """The content of an object of such a class, as it was."""

    def __init__(self, base: Any, owner: Any) -> None:
        self.base, self.owner, self.parts = base, owner, _PARTS[base](owner)

    def is_in(self, owner: Any) -> bool:
        """Whether an object is of the same class and holds the same: equal constants, and else the same objects."""
        if type(owner) is not type(self.owner):
            return False
        found = _PARTS[self.base](owner)
        if self.base not in _CONTAINERS:
            return are_same((found,), (self.parts,))
        return len(found) == len(self.parts) and are_same(found, self.parts)

    def put_back(self) -> None:
        """Have the owner hold it again."""
        if self.is_in(self.owner):
            return
        if self.base is np.ndarray:
            shape, _, dtype, _, content = self.parts
            np.copyto(np.ndarray.view(self.owner, np.ndarray), np.frombuffer(content, dtype).reshape(shape))
        elif self.base in (list, set):
            self.base.clear(self.owner)
            (list.extend if self.base is list else set.update)(self.owner, self.parts)
        elif issubclass(self.base, dict):
            self.base.clear(self.owner)
            items = self.parts[self.base is collections.defaultdict :]
            for key, value in zip(items[::2], items[1::2], strict=True):
                self.base.__setitem__(self.owner, key, value)


def holds_numbers(constant: Any) -> bool:
    """Whether a constant that guards compare by value holds floats, complex numbers, or arrays of them."""
    t = type(constant)
    if t is Held:
        return constant.base in (float, complex, np.ndarray) or holds_numbers(constant.parts)
    parts = (constant.start, constant.stop, constant.step) if t is slice else constant
    return t in (tuple, set, frozenset, slice) and any([is_inexact(part) or holds_numbers(part) for part in parts])


def read_held(reads: Any, value: Any, accessor: str, base: Any) -> Held:
    """Guard that an object holds the same constants and objects, and read these; give up on what is no constant."""
    held = Held(base, value)
    if not held.is_in(value):
        reads.give_up(f"it reads a {type(value).__name__} that holds a nan", accessor)
    else:
        guard_held(reads, held, accessor)
    return held


def guard_held(reads: Any, held: Held, accessor: str) -> None:
    """Guard that an accessor holds the same constants and objects, and read the objects."""
    reads.add_guard(f"{reads.pin(held, f'content of a {type(held.owner).__name__}')}.is_in({accessor})")
    for part in _objects_in(held.parts) if held.base in _CONTAINERS else ():
        if type(part) is np.ndarray and not part.dtype.hasobject:
            if id(part) not in reads.shared:
                reads.guard_array(part, reads.pin(part))
        elif reads.read(part, reads.pin(part)) is not part:
            reads.give_up(f"it reads a {type(held.owner).__name__} that holds a {type(part).__name__}", accessor)


def _objects_in(parts: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the parts that guards cannot compare by value; of tuples, which are the very same ones, their items."""
    for part in parts:
        if not has_readable_state(part):
            yield from _objects_in(part) if type(part) is tuple else (part,)
