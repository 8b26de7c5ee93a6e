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
    """Errors: AssertionError where the value is not the plain one, or a derivative disagrees with differences."""
    plain = case.f(*case.args)
    weights = np.cos(np.arange(np.size(plain))).reshape(np.shape(plain))
    dots = tuple([1.0 if np.ndim(x) == 0 else np.sin(1.0 + np.arange(np.size(x))).reshape(x.shape) for x in case.args])

    def f(*args):
        return np.sum(weights * case.f(*args))

    def gradient(*args):
        return wg.grad(f, argnums=(*range(len(args)),))(*args)

    def along(*args):
        return wg.jvp(f, args, dots)[1]

    near = {"rtol": case.rtol, "atol": case.rtol}
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.NotConvergedWarning)
        np.testing.assert_array_equal(wg.vjp(case.f, *case.args)[0], plain)
        found, slope = gradient(*case.args), along(*case.args)
        for x_bar, wanted in zip(found, wg.ngradient(f, *case.args), strict=True):
            np.testing.assert_allclose(x_bar, wanted, **near)
        np.testing.assert_allclose(slope, product(found, dots), rtol=1e-7, atol=1e-9)
        if case.closed is not None:
            np.testing.assert_allclose(found[0], weights * case.closed, rtol=1e-7)
        if case.order > 1:
            h = 1e-4
            after, before = ([x + side * h * dot for x, dot in zip(case.args, dots, strict=True)] for side in (1, -1))
            pushed, pulled = (
                wg.jvp(gradient, case.args, dots)[1],
                wg.grad(along, argnums=(*range(len(dots)),))(*case.args),
            )
            for one, other, hi, lo in zip(pushed, pulled, gradient(*after), gradient(*before), strict=True):
                np.testing.assert_allclose(one, (hi - lo) / (2 * h), rtol=20 * case.rtol, atol=20 * case.rtol)
                np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


def product(bars: Any, dots: Any) -> float:
    return float(sum([np.sum(bar * dot) for bar, dot in zip(bars, dots, strict=True)]))
