"""Triangular systems and Cholesky factors, of matrices and of stacks of them."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import linalg
from scipy.linalg import _decomp_cholesky

from wengert.extend import adjoint, jvp_rule, vjp_rule
from wengert_rules import decompositions
from wengert_rules.linear_algebra import as_columns
from wengert_rules.scipy.linalg.structures import as_matrices, uplo

TURNS = {"N": 0, "T": 1, "C": 2}


@cache
def keeps_other(dtype):
    """Whether SciPy leaves the other triangle of A beside the factor of `cho_factor`.

    Before 1.18 it did, and does since then where LAPACK has no such type.
    """
    return linalg.cho_factor(np.array([[1.0, 0.5], [0.25, 1.0]], dtype))[0][1, 0] != 0


def solved(a, b, lower, unit, trans=0):
    """A⁻¹ B of a triangular matrix A, or of its transpose (1) or adjoint (2).

    One matrix solves all that stands in a stack of right sides at once.
    """
    if np.size(a) == 0:
        return np.zeros(np.shape(b))  # SciPy takes no stack without matrices
    if np.ndim(a) > 2 or np.ndim(b) < 3:
        return linalg.solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=unit, check_finite=False)
    k, (n, m) = np.ndim(b), np.shape(b)[-2:]
    columns = np.reshape(np.moveaxis(b, -2, 0), (n, -1))
    x = linalg.solve_triangular(a, columns, trans=trans, lower=lower, unit_diagonal=unit, check_finite=False)
    return np.moveaxis(np.reshape(x, (n, *np.shape(b)[:-2], m)), 0, k - 2)


def triangle(a, lower, unit):
    """The part of a matrix that is read."""
    return np.tril(a, -1 if unit else 0) if lower else np.triu(a, 1 if unit else 0)


def straight(a, lower, trans):
    """The matrix of the system, and whether it is a lower one, where `a` is read transposed (1) or as adjoint (2)."""
    turn = TURNS.get(trans, trans)
    if turn == 0:
        return a, lower
    return (np.swapaxes(a, -1, -2) if turn == 1 else adjoint(a)), not lower


@vjp_rule(linalg.solve_triangular, broadcasts=True)
def solve_triangular(
    y_bar, y, a, b, *, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True
):
    """X = A⁻¹ B  ⇒  B̄ = A⁻ᴴ X̄, and Ā is the triangle of -B̄ Xᴴ."""
    whole, is_lower = straight(a, lower, trans)
    ndim = np.ndim(b)
    columns_bar = solved(whole, as_columns(y_bar, ndim), is_lower, unit_diagonal, 2)
    whole_bar = -columns_bar @ adjoint(as_columns(y, ndim))
    a_bar = triangle(straight(whole_bar, is_lower, trans)[0], lower, unit_diagonal)
    return a_bar, columns_bar[..., 0] if ndim == 1 else columns_bar


@jvp_rule(linalg.solve_triangular, broadcasts=True)
def push_solve_triangular(
    tangents, y, a, b, *, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True
):
    """Ẋ = A⁻¹ (Ḃ - Ȧ X)."""
    a_dot, b_dot = tangents
    ndim = np.ndim(b)
    moved = 0.0 if b_dot is None else as_columns(b_dot, ndim)
    if a_dot is not None:
        moved = moved - straight(triangle(a_dot, lower, unit_diagonal), lower, trans)[0] @ as_columns(y, ndim)
    whole, is_lower = straight(a, lower, trans)
    y_dot = solved(whole, moved, is_lower, unit_diagonal)
    return y_dot[..., 0] if ndim == 1 else y_dot


@vjp_rule(linalg.cholesky)
def cholesky(y_bar, y, a, *, lower=False, overwrite_a=False, check_finite=True):
    """A = L Lᴴ, P the lower half of Lᴴ L̄ with half its diagonal  ⇒  Ā = L⁻ᴴ P L⁻¹."""
    factor, cotangent = (y, y_bar) if lower else (adjoint(y), adjoint(y_bar))
    core = decompositions.half(adjoint(factor) @ cotangent, "L")
    left = solved(factor, core, True, False, 2)
    whole = adjoint(solved(factor, adjoint(left), True, False, 2))
    return decompositions.from_triangle(whole, uplo(lower))


@jvp_rule(linalg.cholesky, broadcasts=True)
def push_cholesky(tangents, y, a, *, lower=False, overwrite_a=False, check_finite=True):
    """L̇ = L times the lower half of L⁻¹ Ȧ L⁻ᴴ with half its diagonal."""
    factor = y if lower else adjoint(y)
    left = solved(factor, decompositions.completed(as_matrices(tangents[0], np.ndim(a)), uplo(lower)), True, False)
    core = adjoint(solved(factor, adjoint(left), True, False))
    made = factor @ decompositions.half(core, "L")
    return made if lower else adjoint(made)


@vjp_rule(linalg.cho_factor, parts=True)
def cho_factor(y_bar, y, a, *, lower=False, overwrite_a=False, check_finite=True):
    """That of `cholesky`, and where SciPy leaves a triangle of A beside the factor, of that."""
    a_bar = cholesky(triangle(y_bar[0], lower, False), triangle(y[0], lower, False), a, lower=lower)
    return a_bar + triangle(y_bar[0], not lower, True) if keeps_other(a.dtype) else a_bar


@jvp_rule(linalg.cho_factor, broadcasts=True)
def push_cho_factor(tangents, y, a, *, lower=False, overwrite_a=False, check_finite=True):
    a_dot = as_matrices(tangents[0], np.ndim(a))
    made = push_cholesky(tangents, triangle(y[0], lower, False), a, lower=lower)
    return made + triangle(a_dot, not lower, True) if keeps_other(a.dtype) else made, None


def cho_solved(c, b, lower):
    """(L Lᴴ)⁻¹ B, or (Uᴴ U)⁻¹ B."""
    inner = solved(c, b, lower, False, 0 if lower else 2)
    return solved(c, inner, lower, False, 2 if lower else 0)


if hasattr(_decomp_cholesky, "_cho_solve"):  # SciPy 1.15: what `cho_solve` calls with the factor alone

    @vjp_rule(_decomp_cholesky._cho_solve, broadcasts=True)
    def cho_solve(y_bar, y, c, b, *, lower=False, overwrite_b=False, check_finite=True):
        """L Lᴴ X = B  ⇒  B̄ = (L Lᴴ)⁻¹ X̄, and L̄ is the triangle of -(B̄ Xᴴ + X B̄ᴴ) L; for U of -U (B̄ Xᴴ + X B̄ᴴ)."""
        ndim, factor = np.ndim(b), triangle(c, lower, False)
        x, b_bar = as_columns(y, ndim), cho_solved(c, as_columns(y_bar, ndim), lower)
        both = b_bar @ adjoint(x) + x @ adjoint(b_bar)
        c_bar = triangle(both @ factor if lower else factor @ both, lower, False)
        return -c_bar, b_bar[..., 0] if ndim == 1 else b_bar

    @jvp_rule(_decomp_cholesky._cho_solve, broadcasts=True)
    def push_cho_solve(tangents, y, c, b, *, lower=False, overwrite_b=False, check_finite=True):
        """Ẋ = (L Lᴴ)⁻¹ (Ḃ - L̇ Lᴴ X - L L̇ᴴ X)."""
        c_dot, b_dot = tangents
        ndim, factor = np.ndim(b), triangle(c, lower, False)
        factor = factor if lower else adjoint(factor)
        x, moved = as_columns(y, ndim), 0.0 if b_dot is None else as_columns(b_dot, ndim)
        if c_dot is not None:
            part = triangle(c_dot, lower, False)
            part = part if lower else adjoint(part)
            moved = moved - part @ (adjoint(factor) @ x) - factor @ (adjoint(part) @ x)
        y_dot = cho_solved(c, moved, lower)
        return y_dot[..., 0] if ndim == 1 else y_dot
