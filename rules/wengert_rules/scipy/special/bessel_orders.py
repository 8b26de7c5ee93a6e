"""Slopes in the order: of log Kₚ(z) by means under exp(-z cosh t) cosh pt, of Iᵥ and Jᵥ by their series."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wengert.extend import partials
from wengert_rules.scipy.special.nodes import grid, log_sum, mean, shares, spread
from wengert_rules.scipy.special.series import hypergeometric

FALL = 45.0  # e⁻⁴⁵ of the largest counts as nothing


def terms(p, z):
    """t, the logarithm of what is integrated, and of the distance of two t.

    Source: NIST Digital Library of Mathematical Functions, 10.32.9.
    """
    order = np.absolute(p)
    peak, size = np.arcsinh(order / z), np.hypot(order, z)
    fall = (FALL + np.sqrt(2 * FALL * order)) / np.maximum(order, 1e-300) + 1
    t, step = grid(np.maximum(peak - fall, 0), peak + np.arccosh(1 + FALL / size))
    p, z = spread(order, z)
    ends = np.where(t == 0, math.log(2), 0)
    return t, p * t + np.log1p(np.exp(-2 * p * t)) - math.log(2) - z * np.cosh(t) - ends, step


def log_bessel_k(p, z):
    """log Kₚ(z), for any real order."""
    _, logs, step = terms(p, z)
    return log_sum(logs) + step


def by_order(p, z):
    t, logs, _ = terms(p, z)
    return mean(shares(logs), t * np.tanh(spread(p)[0] * t))


def by_argument(p, z):
    t, logs, _ = terms(p, z)
    return -mean(shares(logs), np.cosh(t))


@partials(log_bessel_k)
def log_bessel_k_(y, p, z):
    return by_order(p, z), by_argument(p, z)


def by_series(v, z, sign):
    """∂/∂v of (z/2)ᵛ/Γ(v + 1) ₀F₁(; v + 1; ±z²/4), which is Iᵥ(z) or Jᵥ(z); 0 where z is, as it is for v > 0."""
    half = np.where(z == 0, 1, z) / 2
    square = sign * half * half
    moved = hypergeometric(1.0, 1.0, v + 1, square, (0, 0, 1, 0), 1)
    whole = (np.log(half) - special.digamma(v + 1)) * special.hyp0f1(v + 1, square) + moved
    return np.where(z == 0, 0, half**v * special.rgamma(v + 1) * whole)
