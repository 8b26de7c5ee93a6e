"""The user's containers and defaults, in which objects of a trace stand as long as it lasts."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any


class SwappedContainers:
    """The original contents of containers and defaults, to be put back."""

    def __init__(self) -> None:
        self._held: list[tuple[Any, Any, Any]] = []  # containers, what is in them by rights, and while the trace lasts
        self._defaults: list[tuple[FunctionType, Any, Any]] = []

    def put(self, container: Any, items: Any) -> None:
        """Have a container hold these items, under the same keys, until `restore`."""
        self._held.append((container, container.copy(), items))
        _fill(container, items)

    def put_defaults(self, f: FunctionType, defaults: tuple[Any, ...]) -> None:
        """Have a function take these defaults until `restore`."""
        self._defaults.append((f, f.__defaults__, defaults))
        f.__defaults__ = defaults

    def are_changed(self) -> bool:
        """Whether a container does not hold what it holds while the trace lasts."""
        return not all([_is_as(container, made) for container, _, made in self._held])

    def restore(self, originals: dict[int, tuple[Any, Any]]) -> Iterator[type]:
        """Put all back; gives the classes of containers that were changed, in which `originals` are put back alone."""
        while self._held:
            container, own, made = self._held[-1]
            if _is_as(container, made):
                _fill(container, own)
            else:
                yield type(container)
                _put_back(container, originals)
            self._held.pop()
        while self._defaults:
            f, own, made = self._defaults[-1]
            f.__defaults__ = own if f.__defaults__ is made else f.__defaults__
            self._defaults.pop()


def _is_as(container: Any, items: Any) -> bool:
    if type(container) is set:
        return bool(container == items)
    if len(container) != len(items):
        return False
    if type(container) is list:
        return all(a is b for a, b in zip(container, items, strict=True))
    return all(k is j and a is b for (k, a), (j, b) in zip(container.items(), items.items(), strict=True))


def _fill(container: Any, items: Any) -> None:
    """Have a list or dictionary hold these items, under the same keys."""
    if type(container) is list:
        container[:] = items
    elif type(container) is dict:
        container.update(items)


def _put_back(container: Any, originals: dict[int, tuple[Any, Any]]) -> None:
    keys = range(len(container)) if type(container) is list else [*container] if type(container) is dict else ()
    for key in keys:
        if id(container[key]) in originals:
            container[key] = originals[id(container[key])][1]
