"""peakutils: baselines and centroids."""

import numpy as np
import peakutils
from case import case

X = np.linspace(0, 1, 20)
Y = np.exp(-(((X - 0.5) / 0.1) ** 2)) + 0.3 * X


@case(Y)
def centroid(y):
    return peakutils.centroid(X, y)


@case(0.5)
def gaussian(c):
    return peakutils.gaussian(X, 1.0, c, 0.1)


@case(Y, rtol=1e-4)
def baseline(y):
    return peakutils.baseline(y, 2)
