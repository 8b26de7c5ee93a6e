"""Attributes that are computed, or imported, when first read."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class computed_once(Generic[T]):
    """A replacement of `functools.cached_property`, whose code a trace would instrument."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, cls: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, obj: None, cls: type) -> computed_once[T]: ...
    @overload
    def __get__(self, obj: object, cls: type) -> T: ...
    def __get__(self, obj: Any, cls: type) -> Any:
        if obj is None:
            return self
        made = obj.__dict__[self.name] = self.compute(obj)
        return made


class derived_together(Generic[T]):
    """An attribute that the method `derive` of its class sets, with others, when the first of them is read."""

    def __set_name__(self, cls: type, name: str) -> None:
        self.name = name

    def __get__(self, obj: Any, cls: type) -> T:
        obj.derive()
        found: T = obj.__dict__[self.name]
        return found


def made_when_read(make: Callable[[], T]) -> computed_once[T]:
    """Return an attribute of a class with a `__dict__`: an empty part, `make()`, made when it is first read.

    A `__getattr__` would make each read of each attribute of the class take five times as long.
    """
    return computed_once(lambda _: make())


def imported_when_read(module: str, name: str) -> Any:
    """Return an attribute of a class: a function of a module further up, imported when the attribute is first read."""
    return _ImportedWhenRead(module, name)


class _ImportedWhenRead:
    def __init__(self, module: str, name: str) -> None:
        self.module, self.function = module, name

    def __set_name__(self, cls: type, name: str) -> None:
        self.cls, self.name = cls, name

    def __get__(self, obj: Any, cls: type) -> Any:
        function = getattr(import_module(self.module), self.function)
        setattr(self.cls, self.name, function)
        return function.__get__(obj, cls)
