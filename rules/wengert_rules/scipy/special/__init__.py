"""Rules for scipy.special, by families: ufuncs element by element, and functions over them."""

from __future__ import annotations

from wengert_rules.scipy.special import (
    bessel,
    cylinders,
    densities,
    distributions,
    elliptic,
    entropies,
    error_functions,
    gammas,
    harmonics,
    hypergeometric,
    incomplete,
    integrals,
    kolmogorov,
    logistic,
    noncentral,
    noncentral_inverses,
    noncentral_t,
    polynomials,
    powers,
    waves,
)
