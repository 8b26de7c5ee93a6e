"""`find_missing_rules`: all calls of a function that have no rule, found in one run, before any derivative."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.errors import WengertError
from wengert.hooks.tracer import enter_arguments, open_level, run
from wengert.recording.recording import Survey
from wengert.recording.session import tidying
from wengert.values.argnums import Argnums, places_of, refuse_swallowed
from wengert.values.callables import callable_name, stub
from wengert.values.sites import Site


class MissingCall(NamedTuple):
    """A call of `f`, at your line `site`, that a derivative would be refused for; `why` is the reason.

    `times` counts the calls; `name` is how your line spells `f`; `stub` is a rule to paste and fill in.

    >>> import json
    >>> call = wg.find_missing_rules(lambda x: float(json.dumps(x)) + x, 2.0)[0]
    >>> call.f is json.dumps, call.times
    (True, 1)
    """

    f: Any
    site: Site | None
    why: str
    times: int
    name: str
    stub: str

    def __str__(self) -> str:
        often = f", {self.times} times" if self.times > 1 else ""
        return f"{self.name} at {self.site}{often}: {self.why}"


class MissingRules(tuple[MissingCall, ...]):
    """The calls without a rule that `find_missing_rules` found, in the order in which they were made.

    `constant` are calls of functions that are declared non-differentiable and return floats: no derivative passes
    through them. `stopped` is the error that ended the run, None if it reached the end. `show()` prints a table, with a
    rule to paste for each function.

    >>> found = wg.find_missing_rules(lambda x: np.floor(x) * x, 2.5)
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
            yield "no derivative passes through these calls:"
            yield from (f"  {call}" for call in self.constant)
        if self.stopped is not None:
            yield "the run stopped at this error, so later calls are unknown:"
            yield f"  {str(self.stopped).splitlines()[0]}"

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.syntax import Syntax
        from rich.table import Column, Table

        table = Table("call", Column("line", overflow="fold"), "times", "why")
        for call in (*self, *self.constant):
            table.add_row(call.name, str(call.site), str(call.times), call.why)
        stubs = [Syntax(f"{text}\n", "python", background_color="default") for text in {c.stub: c for c in self}]
        return Group(table, *([] if self.stopped is None else list(self._lines())[-2:]), *stubs)

    def _repr_html_(self) -> str:
        """Return the table and the rules for a notebook."""
        from wengert.tools.html_tables import as_html

        found_any = self or self.constant or self.stopped is not None
        return as_html([next(self._lines()), *([self.__rich__()] if found_any else [])])

    def show(self) -> None:
        """Print the calls as a table, then a rule to paste for each function."""
        from rich.console import Console

        Console().print(self)


def find_missing_rules(f: Callable[..., Any], *args: Any, argnums: Argnums = None, **kwargs: Any) -> MissingRules:
    """Find all calls in `f(*args, **kwargs)` that have no rule, for which a derivative would be refused.

    f runs once, to its end if possible: a call without a rule runs untraced, and its result counts as a constant, so
    that the next one is found too. No derivative is computed. A call that raises an error for another reason ends the
    run; it is in the report, as `stopped`.

    Parameters:
        f (callable): The function.
        *args (Any): Its positional arguments.
        argnums (int | str | tuple | None): The arguments to differentiate, as in `grad(f, x)`; by default all, and the
            arrays that f itself holds.
        **kwargs (Any): Its keyword arguments.
    Returns:
        MissingRules: The calls, each with its lines; print it to see them and a rule to complete for each.
    Raises:
        Exception: The errors of f.
    See Also:
        explain_call, rrule, custom_derivative

    Examples:
        >>> import json
        >>> def f(x):
        ...     y = json.loads(json.dumps(x))
        ...     return x * y
        >>> print(wg.find_missing_rules(f, 2.0))
        1 call without a rule:
          json.dumps at ... in f: a traced value reaches it
    """
    refuse_swallowed(f, kwargs)
    return _survey(f, args, kwargs, argnums)


@tidying
def _survey(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], argnums: Argnums) -> MissingRules:
    wanted = (*range(len(args)), *kwargs) if argnums is None else places_of(f, args, kwargs, argnums)[0]
    stopped = None
    with open_level() as (recording, here):
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
    found = MissingRules(_count_by_line(survey.refused))
    cut = [(f, site, why, callable_name(f), stub(f)) for f, site, why in survey.cut]
    found.constant, found.stopped = tuple(_count_by_line(cut)), stopped
    return found


def _count_by_line(calls: Iterable[tuple[Any, Site | None, str, str, str]]) -> Iterator[MissingCall]:
    """Yield one MissingCall for each function, line and reason, with the number of such calls."""
    groups: dict[Any, list[Any]] = {}
    for f, site, why, name, rule in calls:
        if f not in _SHAPE_READERS:
            line = None if site is None else site._replace(function=site.function.partition(" (by way of ")[0])
            groups.setdefault((name, line, why), []).append((f, rule))
    return (MissingCall(of[0][0], site, why, len(of), name, of[0][1]) for (name, site, why), of in groups.items())


_SHAPE_READERS = (np.empty_like, np.zeros_like, np.ones_like, np.full_like)  # they read the shape and dtype alone


__all__ = ["MissingCall", "MissingRules", "find_missing_rules"]
