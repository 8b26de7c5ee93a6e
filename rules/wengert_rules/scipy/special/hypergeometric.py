"""Hypergeometric functions, Wright's and Lambert's, and zeta: their arguments, and the parameters of zeta."""

from __future__ import annotations

import math

import numpy as np
from scipy import special
from scipy.special import _lambertw, _ufuncs

from wengert.extend import batching, computes, partials
from wengert_rules.batches.elementwise import elementwise
from wengert_rules.scipy.special.gammas import polygamma
from wengert_rules.scipy.special.refusals import PARAMETER, WHOLE, refused
from wengert_rules.scipy.special.series import hypergeometric
from wengert_rules.special_functions import BERNOULLI

TERMS = 24  # of the sum before Euler and Maclaurin's formula


@partials(special.hyp0f1)
def hyp0f1(y, v, z):
    return hypergeometric(1.0, 1.0, v, z, (0, 0, 1, 0), 1), special.hyp0f1(v + 1, z) / v


@partials(special.hyp1f1)
def hyp1f1(y, a, b, z):
    """On the left by Kummer's transformation, M(a, b, z) = eᶻ M(b - a, b, -z), whose terms do not cancel."""
    left = np.real(z) < 0
    factor, first, there = np.where(left, np.exp(z), 1), np.where(left, b - a, a), np.where(left, -z, z)
    to_first = factor * hypergeometric(first, 1.0, b, there, (1, 0, 0, 0), 11)
    to_b = factor * hypergeometric(first, 1.0, b, there, (0, 0, 1, 0), 11) + np.where(left, to_first, 0)
    return np.where(left, -to_first, to_first), to_b, a / b * special.hyp1f1(a + 1, b + 1, z)


@partials(special.hyp2f1)
def hyp2f1(y, a, b, c, z):
    to_a, to_b = hypergeometric(a, b, c, z, (1, 0, 0, 0), 21), hypergeometric(a, b, c, z, (0, 1, 0, 0), 21)
    slope = a * b / c * special.hyp2f1(a + 1, b + 1, c + 1, z)
    return to_a, to_b, hypergeometric(a, b, c, z, (0, 0, 1, 0), 21), slope


@partials(special.hyperu)
def hyperu(y, a, b, x):
    return refused(PARAMETER), refused(PARAMETER), -a * special.hyperu(a + 1, b + 1, x)


@partials(special.wright_bessel)
def wright_bessel(y, a, b, x):
    return refused(PARAMETER), refused(PARAMETER), special.wright_bessel(a, a + b, x)


if hasattr(special, "log_wright_bessel"):  # from SciPy 1.14

    @partials(special.log_wright_bessel)
    def log_wright_bessel(y, a, b, x):
        return refused(PARAMETER), refused(PARAMETER), np.exp(special.log_wright_bessel(a, a + b, x) - y)


@partials(_lambertw._lambertw)
def lambertw(w, z, k, tol):
    return np.exp(-w) / (1 + w), refused(WHOLE), 0


@partials(special.wrightomega)
def wrightomega(y, x):
    """y + log y = x."""
    return y / (1 + y)


def times(p, q):
    """The product of two truncated Taylor series."""
    return [sum(p[j] * q[k - j] for j in range(k + 1)) for k in range(len(p))]


def zeta_slope(x, q, order):
    """∂ⁿζ(x, q)/∂xⁿ: by Euler and Maclaurin's formula, as a Taylor series in x; for x < 0 and q = 1 by reflection.

    Source: NIST Digital Library of Mathematical Functions, 25.11.5, 25.4.1.
    """
    x, q = np.broadcast_arrays(np.asarray(x) + 0.0, np.asarray(q, float))
    with np.errstate(all="ignore"):
        left = (np.real(x) < 0) & (q == 1)
        right = zeta_series(np.where(left, 1 - x, x), q, order)
        if not np.any(left):
            return (math.factorial(order) * right[order])[()]
        reflected = times([(-1) ** k * c for k, c in enumerate(right)], zeta_mirror(np.where(left, x, -1.5), order))
        return (math.factorial(order) * np.where(left, reflected[order], right[order]))[()]


def power_series(base, x, order):
    """The Taylor series of baseˣ in x."""
    log = np.log(base)
    return [base**x * log**k / math.factorial(k) for k in range(order + 1)]


def zeta_series(x, q, order):
    terms = [power_series(1.0 / (q + k), x, order) for k in range(TERMS)]
    far = q + TERMS
    last = power_series(1.0 / far, x, order)
    pole = [(-1) ** k / (x - 1) ** (k + 1) for k in range(order + 1)]
    tail = [far * c + h / 2 for c, h in zip(times(last, pole), last, strict=True)]
    rising = last
    for k, b in enumerate(BERNOULLI, 1):
        for shift in (0,) if k == 1 else (2 * k - 3, 2 * k - 2):
            rising = times(rising, [x + shift, *[np.ones_like(x), *[np.zeros_like(x)] * order][:order]])
        tail = [t + b / math.factorial(2 * k) * c * far ** (1.0 - 2 * k) for t, c in zip(tail, rising, strict=True)]
    return [sum(term[k] for term in terms) + tail[k] for k in range(order + 1)]


def zeta_mirror(x, order):
    """The series of 2ˣ πˣ⁻¹ sin(πx/2) Γ(1 - x), which takes ζ(1 - x) to ζ(x)."""
    sine = [(math.pi / 2) ** k * np.sin(math.pi / 2 * (x + k)) / math.factorial(k) for k in range(order + 1)]
    return times(times(power_series(2 * math.pi, x, order), sine), [c / math.pi for c in gamma_series(1 - x, order)])


def gamma_series(x, order):
    """The Taylor series of Γ(x - t) in t."""
    made = [special.gamma(x)]
    logs = [-special.digamma(x), *[(-1) ** k * polygamma(x, k - 1) for k in range(2, order + 1)]]
    for n in range(order):
        made.append(sum(logs[j] / math.factorial(j) * made[n - j] for j in range(n + 1)) / (n + 1))
    return made


@partials(zeta_slope)
def zeta_slope_(y, x, q, *, order):
    """Of ζ(x, q), ∂/∂q is -x ζ(x + 1, q), whose slopes in x these are."""
    below = order * zeta_slope(x + 1, q, max(order - 1, 0))
    return zeta_slope(x, q, order + 1), -x * zeta_slope(x + 1, q, order) - below


computes(zeta_slope)
batching(zeta_slope)(elementwise)


@partials(_ufuncs._zeta)
def zeta(y, x, q):
    return zeta_slope(x, q, 1), -x * _ufuncs._zeta(x + 1, q)


@partials(_ufuncs._riemann_zeta, special.zetac)
def riemann_zeta(y, x):
    return zeta_slope(x, 1.0, 1)
