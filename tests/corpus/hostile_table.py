"""The table of hostile programs: each made anew for each run, because many keep something between runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Hostile(NamedTuple):
    """A maker of a program, its argument, and its gradient where differences do not tell it."""

    make: Callable[[], Callable[[Any], Any]]
    x: Any
    expected: Any


PROGRAMS: dict[str, Hostile] = {}


def hostile(x: Any, expected: Any = None) -> Callable[[Any], Any]:
    """Enter a maker of programs into the table."""

    def enter(make: Callable[[], Callable[[Any], Any]]) -> Callable[[], Callable[[Any], Any]]:
        assert make.__name__ not in PROGRAMS
        PROGRAMS[make.__name__] = Hostile(make, x, expected)
        return make

    return enter
