"""Systems with banded and Toeplitz matrices, and Cholesky factors of banded ones.

A matrix with l diagonals below and u above is kept by rows: the element i, j stands in row u + i - j, column j.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.linalg import _basic, _decomp_cholesky

from wengert.extend import adjoint, jvp_rule, stands_for, vjp_rule
from wengert_rules.linear_algebra import as_columns
from wengert_rules.products import conj
from wengert_rules.scipy.linalg import patterns, triangles


def shifted(x, count, first, axis):
    """`count` copies of the numbers along an axis, the k-th moved back by `first` - k; 0 where none comes in.

    The copies stand along a new axis before that.
    """
    n = np.shape(x)[axis]
    places = np.arange(n) + np.expand_dims(np.arange(count) - first, -1)
    inside = np.reshape((places >= 0) & (places < n), (count, n) + (1,) * (-axis - 1))
    return np.where(inside, np.take(x, np.clip(places, 0, n - 1), axis), 0)


def beside_columns(x, count, upper):
    """For each element of the band the number of a vector that belongs to its row."""
    return shifted(x, count, upper, -2)


def by_rows(band, upper):
    """The elements of a band in the row where they are, not in the column; in the order of the columns."""
    count = np.shape(band)[-2]
    moved = shifted(band, count, count - 1 - upper, -1)  # moved[..., r, k, i] = band[..., r, i + k - …]
    return np.swapaxes(np.diagonal(moved[..., ::-1, :, :], 0, -3, -2), -1, -2)


def times(band, upper, x):
    """A X of the matrix with these diagonals."""
    count = np.shape(band)[-2]
    rows = by_rows(band, upper)
    return np.sum(rows[..., np.newaxis] * shifted(x, count, count - 1 - upper, -2), axis=-3)


def adjoint_band(band, upper):
    """The diagonals of Aᴴ, of which as many are above as A has below."""
    return conj(by_rows(band, upper))


def band_bar(left, right, count, upper):
    """The elements in the band of L Rᴴ."""
    return np.sum(beside_columns(left, count, upper) * np.expand_dims(conj(right), -3), axis=-1)


def from_matrix(a, count, upper, corners=0):
    """The diagonals of a matrix, and where none of its elements are, the `corners`."""
    n = np.shape(a)[-1]
    rows = np.arange(n) + np.expand_dims(np.arange(count) - upper, -1)
    inside = (rows >= 0) & (rows < n)
    return np.where(inside, a[..., np.clip(rows, 0, n - 1), np.arange(n)], corners)


def to_matrix(band, upper):
    """The matrix with these diagonals."""
    count, n = np.shape(band)[-2:]
    places = np.expand_dims(np.arange(n), -1) - np.arange(n) + upper
    inside = (places >= 0) & (places < count)
    return np.where(inside, band[..., np.clip(places, 0, count - 1), np.arange(n)], 0)


def above(band, lower):
    """Count the diagonals above the main one, of one stored half of a Hermitian matrix."""
    return 0 if lower else np.shape(band)[-2] - 1


def whole(band, lower):
    """All diagonals of a Hermitian matrix."""
    other = adjoint_band(band, above(band, lower))
    below, over = (band, other) if lower else (other, band)
    middle = np.real(below[..., :1, :]) + 0 * below[..., :1, :]
    return np.concatenate([over[..., :-1, :], middle, below[..., 1:, :]], -2)


def half_bar(left, right, band, lower):
    """The cotangent of one half of A, from L Rᴴ that A would get."""
    count, upper = np.shape(band)[-2], above(band, lower)
    both = band_bar(left, right, count, upper) + band_bar(right, left, count, upper)
    main = np.reshape(np.arange(count) == upper, (count, 1))
    return np.where(main, 0.5 * both, both)


if hasattr(_basic, "_solve_banded"):  # SciPy 1.15: what `solve_banded` calls
    solved_banded = _basic._solve_banded
else:

    def solved_banded(nlower, nupper, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
        return linalg.solve_banded((nlower, nupper), ab, b, overwrite_ab, overwrite_b, check_finite)

    @stands_for(linalg.solve_banded)
    def solve_of_pair(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
        return solved_banded(*l_and_u, np.asarray(ab), np.asarray(b), overwrite_ab, overwrite_b, check_finite)


@vjp_rule(solved_banded, broadcasts=True)
def solve_banded(y_bar, y, nlower, nupper, ab, b, *, overwrite_ab=False, overwrite_b=False, check_finite=True):
    """A X = B  ⇒  B̄ = A⁻ᴴ X̄, and Ā is the band of -B̄ Xᴴ."""
    ndim = np.ndim(b)
    turned, x_bar = adjoint_band(ab, int(nupper)), as_columns(y_bar, ndim)
    columns_bar = solved_banded(nupper, nlower, turned, x_bar, False, False, False)
    ab_bar = -band_bar(columns_bar, as_columns(y, ndim), np.shape(ab)[-2], int(nupper))
    return None, None, ab_bar, columns_bar[..., 0] if ndim == 1 else columns_bar


@jvp_rule(solved_banded)
def push_solve_banded(tangents, y, nlower, nupper, ab, b, *, overwrite_ab=False, overwrite_b=False, check_finite=True):
    """Ẋ = A⁻¹ (Ḃ - Ȧ X)."""
    ndim = np.ndim(b)
    moved = np.zeros(np.shape(as_columns(y, ndim)), y.dtype) if tangents[3] is None else as_columns(tangents[3], ndim)
    if tangents[2] is not None:
        moved = moved - times(tangents[2], int(nupper), as_columns(y, ndim))
    y_dot = solved_banded(nlower, nupper, ab, moved, False, False, False)
    return y_dot[..., 0] if ndim == 1 else y_dot


@vjp_rule(linalg.solveh_banded, broadcasts=True)
def solveh_banded(y_bar, y, ab, b, *, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    """As for `solve_banded`, of the Hermitian matrix whose one half is kept."""
    ndim = np.ndim(b)
    columns_bar = linalg.solveh_banded(ab, as_columns(y_bar, ndim), lower=lower)
    ab_bar = -half_bar(columns_bar, as_columns(y, ndim), ab, lower)
    return ab_bar, columns_bar[..., 0] if ndim == 1 else columns_bar


@jvp_rule(linalg.solveh_banded)
def push_solveh_banded(tangents, y, ab, b, *, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    ndim = np.ndim(b)
    moved = np.zeros(np.shape(as_columns(y, ndim)), y.dtype) if tangents[1] is None else as_columns(tangents[1], ndim)
    if tangents[0] is not None:
        moved = moved - times(whole(tangents[0], lower), np.shape(ab)[-2] - 1, as_columns(y, ndim))
    y_dot = linalg.solveh_banded(ab, moved, lower=lower)
    return y_dot[..., 0] if ndim == 1 else y_dot


@vjp_rule(linalg.cholesky_banded)
def cholesky_banded(y_bar, y, ab, *, overwrite_ab=False, lower=False, check_finite=True):
    """That of the whole matrix, whose factor has no more diagonals; what is outside the matrix stays as it is."""
    count, upper = np.shape(ab)[-2], above(ab, lower)
    cotangent, factor = [to_matrix(x, upper) for x in (y_bar, y)]
    return from_matrix(triangles.cholesky(cotangent, factor, factor, lower=lower), count, upper, y_bar)


@jvp_rule(linalg.cholesky_banded)
def push_cholesky_banded(tangents, y, ab, *, overwrite_ab=False, lower=False, check_finite=True):
    count, upper = np.shape(ab)[-2], above(ab, lower)
    a_dot, factor = to_matrix(tangents[0], upper), to_matrix(y, upper)
    return from_matrix(triangles.push_cholesky((a_dot,), factor, factor, lower=lower), count, upper, tangents[0])


if hasattr(_decomp_cholesky, "_cho_solve_banded"):

    @vjp_rule(_decomp_cholesky._cho_solve_banded)
    def cho_solve_banded(y_bar, y, cb, b, *, lower=False, overwrite_b=False, check_finite=True):
        factor = to_matrix(cb, above(cb, lower))
        c_bar, b_bar = triangles.cho_solve(y_bar, y, factor, b, lower=lower)
        return from_matrix(c_bar, np.shape(cb)[-2], above(cb, lower)), b_bar

    @jvp_rule(_decomp_cholesky._cho_solve_banded)
    def push_cho_solve_banded(tangents, y, cb, b, *, lower=False, overwrite_b=False, check_finite=True):
        c_dot = None if tangents[0] is None else to_matrix(tangents[0], above(cb, lower))
        return triangles.push_cho_solve((c_dot, tangents[1]), y, to_matrix(cb, above(cb, lower)), b, lower=lower)


if hasattr(_basic, "_solve_toeplitz"):  # SciPy 1.15: what `solve_toeplitz` calls

    @vjp_rule(_basic._solve_toeplitz)
    def solve_toeplitz(y_bar, y, c, r, b, *, check_finite=True):
        """T X = B  ⇒  B̄ = T⁻ᴴ X̄, and the diagonals of -B̄ Xᴴ are summed."""
        ndim, first = np.ndim(b), np.concatenate([c[:1], r[1:]])
        b_bar = linalg.solve_toeplitz((conj(first), conj(c)), y_bar, check_finite=False)
        whole_bar = -as_columns(b_bar, ndim) @ adjoint(as_columns(y, ndim))
        c_bar, r_bar = patterns.toeplitz(whole_bar, whole_bar, c, r)
        return c_bar, r_bar, b_bar

    @jvp_rule(_basic._solve_toeplitz)
    def push_solve_toeplitz(tangents, y, c, r, b, *, check_finite=True):
        """Ẋ = T⁻¹ (Ḃ - Ṫ X)."""
        moved = np.zeros(np.shape(y), y.dtype) if tangents[2] is None else tangents[2]
        c_dot = np.zeros(np.shape(c), c.dtype) if tangents[0] is None else tangents[0]
        r_dot = np.zeros(np.shape(r), r.dtype) if tangents[1] is None else tangents[1]
        return linalg.solve_toeplitz((c, r), moved - linalg.toeplitz(c_dot, r_dot) @ y, check_finite=False)
