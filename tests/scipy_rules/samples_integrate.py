"""The rules of scipy.integrate: tests of solvers test them, whose keyword arguments cannot be copied."""

from __future__ import annotations

from sampling import Sample

from wengert_rules.scipy.integrate.linear_steps import changes, residuals_of_changes
from wengert_rules.scipy.integrate.native_steps import pulled, pulled_from_pushed, pushed, solved
from wengert_rules.scipy.integrate.paths import values_along
from wengert_rules.scipy.integrate.quadrature import integral_curvature, integral_slopes, integral_value
from wengert_rules.scipy.integrate.sensitivities import cotangents_at, solution_at, tangents_at

SAMPLES: list[Sample] = []
BY_HAND = [
    changes, residuals_of_changes, values_along, solved, pulled, pushed, pulled_from_pushed,
    integral_value, integral_slopes, integral_curvature, solution_at, cotangents_at, tangents_at,
]  # fmt: skip
