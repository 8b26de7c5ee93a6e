"""pybaselines: baselines of spectra."""

import numpy as np
from case import case
from pybaselines import Baseline

X = np.linspace(0, 1, 30)
Y = np.exp(-(((X - 0.5) / 0.05) ** 2)) + 0.3 * X + 0.05 * np.sin(9 * X)


@case(Y, rtol=1e-4)
def asymmetric_least_squares(y):
    return Baseline(X).asls(y, lam=1e2, max_iter=5)[0]


@case(Y, rtol=1e-4)
def modified_polynomial(y):
    return Baseline(X).poly(y, 3)[0]
