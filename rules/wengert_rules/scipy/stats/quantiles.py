"""Distributions on incomplete beta and gamma functions, where SciPy does not call the public ones."""

from __future__ import annotations

import numpy as np
from scipy import special

from wengert.extend import stands_for
from wengert_rules.scipy.special.densities import beta_density
from wengert_rules.scipy.special.incomplete import beta_slope, held
from wengert_rules.scipy.special.private import of_private
from wengert_rules.scipy.stats.methods import own


@of_private("_beta_pdf")
def beta_pdf(y, x, a, b):
    total = special.digamma(a + b)
    by_a = np.log(x) - special.digamma(a) + total
    return y * ((a - 1) / x - (b - 1) / (1 - x)), y * by_a, y * (np.log1p(-x) - special.digamma(b) + total)


@of_private("_beta_ppf")
def beta_ppf(x, q, a, b):
    density = beta_density(a, b, x)
    return 1 / density, -held(beta_slope(a, b, x, (1, 0)), density), -held(beta_slope(a, b, x, (0, 1)), density)


@stands_for(*own("dgamma", "_ppf"))
def dgamma_ppf(self, q, a):
    """SciPy computes both tails of all q, and chooses: what is nan on the other side has no derivative."""
    return np.where(q > 0.5, 1, -1) * special.gammainccinv(a, 2 * np.minimum(q, 1 - q))


@stands_for(*own("dgamma", "_isf"))
def dgamma_isf(self, q, a):
    return np.where(q > 0.5, -1, 1) * special.gammainccinv(a, 2 * np.minimum(q, 1 - q))
