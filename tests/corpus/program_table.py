"""The table of programs: what each computes must not depend on being traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from registry import Table


class Program(NamedTuple):
    """A function with arguments, and its gradient where a closed form is known."""

    name: str
    f: Callable[..., Any]
    args: tuple[Any, ...]
    closed: tuple[Any, ...] | None = None


class Programs(Table):
    """`@program(args)` enters a function with arguments to call it with."""

    def __call__(self, *args: Any, closed: tuple[Any, ...] | None = None) -> Callable[[Any], Any]:
        def add(f: Any) -> Any:
            self.enter(f.__name__, Program(f.__name__, f, args, closed))
            return f

        return add


W = np.array([0.5, -1.25, 2.0])
V = np.array([0.7, 1.3, 0.4])
A = np.array([[1.0, 0.5, -0.25], [0.125, 2.0, 0.75]])
SCALE = 1.5
LOG: list[Any] = []
"""What programs print or note: a side effect, to be seen once."""
