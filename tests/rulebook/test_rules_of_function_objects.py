"""Rules of callables of C that have no hash, such as functions of a shared library, whose bodies call them."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import pytest

import wengert as wg

POWER = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)


class Library:
    """Stands in for a loaded library."""

    def __init__(self) -> None:
        self.spring = POWER(lambda a, b: a**b)


@pytest.fixture
def lib() -> Library:
    return Library()


def declared(lib: Library) -> Callable[[Any], Any]:
    @wg.rrule(lib.spring)
    def spring_rule(a: Any, b: Any) -> Any:
        y = lib.spring(a, b)

        def spring_pullback(y_bar: Any) -> Any:
            return y_bar * b * lib.spring(a, b - 1.0), y_bar * y * math.log(a)

        return y, spring_pullback

    return lambda x: lib.spring(x, 3.0)


MODES: dict[str, tuple[Callable[[Any], Any], float]] = {
    "grad": (lambda f: wg.grad(f)(2.0), 12.0),
    "jvp": (lambda f: wg.jvp(f, (2.0,), (1.0,))[1], 12.0),
    "grad of grad": (lambda f: wg.grad(wg.grad(f))(2.0), 12.0),
    "hessian": (lambda f: wg.hessian(f)(2.0), 12.0),
    "hvp": (lambda f: wg.hvp(f, (2.0,), (1.0,))[0], 12.0),
    "jvp of jvp": (lambda f: wg.jvp(lambda y: wg.jvp(f, (y,), (1.0,))[1], (2.0,), (1.0,))[1], 12.0),
    "third order": (lambda f: wg.grad(wg.grad(wg.grad(f)))(2.0), 6.0),
    "tape": (lambda f: wg.trace(f, 3.0)[1].play(2.0), 8.0),
    "tape of a gradient": (lambda f: wg.trace(wg.grad(f), 3.0)[1].play(2.0), 12.0),
    "compiled": (lambda f: [g(x) for g in [wg.compile(f)] for x in (3.0, 2.0)][1], 8.0),
    "compiled gradient": (lambda f: [g(x) for g in [wg.compile(wg.grad(f))] for x in (3.0, 4.0, 2.0)][2], 12.0),
    "compiled second": (lambda f: wg.compile(wg.grad(wg.grad(f)))(2.0), 12.0),
}


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("mode", MODES)
def test_a_body_that_calls_its_function(mode: str, lib: Library) -> None:
    run, expected = MODES[mode]
    assert run(declared(lib)) == pytest.approx(expected, rel=1e-12)


def test_the_rule_passes_the_check(lib: Library) -> None:
    declared(lib)
    wg.test_rrule(lib.spring, 2.0, 3.0)


def test_the_error_spells_the_function_as_the_line_does(lib: Library) -> None:
    with pytest.raises(wg.NoRuleError) as error:
        wg.grad(lambda x: lib.spring(x, 3.0))(2.0)
    text = str(error.value)
    assert "lib.spring has no rule" in text
    assert "it was called with 2 arguments:\n\n@wg.rrule(lib.spring)\ndef spring_rule(x1, x2):\n" in text
    assert "ctypes." not in text
    spring = lib.spring
    with pytest.raises(wg.NoRuleError, match=r"@wg\.rrule\(spring\)"):
        wg.grad(lambda x: spring(x, 3.0))(2.0)
