"""similaritymeasures: distances of curves."""

import numpy as np
import similaritymeasures as sm
from case import case

T = np.linspace(0, 1, 6)
A, B = np.array([T, T**2 + 0.03 * T]).T, np.array([T, T**3 + 0.1]).T


@case(A)
def frechet(a):
    return sm.frechet_dist(a, B)


@case(A)
def area(a):
    return sm.area_between_two_curves(a, B)


@case(A)
def warping(a):
    return sm.dtw(a, B)[0]
