"""arch: volatility models."""

import numpy as np
from arch.univariate import GARCH, Normal, StudentsT
from case import case

R = np.random.default_rng(3).normal(size=30)


@case(np.array([0.05, 0.1, 0.8]))
def garch_variance(p):
    g = GARCH(1, 0, 1)
    sigma2 = np.zeros_like(R)
    return g.compute_variance(p, R, sigma2, 1.0, np.tile([1e-6, 1e6], (30, 1)))


@case(np.abs(R) + 0.5)
def normal_likelihood(sigma2):
    return Normal().loglikelihood([], R, sigma2)


@case(6.0)
def students_likelihood(nu):
    return StudentsT().loglikelihood(np.array([nu]), R, np.ones_like(R))
