"""pysindy: libraries and derivatives."""

import numpy as np
import pysindy as ps
from case import case

T = np.linspace(0, 1, 6)
X = np.array([np.sin(T), np.cos(T)]).T


@case(X)
def polynomial_library(x):
    return np.asarray(ps.PolynomialLibrary(degree=2).fit_transform(x))


@case(X)
def finite_difference(x):
    return np.asarray(ps.FiniteDifference(order=2)._differentiate(x, T))
