"""Roots and fixed points."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from wengert.extend import followed, stands_for, unseen
from wengert_rules.scipy.arguments import arguments, in_tuple, unpacked


def residual_of(f: Any, args: Any, has_jacobian: bool = False) -> Any:
    """x ↦ f(x, *args) as an array or number; of a function that gives its Jacobian, too, the first of both."""

    def residual(x: Any) -> Any:
        value = f(x, *args)
        value = value[0] if has_jacobian else value
        return np.asarray(value) if isinstance(value, (list, tuple)) else value

    return residual


def jacobian_of(f: Any, jac: Any, args: Any, transposed: bool = False) -> Any:
    """x ↦ ∂f/∂x, where the user gives it; None where not."""
    if jac is True:
        return lambda x: f(x, *args)[1]
    if not callable(jac):
        return None
    return lambda x: np.transpose(jac(x, *args)) if transposed else jac(x, *args)


def _in_bracket(native: Any) -> None:
    @stands_for(native)
    def root(*given: Any, **words: Any) -> Any:
        call, found = arguments(native, given, words), unseen(native, *given, **words)
        x, *rest = found if call["full_output"] else (found,)
        x = followed(residual_of(call["f"], in_tuple(call["args"])), x)
        if not call["full_output"]:
            return x
        rest[0]["root"] = x
        return x, *rest


for _native in (optimize.brentq, optimize.brenth, optimize.ridder, optimize.bisect, optimize.toms748):
    _in_bracket(_native)


@stands_for(optimize.newton)
def newton(*given: Any, **words: Any) -> Any:
    """Of an array x0, each number has a root of its own."""
    call, found = arguments(optimize.newton, given, words), unseen(optimize.newton, *given, **words)
    x, *rest = found if call["full_output"] else (found,)
    args = unpacked(call["args"])
    slope = jacobian_of(None, call["fprime"], args)
    x = followed(residual_of(call["func"], args), x, slope, elementwise=True)
    if not call["full_output"]:
        return x
    if isinstance(rest[0], dict):
        rest[0]["root"] = x
    return x, *rest


@stands_for(optimize.root_scalar)
def root_scalar(*given: Any, **words: Any) -> Any:
    call, found = arguments(optimize.root_scalar, given, words), unseen(optimize.root_scalar, *given, **words)
    f, args, fprime = call["f"], in_tuple(call["args"]), call["fprime"]
    several = fprime is True or call["fprime2"] is True
    slope = jacobian_of(f, fprime, args)
    found["root"] = followed(residual_of(f, args, several), found["root"], slope)
    return found


@stands_for(optimize.fsolve)
def fsolve(*given: Any, **words: Any) -> Any:
    call, found = arguments(optimize.fsolve, given, words), unseen(optimize.fsolve, *given, **words)
    x, *rest = found if call["full_output"] else (found,)
    args = in_tuple(call["args"])
    matrix = jacobian_of(None, call["fprime"], args, call["col_deriv"])
    x = followed(residual_of(call["func"], args), x, matrix)
    return (x, *rest) if call["full_output"] else x


@stands_for(optimize.root)
def root(*given: Any, **words: Any) -> Any:
    call, found = arguments(optimize.root, given, words), unseen(optimize.root, *given, **words)
    f, args, jac = call["fun"], in_tuple(call["args"]), call["jac"]
    transposed = bool((call["options"] or {}).get("col_deriv"))
    matrix = jacobian_of(f, jac, args, transposed and jac is not True)
    found["x"] = followed(residual_of(f, args, jac is True), found["x"], matrix)
    return found


@stands_for(optimize.fixed_point)
def fixed_point(*given: Any, **words: Any) -> Any:
    call, x = arguments(optimize.fixed_point, given, words), unseen(optimize.fixed_point, *given, **words)
    image = residual_of(call["func"], unpacked(call["args"]))
    return followed(lambda x: image(x) - x, x)


def _nonlinear(native: Any) -> None:
    @stands_for(native)
    def root(*given: Any, **words: Any) -> Any:
        call, x = arguments(native, given, words), unseen(native, *given, **words)
        return followed(residual_of(call["F"], ()), np.asarray(x))


for _name in (
    "broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing", "newton_krylov",
):  # fmt: skip
    _nonlinear(getattr(optimize, _name))
