"""Tables of functions that call a solver, and the check of one: value, gradient, tangent, and those of second order."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import wengert as wg


class Case(NamedTuple):
    """A function of parameters that calls a solver, where it is checked, and its derivative in closed form, if any."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    closed: Any
    order: int
    rtol: float

    def __str__(self) -> str:
        return self.f.__name__


def table() -> tuple[list[Case], Callable[..., Any]]:
    """A table, and the decorator that enters a function in it: `@case(θ, …, closed=∂f/∂θ)`."""
    cases: list[Case] = []

    def case(*args: Any, closed: Any = None, order: int = 2, rtol: float = 1e-5) -> Any:
        def enter(f: Any) -> Any:
            cases.append(Case(f, args, closed, order, rtol))
            return f

        return enter

    return cases, case


def check(case: Case) -> None:
    """Errors: AssertionError where the value is not the plain one, or a derivative disagrees."""
    f, args = case.f, case.args
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.NotConvergedWarning)
        value, pullback = wg.vjp(f, *args)
        np.testing.assert_array_equal(value, f(*args))
        wg.check_grads(f, *args, order=case.order, modes=("rev", "fwd"), rtol=case.rtol, atol=case.rtol)
        if case.closed is not None:
            np.testing.assert_allclose(pullback(np.ones_like(value))[0], case.closed, rtol=1e-7)
