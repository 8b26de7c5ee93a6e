"""george: kernels and the likelihood of Gaussian processes."""

import george
import numpy as np
from case import case
from george import kernels

T = np.array([0.0, 0.7, 1.1, 2.0])
Y = np.sin(T)


@case(np.array([0.1, 0.3]))
def log_likelihood(p):
    gp = george.GP(np.exp(p[0]) * kernels.ExpSquaredKernel(np.exp(p[1])))
    gp.compute(T, 0.1)
    return gp.log_likelihood(Y)


@case(Y)
def log_likelihood_of_data(y):
    gp = george.GP(1.3 * kernels.Matern32Kernel(0.8))
    gp.compute(T, 0.1)
    return gp.log_likelihood(y)
