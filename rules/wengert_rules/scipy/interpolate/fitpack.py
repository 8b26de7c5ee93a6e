"""FITPACK: its splines, evaluated and integrated with NumPy; and fitted to values, where that is a linear system.

Which knots it takes is decided by the data, and constant. A smoothing spline, whose residual is driven to a bound by
an iteration that stops early, is refused.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import _fitpack2, _fitpack_impl

from wengert.extend import NoDerivativeError, non_differentiable, stands_for
from wengert_rules.scipy.interpolate.bsplines import basis, design, intervals, spline
from wengert_rules.scipy.optional import present

IN_FORTRAN = hasattr(_fitpack_impl, "dfitpack")  # up to SciPy 1.17
LIBRARY = _fitpack_impl.dfitpack if IN_FORTRAN else _fitpack_impl._fitpack

# Evaluation


def values(t, c, k, x, nu, ext):
    """A spline or its derivative; beyond its knots (`ext`) goes on, is 0, is an error, or stays what it is there."""
    first, last = t[k], t[np.size(t) - k - 1]
    beyond = (x < first) | (x > last)
    if ext == 2 and np.any(beyond):
        return np.zeros(np.shape(x)), 1
    at = np.clip(x, first, last) if ext == 3 else x
    y = spline(t, c[:, np.newaxis], k, at, nu, True)[:, 0]
    return np.where(beyond, 0.0, y) if ext == 1 else y, 0


@stands_for(LIBRARY.splev)
def splev(t, c, k, x, e=0):
    return values(t, c, k, x, 0, e)


@stands_for(LIBRARY.splder)
def splder(t, c, k, a, b, e=0):
    """The order of the derivative comes behind x in Fortran, before it in C."""
    x, nu = (a, b) if IN_FORTRAN else (b, a)
    return values(t, c, k, x, nu, e)


@stands_for(LIBRARY.spalde)
def spalde(t, c, k1, x):
    """All derivatives at one point."""
    at = np.reshape(x, (1,))
    return np.concatenate([values(t, c, k1 - 1, at, nu, 0)[0] for nu in range(k1)]), 0


def integrals(t, k, a, b):
    """The integral of each B-spline from a to b, as far as the knots reach: by the B-splines of the next degree."""
    ends = np.clip(np.stack([a, b]), t[k], t[np.size(t) - k - 1])
    longer = np.concatenate([t[:1], t, t[-1:]])
    below = np.flip(np.cumsum(np.flip(design(longer, k + 1, ends), 1), axis=1), 1)[:, 1:]
    return (below[1] - below[0]) * (t[k + 1 :] - t[: -k - 1]) / (k + 1)


@stands_for(LIBRARY.splint)
def splint(t, c, k, a, b):
    parts = integrals(t, k, a, b)
    whole = np.sum(parts * c[: np.size(parts)])
    return (whole, None) if IN_FORTRAN else whole


@stands_for(LIBRARY.dblint)
def dblint(tx, ty, c, kx, ky, xb, xe, yb, ye):
    along, across = integrals(tx, kx, xb, xe), integrals(ty, ky, yb, ye)
    return along @ np.reshape(c, (np.size(along), np.size(across))) @ across


@stands_for(LIBRARY.parder)
def parder(tx, ty, c, kx, ky, nux, nuy, x, y):
    """On a grid; beyond the knots it stays what it is there."""
    along, across = (inside(t, k, at, nu) for t, k, at, nu in ((tx, kx, x, nux), (ty, ky, y, nuy)))
    return along @ np.reshape(c, (along.shape[1], across.shape[1])) @ across.T, 0


def inside(t, k, x, nu):
    return design(t, k, np.clip(x, t[k], t[np.size(t) - k - 1]), nu)


@stands_for(LIBRARY.pardeu)
def pardeu(tx, ty, c, kx, ky, nux, nuy, x, y):
    """At points."""
    table = np.reshape(c, (np.size(tx) - kx - 1, np.size(ty) - ky - 1))
    x, y = (np.clip(at, t[k], t[np.size(t) - k - 1]) for t, k, at in ((tx, kx, x), (ty, ky, y)))
    i, j = intervals(tx, kx, x), intervals(ty, ky, y)
    along, across = basis(tx, kx, x, nux, i), basis(ty, ky, y, nuy, j)
    terms = [
        u * v * table[i - kx + a, j - ky + b] for a, u in enumerate(along) for b, v in enumerate(across)
    ]  # fmt: skip
    return sum(terms), 0


@stands_for(LIBRARY.bispev)
def bispev(tx, ty, c, kx, ky, x, y):
    return parder(tx, ty, c, kx, ky, 0, 0, x, y)


@stands_for(LIBRARY.bispeu)
def bispeu(tx, ty, c, kx, ky, x, y):
    return pardeu(tx, ty, c, kx, ky, 0, 0, x, y)


# Knots


@stands_for(LIBRARY.pardtc)
def pardtc(tx, ty, c, kx, ky, nux, nuy):
    """The coefficients of a derivative; zeros fill up what Fortran leaves."""
    table = np.reshape(c, (np.size(tx) - kx - 1, np.size(ty) - ky - 1))
    less = np.ravel(derived(derived(table, tx, kx, nux).T, ty, ky, nuy).T)
    return np.concatenate([less, np.zeros(np.size(c) - np.size(less))]), 0


def derived(c, t, k, nu):
    for _ in range(nu):
        c = k * (c[1:] - c[:-1]) / (t[k + 1 : -1] - t[1 : -k - 1])[:, np.newaxis]
        t, k = t[1:-1], k - 1
    return c


@stands_for(*present("interpolate._fitpack.insert", "interpolate._fitpack._insert"))
def insert(iopt, t, c, k, x, m):
    """Boehm's: one knot after the other."""
    if iopt:
        raise NoDerivativeError("inserting a knot into a periodic FITPACK spline has no derivative. Use another")
    for _ in range(m):
        at = intervals(t, k, x)
        i = np.arange(at - k + 1, at + 1)
        share = (x - t[i]) / (t[i + k] - t[i])
        c = np.concatenate([c[: at - k + 1], share * c[i] + (1 - share) * c[i - 1], c[at : np.size(t) - k - 1]])
        t = np.concatenate([t[: at + 1], np.reshape(x, (1,)), t[at + 1 :]])
        c = np.concatenate([c, np.zeros(k + 1)])
    return t, c, 0


