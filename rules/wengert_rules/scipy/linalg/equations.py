"""Matrix equations: their derivatives solve equations of the same kind."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from wengert.extend import adjoint, jvp_rule, vjp_rule


@vjp_rule(linalg.solve_sylvester)
def solve_sylvester(y_bar, y, a, b, q):
    """A X + X B = Q  ⇒  Aᴴ Q̄ + Q̄ Bᴴ = X̄, Ā = -Q̄ Xᴴ, B̄ = -Xᴴ Q̄."""
    q_bar = linalg.solve_sylvester(adjoint(a), adjoint(b), y_bar)
    return -q_bar @ adjoint(y), -adjoint(y) @ q_bar, q_bar


@jvp_rule(linalg.solve_sylvester)
def push_solve_sylvester(tangents, y, a, b, q):
    """A Ẋ + Ẋ B = Q̇ - Ȧ X - X Ḃ."""
    a_dot, b_dot, q_dot = tangents
    moved = np.zeros(np.shape(y), y.dtype) if q_dot is None else q_dot
    moved = moved if a_dot is None else moved - a_dot @ y
    moved = moved if b_dot is None else moved - y @ b_dot
    return linalg.solve_sylvester(a, b, moved)


@vjp_rule(linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(y_bar, y, a, q):
    """A X + X Aᴴ = Q  ⇒  Aᴴ Q̄ + Q̄ A = X̄, Ā = -Q̄ Xᴴ - Q̄ᴴ X."""
    q_bar = linalg.solve_continuous_lyapunov(adjoint(a), y_bar)
    return -q_bar @ adjoint(y) - adjoint(q_bar) @ y, q_bar


@jvp_rule(linalg.solve_continuous_lyapunov)
def push_solve_continuous_lyapunov(tangents, y, a, q):
    """A Ẋ + Ẋ Aᴴ = Q̇ - Ȧ X - X Ȧᴴ."""
    a_dot, q_dot = tangents
    moved = np.zeros(np.shape(y), y.dtype) if q_dot is None else q_dot
    moved = moved if a_dot is None else moved - a_dot @ y - y @ adjoint(a_dot)
    return linalg.solve_continuous_lyapunov(a, moved)


@vjp_rule(linalg.solve_discrete_lyapunov)
def solve_discrete_lyapunov(y_bar, y, a, q, *, method=None):
    """X = A X Aᴴ + Q  ⇒  Q̄ = Aᴴ Q̄ A + X̄, Ā = Q̄ A Xᴴ + Q̄ᴴ A X."""
    q_bar = linalg.solve_discrete_lyapunov(adjoint(a), y_bar)
    return q_bar @ a @ adjoint(y) + adjoint(q_bar) @ a @ y, q_bar


@jvp_rule(linalg.solve_discrete_lyapunov)
def push_solve_discrete_lyapunov(tangents, y, a, q, *, method=None):
    """Ẋ = A Ẋ Aᴴ + Ȧ X Aᴴ + A X Ȧᴴ + Q̇."""
    a_dot, q_dot = tangents
    moved = np.zeros(np.shape(y), y.dtype) if q_dot is None else q_dot
    moved = moved if a_dot is None else moved + a_dot @ y @ adjoint(a) + a @ y @ adjoint(a_dot)
    return linalg.solve_discrete_lyapunov(a, moved)


def ones_like(a, e):
    """E, which is 1 where it is left out."""
    return np.eye(np.shape(a)[-1]) if e is None else e


def riccati_bars(w_bar, closed_e, closed_b, x_e, gain):
    """The cotangents of what W = Q̇ + (Eᴴ X Ȧ - Eᴴ X Ḃ K - Ṡ K + c.t.) + Kᴴ Ṙ K is made of, given that of W.

    `x_e`, `closed_b` and `closed_e` are what stands, adjoint, before Ȧ, Ḃ and Ė.
    """
    both = w_bar + adjoint(w_bar)
    turned = both @ adjoint(gain)
    return x_e @ both, -closed_b @ turned, w_bar, gain @ w_bar @ adjoint(gain), closed_e @ both, -turned


@vjp_rule(linalg.solve_continuous_are)
def solve_continuous_are(y_bar, y, a, b, q, r, e=None, s=None, *, balanced=True):
    """Aᴴ X E + Eᴴ X A - Kᴴ R K + Q = 0 with R K = Bᴴ X E + Sᴴ: Cᴴ Ẋ E + Eᴴ Ẋ C = -W with C = A - B K."""
    e = ones_like(a, e)
    gain = np.linalg.solve(r, adjoint(b) @ y @ e + (0 if s is None else adjoint(s)))
    closed = a - b @ gain
    inner = linalg.solve_continuous_lyapunov(over(closed, e), y_bar)
    a_bar, b_bar, q_bar, r_bar, e_bar, s_bar = riccati_bars(-between(inner, e), y @ closed, y @ e, y @ e, gain)
    return a_bar, b_bar, q_bar, r_bar, e_bar, s_bar


def over(c, e):
    """C E⁻¹."""
    return adjoint(np.linalg.solve(adjoint(e), adjoint(c)))


def between(inner, e):
    """E⁻¹ M E⁻ᴴ."""
    return adjoint(np.linalg.solve(e, adjoint(np.linalg.solve(e, inner))))


def zero_or(x_dot, make):
    return 0.0 if x_dot is None else make(x_dot)


def hermitian_twice(x):
    """X + Xᴴ."""
    return x + adjoint(x)


@jvp_rule(linalg.solve_continuous_are)
def push_solve_continuous_are(tangents, y, a, b, q, r, e=None, s=None, *, balanced=True):
    a_dot, b_dot, q_dot, r_dot, e_dot, s_dot = tangents + (None,) * (6 - len(tangents))
    e = ones_like(a, e)
    gain = np.linalg.solve(r, adjoint(b) @ y @ e + (0 if s is None else adjoint(s)))
    closed = a - b @ gain
    one_sided = zero_or(a_dot, lambda x: adjoint(e) @ y @ x) - zero_or(b_dot, lambda x: adjoint(e) @ y @ x @ gain)
    one_sided = one_sided + zero_or(e_dot, lambda x: adjoint(closed) @ y @ x) - zero_or(s_dot, lambda x: x @ gain)
    w = np.zeros(np.shape(y), y.dtype) + zero_or(q_dot, lambda x: x)
    w = w + zero_or(r_dot, lambda x: adjoint(gain) @ x @ gain) + hermitian_twice(one_sided + np.zeros(np.shape(y)))
    return linalg.solve_continuous_lyapunov(adjoint(over(closed, e)), -between(w, adjoint(e)))


@vjp_rule(linalg.solve_discrete_are)
def solve_discrete_are(y_bar, y, a, b, q, r, e=None, s=None, *, balanced=True):
    """Aᴴ X A - Eᴴ X E - Kᴴ (R + Bᴴ X B) K + Q = 0: Eᴴ Ẋ E - Cᴴ Ẋ C = W with C = A - B K."""
    e = ones_like(a, e)
    gain = np.linalg.solve(r + adjoint(b) @ y @ b, adjoint(b) @ y @ a + (0 if s is None else adjoint(s)))
    closed = a - b @ gain
    w_bar = between(linalg.solve_discrete_lyapunov(over(closed, e), y_bar), e)
    a_bar, b_bar, q_bar, r_bar, e_bar, s_bar = riccati_bars(w_bar, -y @ e, y @ closed, y @ closed, gain)
    return a_bar, b_bar, q_bar, r_bar, e_bar, s_bar


@jvp_rule(linalg.solve_discrete_are)
def push_solve_discrete_are(tangents, y, a, b, q, r, e=None, s=None, *, balanced=True):
    a_dot, b_dot, q_dot, r_dot, e_dot, s_dot = tangents + (None,) * (6 - len(tangents))
    e = ones_like(a, e)
    gain = np.linalg.solve(r + adjoint(b) @ y @ b, adjoint(b) @ y @ a + (0 if s is None else adjoint(s)))
    closed = a - b @ gain
    one_sided = zero_or(a_dot, lambda x: adjoint(closed) @ y @ x) - zero_or(s_dot, lambda x: x @ gain)
    one_sided = one_sided - zero_or(b_dot, lambda x: adjoint(closed) @ y @ x @ gain)
    one_sided = one_sided - zero_or(e_dot, lambda x: adjoint(e) @ y @ x)
    w = np.zeros(np.shape(y), y.dtype) + zero_or(q_dot, lambda x: x)
    w = w + zero_or(r_dot, lambda x: adjoint(gain) @ x @ gain) + hermitian_twice(one_sided + np.zeros(np.shape(y)))
    return linalg.solve_discrete_lyapunov(adjoint(over(closed, e)), between(w, adjoint(e)))
