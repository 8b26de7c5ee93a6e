"""Distributions and statistics of scipy.stats, against differences and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import wengert as wg


@pytest.mark.parametrize("q", [0.3, np.array([0.3, 0.6])], ids=["number", "array"])
def test_a_quantile_in_the_scale_of_a_distribution_without_bounds(q: float | np.ndarray) -> None:
    """SciPy places -inf·scale where q is 0, that is nowhere."""
    slope = wg.grad(lambda scale: np.sum(stats.laplace.ppf(q, 0.2, scale)))(np.full(np.shape(q), 1.3)[()])
    np.testing.assert_allclose(slope, stats.laplace.ppf(q))
