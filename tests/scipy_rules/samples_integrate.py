"""The rules of scipy.integrate: test_linear_steps tests them, whose keyword argument cannot be copied."""

from __future__ import annotations

from sampling import Sample

from wengert_rules.scipy.integrate.linear_steps import changed, changes, residuals_of_changes
from wengert_rules.scipy.integrate.native_steps import pulled, pulled_from_pushed, pushed, solved
from wengert_rules.scipy.integrate.quadrature import integral_slopes, integral_value

SAMPLES: list[Sample] = []
BY_HAND = [
    changed, changes, residuals_of_changes, solved, pulled, pushed, pulled_from_pushed, integral_value, integral_slopes,
]  # fmt: skip
