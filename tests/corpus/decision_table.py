"""The table of programs that decide something by their argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from registry import Table


class Decisions(Table):
    """`@decides(x, other, same)` enters a program recorded at x; at `other` it decides otherwise, at `same` as at x."""

    def __call__(self, x: Any, other: Any, same: Any = None) -> Callable[[Any], Any]:
        def add(f: Any) -> Any:
            self.enter(f.__name__, (f, x, other, same))
            return f

        return add

    def each(self, prefix: str, x: Any, other: Any, same: Any, *programs: Any) -> None:
        """Several of one kind, numbered."""
        for k, f in enumerate(programs):
            f.__name__ = f"{prefix}_{k}"
            self(x, other, same)(f)
