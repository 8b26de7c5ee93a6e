"""POT: optimal transport."""

import numpy as np
import ot
from case import case

A, B = np.array([0.2, 0.5, 0.3]), np.array([0.4, 0.4, 0.2])
M = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [2.0, 1.5, 0.0]])


@case(M)
def sinkhorn_cost(m):
    return ot.sinkhorn2(A, B, m, 0.5)


@case(M)
def exact_cost(m):
    return ot.emd2(A, B, m)


@case(np.array([[0.1], [0.5], [0.9]]))
def costs(x):
    return ot.dist(x, np.array([[0.2], [0.4]]))


@case(np.array([0.1, 0.5, 0.9]))
def in_one_dimension(x):
    return ot.wasserstein_1d(x, np.array([0.2, 0.4, 0.6]))
