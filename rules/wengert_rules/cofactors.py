"""The cofactors of a matrix: the derivative of its determinant, which is a polynomial, and smooth where it is zero."""

from __future__ import annotations

import numpy as np

from wengert.extend import NoDerivativeError, adjoint, computes, jvp_rule, vjp_rule
from wengert_rules.products import conj

LIMITS = {np.dtype(t): np.finfo(t).eps ** -0.5 for t in (np.float32, np.float64, np.complex64, np.complex128)}
"""The largest product of max abs(A) and max abs(A⁻¹) at which half of the digits are right."""


def over_matrices(x):
    """Numbers, one for each matrix of a stack, set against the elements of the matrices."""
    return np.expand_dims(x, (-2, -1))


def trusted_inverse(a):
    """A⁻¹ where rounding leaves half of its digits; None where it does not."""
    try:
        inverted = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return None
    size = np.max(np.abs(a), initial=0) * np.max(np.abs(inverted), initial=0)
    return inverted if size < LIMITS[inverted.dtype] else None


def of_others(x):
    """For each number the product of the others along the last axis."""
    one = np.ones_like(x[..., :1])
    before = np.cumprod(np.concatenate([one, x[..., :-1]], -1), -1)
    behind = np.cumprod(np.concatenate([one, x[..., :0:-1]], -1), -1)
    return before * behind[..., ::-1]


def cofactors(a):
    """(adj A)ᴴ. Of A = U diag(s) Vᴴ it is det(U Vᴴ)* U adj(diag(s)) Vᴴ."""
    u, s, vh = np.linalg.svd(a)
    return turn(u, vh) * (u * np.expand_dims(of_others(s), -2)) @ vh


def turn(u, vh):
    return over_matrices(conj(np.linalg.det(u) * np.linalg.det(vh)))


def cofactors_along(e, a):
    """Ċ where Ȧ = E; its own adjoint, for tr(Ċᴴ H) is symmetric in E and H."""
    u, s, vh = np.linalg.svd(a)
    core = adjoint(u) @ e @ adjoint(vh)
    is_diagonal = np.eye(np.shape(s)[-1], dtype=bool)
    of_all_but_two = np.where(is_diagonal, 0, of_others(np.where(is_diagonal, 1, np.expand_dims(s, -2))))
    diagonal = of_all_but_two @ np.expand_dims(np.diagonal(core, 0, -2, -1), -1)
    return turn(u, vh) * u @ (conj(diagonal * is_diagonal) - adjoint(of_all_but_two * core)) @ vh


@vjp_rule(cofactors)
def cofactors_bar(c_bar, c, a):
    return cofactors_along(c_bar, a)


@jvp_rule(cofactors, broadcasts=True)
def push_cofactors(tangents, c, a):
    return cofactors_along(tangents[0], a)


@computes
def third(e, h, a):
    """The derivative of `cofactors_along(e, a)` where Ȧ = H, with B = A⁻ᴴ; det‴ is symmetric in its directions."""
    inverted = trusted_inverse(a)
    if inverted is None:
        raise NoDerivativeError(
            "the third derivative of a determinant is computed from the inverse, and this matrix is singular or nearly "
            "so. Move it off the singular point, or write the determinant out"
        )
    b = adjoint(inverted)
    by_e, by_h = b @ adjoint(e) @ b, b @ adjoint(h) @ b
    made = along(h, b) * (along(e, b) * b - by_e) - along(e, by_h) * b - along(e, b) * by_h
    return over_matrices(conj(np.linalg.det(a))) * (made + by_h @ adjoint(e) @ b + by_e @ adjoint(h) @ b)


def along(e, b):
    """tr(Bᴴ E)*."""
    return over_matrices(np.sum(b * conj(e), axis=(-2, -1)))


@vjp_rule(cofactors_along, broadcasts=True)
def cofactors_along_bar(y_bar, y, e, a):
    return cofactors_along(y_bar, a), third(e, y_bar, a)


@jvp_rule(cofactors_along, broadcasts=True)
def push_cofactors_along(tangents, y, e, a):
    e_dot, a_dot = tangents
    moved = 0.0 if e_dot is None else cofactors_along(e_dot, a)
    return moved if a_dot is None else moved + third(e, a_dot, a)


@vjp_rule(np.linalg.det)
def det(y_bar, y, a):
    """dy = y tr(A⁻¹ dA) = tr(adj(A) dA)  ⇒  Ā = ȳ y* A⁻ᴴ = ȳ (adj A)ᴴ."""
    inverted = trusted_inverse(a)
    if inverted is None:
        return over_matrices(y_bar) * cofactors(a)
    return over_matrices(y_bar * conj(y)) * adjoint(inverted)


@jvp_rule(np.linalg.det, broadcasts=True)
def push_det(tangents, y, a):
    inverted = trusted_inverse(a)
    if inverted is None:
        return np.sum(conj(cofactors(a)) * tangents[0], axis=(-2, -1))
    return y * trace_of_product(inverted, tangents[0])


def trace_of_product(a, b):
    return np.einsum("...ij,...ji->...", a, b)
