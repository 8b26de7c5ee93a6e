"""Surfaces between scattered points, in all parts of all triangles."""

from __future__ import annotations

from typing import Any

import numpy as np
from samples_interpolate import CLOUD, HEIGHTS
from scipy import interpolate

import wengert as wg


def test_the_surface_of_clough_and_tocher_has_the_slopes_of_scipys() -> None:
    surface = interpolate.CloughTocher2DInterpolator(CLOUD, HEIGHTS)
    points = np.random.default_rng(2).uniform(CLOUD.min(axis=0), CLOUD.max(axis=0), (12, 2))
    inside = points[np.isfinite(surface(points))]
    assert len(inside) > 6
    slopes = wg.grad(lambda x: np.sum(surface(x)))(inside)
    np.testing.assert_allclose(
        slopes, wg.ngradient(lambda x: np.sum(surface(x)), inside, argnums=0), rtol=1e-6, atol=1e-8
    )


def test_a_checkpoint_does_not_compare_workspaces_that_nothing_was_written_to() -> None:
    def f(x: Any) -> Any:
        return interpolate.splev(0.3 + x[0], interpolate.splrep(np.arange(6.0), x))

    for k in range(8):  # it failed in every second run
        x = np.sin(np.arange(6.0) + 0.1 * k)
        assert np.array_equal(wg.grad(wg.checkpoint(f))(x), wg.grad(f)(x))
