"""Class patterns of `match`: their attributes are read as any others, so that properties are entered."""

from __future__ import annotations

from typing import Any

from wengert.hooks.attributes import get_attribute
from wengert.values.sites import Site

_ITSELF = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)  # `case float(x)` binds x to it


def match_class(cls: Any, names: tuple[str, ...], subject: Any, count: int, site: Site) -> tuple[Any, ...] | None:
    """What `case cls(p1, .., name=..)` binds, or None where it does not match; `count` patterns are positional.

    Errors: TypeError, as the interpreter raises it. Source: PEP 634, class patterns.
    """
    if not isinstance(cls, type):
        raise TypeError("called match pattern must be a class")
    if not isinstance(subject, cls):
        return None
    found: list[Any] = []
    if count:
        places = getattr(cls, "__match_args__", None)
        if places is None and issubclass(cls, _ITSELF):
            _check_count(cls, count, 1)
            found.append(subject)
        else:
            places = () if places is None else places
            if type(places) is not tuple:
                raise TypeError(f"{cls.__name__}.__match_args__ must be a tuple (got {type(places).__name__})")
            _check_count(cls, count, len(places))
            names = places[:count] + _distinct(cls, places[:count], names)
    for name in names:
        if type(name) is not str:
            raise TypeError(f"__match_args__ elements must be strings (got {type(name).__name__})")
        try:
            found.append(get_attribute(subject, name, site))
        except AttributeError:
            return None
    return tuple(found)


def _check_count(cls: type, count: int, allowed: int) -> None:
    if count > allowed:
        plural = "" if allowed == 1 else "s"
        raise TypeError(f"{cls.__name__}() accepts {allowed} positional sub-pattern{plural} ({count} given)")


def _distinct(cls: type, places: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    for name in (*places[1:], *names):
        if (*places, *names).count(name) > 1:
            raise TypeError(f"{cls.__name__}() got multiple sub-patterns for attribute {name!r}")
    return names
