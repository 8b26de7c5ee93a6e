"""Samples of scipy.stats: ufuncs and functions in C of its distributions; statistics that are traced through."""

from __future__ import annotations

from typing import Any

import numpy as np
from sampling import Sample, call, values
from scipy import special as sc
from scipy import stats
from scipy.stats import _continuous_distns, _ksstats, _stats

from wengert_rules.scipy.optional import present
from wengert_rules.scipy.special import bessel_orders
from wengert_rules.scipy.stats import bessel_distributions, draws, mixed, studentized_range


def private(name: str) -> list[Any]:
    """The ufunc of this name behind `scipy.special`, if this SciPy has it."""
    return present(f"special._ufuncs.{name}")


BY_HAND = {_ksstats.kolmognp, _ksstats.kolmogn, _ksstats.kolmogni, stats.rv_continuous.fit}

LANDAU = [f for kind in ("pdf", "cdf", "sf", "ppf", "isf") for f in private(f"_landau_{kind}")]
SMIRNOV = (*private("_smirnovp"), *private("_smirnovc"), *private("_smirnovci"), sc.smirnov, sc.smirnovi)
QUANTILES = (0.1, 0.9)

# Ufuncs with the interval of each argument.
UFUNCS: list[tuple[list[Any], list[tuple[float, float]]]] = [
    ([*private("_ncx2_pdf"), sc.chndtr, *private("_ncx2_sf")], [(0.5, 4), (1.2, 5), (0.4, 3)]),
    ([sc.chndtrix, *private("_ncx2_isf")], [QUANTILES, (1.2, 5), (0.4, 3)]),
    ([*private("_ncf_pdf"), *private("_ncf_sf")], [(0.5, 3), (1.2, 5), (3, 9), (0.4, 3)]),
    ([sc.ncfdtr], [(1.2, 5), (3, 9), (0.4, 3), (0.5, 3)]),
    ([sc.ncfdtri], [(1.2, 5), (3, 9), (0.4, 3), QUANTILES]),
    ([*private("_ncf_isf")], [QUANTILES, (1.2, 5), (3, 9), (0.4, 3)]),
    ([*private("_nct_pdf"), *private("_nct_sf")], [(-2, 3), (1.2, 5), (-1, 2)]),
    ([sc.nctdtr], [(1.2, 5), (-1, 2), (-2, 3)]),
    ([sc.nctdtrit], [(1.2, 5), (-1, 2), QUANTILES]),
    ([*private("_nct_isf")], [QUANTILES, (1.2, 5), (-1, 2)]),
    ([*private("_cauchy_ppf"), *private("_cauchy_isf")], [QUANTILES, (-1, 1), (0.5, 2)]),
    ([*private("_cosine_cdf")], [(-3, 3)]),
    ([*private("_cosine_invcdf")], [QUANTILES]),
    ([*private("_invgauss_ppf"), *private("_invgauss_isf")], [QUANTILES, (0.5, 2), (0.5, 2)]),
    ([*private("_skewnorm_cdf")], [(-2, 2), (-1, 1), (0.5, 2), (-3, 3)]),
    ([*private("_skewnorm_ppf"), *private("_skewnorm_isf")], [QUANTILES, (-1, 1), (0.5, 2), (-3, 3)]),
    ([*private("_log1mexp")], [(-3, -0.2)]),
    ([*private("_scaled_exp1")], [(0.3, 3)]),
    ([*private("_scaled_exp1")], [(101, 120)]),
    ([*private("_beta_pdf"), *private("_beta_ppf")], [(0.2, 0.8), (0.6, 3), (0.6, 3)]),
    ([bessel_orders.log_bessel_k], [(0.3, 3), (0.3, 3)]),
    ([bessel_distributions.gig_cdf], [(0.3, 3), (0.3, 3), (0.5, 2)]),
    ([bessel_distributions.hyperbolic_cdf, bessel_distributions.hyperbolic_sf], [(-1, 2), (0.3, 2), (2, 3), (0.3, 1)]),
    ([bessel_distributions.inverse_gaussian_cdf], [(-1, 2), (2, 3), (0.3, 1)]),
    ([bessel_distributions.inverse_gaussian_sf], [(-1, 2), (2, 3), (0.3, 1)]),
    ([_stats.von_mises_cdf], [(0.5, 4), (-2, 2)]),
    ([_continuous_distns._ncx2_log_pdf], [(0.5, 4), (1.2, 5), (0.4, 3)]),
    ([mixed.log_constant], [(0.5, 4), (1.2, 5), (0.4, 3), (-0.5, 2)]),
    ([*private("_kolmogp"), *private("_kolmogc"), sc.kolmogorov], [(0.5, 1.5)]),
    ([*private("_kolmogci"), sc.kolmogi], [QUANTILES]),
    # parameters, those at which the number was drawn, and the draw
    ([draws.gamma, draws.student_t], [(1.2, 5), (1.3, 4), (0.5, 3)]),
    ([draws.vonmises], [(1.2, 5), (1.3, 4), (-2, 2)]),
    ([draws.beta], [(1.2, 5), (0.6, 3), (1.3, 4), (0.7, 2), (0.2, 0.8)]),
    ([draws.f_ratio, draws.wald], [(1.2, 5), (3, 6), (1.3, 4), (4, 5), (0.5, 3)]),
    ([draws.noncentral_chi2], [(1.2, 5), (0.4, 3), (1.3, 4), (0.5, 2), (0.5, 3)]),
    ([draws.noncentral_f], [(1.2, 5), (3, 9), (0.4, 3), (1.3, 4), (4, 8), (0.5, 2), (0.5, 3)]),
]

