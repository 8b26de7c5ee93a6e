"""Native code for linear algebra: LU with partial pivoting, and Cholesky factors.

Small matrices are written out as loops, larger ones are left to LAPACK. Each fails for a singular matrix: NumPy then
runs, and raises its error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from wengert.compiling.native import lapack
from wengert.compiling.native.complex_numbers import as_pair
from wengert.compiling.native.helper_calls import call_helper
from wengert.compiling.native.triangles import columns_of, emit_lu, emit_upper_triangle, matrix_of
from wengert.compiling.native.values import ComplexPair, UnsupportedOp, View, real_parts
from wengert.tape.ops import Call, value_of

LARGEST = 16  # rows; above, LAPACK is faster

ELIMINATE = """
def eliminate(lu, a, p, p0, p1, x, o, n, m):
    # the upper triangle of an n x n matrix, with m columns of x brought along; returns whether it is singular
    for i in range(n):
        for j in range(n):
            lu[i * n + j] = a[p + i * p0 + j * p1]
    for k in range(n):
        r = k
        for i in range(k + 1, n):
            if abs(lu[i * n + k]) > abs(lu[r * n + k]):
                r = i
        if not abs(lu[r * n + k]) > 0.0:
            return True
        if r != k:
            for j in range(n):
                lu[k * n + j], lu[r * n + j] = lu[r * n + j], lu[k * n + j]
            for j in range(m):
                x[o + k * m + j], x[o + r * m + j] = x[o + r * m + j], x[o + k * m + j]
        for i in range(k + 1, n):
            f = lu[i * n + k] / lu[k * n + k]
            for j in range(k + 1, n):
                lu[i * n + j] -= f * lu[k * n + j]
            for j in range(m):
                x[o + i * m + j] -= f * x[o + k * m + j]
    return False
"""

SOLVE = """
def solve(x, o, a, p, p0, p1, b, q, q0, q1, n, m):
    # solves a x = b for m columns of b; returns whether a is singular
    for i in range(n):
        for j in range(m):
            x[o + i * m + j] = b[q + i * q0 + j * q1]
    lu = np.empty(1024)
    if eliminate(lu, a, p, p0, p1, x, o, n, m):
        return True
    for k in range(n - 1, -1, -1):
        for j in range(m):
            s = x[o + k * m + j]
            for i in range(k + 1, n):
                s -= lu[k * n + i] * x[o + i * m + j]
            x[o + k * m + j] = s / lu[k * n + k]
    return False
"""

DETERMINANT = """
def determinant(x, o, a, p, p0, p1, b, q, q0, q1, n):
    # writes the sign of a determinant, the logarithm of its size, and itself, by LU factors and pivots
    sign, size, product = 1.0, 0.0, 1.0
    for k in range(n):
        d = a[p + k * p0 + k * p1]
        sign = -sign if (d < 0.0) != (b[q + k * q0] != k) else sign
        size += log(abs(d))
        product *= d if b[q + k * q0] == k else -d
    x[o], x[o + 1], x[o + 2] = sign, size, product
    return False
"""

CHOLESKY = """
def cholesky(x, o, a, p, p0, p1, n):
    # factors a positive definite matrix; returns whether it is not
    for i in range(n):
        for j in range(n):
            x[o + i * n + j] = 0.0
    for i in range(n):
        for j in range(i + 1):
            s = a[p + i * p0 + j * p1]
            for k in range(j):
                s -= x[o + i * n + k] * x[o + j * n + k]
            if i == j:
                if not s > 0.0:
                    return True
                x[o + i * n + i] = sqrt(s)
            else:
                x[o + i * n + j] = s / x[o + j * n + j]
    return False
"""


def emit_solve(body: Any, op: Call, a: Any, b: Any) -> Any:
    matrix, right = matrix_of(body, a), columns_of(body, b)
    n, m = sizes = matrix.shape[0], (*right.shape, 1)[1]
    if n <= LARGEST:
        return call_helper(body, "solve", (ELIMINATE, SOLVE), [matrix, right], sizes, op.val.shape)
    factors, found = lapack.copy_by_columns(body, matrix), lapack.copy_by_columns(body, right)
    lapack.call_lapack(body, "dgesv", n, m, factors, n, lapack.integers(body, n), found, n)
    return found


def emit_complex_solve(body: Any, op: Call, a: Any, b: Any) -> ComplexPair:
    """Solve for both parts together, by the matrix [[real, -imag], [imag, real]] of twice the size."""
    pairs = [as_pair(body, x) for x in (a, b)]
    n, shape = op.val.shape[0], op.val.shape
    if np.shape(value_of(op.args[0])) != (n, n) or len(shape) > 2 or not 0 < n <= LARGEST:
        raise UnsupportedOp("linear algebra of large matrices, or of stacks of matrices")
    left, right = [[body.view(part) for part in real_parts(pair)] for pair in pairs]
    matrix, columns = body.level.new_array((2 * n, 2 * n)), body.level.new_array((2 * n, *shape[1:]))
    negated = body.level.let("-{0}", [left[1]], (n, n))
    for i, row in enumerate(((left[0], negated), (left[1], left[0]))):
        body.level.store(_half(columns, i), "=", right[i])
        for j, part in enumerate(row):
            body.level.store(_half(_half(matrix, i).transposed((1, 0)), j).transposed((1, 0)), "=", part)
    sizes = 2 * n, (*shape, 1)[1]
    made = call_helper(body, "solve", (ELIMINATE, SOLVE), [matrix, columns], sizes, columns.shape)
    return ComplexPair(_half(made, 0), _half(made, 1))


def emit_complex_inverse(body: Any, op: Call, a: Any) -> ComplexPair:
    return emit_complex_solve(body, op, a, body.value(np.eye(op.val.shape[0])))


def _half(view: View, k: int) -> View:
    """Return the first or second half of the rows."""
    n = view.shape[0] // 2
    return replace(view, offset=view.offset + k * n * view.strides[0], shape=(n, *view.shape[1:]))


def emit_cholesky(body: Any, op: Call, a: Any) -> Any:
    matrix = matrix_of(body, a)
    n = matrix.shape[0]
    if n <= LARGEST:
        return call_helper(body, "cholesky", (CHOLESKY,), [matrix], (n,), op.val.shape)
    factor = emit_upper_triangle(body, matrix.transposed((1, 0))).transposed((1, 0))
    lapack.call_lapack(body, "dpotrf", ord("L"), n, factor, n)
    return factor


def emit_determinant(body: Any, op: Call, a: Any) -> Any:
    """Emit np.linalg.slogdet or det, as numbers."""
    factors, pivots = emit_lu(body, a)
    made = call_helper(body, "determinant", (DETERMINANT,), [factors, pivots], (factors.shape[0],), (3,))
    found = [body.level.load(View(made.memory, made.offset + k, (), ())) for k in range(3)]
    return tuple(found[:2]) if isinstance(op.val, tuple) else found[2]
