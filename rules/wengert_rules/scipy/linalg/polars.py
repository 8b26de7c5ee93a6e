"""The polar factors A = U P, and rotations that are found by them: smooth also where singular values are equal.

With A = W diag(s) Vᴴ and D = Wᴴ Ȧ V it is U̇ = W ((Dᵢⱼ - D*ⱼᵢ)/(sᵢ + sⱼ)) Vᴴ, and s⁻¹ times what Ȧ has outside W and V.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from wengert.extend import adjoint, jvp_rule, vjp_rule
from wengert_rules.decompositions import by_columns, by_rows, lengths
from wengert_rules.scipy.linalg.structures import in_double


def parts_of(a):
    """W, s and Vᴴ, of a matrix of full rank."""
    w, s, vh = np.linalg.svd(in_double(a), full_matrices=False)
    return w, lengths(s, True), vh


def unitary_bar(u_bar, a):
    w, s, vh = parts_of(a)
    turned = (adjoint(w) @ u_bar @ adjoint(vh)) / (by_rows(s) + by_columns(s))
    return w @ (turned - adjoint(turned)) @ vh + outside(u_bar, w, s, vh)


def outside(x, w, s, vh):
    """(1 - W Wᴴ) X V s⁻¹ Vᴴ + W s⁻¹ Wᴴ X (1 - V Vᴴ)."""
    right, left = x @ adjoint(vh), adjoint(w) @ x
    beyond = (right - w @ (adjoint(w) @ right)) / by_rows(s)
    return beyond @ vh + w @ ((left - (left @ adjoint(vh)) @ vh) / by_columns(s))


def unitary_dot(a_dot, a):
    w, s, vh = parts_of(a)
    d = adjoint(w) @ a_dot @ adjoint(vh)
    return w @ ((d - adjoint(d)) / (by_rows(s) + by_columns(s))) @ vh + outside(a_dot, w, s, vh)


@vjp_rule(linalg.polar)
def polar(y_bar, y, a, *, side="right"):
    """P is Uᴴ A, or A Uᴴ on the left."""
    (u_bar, p_bar), u = y_bar, y[0]
    if side == "right":
        return unitary_bar(u_bar + a @ adjoint(p_bar), a) + u @ p_bar
    return unitary_bar(u_bar + adjoint(p_bar) @ a, a) + p_bar @ u


@jvp_rule(linalg.polar, broadcasts=True)
def push_polar(tangents, y, a, *, side="right"):
    u, u_dot = y[0], unitary_dot(tangents[0], a)
    if side == "right":
        return u_dot, adjoint(u_dot) @ a + adjoint(u) @ tangents[0]
    return u_dot, tangents[0] @ adjoint(u) + a @ adjoint(u_dot)


@vjp_rule(linalg.orthogonal_procrustes)
def orthogonal_procrustes(y_bar, y, A, B, *, check_finite=True):
    """The polar factor of Aᴴ B, and the sum of the singular values of that."""
    m_bar = unitary_bar(y_bar[0], adjoint(A) @ B) + np.real(y_bar[1]) * y[0]
    return B @ adjoint(m_bar), A @ m_bar


@jvp_rule(linalg.orthogonal_procrustes)
def push_orthogonal_procrustes(tangents, y, A, B, *, check_finite=True):
    m_dot = 0.0
    if tangents[0] is not None:
        m_dot = m_dot + adjoint(tangents[0]) @ B
    if tangents[1] is not None:
        m_dot = m_dot + adjoint(A) @ tangents[1]
    return unitary_dot(m_dot, adjoint(A) @ B), np.real(np.sum(np.conjugate(y[0]) * m_dot))
