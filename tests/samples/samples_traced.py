"""Calls of NumPy's functions that have no rule: they are written in Python, and followed into it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial
from sampling import Sample, call, values

X, Y, A, B = values(6), values(6, low=-1), values(3, 4), values(3, 4, low=-1)
T, S, Z = values(2, 3, 4), values(3, 3) + 3 * np.eye(3), values(4, dtype=complex)
HOLES = np.array([0.3, np.nan, 1.2, 0.7, np.nan, -0.4])
NAN_ROWS = np.array([[0.3, np.nan, 1.2], [np.nan, 0.5, 0.7]])


PADDINGS = (
    "constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric", "wrap",
)  # fmt: skip
SERIES = [
    (polynomial, "poly"), (chebyshev, "cheb"), (hermite, "herm"), (hermite_e, "herme"), (laguerre, "lag"),
    (legendre, "leg"),
]  # fmt: skip


def sampled() -> Iterator[Sample]:
    yield from reductions()
    yield from shapes()
    yield from arrangements()
    yield from statistics()
    yield from linear_algebra()
    yield from numbers()
    yield from polynomials()


def reductions() -> Iterator[Sample]:
    for f in (np.amax, np.amin, np.ptp):
        yield call(f, B)
        yield call(f, B, axis=0)
        yield call(f, T, axis=(0, -1), keepdims=True) if f is not np.ptp else call(f, T, axis=-1, keepdims=True)
    yield call(lambda a: np.amax(a, axis=1, initial=0.5, where=a > 0), B)
    for f in (np.nansum, np.nanprod, np.nanmean, np.nancumsum, np.nancumprod):
        yield call(f, HOLES)
        yield call(f, NAN_ROWS, axis=0)
    for f in (np.cumulative_sum, np.cumulative_prod):
        yield call(f, X)
        yield call(f, B, axis=1, include_initial=True)
    for f in (np.average,):
        yield call(f, B, axis=0, weights=X[:3], returned=True)
        yield call(f, B, 1, A)
        yield call(f, T, axis=(0, 1), keepdims=True)
    yield call(np.trapezoid, Y)
    yield call(np.trapezoid, B, values(4), axis=-1)
    yield call(np.trapezoid, B, dx=0.3, axis=0)
    yield call(np.apply_along_axis, np.sum, 0, B)
    yield call(np.apply_along_axis, lambda v: v * v[0], 1, B)
    yield call(np.apply_over_axes, np.sum, T, [0, 2])
    for f in (np.percentile, np.nanpercentile):
        yield call(f, B, 30.0)
        yield call(f, B, np.array([20.0, 70.0]), axis=1, keepdims=True)
    for f in (np.quantile, np.nanquantile):
        yield call(f, X, 0.37, method="hazen")
        yield call(f, B, [0.35, 0.7], axis=0, method="median_unbiased")
        yield call(f, X, 0.5, method="inverted_cdf", weights=np.array([1, 2, 1, 3, 1, 2]))


def shapes() -> Iterator[Sample]:
    for f in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
        yield call(f, X)
        yield call(f, 0.5, A)
    yield call(np.array_split, X, 4)
    yield call(np.array_split, A, [1, 3], axis=1)
    yield call(np.split, A, 2, 1)
    yield call(np.hsplit, A, 2)
    yield call(np.vsplit, A, 3)
    yield call(np.dsplit, T, 2)
    yield call(np.unstack, T, axis=1)
    yield call(lambda a, b: np.block([[a, b], [b, a]]), A, B)
    yield call(np.column_stack, [X, B.T.ravel()[:6]])
    yield call(np.dstack, [A, B])
    yield call(np.fliplr, A)
    yield call(np.flipud, A)
    yield call(np.rot90, A, 3, axes=(1, 0))
    yield call(np.moveaxis, T, [0, 1], [-1, 0])
    yield call(np.rollaxis, T, 2, 1)
    yield call(np.astype, X, np.float32)
    yield call(np.require, X, requirements="CW")
    yield call(np.asarray_chkfinite, X)
    yield call(np.resize, X, (3, 3))
    yield call(np.append, A, B)
    yield call(np.append, A, B, axis=1)
    yield call(np.insert, X, 2, 0.7)
    yield call(np.insert, X, [1, 4], Y[:2])
    yield call(np.insert, A, 1, X[:4], axis=0)
    yield call(np.delete, X, 2)
    yield call(np.delete, A, [0, 3], axis=1)
    yield call(np.delete, X, slice(0, 4, 2))
    yield call(lambda x: np.trim_zeros(np.concatenate([[0.0, 0.0], x, [0.0]])), X)
    for mode in PADDINGS:
        yield call(np.pad, B, ((1, 2), (0, 1)), mode=mode)
    yield call(np.pad, X, 2, constant_values=(0.5, 1.5))
    yield call(np.pad, X, 2, mode="linear_ramp", end_values=(0.5, 1.5))
    yield call(np.pad, X, 2, mode="reflect", reflect_type="odd")
    yield call(np.pad, X, 2, mode="mean", stat_length=3)
    yield call(np.full_like, X, 0.7)
    yield call(np.ix_, X, Y)


def arrangements() -> Iterator[Sample]:
    yield call(np.compress, [True, False, True], A, axis=0)
    yield call(np.extract, B > 0, B)
    yield call(np.select, [X < 0.8, X < 1.4], [X * X, Y], 0.5)
    yield call(lambda x: np.piecewise(x, [X < 1, X >= 1], [np.sin, lambda t: t * t]), X)
    yield call(lambda x: np.piecewise(x, [X < 1], [np.sin, 2.5]), X)
    yield call(lambda a: np.fromfunction(lambda i, j: i * a + j, (2, 3)), 0.5)
    yield call(np.unique, X)
    yield call(lambda x: np.unique(x[[0, 1, 0, 2]], return_inverse=True, return_counts=True), X)
    yield call(np.unique_values, X)
    yield call(np.union1d, X, Y)
    yield call(np.setdiff1d, X, Y[:2])
    yield call(lambda x: np.intersect1d(x, x[1:4]), X)
    yield call(np.sort_complex, Z)


def statistics() -> Iterator[Sample]:
    yield call(np.cov, B)
    yield call(np.cov, X, Y)
    yield call(np.cov, B, rowvar=False, ddof=0)
    yield call(np.cov, B, aweights=X[:4])
    yield call(np.cov, B, fweights=np.array([1, 2, 1, 1]), bias=True)
    yield call(np.corrcoef, B)
    yield call(np.corrcoef, X, Y)
    yield call(np.histogram, X, bins=3, range=(0.0, 2.5), weights=Y)
    yield call(np.histogram, X, bins=np.array([0.0, 1.0, 2.5]), weights=Y, density=True)
    yield call(np.histogram2d, X, Y, bins=2, range=[[0.0, 2.5], [-1.5, 2.5]], weights=X)
    yield call(np.histogramdd, A[:, :2], bins=2, range=[[0.0, 2.5], [0.0, 2.5]], weights=X[:3])


def linear_algebra() -> Iterator[Sample]:
    yield call(np.tensordot, T, A, axes=([1, 2], [0, 1]))
    yield call(np.tensordot, T, values(4, 2), axes=1)
    yield call(np.linalg.cross, values(2, 3), values(3, low=-1))
    yield call(np.linalg.diagonal, T, offset=1)
    yield call(np.linalg.matmul, S, S)
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        yield call(lambda s, order=order: np.linalg.matrix_norm(s, ord=order, keepdims=True), S)
    for n in (0, 1, 2, 3, 5, -1, -2):
        yield call(np.linalg.matrix_power, S, n)
    yield call(np.linalg.matrix_transpose, T)
    yield call(lambda *a: np.linalg.multi_dot(a), values(2, 3), values(3, 4), values(4, 2), values(2))
    yield call(np.linalg.outer, X, Y)
    yield call(np.linalg.svdvals, S)
    yield call(np.linalg.tensordot, T, A, axes=([1, 2], [0, 1]))
    yield call(np.linalg.tensorinv, values(6, 6).reshape(6, 2, 3) + np.eye(6).reshape(6, 2, 3) * 3, ind=1)
    yield call(np.linalg.trace, T, offset=1)
    yield call(np.linalg.vecdot, A, B)
    for order in (0.5, 1, 2, 3, np.inf, -np.inf):
        yield call(lambda b, order=order: np.linalg.vector_norm(b, axis=1, ord=order, keepdims=True), B)


def numbers() -> Iterator[Sample]:
    yield call(np.angle, Z)
    yield call(np.real_if_close, Z)
    yield call(np.unwrap, 3 * X)
    yield call(np.unwrap, 3 * A, period=4.0, axis=0)
    yield call(np.nan_to_num, HOLES)
    yield call(np.diff, X, n=2)
    yield call(np.diff, A, axis=0, prepend=0.5, append=A[:1])
    yield call(np.ediff1d, X, to_begin=0.3, to_end=[0.5, 0.7])
    yield call(np.gradient, Y)
    yield call(np.gradient, Y, 0.3, edge_order=2)
    yield call(np.gradient, B, values(3).cumsum(), 0.5)
    yield call(np.gradient, B, axis=1)
    yield call(np.geomspace, 0.5, 3.0, 5)
    yield call(np.logspace, 0.5, 1.5, 4)
    yield call(np.logspace, 0.5, 1.5, 4, base=2.5)
    for f in ("sqrt", "log", "log2", "log10", "arcsin", "arccos", "arctanh"):
        yield call(getattr(np.emath, f), X * 0.3)
    yield call(np.emath.sqrt, Y)
    yield call(np.emath.power, X, 1.5)
    yield call(np.emath.logn, 2.0, X)


def polynomials() -> Iterator[Sample]:
    c, x = values(4, low=-1), values(3)
    yield call(np.poly, x)
    yield call(np.poly, S)
    yield call(np.polyadd, c, x)
    yield call(np.polysub, x, c)
    yield call(np.polydiv, c, x[:2])
    yield call(np.polyder, c, 2)
    yield call(np.polyint, c, 2, k=[0.5, 0.7])
    yield call(np.polyval, c, x)
    yield call(np.polyfit, X, Y, 2)
    yield call(np.polyfit, X, Y, 1, w=values(6))
    yield call(np.roots, np.array([1.0, -3.5, 2.2, 0.4]))
    for module, name in SERIES:

        def f(suffix: str, module: Any = module, name: str = name) -> Any:
            return getattr(module, name + suffix)

        yield call(f("add"), c, x)
        yield call(f("sub"), x, c)
        yield call(f("mul"), c, x)
        yield call(f("mulx"), c)
        yield call(f("pow"), x, 3)
        yield call(f("div"), c, x[:2])
        yield call(f("val"), x, c)
        yield call(f("val"), x, values(4, 2))
        yield call(f("val"), x, values(4, 3), tensor=False)
        yield call(f("val2d"), x, x * 0.5, values(3, 2))
        yield call(f("val3d"), x, x * 0.5, x * 0.7, values(3, 2, 2))
        yield call(f("grid2d"), x, x[:2], values(3, 2))
        yield call(f("grid3d"), x, x[:2], x[:1], values(3, 2, 2))
        yield call(f("vander"), x, 3)
        yield call(f("vander2d"), x, x * 0.5, [1, 2])
        yield call(f("vander3d"), x, x * 0.5, x * 0.7, [1, 1, 1])
        yield call(f("der"), c, 2, scl=1.5)
        yield call(f("int"), c, 2, k=[0.5, 0.7], lbnd=0.2)
        yield call(f("fromroots"), x)
        yield call(f("companion"), c)
        yield call(f("roots"), np.array([0.4, 2.2, -3.5, 1.0]))
        yield call(f("fit"), X, Y, 2)
        yield call(f("fit"), X, Y, [0, 2], w=values(6))
        trim = f("trim")
        yield call(lambda x, trim=trim: trim(np.append(x, 0.0)), x)
        yield call(f("line"), 0.5, 1.5)
        if name != "poly":
            yield call(getattr(module, f"poly2{name}"), c)
            yield call(getattr(module, f"{name}2poly"), c)
            yield call(f("weight"), x * 0.4)
    yield call(polynomial.polyvalfromroots, x, c)


TRACED = list(sampled())
