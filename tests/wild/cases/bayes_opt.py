"""bayesian-optimization: acquisition functions."""

import numpy as np
from bayes_opt import acquisition
from case import case

MEAN, STD = np.array([0.3, 0.8, -0.2]), np.array([0.2, 0.4, 0.1])


@case(MEAN, STD)
def upper_confidence_bound(mean, std):
    return acquisition.UpperConfidenceBound(kappa=2.0).base_acq(mean, std)


@case(MEAN, STD)
def expected_improvement(mean, std):
    a = acquisition.ExpectedImprovement(xi=0.01)
    a.y_max = 0.4
    return a.base_acq(mean, std)


@case(MEAN, STD)
def probability_of_improvement(mean, std):
    a = acquisition.ProbabilityOfImprovement(xi=0.01)
    a.y_max = 0.4
    return a.base_acq(mean, std)
