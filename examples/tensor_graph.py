"""Smoothing values on a graph: the conditions of a sum are a sparse relation, and its derivatives stay as sparse."""

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

import wengert as wg


@wg.tensor.function
def roughness(linked, value, measured, strength):
    """Squared differences along the links, and from what was measured."""
    n = len(value)
    across = sum((value[i] - value[j]) ** 2 for i in range(n) for j in range(n) if linked[i, j])
    return strength * across + sum((value[i] - measured[i]) ** 2 for i in range(n))


def solved(times, b):
    """times(x) = b by conjugate gradients."""
    n = len(b)
    return scipy.sparse.linalg.cg(scipy.sparse.linalg.LinearOperator((n, n), times), b, rtol=1e-12)[0]


rng = np.random.default_rng(0)
side = 16
grid = np.arange(side * side).reshape(side, side)
starts, ends = (
    np.concatenate([grid[:, :-1].ravel(), grid[:-1].ravel()]),
    np.concatenate([grid[:, 1:].ravel(), grid[1:].ravel()]),
)
linked = scipy.sparse.csr_array((np.ones(starts.size, bool), (starts, ends)), shape=(side**2, side**2))
truth = np.sin(grid / 100.0).ravel()
measured = truth + 0.3 * rng.normal(size=truth.size)

slope = roughness.grad("value")
curvature_times = slope.differential("value")
zero = np.zeros_like(measured)
smooth = solved(lambda v: curvature_times(linked, zero, measured, 1.0, v), -slope(linked, zero, measured, 1.0))

print(f"{truth.size} values, {starts.size} links")
print("operations: value", roughness.cost(linked, smooth, measured, 1.0), end=", ")
print("gradient", slope.cost(linked, smooth, measured, 1.0), end=", ")
print("Hessian times a vector", curvature_times.cost(linked, smooth, measured, 1.0, smooth))
print(f"error as measured {np.std(measured - truth):.4f}, smoothed {np.std(smooth - truth):.4f}")

degree = scipy.sparse.csr_array(linked + linked.T, dtype=float)
laplacian = scipy.sparse.diags_array(degree.sum(axis=1)) - degree
exact = scipy.sparse.linalg.spsolve((scipy.sparse.eye_array(side**2) + laplacian).tocsc(), measured)
print(f"as by the matrix of the graph: {np.allclose(smooth, exact)}")
