"""Interpolation on regular grids: what SciPy computes in C, written with NumPy."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import _rgi_cython

from wengert.extend import stands_for
from wengert_rules.scipy.optional import present


@stands_for(*present("interpolate._interpnd._ndim_coords_from_arrays", "interpolate.interpnd._ndim_coords_from_arrays"))
def coordinates(points, ndim=None):
    """Coordinates, in one array or in a tuple with one for each axis, as an array with these along its last axis."""
    if isinstance(points, tuple) and len(points) == 1:
        points = points[0]
    if isinstance(points, tuple):
        return np.stack(np.broadcast_arrays(*points), axis=-1).astype(float)
    points = np.asanyarray(points)
    if points.ndim == 1:
        return points.reshape(-1, 1) if ndim is None else points.reshape(-1, ndim)
    return points


@stands_for(_rgi_cython.find_indices)
def find_indices(grid, xi):
    """For each axis the interval that each point is in, and how far from its left end, as a share of its width."""
    places, shares = zip(*[_on_axis(knots, points) for knots, points in zip(grid, xi, strict=True)], strict=True)
    return np.stack(places), np.stack(shares)


def _on_axis(knots, points):
    if np.size(knots) == 1:  # an interval around its only knot, from there to there
        return np.full(np.shape(points), -1), np.zeros(np.shape(points))
    k = np.clip(np.searchsorted(knots, points, "right") - 1, 0, np.size(knots) - 2)
    return k, (points - knots[k]) / (knots[k + 1] - knots[k])


@stands_for(_rgi_cython.evaluate_linear_2d)
def evaluate_linear_2d(values, indices, norm_distances, grid, out):
    (i, j), (s, t) = indices, norm_distances
    low = values[i, j] * (1 - t) + values[i, j + 1] * t
    high = values[i + 1, j] * (1 - t) + values[i + 1, j + 1] * t
    return low * (1 - s) + high * s
