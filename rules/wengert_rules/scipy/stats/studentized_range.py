"""The studentized range: integrals over s = √(χ²/df) and over the smallest of k normal deviates, and their slopes."""

from __future__ import annotations

import math

import numpy as np
from scipy import special, stats

from wengert.extend import computes, partials, stands_for
from wengert_rules.scipy.special.nodes import grid, spread
from wengert_rules.scipy.special.noncentral_t import log_norm, score
from wengert_rules.scipy.stats.methods import own, untraced

ENDLESS = 100_000  # degrees of freedom from which on SciPy takes s for 1
ROOT_2PI = math.sqrt(2 * math.pi)
FALL = 38.0


def normal(z):
    return np.exp(-z * z / 2) / ROOT_2PI


@computes
def nodes(x, k, df):
    """s with its weights and the slope of their logarithms in df, on the last axis but one, z with its distance."""
    wide = 9 / np.sqrt(2 * np.minimum(df, ENDLESS))
    u, step = grid(-np.maximum(wide, FALL / df), wide)
    x, k, df, step = spread(x, k, df, step)
    weights = np.exp(df * u - df * np.exp(2 * u) / 2 + log_norm(df) + step)
    endless = df >= ENDLESS
    s = np.where(endless, 1, np.exp(u))
    weights, slope = np.where(endless, weights / np.sum(weights, axis=-1, keepdims=True), weights), score(u, df)
    width = x * s
    z, distance = grid(np.minimum(-9, -9 - width), np.full(np.shape(width), 9.0))
    return [a[..., np.newaxis] for a in (x, k, s, np.where(endless, 0, slope))], weights, z, np.exp(distance)


def inner(f, x, k, df):
    """The sum over s and z of f(x, k, s, score, z, Φ(z + xs) - Φ(z))."""
    (x, k, s, slope), weights, z, distance = nodes(x, k, df)
    share = special.ndtr(z + x * s) - special.ndtr(z)
    return np.sum(
        weights * distance * np.sum(f(k, s, slope, z, z + x * s, np.maximum(share, 1e-300)), axis=-1), axis=-1
    )


def range_cdf(x, k, df):
    return stats.studentized_range._cdf(*untraced(x, k, df))


def range_pdf(x, k, df):
    return stats.studentized_range._pdf(*untraced(x, k, df))


@stands_for(*own("studentized_range", "_cdf"))
def studentized_range_cdf(self, x, k, df):
    return range_cdf(x, k, df)


@stands_for(*own("studentized_range", "_pdf"))
def studentized_range_pdf(self, x, k, df):
    return range_pdf(x, k, df)


@computes
def cdf_by_k(x, k, df):
    return inner(lambda k, s, slope, z, top, d: normal(z) * d ** (k - 1) * (1 + k * np.log(d)), x, k, df)


@computes
def cdf_by_df(x, k, df):
    return inner(lambda k, s, slope, z, top, d: slope * k * normal(z) * d ** (k - 1), x, k, df)


@partials(range_cdf)
def range_cdf_(y, x, k, df):
    return range_pdf(x, k, df), cdf_by_k(x, k, df), cdf_by_df(x, k, df)


def pairs(k, s, z, top, d):
    """The density of z and `top` as the smallest and largest, over that of s."""
    return s * k * (k - 1) * normal(z) * normal(top) * d ** (k - 2)


@computes
def pdf_by_x(x, k, df):
    def f(k, s, slope, z, top, d):
        return pairs(k, s, z, top, d) * s * ((k - 2) * normal(top) / d - top)

    return inner(f, x, k, df)


@computes
def pdf_by_k(x, k, df):
    def f(k, s, slope, z, top, d):
        return pairs(k, s, z, top, d) * ((2 * k - 1) / (k * (k - 1)) + np.log(d))

    return inner(f, x, k, df)


@computes
def pdf_by_df(x, k, df):
    return inner(lambda k, s, slope, z, top, d: slope * pairs(k, s, z, top, d), x, k, df)


@partials(range_pdf)
def range_pdf_(y, x, k, df):
    return pdf_by_x(x, k, df), pdf_by_k(x, k, df), pdf_by_df(x, k, df)
