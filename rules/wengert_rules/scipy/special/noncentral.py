"""Noncentral χ² and F: mixtures of central densities, whose slopes are means under the mixture.

A density is y = Σ eˡ with positive terms, so that ∂y/∂θ = y · mean(∂l/∂θ): as accurate as y, however small that is. The
slopes of a distribution function in its degrees of freedom are those of the density, integrated over the nearer tail.
"""

from __future__ import annotations

import numpy as np
from scipy import special
from scipy.special import _ufuncs

from wengert.extend import computes, partials
from wengert_rules.scipy.special.nodes import in_tail, log_sum, mean, shares, spread
from wengert_rules.scipy.special.private import of_private


def root(b, c):
    """The positive root of j² + bj = c, where the terms of a mixture stop to grow."""
    return np.maximum(np.sqrt(b * b / 4 + c) - b / 2, 0)


COUNT = 128


def around(peak):
    """Return whole numbers j on a new last axis, and the logarithm of their distance.

    The terms of a mixture, largest at `peak`, vanish beyond them. Terms that are many are smooth: of more than COUNT,
    each j stands for as many as its distance.
    """
    reach = np.ceil(9 * np.sqrt(peak + 1) + 12)
    first, stride = spread(np.maximum(np.floor(peak - reach), 0), np.ceil(2 * reach / COUNT))
    return first + stride * np.arange(COUNT), np.log(stride)


def ncx2_mixture(x, df, nc):
    """Of Poisson's j, times the density of df + 2j degrees of freedom: j, and the share of each."""
    j, step = around(root(df / 2 - 1, nc * x / 4))
    x, df, nc = spread(x, df, nc)
    return j, shares(step + j * np.log(nc * x / 4) - special.gammaln(j + 1) - special.gammaln(df / 2 + j))


def ncx2_by_x(x, df, nc):
    """∂ log f/∂x."""
    j, share = ncx2_mixture(x, df, nc)
    return (df / 2 - 1 + mean(share, j)) / x - 0.5


def ncx2_by_df(x, df, nc):
    j, share = ncx2_mixture(x, df, nc)
    return (np.log(x / 2) - mean(share, special.digamma(spread(df / 2)[0] + j))) / 2


def ncx2_by_nc(x, df, nc):
    j, share = ncx2_mixture(x, df, nc)
    return mean(share, j) / nc - 0.5


@of_private("_ncx2_pdf")
def ncx2_pdf(y, x, df, nc):
    return y * ncx2_by_x(x, df, nc), y * ncx2_by_df(x, df, nc), y * ncx2_by_nc(x, df, nc)


@computes
def ncx2_cdf_by_df(x, df, nc):
    """∂F/∂df, from the nearer tail."""
    left = special.chndtr(x, df, nc) < 0.5
    width = np.minimum(np.sqrt(2 * df + 4 * nc) / (df + nc), 1)
    tail = in_tail(lambda u, *args: _ufuncs._ncx2_pdf(u, *args) * ncx2_by_df(u, *args), x, (df, nc), left, width)
    return np.where(left, tail, -tail)


@partials(special.chndtr)
def ncx2_cdf(y, x, df, nc):
    return _ufuncs._ncx2_pdf(x, df, nc), ncx2_cdf_by_df(x, df, nc), -_ufuncs._ncx2_pdf(x, df + 2, nc)


@of_private("_ncx2_sf")
def ncx2_sf(y, x, df, nc):
    return -_ufuncs._ncx2_pdf(x, df, nc), -ncx2_cdf_by_df(x, df, nc), _ufuncs._ncx2_pdf(x, df + 2, nc)


@partials(special.chndtrix)
def ncx2_ppf(y, q, df, nc):
    pdf = _ufuncs._ncx2_pdf(y, df, nc)
    return 1 / pdf, -ncx2_cdf_by_df(y, df, nc) / pdf, _ufuncs._ncx2_pdf(y, df + 2, nc) / pdf


@of_private("_ncx2_isf")
def ncx2_isf(y, q, df, nc):
    pdf = _ufuncs._ncx2_pdf(y, df, nc)
    return -1 / pdf, -ncx2_cdf_by_df(y, df, nc) / pdf, _ufuncs._ncx2_pdf(y, df + 2, nc) / pdf


def ncf_terms(x, dfn, dfd, nc):
    """Terms of the density, Poisson's of j times that of F with dfn + 2j: a = dfn/2 + j, b = dfd/2, and their logs.

    Factors without j are left out.
    """
    rate = nc / 2 * dfn * x / (dfn * x + dfd)
    j, step = around(root(dfn / 2 - rate, rate * (dfn + dfd) / 2))
    rate, a, b = spread(rate, dfn / 2, dfd / 2)
    a = a + j
    return a, b, step + j * np.log(rate) - special.gammaln(j + 1) + special.gammaln(a + b) - special.gammaln(a)


