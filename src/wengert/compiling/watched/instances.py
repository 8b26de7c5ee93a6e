"""Answers of `isinstance` and `issubclass` that may change though neither the object nor the class does.

Abstract classes ask what is registered with them, and with the classes below them. As long as nothing at all was
registered in the process, as its token says, they answer as before; after that they are asked again.
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


def watch_answer(reads: Reads, native: Callable[..., bool], thing: Any, classes: Any) -> None:
    """Guard what isinstance or issubclass, the `native`, answers of a thing and classes."""
    t = type(thing) if native is isinstance else thing
    for cls in _each(classes) if isinstance(t, type) else ():
        check, owner = lookup_with_owner(type(cls), _CHECKS[native])
        if owner is abc.ABCMeta:
            for asked in {t, t if native is issubclass else thing.__class__}:
                reads.abstract(asked, cls)
        elif owner.__module__ == "typing":  # a protocol looks for attributes
            reads.protocol(thing, cls)
        elif owner is not type and type(check) is not types.FunctionType:
            reads.give_up(f"it asks {cls.__qualname__}, whose metaclass answers by a {type(check).__name__}")


def asks_an_abstract_class(f: Any) -> bool:
    """Whether a callable is a method of ABCMeta itself, which a metaclass of the user's may call."""
    return type(f) in (types.FunctionType, types.MethodType) and getattr(f, "__func__", f) in _OF_ABSTRACT_CLASSES


_OF_ABSTRACT_CLASSES = {vars(abc.ABCMeta)[name] for name in _CHECKS.values()}


def _each(classes: Any) -> Iterator[type]:
    """The classes in tuples and unions, and those that names of `typing` mean."""
    if isinstance(classes, type):
        yield classes
    if (origin := typing.get_origin(classes)) is not None:
        yield from _each(origin)
    for part in classes if isinstance(classes, tuple) else typing.get_args(classes):
        yield from _each(part)
