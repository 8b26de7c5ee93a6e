"""`memory`: what a gradient holds while it runs, and which line of the user's code made it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert.api.gradient import measured_gradients
from wengert.api.profiling import copied
from wengert.values.argnums import Argnums, refuse_swallowed
from wengert.values.callables import callable_name


class Held(NamedTuple):
    """Memory held at the peak that a `line` of the user's allocated: bytes of one `kind`, in `pieces` blocks."""

    line: tuple[str, int, str] | None
    kind: str
    nbytes: int
    pieces: int


class MemoryUse:
    """The memory profile of the gradient of the function that `title` names: a `curve`, a `look` at its peak.

    A moment lies between two points at which the count of bytes is read: a new line of the user's, a recorded call, a
    step back; the reverse pass begins with the moment `turned`. `held` are the bytes that were held at the end of each,
    and `total` those that were held in it at the most. `peak` is the largest of these, and `lines`, each `Held`, are
    what it is made of: together as many bytes.

    >>> found = wg.memory(lambda x: np.sum(np.exp(np.sin(x))), np.ones(1_000_000))
    >>> 16_000_000 < found.peak < 25_000_000
    True
    """

    def __init__(self, title: str, curve: Any, look: Any) -> None:
        from wengert.tools.lines import named

        self.title, self.turned, self.at = title, curve.turned, look.at
        self.total, self.held = np.array(curve.total), np.array(curve.held)
        lines: dict[Any, Any] = {None: None, **named(filter(None, curve.known))}
        rows = [
            Held(place and lines.get(place, (*place, "")), kind, *amounts)
            for (place, kind), amounts in look.rows().items()
            if place or kind != "object"
        ]
        place = [*curve.known][curve.at_work[self.at]]
        work = int(self.total[self.at]) - int(self.held[self.at - 1] if self.at else 0)
        rows.append(Held(place and lines[place[:2]], "at work", work, 1))
        told = sum(row.nbytes for row in rows)
        self.peak = max(told, int(self.total[self.at]))
        rows.append(Held(None, "other", self.peak - told, 1))
        self.lines = tuple(sorted(rows, key=lambda row: -row.nbytes))

    def __str__(self) -> str:
        from wengert.tools.tables import as_text

        return as_text(self)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from wengert.tools.tables import memory_table

        return memory_table(self, options.max_width)

    def show(self) -> None:
        """Print what was held at the peak, line by line, beside the source."""
        from rich.console import Console

        Console().print(self)

    def html(self, path: str | os.PathLike[str]) -> Path:
        """Write it as an HTML page to the file `path`: what is held over time, beside the source; returns the path."""
        from wengert.tools.html_data import memory_data
        from wengert.tools.page import write
        from wengert.tools.sources import Sources

        return write(path, memory_data(self, Sources()))


def memory(f: Callable[..., Any], *args: Any, argnums: Argnums = None, **kwargs: Any) -> MemoryUse:
    """Measure the memory that the gradient of `f(*args, **kwargs)` holds, by line that allocated it: a MemoryUse.

    `argnums` says which arguments are differentiated, as in `grad(f, x)`; by default all, and the arrays that f holds.
    What is there before the gradient, as the arguments, counts for nothing.

    >>> def f(x):
    ...     y = np.exp(x)
    ...     return np.sum(y * y)
    >>> found = wg.memory(f, np.ones(1_000_000))
    >>> [(row.nbytes, row.line[1]) for row in found.lines if row.kind == "array"]
    [(8000000, 2)]

    f and its gradient run three times, on copies of the arguments: for what the first one loads and derives, to find
    when the peak is, and to look what is held there. Each block of memory counts for the innermost line of the user's
    that was at work when it was allocated, with what libraries allocate for it; a cotangent, for the line that made
    what it is the cotangent of. "At work" is what one line, call or step allocates for itself, "recording" what is
    written down of calls, "object" other Python objects, "other" what no line made.
    Errors: those of `grad`.
    """
    from wengert.tools.allocations import DEEP, Curve, Holds, Look, tracing

    refuse_swallowed(f, kwargs)

    def gradient() -> Callable[..., Any]:
        given, named = copied(args, kwargs)
        return partial(measured_gradients, f, given, named, argnums)

    first, second, third = gradient(), gradient(), gradient()
    Holds().over(first)
    with tracing(1):
        curve = Curve()
        curve.over(second)
    with tracing(DEEP) as stop:
        look = Look(int(np.argmax(curve.total)), stop)
        look.over(third)
    return MemoryUse(callable_name(f), curve, look)


__all__ = ["Held", "MemoryUse", "memory"]
