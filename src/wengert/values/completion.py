"""The names that `dir` and the Tab key offer for public objects: attributes that only wengert uses are left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

C = TypeVar("C", bound=type)

_INTERNAL: dict[type, frozenset[str]] = {}


def hides(*names: str) -> Callable[[C], C]:
    """Leave these attributes of the decorated class out of `dir`, which completion asks."""

    def decorated(cls: C) -> C:
        _INTERNAL[cls] = frozenset(names)
        cls.__dir__ = _public_names  # type: ignore[assignment]
        return cls

    return decorated


def _public_names(self: object) -> list[str]:
    """Return the attributes of an object but for the internal ones of its classes."""
    internal = frozenset[str]().union(*(_INTERNAL.get(cls, ()) for cls in type(self).__mro__))
    return [name for name in object.__dir__(self) if name not in internal]


__all__ = ["hides"]
