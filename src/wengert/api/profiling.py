"""`profile`: the time and bytes of a gradient, by line of the user's code and by primitive."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wengert.api.gradient import measured_gradients
from wengert.api.tape_page import page_data
from wengert.tape.tape import Tape
from wengert.values.argnums import Argnums, refuse_swallowed
from wengert.values.callables import callable_name
from wengert.values.trees import rebuild


class Spent(NamedTuple):
    """The cost of `what`, a line or a primitive: seconds and bytes, forward and in reverse.

    `plain` are the seconds that the line takes when the function runs without a derivative. The bytes of a call are the
    most that it had allocated at one time. `calls` and `steps` count the calls of primitives recorded, and walked back.
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
        """Return the seconds of forward and reverse pass together."""
        return self.forward + self.reverse


class Report:
    """A measurement that prints as tables."""

    def _tables(self, width: int) -> Iterator[Any]:
        raise NotImplementedError

    def __str__(self) -> str:
        from wengert.tools.tables import as_text

        return as_text(self)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        return self._tables(options.max_width)

    def _repr_html_(self) -> str:
        """Return the tables for a notebook."""
        from wengert.tools.html_tables import as_html
        from wengert.tools.tables import WIDEST

        return as_html(self._tables(WIDEST))

    def show(self) -> None:
        """Print the tables, with bars beside the source."""
        from rich.console import Console

        Console().print(self)


class Profile(Report):
    """The result of `profile`: `lines` and `primitives`, each a tuple of `Spent`, the most expensive first.

    `show()` prints the lines with bars beside the source, then the primitives.

    Parameters:
        title (str): The name of the function.
        plain (float): The seconds of the function alone, measured without the profiler.
        gradient (float): The seconds of its value and gradient, measured without the profiler.
        rest (float): The seconds that the profiler saw in no line.
        rows (Iterable[Spent]): The measurements; each belongs to a stack of lines and a primitive.
    See Also:
        profile

    Examples:
        >>> found = wg.profile(lambda x: np.sum(x * x), np.ones(3))
        >>> [(row.what, row.calls, row.steps) for row in sorted(found.primitives, key=str) if row.calls]
        [('mul', 1, 1), ('np.sum', 1, 1)]
    """

    def __init__(self, title: str, plain: float, gradient: float, rest: float, rows: Iterable[Spent]) -> None:
        from wengert.tools.lines import lines_by_number

        self.title, self.plain, self.gradient, self.rest = title, plain, gradient, rest
        self.rows = tuple(rows)  # by stack and primitive
        lines = lines_by_number(row.what[0][-1] for row in self.rows if row.what[0])
        self.lines = _sum_by(self.rows, lambda what: lines[what[0][-1][:2]] if what[0] else None)
        self.primitives = _sum_by(self.rows, lambda what: what[1])

    def _tables(self, width: int) -> Iterator[Any]:
        from wengert.tools.tables import profile_table

        return profile_table(self, width)

    def html(self, path: str | os.PathLike[str], tape: Tape | None = None) -> Path:
        """Write the profile as an HTML page to the file `path`, with bars beside the source; return the path.

        If you pass a `tape` of the function, made by `gradtape`, the page shows that too, as `show` does.
        """
        from wengert.tools.html_data import profile_data
        from wengert.tools.page import write_page
        from wengert.tools.sources import Sources

        sources = Sources()
        data = {} if tape is None else page_data(tape, sources)
        return write_page(path, {**data, **profile_data(self, sources)})

    def speedscope(self, path: str | os.PathLike[str]) -> Path:
        """Write the profile to the file `path` as JSON for https://www.speedscope.app; return the path."""
        from wengert.tools.speedscope import speedscope_text

        file = Path(path)
        file.write_text(speedscope_text(self), encoding="utf-8")
        return file


