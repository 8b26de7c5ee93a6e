"""The noncentral χ² density by its logarithm, Gauss' hypergeometric law, and two normal deviates."""

from __future__ import annotations

import math

import numpy as np
from scipy import special
from scipy.stats import _continuous_distns

from wengert.extend import partials, stands_for
from wengert_rules.scipy.optional import if_present, present
from wengert_rules.scipy.special.nodes import mean, shares, sinh_grid, spread
from wengert_rules.scipy.special.noncentral import ncx2_by_df, ncx2_by_nc, ncx2_by_x
from wengert_rules.scipy.stats.methods import own

FALL = 38.0  # e⁻³⁸ counts as nothing


@partials(_continuous_distns._ncx2_log_pdf)
def ncx2_logpdf(y, x, df, nc):
    return ncx2_by_x(x, df, nc), ncx2_by_df(x, df, nc), ncx2_by_nc(x, df, nc)


def log_constant(a, b, c, z):
    """log ∫ tᵃ⁻¹ (1 - t)ᵇ⁻¹ (1 + zt)⁻ᶜ dt, from 0 to 1."""
    return special.betaln(a, b) + np.log(special.hyp2f1(c, a, a + b, -z))


@partials(log_constant)
def log_constant_(y, a, b, c, z):
    """Means under what is integrated, over v = logit t."""
    width = np.sqrt(1 / a + 1 / b)
    v, weights = sinh_grid(np.log(a / b), width, FALL / a + 9 * width, FALL / b + 9 * width)
    a, b, c, z = spread(a, b, c, z)
    t, log_t, log_rest = special.expit(v), special.log_expit(v), special.log_expit(-v)
    share = shares(weights + a * log_t + b * log_rest - c * np.log1p(z * t))
    by_z = -c[..., 0] * mean(share, t / (1 + z * t))
    return mean(share, log_t), mean(share, log_rest), -mean(share, np.log1p(z * t)), by_z


@stands_for(*own("gausshyper", "_pdf"))
def gausshyper_pdf(self, x, a, b, c, z):
    logs = (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - c * np.log1p(z * x)
    return np.exp(logs - log_constant(a, b, c, z))


BIVARIATE = "special._ufuncs._bivariate_normal_cdf", "stats._qmvnt._bvnu"  # that of this SciPy, if it has one


def slope_of_tail(h, k, r):
    """-∂/∂h of the probability that two normal deviates of correlation r exceed h and k."""
    x = np.where(np.isinf(h), 0, h)
    tail = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * special.ndtr((r * x - k) / np.sqrt(1 - r * r))
    return np.where(np.isinf(h), 0, tail)


@if_present(partials, *BIVARIATE)
def bivariate_normal(y, h, k, r):
    ends, rest = np.isinf(h) | np.isinf(k), 1 - r * r
    x, z = np.where(ends, 0, h), np.where(ends, 0, k)
    density = np.exp(-(x * x - 2 * r * x * z + z * z) / (2 * rest)) / (2 * math.pi * np.sqrt(rest))
    return -slope_of_tail(h, k, r), -slope_of_tail(k, h, r), np.where(ends, 0, density)


@stands_for(*present("stats._qmvnt._bvn"))
def bvn(a, b, A):
    """The probability between the corners a and b; one that is infinite is so in any unit."""
    s1, s2 = np.sqrt(A[0, 0]), np.sqrt(A[1, 1])
    xl, xu, yl, yu = [v if np.isinf(v) else v / s for v, s in ((a[0], s1), (b[0], s1), (a[1], s2), (b[1], s2))]
    tail = present(*BIVARIATE)[0]
    above = [tail(x, y, A[0, 1] / (s1 * s2)) for x, y in ((xl, yl), (xu, yl), (xl, yu), (xu, yu))]
    return np.clip(above[0] - above[1] - above[2] + above[3], 0.0, 1.0)
