"""Native code for triangular and banded systems, and for LU factors with their pivots as LAPACK has them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wengert.compiling.native import lapack
from wengert.compiling.native.helper_calls import call_helper
from wengert.compiling.native.values import UnsupportedOp, View, is_native_array

LARGEST_LU = 128  # rows of a matrix that loops factor; above, LAPACK is faster
LARGEST_TRIANGLE = 1 << 20  # multiplications by which loops solve a triangular system

TRIANGLE = """
def solve_triangle(x, o, a, p, p0, p1, b, q, q0, q1, n, m, is_lower, is_unit):
    # solves a x = b for m columns of b, by one triangle of a; returns whether it is singular
    for i in range(n):
        for j in range(m):
            x[o + i * m + j] = b[q + i * q0 + j * q1]
    for s in range(n):
        k = s if is_lower == 1 else n - 1 - s
        for i in range(s):
            l = i if is_lower == 1 else n - 1 - i
            f = a[p + k * p0 + l * p1]
            for j in range(m):
                x[o + k * m + j] -= f * x[o + l * m + j]
        if is_unit == 0:
            d = a[p + k * p0 + k * p1]
            if d == 0.0:
                return True
            for j in range(m):
                x[o + k * m + j] = x[o + k * m + j] / d
    return False
"""

UPPER = """
def upper_triangle(x, o, a, p, p0, p1, m, n):
    # copy the upper triangle of an m x n matrix, with zeros below
    for i in range(m):
        for j in range(n):
            x[o + i * n + j] = a[p + i * p0 + j * p1] if i <= j else 0.0
    return False
"""

FACTOR = """
def factor_lu(x, o, a, p, p0, p1, n):
    # factors an n x n matrix in place, and writes the row exchanged with each after it; returns whether it is singular
    for i in range(n):
        for j in range(n):
            x[o + i * n + j] = a[p + i * p0 + j * p1]
    for k in range(n):
        r = k
        for i in range(k + 1, n):
            if abs(x[o + i * n + k]) > abs(x[o + r * n + k]):
                r = i
        x[o + n * n + k] = float(r)
        if not abs(x[o + r * n + k]) > 0.0:
            return True
        if r != k:
            for j in range(n):
                x[o + k * n + j], x[o + r * n + j] = x[o + r * n + j], x[o + k * n + j]
        for i in range(k + 1, n):
            f = x[o + i * n + k] / x[o + k * n + k]
            x[o + i * n + k] = f
            for j in range(k + 1, n):
                x[o + i * n + j] -= f * x[o + k * n + j]
    return False
"""

EXCHANGE = """
def exchange_rows(x, o, b, q, q0, q1, v, y, y0, y1, n, m, count, is_backward):
    # the n rows of b after the exchanges of some pivots, or before them
    for i in range(n):
        for j in range(m):
            x[o + i * m + j] = b[q + i * q0 + j * q1]
    for s in range(count):
        k = s if is_backward == 0 else count - 1 - s
        r = int(v[y + k * y0])
        for j in range(m):
            x[o + k * m + j], x[o + r * m + j] = x[o + r * m + j], x[o + k * m + j]
    return False
"""


def emit_triangle(body: Any, a: Any, b: Any, is_lower: bool, is_unit: bool) -> View:
    """Emit the solution of a triangular system; the other triangle of the matrix does not count."""
    matrix, right = body.view(body.as_float(a)), columns_of(body, b)
    sizes = matrix.shape[0], (*right.shape, 1)[1], int(is_lower), int(is_unit)
    if len(matrix.shape) != 2 or sizes[0] ** 2 * sizes[1] > LARGEST_TRIANGLE:
        raise UnsupportedOp("large triangular systems, or stacks of them")
    return call_helper(body, "solve_triangle", (TRIANGLE,), [matrix, right], sizes, right.shape)


def emit_upper_triangle(body: Any, matrix: View) -> View:
    """Emit a copy of a matrix with zeros below the diagonal."""
    return call_helper(body, "upper_triangle", (UPPER,), [matrix], matrix.shape, matrix.shape)


def emit_banded(body: Any, below: int, above: int, diagonals: Any, b: Any) -> View:
    """Emit the solution of a system whose matrix has these diagonals."""
    matrix, right = body.view(body.as_float(diagonals)), columns_of(body, b)
    rows, n = matrix.shape
    if rows != below + above + 1 or n < 2:
        raise UnsupportedOp("solve_banded with these arguments")
    factors, found = lapack.new_columns(body, below + rows, n), lapack.copy_by_columns(body, right)
    body.level.store(replace(factors, offset=factors.offset + below, shape=matrix.shape), "=", matrix)
    sizes, pivots = (n, below, above, (*right.shape, 1)[1]), lapack.integers(body, n)
    lapack.call_lapack(body, "dgbsv", *sizes, factors, below + rows, pivots, found, n)
    return found


def matrix_of(body: Any, a: Any) -> View:
    """Return a matrix as a view of memory."""
    if not is_native_array(a) or len(a.shape) != 2 or 0 in a.shape:
        raise UnsupportedOp("linear algebra of anything but matrices")
    found: View = body.view(body.as_float(a))
    return found


def columns_of(body: Any, b: Any) -> View:
    """Return a vector or matrix as a view of memory."""
    if not is_native_array(b) or len(b.shape) > 2:
        raise UnsupportedOp("np.linalg.solve of stacks of matrices")
    found: View = body.view(body.as_float(b))
    return found


def emit_lu(body: Any, a: Any) -> tuple[View, View]:
    """Emit the LU factors of a matrix, in one matrix, and the pivots."""
    matrix = body.view(body.as_float(a))
    n = matrix.shape[0]
    if matrix.shape != (n, n) or not 0 < n <= LARGEST_LU:
        raise UnsupportedOp("LU factors of large matrices, or of such as are not square")
    made = call_helper(body, "factor_lu", (FACTOR,), [matrix], (n,), (n * n + n,))
    return View(made.memory, made.offset, (n, 1), (n, n)), View(made.memory, made.offset + n * n, (1,), (n,))


def emit_exchange(body: Any, b: Any, pivots: Any, is_backward: bool) -> View:
    """Emit the rows of a vector or matrix after the exchanges of pivots, or before them."""
    right, order = columns_of(body, b), body.view(pivots)
    sizes = *(*right.shape, 1)[:2], order.shape[0], int(is_backward)
    return call_helper(body, "exchange_rows", (EXCHANGE,), [right, order], sizes, right.shape)
