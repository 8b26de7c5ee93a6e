"""Landau's density and its slope, by integrals over a vertical line or over the cut of the plane."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import _ufuncs

from wengert_rules.scipy.special.nodes import DECAYS, WEIGHTS, spread
from wengert_rules.scipy.special.private import of_private
from wengert_rules.scipy.special.refusals import refused

MIDDLE = 0.5
STANDARD = "this function has no derivative in loc and scale. Use scipy.stats.landau, which has these derivatives"
HEIGHTS = np.linspace(0.0, 1.0, 257)


def slope_of_standard(z):
    """The derivative of (1/2πi) ∫ exp(s log s + zs) ds, Landau's own form of the density.

    Upwards through the saddle point e⁻¹⁻ᶻ, where that is far from the cut of the logarithm; else along the cut.
    """
    left, right = spread(np.where(z < MIDDLE, z, MIDDLE), np.where(z < MIDDLE, MIDDLE, z))
    saddle = np.exp(-1 - left)
    top = 9 * np.sqrt(saddle) + 30
    s = saddle + 1j * top * HEIGHTS
    ends = np.where((HEIGHTS == 0) | (HEIGHTS == 1), 0.5, 1) * top * HEIGHTS[1] / math.pi
    near = np.sum(ends * np.real(s * np.exp(s * np.log(s) + left * s)), axis=-1)
    t = DECAYS / right
    far = np.sum(WEIGHTS / right * np.exp(-right * t - t * np.log(t)) * t * np.sin(math.pi * t), axis=-1) / math.pi
    return np.where(z < MIDDLE, near, -far)


@of_private("_landau_pdf")
def landau_pdf(y, x, loc, scale):
    """SciPy's density is π/2 times that at πx/2 + log π/2."""
    slope = (math.pi / 2) ** 2 * slope_of_standard(math.pi / 2 * x + math.log(math.pi / 2))
    return slope, refused(STANDARD), refused(STANDARD)


@of_private("_landau_cdf")
def landau_cdf(y, x, loc, scale):
    return _ufuncs._landau_pdf(x, loc, scale), refused(STANDARD), refused(STANDARD)


@of_private("_landau_sf")
def landau_sf(y, x, loc, scale):
    return -_ufuncs._landau_pdf(x, loc, scale), refused(STANDARD), refused(STANDARD)


@of_private("_landau_ppf")
def landau_ppf(y, q, loc, scale):
    return 1 / _ufuncs._landau_pdf(y, loc, scale), refused(STANDARD), refused(STANDARD)


@of_private("_landau_isf")
def landau_isf(y, q, loc, scale):
    return -1 / _ufuncs._landau_pdf(y, loc, scale), refused(STANDARD), refused(STANDARD)
