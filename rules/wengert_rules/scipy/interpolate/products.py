"""Tensor products of B-splines in many dimensions, and the sparse systems by which they go through values."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.interpolate import _ndbspline
from scipy.sparse.linalg import spsolve

from wengert.extend import jvp_rule, linear, stands_for, vjp_rule
from wengert_rules.scipy.interpolate.bsplines import basis, intervals, known, of_either


def product(xi, t, len_t, k, nu, extrapolate, c1r, num_c_tr, strides_c1):
    """Σ c B(x₁) B(x₂) …, over the B-splines that are not zero, of which each axis has k + 1."""
    knots = [t[d, : len_t[d]] for d in range(len(k))]
    has_value = np.all([known(knots[d], k[d], xi[:, d], extrapolate) for d in range(len(k))], axis=0)
    at = [np.where(has_value, xi[:, d], knots[d][k[d]]) for d in range(len(k))]
    where = [intervals(knots[d], int(k[d]), at[d]) for d in range(len(k))]
    values = [basis(knots[d], int(k[d]), at[d], int(nu[d]), where[d]) for d in range(len(k))]
    total = np.zeros((np.size(has_value), num_c_tr))
    for choice in itertools.product(*[range(degree + 1) for degree in k]):
        place = sum([(where[d] - k[d] + j) * strides_c1[d] for d, j in enumerate(choice)])
        weight = math.prod([values[d][j] for d, j in enumerate(choice)])
        total = total + weight[:, np.newaxis] * c1r[place[:, np.newaxis] + np.arange(num_c_tr)]
    return total if np.all(has_value) else np.where(has_value[:, np.newaxis], total, np.nan)


@stands_for(*of_either("evaluate_ndbspline"))
def evaluate_ndbspline(xi, t, len_t, k, nu, extrapolate, c1r, num_c_tr, strides_c1, indices_k1d, out=None):
    """Up to SciPy 1.14 it writes into an array that it is given."""
    values = product(xi, t, len_t, k, nu, extrapolate, c1r, num_c_tr, strides_c1)
    if out is not None:
        out[...] = values
    return values


def solved(b, *, a):
    """X of A X = B, for a sparse A."""
    return spsolve(a, b)


@vjp_rule(solved)
def solved_(y_bar, y, b, *, a):
    return solved(y_bar, a=a.T.tocsc())


linear(solved)


def iterated(b, *, a, solver, words):
    """The same by an iteration, which stops early; its derivative is that of the exact solution."""
    return _ndbspline._iter_solve(a, b, solver, **words)


@vjp_rule(iterated)
def iterated_(y_bar, y, b, *, a, solver, words):
    return solved(y_bar, a=a.T.tocsc())


@jvp_rule(iterated)
def push_iterated(tangents, y, b, *, a, solver, words):
    return solved(tangents[0], a=a.tocsc())


@stands_for(_ndbspline._iter_solve)
def iter_solve(a, b, solver=None, **words):
    return iterated(b, a=a, solver=solver, words=words)
