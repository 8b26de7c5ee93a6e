"""Calls of LAPACK and BLAS by native code: the C functions that SciPy exports to Cython.

LAPACK has columns where native code has rows, so helpers copy matrices to a workspace. In their sources,
`lapack_dgesv(n, m, ...)` passes numbers by reference and memory as it is, and returns the `info` of LAPACK, which is 0
if nothing failed. Letters are passed as their codes.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module

LAPACK = "lapack_"
EXPORTS = {LAPACK: "scipy.linalg.cython_lapack", "blas_": "scipy.linalg.cython_blas"}
"""Modules that export routines, by the prefixes of their names in sources."""

SOLVE = """
def solve_by_lapack(x, o, a, p, p0, p1, b, q, q0, q1, w, y, y0, y1, n, m):
    # solves a x = b for m columns of b; returns whether a is singular
    for j in range(n):
        for i in range(n):
            w[y + j * n + i] = a[p + i * p0 + j * p1]
    r = y + n * n
    for j in range(m):
        for i in range(n):
            w[r + j * n + i] = b[q + i * q0 + j * q1]
    if lapack_dgesv(n, m, w[y:], n, w[r + n * m:], w[r:], n) != 0:
        return True
    for i in range(n):
        for j in range(m):
            x[o + i * m + j] = w[r + j * n + i]
    return False
"""

CHOLESKY = """
def cholesky_by_lapack(x, o, a, p, p0, p1, n):
    # factors a positive definite matrix; returns whether it is not
    for i in range(n):
        for j in range(n):
            x[o + i * n + j] = a[p + i * p0 + j * p1] if j <= i else 0.0
    return lapack_dpotrf(85, n, x[o:], n) != 0
"""

BANDED = """
def solve_banded_by_lapack(x, o, a, p, p0, p1, b, q, q0, q1, w, y, y0, y1, n, m, below, above):
    # solves a x = b for m columns of b, of a matrix with these diagonals; returns whether it is singular
    h = 2 * below + above + 1
    for j in range(n):
        for i in range(below + above + 1):
            w[y + j * h + below + i] = a[p + i * p0 + j * p1]
    r = y + n * h
    for j in range(m):
        for i in range(n):
            w[r + j * n + i] = b[q + i * q0 + j * q1]
    if lapack_dgbsv(n, below, above, m, w[y:], h, w[r + n * m:], w[r:], n) != 0:
        return True
    for i in range(n):
        for j in range(m):
            x[o + i * m + j] = w[r + j * n + i]
    return False
"""


@cache
def is_available() -> bool:
    """Whether SciPy is installed, which exports the routines."""
    try:
        return all([hasattr(import_module(module), "__pyx_capi__") for module in EXPORTS.values()])
    except ImportError:
        return False


def routines_in(source: str) -> dict[str, tuple[str, str]]:
    """Return the routines that a source calls: the module and the name there, by the name in the source."""
    found = {*re.findall(rf"\b({'|'.join(EXPORTS)})(\w+)\(", source)}
    return {f"{prefix}{name}": (EXPORTS[prefix], name) for prefix, name in sorted(found)}
