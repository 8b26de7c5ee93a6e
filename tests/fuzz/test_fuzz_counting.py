"""Random loops that count, compiled: they give what the program gives, with whole numbers of Python's."""

from __future__ import annotations

import math
from typing import Any

import pytest
from counting_programs import a_program, arguments

import wengert as wg


def outcome(f: Any, x: float) -> Any:
    try:
        return f(x)
    except (ArithmeticError, ValueError) as error:
        return type(error)


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning", "ignore::wengert.NoPathWarning")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", [*range(25), 800022, 1000476])
def test_counting_loops_are_those_of_python(seed: int) -> None:
    f, text = a_program(seed)
    for g in (f, wg.grad(f)):
        compiled = wg.compile(g)
        for x in arguments(seed):
            found, expected = outcome(compiled, x), outcome(g, x)
            assert type(found) is type(expected), text
            same = found is expected or math.isclose(found, expected, rel_tol=1e-10, abs_tol=1e-10)
            assert same or found != found != expected != expected, (text, x, found, expected)


def test_most_of_them_run_as_often_as_their_tests_say() -> None:
    free = 0
    for seed in range(20):
        compiled = wg.compile(a_program(seed)[0], quiet=True)
        compiled(arguments(seed)[0])
        free += "until its condition ends it" in compiled.explain()
    assert free > 12
