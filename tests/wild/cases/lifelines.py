"""lifelines: survival models."""

import numpy as np
from case import case
from lifelines import WeibullFitter

T = np.array([1.0, 2.0, 3.5, 4.0, 6.0])


@case(np.array([1.4, 3.0]))
def weibull_hazard(p):
    return WeibullFitter()._cumulative_hazard(p, T)


@case(np.array([1.4, 3.0]))
def weibull_likelihood(p):
    w = WeibullFitter()
    return (w._log_hazard(p, T) - w._cumulative_hazard(p, T)).sum()
