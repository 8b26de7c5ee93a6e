"""What a tier runs: samples that cover their tables, the same ones each time, and batteries that hide no failure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_programs
import test_rules
from programs import PROGRAMS
from samples import SAMPLES
from sampling import kind
from tiers import CAPS, Case, Times, battery, cases_of, chosen, parts_of

from wengert.values.callables import callable_name

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("a", [1, pytest.param(2.5, id="own"), np.sin, None])
@pytest.mark.parametrize(("b", "c"), [("x", [3]), ("y", [3])], ids=["one", "two"])
def stacked(a: Any, b: Any, c: Any) -> None: ...


def of_tier(function: Callable[..., Any]) -> list[Case]:
    """What the default tier runs of a test function."""
    cases = cases_of(function)
    assert cases is not None
    _, seconds = Times().of(Path(function.__code__.co_filename), function.__name__)
    is_whole = "whole" in {mark.name for mark in getattr(function, "pytestmark", [])}
    share = 1.0 if is_whole else min(CAPS["default"] / seconds, 1.0)
    return cases if share == 1.0 else chosen(cases, share, f" {function.__name__}", True)


def test_cases_have_the_ids_that_pytest_gives_them() -> None:
    cases = cases_of(stacked)
    assert [case.id for case in cases or ()][:5] == ["one-1", "one-own", "one-sin", "one-None", "two-1"]
    assert cases is not None and cases[1].params == {"a": 2.5, "b": "x", "c": [3]}


def test_a_sample_is_the_same_each_time_and_another_by_another_date() -> None:
    cases = [Case(str(k), {"k": k}, ()) for k in range(100)]
    first, second = chosen(cases, 0.2, "", True), chosen(cases, 0.2, "2026-11-27", True)
    assert first == chosen(cases, 0.2, "", True) != second
    assert len(first) == len(second) == 20
    assert [case for part in parts_of(cases, 7.0) for case in part] == cases


def test_every_program_runs_in_some_mode_and_every_mode_on_programs_of_each_file() -> None:
    modes = [f for name, f in vars(test_programs).items() if name.startswith("test_") and cases_of(f)]
    taken = [of_tier(mode) for mode in modes]
    assert len(modes) >= 6
    assert {case.params["program"].name for cases in taken for case in cases} == {p.name for p in PROGRAMS}
    files = {p.f.__module__ for p in PROGRAMS}
    assert all({case.params["program"].f.__module__ for case in cases} == files for cases in taken)


def test_every_rule_runs_with_each_kind_of_argument_and_in_each_form() -> None:
    """Of each function a sample with each dtype and kind of argument, and with each keyword."""

    def asked(sample: Any) -> set[tuple[str, str]]:
        kinds = [kind(x).partition("[")[0] for x in sample.args]
        return {(callable_name(sample.f), part) for part in [*kinds, *sample.kwargs]}

    taken = {pair for case in of_tier(test_rules.test_rule_on_sample) for pair in asked(case.params["sample"])}
    assert taken >= {pair for sample in SAMPLES for pair in asked(sample)}


def test_a_battery_shows_every_case_that_fails() -> None:
    @pytest.mark.parametrize("k", range(6))
    def odd(k: int) -> None:
        if k == 4:
            pytest.skip("not this one")
        assert k % 2

    cases = cases_of(odd)
    assert cases is not None
    with pytest.raises(ExceptionGroup, match="2 of 6 cases") as caught:
        battery(odd, cases, stops=False)()
    assert [error.__notes__[-1] for error in caught.value.exceptions] == ["the case: 0", "the case: 2"]
    with pytest.raises(ExceptionGroup, match="1 of 6 cases"):
        battery(odd, cases, stops=True)()
    battery(odd, [cases[1], cases[3], cases[4]], stops=False)()
    with pytest.raises(pytest.skip.Exception):
        battery(odd, [cases[4]], stops=False)()