def profile(f: Callable[..., Any], *args: Any, argnums: Argnums = None, **kwargs: Any) -> Profile:
    """Measure the value and gradient of `f(*args, **kwargs)` by line of your code and by primitive; return a Profile.

    Time, bytes and calls are listed separately for the forward pass, in which f runs and is recorded, and the reverse
    pass. A step back counts for the line of its call, a library's work for the line that called it.

    f runs on copies of its arguments: for its value and for its gradient, each up to five times in three seconds; once
    line by line; once for the gradient with a clock read at each recorded call and each step back; and once more with a
    count of bytes. The time of a call runs from the call before, or from the start of its line. It includes tracing,
    which is the difference of `forward` and `plain` of a line. The time to read the clock is left out; the time to
    follow lines is not, and makes short calls seem longer: compare the sums with `gradient`, measured without it.

    Parameters:
        f (callable): The function; it returns one number.
        *args (Any): Its positional arguments.
        argnums (int | str | tuple | None): The arguments to differentiate, as in `grad(f, x)`; by default all, and the
            arrays that f itself holds.
        **kwargs (Any): Its keyword arguments.
    Returns:
        Profile: The times by line and by primitive; `show()` prints them.
    Raises:
        WengertError: The errors of `grad`.
    See Also:
        memory, compile, Profile

    Examples:
        >>> def f(x):
        ...     y = np.exp(x)
        ...     return np.sum(y * y)
        >>> found = wg.profile(f, np.ones(1000))
        >>> sorted(row.what for row in found.primitives if row.calls)
        ['mul', 'np.exp', 'np.sum']
        >>> found.gradient > 0, {row.calls for row in found.lines} >= {1, 2}
        (True, True)
    """
    from wengert.tools.meters import Bytes, Seconds
    from wengert.tools.timing import TimedEntries, time_by_line

    refuse_swallowed(f, kwargs)

    def gradient() -> Callable[..., Any]:
        return gradient_of_copies(f, args, kwargs, argnums)

    def run() -> Callable[[], Any]:
        own_args, own_kwargs = copy_arguments(args, kwargs)
        return partial(f, *own_args, **own_kwargs)

    took, plain = _fastest_time(gradient), _fastest_time(run)
    by_line = time_by_line(run(), Seconds())
    timed, sized = (TimedEntries(meter).over(gradient()) for meter in (Seconds(), Bytes()))
    return Profile(callable_name(f), plain, took, timed.rest, _combine_laps(by_line, timed.spent, sized.spent))


LONGEST_TIMING = 3.0  # seconds after which no run is repeated only to be timed


def gradient_of_copies(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Argnums) -> Callable[..., Any]:
    """Return a function that computes the gradients once, on copies of the arguments; it takes `begin`."""
    own_args, own_kwargs = copy_arguments(args, kwargs)
    return partial(measured_gradients, f, own_args, own_kwargs, argnums)


def copy_arguments(*arguments: Any) -> Any:
    """Copy the arrays among a function's arguments, since the function may write into them."""
    return rebuild(arguments, lambda leaf, _: leaf.copy(order="K") if type(leaf) is np.ndarray else leaf)


def _fastest_time(make: Callable[[], Callable[[], Any]]) -> float:
    """Return the seconds of the fastest of five runs, of fewer if they are long: the first ones fill caches."""
    times: list[float] = []
    while len(times) < 5 and sum(times) < LONGEST_TIMING:
        run = make()
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def _combine_laps(plain: Any, timed: Any, sized: Any) -> Iterator[Spent]:
    """Combine three tables of `TimedEntries` into one `Spent` for each stack and primitive."""
    for stack, primitive in dict.fromkeys((key.stack, key.primitive) for key in (*plain, *timed, *sized)):
        forward, calls = timed.get((stack, primitive, False), (0.0, 0))
        reverse, steps = timed.get((stack, primitive, True), (0.0, 0))
        sizes = [int(sized.get((stack, primitive, back), (0, 0))[0]) for back in (False, True)]
        own = plain.get((stack, primitive, False), (0.0, 0))[0]
        yield Spent((stack, primitive), own, forward, reverse, *sizes, *((calls, steps) if primitive else (0, 0)))


def _sum_by(rows: Iterable[Spent], what: Callable[[Any], Any]) -> tuple[Spent, ...]:
    """Sum the rows that have the same `what`; sort by seconds, the largest first."""
    sums: dict[Any, list[Any]] = {}
    for row in rows:
        amounts = sums.setdefault(what(row.what), [0] * (len(row) - 1))
        amounts[:] = [a + b for a, b in zip(amounts, row[1:], strict=True)]
    return tuple(sorted((Spent(key, *amounts) for key, amounts in sums.items()), key=lambda row: -row.seconds))


__all__ = ["Profile", "Spent", "profile"]
