"""Compiled functions that make distributions of `scipy.stats`, or read those of others: compared with differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import wengert as wg


class Model:
    def __init__(self) -> None:
        self.scale, self.prior = 2.0, stats.gamma(2.0, scale=1.5)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "made": lambda x, m: stats.norm(x[0], m.scale).logpdf(x).sum(),
    "read": lambda x, m: m.prior.logpdf(x).sum() + m.prior.cdf(x[0]),
    "both": lambda x, m: m.prior.logpdf(x).sum() + stats.t(df=m.scale, loc=x[0]).logpdf(x[1:]).sum(),
    "in a loop": lambda x, m: sum([stats.norm(loc=loc, scale=m.scale).logpdf(0.3) for loc in x]),
    "of vectors": lambda x, m: stats.multivariate_normal(mean=np.zeros(3), cov=np.eye(3) * m.scale).logpdf(x),
    "with shapes": lambda x, m: stats.beta(x[0], x[1] * m.scale).logpdf(0.3),
    "discrete": lambda x, m: stats.poisson(x[0] * m.scale).logpmf(3),
    "moments": lambda x, m: stats.lognorm(s=x[0]).mean() + stats.norm(x[0], m.scale).ppf(0.3),
}
X, STEPS = np.array([0.7, 1.2, 2.5]), 1e-5 * np.eye(3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_their_derivatives_follow_changes(name: str) -> None:
    f, model = PROGRAMS[name], Model()
    compiled = wg.compile(wg.value_and_grad(lambda x: f(x, model)), quiet=True)
    for scale, prior in ((2.0, model.prior), (3.0, model.prior), (3.0, stats.gamma(3.0, scale=0.5))):
        model.scale, model.prior = scale, prior
        for _ in range(2):
            value, slope = compiled(X)
            expected = [(f(X + h, model) - f(X - h, model)) / 2e-5 for h in STEPS]
            np.testing.assert_allclose(value, f(X, model), rtol=1e-13)
            np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-9)
    assert "uncompiled" not in compiled.explain()