# Curves through values


@non_differentiable
def ended(x, y, w, xb, xe, k, s, task, t):
    """Return FITPACK's exit code: -1 for an interpolating spline, -2 for a single polynomial, 10 for an error."""
    nest = np.size(t) if task == -1 else max(np.size(x) + k + 1, 2 * k + 3)
    knots = np.array(t, float) if task == -1 else np.zeros(nest)
    work, iwork = np.zeros(np.size(x) * (k + 1) + nest * (7 + 3 * k)), np.zeros(nest, np.int32)
    if IN_FORTRAN:
        return LIBRARY.curfit(task, x, y, w, knots, work, iwork, xb=xb, xe=xe, k=k, s=s)[-1]
    return LIBRARY.curfit(task, x, y, w, xb, xe, k, s, knots, work, iwork)[-1]


def between_ends(inner, k, xb, xe):
    return np.concatenate([np.stack([xb] * (k + 1)), inner, np.stack([xe] * (k + 1))])


def inner_knots(x, k):
    """Those of a spline through values: at the points, or between them where the degree is even; not near the ends."""
    here = x[k // 2 + 1 : k // 2 + np.size(x) - k]
    return here if k % 2 else (here + x[k // 2 : k // 2 + np.size(x) - k - 1]) / 2


def fitted(x, y, w, xb, xe, k, s, task, t):
    """The knots, the coefficients, the sum of squares and how it ended."""
    ier = ended(x, y, w, xb, xe, k, s, task, t) if task < 1 else 0
    if task == 1 or (task == 0 and ier not in (-1, -2, 10)):
        raise NoDerivativeError(
            "FITPACK fits a smoothing spline by an iteration that stops within a thousandth of s, so the spline has no "
            "derivative with respect to the values. Use s=0, your own knots, or make_smoothing_spline"
        )
    inner = t[k + 1 : -k - 1] if task == -1 else inner_knots(x, k) if ier == -1 else np.zeros(0)
    knots = between_ends(inner, k, xb, xe)
    if ier == 10:
        return knots, np.zeros(np.size(knots)), 0.0, ier
    matrix = design(knots, k, x)
    c = np.linalg.solve(matrix, y) if ier == -1 else np.linalg.lstsq(matrix * w[:, np.newaxis], w * y)[0]
    square = np.sum((w * (y - matrix @ c)) ** 2) if ier != -1 else 0.0
    return knots, np.concatenate([c, np.zeros(k + 1)]), square, ier


@stands_for(LIBRARY.curfit)
def curfit(task, x, y, w, *rest, xb=None, xe=None, k=3, s=0.0):
    """Fortran has the knots, which it writes, and room to work in before the other arguments, C behind them."""
    if not IN_FORTRAN:
        xb, xe, k, s, t, *_ = rest
        knots, c, square, ier = fitted(x, y, w, xb, xe, k, s, task, t)
        return np.size(knots), knots, c, square, ier
    t, _, _, xb, xe, k, s = (*rest, *(xb, xe, k, s)[len(rest) - 3 :])
    knots, c, square, ier = fitted(x, y, w, xb, xe, k, s, task, t)
    t[: np.size(knots)] = knots
    return np.size(knots), c, square, ier


if IN_FORTRAN:

    def state(x, y, k, t, w, xb, xe, s, task):
        """All that `UnivariateSpline` keeps."""
        w = np.ones(np.size(x)) if w is None else w
        xb, xe = x[0] if xb is None else xb, x[-1] if xe is None else xe
        s = float(np.size(x)) if s is None else s
        knots, c, square, ier = fitted(x, y, w, xb, xe, k, s, task, t)
        return x, y, w, xb, xe, k, s, np.size(knots), knots, c, square, None, None, ier

    @stands_for(LIBRARY.fpcurf0)
    def fpcurf0(x, y, k, w=None, xb=None, xe=None, s=None, nest=None):
        return state(x, y, k, None, w, xb, xe, s, 0)

    @stands_for(LIBRARY.fpcurfm1)
    def fpcurfm1(x, y, k, t, w=None, xb=None, xe=None, overwrite_t=False):
        return state(x, y, k, t, w, xb, xe, 0.0, -1)


# Surfaces through values on a grid

REGRID = LIBRARY.regrid_smth if IN_FORTRAN else _fitpack2._regrid_smth


@stands_for(REGRID)
def regrid(x, y, z, xb=None, xe=None, yb=None, ye=None, kx=3, ky=3, s=0.0, maxit=20):
    if s != 0:
        raise NoDerivativeError("a smoothing FITPACK surface has no derivative with respect to the values. Use s=0")
    tx, a = on_side(x, kx, xb, xe)
    ty, b = on_side(y, ky, yb, ye)
    c = np.linalg.solve(a, np.linalg.solve(b, np.reshape(z, (np.size(x), np.size(y))).T).T)
    return np.size(tx), tx, np.size(ty), ty, np.ravel(c), 0.0, -1


def on_side(x, k, xb, xe):
    knots = between_ends(inner_knots(x, k), k, x[0] if xb is None else xb, x[-1] if xe is None else xe)
    return knots, design(knots, k, x)
