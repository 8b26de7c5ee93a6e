"""Functions of SciPy's linear algebra in terms of operations of native code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.compiling.native.factors import emit_well_conditioned_solution
from wengert.compiling.native.matrix_exponential import emit_exponential
from wengert.compiling.native.stand_ins import Emitted, natives_of, require_finite
from wengert.compiling.native.triangles import emit_banded, emit_exchange, emit_lu, emit_triangle
from wengert.compiling.native.values import UnsupportedOp


def solve(a: Any, b: Any, overwrite_a: bool = False, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """SciPy warns of a matrix that is nearly singular: the native function then fails."""
    require_finite(check_finite, a, b)
    body, matrix, right = natives_of(a, b)
    return Emitted(body, emit_well_conditioned_solution(body, matrix, right), np.zeros(np.shape(b)))


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return solve(a, np.eye(a.shape[0]), check_finite=check_finite)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    require_finite(check_finite, a)
    return np.linalg.det(a)


def qr(a: Any, overwrite_a: bool = False, mode: str = "full", check_finite: bool = True) -> Any:
    require_finite(check_finite, a)
    return np.linalg.qr(a, {"full": "complete", "economic": "reduced"}.get(mode, mode))  # type: ignore[call-overload]


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    require_finite(check_finite, a)
    return np.linalg.svd(a, full_matrices, compute_uv)  # type: ignore[call-overload]


def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return svd(a, compute_uv=False, check_finite=check_finite)


def pinv(a: Any, *, rtol: Any = None, check_finite: bool = True) -> Any:
    require_finite(check_finite, a)
    return np.linalg.pinv(a, rtol=rtol)


def expm(A: Any) -> Any:
    return Emitted(A.body, emit_exponential(A.body, A.native), np.zeros(A.shape))


def toeplitz(c: Any, r: Any = None) -> Any:
    r = c if r is None else r
    if np.ndim(c) != 1 or np.ndim(r) != 1:
        raise UnsupportedOp("scipy.linalg.toeplitz but of vectors")
    n, m = np.shape(c)[0], np.shape(r)[0]
    return np.concatenate([c[::-1], r[1:]])[n - 1 - np.arange(n)[:, None] + np.arange(m)]


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    check_finite: bool = True,
    **_: Any,
) -> Any:
    require_finite(check_finite, a, b)
    turned = trans not in (0, "N")
    return _of_triangle(np.transpose(a) if turned else a, b, bool(lower) != turned, unit_diagonal)


def _of_triangle(a: Any, b: Any, is_lower: bool, is_unit: bool = False) -> Any:
    """Solve a triangular system; the other triangle of the matrix does not count."""
    body, matrix, right = natives_of(a, b)
    return Emitted(body, emit_triangle(body, matrix, right, is_lower, is_unit), np.zeros(np.shape(b)))


def cho_solve(c: Any, b: Any, lower: bool, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    require_finite(check_finite, c, b)
    turned = np.transpose(c)
    first, then = (c, turned) if lower else (turned, c)
    return _of_triangle(then, _of_triangle(first, b, True), False)


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The other triangle of the result is that of the argument."""
    made = cholesky(a, lower, check_finite=check_finite)
    return made + (np.triu(a, 1) if lower else np.tril(a, -1)), lower


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    require_finite(check_finite, a)
    packed, pivots = emit_lu(a.body, a.native)
    return Emitted(a.body, packed, np.zeros(a.shape)), Emitted(a.body, pivots, np.zeros(a.shape[0]))


def lu_solve(lu: Any, piv: Any, b: Any, trans: Any = 0, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    require_finite(check_finite, lu, b)
    if trans in (0, "N"):
        return _of_triangle(lu, _of_triangle(lu, exchanged(b, piv), True, True), False)
    turned = np.transpose(lu)
    return exchanged(_of_triangle(turned, _of_triangle(turned, b, True), False, True), piv, True)


def solve_banded(
    nlower: int, nupper: int, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    require_finite(check_finite, ab, b)
    body, matrix, right = natives_of(ab, b)
    return Emitted(body, emit_banded(body, int(nlower), int(nupper), matrix, right), np.zeros(np.shape(b)))


def permutation_of(pivots: Any, m: int) -> Any:
    return np.transpose(exchanged(np.eye(m), pivots))


def exchanged(b: Any, pivots: Any, is_backward: bool = False) -> Any:
    """The rows of b after the exchanges of pivots, or before them."""
    body, rows, order = natives_of(b, pivots)
    return Emitted(body, emit_exchange(body, rows, order, is_backward), np.zeros(np.shape(b)))


def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """SciPy reads the triangle of the factor, NumPy the lower one."""
    require_finite(check_finite, a)
    return np.linalg.cholesky(a) if lower else np.transpose(np.linalg.cholesky(np.transpose(a)))


INSTEAD_BY_MODULE: dict[str, dict[str, Callable[..., Any]]] = {
    "scipy.linalg": {
        f.__name__: f
        for f in (
            solve, inv, det, qr, svd, svdvals, pinv, expm, toeplitz, solve_triangular, cholesky, cho_factor,
            lu_factor,
        )
    },
    "scipy.linalg._decomp_cholesky": {"_cho_solve": cho_solve},
    "scipy.linalg._basic": {"_solve_banded": solve_banded},
    "scipy.linalg._decomp_lu": {"_lu_solve": lu_solve},
    "wengert_rules.scipy.linalg.factors": {"permutation_of": permutation_of},
}  # fmt: skip
"""Functions to run instead of others, by module and name."""
