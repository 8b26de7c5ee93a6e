"""Laws of whole numbers: probabilities in the parameters that are real."""

from __future__ import annotations

import numpy as np
from scipy import special
from scipy.special import _ufuncs

from wengert.extend import computes
from wengert_rules.scipy.special.private import of_private
from wengert_rules.scipy.special.refusals import WHOLE, refused


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
