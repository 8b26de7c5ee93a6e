"""Steps of Runge and Kutta over given times, which are traced: explicit ones by a table, implicit ones by Radau."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import DOP853, RK23, RK45

from wengert.extend import followed, unseen

_ROOT = 6**0.5
RADAU_A = np.array([
    [(88 - 7 * _ROOT) / 360, (296 - 169 * _ROOT) / 1800, (-2 + 3 * _ROOT) / 225],
    [(296 + 169 * _ROOT) / 1800, (88 + 7 * _ROOT) / 360, (-2 - 3 * _ROOT) / 225],
    [(16 - _ROOT) / 36, (16 + _ROOT) / 36, 1 / 9],
])  # fmt: skip
RADAU_C = np.array([(4 - _ROOT) / 10, (4 + _ROOT) / 10, 1.0])
"""Radau IIA of order 5. Source: Hairer and Wanner, Solving Ordinary Differential Equations II, IV.5."""


def explicit(table: Any) -> Any:
    """The step of a Runge-Kutta method of SciPy's, `(f, t, y, end) -> y` there."""
    rows, weights, places = [row[:k].tolist() for k, row in enumerate(table.A)], table.B.tolist(), table.C.tolist()

    def step(f: Any, t: Any, y: Any, end: Any) -> Any:
        h = end - t
        slopes: list[Any] = []
        for row, place in zip(rows, places, strict=False):
            moved = y
            for a, slope in zip(row, slopes, strict=True):
                if a:
                    moved = moved + (h * a) * slope
            slopes.append(f(t + place * h, moved))
        for b, slope in zip(weights, slopes, strict=True):
            if b:
                y = y + (h * b) * slope
        return y

    return step


def radau(f: Any, t: Any, y: Any, end: Any) -> Any:
    """A step of Radau's method of order 5: its stages are the root of three equations for each number."""
    h, n = end - t, len(y)

    def residual(stages: Any) -> Any:
        at = np.reshape(stages, (3, n))
        slopes = np.stack([f(t + c * h, at[k]) for k, c in enumerate(RADAU_C.tolist())])
        return np.ravel(at - y - h * (RADAU_A @ slopes))

    return followed(residual, unseen(solved, residual, np.tile(np.asarray(y), 3)), goes_on=True)[2 * n :]


def solved(residual: Any, z: Any) -> Any:
    """The root of a residual, from z on, by Newton's method."""
    from scipy.optimize import root

    return root(residual, z, tol=1e-13).x


STEPS = {"RK23": explicit(RK23), "RK45": explicit(RK45), "DOP853": explicit(DOP853)}
OTHERS = [(STEPS["DOP853"], 1), (radau, 1), (radau, 2), (radau, 4)]
"""Candidate replacements for the steps of other methods, each with its number of steps for one; cheapest first."""


def over(step: Any, f: Any, times: Any, y: Any, parts: int = 1) -> list[Any]:
    """The y at each of the times, from that at the first on, by so many steps from one to the next."""
    made = [y]
    for t, end in pairwise(times):
        for k in range(parts):
            y = step(f, t + (end - t) * (k / parts), y, t + (end - t) * ((k + 1) / parts) if k + 1 < parts else end)
        made.append(y)
    return made
