"""Splines in the basis of B-splines: what SciPy computes in C, written with NumPy by de Boor's recurrence."""

from __future__ import annotations

import numpy as np

from wengert.extend import NoDerivativeError, stands_for
from wengert_rules.scipy.interpolate.polynomials import where_known
from wengert_rules.scipy.optional import present


def intervals(t, k, points):
    """For each of `points` the number of the knot to its left, from k to the last that begins an interval."""
    return np.clip(np.searchsorted(t, points, "right") - 1, k, np.size(t) - k - 2)


def known(t, k, points, extrapolate):
    """Whether there is a value at each of `points`."""
    return ~np.isnan(points) if extrapolate else (points >= t[k]) & (points <= t[np.size(t) - k - 1])


def basis(t, k, x, nu, interval):
    """The k + 1 B-splines that are not zero in the interval of each x, or their derivatives of order `nu`."""
    values: list = [np.ones(np.shape(x))]
    for degree in range(1, k + 1):
        made: list = [0.0] * (degree + 1)
        for j, value in enumerate(values):
            right, left = t[interval + j + 1], t[interval + j + 1 - degree]
            share = value / (right - left)
            if degree > k - nu:
                made[j], made[j + 1] = made[j] - degree * share, made[j + 1] + degree * share
            else:
                made[j], made[j + 1] = made[j] + (right - x) * share, made[j + 1] + (x - left) * share
        values = made
    return values if nu <= k else [np.zeros(np.shape(x))] * (k + 1)


def spline(t, c, k, x, nu, extrapolate):
    has_value = known(t, k, x, extrapolate)
    x = np.where(has_value, x, t[k])
    interval = intervals(t, k, x)
    values = basis(t, k, x, nu, interval)
    terms = [value[:, np.newaxis] * c[interval - k + j] for j, value in enumerate(values)]
    return where_known(has_value, sum(terms))


def of_either(name):
    """The function of this name in `_dierckx`, or, up to SciPy 1.14, in `_bspl`."""
    return present(f"interpolate._dierckx.{name}", f"interpolate._bspl.{name}")


@stands_for(*of_either("evaluate_spline"))
def evaluate_spline(t, c, k, x, nu, extrapolate, out=None):
    """Up to SciPy 1.14 it writes into an array that it is given."""
    if nu < 0:
        raise NotImplementedError(f"Cannot do derivative order nu= {nu}")
    values = spline(t, c, k, x, nu, extrapolate)
    if out is not None:
        out[...] = values
    return values


@stands_for(*of_either("find_interval"))
def find_interval(t, k, xval, prev_l, extrapolate):
    return int(intervals(t, k, xval)) if np.all(known(t, k, np.asarray(xval), extrapolate)) else -1


@stands_for(*of_either("evaluate_all_bspl"))
def evaluate_all_bspl(t, k, xval, m, nu=0):
    return np.stack(basis(t, k, xval, nu, m))


@stands_for(*present("interpolate._dierckx._coloc"))
def colloc(x, t, k, ab, offset=0):
    """In the bands of LAPACK, column by column: element (i, j) of the matrix stands at `ab[j, 2 k + i - j]`."""
    interval, rows = intervals(t, k, x), np.arange(np.size(x)) + offset
    for j, value in enumerate(basis(t, k, x, 0, interval)):
        column = interval - k + j
        ab[column, 2 * k + rows - column] = value


@stands_for(*present("interpolate._dierckx._norm_eq_lsq"))
def norm_eq_lsq(x, t, k, y, w, ab, rhs):
    """Bᵀ W² B in the bands of its lower triangle, column by column, and Bᵀ W² y; added to what stands there."""
    interval = intervals(t, k, x)
    values = basis(t, k, x, 0, interval)
    for i, value in enumerate(values):
        np.add.at(rhs, interval - k + i, (w**2 * value)[:, np.newaxis] * y)
        for j in range(i + 1):
            np.add.at(ab, (interval - k + j, i - j), w**2 * value * values[j])


def design(t, k, x, nu=0):
    """The matrix of all B-splines (columns) at all x (rows), or of their derivatives of order `nu`."""
    interval, rows = intervals(t, k, x), np.arange(np.size(x))
    matrix = np.zeros((np.size(x), np.size(t) - k - 1))
    for j, value in enumerate(basis(t, k, x, nu, interval)):
        matrix[rows, interval - k + j] = value
    return matrix


@stands_for(*of_either("data_matrix"))
def data_matrix(x, t, k, w, extrapolate=False):
    """The same without its zeros, times weights, and the first column that each row has."""
    interval = intervals(t, k, x)
    values = np.stack(basis(t, k, x, 0, interval), axis=-1)
    return values * w[:, np.newaxis], interval - k, np.size(t) - k - 1


@stands_for(*present("interpolate._bsplines._lsq_solve_qr"))
def lsq_solve_qr(x, y, t, k, w, periodic=False):
    """The least squares that SciPy finds by a decomposition in place."""
    if periodic:
        raise NoDerivativeError("a least-squares fit with periodic splines has no derivative here. Use others")
    matrix = design(t, k, x)
    weighted, y_w = matrix * w[:, np.newaxis], y * w[:, np.newaxis]
    c = np.linalg.lstsq(weighted, y_w)[0]
    squares = np.sum((y_w - weighted @ c) ** 2, axis=1)
    return weighted, y_w, c, np.sum(squares), squares
