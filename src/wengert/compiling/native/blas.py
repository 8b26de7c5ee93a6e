"""Large products of matrices and vectors in native code, by the routines of BLAS that SciPy exports."""

from __future__ import annotations

from typing import Any

from wengert.compiling.native import lapack
from wengert.compiling.native.helper_calls import call_helper
from wengert.compiling.native.values import UnsupportedOp, View, is_native_array
from wengert.tape.ops import Call

TURNED, STRAIGHT_PRODUCT = 84, 78
"""The codes of T and N: the rows of native code are columns of BLAS."""

OF_MATRICES = """
def product_of_matrices(x, o, a, p, p0, p1, b, q, q0, q1, ta, la, tb, lb, m, n, k):
    blas_dgemm(tb, ta, n, m, k, 1.0, b[q:], lb, a[p:], la, 0.0, x[o:], n)
    return False
"""

WITH_VECTOR = """
def product_with_vector(x, o, a, p, p0, p1, b, q, q0, q1, ta, la, m, n):
    blas_dgemv(ta, m, n, 1.0, a[p:], la, b[q:], q0, 0.0, x[o:], 1)
    return False
"""


def emit_large_product(body: Any, op: Call, a: Any, b: Any) -> Any:
    """Emit a product of two matrices, or of a matrix and a vector."""
    if not (is_native_array(a) and is_native_array(b) and lapack.is_available()):
        raise UnsupportedOp("large matrix products, where BLAS is faster")
    first, second = body.view(body.as_float(a)), body.view(body.as_float(b))
    if (len(first.shape), len(second.shape)) == (2, 2):
        (m, k), (_, n) = first.shape, second.shape
        (first, ta, la), (second, tb, lb) = _as_columns(body, first), _as_columns(body, second)
        strides = ta, la, tb, lb
        return call_helper(
            body, "product_of_matrices", (OF_MATRICES,), [first, second], (*strides, m, n, k), op.val.shape
        )
    if (len(first.shape), len(second.shape)) == (1, 2):
        first, second = second.transposed((1, 0)), first
    if (len(first.shape), len(second.shape)) != (2, 1):
        raise UnsupportedOp("large products of stacks of matrices")
    rows, columns = first.shape
    first, order, lead = _as_columns(body, first)
    sizes = (TURNED, lead, columns, rows) if order == STRAIGHT_PRODUCT else (STRAIGHT_PRODUCT, lead, rows, columns)
    second = second if second.strides[0] > 0 else _copied_operand(body, second)
    return call_helper(body, "product_with_vector", (WITH_VECTOR,), [first, second], sizes, op.val.shape)


def _as_columns(body: Any, x: View) -> tuple[View, int, int]:
    """Return a matrix, how BLAS has to read it, and the distance of its columns there; copy it if necessary."""
    (m, n), (down, along) = x.shape, x.strides
    if along == 1 and down >= n:
        return x, STRAIGHT_PRODUCT, down
    if down == 1 and along >= m:
        return x, TURNED, along
    return _copied_operand(body, x), STRAIGHT_PRODUCT, n


def _copied_operand(body: Any, x: View) -> View:
    made: View = body.level.new_array(x.shape)
    body.level.store(made, "=", x)
    return made
