"""tslearn: distances of time series."""

import numpy as np
from case import case
from tslearn.metrics import dtw, soft_dtw

A, B = np.array([0.13, 0.57, 0.92, 0.41]), np.array([0.2, 0.8, 0.7])


@case(A)
def dynamic_time_warping(a):
    return dtw(a, B)


@case(A)
def soft(a):
    return soft_dtw(a, B, gamma=0.5)
