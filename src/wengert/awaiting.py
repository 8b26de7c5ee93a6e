"""What `async with`, `async for` and `await` run by themselves, entering the user's methods."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from wengert.classes import bind, lookup, python_method
from wengert.items import Entered, Stand, drive
from wengert.recording import STATE
from wengert.sites import Site


class AsyncManaged(Stand):
    """An asynchronous context manager whose methods are entered."""

    __slots__ = ()
    __aenter__ = Entered()
    __aexit__ = Entered()


class AsyncIterated:
    """An asynchronous iterator whose method is entered."""

    __slots__ = ("iterator",)

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator

    def __aiter__(self) -> AsyncIterated:
        return self

    def __anext__(self) -> Any:
        return awaitable(bind(lookup(type(self.iterator), "__anext__"), self.iterator)(), STATE.site)


class Awaited:
    """An awaitable whose method is entered."""

    __slots__ = ("obj",)

    def __init__(self, obj: Any) -> None:
        self.obj = obj

    def __await__(self) -> Iterator[Any]:
        return drive(bind(lookup(type(self.obj), "__await__"), self.obj)())


def async_context(manager: Any, site: Site | None) -> Any:
    """What `async with` is given."""
    STATE.site = site
    t = type(manager)
    written = python_method(t, "__aenter__") is not None and lookup(t, "__aexit__") is not None
    return AsyncManaged(manager) if written else manager


def async_iterable(obj: Any, site: Site | None) -> Any:
    """What `async for` is given."""
    if type(obj) is types.AsyncGeneratorType:
        return obj
    STATE.site = site
    method = python_method(type(obj), "__aiter__")
    iterator = obj if method is None else bind(method, obj)()
    return iterator if python_method(type(iterator), "__anext__") is None else AsyncIterated(iterator)


def awaitable(obj: Any, site: Site | None) -> Any:
    """What `await` is given."""
    if type(obj) is types.CoroutineType:
        return obj
    STATE.site = site
    return obj if python_method(type(obj), "__await__") is None else Awaited(obj)
