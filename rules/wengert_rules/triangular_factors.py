"""The factorisations of Cholesky and QR."""

from __future__ import annotations

import numpy as np

from wengert.extend import NoDerivativeError, adjoint, jvp_rule, vjp_rule
from wengert_rules.decompositions import completed, from_triangle, half, refusal

ADDED_TO_Q = (
    "the columns that mode='complete' adds to Q are an arbitrary basis and have no derivative. Use mode='reduced'"
)
DEPENDENT = "the columns of the matrix are linearly dependent, so its QR factors have no derivative. Perturb it"


@vjp_rule(np.linalg.cholesky)
def cholesky(y_bar, y, a, *, upper=False):
    """A = L Lᴴ, P the lower half of Lᴴ L̄ with half its diagonal  ⇒  Ā = L⁻ᴴ P L⁻¹."""
    factor_h, cotangent = (y, adjoint(y_bar)) if upper else (adjoint(y), y_bar)
    inverse = np.linalg.inv(factor_h)
    whole = inverse @ half(factor_h @ cotangent, "L") @ adjoint(inverse)
    return from_triangle(whole, "U" if upper else "L")


@jvp_rule(np.linalg.cholesky, broadcasts=True)
def push_cholesky(tangents, y, a, *, upper=False):
    """L̇ = L times the lower half of L⁻¹ Ȧ L⁻ᴴ with half its diagonal."""
    factor, a_dot = (adjoint(y), completed(tangents[0], "U")) if upper else (y, completed(tangents[0], "L"))
    inverse = np.linalg.inv(factor)
    made = factor @ half(inverse @ a_dot @ adjoint(inverse), "L")
    return adjoint(made) if upper else made


@vjp_rule(np.linalg.qr, parts=True)
def qr(y_bar, y, a, *, mode="reduced"):
    """A = Q R. The columns of A beyond the rows of a wide R = (R₁ R₂) are Q R₂, and follow from Q and R₂."""
    if mode == "raw":
        raise NoDerivativeError("mode='raw' of np.linalg.qr has no rule. Use mode='reduced'")
    q, r = (np.linalg.qr(a)[0], y) if mode == "r" else y
    q_bar, r_bar = (None, y_bar) if mode == "r" else y_bar
    k, n = min(np.shape(a)[-2:]), np.shape(a)[-1]
    q_bar = np.zeros(np.shape(q), q.dtype) if q_bar is None else q_bar
    r_bar = np.zeros(np.shape(r), r.dtype) if r_bar is None else r_bar
    if mode == "complete" and np.any(q_bar[..., k:] != 0):
        raise NoDerivativeError(ADDED_TO_Q)
    q, r, q_bar, r_bar = q[..., :k], r[..., :k, :], q_bar[..., :k], r_bar[..., :k, :]
    if n == k:
        return square_qr_bar(q_bar, r_bar, q, r)
    first = square_qr_bar(q_bar + a[..., k:] @ adjoint(r_bar[..., k:]), r_bar[..., :k], q, r[..., :k])
    return np.concatenate([first, q @ r_bar[..., k:]], axis=-1)


def square_qr_bar(q_bar, r_bar, q, r):
    """X the upper half of R̄ Rᴴ - Qᴴ Q̄ with half its diagonal  ⇒  Ā = (Q̄ + Q (X + Xᴴ)) R⁻ᴴ."""
    x = completed(r_bar @ adjoint(r) - adjoint(q) @ q_bar, "U")
    try:
        return adjoint(np.linalg.solve(r, adjoint(q_bar + q @ x)))
    except np.linalg.LinAlgError:
        raise NoDerivativeError(DEPENDENT) from None


@jvp_rule(np.linalg.qr, broadcasts=True)
def push_qr(tangents, y, a, *, mode="reduced"):
    """C = Qᴴ Ȧ R⁻¹  ⇒  Ṙ R⁻¹ is the upper half of C + Cᴴ with half its diagonal, and Q̇ = Ȧ R⁻¹ - Q Ṙ R⁻¹."""
    q, r = (np.linalg.qr(a)[0], y) if mode == "r" else y
    k, a_dot, thin_q = min(np.shape(a)[-2:]), tangents[0], q[..., : min(np.shape(a)[-2:])]
    moved = divided(a_dot[..., :k], r[..., :k, :k])
    c = adjoint(thin_q) @ moved
    upper = half(c + adjoint(c), "U")
    q_dot, r_dot = moved - thin_q @ upper, upper @ r[..., :k, :k]
    if np.shape(a)[-1] > k:
        rest = adjoint(q_dot) @ a[..., k:] + adjoint(thin_q) @ a_dot[..., k:]
        r_dot = np.concatenate([r_dot, rest], axis=-1)
    if np.shape(r)[-2] > k:
        below = np.zeros((*np.shape(r_dot)[:-2], np.shape(r)[-2] - k, np.shape(r)[-1]), r.dtype)
        r_dot = np.concatenate([r_dot, below], axis=-2)
    return r_dot if mode == "r" else (q_dot if np.shape(q)[-1] == k else refusal(ADDED_TO_Q), r_dot)


def divided(x, r):
    """X R⁻¹."""
    try:
        return adjoint(np.linalg.solve(adjoint(r), adjoint(x)))
    except np.linalg.LinAlgError:
        raise NoDerivativeError(DEPENDENT) from None
