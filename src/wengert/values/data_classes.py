"""The classes of libraries whose objects may be read untraced, such as pandas' tables, and what their objects hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from wengert.values.named_tuples import NamedTuple
from wengert.values.names import lookup


class Reads(NamedTuple):
    """The reads of the objects of a class."""

    parts: Callable[[Any], Iterable[Any]]
    """`parts(obj)` returns all that a read of `obj` can see."""
    names: dict[str, Any]
    """Map the name of each method and property that only reads to what the class had there when it was declared."""
    column: Callable[[Any], tuple[Any, Any] | None] | None = None
    """`column(obj)` returns the array on which operators compute, element by element, and its labels; else None."""


READS: dict[type, Reads] = {}


def declare_reads(
    cls: type,
    parts: Callable[[Any], Iterable[Any]],
    names: Iterable[str],
    column: Callable[[Any], tuple[Any, Any] | None] | None = None,
) -> None:
    """Declare the reads of the objects of this very class."""
    READS[cls] = Reads(parts, {name: lookup(cls, name) for name in names if hasattr(cls, name)}, column)
