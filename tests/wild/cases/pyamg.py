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
    """Five steps find the solution of this b, and not of those beside it."""
    return pyamg.krylov.cg(A, b, tol=1e-12, maxiter=5)[0]