def ncf_mixture(x, dfn, dfd, nc):
    a, b, logs = ncf_terms(x, dfn, dfd, nc)
    return a, b, shares(logs)


def ncf_density(x, dfn, dfd, nc):
    """The density, also where SciPy's ends, at 10¹⁶: it falls so slowly that this matters."""
    odds = dfn * x / dfd
    fixed = dfn / 2 * np.log(odds) - (dfn + dfd) / 2 * np.log1p(odds) - special.gammaln(dfd / 2) - nc / 2
    return np.exp(log_sum(ncf_terms(x, dfn, dfd, nc)[2]) + fixed) / x


def ncf_by_x(x, dfn, dfd, nc):
    """∂ log f/∂x."""
    a, b, share = ncf_mixture(x, dfn, dfd, nc)
    return (mean(share, a) - 1) / x - mean(share, a + b) * dfn / (dfd + dfn * x)


def ncf_by_dfn(x, dfn, dfd, nc):
    a, b, share = ncf_mixture(x, dfn, dfd, nc)
    logs = np.log(dfn * x / (dfd + dfn * x)) + mean(share, special.digamma(a + b) - special.digamma(a))
    return logs / 2 + mean(share, a) / dfn - mean(share, a + b) * x / (dfd + dfn * x)


def ncf_by_dfd(x, dfn, dfd, nc):
    a, b, share = ncf_mixture(x, dfn, dfd, nc)
    logs = mean(share, special.digamma(a + b) - special.digamma(b)) - np.log1p(dfn * x / dfd)
    return logs / 2 + (mean(share, a + b) * dfn * x / (dfd + dfn * x) - mean(share, a)) / dfd


def ncf_by_nc(x, dfn, dfd, nc):
    a, _, share = ncf_mixture(x, dfn, dfd, nc)
    return (mean(share, a) - dfn / 2) / nc - 0.5


@of_private("_ncf_pdf")
def ncf_pdf(y, x, dfn, dfd, nc):
    args = (x, dfn, dfd, nc)
    return y * ncf_by_x(*args), y * ncf_by_dfn(*args), y * ncf_by_dfd(*args), y * ncf_by_nc(*args)


@computes
def ncf_cdf_by(slope, x, dfn, dfd, nc):
    """The slope of F in degrees of freedom, that of log f being `slope`, from the nearer tail."""
    left = special.ncfdtr(dfn, dfd, nc, x) < 0.5
    width = np.minimum(np.sqrt(2 * (dfn + 2 * nc) / (dfn + nc) ** 2 + 2 / dfd), 1)
    tail = in_tail(lambda u, *args: ncf_density(u, *args) * slope(u, *args), x, (dfn, dfd, nc), left, width)
    return np.where(left, tail, -tail)


def ncf_cdf_by_nc(x, dfn, dfd, nc):
    """Each term's share of the density, over a: what I(a, b) and I(a + 1, b) differ by."""
    a, _, share = ncf_mixture(x, dfn, dfd, nc)
    return -_ufuncs._ncf_pdf(x, dfn, dfd, nc) * x * mean(share, 1 / a) / 2


@partials(special.ncfdtr)
def ncf_cdf(y, dfn, dfd, nc, x):
    args = (x, dfn, dfd, nc)
    by_dfn, by_dfd = ncf_cdf_by(ncf_by_dfn, *args), ncf_cdf_by(ncf_by_dfd, *args)
    return by_dfn, by_dfd, ncf_cdf_by_nc(*args), _ufuncs._ncf_pdf(*args)


@of_private("_ncf_sf")
def ncf_sf(y, x, dfn, dfd, nc):
    args = (x, dfn, dfd, nc)
    by_dfn, by_dfd = ncf_cdf_by(ncf_by_dfn, *args), ncf_cdf_by(ncf_by_dfd, *args)
    return -_ufuncs._ncf_pdf(*args), -by_dfn, -by_dfd, -ncf_cdf_by_nc(*args)


@partials(special.ncfdtri)
def ncf_ppf(y, dfn, dfd, nc, q):
    args = (y, dfn, dfd, nc)
    pdf = _ufuncs._ncf_pdf(*args)
    by_dfn, by_dfd = ncf_cdf_by(ncf_by_dfn, *args), ncf_cdf_by(ncf_by_dfd, *args)
    return -by_dfn / pdf, -by_dfd / pdf, -ncf_cdf_by_nc(*args) / pdf, 1 / pdf


@of_private("_ncf_isf")
def ncf_isf(y, q, dfn, dfd, nc):
    args = (y, dfn, dfd, nc)
    pdf = _ufuncs._ncf_pdf(*args)
    by_dfn, by_dfd = ncf_cdf_by(ncf_by_dfn, *args), ncf_cdf_by(ncf_by_dfd, *args)
    return -1 / pdf, -by_dfn / pdf, -by_dfd / pdf, -ncf_cdf_by_nc(*args) / pdf
