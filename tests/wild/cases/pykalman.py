"""pykalman: the likelihood of a linear model."""

import numpy as np
from case import case
from pykalman import KalmanFilter

Z = np.array([[0.9], [1.4], [2.2], [2.9]])


@case(0.9)
def loglikelihood(a):
    k = KalmanFilter(transition_matrices=np.array([[a]]), observation_matrices=np.array([[1.0]]))
    return k.loglikelihood(Z)


@case(Z)
def filtered(z):
    return KalmanFilter(np.array([[0.9]]), np.array([[1.0]])).filter(z)[0]
