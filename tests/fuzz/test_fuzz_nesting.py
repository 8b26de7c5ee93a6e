"""Random programs with derivatives inside of derivatives, against dual numbers; FUZZ_EXAMPLES=3000 runs so many.

A program may be refused; a refusal is an error of this package and nothing else.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from typing import Any

import dual_numbers as dual
import numpy as np
import pytest
from nested_programs import FAMILY, FORWARD, REVERSE, Writer

import wengert as wg

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "60"))
FIRST = int(os.environ.get("FUZZ_FIRST", "0"))
FORMS = REVERSE + FORWARD + FAMILY
MODES = ("grad", "vjp", "gradtape", "checkpoint", "inside another", "jvp")

pytestmark = pytest.mark.filterwarnings("ignore")

OPERATORS = ("grad", "value_and_grad", "vjp", "jvp", "linearize", "jacobian", "hessian", "hvp", "derivative", "vmap")


def pieces(numpy: Any) -> dict[str, Any]:
    """Functions that programs call, which have rules where wengert runs them."""

    def twist(a: Any, b: Any) -> Any:
        return a * b + numpy.sin(a)

    def cubed(a: Any) -> Any:
        return a * a * a

    def bent(v: Any) -> Any:
        return v * v * 0.5

    def shifted(v: Any, f: Any) -> Any:
        return v * f + f

    def total(v: Any) -> Any:
        return numpy.sum(v * v)

    def dotted(kind: str, x: Any) -> Any:
        if kind in ("list", "dict", "pair"):
            return sum([numpy.sum(part * part) for part in (x.values() if kind == "dict" else x)])
        return numpy.sum(numpy.real(x * x))

    return {f.__name__: f for f in (twist, cubed, bent, shifted, total, dotted)}


WENGERT = {
    "np": np,
    "math": math,
    "functools": functools,
    **{name: getattr(wg, name) for name in ("checkpoint", "checkpoint_loop", *OPERATORS, "jacrev", "jacfwd", "vhp")},
    **pieces(np),
}
DUAL = {
    "np": dual.NP,
    "math": dual.NP,
    "functools": functools,
    "checkpoint": lambda f: f,
    "checkpoint_loop": lambda step, state, n, length: functools.reduce(step, range(n), state),
    **{name: getattr(dual, name) for name in OPERATORS},
    "jacrev": dual.jacobian,
    "jacfwd": dual.jacobian,
    "vhp": dual.hvp,
    **pieces(dual.NP),
}


@pytest.fixture(autouse=True)
def rules() -> Any:
    """Of each kind, also with pullbacks that read their arguments later."""
    with wg.rules.scope():
        wg.partials(WENGERT["twist"])(lambda y, a, b: (b + np.cos(a), a))
        wg.rrule(WENGERT["cubed"])(lambda a: (a * a * a, lambda y_bar: y_bar * 3 * a * a))
        wg.vjp_rule(WENGERT["bent"])(lambda y_bar, y, v: y_bar * v)
        wg.rrule(WENGERT["shifted"])(
            lambda v, f: (v * f + f, lambda y_bar: (y_bar * f, np.sum(y_bar * v) + np.sum(y_bar)))
        )
        wg.rrule(WENGERT["total"])(lambda v: (np.sum(v * v), lambda y_bar: 2.0 * v * y_bar))
        yield


def arguments() -> tuple[Any, ...]:
    matrix = np.array([[0.2, 0.7, -0.4], [0.6, -0.1, 0.5]])
    return 0.37, np.array([0.3, -0.5, 0.8]), matrix, np.array([0.3 + 0.2j, -0.4 + 0.1j, 0.5 - 0.3j])


def made(source: str, seed: int, names: dict[str, Any]) -> Callable[..., Any]:
    own = dict(names)
    exec(compile(source, f"/nested/program_{seed}.py", "exec"), own)
    return own["main"]  # type: ignore[no-any-return]


def by_dual_numbers(main: Callable[..., Any]) -> tuple[Any, list[Any]]:
    """The value and the gradients; infinite where the numbers grow out of bounds."""
    given = [dual.array(x) if isinstance(x, np.ndarray) else dual.Number(x) for x in arguments()]
    try:
        value, pullback = dual.vjp(main, *given)
        found = [dual.plainly(x_bar) for x_bar in pullback(1.0)]
    except (OverflowError, ValueError):  # what functions of math raise
        return math.inf, []
    return dual.plain(value) if all(np.all(np.abs(x_bar) < 1e8) for x_bar in found) else math.inf, found


def asked(mode: str, main: Callable[..., Any]) -> tuple[Any, Any]:
    """The value and the gradients as wengert has them."""
    if mode == "vjp":
        value, pullback = wg.vjp(main, *arguments())
        return value, pullback(1.0)
    if mode == "gradtape":
        value, found = wg.gradtape(main, *arguments()).play(*arguments())
        return value, found[1:]
    if mode == "jvp":  # in the direction of each argument, with zero for the others
        return along_each(main)
    if mode == "inside another":
        return inside_another(main)
    value, found = wg.grad(wg.checkpoint(main) if mode == "checkpoint" else main, *arguments())
    return value, found[1:]


def along_each(main: Callable[..., Any]) -> tuple[Any, Any]:
    """The value, and the gradients by derivatives along each number."""
    value, columns = None, []
    for k, x in enumerate(arguments()):
        flat = []
        for place in range(np.size(x)):
            direction = np.zeros(np.size(x), np.asarray(x).dtype)
            direction[place] = 1.0
            steps = [direction.reshape(np.shape(x))[()]] + [1j * direction] * np.iscomplexobj(x)
            slopes = []
            for step in steps:
                dots: list[Any] = [None] * len(arguments())
                dots[k] = step
                value, slope = wg.jvp(main, arguments(), dots)
                slopes.append(slope)
            flat.append(slopes[0] - 1j * slopes[1] if len(slopes) > 1 else slopes[0])
        columns.append(np.reshape(flat, np.shape(x)))
    return value, columns


def inside_another(main: Callable[..., Any]) -> tuple[Any, Any]:
    """The value and the gradients of t f at t = 1, that by the first argument as the derivative of itself by t."""
    held: list[Any] = []

    def outer(t: float) -> Any:
        held[:] = wg.grad(lambda *args: t * main(*args), *arguments())
        return held[1][1]

    slope = wg.grad(outer)(1.0)
    return held[0], (slope, *held[1][2:])


@pytest.mark.parametrize("seed", range(FIRST, FIRST + EXAMPLES))
def test_random_nestings(seed: int) -> None:
    source = Writer(seed, FORMS).source()
    value, exact = by_dual_numbers(made(source, seed, DUAL))
    if not math.isfinite(value):
        pytest.skip("out of bounds")
    mode = MODES[seed % len(MODES)]
    try:
        again, found = asked(mode, made(source, seed, WENGERT))
    except wg.WengertError as error:
        pytest.skip(str(error))
    np.testing.assert_allclose(again, value, 1e-9, 1e-9, err_msg=source)
    for x_bar, expected in zip(found, exact, strict=True):
        given = np.zeros_like(expected) if x_bar is None else x_bar
        scale = 1 + np.max(np.abs(expected))
        np.testing.assert_allclose(given, expected, rtol=1e-7, atol=1e-7 * scale, err_msg=source)
