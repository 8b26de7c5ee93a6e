"""Laws of the largest distance of an empirical distribution: Kolmogorov's limit, and Smirnov's on one side.

What SciPy calls p is the slope of the survival function, c the distribution function, ci its inverse.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special
from scipy.special import _ufuncs

from wengert.extend import computes, partials
from wengert_rules.scipy.special.nodes import spread
from wengert_rules.scipy.special.private import of_private
from wengert_rules.scipy.special.refusals import WHOLE, refused

TERMS = np.arange(1, 25)
DUAL = (2 * TERMS - 1) ** 2 * math.pi**2 / 8
MIDDLE = 0.8  # from where the series in exp(-2k²x²) is the better one


def kolmogorov_curvature(x):
    """The second derivative of the survival function 2 Σ (-1)ᵏ⁻¹ exp(-2k²x²), by its dual series where x is small."""
    above, below = spread(np.where(x < MIDDLE, MIDDLE, x), np.where(x < MIDDLE, x, MIDDLE))
    signs, squares = (-1.0) ** TERMS, TERMS**2
    far = 8 * np.sum(signs * squares * (1 - 4 * squares * above**2) * np.exp(-2 * squares * above**2), axis=-1)
    slope = 2 * DUAL / below**3 - 1 / below
    bend = slope**2 - 6 * DUAL / below**4 + 1 / below**2
    near = -math.sqrt(2 * math.pi) * np.sum(np.exp(-DUAL / below**2) / below * bend, axis=-1)
    return np.where(x < MIDDLE, np.where(x < 0.04, 0, near), far)


@of_private("_kolmogp")
def kolmogp(y, x):
    return kolmogorov_curvature(x)


@partials(special.kolmogorov)
def kolmogorov(y, x):
    return _ufuncs._kolmogp(x)


@partials(special.kolmogi)
def kolmogi(y, q):
    return 1 / _ufuncs._kolmogp(y)


@of_private("_kolmogc")
def kolmogc(y, x):
    return -_ufuncs._kolmogp(x)


@of_private("_kolmogci")
def kolmogci(y, q):
    return -1 / _ufuncs._kolmogp(y)


@computes
def smirnov_curvature(n, x):
    """The second derivative of the survival function, a sum of x C(n, j) (x + j/n)ʲ⁻¹ (1 - x - j/n)ⁿ⁻ʲ."""
    j = np.arange(int(np.max(n, initial=0)) + 1)
    n, x = spread(n, x)
    rest = 1 - x - j / n
    inside = (rest > 0) & (j <= n)
    done, left, rest = x + j / n, np.where(inside, n - j, 0), np.where(inside, rest, 1)
    logs = special.gammaln(n + 1) - special.gammaln(j + 1) - special.gammaln(left + 1)
    term = x * np.exp(logs + (j - 1) * np.log(done) + left * np.log(rest))
    slope = 1 / x + (j - 1) / done - left / rest
    return np.sum(np.where(inside, term * (slope**2 - 1 / x**2 - (j - 1) / done**2 - left / rest**2), 0), axis=-1)


@of_private("_smirnovp")
def smirnovp(y, n, x):
    return refused(WHOLE), smirnov_curvature(n, x)


@partials(special.smirnov)
def smirnov(y, n, x):
    return refused(WHOLE), _ufuncs._smirnovp(n, x)


@partials(special.smirnovi)
def smirnovi(y, n, q):
    return refused(WHOLE), 1 / _ufuncs._smirnovp(n, y)


@of_private("_smirnovc")
def smirnovc(y, n, x):
    return refused(WHOLE), -_ufuncs._smirnovp(n, x)


@of_private("_smirnovci")
def smirnovci(y, n, q):
    return refused(WHOLE), -1 / _ufuncs._smirnovp(n, y)