SAMPLES: list[Sample] = [
    *[
        call(f, *[np.roll(values(3, low=low, high=high), k) for k, (low, high) in enumerate(intervals)])
        for fs, intervals in UFUNCS
        for f in fs
    ],
    *[
        call(f, *args)
        for name, *args in (
            ("_iv_ratio", 3, values(3)),
            ("_binom_pmf", 3, 7, values(3, low=0.2, high=0.8)),
            ("_binom_cdf", 3, 7, values(3, low=0.2, high=0.8)),
            ("_binom_sf", 3, 7, values(3, low=0.2, high=0.8)),
            ("_nbinom_pmf", 3, values(3), values(3, low=0.2, high=0.8)),
            ("_nbinom_cdf", 3, values(3), values(3, low=0.2, high=0.8)),
            ("_nbinom_sf", 3, values(3), values(3, low=0.2, high=0.8)),
            ("_gen_harmonic", 7, values(3)),
            ("_normalized_gen_harmonic", 2, 4, 7, values(3)),
            ("_landau_pdf", values(3, low=-1.5, high=3), 0, 1),
        )
        for f in private(name)
    ],
    *[call(f, 0.3, -0.4, 0.5) for f in present(*mixed.BIVARIATE)],
    *[call(f, 0.4, 0, 1) for f in LANDAU],
    *[call(f, 7, values(3, low=0.15, high=0.6)) for f in SMIRNOV],
    call(studentized_range.range_cdf, 2.5, 3.3, 7.5),
    call(studentized_range.range_pdf, 2.5, 3.3, 7.5),
]

X, Y, SHARES = values(7, low=-1.5, high=1.8), values(7)[::-1], values(3, low=0.2, high=0.6)
SQUARE = np.array([[2.0, 0.3, -0.4], [0.3, 1.1, 0.2], [-0.4, 0.2, 1.5]])


def bent(x: np.ndarray) -> np.ndarray:
    """A covariance matrix that moves with x."""
    return SQUARE + np.outer(x, x)


def as_shares(p: np.ndarray) -> np.ndarray:
    return p / np.sum(p)


