"""Sums, means, variances and extrema along axes, as functions of NumPy and as methods."""

from __future__ import annotations

import math

import numpy as np

from wengert.extend import NoDerivativeError, is_complex, jvp_rule, linear, vjp_rule
from wengert_rules.elementwise import nonzero
from wengert_rules.products import conj
from wengert_rules.shapes import front

SMALL = 1000  # elements; up to about here filling an array costs less than making a view of one number (4 µs)


def spread(y, shape, axis, keepdims):
    """The result `y` of a reduction of an array of `shape`, set against each element that went into it."""
    if axis is None and math.prod(shape) <= SMALL:
        return np.full(shape, y)
    if axis is not None and not keepdims and shape:  # a number may be summed along axis 0
        y = np.expand_dims(y, axis)
    return np.broadcast_to(y, shape)


def masked(every, where):
    """`every` where `where` holds, else 0."""
    return every if where is True else np.where(where, every, 0)


def push_by(pull, as_axes=None, axis=None):
    """The pushforward of a reduction of which each element goes into one result: Σ p ẋ, with p from its pullback.

    `axis` is the default of the reduction, and `as_axes(axis)` what `np.sum` takes for its axes.
    """
    default = axis

    def push_reduction(tangents, y, a, *, axis=default, keepdims=False, **static):
        partial = pull(np.ones(np.shape(y), y.dtype), y, a, axis=axis, keepdims=keepdims, **static)
        axes = axis if as_axes is None or axis is None else as_axes(axis)
        return weighted_sum(partial, tangents[0], a, axes, keepdims)

    return push_reduction


def weighted_sum(partial, tangent, a, axis, keepdims):
    """Σ p ẋ over the axes of a reduction of `a`, with p* given; over all of them as one product."""
    if axis is None and not keepdims:
        return np.reshape(tangent, (*front(a, tangent), np.size(a))) @ np.reshape(conj(partial), (-1,))
    return np.sum(conj(partial) * tangent, axis=behind(axis, a, tangent), keepdims=keepdims)


