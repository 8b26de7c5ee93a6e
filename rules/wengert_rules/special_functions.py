"""Gamma, Bessel and sinc functions, each with the family that its derivatives of all orders lie in."""

from __future__ import annotations

import math

import numpy as np

from wengert.extend import jvp_rule, partials, vjp_rule
from wengert_rules.products import conj

# B₂ₖ, the Bernoulli numbers of Stirling's series, in which x ≥ 20 leaves an error below 1e-17.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
STIRLING_FROM = 20
# Of sinc'(x) = π² x Σ cₖ (πx)²ᵏ, highest power first; they end where |x| < ½ leaves nothing to add.
SINC = [(-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(15, 0, -1)]
ANGLES = 64  # of the midpoint rule, which is exact to rounding as long as exp(x) is finite


def polygamma(x, order):
    """ψ⁽ⁿ⁾(x), the derivative of this order of digamma, for a float: by recurrence up to where Stirling's series holds.

    Source: NIST Digital Library of Mathematical Functions, 5.5.2, 5.5.4, 5.11.2, 5.15.
    """
    if not math.isfinite(x):
        return math.nan if not x > 0 else math.inf if order == 0 else 0.0
    if x <= 0:
        return (-1) ** order * polygamma(1 - x, order) - math.pi * cotangent(x, order)
    steps = max(math.ceil(STIRLING_FROM + order - x), 0)
    below = math.fsum((x + k) ** -(order + 1) for k in range(steps))
    return (-1) ** (order + 1) * math.factorial(order) * below + stirling(x + steps, order)


def stirling(x, order):
    """The asymptotic series of `polygamma`."""
    terms = (
        b * math.factorial(2 * k + order - 1) / math.factorial(2 * k) * x ** -(2 * k + order)
        for k, b in enumerate(BERNOULLI, 1)
    )
    lead = -math.log(x) if order == 0 else math.factorial(order - 1) * x**-order
    return (-1) ** (order + 1) * (lead + math.factorial(order) * x ** -(order + 1) / 2 + math.fsum(terms))


def cotangent(x, order):
    """The derivative of this order of c = cot πx, by recurrence: a polynomial in c, and c' = -π(1 + c²)."""
    polynomial = np.polynomial.Polynomial([0, 1])
    for _ in range(order):
        polynomial = polynomial.deriv() * np.polynomial.Polynomial([-math.pi, 0, -math.pi])
    return float(polynomial(1 / math.tan(math.pi * (x - round(x)))))


@vjp_rule(polygamma)
def polygamma_(y_bar, y, x, *, order):
    return y_bar * polygamma(x, order + 1)


@jvp_rule(polygamma, broadcasts=True)
def push_polygamma(tangents, y, x, *, order):
    return tangents[0] * polygamma(x, order + 1)


@partials(math.gamma)
def gamma(y, x):
    return y * polygamma(x, 0)


@partials(math.lgamma)
def lgamma(y, x):
    return polygamma(x, 0)


def bessel_i(x, order):
    """The modified Bessel function Iₙ(x), for a whole n: the mean of exp(x cos θ) cos nθ over a quarter turn."""
    half = np.sinh if order % 2 else np.cosh
    total = 0
    for k in range(ANGLES):
        theta = math.pi * (k + 0.5) / (2 * ANGLES)
        total = total + math.cos(order * theta) * half(x * math.cos(theta))
    return total / ANGLES


@vjp_rule(bessel_i)
def bessel_i_(y_bar, y, x, *, order):
    return y_bar * conj((bessel_i(x, order - 1) + bessel_i(x, order + 1)) / 2)


@jvp_rule(bessel_i, broadcasts=True)
def push_bessel_i(tangents, y, x, *, order):
    return tangents[0] * (bessel_i(x, order - 1) + bessel_i(x, order + 1)) / 2


@partials(np.i0)
def i0(y, x):
    return bessel_i(x, 1)


@partials(np.sinc)
def sinc(y, x):
    """(cos πx - y)/x, and by its series near 0, where the difference cancels."""
    small = np.absolute(x) < 0.5
    near, far = np.where(small, x, 0), np.where(small, 1, x)
    total = 0
    for coefficient in SINC:
        total = total * (math.pi * near) ** 2 + coefficient
    return np.where(small, math.pi**2 * near * total, (np.cos(math.pi * far) - y) / far)