TRACED: list[Sample] = [
    call(stats.norm.logpdf, values(3), 0.3, 1.2),
    call(stats.geninvgauss.logpdf, values(3), 1.2, 0.8),
    call(stats.genhyperbolic.logpdf, values(3), 1.2, 1.8, 0.3),
    call(stats.genhyperbolic.pdf, values(3), 1.2, 1.8, 0.3),
    *[call(f, values(3, low=0.1, high=0.8), 1.7) for f in (stats.dgamma.ppf, stats.dgamma.isf)],
    call(lambda a, scale: stats.gamma(a, scale=scale).logpdf(1.3), 2.1, 0.7),
    call(lambda x, mean, c: stats.multivariate_normal.logpdf(x, mean, bent(c)), Y[:3], X[:3], X[3:6]),
    call(lambda c: stats.multivariate_normal(np.zeros(3), bent(c)).entropy(), Y[:3]),
    call(lambda x, c: stats.multivariate_normal.cdf(x, np.zeros(2), bent(c)[:2, :2]), X[:2], X[3:6]),
    call(lambda x, mean, c, df: stats.multivariate_t.logpdf(x, mean, bent(c), df), Y[:3], X[:3], X[3:6], 3.5),
    call(lambda x, alpha: stats.dirichlet.logpdf(as_shares(x), alpha), SHARES, Y[:3]),
    call(lambda p: stats.multinomial.logpmf([1, 2, 3], 6, as_shares(p)), SHARES),
    call(lambda x, c, df: stats.wishart.logpdf(bent(x), df, bent(c)), X[:3], X[3:6], 5.5),
    call(lambda x, c: stats.matrix_normal.logpdf(x, np.zeros((2, 3)), SQUARE[:2, :2], bent(c)), values(2, 3), X[:3]),
    call(lambda kappa: stats.vonmises_fisher.logpdf([0.0, 0.6, 0.8], [0.0, 0.0, 1.0], kappa), 2.3),
    call(lambda a: stats.dirichlet_multinomial.logpmf([1, 2, 3], a, 6), Y[:3]),
    call(lambda x, data: stats.gaussian_kde(data)(x), Y[:3] + 0.1, Y),
    call(lambda x, data: stats.gaussian_kde(data).logpdf(x), Y[:3] + 0.1, Y),
    call(lambda x, w: stats.gaussian_kde(X, weights=w).logpdf(x), Y[:3], Y),
    call(lambda x, w: stats.gaussian_kde(X, weights=w).pdf(x), Y[:3], Y),
    call(stats.zscore, X),
    call(stats.skew, X),
    call(stats.kurtosis, X),
    call(stats.sem, X),
    call(stats.moment, X, 3),
    call(stats.gmean, Y),
    call(stats.hmean, Y),
    call(stats.entropy, Y, Y[::-1]),
    call(stats.wasserstein_distance, X, Y),
    call(lambda x, y: stats.pearsonr(x, y)[0], X, Y),
    call(lambda x, y: stats.pearsonr(x, y)[1], X, Y),
    call(lambda x, y: np.array([*stats.linregress(x, y)]), X, Y),
    call(lambda x, y: np.array([*stats.ttest_ind(x, y, equal_var=False)]), X, Y),
    call(lambda x: stats.ttest_1samp(x, 0.1).pvalue, X),
    call(lambda x, y: stats.f_oneway(x, y).pvalue, X, Y),
    call(lambda x: stats.norm.rvs(loc=x, scale=x * x, size=3, random_state=1), 0.7),
    call(lambda a: np.array(stats.gamma.stats(a, moments="mvsk")), 2.1),
    call(stats.gamma.entropy, 2.1),
]
if hasattr(stats, "Normal"):
    NORMAL = stats.Normal
    TRACED += [
        call(lambda mu, sigma, x: NORMAL(mu=mu, sigma=sigma).logpdf(x), 0.3, 1.2, 0.7),
        call(lambda mu, sigma: NORMAL(mu=mu, sigma=sigma).icdf(0.3), 0.3, 1.2),
        call(lambda a, x: stats.make_distribution(stats.gamma)(a=a).cdf(x), 2.1, 0.7),
        call(lambda mu, x: stats.Mixture([NORMAL(mu=mu, sigma=1.0), NORMAL()], weights=[0.3, 0.7]).logpdf(x), 0.3, 0.7),
    ]
