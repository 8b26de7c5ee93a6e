"""Piecewise polynomials, in powers and in Bernstein's basis: what `_ppoly` computes in C, written with NumPy."""

from __future__ import annotations

import math

import numpy as np
from scipy.interpolate import BarycentricInterpolator, PchipInterpolator, _ppoly

from wengert.extend import stands_for


def intervals(x, points):
    """For each of `points` the number of the interval of the breakpoints `x`, which rise or fall, that it is in."""
    sign = 1 if x[-1] >= x[0] else -1
    return np.clip(np.searchsorted(sign * x, sign * points, "right") - 1, 0, np.size(x) - 2)


def known(x, points, extrapolate):
    """Whether there is a value at each of `points`: nan has none, nor has what lies beyond where none is asked for."""
    if extrapolate:
        return ~np.isnan(points)
    return (points >= min(x[0], x[-1])) & (points <= max(x[0], x[-1]))


def where_known(has_value, values):
    return values if np.all(has_value) else np.where(has_value[:, np.newaxis], values, np.nan)


def powers(c, s, nu):
    """Σ c[k-1-p] sᵖ, its derivative of order `nu`, or its integral from 0 of order `-nu`; in the order of C's sum."""
    total, power = 0.0, s ** max(-nu, 0)
    for p in range(max(nu, 0), len(c)):
        total = total + c[len(c) - 1 - p] * power * math.factorial(p) / math.factorial(p - nu)
        power = power * s
    return total


def refuse_negative(orders):
    if min(orders) < 0:
        raise ValueError("Order of derivative cannot be negative")


@stands_for(_ppoly.evaluate)
def evaluate(c, x, xp, dx, extrapolate, out):
    refuse_negative([dx])
    has_value = known(x, xp, extrapolate)
    xp = np.where(has_value, xp, x[0])
    k = intervals(x, xp)
    out[...] = where_known(has_value, powers(c[:, k], (xp - x[k])[:, np.newaxis], dx))


@stands_for(_ppoly.fix_continuity)
def fix_continuity(c, x, order):
    for i in range(1, np.size(x) - 1):
        for nu in range(order, -1, -1):
            c[len(c) - 1 - nu, i] = powers(c[:, i - 1], x[i] - x[i - 1], nu) / math.factorial(nu)


@stands_for(_ppoly.integrate)
def integrate(c, x, a, b, extrapolate, out):
    ends = np.array([a, b])
    if not np.all(known(x, ends, extrapolate)):
        out[...] = np.nan
        return
    first, last = intervals(x, ends)
    each = slice(first, last + 1) if first <= last else slice(last, first + 1)
    # through each interval from its left end, without what lies before a or behind b
    whole = np.sum(powers(c[:, each][:, :-1], np.diff(x[each])[:, np.newaxis], -1), axis=0)
    start, end = powers(c[:, first], a - x[first], -1), powers(c[:, last], b - x[last], -1)
    out[...] = whole + end - start if first <= last else end - start - whole


def bernstein(c, s):
    """The polynomial with the coefficients `c` in Bernstein's basis of [0, 1], by de Casteljau's scheme."""
    while len(c) > 1:
        c = c[:-1] * (1 - s) + c[1:] * s
    return c[0]


@stands_for(_ppoly.evaluate_bernstein)
def evaluate_bernstein(c, x, xp, nu, extrapolate, out):
    """A derivative has the differences of the coefficients for its own."""
    if nu < 0:
        raise NotImplementedError("Cannot do antiderivatives in the B-basis yet.")
    has_value = known(x, xp, extrapolate)
    xp = np.where(has_value, xp, x[0])
    k = intervals(x, xp)
    width = (x[k + 1] - x[k])[:, np.newaxis]
    s, order = (xp - x[k])[:, np.newaxis] / width, len(c) - 1
    if nu > order:
        out[...] = where_known(has_value, np.zeros(out.shape))
        return
    of_order = np.diff(c, nu, axis=0)[:, k]
    factor = math.factorial(order) / math.factorial(order - nu)
    out[...] = where_known(has_value, bernstein(of_order, s) * factor / width**nu)


@stands_for(_ppoly.evaluate_nd)
def evaluate_nd(c, xs, ks, xp, dx, extrapolate, out):
    """One axis after the other."""
    refuse_negative(dx)
    columns = [xp[:, d] for d in range(len(xs))]
    has_value = np.all([known(x, points, extrapolate) for x, points in zip(xs, columns, strict=True)], axis=0)
    columns = [np.where(has_value, points, x[0]) for x, points in zip(xs, columns, strict=True)]
    where = [intervals(x, points) for x, points in zip(xs, columns, strict=True)]
    cell = np.ravel_multi_index(where, [np.size(x) - 1 for x in xs])
    terms = np.reshape(c[:, cell], (*ks, *np.shape(out)))
    for x, points, k, nu in zip(xs, columns, where, dx, strict=True):
        terms = powers(terms, (points - x[k])[:, np.newaxis], int(nu))
    out[...] = where_known(has_value, np.broadcast_to(terms, np.shape(out)))


@stands_for(PchipInterpolator._find_derivatives)
def slopes(x, y, xp=None):
    """The slopes at the points: 0 beside a level interval, left out before anything is divided by its slope."""
    given = () if xp is None else (xp,)
    shape, columns = np.shape(y), (-1, 1)
    if np.ndim(y) == 1:
        x, y = np.reshape(x, columns), np.reshape(y, columns)
    h = x[1:] - x[:-1]
    m = (y[1:] - y[:-1]) / h
    if len(y) == 2:
        return np.reshape(np.concatenate([m, m]), shape)
    turns = (np.sign(m[1:]) != np.sign(m[:-1])) | (m[1:] == 0) | (m[:-1] == 0)
    steep, w = np.where(m == 0, 1.0, m), (2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1])
    mean = np.where(turns, 1.0, (w[0] / steep[:-1] + w[1] / steep[1:]) / (w[0] + w[1]))
    d = np.zeros_like(y)
    d[1:-1] = np.where(turns, 0.0, 1.0 / mean)
    d[0] = PchipInterpolator._edge_case(h[0], h[1], m[0], m[1], *given)
    d[-1] = PchipInterpolator._edge_case(h[-1], h[-2], m[-1], m[-2], *given)
    return np.reshape(d, shape)


@stands_for(vars(BarycentricInterpolator)["_evaluate"])
def barycentric(self, x):
    """At one of its points by Lagrange's products, exact there, which have the polynomial's derivatives."""
    if np.size(x) == 0:
        return np.zeros((0, self.r), dtype=self.dtype)
    differences = x[..., np.newaxis] - self.xi
    at_point = np.any(differences == 0, axis=-1)
    shares = self.wi / np.where(at_point[..., np.newaxis], 1, differences)
    between = np.dot(shares, self.yi) / np.sum(shares, axis=-1)[..., np.newaxis]
    if not np.any(at_point):
        return between
    return np.where(at_point[..., np.newaxis], lagrange(differences, self.xi, self.yi), between)


def lagrange(differences, xi, yi):
    """Σ yⱼ Π (x - xₖ)/(xⱼ - xₖ), over all k but j."""
    own = np.eye(np.size(xi), dtype=bool)
    factors = differences[..., np.newaxis, :] / np.where(own, 1, xi[:, np.newaxis] - xi)
    return np.dot(np.prod(np.where(own, 1, factors), axis=-1), yi)
