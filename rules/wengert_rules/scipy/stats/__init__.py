"""Rules for scipy.stats: what its distributions and statistics compute in C."""

from __future__ import annotations

from wengert_rules.scipy.stats import (
    bessel_distributions,
    closed_forms,
    constants,
    counts,
    covariances,
    draws,
    fits,
    kernel_density,
    landau,
    mixed,
    quantiles,
    studentized_range,
    two_sided,
    within_support,
    zero_shapes,
)
