"""Peaks: where they are is constant between jumps; how high they stand out, and how wide they are, moves with them."""

from __future__ import annotations

import numpy as np
from scipy.signal import _peak_finding_utils as compiled

from wengert.extend import non_differentiable, stands_for

non_differentiable(compiled._local_maxima_1d, compiled._select_by_peak_distance)


@non_differentiable
def bases(x, peaks, wlen):
    """Where the lowest point is on each side of each peak, before a higher one."""
    _, left, right = compiled._peak_prominences(x, peaks, wlen)
    return left, right


@stands_for(compiled._peak_prominences)
def peak_prominences(x, peaks, wlen):
    left, right = bases(x, peaks, wlen)
    return x[peaks] - np.maximum(x[left], x[right]), left, right


@non_differentiable
def crossings(x, peaks, rel_height, prominences, left_bases, right_bases):
    """Between which elements the signal crosses the height of evaluation, on each side of each peak."""
    _, _, left, right = compiled._peak_widths(x, peaks, rel_height, prominences, left_bases, right_bases)
    return np.floor(left).astype(int), np.ceil(right).astype(int)


def crossing(x, inner, outer, height):
    """Where the line between two neighbours has this height; at the outer one, if that is not below it."""
    below = x[outer] < height
    share = np.where(below, (height - x[outer]) / np.where(below, x[inner] - x[outer], 1.0), 0.0)
    return outer + (inner - outer) * share


@stands_for(compiled._peak_widths)
def peak_widths(x, peaks, rel_height, prominences, left_bases, right_bases):
    left, right = crossings(x, peaks, rel_height, prominences, left_bases, right_bases)
    height = x[peaks] - prominences * rel_height
    left, right = (
        crossing(x, np.minimum(left + 1, peaks), left, height),
        crossing(x, np.maximum(right - 1, peaks), right, height),
    )
    return right - left, height, left, right
