"""The densities of the gamma and the beta distribution, to rounding also where their parameters are large."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wengert.extend import batching, computes, partials
from wengert_rules.batches.elementwise import elementwise
from wengert_rules.scipy.special.gammas import reciprocal_slope
from wengert_rules.special_functions import BERNOULLI

STIRLING_FROM = 15.0
NEAR = 0.3
TERMS = 11  # of the series of log(1 + t) - t where |t| < NEAR


def polynomial(coefficients, x):
    """c₀ + c₁ x + c₂ x² + ..."""
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def stirling_rest(a):
    """log Γ(a) less Stirling's formula."""
    large = a > STIRLING_FROM
    out = 1 / np.where(large, a, STIRLING_FROM)
    series = out * polynomial([b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI, 1)], out * out)
    inside = np.where(large, 1.0, a)
    rest = special.gammaln(inside) - (inside - 0.5) * np.log(inside) + inside - math.log(2 * math.pi) / 2
    return np.where(large, series, rest)


def log_beyond(x, at, off):
    """log(x/at) - off/at, where off is x - at to more digits: by its series near 0."""
    t = off / at
    near = np.absolute(t) < NEAR
    close = np.where(near, t, 0.0)
    r = close / (2 + close)  # log(1 + t) = 2 artanh r, and 2 r - t = -r t
    series = r * (2 * r * r * polynomial([1 / (2 * k + 3) for k in range(TERMS)], r * r) - close)
    return np.where(near, series, np.log(x / at) - t)


def gamma_weight(a, x):
    """xᵃ e⁻ˣ/Γ(a), for a > 0."""
    return np.sqrt(a / (2 * math.pi)) * np.exp(a * log_beyond(x, a, x - a) - stirling_rest(a))


def beta_weight(a, b, x):
    """xᵃ (1 - x)ᵇ/B(a, b), for a, b > 0."""
    n = a + b
    off = (b * x - a * (1 - x)) / n
    exponent = a * log_beyond(x, a / n, off) + b * log_beyond(1 - x, b / n, -off)
    rest = stirling_rest(n) - stirling_rest(a) - stirling_rest(b)
    return np.sqrt(a * b / (2 * math.pi * n)) * np.exp(exponent + rest)


def gamma_density(a, x):
    """xᵃ⁻¹ e⁻ˣ/Γ(a), which is 0 where Γ(a) is infinite."""
    a, x = np.asarray(a, float), np.asarray(x, float)
    with np.errstate(all="ignore"):
        inside = (a > 0) & (x > 0)
        far = gamma_weight(np.where(inside, a, 1.0), np.where(inside, x, 1.0)) / np.where(inside, x, 1.0)
        top = special.rgamma(a)
        edge = np.where(top == 0, 0.0, top * x ** (a - 1) * np.exp(-x))
        return np.where(x < 0, 0.0, np.where(inside, np.where(np.isinf(x), 0.0, far), edge))[()]


@partials(gamma_density)
def gamma_density_(y, a, x):
    """y (log x - ψ(a)); a pole of Γ is left with the slope of 1/Γ.  ∂y/∂x is the difference to the density of a - 1."""
    below = np.where(x > 0, x, 1)
    pole = reciprocal_slope(np.where(a < 0.5, a, 0.0)) * below ** (a - 1) * np.exp(-below)
    first = y * np.log(below)
    moved = first + np.where(a < 0.5, pole, -y * special.digamma(np.where(a < 0.5, 1.0, a)))
    return np.where(x > 0, moved, 0), gamma_density(a - 1, x) - y


def beta_density(a, b, x):
    """xᵃ⁻¹ (1 - x)ᵇ⁻¹/B(a, b), which is 0 where Γ(a) or Γ(b) is infinite, and outside of [0, 1]."""
    a, b, x = np.asarray(a, float), np.asarray(b, float), np.asarray(x, float)
    with np.errstate(all="ignore"):
        inside = (a > 0) & (b > 0) & (x > 0) & (x < 1)
        p, q, t = [np.where(inside, v, 0.5) for v in (a, b, x)]
        top = special.rgamma(a) * special.rgamma(b)
        edge = np.where(top == 0, 0.0, top * special.gamma(a + b) * x ** (a - 1) * (1 - x) ** (b - 1))
        found = np.where(inside, beta_weight(p, q, t) / (t * (1 - t)), edge)
        return np.where((x < 0) | (x > 1), 0.0, found)[()]


@partials(beta_density)
def beta_density_(y, a, b, x):
    """y (log x - ψ(a) + ψ(a + b)), and ∂y/∂x by the densities of a - 1 and of b - 1."""
    inside = (x > 0) & (x < 1)
    t = np.where(inside, x, 0.5)
    both = special.digamma(a + b)
    to_a = np.where(inside, y * (np.log(t) - special.digamma(a) + both), 0)
    to_b = np.where(inside, y * (np.log1p(-t) - special.digamma(b) + both), 0)
    return to_a, to_b, (a + b - 1) * (beta_density(a - 1, b, x) - beta_density(a, b - 1, x))


computes(gamma_density)
computes(beta_density)
batching(gamma_density, beta_density)(elementwise)
