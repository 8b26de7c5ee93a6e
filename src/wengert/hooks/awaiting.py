"""What `async with`, `async for` and `await` run by themselves, entering the user's methods."""

from __future__ import annotations

import types
from collections.abc import AsyncIterator, Iterator
from typing import Any

from wengert.hooks.classes import bind, lookup, python_method
from wengert.hooks.items import Entered, Stand, drive
from wengert.recording.recording import STATE
from wengert.values.sites import Site


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


async def _numbers() -> AsyncIterator[Any]:
    yield


def _awaitables() -> tuple[type, ...]:
    """The C types that step a coroutine or an asynchronous generator for whoever awaits it."""
    numbers = _numbers()
    steps = [numbers.__anext__(), numbers.aclose(), numbers.athrow(KeyError)]  # type: ignore[attr-defined]
    for step in steps:
        step.close()
    coroutine = _first(numbers)
    steps.append(coroutine.__await__())
    coroutine.close()
    return tuple({type(step) for step in steps})


async def _first(numbers: Any) -> Any:
    return await anext(numbers)


AWAITABLES = _awaitables()


def next_async(iterator: Any, *default: Any) -> Any:
    """`anext(iterator)`."""
    written = python_method(type(iterator), "__anext__") is not None
    return anext(AsyncIterated(iterator) if written else iterator, *default)


def iter_async(obj: Any) -> Any:
    """`aiter(obj)`."""
    method = python_method(type(obj), "__aiter__")
    return aiter(obj) if method is None else bind(method, obj)()


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
