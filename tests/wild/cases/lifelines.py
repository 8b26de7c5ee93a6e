"""lifelines: survival models."""

import numpy as np
from case import case
from lifelines import PiecewiseExponentialFitter, WeibullFitter

T = np.array([1.0, 2.0, 3.5, 4.0, 6.0])


@case(np.array([1.4, 3.0]))
def weibull_hazard(p):
    return WeibullFitter()._cumulative_hazard(p, T)


@case(np.array([1.4, 3.0]))
def weibull_likelihood(p):
    w = WeibullFitter()
    return (w._log_hazard(p, T) - w._cumulative_hazard(p, T)).sum()


@case(np.array([1.5, 3.0, 0.8]))
def piecewise_exponential_likelihood(p):
    w = PiecewiseExponentialFitter(breakpoints=[1.5, 3.0])
    return (w._log_hazard(p, T) - w._cumulative_hazard(p, T)).sum()  # its hazard is a gradient by autograd
