"""How much of the tests a run takes: four tiers by recorded times, and large tables as batteries.

A tier gives each test function so many seconds (`CAPS`), by the times in `durations.json`. A parametrized function that
takes longer runs a sample of its cases, which covers its table; any other one is left to `--all`. A function of many
cases is a battery: few items, each of which runs its cases in turn and shows all that fail.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

CAPS = {"fast": 0.04, "brief": 0.15, "default": 0.8, "all": math.inf}
"""Seconds that a test function may take in each tier."""
LONGEST = {"fast": 0.04, "brief": 0.4, "default": 2.0, "all": math.inf}
"""Seconds that one case may take in each tier."""
MANY = 20
"""Cases from which on a function is a battery."""
PART = 2.0
"""Seconds that an item of a battery takes, about."""
TESTS = Path(__file__).parents[1]
TIMES = TESTS / "durations.json"
_Parameters = type(pytest.param())


class Case(NamedTuple):
    """Arguments that a test function is called with."""

    id: str
    params: dict[str, Any]
    marks: tuple[Any, ...]


def cases_of(function: Any) -> list[Case] | None:
    """The cases of a test function, under the ids that pytest gives them; None if only pytest can tell."""
    if hasattr(function, "cases"):
        return list(function.cases)  # which has the marks of a sample by now
    marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
    if not marks or any([mark.kwargs.keys() - {"ids"} or len(mark.args) != 2 for mark in marks]):
        return None
    return [
        Case(
            "-".join([part.id for part in parts]),
            {name: value for part in parts for name, value in part.params.items()},
            tuple([mark for part in parts for mark in part.marks]),
        )
        for parts in itertools.product(*[_axis(*mark.args, **mark.kwargs) for mark in marks])
    ]


def _axis(names: str | Sequence[str], values: Iterable[Any], ids: Any = None) -> list[Case]:
    """The cases of one mark."""
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]
    given = None if ids is None or callable(ids) else [*ids]
    made = []
    for k, value in enumerate(values):
        if not isinstance(value, _Parameters):
            value = pytest.param(*(value if len(names) > 1 else [value]))
        own = value.id or (given[k] if given is not None else None)
        parts = [_written(part, f"{name}{k}", ids) for name, part in zip(names, value.values, strict=True)]
        made.append(Case(str(own or "-".join(parts)), dict(zip(names, value.values, strict=True)), tuple(value.marks)))
    found = [case.id for case in made]
    again = {id: itertools.count() for id in found if found.count(id) > 1} if len(set(found)) < len(found) else {}
    return [case._replace(id=f"{case.id}_{next(again[case.id])}") if case.id in again else case for case in made]


def _written(value: Any, otherwise: str, ids: Any) -> str:
    written = ids(value) if callable(ids) else None
    if written is not None:
        return str(written)
    if isinstance(value, (str, int, float, complex, type(None))):
        return str(value)
    return getattr(value, "__name__", otherwise)


def chosen(cases: list[Case], fraction: float, salt: str, covers: bool) -> list[Case]:
    """A fraction of the cases, in their order: where it `covers`, each feature is in it, if it grows by that or not."""
    order = sorted(range(len(cases)), key=lambda k: zlib.crc32(repr((salt, cases[k].id)).encode()))
    met: set[Any] = set()
    taken: list[int] = []
    for k in order if covers else ():
        features = {*features_of(cases[k])} - met
        if features:
            met |= features
            taken.append(k)
    rest = [k for k in order if k not in {*taken}]
    count = max(math.ceil(fraction * len(cases)), 1)
    return [cases[k] for k in sorted(taken + rest[: max(count - len(taken), 0)])]


def features_of(case: Case) -> Iterator[Any]:
    """What a sample is to have at least once: the file of each program; each argument of a function, by its kind."""
    for name, value in case.params.items():
        function = getattr(value, "f", value)
        if callable(function):
            yield name, getattr(function, "__module__", None)
    called = re.fullmatch(r"([^(]+)\((.*)\)(?:_\d+)?", case.id)
    if called:
        parts = [part.partition("[")[0] for part in called[2].split(", ")]
        yield from ((called[1], part) for part in {*re.split(r"\W+", called[2]), *[f"alone: {part}" for part in parts]})


class Times:
    """What each test function took when all its cases were run: their number, and seconds."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, list[float]]] = json.loads(TIMES.read_text()) if TIMES.exists() else {}

    def of(self, path: Path, name: str) -> tuple[int, float]:
        """The number of cases of a function and what they took; nothing, of a new one."""
        cases, seconds = self.known.get(path.relative_to(TESTS).as_posix(), {}).get(name, (1, 0.0))
        return int(cases), seconds

    def of_one(self, path: Path, name: str) -> float:
        """What a case takes."""
        cases, seconds = self.of(path, name)
        return seconds / cases

    def write(self, spent: dict[tuple[str, str], list[float]]) -> None:
        """Replace what is known of the files of these functions."""
        for file in {file for file, _ in spent}:
            rows = sorted([(name, row) for (other, name), row in spent.items() if other == file])
            self.known[file.removeprefix("tests/")] = {name: [max(cases, 1), round(s, 2)] for name, (cases, s) in rows}
        TIMES.write_text(_rows(self.known))


def _rows(known: dict[str, dict[str, list[float]]]) -> str:
    """JSON with a line for each function."""
    files = []
    for file, functions in sorted(known.items()):
        rows = ",\n".join([f"    {json.dumps(name)}: {json.dumps(row)}" for name, row in functions.items()])
        files.append(f"  {json.dumps(file)}: {{\n{rows}\n  }}")
    return "{\n" + ",\n".join(files) + "\n}\n"


def battery(function: Callable[..., Any], cases: list[Case], stops: bool) -> Callable[[], None]:
    """A test that runs a function on all cases, and then shows each that failed; the first only if it `stops`."""

    def run() -> None:
        failed: list[Exception] = []
        skipped = 0
        for case in cases:
            try:
                with warnings.catch_warnings():
                    function(**case.params)
            except pytest.skip.Exception:
                skipped += 1
            except (Exception, pytest.fail.Exception) as error:
                failed.append(_noted(error, case))
                if stops:
                    break
        if failed:
            raise ExceptionGroup(f"{len(failed)} of {len(cases)} cases", failed)
        if skipped == len(cases):
            pytest.skip("all its cases")

    run.__name__, run.__module__, run.__doc__ = function.__name__, function.__module__, function.__doc__
    run.pytestmark = [mark for mark in function.pytestmark if mark.name != "parametrize"]  # type: ignore[attr-defined]
    return run


def _noted(error: BaseException, case: Case) -> Exception:
    """An error that says of which case it is."""
    if not isinstance(error, Exception):
        error = AssertionError(str(error)).with_traceback(error.__traceback__)
    error.add_note(f"the case: {case.id}")
    return error


def parts_of(cases: list[Case], seconds: float) -> Iterator[list[Case]]:
    """The cases, in parts of about `PART` seconds."""
    size = math.ceil(len(cases) / max(math.ceil(seconds / PART), 1))
    for start in range(0, len(cases), size):
        yield cases[start : start + size]
