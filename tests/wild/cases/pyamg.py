"""pyamg: multigrid on sparse matrices."""

import numpy as np
import pyamg
from case import case

A = pyamg.gallery.poisson((10,), format="csr")


@case(np.ones(10))
def solved(b):
    return pyamg.smoothed_aggregation_solver(A).solve(b, tol=1e-12)


@case(np.ones(10))
def conjugate_gradients(b):
    return pyamg.krylov.cg(A, b, tol=1e-12)[0]
