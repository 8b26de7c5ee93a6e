"""Random draws in their shape parameters: a draw keeps its probability while the parameters move.

Each function takes parameters, those `at` which the number was drawn, and the draw: y = F⁻¹(F(draw; at); parameters).
Where no parameter has moved, that is the draw itself, to the last bit. The slope of y in a parameter θ is -∂F/∂θ over
the density, whichever random numbers the sampler read, and whichever it rejected.

Source: Figurnov, Mohamed, Mnih, Implicit reparameterization gradients (2018).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special, stats
from scipy.special import _ufuncs
from scipy.stats import _multivariate

from wengert.extend import NoDerivativeError, batching, partials, stands_for
from wengert_rules.batches.elementwise import elementwise
from wengert_rules.scipy.special.densities import beta_density, gamma_density
from wengert_rules.scipy.special.distributions import f_density, f_slope_1, f_slope_2, t_density, t_slope
from wengert_rules.scipy.special.incomplete import beta_slope, gamma_slope, held
from wengert_rules.scipy.special.noncentral import ncf_cdf_by_nc, ncx2_cdf_by_df
from wengert_rules.scipy.special.noncentral_inverses import by_dfd, by_dfn
from wengert_rules.scipy.stats.bessel_distributions import vonmises_cdf_by_kappa
from wengert_rules.scipy.stats.closed_forms import invgauss_pdf, invgauss_slope
from wengert_rules.scipy.stats.methods import own


def carried(law, parameters, at, draw):
    """The quantile of the draw's probability, by the nearer tail; the draw where no parameter has moved."""
    stays = np.asarray(True)
    for now, before in zip(parameters, at, strict=True):
        stays = stays & np.equal(now, before)
    if np.all(stays):
        return draw * 1.0
    below, above = law(*at).cdf(draw), law(*at).sf(draw)
    moved = law(*parameters)
    return np.where(stays, draw, np.where(below < above, moved.ppf(below), moved.isf(above)))[()]


def gamma(a, at, draw):
    return carried(stats.gamma, (a,), (at,), draw)


@partials(gamma)
def gamma_(y, a, at, draw):
    p = gamma_density(a, y)
    return -held(gamma_slope(a, y, 1), p), held(gamma_slope(at, draw, 1), p), gamma_density(at, draw) / p


def beta(a, b, a_at, b_at, draw):
    return carried(stats.beta, (a, b), (a_at, b_at), draw)


@partials(beta)
def beta_(y, a, b, a_at, b_at, draw):
    p = beta_density(a, b, y)
    return (
        -held(beta_slope(a, b, y, (1, 0)), p),
        -held(beta_slope(a, b, y, (0, 1)), p),
        held(beta_slope(a_at, b_at, draw, (1, 0)), p),
        held(beta_slope(a_at, b_at, draw, (0, 1)), p),
        beta_density(a_at, b_at, draw) / p,
    )


def student_t(df, at, draw):
    return carried(stats.t, (df,), (at,), draw)


@partials(student_t)
def student_t_(y, df, at, draw):
    p = t_density(df, y)
    return -held(t_slope(df, y), p), held(t_slope(at, draw), p), t_density(at, draw) / p


def f_ratio(m, n, m_at, n_at, draw):
    return carried(stats.f, (m, n), (m_at, n_at), draw)


@partials(f_ratio)
def f_ratio_(y, m, n, m_at, n_at, draw):
    p = f_density(m, n, y)
    return (
        -held(f_slope_1(m, n, y), p),
        -held(f_slope_2(m, n, y), p),
        held(f_slope_1(m_at, n_at, draw), p),
        held(f_slope_2(m_at, n_at, draw), p),
        f_density(m_at, n_at, draw) / p,
    )


def noncentral_chi2(df, nc, df_at, nc_at, draw):
    return carried(stats.ncx2, (df, nc), (df_at, nc_at), draw)


