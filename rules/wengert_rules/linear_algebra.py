"""Linear systems, inverses and logarithms of determinants, of matrices and of stacks of them."""

from __future__ import annotations

import numpy as np

from wengert.extend import NoDerivativeError, adjoint, is_complex, jvp_rule, stands_for, vjp_rule
from wengert_rules.cofactors import over_matrices, trace_of_product
from wengert_rules.decompositions import completed, from_triangle, singular_values_bar, singular_values_dot
from wengert_rules.products import conj
from wengert_rules.shapes import inverse_permutation


def inverse(a):
    """A⁻¹ for a rule that exists at regular matrices alone."""
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        raise NoDerivativeError(
            "the logarithm of the determinant has no derivative, because this matrix is singular. "
            "Perturb the matrix, or use np.linalg.det"
        ) from None


@vjp_rule(np.linalg.solve, broadcasts=True)
def solve(y_bar, y, a, b):
    """X = A⁻¹ B  ⇒  B̄ = A⁻ᴴ X̄,  Ā = -B̄ Xᴴ; B of one axis is a column."""
    if np.ndim(b) == 1:
        column_bar = np.linalg.solve(adjoint(a), y_bar[..., np.newaxis])
        return -column_bar @ conj(y)[..., np.newaxis, :], column_bar[..., 0]
    b_bar = np.linalg.solve(adjoint(a), y_bar)
    return -b_bar @ adjoint(y), b_bar


@jvp_rule(np.linalg.solve, broadcasts=True)
def push_solve(tangents, y, a, b):
    """Ẏ = A⁻¹ (Ḃ - Ȧ Y)."""
    a_dot, b_dot = tangents
    if np.ndim(b) == 1:
        y, b_dot = y[..., np.newaxis], None if b_dot is None else b_dot[..., np.newaxis]
    if a_dot is not None:
        b_dot = -(a_dot @ y) if b_dot is None else b_dot - a_dot @ y
    y_dot = np.linalg.solve(a, b_dot)
    return y_dot[..., 0] if np.ndim(b) == 1 else y_dot


@vjp_rule(np.linalg.tensorsolve)
def tensorsolve(y_bar, y, a, b, *, axes=None):
    """`solve`, of `a` as a matrix whose columns run over its last axes, after `axes` were moved to the end."""
    order = columns_last(np.ndim(a), axes)
    front = np.transpose(a, order)
    b_bar = np.linalg.solve(adjoint(square(front, np.size(b))), np.reshape(y_bar, (-1,)))
    front_bar = np.reshape(-np.outer(b_bar, conj(y)), np.shape(front))
    return np.transpose(front_bar, inverse_permutation(order, np.ndim(a))), np.reshape(b_bar, np.shape(b))


def columns_last(ndim, axes):
    """The order of all axes in which `axes` come last."""
    moved = [] if axes is None else list(axes)
    return [k for k in range(ndim) if k not in moved] + moved


def square(x, n):
    return np.reshape(x, (n, n))


@jvp_rule(np.linalg.tensorsolve)
def push_tensorsolve(tangents, y, a, b, *, axes=None):
    order = columns_last(np.ndim(a), axes)
    matrix, a_dot = [x if x is None else square(np.transpose(x, order), np.size(y)) for x in (a, tangents[0])]
    b_dot = None if tangents[1] is None else np.reshape(tangents[1], (-1, 1))
    return np.reshape(push_solve((a_dot, b_dot), np.reshape(y, (-1, 1)), matrix, np.reshape(y, (-1, 1))), np.shape(y))


@vjp_rule(np.linalg.inv)
def inv(y_bar, y, a):
    """Y = A⁻¹  ⇒  Ā = -Yᴴ Ȳ Yᴴ."""
    return -adjoint(y) @ y_bar @ adjoint(y)


@jvp_rule(np.linalg.inv, broadcasts=True)
def push_inv(tangents, y, a):
    return -y @ tangents[0] @ y


def relative(a, a_dot):
    """tr(A⁻¹ Ȧ), the tangent of log det A."""
    return trace_of_product(inverse(a), a_dot)


@vjp_rule(np.linalg.slogdet, parts=True)
def slogdet(y_bar, y, a):
    """d log|det A| + i d arg det A = tr(A⁻¹ dA); a real determinant keeps its sign, a complex one turns."""
    sign_bar, log_bar = y_bar
    turns = sign_bar is not None and is_complex(a)
    if log_bar is None and not turns:
        return np.zeros(np.shape(a), a.dtype)
    turn = 1j * np.imag(sign_bar * np.conjugate(y[0])) if turns else 0
    return over_matrices(turn if log_bar is None else log_bar + turn) * adjoint(inverse(a))


@jvp_rule(np.linalg.slogdet, broadcasts=True)
def push_slogdet(tangents, y, a):
    moved = relative(a, tangents[0])
    return (y[0] * 1j * np.imag(moved), np.real(moved)) if is_complex(a) else (None, moved)


