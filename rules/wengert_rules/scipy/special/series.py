"""Hypergeometric series with their derivatives in every parameter, of every order."""

from __future__ import annotations

import math

import numpy as np

from wengert.extend import NoDerivativeError, batching, computes, partials
from wengert_rules.batches.elementwise import elementwise

MOST = 4000  # terms
ALLOWED = 1e-9  # of a sum, that rounding may hide


def hypergeometric(a, b, c, z, orders, shape):
    """∂ⁱ⁺ʲ⁺ᵏ⁺ˡ of the series in a, b, c and z, for `orders` = (i, j, k, l).

    `shape` tells which series: 21 is ₂F₁(a, b; c; z), 11 is ₁F₁(a; c; z), 1 is ₀F₁(; c; z); what a series has not is 1.
    Each parameter has its truncated Taylor series, multiplied by a factor, or divided, from term to term.

    Errors: NoDerivativeError where the terms do not fall, or cancel to a few digits.
    """
    above = shape // 10
    a, b, c, z = np.broadcast_arrays(*[np.asarray(v) + 0.0 for v in (a, b, c, z)])
    upper = [started(orders[k], z) for k in range(above)]
    lower, power = started(orders[2], z), np.ones_like(z)
    total, size, calm = np.zeros_like(z), np.zeros(z.shape), 0
    with np.errstate(all="ignore"):
        for k in range(MOST):
            term = power * math.prod([x[-1] for x in upper]) * lower[-1] if k >= orders[3] else 0 * power
            total, size = total + term, size + np.absolute(term)
            calm = calm + 1 if not np.any(np.absolute(term) > 1e-17 * size) and k > sum(orders) else 0
            if calm > 3:
                break
            upper = [multiplied(x, v + k, k + 1) for x, v in zip(upper, (a, b), strict=False)]
            lower = divided(lower, c + k, k + 1)
            if k >= orders[3]:
                power = power * z * (k + 1.0) ** (above - 1) / (k + 1.0 - orders[3])
            else:
                power = power * (k + 1.0) ** (above - 1)
    known = (size * np.finfo(float).eps <= ALLOWED * np.absolute(total)) & np.isfinite(total)
    if calm <= 3 or not np.all(known | (size == 0) | np.isnan(a + b + c + z)):
        raise NoDerivativeError(
            "the derivative of a hypergeometric function with respect to a parameter is computed by a series, which "
            "converges too slowly, cancels or overflows here. Pass the parameter as a constant"
        )
    return (math.prod(map(math.factorial, orders[:3])) * total)[()]


def started(order, like):
    """The Taylor series of 1."""
    return [np.ones_like(like), *[np.zeros_like(like)] * order]


def multiplied(series, by, scale):
    """The Taylor series in ε of what is multiplied by (by + ε)/scale."""
    return [(x * by + (series[k - 1] if k else 0)) / scale for k, x in enumerate(series)]


def divided(series, by, scale):
    """The Taylor series in ε of what is divided by (by + ε)/scale."""
    made = [series[0] * scale / by]
    for x in series[1:]:
        made.append((x * scale - made[-1]) / by)
    return made


@partials(hypergeometric)
def hypergeometric_(y, a, b, c, z, *, orders, shape):
    to_a = hypergeometric(a, b, c, z, raised(orders, 0), shape)
    to_b = hypergeometric(a, b, c, z, raised(orders, 1), shape)
    to_c = hypergeometric(a, b, c, z, raised(orders, 2), shape)
    return to_a, to_b, to_c, hypergeometric(a, b, c, z, raised(orders, 3), shape)


def raised(orders, k):
    return (*orders[:k], orders[k] + 1, *orders[k + 1 :])


computes(hypergeometric)
batching(hypergeometric)(elementwise)
