"""Samples of scipy.stats: ufuncs and functions in C of its distributions; statistics that are traced through."""

from __future__ import annotations

from typing import Any

import numpy as np
from sampling import Sample, call, values
from scipy import special as sc
from scipy import stats
from scipy.special import _ufuncs as private

QUANTILES = (0.1, 0.9)

# Ufuncs with the interval of each argument.
UFUNCS: list[tuple[list[Any], list[tuple[float, float]]]] = [
    ([private._ncx2_pdf, sc.chndtr, private._ncx2_sf], [(0.5, 4), (1.2, 5), (0.4, 3)]),
    ([sc.chndtrix, private._ncx2_isf], [QUANTILES, (1.2, 5), (0.4, 3)]),
    ([private._ncf_pdf, private._ncf_sf], [(0.5, 3), (1.2, 5), (3, 9), (0.4, 3)]),
    ([sc.ncfdtr], [(1.2, 5), (3, 9), (0.4, 3), (0.5, 3)]),
    ([sc.ncfdtri], [(1.2, 5), (3, 9), (0.4, 3), QUANTILES]),
    ([private._ncf_isf], [QUANTILES, (1.2, 5), (3, 9), (0.4, 3)]),
    ([private._nct_pdf, private._nct_sf], [(-2, 3), (1.2, 5), (-1, 2)]),
    ([sc.nctdtr], [(1.2, 5), (-1, 2), (-2, 3)]),
    ([sc.nctdtrit], [(1.2, 5), (-1, 2), QUANTILES]),
    ([private._nct_isf], [QUANTILES, (1.2, 5), (-1, 2)]),
    ([private._cauchy_ppf, private._cauchy_isf], [QUANTILES, (-1, 1), (0.5, 2)]),
    ([private._cosine_cdf], [(-3, 3)]),
    ([private._cosine_invcdf], [QUANTILES]),
    ([private._invgauss_ppf, private._invgauss_isf], [QUANTILES, (0.5, 2), (0.5, 2)]),
    ([private._skewnorm_cdf], [(-2, 2), (-1, 1), (0.5, 2), (-3, 3)]),
    ([private._skewnorm_ppf, private._skewnorm_isf], [QUANTILES, (-1, 1), (0.5, 2), (-3, 3)]),
    ([private._log1mexp], [(-3, -0.2)]),
    ([private._scaled_exp1], [(0.3, 3)]),
    ([private._scaled_exp1], [(101, 120)]),
    ([private._beta_pdf], [(0.2, 0.8), (0.6, 3), (0.6, 3)]),
]

SAMPLES: list[Sample] = [
    *[
        call(f, *[np.roll(values(3, low=low, high=high), k) for k, (low, high) in enumerate(intervals)])
        for fs, intervals in UFUNCS
        for f in fs
    ],
    call(private._iv_ratio, 3, values(3)),
]

TRACED: list[Sample] = [
    call(stats.norm.logpdf, values(3), 0.3, 1.2),
]
