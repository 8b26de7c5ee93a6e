"""Slopes of log Kₚ(z) in its order and argument: means of t tanh pt and cosh t under exp(-z cosh t) cosh pt."""

from __future__ import annotations

import math

import numpy as np

from wengert.extend import partials
from wengert_rules.scipy.special.nodes import grid, log_sum, mean, shares, spread

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
