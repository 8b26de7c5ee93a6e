"""Noncentral t: a normal deviate with mean nc over s = √(χ²/df), integrated over u = log s."""

from __future__ import annotations

import math

import numpy as np
from scipy import special
from scipy.special import _ufuncs

from wengert.extend import computes, partials
from wengert_rules.scipy.special.nodes import log_sum, mean, shares, sinh_grid, spread
from wengert_rules.scipy.special.private import of_private

FALL = 38.0  # e⁻³⁸ counts as nothing


def at_x(x, df, nc):
    """Where the density at x has its peak in u, and how wide that is."""
    drift, total = x * nc, x * x + df
    s = (drift + np.sqrt(drift * drift + 4 * df * total)) / (2 * total)
    return np.log(s), 1 / np.sqrt(2 * s * s * total - s * drift)


def density_at(x, df, nc):
    """u, and the logarithm of its share of the density at x, but for a constant; on the left it falls as e^(df u)."""
    peak, width = at_x(x, df, nc)
    u, weights = sinh_grid(peak, width, np.maximum(9 * width, FALL / df), 9 * width)
    x, df, nc = spread(x, df, nc)
    return u, weights + (df + 1) * u - df * np.exp(2 * u) / 2 - (x * np.exp(u) - nc) ** 2 / 2


def log_norm(df):
    """The logarithm of χ's density's constant, in terms of s."""
    return math.log(2) + df / 2 * np.log(df / 2) - special.gammaln(df / 2)


def score(u, df):
    """The slope of the logarithm of the density of s in df."""
    return (np.log(df / 2) + 1 - special.digamma(df / 2)) / 2 + u - np.exp(2 * u) / 2


@of_private("_nct_pdf")
def nct_pdf(y, x, df, nc):
    u, logs = density_at(x, df, nc)
    share, s = shares(logs), np.exp(u)
    x, df, nc = spread(x, df, nc)
    miss = x * s - nc
    return -y * mean(share, miss * s), y * mean(share, score(u, df)), y * mean(share, miss)


@computes
def nct_cdf_by_df(x, df, nc, sign=1):
    """The slope of P(T < x) in df, or of P(T > x) where `sign` is -1, from the smaller of the two."""
    left = special.nctdtr(df, nc, x) < 0.5
    peak, width = at_x(x, df, nc)
    spreads = 9 / np.sqrt(2 * df)
    to_left, to_right = np.maximum(FALL / df, spreads + 9 * width - peak), np.maximum(spreads, 9 * width + peak)
    u, weights = sinh_grid(0 * peak, spreads / 9, to_left, to_right)
    side, x, df, nc = spread(np.where(left, 1.0, -1.0), x, df, nc)
    logs = weights + df * u - df * np.exp(2 * u) / 2 + special.log_ndtr(side * (x * np.exp(u) - nc))
    total = np.exp(log_sum(logs) + log_norm(df)[..., 0]) * mean(shares(logs), score(u, df))
    return sign * side[..., 0] * total


def nct_cdf_by_nc(x, df, nc):
    u, logs = density_at(x, df, nc)
    return -_ufuncs._nct_pdf(x, df, nc) * mean(shares(logs), np.exp(-u))


@partials(special.nctdtr)
def nct_cdf(y, df, nc, x):
    return nct_cdf_by_df(x, df, nc), nct_cdf_by_nc(x, df, nc), _ufuncs._nct_pdf(x, df, nc)


@of_private("_nct_sf")
def nct_sf(y, x, df, nc):
    return -_ufuncs._nct_pdf(x, df, nc), nct_cdf_by_df(x, df, nc, -1), -nct_cdf_by_nc(x, df, nc)


@partials(special.nctdtrit)
def nct_ppf(y, df, nc, q):
    pdf = _ufuncs._nct_pdf(y, df, nc)
    return -nct_cdf_by_df(y, df, nc) / pdf, -nct_cdf_by_nc(y, df, nc) / pdf, 1 / pdf


@of_private("_nct_isf")
def nct_isf(y, q, df, nc):
    pdf = _ufuncs._nct_pdf(y, df, nc)
    return -1 / pdf, -nct_cdf_by_df(y, df, nc) / pdf, -nct_cdf_by_nc(y, df, nc) / pdf
