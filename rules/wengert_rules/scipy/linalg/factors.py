"""LU, QR and RQ factors, of matrices and of stacks of them."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.linalg import _decomp_lu

from wengert.extend import NoDerivativeError, adjoint, jvp_rule, non_differentiable, vjp_rule
from wengert_rules import triangular_factors
from wengert_rules.decompositions import in_part, refusal
from wengert_rules.linear_algebra import as_columns
from wengert_rules.products import conj
from wengert_rules.scipy.linalg.structures import as_matrices, in_double
from wengert_rules.scipy.linalg.triangles import TURNS, solved

SINGULAR = (
    "a pivot of the LU factors is zero: the matrix is singular, and the factors after it have no derivative. "
    "Perturb the matrix"
)
RAW = "mode='raw' of scipy.linalg.qr has no rule. Use mode='economic'"


def joined(parts, axis):
    """A matrix made of blocks, of which the last may be empty."""
    return parts[0] if np.shape(parts[1])[axis] == 0 else np.concatenate(parts, axis)


def pivots_of(lower, upper):
    """Count the pivots before the first that is zero in any matrix of the stack.

    The pivot of the last row divides nothing. It counts as zero where it is small, lest rounding divide by it.
    """
    pivots = np.abs(np.diagonal(upper, 0, -2, -1))
    is_last = np.arange(np.shape(pivots)[-1]) == np.shape(lower)[-2] - 1
    small = np.sqrt(np.finfo(pivots.dtype).eps) * np.max(pivots, axis=-1, keepdims=True, initial=0)
    is_pivot = pivots > np.where(is_last, small, 0)
    if np.size(is_pivot) == 0 or np.all(is_pivot):
        return np.shape(upper)[-2] if np.size(upper) else 0
    return int(np.argmin(np.all(is_pivot, axis=(*range(np.ndim(upper) - 2),))))


def lu_bar(lower_bar, upper_bar, lower, upper):
    """Ā of L U = A, with the rest S = A₂₂ - L₂₁ U₁₂ of A behind the last pivot, of which U has the first row."""
    k, m, n = pivots_of(lower, upper), np.shape(lower)[-2], np.shape(upper)[-1]
    rest_bar = np.zeros((*np.shape(upper)[:-2], m - k, n - k), upper.dtype)
    if k < np.shape(upper)[-2]:
        is_last = k == m - 1
        if np.any(np.tril(lower_bar, -1)[..., k:] != 0) or np.any(np.triu(upper_bar)[..., k + is_last :, :] != 0):
            raise NoDerivativeError(SINGULAR)
        rest_bar = np.triu(upper_bar)[..., k:, k:] if is_last else rest_bar
        behind = lower_bar[..., k:, :k] - rest_bar @ adjoint(upper[..., :k, k:])
        right = upper_bar[..., :k, k:] - adjoint(lower[..., k:, :k]) @ rest_bar
        lower_bar = np.concatenate([lower_bar[..., :k, :k], behind], -2)
        upper_bar = np.concatenate([upper_bar[..., :k, :k], right], -1)
    return leading_bar(lower_bar, upper_bar, lower[..., :k], upper[..., :k, :], rest_bar) if k else rest_bar


def leading_bar(lower_bar, upper_bar, lower, upper, rest_bar):
    """L U = A  ⇒  Ā = L⁻ᴴ (tril(Lᴴ L̄, -1) + triu(Ū Uᴴ)) U⁻ᴴ of square ones; what is beyond follows from these."""
    k = np.shape(upper)[-2]
    first, below = lower[..., :k, :], lower[..., k:, :]
    square, right = upper[..., :k], upper[..., k:]
    below_bar = times_inverse(lower_bar[..., k:, :], square)
    right_bar = solved(first, upper_bar[..., k:], True, True, 2) if np.shape(right)[-1] else right
    first_bar = lower_bar[..., :k, :] - right_bar @ adjoint(right)
    square_bar = upper_bar[..., :k] - adjoint(below) @ below_bar
    core = np.tril(adjoint(first) @ first_bar, -1) + np.triu(square_bar @ adjoint(square))
    made = times_inverse(solved(first, core, True, True, 2), square)
    return joined([joined([made, below_bar], -2), joined([right_bar, rest_bar], -2)], -1)


def times_inverse(x, upper):
    """X U⁻ᴴ."""
    return adjoint(solved(upper, adjoint(x), False, False))


def lu_dots(a_dot, lower, upper):
    """The tangents of L and U, nan behind the last pivot."""
    k, m = pivots_of(lower, upper), np.shape(lower)[-2]
    if k == np.shape(upper)[-2]:
        return leading_dots(a_dot, lower, upper)
    directions = np.shape(a_dot)[:-2]
    lower_dot, upper_dot = [np.full((*directions, *np.shape(x)[-2:]), np.nan, x.dtype) for x in (lower, upper)]
    lower_dot[..., :k], upper_dot[..., :k, :] = leading_dots(a_dot, lower[..., :k], upper[..., :k, :])
    if k == m - 1:
        moved = lower_dot[..., k:, :k] @ upper[..., :k, k:] + lower[..., k:, :k] @ upper_dot[..., :k, k:]
        upper_dot[..., k:, k:] = a_dot[..., k:, k:] - moved
    return np.tril(lower_dot, -1), np.triu(upper_dot)


def leading_dots(a_dot, lower, upper):
    """M = L⁻¹ Ȧ U⁻¹  ⇒  L̇ = L tril(M, -1), U̇ = triu(M) U of square ones; what is beyond follows from these."""
    k = np.shape(upper)[-2]
    first, below = lower[..., :k, :], lower[..., k:, :]
    square, right = upper[..., :k], upper[..., k:]
    core = over(solved(first, a_dot[..., :k, :k], True, True), square)
    first_dot, square_dot = first @ np.tril(core, -1), np.triu(core) @ square
    below_dot = over(a_dot[..., k:, :k] - below @ square_dot, square)
    right_dot = solved(first, a_dot[..., :k, k:] - first_dot @ right, True, True) if np.shape(right)[-1] else right
    return joined([first_dot, below_dot], -2), joined([square_dot, right_dot], -1)


def over(x, upper):
    """X U⁻¹."""
    return adjoint(solved(upper, adjoint(x), False, False, 2))


def matrix_of(rows):
    """The permutation matrix P, or that whose rows are given."""
    return np.eye(np.shape(rows)[-1])[rows]


def split(y, permute_l, p_indices, a):
    """P, L and U of what `lu` gives."""
    if permute_l:
        p = linalg.lu(a)[0]
        return p, np.swapaxes(p, -1, -2) @ y[0], y[1]
    return matrix_of(y[0]) if p_indices else y[0], y[1], y[2]


@vjp_rule(linalg.lu)
def lu(y_bar, y, a, *, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    """A = P L U, in which P jumps."""
    if np.size(a) == 0:
        return np.zeros(np.shape(a))
    p, lower, upper = split(y, permute_l, p_indices, a)
    lower_bar = np.swapaxes(p, -1, -2) @ y_bar[0] if permute_l else y_bar[1]
    return p @ lu_bar(lower_bar, y_bar[-1], lower, upper)


@jvp_rule(linalg.lu, broadcasts=True)
def push_lu(tangents, y, a, *, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    if np.size(a) == 0:
        return tuple([np.zeros((*np.shape(tangents[0])[: -np.ndim(a)], *np.shape(part)), part.dtype) for part in y])
    p, lower, upper = split(y, permute_l, p_indices, a)
    lower_dot, upper_dot = lu_dots(np.swapaxes(p, -1, -2) @ tangents[0], lower, upper)
    lower_dot, upper_dot = in_part(p @ lower_dot if permute_l else lower_dot, SINGULAR), in_part(upper_dot, SINGULAR)
    return (lower_dot, upper_dot) if permute_l else (None, lower_dot, upper_dot)


@non_differentiable
def permutation_of(pivots, m):
    """P of P L U, from LAPACK's rows: which was exchanged with each, in turn."""
    rows = np.broadcast_to(np.arange(m), (*np.shape(pivots)[:-1], m)).copy()
    for k in range(np.shape(pivots)[-1]):
        other = pivots[..., k : k + 1]
        held = np.take_along_axis(rows, other, -1)
        np.put_along_axis(rows, other, rows[..., k : k + 1], -1)
        rows[..., k : k + 1] = held
    return np.swapaxes(np.eye(m)[rows], -1, -2)


