"""The two-sided law of Kolmogorov and Smirnov for n numbers."""

from __future__ import annotations

import numpy as np
from scipy.stats import _ksstats

from wengert.extend import computes, partials
from wengert_rules.scipy.special.refusals import WHOLE, refused

AT_KNOTS = (
    "the density of the two-sided Kolmogorov-Smirnov law is a difference quotient in SciPy, and has corners: it has no "
    "derivative in x here"
)


@computes
def two_sided_density(n, x):
    """SciPy gives none of no numbers."""
    return _ksstats.kolmognp(n, x) if np.size(x) else x


@partials(_ksstats.kolmognp)
def kolmognp(y, n, x):
    return refused(WHOLE), refused(AT_KNOTS)


@partials(_ksstats.kolmogn)
def kolmogn(y, n, x, *, cdf=True):
    return refused(WHOLE), np.where(cdf, 1, -1) * two_sided_density(n, x)


@partials(_ksstats.kolmogni)
def kolmogni(y, n, q, *, cdf=True):
    return refused(WHOLE), np.where(cdf, 1, -1) / two_sided_density(n, y)
