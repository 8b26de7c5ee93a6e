"""Functions of neighbouring elements: convolutions, sliding windows, interpolation between points."""

from __future__ import annotations

import itertools

import numpy as np

from wengert.extend import additem, jvp_rule, linear, multilinear, setitem, vjp_rule
from wengert_rules.shapes import integers

# Convolution and correlation


def vector(x):
    return np.reshape(x, (-1,))


def in_full(y_bar, n, m, mode):
    """`y_bar` at its place in the convolution of n with m elements without anything cut off."""
    if mode in ("full", 2):
        return y_bar
    short = min(n, m)
    start = (short - 1) // 2 if mode in ("same", 1) else short - 1
    return setitem(np.zeros(n + m - 1, y_bar.dtype), slice(start, start + np.size(y_bar)), y_bar)


@vjp_rule(np.convolve)
def convolve(y_bar, y, a, v, *, mode="full"):
    """yₖ = Σ aᵢ vₖ₋ᵢ  ⇒  āᵢ = Σ ȳₖ v*ₖ₋ᵢ, a correlation, and the same for v."""
    every = in_full(y_bar, np.size(a), np.size(v), mode)
    a_bar = np.correlate(every, vector(v), "valid")
    v_bar = np.correlate(every, vector(a), "valid")
    return np.reshape(a_bar, np.shape(a)), np.reshape(v_bar, np.shape(v))


@vjp_rule(np.correlate)
def correlate(y_bar, y, a, v, *, mode="valid"):
    """The convolution of a with v* reversed."""
    n, m = np.size(a), np.size(v)
    every = np.flip(in_full(np.flip(y_bar), n, m, mode)) if n < m else in_full(y_bar, n, m, mode)
    a_bar = np.convolve(every, vector(v), "valid")
    v_bar = np.correlate(vector(a), every, "valid")
    return np.reshape(a_bar, np.shape(a)), np.reshape(v_bar, np.shape(v))


multilinear(np.convolve, np.correlate)


# Windows


@vjp_rule(np.lib.stride_tricks.sliding_window_view, view=True)
def sliding_window_view(y_bar, y, x, *, window_shape, axis=None, subok=False, writeable=False):
    """Each place in the window adds what the windows have there to the elements that it passed over."""
    window = integers(window_shape)
    axes = range(np.ndim(x)) if axis is None else [k % np.ndim(x) for k in integers(axis)]
    x_bar = np.zeros(np.shape(x), x.dtype)
    for place in itertools.product(*[range(n) for n in window]):
        start = [sum([n for k, n in zip(axes, place, strict=True) if k == along]) for along in range(np.ndim(x))]
        key = tuple(slice(i, i + n) for i, n in zip(start, np.shape(y), strict=False))
        x_bar = additem(x_bar, key, y_bar[(..., *place)])
    return x_bar


linear(np.lib.stride_tricks.sliding_window_view)


# Interpolation


def knots(xp, period):
    """The points in rising order, those of one period between their neighbours; and which of `xp` each is."""
    if period is None:
        return xp, np.arange(np.size(xp))
    folded = xp % abs(period)
    order = np.argsort(folded)
    which = np.concatenate([order[-1:], order, order[:1]])
    turns = abs(period) * np.concatenate([[-1], np.zeros(np.size(xp)), [1]])
    return folded[which] + turns, which


def segments(x, points):
    """For each x the number of the point to its left that has one to its right."""
    right = np.searchsorted(points, x, "right")
    return np.clip(right - 1, 0, max(np.size(points) - 2, 0))


def steps(at, points, k, j):
    """Whether x lies between two points, k and j, and their distance. The last point may be there twice."""
    width = points[j] - points[k]
    between = (at >= points[0]) & (at <= points[-1]) & (width != 0)
    return between, np.where(between, width, 1)


@vjp_rule(np.interp, broadcasts=True)
def interp(y_bar, y, x, xp, fp, left=None, right=None, *, period=None):
    """y = (1 - t) fpₖ + t fpⱼ with t = (x - xpₖ)/(xpⱼ - xpₖ); at a point, the segment to its right counts."""
    points, which = knots(1.0 * np.asarray(xp), period)
    values = 1.0 * np.asarray(fp)[which]  # differences of small integers would overflow
    at = x if period is None else x % abs(period)
    below, above = at < points[0], at > points[-1]
    k = segments(at, points)
    j = np.minimum(k + 1, np.size(points) - 1)
    between, width = steps(at, points, k, j)
    t = np.where(between, (at - points[k]) / width, at >= points[0])
    slope = np.where(between, (values[j] - values[k]) / width, 0)
    x_bar = np.real(y_bar * np.conjugate(slope))
    xp_bar = additem(np.zeros(np.shape(xp), points.dtype), which[k], -x_bar * (1 - t))
    xp_bar = additem(xp_bar, which[j], -x_bar * t)
    held = below if left is not None and period is None else False
    held = held | above if right is not None and period is None else held
    y_bar_of_points = np.where(held, 0, y_bar)
    fp_bar = additem(np.zeros(np.shape(fp), values.dtype), which[k], y_bar_of_points * (1 - t))
    fp_bar = additem(fp_bar, which[j], y_bar_of_points * t)
    return x_bar, xp_bar, fp_bar, np.where(below, y_bar, 0), np.where(above, y_bar, 0)


@jvp_rule(np.interp)
def push_interp(tangents, y, x, xp, fp, left=None, right=None, *, period=None):
    """ẏ = (slope at x) (ẋ - ẋp between the points) + ḟp between the points."""
    x_dot, xp_dot, fp_dot, *ends = tangents
    moved = [] if x_dot is None else [x_dot]
    if xp_dot is not None:
        moved.append(-np.interp(x, xp, xp_dot, period=period))
    total = sum(moved) * slopes(x, xp, fp, period) if moved else 0.0
    if fp_dot is None and not any([tangent is not None for tangent in ends]):
        return total
    fp_dot = np.zeros(np.shape(fp)) if fp_dot is None else fp_dot
    given = zip((left, right), (*ends, None, None), strict=False)
    low, high = [(0.0 if tangent is None else tangent) if end is not None else None for end, tangent in given]
    return total + np.interp(x, xp, fp_dot, low, high, period)


def slopes(x, xp, fp, period):
    """The slope of the segment in which each x is, 0 beyond the points."""
    points, which = knots(1.0 * np.asarray(xp), period)
    values = 1.0 * np.asarray(fp)[which]
    at = x if period is None else x % abs(period)
    k = segments(at, points)
    j = np.minimum(k + 1, np.size(points) - 1)
    between, width = steps(at, points, k, j)
    return np.where(between, (values[j] - values[k]) / width, 0)
