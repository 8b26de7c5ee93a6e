"""Native code for factors of matrices and least squares, by the routines of LAPACK that NumPy calls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.compiling.native.indices import check_elements
from wengert.compiling.native.lapack import WORKSPACE, call_lapack, copy_by_columns, integers, new_columns
from wengert.compiling.native.triangles import columns_of, emit_upper_triangle, matrix_of
from wengert.compiling.native.values import UnsupportedOp, View, number_literal
from wengert.tape.ops import Call


def emit_qr(body: Any, op: Call, a: Any, mode: str = "reduced") -> Any:
    packed = copy_by_columns(body, matrix_of(body, a))
    m, n = packed.shape
    k, scales = min(m, n), new_columns(body, min(m, n))
    call_lapack(body, "dgeqrf", m, n, packed, m, scales, WORKSPACE)
    if mode == "r":
        return _upper_triangle(body, packed, op.val.shape)
    if mode not in ("reduced", "complete"):
        raise UnsupportedOp("np.linalg.qr with this mode")
    q = new_columns(body, *op.val[0].shape)
    body.level.store(_first_columns(q, k), "=", _first_columns(packed, k))
    call_lapack(body, "dorgqr", m, q.shape[1], k, q, m, scales, WORKSPACE)
    return q, _upper_triangle(body, packed, op.val[1].shape)


def _first_columns(x: View, k: int) -> View:
    """Return the first k columns of a matrix."""
    return View(x.memory, x.offset, x.strides, (x.shape[0], k))


def _upper_triangle(body: Any, x: View, shape: tuple[int, ...]) -> View:
    """Return the upper triangle of the first rows of a matrix, in this shape."""
    return emit_upper_triangle(body, View(x.memory, x.offset, x.strides, shape))


def emit_svd(
    body: Any, op: Call, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    if hermitian:
        raise UnsupportedOp("np.linalg.svd of a Hermitian matrix")
    matrix = copy_by_columns(body, matrix_of(body, a))
    m, n = matrix.shape
    k, letter = min(m, n), "N" if not compute_uv else "A" if full_matrices else "S"
    rows, columns = (m, n) if letter == "A" else (k, k) if compute_uv else (1, 1)
    u, s, vt = new_columns(body, m, rows), new_columns(body, k), new_columns(body, columns, n)
    sizes = ord(letter), m, n
    call_lapack(body, "dgesdd", *sizes, matrix, m, s, u, m, vt, columns, WORKSPACE, integers(body, 8 * k))
    return (u, s, vt) if compute_uv else s


def _job(op: Call) -> str:
    """Return the letter by which LAPACK computes eigenvectors, too, or eigenvalues only."""
    return "V" if isinstance(op.val, tuple) else "N"


def emit_eigh(body: Any, op: Call, a: Any, UPLO: str = "L") -> Any:
    """Emit np.linalg.eigh or eigvalsh, of a matrix of which one triangle counts."""
    vectors = copy_by_columns(body, matrix_of(body, a))
    n = vectors.shape[0]
    if vectors.shape != (n, n) or UPLO.upper() not in ("L", "U"):
        raise UnsupportedOp("np.linalg.eigh with these arguments")
    values, places = new_columns(body, n), 3 + 5 * n
    letters = ord(_job(op)), ord(UPLO.upper())
    call_lapack(body, "dsyevd", *letters, n, vectors, n, values, WORKSPACE, integers(body, places), places)
    return (values, vectors) if _job(op) == "V" else values


def emit_well_conditioned_solution(body: Any, a: Any, b: Any) -> View:
    """Emit the solution of a system; the native function fails for a matrix that is nearly singular."""
    matrix, right = matrix_of(body, a), columns_of(body, b)
    n, m = matrix.shape[0], (*right.shape, 1)[1]
    if matrix.shape != (n, n) or right.shape[0] != n:
        raise UnsupportedOp("a system of equations whose matrix is not square")
    factors, found, pivots = copy_by_columns(body, matrix), copy_by_columns(body, right), integers(body, n)
    sums = body.call(Call(np.sum, [body.level.let("abs({0})", [matrix], (n, n))], {"axis": 0}, val=np.zeros(n)))
    norm = body.call(Call(np.max, [sums], {}, val=np.float64(0.0)))
    call_lapack(body, "dgetrf", n, n, factors, n, pivots)
    share = new_columns(body, 1)
    work = new_columns(body, 4 * n), integers(body, n)
    call_lapack(body, "dgecon", ord("1"), n, factors, n, norm, share, *work)
    body.level.guard(f"not {{0}} >= {float(np.finfo(np.float64).eps)!r}", body.level.load(_element_view(share)))
    call_lapack(body, "dgetrs", ord("N"), n, m, factors, n, pivots, found, n)
    return found


def emit_eig(body: Any, op: Call, a: Any) -> Any:
    """Emit np.linalg.eig or eigvals; the native function fails if an eigenvalue is complex."""
    matrix, job = copy_by_columns(body, matrix_of(body, a)), _job(op)
    n = matrix.shape[0]
    if matrix.shape != (n, n) or (op.val[0] if job == "V" else op.val).dtype != np.float64:
        raise UnsupportedOp("complex eigenvalues")
    check_elements(body, body.operand(a), "{1} - {1} == 0.0")  # as NumPy does: LAPACK may not return
    values, imaginary, unused, vectors = (new_columns(body, *shape) for shape in ((n,), (n,), (1,), (n, n)))
    letters = ord("N"), ord(job)
    call_lapack(body, "dgeev", *letters, n, matrix, n, values, imaginary, unused, 1, vectors, n, WORKSPACE)
    sizes = body.level.let("abs({0})", [imaginary], (n,))
    body.level.guard("{0} != 0.0", body.level.reduce("0.0", "radd({0}, {1})", sizes, (n,), 0, None))
    return (values, vectors) if job == "V" else values


def emit_lstsq(body: Any, op: Call, a: Any, b: Any, rcond: Any = None) -> Any:
    """Emit least squares; the native function fails for another rank than the recorded one."""
    matrix, right = copy_by_columns(body, matrix_of(body, a)), columns_of(body, b)
    (m, n), columns = matrix.shape, (*right.shape, 1)[1]
    k, lead, rank = min(m, n), max(m, n), op.val[2]
    if not columns or not isinstance(rcond, (int, float, type(None))):
        raise UnsupportedOp("np.linalg.lstsq with these arguments")
    rcond = float(np.finfo(np.float64).eps) * lead if rcond is None else float(rcond)
    both, s = new_columns(body, lead, columns), new_columns(body, k)
    rows = View(both.memory, both.offset, both.strides, (m, columns))
    body.level.store(_of_shape(rows, right.shape), "=", right)
    places = integers(body, 1), integers(body, k * (11 + 3 * k.bit_length()))
    numbers = m, n, columns
    call_lapack(body, "dgelsd", *numbers, matrix, m, both, lead, s, rcond, places[0], WORKSPACE, places[1])
    share = rcond if rcond >= 0.0 else float(np.finfo(np.float64).eps) / 2.0
    counted = body.level.let(
        f"(1.0 if {{0}} > {share!r} * {{1}} else 0.0)", [s, body.level.load(_element_view(s))], (k,)
    )
    found = body.level.reduce("0.0", "radd({0}, {1})", counted, (k,), 0, None)
    body.level.guard(f"{{0}} != {int(rank)}.0", found)
    return _of_shape(_rows_of_columns(both, 0, n), op.val[0].shape), _misfits(body, both, op), number_literal(rank), s


def _misfits(body: Any, both: View, op: Call) -> Any:
    """Return the sums of squares of the rows below the solution, where NumPy has them."""
    n, shape = op.val[0].shape[0], op.val[1].shape
    rest = _rows_of_columns(both, n, both.shape[0] - n)
    if not math.prod(shape):
        return body.call(Call(np.zeros, [shape], {}, val=op.val[1]))
    squares = body.call(Call(np.square, [rest], {}, val=np.zeros(rest.shape)))
    return body.call(Call(np.sum, [squares], {"axis": 0}, val=op.val[1]))


def _rows_of_columns(x: View, first: int, n: int) -> View:
    """Return n rows of a matrix by columns."""
    return View(x.memory, x.offset + first, x.strides, (n, x.shape[1]))


def _element_view(x: View) -> View:
    return View(x.memory, x.offset, (), ())


def _of_shape(x: View, shape: tuple[int, ...]) -> View:
    """Return a matrix, or its only column as a vector."""
    return View(x.memory, x.offset, x.strides[: len(shape)], shape)
