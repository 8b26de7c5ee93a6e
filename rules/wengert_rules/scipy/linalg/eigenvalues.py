"""Eigenvalues and vectors of general matrices and pairs of them, of tridiagonal and of banded Hermitian ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from wengert.extend import NoDerivativeError, adjoint, is_complex, jvp_rule, vjp_rule
from wengert_rules import decompositions, linear_algebra
from wengert_rules.decompositions import equal, in_part, refusal
from wengert_rules.products import conj
from wengert_rules.scipy.linalg.banded import above, from_matrix, to_matrix
from wengert_rules.scipy.linalg.spectra import FREE, bars_of, dots_of
from wengert_rules.scipy.linalg.structures import in_double, read, read_bar


def divided(a, b):
    """B⁻¹ A, whose eigenvalues are those of the pair."""
    return in_double(a) if b is None else np.linalg.solve(in_double(b), in_double(a))


def undivided(c_bar, c, a, b):
    """The cotangents of A and B, from that of B⁻¹ A."""
    if b is None:
        return c_bar, None
    b_bar, a_bar = linear_algebra.solve(c_bar, c, b, a)
    return a_bar, b_bar


def divided_dot(tangents, c, b):
    if b is None:
        return in_double(tangents[0])
    a_dot, b_dot = tangents
    a_dot = np.zeros(np.shape(b), c.dtype) if a_dot is None else a_dot
    return np.linalg.solve(b, a_dot if b_dot is None else a_dot - b_dot @ c)


def right_and_left(y, left, right):
    """Of what `eig` gives the vectors of each side, None where they were not asked for."""
    return (y[-1] if right else None), (y[1] if left else None)


@vjp_rule(linalg.eig, parts=True)
def eig(y_bar, y, a, b=None, *, left=False, right=True, overwrite_a=False, overwrite_b=False, check_finite=True):
    """Those of B⁻¹ A; the left vectors are the right ones of B⁻ᴴ Aᴴ."""
    if not (left or right):
        return eigvals(y_bar, y, a, b)
    (of_right, of_left), (right_bar, left_bar) = (right_and_left(x, left, right) for x in (y, y_bar))
    a_bar: Any = 0.0
    b_bar: Any = 0.0
    if y_bar[0] is not None or right_bar is not None:
        c = divided(a, b)
        vectors = linalg.eig(a, b)[1] if of_right is None else of_right
        a_bar, b_bar = undivided(decompositions.eig((y_bar[0], right_bar), (y[0], vectors), c), c, a, b)
    if left_bar is not None:
        a_h, b_h = adjoint(a), None if b is None else adjoint(b)
        c = divided(a_h, b_h)
        more, other = undivided(decompositions.eig((None, left_bar), (conj(y[0]), of_left), c), c, a_h, b_h)
        a_bar, b_bar = a_bar + adjoint(more), None if b is None else b_bar + adjoint(other)
    return a_bar, b_bar


@jvp_rule(linalg.eig)
def push_eig(
    tangents, y, a, b=None, *, left=False, right=True, overwrite_a=False, overwrite_b=False, check_finite=True
):
    if not (left or right):
        return push_eigvals(tangents, y, a, b)
    of_right, of_left = right_and_left(y, left, right)
    c = divided(a, b)
    vectors = linalg.eig(a, b)[1] if of_right is None else of_right
    values_dot, right_dot = decompositions.push_eig((divided_dot(tangents, c, b),), (y[0], vectors), c)
    made = [values_dot]
    if left:
        dots_h = [None if x is None else adjoint(x) for x in tangents]
        c_h = divided(adjoint(a), None if b is None else adjoint(b))
        c_dot = divided_dot(dots_h, c_h, None if b is None else adjoint(b))
        made.append(decompositions.push_eig((c_dot,), (conj(y[0]), of_left), c_h)[1])
    return (*made, right_dot) if right else tuple(made)


@vjp_rule(linalg.eigvals)
def eigvals(y_bar, y, a, b=None, *, overwrite_a=False, overwrite_b=False, check_finite=True):
    c = divided(a, b)
    return undivided(decompositions.eigvals(y_bar, y, c), c, a, b)


@jvp_rule(linalg.eigvals)
def push_eigvals(tangents, y, a, b=None, *, overwrite_a=False, overwrite_b=False, check_finite=True):
    c = divided(a, b)
    return decompositions.push_eigvals((divided_dot(tangents, c, b),), y, c)


def whole_bar(cotangents, y, solve, some):
    """Ā of a Hermitian matrix that is kept in parts: `solve` takes apart all of it, or `some` of it."""
    values, vectors = y if isinstance(y, tuple) else solve(**some)
    of_all, basis = values, vectors
    if cotangents[1] is not None and np.shape(vectors)[-1] < np.shape(vectors)[-2]:
        of_all, basis = solve()
    return bars_of(cotangents[0], cotangents[1], values, vectors, of_all, basis)[0]


def whole_dots(a_dot, y, solve, some):
    """ẇ and V̇ of such a matrix."""
    values, vectors = y if isinstance(y, tuple) else solve(**some)
    of_all, basis = values, vectors
    if np.shape(vectors)[-1] < np.shape(vectors)[-2]:
        of_all, basis = solve()
    values_dot, vectors_dot = dots_of(a_dot, None, values, vectors, of_all, basis)
    if not isinstance(y, tuple):
        return values_dot
    return values_dot, refusal(FREE) if is_complex(vectors) else in_part(vectors_dot, equal("eigenvalues"))


def on_three(d, e):
    """The symmetric matrix with these diagonals."""
    beside = np.concatenate([e, np.zeros(1, e.dtype)])
    lower = np.stack([d, beside])
    return read(to_matrix(lower, 0), "her", True)


@vjp_rule(linalg.eigh_tridiagonal, parts=True)
def eigh_tridiagonal(
    y_bar, y, d, e, *, eigvals_only=False, select="a", select_range=None, check_finite=True, tol=0.0,
    lapack_driver="auto",
):  # fmt: skip
    cotangents = (y_bar, None) if eigvals_only else y_bar
    some = {"select": select, "select_range": select_range}
    a_bar = whole_bar(cotangents, y, lambda **some: linalg.eigh_tridiagonal(d, e, **some), some)
    lower = from_matrix(read_bar(a_bar, "her", True), 2, 0)
    return lower[0], lower[1, :-1]


@jvp_rule(linalg.eigh_tridiagonal)
def push_eigh_tridiagonal(
    tangents, y, d, e, *, eigvals_only=False, select="a", select_range=None, check_finite=True, tol=0.0,
    lapack_driver="auto",
):  # fmt: skip
    d_dot, e_dot = [
        np.zeros(np.shape(x), x.dtype) if x_dot is None else x_dot for x_dot, x in ((tangents[0], d), (tangents[1], e))
    ]
    a_dot = on_three(d_dot, e_dot)
    some = {"select": select, "select_range": select_range}
    return whole_dots(a_dot, y, lambda **some: linalg.eigh_tridiagonal(d, e, **some), some)


@vjp_rule(linalg.eigvalsh_tridiagonal)
def eigvalsh_tridiagonal(
    y_bar, y, d, e, *, select="a", select_range=None, check_finite=True, tol=0.0, lapack_driver="auto"
):
    return eigh_tridiagonal(y_bar, y, d, e, eigvals_only=True, select=select, select_range=select_range)


@jvp_rule(linalg.eigvalsh_tridiagonal)
def push_eigvalsh_tridiagonal(
    tangents, y, d, e, *, select="a", select_range=None, check_finite=True, tol=0.0, lapack_driver="auto"
):
    return push_eigh_tridiagonal(tangents, y, d, e, eigvals_only=True, select=select, select_range=select_range)


@vjp_rule(linalg.eig_banded, parts=True)
def eig_banded(
    y_bar, y, a_band, *, lower=False, eigvals_only=False, overwrite_a_band=False, select="a", select_range=None,
    max_ev=0, check_finite=True,
):  # fmt: skip
    cotangents = (y_bar, None) if eigvals_only else y_bar
    some = {"select": select, "select_range": select_range, "max_ev": max_ev}
    a_bar = whole_bar(cotangents, y, lambda **some: linalg.eig_banded(a_band, lower=lower, **some), some)
    return from_matrix(read_bar(a_bar, "her", lower), np.shape(a_band)[-2], above(a_band, lower))


@jvp_rule(linalg.eig_banded)
def push_eig_banded(
    tangents, y, a_band, *, lower=False, eigvals_only=False, overwrite_a_band=False, select="a", select_range=None,
    max_ev=0, check_finite=True,
):  # fmt: skip
    a_dot = read(to_matrix(tangents[0], above(a_band, lower)), "her", lower)
    some = {"select": select, "select_range": select_range, "max_ev": max_ev}
    return whole_dots(a_dot, y, lambda **some: linalg.eig_banded(a_band, lower=lower, **some), some)


@vjp_rule(linalg.eigvals_banded)
def eigvals_banded(
    y_bar, y, a_band, *, lower=False, overwrite_a_band=False, select="a", select_range=None, check_finite=True
):
    return eig_banded(y_bar, y, a_band, lower=lower, eigvals_only=True, select=select, select_range=select_range)


@jvp_rule(linalg.eigvals_banded)
def push_eigvals_banded(
    tangents, y, a_band, *, lower=False, overwrite_a_band=False, select="a", select_range=None, check_finite=True
):
    return push_eig_banded(
        tangents, y, a_band, lower=lower, eigvals_only=True, select=select, select_range=select_range
    )


TURNED = (
    "the result depends on the basis of the null space that LAPACK found, which is arbitrary. Use a result that does "
    "not depend on it, such as N N^H"
)


@vjp_rule(linalg.null_space)
def null_space(y_bar, y, A, *, rcond=None, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    """A N = 0  ⇒  Ṅ = -A⁺ Ȧ N, up to a rotation of N."""
    turned = adjoint(y) @ y_bar
    spin = turned - adjoint(turned)
    if np.any(np.abs(spin) > np.sqrt(np.finfo(y.dtype).eps) * np.max(np.abs(turned), initial=0)):
        raise NoDerivativeError(TURNED)
    return -adjoint(np.linalg.pinv(in_double(A))) @ y_bar @ adjoint(y)


@jvp_rule(linalg.null_space)
def push_null_space(tangents, y, A, *, rcond=None, overwrite_a=False, check_finite=True, lapack_driver="gesdd"):
    return -np.linalg.pinv(in_double(A)) @ tangents[0] @ y


@vjp_rule(linalg.matrix_balance)
def matrix_balance(y_bar, y, A, *, permute=True, scale=True, separate=False, overwrite_a=False):
    """B = T⁻¹ A T, in which T, powers of two and a permutation, jumps."""
    t = y[1] if not separate else linalg.matrix_balance(A, permute=permute, scale=scale)[1]
    return np.linalg.solve(adjoint(t), y_bar[0] @ adjoint(t))


@jvp_rule(linalg.matrix_balance)
def push_matrix_balance(tangents, y, A, *, permute=True, scale=True, separate=False, overwrite_a=False):
    t = y[1] if not separate else linalg.matrix_balance(A, permute=permute, scale=scale)[1]
    return np.linalg.solve(t, tangents[0] @ t), None