def behind(axis, a, tangent):
    """The axes of a reduction of `a`, in an array `tangent` that may have one more in front."""
    if np.ndim(tangent) == np.ndim(a):
        return axis
    axes = range(np.ndim(a)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple([k % np.ndim(a) + 1 for k in axes if np.ndim(a)])


@vjp_rule(np.sum, np.ndarray.sum, np.generic.sum)
def sum_(y_bar, y, a, *, axis=None, dtype=None, out=None, keepdims=False, initial=0, where=True):
    return masked(spread(y_bar, np.shape(a), axis, keepdims), where)


@vjp_rule(np.add.reduce)
def add_reduce(y_bar, y, a, *, axis=0, dtype=None, out=None, keepdims=False, initial=0, where=True):
    return masked(spread(y_bar, np.shape(a), axis, keepdims), where)


def count(size, shape, axis, where):
    """Count the elements of an array of `shape` in each of the `size` elements of a result; broadcasts against it."""
    if where is True:
        return math.prod(shape) // max(size, 1)
    return np.sum(np.broadcast_to(where, shape), axis=axis, keepdims=True)


@vjp_rule(np.mean, np.ndarray.mean, np.generic.mean)
def mean(y_bar, y, a, *, axis=None, dtype=None, out=None, keepdims=False, where=True):
    n = count(np.size(y), np.shape(a), axis, where)
    if where is True:
        return spread(y_bar / max(n, 1), np.shape(a), axis, keepdims)
    return np.where(where, spread(y_bar, np.shape(a), axis, keepdims) / np.maximum(n, 1), 0)


def is_mean_like(centre, a):
    """Whether `centre` leaves the shape of `a` and its realness as they are."""
    stretches = np.broadcast_shapes(np.shape(a), np.shape(centre)) != np.shape(a)
    return not stretches and (is_complex(a) or not is_complex(centre))


def deviations(a, centre, axis, where):
    """`a` less its mean along `axis`, 0 where it is masked; `centre` is the mean where the caller knew it.

    Errors: NoDerivativeError where `centre` is not like the mean of `a`.
    """
    if centre is None:
        centre = np.mean(a, axis=axis, keepdims=True, where=where)
    elif not is_mean_like(centre, a):
        raise NoDerivativeError(
            f"mean= of shape {np.shape(centre)} and dtype {np.asarray(centre).dtype} is not a mean of an array of "
            f"shape {np.shape(a)} and dtype {np.asarray(a).dtype}. Pass np.mean(a, axis=axis, keepdims=True)"
        )
    return masked(a - centre, where)


def degrees(y, shape, axis, where, ddof, correction):
    """The degrees of freedom of a variance, by which a sum of squares is divided."""
    return np.maximum(count(np.size(y), shape, axis, where) - (ddof if correction is None else correction), 0)


@vjp_rule(np.var, np.ndarray.var, np.generic.var)
def var(
    y_bar, y, a, *, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True, mean=None, correction=None
):
    """y = Σ|a - m|²/n  ⇒  ā = ȳ 2(a - m)/n; m moves with a, but the deviations from it sum to 0."""
    n = degrees(y, np.shape(a), axis, where, ddof, correction)
    return spread(y_bar, np.shape(a), axis, keepdims) * (2 / n) * deviations(a, mean, axis, where)


@vjp_rule(np.std, np.ndarray.std, np.generic.std)
def std(
    y_bar, y, a, *, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True, mean=None, correction=None
):
    """ā = ȳ (a - m)/(n y), and 0 where all elements are equal."""
    n = degrees(y, np.shape(a), axis, where, ddof, correction)
    scale = np.where(y == 0, 0, y_bar) / np.where(y == 0, 1, y)
    return spread(scale, np.shape(a), axis, keepdims) / n * deviations(a, mean, axis, where)


@jvp_rule(np.var, broadcasts=True)
def push_var(
    tangents, y, a, *, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True, mean=None, correction=None
):
    """ẏ = Σ Re 2(a - m)* ȧ/n."""
    n = degrees(y, np.shape(a), axis, where, ddof, correction)
    n = n if where is True or keepdims else np.reshape(n, np.shape(y))
    return 2 / n * np.real(weighted_sum(deviations(a, mean, axis, where), tangents[0], a, axis, keepdims))


@jvp_rule(np.std, broadcasts=True)
def push_std(tangents, y, a, **options):
    """That of the variance over 2y; 0 where all elements are equal."""
    return push_var(tangents, y, a, **options) / (2 * nonzero(y))


@vjp_rule(np.nanvar)
def nanvar(
    y_bar, y, a, *, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True, mean=None, correction=None
):
    seen = where & ~np.isnan(a)
    n = degrees(y, np.shape(a), axis, seen, ddof, correction)
    return spread(y_bar, np.shape(a), axis, keepdims) * (2 / n) * deviations(a, mean, axis, seen)


@vjp_rule(np.nanstd)
def nanstd(
    y_bar, y, a, *, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True, mean=None, correction=None
):
    seen = where & ~np.isnan(a)
    n = degrees(y, np.shape(a), axis, seen, ddof, correction)
    scale = np.where(y == 0, 0, y_bar) / np.where(y == 0, 1, y)
    return spread(scale, np.shape(a), axis, keepdims) / n * deviations(a, mean, axis, seen)


@vjp_rule(
    np.max, np.min, np.ndarray.max, np.ndarray.min, np.generic.max, np.generic.min, np.nanmax, np.nanmin,
)  # fmt: skip
def extremum(y_bar, y, a, *, axis=None, out=None, keepdims=False, initial=None, where=True):
    """ȳ is shared equally by the elements that tie, also with `initial`, which keeps its share."""
    hits = a == spread(y, np.shape(a), axis, keepdims)
    hits = hits if where is True else hits & where
    ties = np.sum(hits, axis=axis, dtype=y.dtype, keepdims=keepdims)
    ties = ties if initial is None else ties + (y == initial)
    share = y_bar / np.where(ties == 0, 1, ties)
    return np.where(hits, spread(share, np.shape(a), axis, keepdims), 0)


@jvp_rule(np.max, broadcasts=True)
def push_extremum(tangents, y, a, *, axis=None, out=None, keepdims=False, initial=None, where=True):
    """The mean of the tangents of those that tie, among them 0 for `initial`."""
    hits = a == spread(y, np.shape(a), axis, keepdims)
    hits = hits if where is True else hits & where
    ties = np.sum(hits, axis=axis, keepdims=keepdims)
    ties = ties if initial is None else ties + (y == initial)
    return np.sum(tangents[0], axis=behind(axis, a, tangents[0]), keepdims=keepdims, where=hits) / nonzero(ties)


@vjp_rule(np.cumsum, np.ndarray.cumsum, np.generic.cumsum)
def cumsum(y_bar, y, a, *, axis=None, dtype=None, out=None):
    """The sum of ȳ from each place to the end."""
    along = 0 if axis is None else axis
    return np.reshape(np.flip(np.cumsum(np.flip(y_bar, along), along), along), np.shape(a))


linear(np.sum, np.add.reduce, without=("initial",))
linear(np.mean, np.cumsum)
jvp_rule(np.nanvar, broadcasts=True)(push_by(nanvar))
jvp_rule(np.nanstd, broadcasts=True)(push_by(nanstd))
