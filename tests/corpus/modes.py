"""The ways to ask for a derivative, and to declare one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import wengert as wg

F = Callable[[Any], Any]

MODES: dict[str, Callable[[F, Any], Any]] = {
    "grad": lambda f, x: wg.grad(f)(x),
    "vjp": lambda f, x: wg.vjp(f, x)[1](1.0)[0],
    "checkpoint": lambda f, x: wg.grad(wg.checkpoint(f))(x),
    "gradtape": lambda f, x: wg.gradtape(f, x).play(x)[1][-1],
    "compiled": lambda f, x: wg.gradtape(f, x).compile()(x)[1][-1],
    "passing": lambda f, x: wg.gradtape(f, x, strategy="pass through").play(x)[1][-1],
    "rrule_tape": lambda f, x: wg.rrule_tape(wg.trace(f, x)[1]).play(x)[1][-1],
    "trace, compiled": lambda f, x: wg.rrule_tape(wg.trace(f, x)[1]).compile()(x)[1][-1],
    "with a context": lambda f, x: wg.rrule_tape(wg.trace(f, x, ctx=wg.Context())[1]).play(x)[1][-1],
}


def declare(form: str, f: F, slope: float) -> F:
    """A rule for a function of one argument, in one of the forms that there are."""
    if form == "rrule":
        wg.rrule(f)(lambda x: (f(x), lambda y_bar: np.real(y_bar) * slope))
    elif form == "pullback":
        wg.vjp_rule(f)(lambda y_bar, y, x: np.real(y_bar) * slope)
    else:
        wg.partials(f)(lambda y, x: slope)
    return f