@vjp_rule(np.linalg.pinv)
def pinv(y_bar, y, a, *, rcond=None, hermitian=False, rtol=None):
    """Y = A⁺ of constant rank  ⇒  Ā = -Yᴴ Ȳ Yᴴ + (1 - A Y) Ȳᴴ Y Yᴴ + Yᴴ Y Ȳᴴ (1 - Y A).

    Source: Golub and Pereyra, The differentiation of pseudo-inverses (1973), theorem 4.3.
    """
    if np.size(a) == 0:
        return np.zeros(np.shape(a), a.dtype)
    whole = completed(a, "L") if hermitian else a
    right, left = adjoint(y_bar) @ y @ adjoint(y), adjoint(y) @ y @ adjoint(y_bar)
    a_bar = right - whole @ (y @ right) + left - (left @ y) @ whole - adjoint(y) @ y_bar @ adjoint(y)
    return from_triangle(a_bar, "L") if hermitian else a_bar


@jvp_rule(np.linalg.pinv, broadcasts=True)
def push_pinv(tangents, y, a, *, rcond=None, hermitian=False, rtol=None):
    """Ẏ = -Y Ȧ Y + Y Yᴴ Ȧᴴ (1 - A Y) + (1 - Y A) Ȧᴴ Yᴴ Y."""
    if np.size(a) == 0:
        return np.zeros(np.shape(y), y.dtype)
    whole, a_dot = [completed(x, "L") if hermitian else x for x in (a, tangents[0])]
    left, right = y @ adjoint(y) @ adjoint(a_dot), adjoint(a_dot) @ adjoint(y) @ y
    return left - (left @ whole) @ y + right - y @ (whole @ right) - y @ a_dot @ y


@vjp_rule(np.linalg.lstsq, parts=True)
def lstsq(y_bar, y, a, b, *, rcond=None):
    """X = A⁺ B of constant rank, the sums of |B - A X|², and the singular values of A, of which B knows nothing."""
    x_bar, sums_bar, _, values_bar = y_bar
    x, columns = (as_columns(part, np.ndim(b)) for part in (y[0], b))
    a_bar, b_bar = np.zeros(np.shape(a), y[0].dtype), np.zeros(np.shape(columns), y[0].dtype)
    rest = columns - a @ x
    if x_bar is not None:
        inverted = inverse_of_rank(a, y[2], rcond)
        x_bar = as_columns(x_bar, np.ndim(b))
        to_b = adjoint(inverted) @ x_bar
        null = x_bar - inverted @ (a @ x_bar)
        a_bar = rest @ adjoint(inverted @ to_b) + adjoint(inverted) @ x @ adjoint(null) - to_b @ adjoint(x)
        b_bar = to_b
    if sums_bar is not None and np.size(sums_bar):  # none where X is not unique, or fits exactly
        rest_bar = 2 * sums_bar * rest
        a_bar, b_bar = a_bar - rest_bar @ adjoint(x), b_bar + rest_bar
    if values_bar is not None:
        a_bar = a_bar + singular_values_bar(values_bar, a)
    return a_bar, b_bar[..., 0] if np.ndim(b) == 1 else b_bar


@jvp_rule(np.linalg.lstsq, broadcasts=True)
def push_lstsq(tangents, y, a, b, *, rcond=None):
    """Ẋ = Y Ṙ + Y Yᴴ Ȧᴴ (B - A X) + (1 - Y A) Ȧᴴ Yᴴ X with Y = A⁺ and Ṙ = Ḃ - Ȧ X."""
    a_dot, b_dot = tangents
    x, columns = (as_columns(part, np.ndim(b)) for part in (y[0], b))
    moved = 0.0 if b_dot is None else as_columns(b_dot, np.ndim(b))
    moved = moved if a_dot is None else moved - a_dot @ x
    inverted, rest = inverse_of_rank(a, y[2], rcond), columns - a @ x
    x_dot, values_dot = inverted @ moved, None
    if a_dot is not None:
        null = adjoint(a_dot) @ (adjoint(inverted) @ x)
        x_dot = x_dot + inverted @ (adjoint(inverted) @ (adjoint(a_dot) @ rest)) + null - inverted @ (a @ null)
        values_dot = singular_values_dot(a_dot, a)
    sums_dot = 2 * np.real(np.sum(conj(rest) * moved, axis=-2)) if np.size(y[1]) else None
    return x_dot[..., 0] if np.ndim(b) == 1 else x_dot, sums_dot, None, values_dot


def inverse_of_rank(a, rank, rcond):
    """A⁺ of the `rank` that `lstsq` found: R⁻¹ Qᴴ for full rank, which is faster than singular values."""
    if rank < min(np.shape(a)) or np.size(a) == 0:
        return np.linalg.pinv(a, cutoff(rcond, a))
    if np.shape(a)[0] < np.shape(a)[1]:
        return adjoint(inverse_of_rank(adjoint(a), rank, rcond))
    q, r = np.linalg.qr(a)
    return np.linalg.solve(r, adjoint(q))


def as_columns(x, ndim):
    """A vector as a matrix of one column."""
    return x[..., np.newaxis] if ndim == 1 else x


def cutoff(rcond, a):
    """The share of the largest singular value below which `lstsq` counts one as zero."""
    eps = float(np.finfo(np.result_type(a, 1.0)).eps)
    if rcond is None:
        return eps * max(np.shape(a))
    return eps if rcond == -1 else rcond


@stands_for(np.linalg._umath_linalg.solve)
def solve_columns(a, b, signature=None):
    """The ufunc behind `np.linalg.solve`, which array_api_compat calls directly."""
    return np.linalg.solve(a, b)


@stands_for(np.linalg._umath_linalg.solve1)
def solve_column(a, b, signature=None):
    return np.linalg.solve(a, b[..., np.newaxis])[..., 0]
