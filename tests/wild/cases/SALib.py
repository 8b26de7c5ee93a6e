"""SALib: test functions."""

import numpy as np
from case import case
from SALib.test_functions import Ishigami, Sobol_G

X = np.array([[0.3, 0.6, 0.2], [0.8, 0.5, 0.1]])


@case(X)
def ishigami(x):
    return Ishigami.evaluate(x)


@case(X)
def sobol_g(x):
    return Sobol_G.evaluate(x, np.array([0.0, 1.0, 4.5]))
