"""Ufuncs of distributions whose slopes are closed forms."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from wengert_rules.scipy.special.private import of_private
from wengert_rules.scipy.special.refusals import WHOLE, refused

ROOT_2PI = math.sqrt(2 * math.pi)


@of_private("_cauchy_ppf")
def cauchy_ppf(y, q, loc, scale):
    z = (y - loc) / scale
    return math.pi * scale * (1 + z * z), 1, z


@of_private("_cauchy_isf")
def cauchy_isf(y, q, loc, scale):
    z = (y - loc) / scale
    return -math.pi * scale * (1 + z * z), 1, z


@of_private("_cosine_cdf")
def cosine_cdf(y, x):
    return np.where(np.absolute(x) < math.pi, (1 + np.cos(x)) / (2 * math.pi), 0)


@of_private("_cosine_invcdf")
def cosine_quantile(y, q):
    return 2 * math.pi / (1 + np.cos(y))


def invgauss_pdf(x, mu, scale):
    return np.sqrt(scale / x**3) / ROOT_2PI * np.exp(-scale / x * (x / mu - 1) ** 2 / 2)


def invgauss_slope(x, mu, scale):
    """∂F/∂μ: two terms of the cumulative distribution's have equal and opposite slopes, this is the third's."""
    return -2 * scale / mu**2 * np.exp(2 * scale / mu + special.log_ndtr(-np.sqrt(scale / x) * (x / mu + 1)))


@of_private("_invgauss_ppf")
def invgauss_ppf(y, q, mu, scale):
    """That y/scale depends on μ/scale alone gives the last."""
    slope = -invgauss_slope(y, mu, scale) / invgauss_pdf(y, mu, scale)
    return 1 / invgauss_pdf(y, mu, scale), slope, (y - mu * slope) / scale


@of_private("_invgauss_isf")
def invgauss_isf(y, q, mu, scale):
    slope = -invgauss_slope(y, mu, scale) / invgauss_pdf(y, mu, scale)
    return -1 / invgauss_pdf(y, mu, scale), slope, (y - mu * slope) / scale


def skewnorm_pdf(z, a):
    return 2 / ROOT_2PI * np.exp(-z * z / 2 + special.log_ndtr(a * z))


@of_private("_skewnorm_cdf")
def skewnorm_cdf(y, x, loc, scale, a):
    z = (x - loc) / scale
    pdf = skewnorm_pdf(z, a) / scale
    return pdf, -pdf, -z * pdf, -np.exp(-z * z * (1 + a * a) / 2) / (math.pi * (1 + a * a))


def skewnorm_shift(z, a):
    """-∂F/∂a over the density."""
    return np.exp(-((a * z) ** 2) / 2 - special.log_ndtr(a * z)) * ROOT_2PI / (2 * math.pi * (1 + a * a))


@of_private("_skewnorm_ppf")
def skewnorm_ppf(y, q, loc, scale, a):
    z = (y - loc) / scale
    return scale / skewnorm_pdf(z, a), 1, z, scale * skewnorm_shift(z, a)


@of_private("_skewnorm_isf")
def skewnorm_isf(y, q, loc, scale, a):
    z = (y - loc) / scale
    return -scale / skewnorm_pdf(z, a), 1, z, scale * skewnorm_shift(z, a)


@of_private("_log1mexp")
def log1mexp(y, x):
    """log(1 - eˣ)."""
    return -1 / np.expm1(-x)


@of_private("_scaled_exp1")
def scaled_exp1(y, x):
    """x eˣ E₁(x), and by its series where the difference cancels."""
    far = x > 100
    inverse = 1 / np.where(far, x, 100)
    total = 0 * inverse
    for k in range(12, 0, -1):
        total = k * math.factorial(k) - total * inverse
    return np.where(far, total * inverse**2, y * (1 + 1 / np.where(x == 0, 1, x)) - 1)


@of_private("_iv_ratio")
def iv_ratio(y, v, x):
    """Iᵥ(x)/Iᵥ₋₁(x), by the recurrences of both."""
    return refused(WHOLE), 1 - y * y - (2 * v - 1) / x * y
