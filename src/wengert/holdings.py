"""`memory`: what a gradient holds while it runs, and which line of the user's code made it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert.gradient import measured_gradients
from wengert.profiling import copied
from wengert.values.callables import callable_name
from wengert.wanted import Argnums, refuse_swallowed


class Held(NamedTuple):
    """What a `line` of the user's made that was held at the peak: bytes of a `kind`, in so many `pieces`."""

    line: tuple[str, int, str] | None
    kind: str
    nbytes: int
    pieces: int


class MemoryUse:
    """What `memory` has found of the gradient of the function that `title` names.

    A moment is a recorded call or a step back, and the reverse pass begins with the moment `turned`. `held` are the
    bytes that were held at the end of each, of what was followed in `holds`, and `total` those that were held or at
    work in it, at the most. `peak` is what Python and NumPy had more than before, in a gradient that was not followed,
    and `lines`, each `Held`, are what that is made of, at the moment `at`.

    >>> found = wg.memory(lambda x: np.sum(np.exp(np.sin(x))), np.ones(1_000_000))
    >>> 16_000_000 < found.peak < 25_000_000
    True
    """

    def __init__(self, title: str, holds: Any, peak: int) -> None:
        self.title, self.peak, self.turned = title, peak, holds.turned
        when, makers, nbytes = holds.log.arrays()
        numbers, work = holds.moments.arrays()
        changes = np.zeros(len(work) + 1, int)
        np.add.at(changes, when, nbytes)
        self.held = np.cumsum(changes)[:-1]
        self.total = np.append(0, self.held[:-1]) + work
        self.at = int(np.argmax(self.total))
        rows = _sums(list(holds.makers), makers[when < self.at], nbytes[when < self.at])
        at_work = Held([*holds.lines][numbers[self.at]], "at work", int(work[self.at]), 1)
        other = Held(None, "other", max(0, peak - int(self.total[self.at])), 1)
        self.lines = tuple(sorted([*rows, at_work, other], key=lambda row: -row.nbytes))

    def __str__(self) -> str:
        from wengert.measuring.tables import as_text

        return as_text(self)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from wengert.measuring.tables import memory_table

        return memory_table(self, options.max_width)

    def show(self) -> None:
        """Print what was held at the peak, line by line, beside the source."""
        from rich.console import Console

        Console().print(self)

    def html(self, path: str | os.PathLike[str]) -> Path:
        """Write it as an HTML page to the file `path`: what is held over time, beside the source; returns the path."""
        from wengert.measuring.sheets import memory_data
        from wengert.pages.page import write
        from wengert.pages.sources import Sources

        return write(path, memory_data(self, Sources()))


def _sums(names: list[Any], makers: np.ndarray, nbytes: np.ndarray) -> Iterator[Held]:
    """What the makers of these names hold after these changes."""
    sums, pieces = (np.bincount(makers, weights, len(names)) for weights in (nbytes, np.sign(nbytes)))
    for name, total, count in zip(names, sums, pieces, strict=True):
        if total:
            yield Held(name.line, name.kind, int(total), int(count))


def memory(f: Callable[..., Any], *args: Any, argnums: Argnums = None, **kwargs: Any) -> MemoryUse:
    """What the gradient of `f(*args, **kwargs)` holds while it runs, and which line made it: a MemoryUse.

    `argnums` says which arguments are differentiated, as in `grad(f, x)`; by default all, and the arrays that f holds.
    What is there before the gradient, as the arguments, counts for nothing.

    >>> def f(x):
    ...     y = np.exp(x)
    ...     return np.sum(y * y)
    >>> found = wg.memory(f, np.ones(1_000_000))
    >>> [(row.nbytes, row.line[1]) for row in found.lines if row.kind == "array"]
    [(8000000, 2)]

    f and its gradient run three times: for what the first one loads and derives; followed; and for the peak, as
    Python's tracemalloc has it. An array counts for the line that made it, from when a recorded call gives or is
    given it, or a step back makes it a cotangent, until it is freed; a view, as the array that it shows. "At work" is
    what one call or step takes for itself while it runs, "recording" what is written down of calls, "other" what was
    not followed: arrays that no recorded call meets, and Python's own objects.
    Errors: those of `grad`.
    """
    from wengert.measuring.holds import Holds, peak_of

    refuse_swallowed(f, kwargs)

    def gradient() -> Callable[..., Any]:
        given, named = copied(args, kwargs)
        return partial(measured_gradients, f, given, named, argnums)

    gradient()()
    holds = Holds().over(gradient())
    return MemoryUse(callable_name(f), holds, peak_of(gradient()))


__all__ = ["Held", "MemoryUse", "memory"]
