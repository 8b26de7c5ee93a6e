"""Functions of a matrix, by the derivative in a direction: f of ((A, E), (0, A)) has f(A) and that derivative in it."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from wengert.extend import adjoint, jvp_rule, vjp_rule
from wengert_rules.products import conj
from wengert_rules.scipy.linalg.structures import as_matrices


def beside(a, e):
    """The matrix ((A, E), (0, A)), of stacks of them."""
    shape = np.broadcast_shapes(np.shape(a), np.shape(e))
    a, e = np.broadcast_to(a, shape), np.broadcast_to(e, shape)
    return np.concatenate([np.concatenate([a, e], -1), np.concatenate([np.zeros(shape, a.dtype), a], -1)], -2)


def along(f, a, e):
    """The derivative of f at A in the direction E, which is linear in E.

    Source: Mathias, A chain rule for matrix functions (1996); Higham, Functions of Matrices, theorem 3.6.
    """
    n, size = np.shape(a)[-1], size_of(e)
    return size * f(beside(a, e / size))[..., :n, n:]


def size_of(e):
    """A power of 2 for each matrix: divided by it, the largest entry is below 2, so that no block matrix loses digits.

    The derivative of this power is zero.
    """
    largest = np.max(np.abs(e), axis=(-2, -1), keepdims=True, initial=0.0)
    numbers = np.finfo(largest.dtype)
    return np.exp2(np.floor(np.log2(np.clip(largest, numbers.tiny, numbers.max / 2))))


def pulled(f, y_bar, a):
    """Ā = L(Ȳᴴ)ᴴ, where L is the derivative at A: tr(B L(E)) = tr(L(B) E).

    The derivative at Aᴴ would be another where an eigenvalue is negative, on the branch cut of the logarithm and of
    powers: so A stays as it is, and real if it is.
    """
    e = adjoint(y_bar)
    if np.iscomplexobj(a) or not np.iscomplexobj(e):
        return adjoint(along(f, a, e))
    return adjoint(along(f, a, e.real) + 1j * along(f, a, e.imag))


def each(f, a):
    """f of each matrix of a stack, for functions that take one at a time in older versions of SciPy."""
    if np.ndim(a) == 2:
        return f(a)
    shape = np.shape(a)
    return np.reshape(np.stack([f(x) for x in np.reshape(a, (-1, *shape[-2:]))]), shape)


@vjp_rule(linalg.expm)
def expm(y_bar, y, A):
    """Ā is the derivative at Aᴴ in the direction Ȳ."""
    return np.reshape(along(linalg.expm, adjoint(as_matrices(A, np.ndim(A))), y_bar), np.shape(A))


@jvp_rule(linalg.expm, broadcasts=True)
def push_expm(tangents, y, A):
    return along(linalg.expm, *[as_matrices(x, np.ndim(A)) for x in (A, tangents[0])])


@vjp_rule(linalg.logm)
def logm(y_bar, y, A):
    return pulled(log_of, y_bar, A)


@jvp_rule(linalg.logm)
def push_logm(tangents, y, A):
    return along(log_of, A, tangents[0])


def log_of(a):
    return each(linalg.logm, a)


@vjp_rule(linalg.fractional_matrix_power)
def fractional_matrix_power(y_bar, y, A, t):
    """t̄ = tr((Aᵗ log A)ᴴ Ȳ)."""
    return pulled(power_of(t), y_bar, A), np.sum(conj(y @ log_of(A)) * y_bar)


@jvp_rule(linalg.fractional_matrix_power)
def push_fractional_matrix_power(tangents, y, A, t):
    a_dot, t_dot = tangents
    made = 0.0 if a_dot is None else along(power_of(t), A, a_dot)
    return made if t_dot is None else made + t_dot * (y @ log_of(A))


def power_of(t):
    return lambda a: each(lambda x: linalg.fractional_matrix_power(x, t), a)


@vjp_rule(linalg.sqrtm)
def sqrtm(y_bar, y, A):
    """Y Y = A  ⇒  Yᴴ Ā + Ā Yᴴ = Ȳ."""
    return linalg.solve_sylvester(adjoint(y), adjoint(y), y_bar)


@jvp_rule(linalg.sqrtm)
def push_sqrtm(tangents, y, A):
    """Y Ẏ + Ẏ Y = Ȧ."""
    return linalg.solve_sylvester(y, y, tangents[0])


@vjp_rule(linalg.signm)
def signm(y_bar, y, A):
    """Ā is the derivative at Aᴴ in the direction Ȳ."""
    return along(sign_of, adjoint(A), y_bar)


@jvp_rule(linalg.signm)
def push_signm(tangents, y, A):
    return along(sign_of, A, tangents[0])


def sign_of(a):
    return each(linalg.signm, a)


@vjp_rule(linalg.expm_frechet)
def expm_frechet(y_bar, y, A, E, *, method=None, compute_expm=True, check_finite=True):
    """Of exp ((A, E), (0, A)) the blocks above; they are linear in E, which has entries of at most 2 here."""
    of_exp, of_direction = y_bar if compute_expm else (np.zeros(np.shape(A)), y_bar)
    n, size = np.shape(A)[-1], size_of(E)
    above = np.concatenate([of_exp, size * of_direction], -1)
    made = along(linalg.expm, adjoint(beside(A, E / size)), np.concatenate([above, np.zeros(np.shape(above))], -2))
    return made[..., :n, :n] + made[..., n:, n:], made[..., :n, n:] / size


@jvp_rule(linalg.expm_frechet)
def push_expm_frechet(tangents, y, A, E, *, method=None, compute_expm=True, check_finite=True):
    n, size = np.shape(A)[-1], size_of(E)
    a_dot, e_dot = [np.zeros((n, n)) if x is None else x for x in tangents]
    made = along(linalg.expm, beside(A, E / size), beside(a_dot, e_dot / size))
    of_direction = size * made[:n, n:]
    return (made[:n, :n], of_direction) if compute_expm else of_direction
