"""User containers and defaults that hold objects of the trace while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any


class SwappedContainers:
    """The original contents of containers and defaults, restored when the trace ends."""

    def __init__(self) -> None:
        self._contents: list[
            tuple[Any, Any, Any]
        ] = []  # container, its original content, its content while the trace runs
        self._defaults: list[tuple[FunctionType, Any, Any]] = []

    def put(self, container: Any, items: Any) -> None:
        """Replace the items of a container, under the same keys, until `restore`."""
        self._contents.append((container, container.copy(), items))
        _set_items(container, items)

    def put_defaults(self, f: FunctionType, defaults: tuple[Any, ...]) -> None:
        """Replace the defaults of a function until `restore`."""
        self._defaults.append((f, f.__defaults__, defaults))
        f.__defaults__ = defaults

    def are_changed(self) -> bool:
        """Whether user code has changed one of the containers since `put`."""
        return not all([_is_unchanged(container, swapped) for container, _, swapped in self._contents])

    def restore(self, originals: dict[int, tuple[Any, Any]]) -> Iterator[type]:
        """Restore all, and yield the class of each changed container, in which only traced items are replaced."""
        while self._contents:
            container, original, swapped = self._contents[-1]
            if _is_unchanged(container, swapped):
                _set_items(container, original)
            else:
                yield type(container)
                _restore_items(container, originals)
            self._contents.pop()
        while self._defaults:
            f, original, swapped = self._defaults[-1]
            f.__defaults__ = original if f.__defaults__ is swapped else f.__defaults__
            self._defaults.pop()


def _is_unchanged(container: Any, items: Any) -> bool:
    """Whether a container holds these very items, under the same keys in the same order; a set, equal ones."""
    if type(container) is set:
        return bool(container == items)
    if len(container) != len(items):
        return False
    if type(container) is list:
        return all(a is b for a, b in zip(container, items, strict=True))
    return all(k is j and a is b for (k, a), (j, b) in zip(container.items(), items.items(), strict=True))


def _set_items(container: Any, items: Any) -> None:
    """Replace the items of a list or dictionary, under the same keys."""
    if type(container) is list:
        container[:] = items
    elif type(container) is dict:
        container.update(items)


def _restore_items(container: Any, originals: dict[int, tuple[Any, Any]]) -> None:
    """Replace the traced items of a changed container by their originals."""
    keys = range(len(container)) if type(container) is list else [*container] if type(container) is dict else ()
    for key in keys:
        if id(container[key]) in originals:
            container[key] = originals[id(container[key])][1]
