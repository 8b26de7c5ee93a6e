"""Samples of scipy.interpolate: its classes, made before the trace and inside it, at points and of data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sampling import Sample, call, values
from scipy import interpolate

SAMPLES: list[Sample] = []

X = np.array([0.0, 0.8, 1.5, 2.7, 3.6, 4.4, 5.0])
Y = values(7)
GRID = np.array([0.0, 0.7, 1.6, 2.4, 3.1, 4.0]), np.array([-1.0, 0.2, 0.9, 2.0, 2.8])
TABLE = values(6, 5)
AT = np.array([0.3, 1.1, 2.9, 4.9, 3.7])
ON_GRID = np.array([[0.3, 0.4], [1.7, -0.3], [3.3, 2.1]])


def made(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """An interpolator made of constants, as a function of its points."""
    of = cls(*args, **kwargs)

    def at_points(points: Any, **words: Any) -> Any:
        return of(points, **words)

    return at_points


def of_data(cls: Any, **kwargs: Any) -> Any:
    """An interpolator made inside, as a function of points and data."""

    def at_points(points: Any, x: Any, y: Any, **words: Any) -> Any:
        return cls(x, y, **kwargs)(points, **words)

    return at_points


def of_values(cls: Any, x: Any, **kwargs: Any) -> Any:
    """An interpolator made inside, as a function of points and values; where these are known is constant."""

    def at_points(points: Any, y: Any, **words: Any) -> Any:
        return cls(x, y, **kwargs)(points, **words)

    return at_points


OF_CURVES = [
    *[(interpolate.interp1d, {"kind": kind}) for kind in ("linear", "slinear")],
    (interpolate.PchipInterpolator, {}),
    (interpolate.Akima1DInterpolator, {}),
    (interpolate.BarycentricInterpolator, {}),
    (interpolate.KroghInterpolator, {}),
]

TRACED = [
    *[call(made(cls, X, Y, **words), AT) for cls, words in OF_CURVES],
    *[call(of_data(cls, **words), AT, X, Y) for cls, words in OF_CURVES],
    call(made(interpolate.CubicSpline, X, Y), AT),
    call(made(interpolate.make_interp_spline, X, Y), AT),
    call(made(interpolate.RegularGridInterpolator, GRID, TABLE), ON_GRID),
    call(of_values(interpolate.RegularGridInterpolator, GRID), ON_GRID, TABLE),
]
