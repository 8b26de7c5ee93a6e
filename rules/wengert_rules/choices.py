"""Elementwise functions that choose one of their arguments: extrema, clipping, `np.where`."""

from __future__ import annotations

import numpy as np

from wengert.extend import jvp_rule, linear, vjp_rule

ONE = np.uint8(1)  # the smallest integer: a count of ties then leaves float32 as it is


@vjp_rule(np.maximum, np.minimum, np.fmax, np.fmin, broadcasts=True)
def extremum(y_bar, y, a, b):
    """ȳ goes to the argument that was chosen; both get half at a tie."""
    chosen = ONE + (a == b)
    return np.where(a == y, y_bar, 0) / chosen, np.where(b == y, y_bar, 0) / chosen


@jvp_rule(np.maximum, broadcasts=True)
def push_extremum(tangents, y, a, b):
    return total_where([(tangent, x == y) for tangent, x in zip(tangents, (a, b), strict=True)]) / (ONE + (a == b))


def total_where(pairs):
    """The sum of tangents, each where its mask holds; None is zero."""
    return sum([np.where(mask, tangent, 0) for tangent, mask in pairs if tangent is not None])


clip_ufunc = getattr(np, "_core").umath.clip  # noqa: B009 -- what np.clip ends in, and type stubs do not show


def strictly_inside(y, low, high):
    """Where y lies between the bounds and at neither; None is no bound."""
    inside = True if low is None else low < y
    return inside if high is None else inside & (y < high)


def clip_masks(y, low, high):
    """Where y = min(max(a, low), high) is a, strictly between the bounds; where `low`; where `high`."""
    low = -np.inf if low is None else low
    high = np.inf if high is None else high
    return (low < y) & (y < high), (y == low) & (y != high), y == high


@vjp_rule(
    np.clip, np.ndarray.clip, np.generic.clip, clip_ufunc,
    broadcasts=True, names={"min": "a_min", "max": "a_max"},
)  # fmt: skip
def clip(y_bar, y, a, a_min=None, a_max=None):
    """ȳ goes to what was chosen; at a bound that is the bound, and a has derivative 0."""
    return (
        np.where(strictly_inside(y, a_min, a_max), y_bar, 0),
        np.where((y == a_min) & (y != a_max), y_bar, 0),
        np.where(y == a_max, y_bar, 0),
    )


@jvp_rule(np.clip, broadcasts=True)
def push_clip(tangents, y, a, a_min=None, a_max=None):
    if all([tangent is None for tangent in tangents[1:]]):
        return np.where(strictly_inside(y, a_min, a_max), tangents[0], 0)
    return total_where(zip(tangents, clip_masks(y, a_min, a_max), strict=False))


@vjp_rule(np.where, broadcasts=True)
def where(y_bar, y, condition, a, b):
    return None, np.where(condition, y_bar, 0), np.where(condition, 0, y_bar)


linear(np.where, args=(1, 2))
