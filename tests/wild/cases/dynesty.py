"""dynesty: helpers of nested sampling."""

import numpy as np
from case import case
from dynesty import utils

L = np.array([-9.0, -5.0, -3.0, -2.0, -1.5])


@case(L)
def logsumexp_of(x):
    return np.logaddexp.reduce(x)


@case(L)
def integrals(logl):
    logvol = -np.arange(1, 6) / 4.0
    return utils.compute_integrals(logl=logl, logvol=logvol)[1]


@case(np.array([0.3, 0.6]))
def reflected(u):
    return utils.apply_reflect(u * 3.0)
