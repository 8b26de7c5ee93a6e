"""Sparse linear systems: SuperLU's solutions, and its factors of a matrix, where that is traced as well."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import SuperLU
from scipy.sparse.linalg._dsolve import _superlu

from wengert.extend import NoDerivativeError, jvp_rule, linear, stands_for, vjp_rule
from wengert_rules.products import conj
from wengert_rules.scipy.optional import if_present
from wengert_rules.scipy.sparse.products import along, by_columns, by_rows, rows_of

INCOMPLETE = (
    "the factors of spilu are incomplete: they solve a different system, whose derivative is not known. Use splu, or "
    "factor a matrix that does not depend on the inputs"
)
TRIANGULAR = "sparse.linalg._dsolve._superlu.gstrs"
INSIDE = "the factors L and U of splu have no derivative. Use its solve, whose result has one"


def solved(like, indices, indptr, data, b, is_columns, options):
    """A⁻¹ B of the matrix whose elements lie column by column, or row by row."""
    n, dtype = np.size(indptr) - 1, np.result_type(like, data, b)
    given = np.ascontiguousarray(data, dtype), indices, indptr, np.asarray(b, dtype)
    return _superlu.gssv(n, np.size(indices), *given, int(is_columns), options=options)[0]


def products_of(left, right, indices, indptr, is_columns):
    """For each element the product of what stands, in two vectors or matrices, at its row and at its column."""
    across = rows_of(indptr)
    row, column = (indices, across) if is_columns else (across, indices)
    return along(left[row], conj(right)[column])


@vjp_rule(_superlu.gssv, parts=True)
def gssv(y_bar, y, N, nnz, nzvals, colind, rowptr, B, csc, *, options=None):
    """X = A⁻¹ B  ⇒  B̄ = A⁻ᴴ X̄, and of -B̄ Xᴴ each element of A gets its own: its rows are Aᵀ's columns."""
    b_bar = solved(y[0], colind, rowptr, conj(nzvals), y_bar[0], not csc, options)
    return None, None, -products_of(b_bar, y[0], colind, rowptr, csc), None, None, b_bar, None


@jvp_rule(_superlu.gssv)
def push_gssv(tangents, y, N, nnz, nzvals, colind, rowptr, B, csc, *, options=None):
    """Ẋ = A⁻¹ (Ḃ - Ȧ X)."""
    moved = np.zeros(np.shape(B), y[0].dtype) if tangents[5] is None else tangents[5]
    if tangents[2] is not None:
        times = by_columns if csc else by_rows
        moved = moved - np.reshape(times((N, N), rowptr, colind, tangents[2], y[0]), np.shape(B))
    return solved(y[0], colind, rowptr, nzvals, moved, csc, options), None


ADJOINT = {"N": "H", "H": "N"}


@vjp_rule(SuperLU.solve)
def solve(y_bar, y, self, rhs, *, trans="N"):
    """B̄ = A⁻ᴴ X̄; of A⁻ᵀ it is (A⁻¹ X̄*)*."""
    if trans == "T":
        return None, conj(self.solve(conj(y_bar)))
    return None, self.solve(y_bar, ADJOINT[trans])


linear(SuperLU.solve, args=(1,))


class Factors:
    """Stands for the SuperLU object of a traced matrix."""

    def __init__(self, n, indices, indptr, data, options):
        self.shape, self.nnz = (n, n), np.size(data)
        self._given = indices, indptr, data, options

    def solve(self, rhs, trans="N"):
        indices, indptr, data, options = self._given
        n, rhs = self.shape[0], np.asarray(rhs)
        dtype = np.result_type(data, rhs)
        data, rhs = (conj(data) if trans == "H" else data).astype(dtype), rhs.astype(dtype)
        return _superlu.gssv(n, np.size(indices), data, indices, indptr, rhs, int(trans == "N"), options=options)[0]

    def __getattr__(self, name):
        raise NoDerivativeError(INSIDE)


@stands_for(_superlu.gstrf)
def gstrf(n, nnz, data, indices, indptr, csc_construct_func=None, ilu=False, options=None):
    if ilu:
        raise NoDerivativeError(INCOMPLETE)
    return Factors(n, indices, indptr, data, {"ColPerm": (options or {}).get("ColPerm")})


