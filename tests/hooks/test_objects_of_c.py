"""Callable objects of C that hold Python functions: what they can reach is searched as what a call is given."""

from __future__ import annotations

import ctypes
import math
import types
from collections.abc import Callable
from typing import Any

import pytest
from scipy import special

import wengert as wg
from wengert.recording import rule_reads

HANDING_ON = ctypes.PYFUNCTYPE(ctypes.py_object)
AS_DOUBLE = ctypes.CFUNCTYPE(ctypes.c_double)


class Model:
    def __init__(self, t: Any) -> None:
        self.t = t

    def square(self) -> Any:
        return self.t**2


HELD: list[Any] = [0.0]


def of_a_global() -> Any:
    return HELD[0] ** 2


def of_another() -> Any:
    return of_a_global()


def by_a_global(callback: Callable[[], Any], t: Any) -> Any:
    HELD[0] = t
    try:
        return callback() + t
    finally:
        HELD[0] = 0.0


class Copying:
    __call__ = HELD.copy  # has an object of its own


MADE_BEFORE, FAR = HANDING_ON(of_a_global), AS_DOUBLE(of_another)
CASES: dict[str, Callable[[Any], Any]] = {
    "bound method": lambda t: HANDING_ON(Model(t).square)() + t,
    "its number": lambda t: AS_DOUBLE(Model(t).square)() + t,
    "closure": lambda t: HANDING_ON(lambda: t * t)() + t,
    "default": lambda t: HANDING_ON(lambda a=t: a)() + t,
    "global name": lambda t: by_a_global(MADE_BEFORE, t),
    "global name of a function that it calls": lambda t: by_a_global(FAR, t),
    "method of a list": lambda t: by_a_global(HANDING_ON(Copying()), t),
    "in a list": lambda t: [HANDING_ON(Model(t).square)][0]() + t,
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_callable_of_c_reaches_is_refused(name: str) -> None:
    with pytest.raises(wg.NoRuleError, match=r"test_objects_of_c\.py.* has no rule"):
        wg.grad(CASES[name])(3.0)


def test_what_reaches_no_traced_value_is_called() -> None:
    callback = HANDING_ON(lambda: 3.0)
    assert wg.grad(lambda t: callback() * t)(2.0) == 3.0
    assert wg.grad(lambda t: MADE_BEFORE() + t)(2.0) == 1.0


exponential = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda v: math.exp(v))


@wg.rrule(exponential)
def _exponential(v: float) -> Any:
    y = exponential(v)
    return y, lambda y_bar: y_bar * exponential(v)


TWICE: dict[str, Any] = {
    "hessian": lambda f: wg.hessian(f)(1.5), "derivative": lambda f: wg.derivative(f, 2)(1.5),
    **{f"{outer.__name__} of {inner.__name__}": lambda f, outer=outer, inner=inner: outer(inner(f))(1.5)
       for outer in (wg.grad, wg.jacfwd, wg.jacobian) for inner in (wg.grad, wg.jacfwd, wg.jacobian)},
}  # fmt: skip


@pytest.mark.parametrize("name", TWICE)
def test_a_function_of_c_with_a_rule_is_differentiated_twice(name: str) -> None:
    assert math.isclose(TWICE[name](exponential), math.exp(1.5))


def test_functions_of_cython_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their class is made at run time, as Python's are, but has attributes of C only."""
    monkeypatch.setattr(rule_reads, "reads_traced", lambda *args: pytest.fail("a search"))
    assert wg.grad(lambda t: special.comb(5, 2, exact=True) * t)(3.0) == 10.0


def test_a_function_that_the_code_makes_of_other_globals_is_traced() -> None:
    def f(x: Any) -> Any:
        made = types.FunctionType(_scaled.__code__, {"factor": 2.0 * x}, "made")
        return made(x) + sum(map(made, [x, 3.0]))

    assert wg.grad(f)(1.5) == pytest.approx(12 * 1.5**2 + 18, rel=1e-14)  # of 2 x (2 x² + 9)
    assert _scaled.__code__.co_names == ("factor",)


def _scaled(y: Any) -> Any:
    return factor * y * y  # type: ignore[name-defined]  # noqa: F821
