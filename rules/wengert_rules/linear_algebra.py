"""Linear systems, inverses and determinants, of matrices and of stacks of them."""

from __future__ import annotations

import numpy as np

from wengert.extend import NoDerivativeError, adjoint, is_complex, pullback
from wengert_rules.decompositions import completed, from_triangle, singular_values_bar
from wengert_rules.products import conj
from wengert_rules.shapes import inverse_permutation


def over_matrices(x):
    """Numbers, one for each matrix of a stack, set against the elements of the matrices."""
    return np.expand_dims(x, (-2, -1))


def inverse(a):
    """A⁻¹ for a rule that exists at regular matrices alone."""
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        raise NoDerivativeError(
            "the derivative of a determinant is computed from the inverse, and this matrix is singular. "
            "Move it off the singular point, or write the determinant out"
        ) from None


@pullback(np.linalg.solve, broadcasts=True)
def solve(y_bar, y, a, b):
    """X = A⁻¹ B  ⇒  B̄ = A⁻ᴴ X̄,  Ā = -B̄ Xᴴ; B of one axis is a column."""
    if np.ndim(b) == 1:
        column_bar = np.linalg.solve(adjoint(a), y_bar[..., np.newaxis])
        return -column_bar @ conj(y)[..., np.newaxis, :], column_bar[..., 0]
    b_bar = np.linalg.solve(adjoint(a), y_bar)
    return -b_bar @ adjoint(y), b_bar


@pullback(np.linalg.tensorsolve)
def tensorsolve(y_bar, y, a, b, *, axes=None):
    """`solve`, of `a` as a matrix whose columns run over its last axes, after `axes` were moved to the end."""
    moved = [] if axes is None else list(axes)
    order = [k for k in range(np.ndim(a)) if k not in moved] + moved
    front = np.transpose(a, order)
    matrix = np.reshape(front, (np.size(b), np.size(b)))
    b_bar = np.linalg.solve(adjoint(matrix), np.reshape(y_bar, (-1,)))
    front_bar = np.reshape(-np.outer(b_bar, conj(y)), np.shape(front))
    return np.transpose(front_bar, inverse_permutation(order, np.ndim(a))), np.reshape(b_bar, np.shape(b))


@pullback(np.linalg.inv)
def inv(y_bar, y, a):
    """Y = A⁻¹  ⇒  Ā = -Yᴴ Ȳ Yᴴ."""
    return -adjoint(y) @ y_bar @ adjoint(y)


@pullback(np.linalg.det)
def det(y_bar, y, a):
    """dy = y tr(A⁻¹ dA)  ⇒  Ā = ȳ y* A⁻ᴴ."""
    return over_matrices(y_bar * conj(y)) * adjoint(inverse(a))


@pullback(np.linalg.slogdet, parts=True)
def slogdet(y_bar, y, a):
    """d log|det A| + i d arg det A = tr(A⁻¹ dA); a real determinant keeps its sign, a complex one turns."""
    sign_bar, log_bar = y_bar
    turns = sign_bar is not None and is_complex(a)
    if log_bar is None and not turns:
        return np.zeros(np.shape(a), a.dtype)
    turn = 1j * np.imag(sign_bar * np.conjugate(y[0])) if turns else 0
    return over_matrices(turn if log_bar is None else log_bar + turn) * adjoint(inverse(a))


@pullback(np.linalg.pinv)
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


@pullback(np.linalg.lstsq, parts=True)
def lstsq(y_bar, y, a, b, *, rcond=None):
    """X = A⁺ B of constant rank, the sums of |B - A X|², and the singular values of A, of which B knows nothing."""
    x_bar, sums_bar, _, values_bar = y_bar
    x, columns = (as_columns(part, np.ndim(b)) for part in (y[0], b))
    a_bar, b_bar = np.zeros(np.shape(a), y[0].dtype), np.zeros(np.shape(columns), y[0].dtype)
    rest = columns - a @ x
    if x_bar is not None:
        inverted = np.linalg.pinv(a, cutoff(rcond, a))
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
    return a_bar, np.reshape(b_bar, np.shape(b))


def as_columns(x, ndim):
    """A vector as a matrix of one column."""
    return x[:, np.newaxis] if ndim == 1 else x


def cutoff(rcond, a):
    """The share of the largest singular value below which `lstsq` counts one as zero."""
    eps = float(np.finfo(np.result_type(a, 1.0)).eps)
    if rcond is None:
        return eps * max(np.shape(a))
    return eps if rcond == -1 else rcond
