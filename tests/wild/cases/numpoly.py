"""numpoly and chaospy: polynomials and distributions."""

import chaospy
import numpoly
import numpy as np
from case import case


@case(0.6, 0.3)
def evaluated(x, y):
    q = numpoly.variable(2)
    return numpoly.polynomial([q[0] ** 2 + q[1], q[0] * q[1]])(x, y)


@case(np.array([0.3, 1.2]))
def normal_density(x):
    return chaospy.Normal(0.2, 1.1).pdf(x)


@case(0.2)
def mean_of_expansion(a):
    q = chaospy.variable()
    return chaospy.E(q**2 + a * q, chaospy.Uniform(0, 1))
