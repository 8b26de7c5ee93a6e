"""empyrical: performance of returns."""

import empyrical
import numpy as np
from case import case

R = np.array([0.01, -0.02, 0.015, 0.003, -0.007, 0.012])
M = np.array([0.008, -0.01, 0.01, 0.001, -0.004, 0.01])

for _name in (
    "sharpe_ratio",
    "sortino_ratio",
    "annual_volatility",
    "max_drawdown",
    "cum_returns_final",
    "downside_risk",
):

    def _run(r, name=_name):
        return getattr(empyrical, name)(r)

    _run.__name__ = _name
    case(R)(_run)


@case(R, M)
def alpha_beta(r, m):
    return empyrical.alpha_beta(r, m)


@case(R)
def cumulative(r):
    return empyrical.cum_returns(r)
