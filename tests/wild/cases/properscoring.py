"""properscoring: scores of forecasts."""

import numpy as np
import properscoring as ps
from case import case

E = np.array([[0.1, 0.5, 0.9], [0.3, 0.2, 0.7]])


@case(E)
def crps_of_an_ensemble(e):
    return ps.crps_ensemble(np.array([0.4, 0.6]), e)


@case(np.array([0.2, 0.8]), 0.4)
def crps_of_a_normal(mu, sig):
    return ps.crps_gaussian(np.array([0.4, 0.6]), mu, sig)
