"""Compiled functions after changes of what they read give what the plain function gives, with its derivative."""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import decimal
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hostile_changes import CHANGES, Changing

import wengert as wg

WAYS: dict[str, Callable[[Any], Callable[[float], tuple[Any, ...]]]] = {
    "value_and_grad": lambda f: wg.compile(wg.value_and_grad(f)),
    "no derivative": lambda f: _first_of(wg.compile(f)),
    "jvp": lambda f: _at_one(wg.compile(lambda x, t: wg.jvp(f, (x,), (t,)))),
}
POINTS = (1.3, 0.7)


def _first_of(g: Callable[[float], Any]) -> Callable[[float], tuple[Any, ...]]:
    return lambda x: (g(x),)


def _at_one(g: Callable[[float, float], Any]) -> Callable[[float], tuple[Any, ...]]:
    return lambda x: tuple(g(x, 1.0))


@contextlib.contextmanager
def unchanged() -> Iterator[None]:
    """Put back what programs may change in the whole process."""
    modules, names, environment = {*sys.modules}, {*vars(builtins)}, os.environ.copy()
    limits = sys.getrecursionlimit(), sys.get_int_max_str_digits()
    with warnings.catch_warnings(), np.errstate(), np.printoptions(), decimal.localcontext():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            sys.setrecursionlimit(limits[0])
            sys.set_int_max_str_digits(limits[1])
            for name in {*vars(builtins)} - names:
                del vars(builtins)[name]
            for name in [name for name in {*sys.modules} - modules if sys.modules[name].__spec__ is None]:
                del sys.modules[name]
            for name in {*os.environ} - {*environment}:
                del os.environ[name]
            os.environ.update(environment)


def outcome(run: Callable[[], Any]) -> Any:
    """What a call gives, or the class of its exception."""
    try:
        return run()
    except Exception as error:
        return type(error)


def _is_right(got: Any, value: Any, derivative: Any) -> bool:
    if isinstance(got, type) or isinstance(value, type):
        return got is value
    is_equal = bool(got[0] == value or np.isclose(got[0], value, rtol=1e-14, atol=0.0))
    return is_equal and bool(np.allclose(got[1:], derivative, rtol=1e-6))


def wrong(program: Changing, way: str) -> Iterator[str]:
    """Give the calls of a program after which the compiled function differs from the plain one."""
    plain, compiled = {"__name__": "plain"}, {"__name__": "compiled"}
    for space in (plain, compiled):
        exec(compile(program.source, "<changes>", "exec", dont_inherit=True), space)
    f: Any = lambda x: plain["f"](x)
    g = WAYS[way](compiled["f"])
    for change in ("pass", *program.changes):
        for space in (plain, compiled):
            exec(change, space)
        for x in POINTS:
            value, derivative = outcome(lambda: f(x)), outcome(lambda: wg.ngradient(f, x)[0])
            got = outcome(lambda: g(x))
            if not _is_right(got, value, derivative):
                yield f"{way} after {change!r} at {x}: {got}, not {value} and {derivative}"


@pytest.mark.parametrize("group", dict.fromkeys(name.partition(":")[0] for name in CHANGES))
def test_compiled_functions_follow_changes(group: str) -> None:
    found = []
    for name, program in CHANGES.items():
        for way in WAYS if name.startswith(f"{group}:") else ():
            with unchanged():
                found += [f"{name}: {words}" for words in contextvars.copy_context().run(list, wrong(program, way))]
    assert not found, "\n".join(found)
