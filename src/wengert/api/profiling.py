"""`profile`: what a gradient takes, by line of the user's code and by primitive; `memory`: what it holds, and why."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert.api.gradient import measured_gradients
from wengert.api.tape_page import shown
from wengert.tape.tape import Tape
from wengert.values.argnums import Argnums, refuse_swallowed
from wengert.values.callables import callable_name
from wengert.values.trees import rebuild


class Spent(NamedTuple):
    """The cost of `what`, a line or a primitive: seconds and bytes, forward and in reverse.

    `plain` are the seconds that the line takes when the function runs by itself. The `bytes` of a call are those that
    it allocated at once, and `calls` and `steps` say how many calls of primitives were recorded, and walked back.
    """

    what: Any
    plain: float = 0.0
    forward: float = 0.0
    reverse: float = 0.0
    forward_bytes: int = 0
    reverse_bytes: int = 0
    calls: int = 0
    steps: int = 0

    @property
    def seconds(self) -> float:
        """Forward and reverse together."""
        return self.forward + self.reverse


class Profile:
    """The result of `profile`: `lines` and `primitives`, each a tuple of `Spent`, the most expensive first.

    `plain` are the seconds of the function that `title` names by itself, `gradient` those of its value and gradient,
    both unwatched; `rest` is what was spent, while watched, in no line. The `rows` are of a stack of lines and a
    primitive each. Printed, it is a table; `show()` prints it with bars, beside the source.

    >>> found = wg.profile(lambda x: np.sum(x * x), np.ones(3))
    >>> [(row.what, row.calls, row.steps) for row in sorted(found.primitives, key=str) if row.calls]
    [('mul', 1, 1), ('np.sum', 1, 1)]
    """

    def __init__(self, title: str, plain: float, gradient: float, rest: float, rows: Iterable[Spent]) -> None:
        from wengert.tools.lines import named

        self.title, self.plain, self.gradient, self.rest = title, plain, gradient, rest
        self.rows = tuple(rows)  # by stack and primitive
        lines = named(row.what[0][-1] for row in self.rows if row.what[0])
        self.lines = _summed(self.rows, lambda what: lines[what[0][-1][:2]] if what[0] else None)
        self.primitives = _summed(self.rows, lambda what: what[1])

    def __str__(self) -> str:
        from wengert.tools.tables import as_text

        return as_text(self)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from wengert.tools.tables import profile_table

        return profile_table(self, options.max_width)

    def show(self) -> None:
        """Print the lines with bars beside the source, then the primitives."""
        from rich.console import Console

        Console().print(self)

    def html(self, path: str | os.PathLike[str], tape: Tape | None = None) -> Path:
        """Write the profile as an HTML page to the file `path`: the source with bars beside it; returns the path.

        With a `tape` of the function, as `gradtape` makes one, the page shows that too, as `show` does.
        """
        from wengert.tools.html_data import profile_data
        from wengert.tools.page import write
        from wengert.tools.sources import Sources

        sources = Sources()
        data = {} if tape is None else shown(tape, sources)
        return write(path, {**data, **profile_data(self, sources)})

    def speedscope(self, path: str | os.PathLike[str]) -> Path:
        """Write the profile to the file `path` as JSON that https://www.speedscope.app opens; returns the path."""
        from wengert.tools.speedscope import speedscope_text

        file = Path(path)
        file.write_text(speedscope_text(self), encoding="utf-8")
        return file


def profile(f: Callable[..., Any], *args: Any, argnums: Argnums = None, **kwargs: Any) -> Profile:
    """Measure the value and gradient of `f(*args, **kwargs)` by line of the user's code and by primitive: a Profile.

    Time, bytes and calls are told apart for the forward pass, in which f runs and is recorded, and the reverse pass. A
    step back counts for the line of its call; what a library computes, for the line that called it. `argnums` says
    which arguments are differentiated, as in `grad(f, x)`; by default all, and the arrays that f itself holds.

    >>> def f(x):
    ...     y = np.exp(x)
    ...     return np.sum(y * y)
    >>> found = wg.profile(f, np.ones(1000))
    >>> sorted(row.what for row in found.primitives if row.calls)
    ['mul', 'np.exp', 'np.sum']
    >>> found.gradient > 0, {row.calls for row in found.lines} >= {1, 2}
    (True, True)

    f runs on copies of its arguments: for its value and for its gradient, each up to five times in three seconds;
    followed line by line; for the gradient with a clock read at each recorded call and each step back; and once more
    with a count of bytes. The time of a call is what passed since the one before, or since its line began: it includes
    what tracing takes, which is the difference of `forward` and `plain` of a line. Reading the clock is left out, and
    following lines is not: it makes short calls seem longer, so compare the sums with `gradient`, which nobody watched.
    Errors: those of `grad`.
    """
    from wengert.tools.meters import Bytes, Seconds
    from wengert.tools.timing import Laps, followed

    refuse_swallowed(f, kwargs)

    def gradient() -> Callable[..., Any]:
        given, named = copied(args, kwargs)
        return partial(measured_gradients, f, given, named, argnums)

    def run() -> Callable[[], Any]:
        given, named = copied(args, kwargs)
        return partial(f, *given, **named)

    took, plain = _quickest(gradient), _quickest(run)
    by_line = followed(run(), Seconds())
    timed, sized = (Laps(meter).over(gradient()) for meter in (Seconds(), Bytes()))
    return Profile(callable_name(f), plain, took, timed.rest, _rows(by_line, timed.spent, sized.spent))


LONG = 3.0  # seconds after which nothing is run again only to be timed


def copied(*given: Any) -> Any:
    """Copy the arrays among a function's arguments, since the function may write into them."""
    return rebuild(given, lambda leaf, _: leaf.copy(order="K") if type(leaf) is np.ndarray else leaf)


def _quickest(make: Callable[[], Callable[[], Any]]) -> float:
    """The seconds of the quickest of five runs, of fewer where they are long: the first gradients learn what to do."""
    times: list[float] = []
    while len(times) < 5 and sum(times) < LONG:
        run = make()
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def _rows(plain: Any, timed: Any, sized: Any) -> Iterator[Spent]:
    """Combine three tables of `Laps` into one `Spent` for each stack and primitive."""
    for stack, primitive in dict.fromkeys((key.stack, key.primitive) for key in (*plain, *timed, *sized)):
        forward, calls = timed.get((stack, primitive, False), (0.0, 0))
        reverse, steps = timed.get((stack, primitive, True), (0.0, 0))
        sizes = [int(sized.get((stack, primitive, back), (0, 0))[0]) for back in (False, True)]
        own = plain.get((stack, primitive, False), (0.0, 0))[0]
        yield Spent((stack, primitive), own, forward, reverse, *sizes, *((calls, steps) if primitive else (0, 0)))


def _summed(rows: Iterable[Spent], what: Callable[[Any], Any]) -> tuple[Spent, ...]:
    """The sums of the rows of which `what` is the same, those that took most first."""
    sums: dict[Any, list[Any]] = {}
    for row in rows:
        amounts = sums.setdefault(what(row.what), [0] * (len(row) - 1))
        amounts[:] = [a + b for a, b in zip(amounts, row[1:], strict=True)]
    return tuple(sorted((Spent(key, *amounts) for key, amounts in sums.items()), key=lambda row: -row.seconds))


__all__ = ["Profile", "Spent", "profile"]
