"""`quad` in compiled functions: SciPy integrates again, and the derivative has nodes for each call."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate

from wengert.extend import NotNativeError, Tolerance, compiled_by, integral_by_code, jvp_rule, unseen, vjp_rule
from wengert_rules.scipy.integrate.quadrature import integral, quad

compiled_by(integrate.quad)(quad)


@compiled_by(integral)
def integral_again(f: Any, a: Any, b: Any, args: Any, to: Tolerance, breaks: Any = ()) -> Any:
    return integral_by_code(value, f, a, b, breaks, args, to)


def value(*values: Any, call: Any) -> Any:
    """The integral for its ends, its arguments and what the integrand reads."""
    return unseen(call.slopes, values)[0]


def slopes(*values: Any, call: Any) -> Any:
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


@vjp_rule(value)
def value_(y_bar, y, *values, call, wanted):
    return tuple([y_bar * slope for slope in by_value(slopes(*values, call=call), values)])


@jvp_rule(value)
def push_value(tangents, y, *values, call):
    pairs = zip(by_value(slopes(*values, call=call), values), tangents, strict=True)
    return sum([np.sum(slope * tangent) for slope, tangent in pairs if tangent is not None])


@vjp_rule(slopes)
def pull_slopes(y_bar, y, *values, call, wanted):
    raise NotNativeError("compiled code has no second derivatives of integrals")


@jvp_rule(slopes)
def push_slopes(tangents, y, *values, call):
    raise NotNativeError("compiled code has no second derivatives of integrals")
