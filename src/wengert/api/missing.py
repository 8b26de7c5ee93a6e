"""`missing`: all calls of a function that have no rule, found in one run and before any derivative."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import WengertError
from wengert.hooks.tracer import enter_arguments, level, run
from wengert.recording.recording import Survey
from wengert.recording.session import SESSION
from wengert.values.argnums import Argnums, places_of, refuse_swallowed
from wengert.values.callables import callable_name, stub
from wengert.values.sites import Site


class MissingCall(NamedTuple):
    """A call of `f`, at the user's line `site`, that a derivative is refused for; `why` says it in words.

    It was made so many `times`; `stub` is a rule to paste and fill in.

    >>> import json
    >>> call = wg.missing(lambda x: float(json.dumps(x)) + x, 2.0)[0]
    >>> call.f is json.dumps, call.times
    (True, 1)
    """

    f: Any
    site: Site | None
    why: str
    times: int

    @property
    def stub(self) -> str:
        """The text of a rule for `f`, to paste and fill in."""
        return stub(self.f)

    def __str__(self) -> str:
        often = f", {self.times} times" if self.times > 1 else ""
        return f"{callable_name(self.f)} at {self.site}{often}: {self.why}"


class Missing(tuple[MissingCall, ...]):
    """The calls without a rule that `missing` found, in the order in which they were made.

    `constant` are calls of what is declared to have no derivative and gives floats: none passes through them.
    `stopped` is the error at which the run ended, None where it went to the end. Printed, a report; `show()` prints a
    table with a rule to paste for each.

    >>> found = wg.missing(lambda x: np.floor(x) * x, 2.5)
    >>> len(found), [call.f for call in found.constant], found.stopped
    (0, [<ufunc 'floor'>], None)
    """

    constant: tuple[MissingCall, ...] = ()
    stopped: WengertError | None = None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{len(self) or 'no'} call{'s' * (len(self) != 1)} without a rule" + ":" * bool(self)
        yield from (f"  {call}" for call in self)
        if self.constant:
            yield "through these no derivative passes:"
            yield from (f"  {call}" for call in self.constant)
        if self.stopped is not None:
            yield "the run could not go on, and what comes after this line is not known:"
            yield f"  {str(self.stopped).splitlines()[0]}"

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.syntax import Syntax
        from rich.table import Column, Table

        table = Table("call", Column("line", overflow="fold"), "times", "why")
        for call in (*self, *self.constant):
            table.add_row(callable_name(call.f), str(call.site), str(call.times), call.why)
        stubs = [Syntax(f"{text}\n", "python", background_color="default") for text in {c.stub: c for c in self}]
        return Group(table, *([] if self.stopped is None else list(self._lines())[-2:]), *stubs)

    def show(self) -> None:
        """Print the calls as a table, then a rule to paste for each function."""
        from rich.console import Console

        Console().print(self)


def missing(f: Callable[..., Any], *args: Any, argnums: Argnums = None, **kwargs: Any) -> Missing:
    """All calls in `f(*args, **kwargs)` that have no rule, for each of which a derivative would be refused.

    f runs once, to its end where that can be: such a call is run as it is, and what it gives counts as constant, so
    that the next one is found, too. `argnums` says which arguments are to be differentiated, as in `grad(f, x)`; by
    default all, and the arrays that f itself holds. No derivative is computed, and nothing is left behind.

    >>> import json
    >>> def f(x):
    ...     y = json.loads(json.dumps(x))
    ...     return x * y
    >>> print(wg.missing(f, 2.0))
    1 call without a rule:
      json.dumps at ... in f: a traced value reaches it

    Errors: what f raises. A refusal of another kind ends the run: the report says where, as `stopped`.
    """
    refuse_swallowed(f, kwargs)
    try:
        return _surveyed(f, args, kwargs, argnums)
    finally:
        SESSION.tidy()


def _surveyed(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Argnums) -> Missing:
    wanted = (*range(len(args)), *kwargs) if argnums is None else places_of(f, args, kwargs, argnums)[0]
    stopped = None
    with level(False) as (recording, here):
        before, recording.survey = recording.survey, Survey([], [])
        survey = recording.survey
        try:
            swaps, g, entered, named = enter_arguments(recording, here, f, args, kwargs, wanted, argnums is None)
            try:
                run(g, entered, named, recording)
            finally:
                swaps.restore()
        except WengertError as error:
            stopped = error
        finally:
            recording.survey = before
    found = Missing(_counted(survey.refused))
    found.constant, found.stopped = tuple(_counted(survey.cut)), stopped
    return found


def _counted(calls: Iterable[tuple[Any, Site | None, str]]) -> Iterator[MissingCall]:
    """One of the calls of a function at a line, each with how many there were."""
    same: dict[Any, list[Any]] = {}
    for f, site, why in calls:
        if f not in _SHAPED:
            line = None if site is None else site._replace(function=site.function.partition(" (by way of ")[0])
            same.setdefault((callable_name(f), line, why), []).append(f)
    return (MissingCall(held[0], site, why, len(held)) for (_, site, why), held in same.items())


_SHAPED = (np.empty_like, np.zeros_like, np.ones_like, np.full_like)  # they read no number of what they are like


__all__ = ["Missing", "MissingCall", "missing"]
