"""`memory`: the memory that a gradient holds while it runs, by the line of the user's code that allocated it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert.api.profiling import Report, gradient_of_copies
from wengert.rulebook.registry import rules
from wengert.values.argnums import Argnums, refuse_swallowed
from wengert.values.callables import callable_name


class HeldMemory(NamedTuple):
    """Memory held at the peak that one `line` of the user allocated: bytes of one `kind`, in `pieces` blocks."""

    line: tuple[str, int, str] | None
    kind: str
    nbytes: int
    pieces: int


class MemoryUse(Report):
    """The result of `memory` for the function named `title`, from a `curve` over time and a `look` at its peak.

    Bytes are counted at each new line of yours, each recorded call and each step back. A moment lies between two such
    counts; the reverse pass begins with the moment `turned`. `held` are the bytes at the end of each moment, `total`
    the most bytes within it. `peak` is the largest of these, and `lines`, a tuple of `HeldMemory`, are its parts.
    `show()` prints them beside the source.

    Parameters:
        title (str): The name of the function.
        curve (Any): The bytes over time.
        look (Any): The memory held at the peak.
    See Also:
        memory

    Examples:
        >>> found = wg.memory(lambda x: np.sum(np.exp(np.sin(x))), np.ones(1_000_000))
        >>> 16_000_000 < found.peak < 25_000_000
        True
    """

    def __init__(self, title: str, curve: Any, look: Any) -> None:
        from wengert.tools.lines import lines_by_number

        self.title, self.turned, self.at = title, curve.turned, look.at
        self.total, self.held = np.array(curve.total), np.array(curve.held)
        lines: dict[Any, Any] = {None: None, **lines_by_number(filter(None, curve.line_numbers))}
        rows = [
            HeldMemory(place and lines.get(place, (*place, "")), kind, *amounts)
            for (place, kind), amounts in look.rows().items()
            if place or kind != "object"
        ]
        place = [*curve.line_numbers][curve.at_work[self.at]]
        work = int(self.total[self.at]) - int(self.held[self.at - 1] if self.at else 0)
        rows.append(HeldMemory(place and lines[place[:2]], "at work", work, 1))
        attributed = sum(row.nbytes for row in rows)
        self.peak = max(attributed, int(self.total[self.at]))
        rows.append(HeldMemory(None, "other", self.peak - attributed, 1))
        self.lines = tuple(sorted(rows, key=lambda row: -row.nbytes))

    def _tables(self, width: int) -> Iterator[Any]:
        from wengert.tools.tables import memory_table

        return memory_table(self)

    def html(self, path: str | os.PathLike[str]) -> Path:
        """Write it as an HTML page to the file `path`: a curve over time, and the source; return the path."""
        from wengert.tools.html_data import memory_data
        from wengert.tools.page import write_page
        from wengert.tools.sources import Sources

        return write_page(path, memory_data(self, Sources()))


def memory(f: Callable[..., Any], *args: Any, argnums: Argnums = None, **kwargs: Any) -> MemoryUse:
    """Measure the memory that the gradient of `f(*args, **kwargs)` holds, by allocating line; return a MemoryUse.

    Memory from before the gradient, such as the arguments, does not count.

    f and its gradient run three times, on copies of the arguments: first to load modules and fill caches, then to find
    the moment of the peak, then to look at the memory held there. Each block counts for the innermost of your lines
    that was running when it was allocated, also inside a library; a cotangent counts for the line that made its primal.
    "At work" is memory that one line, call or step allocates for itself, "recording" the records of calls, "object"
    other Python objects, "other" memory of no line.

    Parameters:
        f (callable): The function; it returns one number.
        *args (Any): Its positional arguments.
        argnums (int | str | tuple | None): The arguments to differentiate, as in `grad(f, x)`; by default all, and the
            arrays that f holds.
        **kwargs (Any): Its keyword arguments.
    Returns:
        MemoryUse: The memory at the peak, by line; `show()` prints it.
    Raises:
        WengertError: The errors of `grad`.
    See Also:
        profile, checkpoint, MemoryUse

    Examples:
        >>> def f(x):
        ...     y = np.exp(x)
        ...     return np.sum(y * y)
        >>> found = wg.memory(f, np.ones(1_000_000))
        >>> [(row.nbytes, row.line[1]) for row in found.lines if row.kind == "array"]
        [(8000000, 2)]
    """
    from wengert.tools.allocations import FRAMES_KEPT, FollowedEntries, MemoryCurve, PeakLook, tracing

    refuse_swallowed(f, kwargs)

    first, second, third = [gradient_of_copies(f, args, kwargs, argnums) for _ in range(3)]
    FollowedEntries().over(first)
    rules.load()  # those of libraries that the first run has imported
    with tracing(1):
        curve = MemoryCurve()
        curve.over(second)
    with tracing(FRAMES_KEPT) as stop:
        look = PeakLook(int(np.argmax(curve.total)), stop)
        look.over(third)
    return MemoryUse(callable_name(f), curve, look)


__all__ = ["HeldMemory", "MemoryUse", "memory"]
