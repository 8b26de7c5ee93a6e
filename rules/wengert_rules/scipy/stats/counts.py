"""Laws of whole numbers: probabilities in the parameters that are real."""

from __future__ import annotations

import numpy as np
from scipy import special, stats
from scipy.special import _ufuncs

from wengert.extend import computes, stands_for
from wengert_rules.scipy.special.densities import beta_density
from wengert_rules.scipy.special.incomplete import beta_slope
from wengert_rules.scipy.special.nodes import spread
from wengert_rules.scipy.special.private import of_private
from wengert_rules.scipy.special.refusals import WHOLE, refused
from wengert_rules.scipy.stats.methods import own


@of_private("_binom_pmf")
def binom_pmf(y, k, n, p):
    return refused(WHOLE), refused(WHOLE), y * (k - n * p) / (p * (1 - p))


@of_private("_binom_cdf")
def binom_cdf(y, k, n, p):
    return refused(WHOLE), refused(WHOLE), -n * _ufuncs._binom_pmf(k, n - 1, p)


@of_private("_binom_sf")
def binom_sf(y, k, n, p):
    return refused(WHOLE), refused(WHOLE), n * _ufuncs._binom_pmf(k, n - 1, p)


@of_private("_nbinom_pmf")
def nbinom_pmf(y, k, n, p):
    by_n = special.digamma(k + n) - special.digamma(n) + np.log(p)
    return refused(WHOLE), y * by_n, y * (n / p - k / (1 - p))


@computes
def harmonic_slope(first, last, a):
    """-Σ log(i) i⁻ᵃ from i = `first` to `last`."""
    i = np.arange(1, int(np.max(last, initial=1)) + 1)
    first, last, a = [np.expand_dims(np.asarray(each), -1) for each in (first, last, a)]
    return -np.sum(np.where((i >= first) & (i <= last), np.log(i) * i ** (-1.0 * a), 0), axis=-1)


@of_private("_gen_harmonic")
def gen_harmonic(y, n, a):
    return refused(WHOLE), harmonic_slope(1, n, a)


@of_private("_normalized_gen_harmonic")
def normalized_gen_harmonic(y, first, last, n, a):
    slope = harmonic_slope(first, last, a) - y * harmonic_slope(1, n, a)
    return refused(WHOLE), refused(WHOLE), refused(WHOLE), slope / _ufuncs._gen_harmonic(n, a)


@of_private("_nbinom_cdf")
def nbinom_cdf(y, k, n, p):
    """I(n, k + 1, p)."""
    return refused(WHOLE), beta_slope(n, k + 1, p, (1, 0)), beta_density(n, k + 1, p)


@of_private("_nbinom_sf")
def nbinom_sf(y, k, n, p):
    return refused(WHOLE), -beta_slope(n, k + 1, p, (1, 0)), -beta_density(n, k + 1, p)


@stands_for(*own("skellam", "_pmf"))
def skellam_pmf(self, x, mu1, mu2):
    """SciPy computes both sides of all x, and chooses: what is nan on the other side has no derivative."""
    more, less = np.where(x < 0, mu2, mu1), np.where(x < 0, mu1, mu2)
    return 2 * _ufuncs._ncx2_pdf(2 * more, 2 * (1 + np.absolute(x)), 2 * less)


@stands_for(*own("skellam", "_cdf"))
def skellam_cdf(self, x, mu1, mu2):
    x = np.floor(x)
    below = special.chndtr(2 * mu2, np.where(x < 0, -2 * x, 1), 2 * mu1)
    return np.where(x < 0, below, _ufuncs._ncx2_sf(2 * mu1, 2 * (np.maximum(x, 0) + 1), 2 * mu2))


def successes(chances):
    """The probabilities of 0, 1, ... successes in trials with these chances."""
    found = [1.0]
    for p in chances:
        found = [a * (1 - p) + b * p for a, b in zip([*found, 0.0], [0.0, *found], strict=True)]
    return found


@stands_for(*own("poisson_binom", "_pmf"))
def poisson_binom_pmf(self, k, *args):
    return sum(np.where(k == j, p, 0) for j, p in enumerate(successes(args)))


@stands_for(*own("poisson_binom", "_cdf"))
def poisson_binom_cdf(self, k, *args):
    return sum(np.where(k >= j, p, 0) for j, p in enumerate(successes(args)))


@stands_for(*own("nchypergeom_fisher", "_pmf"))
def nchypergeom_fisher_pmf(self, x, M, n, N, odds):
    """C(n, x) C(M - n, N - x) oddsˣ, in proportion; Wallenius' law has the same method, and is computed in C++."""
    if not isinstance(self, type(stats.nchypergeom_fisher)):
        return self.dist(N, n, M, odds, 1e-12)
    j = np.arange(int(np.max(np.minimum(n, N), initial=0)) + 1)
    x, M, n, N, odds = spread(x, M, n, N, odds)
    inside = (j <= np.minimum(n, N)) & (j >= N - M + n)
    j = np.where(inside, j, np.maximum(0, N - M + n))
    logs = j * np.log(odds) - sum(special.gammaln(a + 1) for a in (j, n - j, N - j, M - n - N + j))
    parts = np.where(inside, np.exp(logs - np.max(logs, axis=-1, keepdims=True)), 0)
    return np.sum(np.where(j == x, parts, 0), axis=-1) / np.sum(parts, axis=-1)
