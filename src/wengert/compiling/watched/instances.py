"""Guards of `isinstance` and `issubclass`, whose answer may change although the object and the class stay the same.

Abstract classes look at the classes registered with them and with their subclasses. While the cache token of `abc` is
the same, nothing was registered in the process and the answers hold; after that the guard repeats the check.
"""

from __future__ import annotations

import abc
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

from wengert.compiling.watched.outer_reads import Reads
from wengert.compiling.watched.watchable_types import lookup_with_owner

_CHECKS: dict[Any, str] = {isinstance: "__instancecheck__", issubclass: "__subclasscheck__"}


def guard_class_check(reads: Reads, native: Callable[..., bool], thing: Any, classes: Any) -> None:
    """Guard the answer of `native`, which is isinstance or issubclass, for a thing and classes."""
    t = type(thing) if native is isinstance else thing
    for cls in _classes_in(classes) if isinstance(t, type) else ():
        check, owner = lookup_with_owner(type(cls), _CHECKS[native])
        if owner is abc.ABCMeta:
            for asked in {t, t if native is issubclass else thing.__class__}:
                reads.guard_abc_check(asked, cls)
        elif owner.__module__ == "typing":  # a protocol looks for attributes
            reads.guard_protocol_check(thing, cls)
        elif owner is not type and type(check) is not types.FunctionType:
            reads.give_up(f"it checks for {cls.__qualname__}, whose metaclass decides by a {type(check).__name__}")


def is_abc_method(f: Any) -> bool:
    """Whether a callable is `ABCMeta.__instancecheck__` or `__subclasscheck__`, which a user metaclass may call."""
    return type(f) in (types.FunctionType, types.MethodType) and getattr(f, "__func__", f) in _ABC_METHODS


_ABC_METHODS = {vars(abc.ABCMeta)[name] for name in _CHECKS.values()}


def _classes_in(classes: Any) -> Iterator[type]:
    """Yield the classes in tuples and unions, and the origins of generic aliases."""
    if isinstance(classes, type):
        yield classes
    if (origin := typing.get_origin(classes)) is not None:
        yield from _classes_in(origin)
    for part in classes if isinstance(classes, tuple) else typing.get_args(classes):
        yield from _classes_in(part)