@partials(noncentral_chi2)
def noncentral_chi2_(y, df, nc, df_at, nc_at, draw):
    p = _ufuncs._ncx2_pdf(y, df, nc)
    return (
        -held(ncx2_cdf_by_df(y, df, nc), p),
        _ufuncs._ncx2_pdf(y, df + 2, nc) / p,
        held(ncx2_cdf_by_df(draw, df_at, nc_at), p),
        -_ufuncs._ncx2_pdf(draw, df_at + 2, nc_at) / p,
        _ufuncs._ncx2_pdf(draw, df_at, nc_at) / p,
    )


def noncentral_f(m, n, nc, m_at, n_at, nc_at, draw):
    return carried(stats.ncf, (m, n, nc), (m_at, n_at, nc_at), draw)


@partials(noncentral_f)
def noncentral_f_(y, m, n, nc, m_at, n_at, nc_at, draw):
    p = _ufuncs._ncf_pdf(y, m, n, nc)
    return (
        -by_dfn(y, m, n, nc) / p,
        -by_dfd(y, m, n, nc) / p,
        -ncf_cdf_by_nc(y, m, n, nc) / p,
        by_dfn(draw, m_at, n_at, nc_at) / p,
        by_dfd(draw, m_at, n_at, nc_at) / p,
        ncf_cdf_by_nc(draw, m_at, n_at, nc_at) / p,
        _ufuncs._ncf_pdf(draw, m_at, n_at, nc_at) / p,
    )


def vonmises_density(kappa, x):
    return np.exp(kappa * (np.cos(x) - 1)) / (2 * math.pi * special.i0e(kappa))


def vonmises(kappa, at, draw):
    """A draw with mean 0, between -π and π."""
    return carried(stats.vonmises, (kappa,), (at,), draw)


@partials(vonmises)
def vonmises_(y, kappa, at, draw):
    p = vonmises_density(kappa, y)
    before = vonmises_cdf_by_kappa(at, draw)
    return -vonmises_cdf_by_kappa(kappa, y) / p, before / p, vonmises_density(at, draw) / p


def wald_law(mean, scale):
    return stats.invgauss(np.true_divide(mean, scale), scale=scale)


def wald(mean, scale, mean_at, scale_at, draw):
    return carried(wald_law, (mean, scale), (mean_at, scale_at), draw)


@partials(wald)
def wald_(y, mean, scale, mean_at, scale_at, draw):
    """That y/scale depends on mean/scale alone gives the slope in the scale."""
    p, before = invgauss_pdf(y, mean, scale), invgauss_pdf(draw, mean_at, scale_at)
    by_mean, before_by_mean = invgauss_slope(y, mean, scale), invgauss_slope(draw, mean_at, scale_at)
    return (
        -by_mean / p,
        (y + mean * by_mean / p) / scale,
        before_by_mean / p,
        -(before * draw + mean_at * before_by_mean) / (p * scale_at),
        before / p,
    )


ALL = (gamma, beta, student_t, f_ratio, noncentral_chi2, noncentral_f, vonmises, wald)
batching(*ALL)(elementwise)

REJECTS = (
    "{}.rvs rejects numbers by a test of its parameters, so the derivative of those that it keeps would be biased. "
    "Draw with constant parameters; for a distribution of one dimension take {}.ppf of uniform numbers"
)
COUNTS = (
    "{}.rvs draws integers, which have no derivative in a parameter, and as a constant they would bias the gradient "
    "of an expectation. Draw with constant parameters, wg.stop_gradient(...), and multiply the loss by the score, the "
    'gradient of logpmf: see "Differentiate an expectation over counts" in docs/distributions.md'
)


@stands_for(*own("geninvgauss", "_rvs"), *own("argus", "_rvs"))
def rvs_by_rejection(self, *args, **kwargs):
    raise NoDerivativeError(REJECTS.format(self.name, self.name))


@stands_for(*[f for f in [getattr(_multivariate.vonmises_fisher_gen, "_rejection_sampling", None)] if f])
def directions_by_rejection(self, *args, **kwargs):
    raise NoDerivativeError(REJECTS.format("vonmises_fisher", "vonmises_fisher"))


@stands_for(stats.rv_discrete.rvs)
def rvs_of_counts(self, *args, **kwargs):
    raise NoDerivativeError(COUNTS.format(self.name))
