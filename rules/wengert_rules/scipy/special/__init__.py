"""Rules for scipy.special, by families: ufuncs element by element, and functions over them."""

from __future__ import annotations

from wengert_rules.scipy.special import (
    densities,
    distributions,
    entropies,
    error_functions,
    gammas,
    incomplete,
    kolmogorov,
    logistic,
    noncentral,
    noncentral_t,
    powers,
)
