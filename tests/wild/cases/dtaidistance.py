"""dtaidistance: dynamic time warping in Python."""

import numpy as np
from case import case
from dtaidistance import dtw, ed

A, B = np.array([0.1, 0.5, 0.9, 0.4]), np.array([0.2, 0.8, 0.7])


@case(A)
def warped(a):
    return dtw.distance(a, B)


@case(A)
def euclidean(a):
    return ed.distance(a, A + 0.2)
