"""The gamma function and its kin: digamma and polygamma, beta, binomials, Pochhammer's symbol."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wengert.extend import batching, computes, jvp_rule, non_differentiable, partials, vjp_rule
from wengert_rules.batches.elementwise import elementwise
from wengert_rules.scipy.special.refusals import WHOLE, refused
from wengert_rules.special_functions import BERNOULLI

OVERFLOWS = 200.0  # an argument of which Γ is infinite
STEPS = 20  # of the recurrence that brings an argument to where Stirling's series holds


def polygamma(x, order):
    """ψ⁽ⁿ⁾(x) of reals and of complex numbers, element by element."""
    if order == 0:
        return special.digamma(x)
    return complex_polygamma(x, order) if np.iscomplexobj(x) else special.polygamma(order, x)


@partials(polygamma)
def polygamma_(y, x, *, order):
    return polygamma(x, order + 1)


def complex_polygamma(z, order):
    """ψ⁽ⁿ⁾(z) for n > 0: by reflection to the right half plane, by recurrence outwards, there by Stirling's series."""
    left = np.real(z) < 0.5
    right = np.where(left, 1 - z, z)
    below = sum((right + k) ** -(order + 1.0) for k in range(STEPS))
    out = right + STEPS
    series = math.factorial(order - 1) * out**-order + math.factorial(order) * out ** -(order + 1.0) / 2
    for k, b in enumerate(BERNOULLI, 1):
        series = series + b * math.factorial(2 * k + order - 1) / math.factorial(2 * k) * out ** -(2.0 * k + order)
    there = (-1) ** (order + 1) * (math.factorial(order) * below + series)
    return np.where(left, (-1) ** order * there - math.pi * cotangent(np.where(left, z, 0.5), order), there)


def cotangent(z, order):
    """The derivative of this order of cot πz: a polynomial in it."""
    c = 1 / np.tan(math.pi * (z - np.round(np.real(z))))
    polynomial = np.polynomial.Polynomial([0, 1])
    for _ in range(order):
        polynomial = polynomial.deriv() * np.polynomial.Polynomial([-math.pi, 0, -math.pi])
    total = 0
    for coefficient in polynomial.coef[::-1].tolist():
        total = total * c + coefficient
    return total


computes(polygamma)
computes(special.polygamma)


@partials(special.polygamma)
def polygamma_of_scipy(y, n, x):
    return refused(WHOLE), special.polygamma(n + 1, x)


@partials(special.gamma)
def gamma(y, x):
    return y * special.digamma(x)


@partials(special.gammaln, special.loggamma)
def gammaln(y, x):
    return special.digamma(x)


@partials(special.digamma)
def digamma(y, x):
    return polygamma(x, 1)


def reciprocal_slope(x):
    """The slope of 1/Γ(x); where that is zero, by reflection: 1/Γ(x) = Γ(1 - x) sin(πx)/π."""
    x = np.where(np.isinf(x), OVERFLOWS, x)
    left = np.real(x) < 0.5
    mirrored = np.where(left, 1 - x, 0.5)
    turn = math.pi * (x - np.round(np.real(x)))
    sign = 1 - 2 * (np.round(np.real(x)) % 2)
    wave = np.cos(turn) - special.digamma(mirrored) * np.sin(turn) / math.pi
    right = np.where(left, 0.5, x)
    return np.where(left, sign * special.gamma(mirrored) * wave, -special.rgamma(right) * special.digamma(right))


@partials(special.rgamma)
def rgamma(y, x):
    return reciprocal_slope(x)


def is_pole(x):
    """Whether x is one of 0, -1, -2, ..., where the gamma function is infinite."""
    return (x <= 0) & (x == np.round(x))


def digamma_difference(p, q):
    """ψ(p) - ψ(q): by reflection where both are infinite, by Stirling's series where both are large and it cancels."""
    both = is_pole(p) & is_pole(q)
    inner = special.digamma(np.where(both, 1 - p, p)) - special.digamma(np.where(both, 1 - q, q))
    large = (p > STEPS) & (q > STEPS)
    r, s = np.where(large, p, STEPS), np.where(large, q, STEPS)
    outer = np.log1p((r - s) / s) + (r - s) / (2 * r * s)
    for k, b in enumerate(BERNOULLI, 1):
        outer = outer - b / (2 * k) * r ** (-2.0 * k) * -np.expm1(2 * k * np.log1p((r - s) / s))
    return np.where(large, outer, inner)


@partials(digamma_difference)
def digamma_difference_(y, p, q):
    return polygamma(p, 1), -polygamma(q, 1)


@partials(special.beta)
def beta(y, a, b):
    """y (ψ(a) - ψ(a + b)); where only Γ(a + b) is infinite, y is 0 and its slope that of 1/Γ(a + b)."""
    bare = (y == 0) & is_pole(a + b)
    p, q = np.where(bare, a, 1), np.where(bare, b, 1)
    slope = special.gamma(p) * special.gamma(q) * reciprocal_slope(p + q)
    to_a, to_b = y * digamma_difference(a, a + b), y * digamma_difference(b, a + b)
    return np.where(bare, slope, to_a), np.where(bare, slope, to_b)


@partials(special.betaln)
def betaln(y, a, b):
    return digamma_difference(a, a + b), digamma_difference(b, a + b)


@partials(special.binom)
def binom(y, n, k):
    """Γ(n + 1)/(Γ(k + 1) Γ(n - k + 1)), with zeros where one of the last two is infinite."""
    bare = (y == 0) & (is_pole(k + 1) | is_pole(n - k + 1))
    m, j = np.where(bare, n, 1), np.where(bare, k, 1)
    whole, chosen, left = special.gamma(m + 1), special.rgamma(j + 1), special.rgamma(m - j + 1)
    slope = reciprocal_slope(m - j + 1)
    to_k = whole * (reciprocal_slope(j + 1) * left - chosen * slope)
    along_n, along_k = y * digamma_difference(n + 1, n - k + 1), y * digamma_difference(n - k + 1, k + 1)
    return np.where(bare, whole * chosen * slope, along_n), np.where(bare, to_k, along_k)


@partials(special.poch)
def poch(y, z, m):
    """Γ(z + m)/Γ(z), with zeros where Γ(z) is infinite."""
    bare = (y == 0) & is_pole(z)
    at = np.where(bare, z, 1)
    slope = special.gamma(np.where(bare, z + m, 1)) * reciprocal_slope(at)
    return np.where(bare, slope, y * digamma_difference(z + m, z)), y * special.digamma(z + m)


@vjp_rule(special.multigammaln, broadcasts=True)
def multigammaln(y_bar, y, a, *, d):
    return y_bar * special.digamma(np.asarray(a)[..., None] - np.arange(d) / 2).sum(-1)


@jvp_rule(special.multigammaln, broadcasts=True)
def push_multigammaln(tangents, y, a, *, d):
    return tangents[0] * special.digamma(np.asarray(a)[..., None] - np.arange(d) / 2).sum(-1)


non_differentiable(special.gammasgn)
computes(digamma_difference)
batching(polygamma, digamma_difference, special.polygamma, special.multigammaln)(elementwise)