class Triangles:
    """L, of 1 on its diagonal, and U, whose diagonal SuperLU keeps in that of L; both by columns."""

    def __init__(self, n, l_data, l_indices, l_indptr, u_data, u_indices, u_indptr):
        self.n, self.l_data, self.u_data = n, l_data, u_data
        self.l_places, self.u_places = (l_indptr, l_indices), (u_indptr, u_indices)
        self.is_diagonal = l_indices == rows_of(l_indptr)

    def below(self, data, x, turned=False):
        """Multiply X by the part of L below its diagonal, with these elements, or by the adjoint of that part."""
        return self._times(np.where(self.is_diagonal, 0, data), self.l_places, x, turned)

    def above(self, l_data, u_data, x):
        """U times X."""
        return self._times(np.where(self.is_diagonal, l_data, 0), self.l_places, x) + self._times(
            u_data, self.u_places, x
        )

    def _times(self, data, places, x, turned=False):
        if turned:
            return by_rows((self.n, self.n), places[0], places[1], conj(data), x)
        return by_columns((self.n, self.n), places[0], places[1], data, x)


@if_present(vjp_rule, TRIANGULAR, parts=True)
def gstrs(y_bar, y, trans, n, l_nnz, l_data, l_indices, l_indptr, m, u_nnz, u_data, u_indices, u_indptr, b):
    """X = (L U)⁻¹ B: Ā = -B̄ Xᴴ of A = L U, L̄ = Ā Uᴴ and Ū = Lᴴ Ā, and so of the transpose."""
    of = Triangles(n, l_data, l_indices, l_indptr, u_data, u_indices, u_indptr)
    lower, upper = (l_nnz, conj(l_data), l_indices, l_indptr), (u_nnz, conj(u_data), u_indices, u_indptr)
    b_bar = _superlu.gstrs("N" if trans == "T" else "T", n, *lower, m, *upper, np.asarray(y_bar[0], y[0].dtype))[0]
    left, right = (b_bar, y[0]) if trans == "N" else (conj(y[0]), conj(b_bar))
    inner, outer = left + of.below(l_data, left, turned=True), of.above(l_data, u_data, right)
    on_diagonal = products_of(inner, right, l_indices, l_indptr, True)
    l_bar = np.where(of.is_diagonal, on_diagonal, products_of(left, outer, l_indices, l_indptr, True))
    u_bar = products_of(inner, right, u_indices, u_indptr, True)
    return None, None, None, -l_bar, None, None, None, None, -u_bar, None, None, b_bar


@if_present(jvp_rule, TRIANGULAR)
def push_gstrs(tangents, y, trans, n, l_nnz, l_data, l_indices, l_indptr, m, u_nnz, u_data, u_indices, u_indptr, b):
    """Ẋ = A⁻¹ (Ḃ - (L̇ U + L U̇) X), and so of the transpose, whose products are formed from dense factors."""
    l_dot, u_dot = [
        np.zeros(np.shape(x), x.dtype) if tangent is None else tangent
        for tangent, x in ((tangents[3], l_data), (tangents[8], u_data))
    ]
    of = Triangles(n, l_data, l_indices, l_indptr, u_data, u_indices, u_indptr)
    whole = np.eye(n)
    x = y[0]
    if trans == "N":
        inner = of.above(l_dot, u_dot, x)
        moved = of.below(l_dot, of.above(l_data, u_data, x)) + inner + of.below(l_data, inner)
    else:
        inner = of.above(l_dot, u_dot, whole)
        a_dot = of.below(l_dot, of.above(l_data, u_data, whole)) + inner + of.below(l_data, inner)
        moved = np.swapaxes(a_dot, 0, 1) @ x
    moved = -moved if tangents[11] is None else tangents[11] - moved
    lower, upper = (l_nnz, l_data, l_indices, l_indptr), (u_nnz, u_data, u_indices, u_indptr)
    return _superlu.gstrs(trans, n, *lower, m, *upper, np.asarray(moved, x.dtype))[0], None