def unpacked(packed):
    """L and U, which lie in one matrix."""
    k = min(np.shape(packed)[-2:])
    return np.tril(packed[..., :k], -1) + np.eye(np.shape(packed)[-2], k, dtype=packed.dtype), np.triu(
        packed[..., :k, :]
    )


def packed_in(lower, upper, shape):
    """The matrix of `shape` in which L below its diagonal and U lie."""
    m, n = shape[-2:]
    k = min(m, n)
    lower = joined([lower, np.zeros((*shape[:-2], m, n - k), lower.dtype)], -1)
    upper = joined([upper, np.zeros((*shape[:-2], m - k, n), upper.dtype)], -2)
    return np.where(np.tri(m, n, -1, dtype=bool), lower, upper)


@vjp_rule(linalg.lu_factor, parts=True)
def lu_factor(y_bar, y, a, *, overwrite_a=False, check_finite=True):
    packed, packed_bar = [as_matrices(x, np.ndim(a)) for x in (y[0], y_bar[0])]
    lower, upper = unpacked(packed)
    m, k = np.shape(lower)[-2:]
    lower_bar, upper_bar = np.tril(packed_bar[..., :k], -1), np.triu(packed_bar[..., :k, :])
    return np.reshape(permutation_of(y[1], m) @ lu_bar(lower_bar, upper_bar, lower, upper), np.shape(a))


