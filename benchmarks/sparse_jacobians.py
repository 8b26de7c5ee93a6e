"""Sparse Jacobians and Hessians: passes, the first call, which finds the pattern, and calls after it.

Beside them SciPy's differences with the pattern given, as many evaluations of f as there are groups of columns.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from clock import medians
from scipy.optimize._numdiff import approx_derivative, group_columns

import wengert as wg


def tridiagonal(x):
    y = -2.0 * x
    y[1:] += x[:-1] ** 2
    y[:-1] += np.sin(x[1:])
    return y


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_slope(x):
    slope = np.zeros_like(x)
    slope[:-1] = -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    slope[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return slope


def in_the_plane(x):
    side = int(len(x) ** 0.5)
    u = np.zeros((side + 2, side + 2))
    u[1:-1, 1:-1] = x[: side * side].reshape(side, side)
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return (4 * u[1:-1, 1:-1] - around - np.exp(u[1:-1, 1:-1])).ravel()


def beside_the_first(x):
    return np.concatenate([x[1:] ** 2 * x[0] + np.sin(x[:-1]), [np.sum(x**3)]])


def by_elements(x):
    y = np.zeros(len(x))
    for i in range(1, len(x) - 1):
        y[i] = x[i - 1] - 2 * x[i] + x[i + 1] ** 2
    return y


def measured(name: str, jac: Any, f: Callable[..., Any], n: int) -> str:
    """A line of the table."""
    x = np.random.default_rng(n).uniform(0.5, 1.5, n)
    start = time.perf_counter()
    found = jac(x)
    first = time.perf_counter() - start
    pattern = abs(found).sign()
    groups = group_columns(pattern)
    works = {
        "f": lambda: f(x),
        "again": lambda: jac(x),
        "differences": lambda: approx_derivative(f, x, "2-point", sparsity=(pattern, groups)),
    }
    times = medians(works, 3)
    taken = [first, times["again"], times["differences"], times["f"]]
    shown = "".join(f"{1000 * seconds:13.2f}" for seconds in taken)
    return f"{name:28}{n:8}{found.nnz:9}{jac.passes:8}{groups.max() + 1:8}{shown}"


def main(n: int = 100_000) -> None:
    print(f"{'':28}{'n':>8}{'entries':>9}{'passes':>8}{'groups':>8}", end="")
    print("".join(f"{head:>13}" for head in ("first, ms", "again, ms", "differences", "f, ms")))
    for size in (1000, n):
        print(measured("tridiagonal", wg.sparse_jacobian(tridiagonal), tridiagonal, size))
        print(measured("Hessian of Rosenbrock", wg.sparse_hessian(rosenbrock), rosenbrock_slope, size))
        print(measured("Laplacian in the plane", wg.sparse_jacobian(in_the_plane), in_the_plane, size))
    print(measured("a full row and column", wg.sparse_jacobian(beside_the_first), beside_the_first, 1000))
    print(measured("a loop over elements", wg.sparse_jacobian(by_elements), by_elements, 1000))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
