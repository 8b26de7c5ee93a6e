"""Splines in the basis of B-splines: what SciPy computes in C, written with NumPy by de Boor's recurrence."""

from __future__ import annotations

import numpy as np

from wengert.extend import stands_for
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


@stands_for(*present("interpolate._dierckx.evaluate_spline", "interpolate._bspl.evaluate_spline"))
def evaluate_spline(t, c, k, x, nu, extrapolate, out=None):
    """Up to SciPy 1.14 it writes into an array that it is given."""
    values = spline(t, c, k, x, nu, extrapolate)
    if out is not None:
        out[...] = values
    return values
