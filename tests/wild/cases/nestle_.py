"""nestle and corner: weighted statistics."""

import nestle
import numpy as np
from case import case

X = np.random.default_rng(0).normal(size=(5, 2))


@case(X)
def weighted_mean_and_covariance(x):
    return nestle.mean_and_cov(x, np.array([0.1, 0.2, 0.3, 0.2, 0.2]))
