"""The table of hostile programs: each made anew for each run, because many keep something between runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from registry import Table


class Hostile(NamedTuple):
    """A maker of a program, its argument, and its gradient where differences do not tell it."""

    make: Callable[[], Callable[[Any], Any]]
    x: Any
    expected: Any


class Hostiles(Table):
    """`@hostile(x)` enters a maker of programs."""

    def __call__(self, x: Any, expected: Any = None) -> Callable[[Any], Any]:
        def add(make: Callable[[], Callable[[Any], Any]]) -> Callable[[], Callable[[Any], Any]]:
            self.enter(make.__name__, Hostile(make, x, expected))
            return make

        return add