@jvp_rule(linalg.lu_factor, broadcasts=True)
def push_lu_factor(tangents, y, a, *, overwrite_a=False, check_finite=True):
    a_dot, packed = [as_matrices(x, np.ndim(a)) for x in (tangents[0], y[0])]
    p = permutation_of(y[1], np.shape(packed)[-2])
    lower_dot, upper_dot = lu_dots(np.swapaxes(p, -1, -2) @ a_dot, *unpacked(packed))
    made = packed_in(lower_dot, upper_dot, np.shape(a_dot))
    return in_part(np.reshape(made, np.shape(tangents[0])), SINGULAR), None


if hasattr(_decomp_lu, "_lu_solve"):  # SciPy 1.15: what `lu_solve` calls with the factors one by one

    @vjp_rule(_decomp_lu._lu_solve, broadcasts=True)
    def lu_solve(y_bar, y, lu, piv, b, *, trans=0, overwrite_b=False, check_finite=True):
        """P L U X = B, or its transpose or adjoint, by two triangular systems: Ū and L̄ are those of these."""
        ndim = np.ndim(b)
        packed, x, x_bar = turned_lu(lu, trans), as_columns(y, ndim), as_columns(y_bar, ndim)
        p, upper = permutation_of(piv, np.shape(lu)[-1]), np.triu(packed)
        if TURNS.get(trans, trans) == 0:
            inner_bar = solved(packed, x_bar, False, False, 2)
            outer_bar = solved(packed, inner_bar, True, True, 2)
            lu_bar = np.triu(inner_bar @ adjoint(x)) + np.tril(outer_bar @ adjoint(upper @ x), -1)
            b_bar = p @ outer_bar
        else:
            z, inner_bar = np.swapaxes(p, -1, -2) @ x, solved(packed, np.swapaxes(p, -1, -2) @ x_bar, True, True)
            b_bar = solved(packed, inner_bar, False, False)
            whole = np.tril(packed, -1) + np.eye(np.shape(lu)[-1])
            lu_bar = np.triu(adjoint(whole) @ z @ adjoint(b_bar)) + np.tril(z @ adjoint(inner_bar), -1)
        return -turned_lu(lu_bar, trans), None, b_bar[..., 0] if ndim == 1 else b_bar

    @jvp_rule(_decomp_lu._lu_solve, broadcasts=True)
    def push_lu_solve(tangents, y, lu, piv, b, *, trans=0, overwrite_b=False, check_finite=True):
        """Ẋ = A⁻¹ (Ḃ - P (L̇ U + L U̇) X), or so of the transpose or adjoint."""
        lu_dot, _, b_dot = tangents
        ndim, packed, n = np.ndim(b), turned_lu(lu, trans), np.shape(lu)[-1]
        moved, p = 0.0 if b_dot is None else as_columns(b_dot, ndim), permutation_of(piv, np.shape(lu)[-1])
        if lu_dot is not None:
            changed, lower = turned_lu(lu_dot, trans), np.tril(packed, -1) + np.eye(n)
            a_dot = p @ (np.tril(changed, -1) @ np.triu(packed) + lower @ np.triu(changed))
            a_dot = a_dot if TURNS.get(trans, trans) == 0 else adjoint(a_dot)
            moved = moved - a_dot @ as_columns(y, ndim)
        y_dot = lu_solved(packed, p, moved, TURNS.get(trans, trans) == 0)
        return y_dot[..., 0] if ndim == 1 else y_dot


def turned_lu(packed, trans):
    """The factors of the matrix whose adjoint a transpose is."""
    return conj(packed) if TURNS.get(trans, trans) == 1 else packed


def lu_solved(packed, p, b, straight):
    """(P L U)⁻¹ B, or that of the adjoint."""
    if straight:
        return solved(packed, solved(packed, np.swapaxes(p, -1, -2) @ b, True, True), False, False)
    return p @ solved(packed, solved(packed, b, False, False, 2), True, True, 2)


