"""emcee: moves and autocorrelation."""

import numpy as np
from case import case
from emcee.autocorr import function_1d

X = np.sin(np.arange(16.0)) + 0.1 * np.arange(16.0)


@case(X)
def autocorrelation(x):
    return function_1d(x)


@case(np.array([0.4, -0.2]))
def log_prob_of_sampler(x):
    import emcee

    s = emcee.EnsembleSampler(4, 2, lambda t: -0.5 * np.sum(t**2))
    return s.compute_log_prob(np.stack([x, x + 1, x * 2, x - 1]))[0]
