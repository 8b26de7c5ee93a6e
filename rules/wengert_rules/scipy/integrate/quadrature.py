"""Adaptive quadrature: the value is SciPy's, the derivative that of a sum over nodes that suit it."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from scipy import LowLevelCallable, integrate

from wengert.extend import (
    NotNativeError,
    RefusedCallError,
    Tolerance,
    is_traced,
    jvp_rule,
    nodes_for,
    order,
    stands_for,
    stopped,
    unseen,
    vjp_rule,
    with_value,
)
from wengert_rules.scipy.arguments import arguments, in_tuple
from wengert_rules.scipy.optional import present

FEWEST = 300
"""Intervals that the integral of a derivative may take where SciPy takes fewer for that of the function."""


def integral(f: Any, a: Any, b: Any, args: Any, to: Tolerance, breaks: Any = ()) -> Any:
    """The integral of f(x, *args) from a to b as a sum over nodes, and over what a and b move."""
    if order() == 1:
        try:
            return by_code(f, a, b, args, to, breaks)
        except NotNativeError:  # it is not traced alone; the other way says what is wrong
            pass
    xs, weights = unseen(nodes_for, f, float(a), float(b), breaks, args, to)
    total = np.dot(weights, np.array([f(x, *args) for x in xs.tolist()]))
    if is_traced(b):
        total = total + moved(f, b, args)
    if is_traced(a):
        total = total - moved(f, a, args)
    return total


def by_code(f: Any, a: Any, b: Any, args: Any, to: Tolerance, breaks: Any = ()) -> Any:
    """The integral with its first two derivatives, by code for the integrand."""
    from wengert.extend import integral_by_code  # which loads the compiler

    return integral_by_code(integral_value, f, a, b, breaks, args, to)


def integral_value(*values: Any, call: Any) -> Any:
    """The integral for its ends, its arguments and what the integrand reads."""
    return unseen(call.slopes, values)[0]


def integral_slopes(*values: Any, call: Any) -> Any:
    """The derivatives of the integral by all values, one after the other."""
    return unseen(call.slopes, values)[1:]


def by_value(vector: Any, values: Any) -> list[Any]:
    """The parts of a vector of derivatives that belong to these values."""
    begin, parts = 0, []
    for value in values:
        end = begin + np.size(value)
        parts.append(np.reshape(vector[begin:end], np.shape(value)) if np.ndim(value) else vector[begin])
        begin = end
    return parts


@vjp_rule(integral_value)
def integral_value_(y_bar, y, *values, call, wanted):
    return tuple([y_bar * slope for slope in by_value(integral_slopes(*values, call=call), values)])


@jvp_rule(integral_value)
def push_integral_value(tangents, y, *values, call):
    pairs = zip(by_value(integral_slopes(*values, call=call), values), tangents, strict=True)
    return sum([np.sum(slope * tangent) for slope, tangent in pairs if tangent is not None])


def integral_curvature(direction: Any, *values: Any, call: Any) -> Any:
    """The product of the second derivatives of the integral with a direction."""
    return unseen(call.curvature, values, direction)


@vjp_rule(integral_slopes)
def pull_slopes(y_bar, y, *values, call, wanted):
    return tuple(by_value(integral_curvature(y_bar, *values, call=call), values))


@jvp_rule(integral_slopes)
def push_slopes(tangents, y, *values, call):
    pairs = zip(tangents, values, strict=True)
    direction = [np.zeros(np.size(x)) if dot is None else np.ravel(dot) for dot, x in pairs]
    return integral_curvature(np.concatenate(direction), *values, call=call)


@vjp_rule(integral_curvature)
def pull_curvature(y_bar, y, direction, *values, call, wanted):
    raise NotNativeError("compiled code has no third derivatives of integrals")


@jvp_rule(integral_curvature)
def push_curvature(tangents, y, direction, *values, call):
    raise NotNativeError("compiled code has no third derivatives of integrals")


def moved(f: Any, end: Any, args: Any) -> Any:
    """The integral from where a bound is now to where it moves: zero, with the derivatives of every order."""
    start, count = stopped(end), order()
    if not np.isfinite(start) or not count:
        return 0.0
    points, weights = np.polynomial.legendre.leggauss(count)
    step = end - start
    return step * sum(
        [w / 2 * f(start + step * ((p + 1) / 2), *args) for p, w in zip(points.tolist(), weights.tolist(), strict=True)]
    )


@stands_for(integrate.quad)
def quad(*given: Any, **words: Any) -> Any:
    call, found = arguments(integrate.quad, given, words), unseen(integrate.quad, *given, **words)
    f, args = weighted(call), in_tuple(call["args"])
    to = Tolerance(call["epsabs"], call["epsrel"], max(FEWEST, call["limit"]))
    total = integral(f, call["a"], call["b"], args, to, () if call["points"] is None else np.asarray(call["points"]))
    return with_value(found[0], total), *found[1:]


def called(f: Any) -> Any:
    """The function in a LowLevelCallable, if it takes and returns one number: it may have a rule."""
    if not isinstance(f, LowLevelCallable):
        return f
    if getattr(f.function, "argtypes", None) != (ctypes.c_double,):
        raise RefusedCallError(
            "scipy.integrate.quad has no derivative of this LowLevelCallable. Pass a Python function, or a C function "
            "that takes and returns a double, and declare its rule with wg.rrule."
        )
    return f.function


def weighted(call: Any) -> Any:
    """The integrand of a call of quad with its weight."""
    f, weight, w, a, b = called(call["func"]), call["weight"], call["wvar"], call["a"], call["b"]
    if weight is None:
        return f
    if weight in ("cos", "sin") and np.isfinite(a) and np.isfinite(b):
        wave = np.cos if weight == "cos" else np.sin
        return lambda x, *args: f(x, *args) * wave(w * x)
    if weight.startswith("alg"):
        left, right = "loga" in weight or weight == "alg-log", "logb" in weight or weight == "alg-log"
        return lambda x, *args: (
            f(x, *args) * (x - a) ** w[0] * (b - x) ** w[1]
            * (np.log(x - a) if left else 1.0) * (np.log(b - x) if right else 1.0)
        )  # fmt: skip
    raise RefusedCallError(
        f"scipy.integrate.quad(weight={weight!r}) has no derivative for these bounds. Multiply the integrand "
        "by the weight yourself."
    )


def _refuse_sum(*given: Any, **words: Any) -> Any:
    raise RefusedCallError("scipy.integrate.nsum has no derivative. Sum enough terms yourself, for example in NumPy.")


for _native in present("integrate.nsum"):
    stands_for(_native)(_refuse_sum)
