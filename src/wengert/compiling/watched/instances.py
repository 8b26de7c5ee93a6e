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

from wengert.compiling.watched.kinds import lookup_with_owner
from wengert.compiling.watched.outside import Reads

_CHECKS: dict[Any, str] = {isinstance: "__instancecheck__", issubclass: "__subclasscheck__"}


def watch_answer(reads: Reads, native: Callable[..., bool], thing: Any, classes: Any) -> None:
    """Guard what isinstance or issubclass, the `native`, answers of a thing and classes."""
    t = type(thing) if native is isinstance else thing
    for cls in _each(classes) if isinstance(t, type) else ():
        check, owner = lookup_with_owner(type(cls), _CHECKS[native])
        if owner is abc.ABCMeta:
            reads.abstract(t, cls)
        elif owner.__module__ == "typing":  # a protocol looks for attributes
            reads.whole(thing)
            reads.token()
        elif owner is not type and type(check) is not types.FunctionType:
            reads.give_up(f"it asks {cls.__qualname__}, whose metaclass answers by a {type(check).__name__}")


def _each(classes: Any) -> Iterator[type]:
    """The classes in tuples and unions."""
    if isinstance(classes, type):
        yield classes
    for part in classes if isinstance(classes, tuple) else typing.get_args(classes):
        yield from _each(part)