MODES = {"full": "complete", "qr": "complete", "economic": "reduced", "r": "r"}


def numpy_mode(mode):
    if mode == "raw":
        raise NoDerivativeError(RAW)
    return MODES[mode]


def without_pivots(parts, pivoting, mode):
    """Q and R, or R alone, of what `qr` gives, as NumPy would; of a stack SciPy 1.17 gives R bare."""
    parts = parts[:-1] if pivoting else parts
    return parts[0] if mode == "r" and isinstance(parts, tuple) else parts


def taken(a, pivots):
    """The columns of A in the order of the pivots."""
    return np.take_along_axis(a, np.broadcast_to(np.expand_dims(pivots, -2), np.shape(a)), -1)


def in_order(a, y, pivoting):
    return taken(a, y[-1]) if pivoting else in_double(a)


@vjp_rule(linalg.qr, parts=True)
def qr(y_bar, y, a, *, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    """A P = Q R, in which P jumps."""
    cotangents, parts = [without_pivots(x, pivoting, mode) for x in (y_bar, y)]
    if mode == "r":
        return qr_r_bar(cotangents, parts, in_order(a, y, pivoting), y, pivoting)
    a_bar = triangular_factors.qr(cotangents, parts, in_order(a, y, pivoting), mode=numpy_mode(mode))
    return taken(a_bar, np.argsort(y[-1], -1)) if pivoting else a_bar


def qr_r_bar(r_bar, r, a, y, pivoting):
    """Of R alone, which SciPy gives with all rows; Q follows from it."""
    k = min(np.shape(a)[-2:])
    a_bar = triangular_factors.qr(r_bar[..., :k, :], r[..., :k, :], a, mode="r")
    return taken(a_bar, np.argsort(y[-1], -1)) if pivoting else a_bar


@jvp_rule(linalg.qr, broadcasts=True)
def push_qr(tangents, y, a, *, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    made = triangular_factors.push_qr(
        (in_order(tangents[0], y, pivoting),), without_pivots(y, pivoting, mode), in_order(a, y, pivoting),
        mode=numpy_mode(mode),
    )  # fmt: skip
    made = (made,) if mode == "r" and isinstance(y, tuple) else made
    return (*made, None) if pivoting else made


def flipped(x):
    """Rᴴ, its rows and columns from last to first."""
    return adjoint(x)[..., ::-1, ::-1]


def turned(x):
    """Xᴴ J, in which J puts the columns from last to first."""
    return adjoint(x)[..., ::-1]


def turned_back(x):
    return adjoint(x[..., ::-1])


@vjp_rule(linalg.rq, parts=True)
def rq(y_bar, y, a, *, overwrite_a=False, lwork=None, mode="full", check_finite=True):
    """A = R Q  ⇔  Aᴴ J = (Qᴴ J) (J Rᴴ J), in which J reverses the order: a QR factorisation."""
    r, q = (y, linalg.rq(a, mode="economic", check_finite=False)[1]) if mode == "r" else y
    r_bar, q_bar = (y_bar, None) if mode == "r" else y_bar
    k = min(np.shape(a)[-2:])
    if q_bar is not None:
        refuse_added(q_bar, k)
        q_bar = turned(q_bar[..., -k:, :])
    r_bar = None if r_bar is None else flipped(r_bar[..., -k:])
    parts = turned(q[..., -k:, :]), flipped(r[..., -k:])
    return turned_back(triangular_factors.qr((q_bar, r_bar), parts, turned(a), mode="reduced"))


def refuse_added(q_bar, k):
    if np.any(q_bar[..., :-k, :] != 0):
        raise NoDerivativeError(triangular_factors.ADDED_TO_Q)


@jvp_rule(linalg.rq, broadcasts=True)
def push_rq(tangents, y, a, *, overwrite_a=False, lwork=None, mode="full", check_finite=True):
    r, q = (y, linalg.rq(a, mode="economic", check_finite=False)[1]) if mode == "r" else y
    k = min(np.shape(a)[-2:])
    parts = turned(q[..., -k:, :]), flipped(r[..., -k:])
    q_dot, r_dot = triangular_factors.push_qr((turned(tangents[0]),), parts, turned(a), mode="reduced")
    r_dot, q_dot = flipped(r_dot), turned_back(q_dot)
    if np.shape(r)[-1] > k:
        r_dot = np.concatenate([np.zeros((*np.shape(r_dot)[:-1], np.shape(r)[-1] - k), r_dot.dtype), r_dot], -1)
    if mode == "r":
        return r_dot
    return r_dot, q_dot if np.shape(q)[-2] == k else refusal(triangular_factors.ADDED_TO_Q)
