"""Kernels that run a right-hand side and its derivatives at many points, the rows (t, y) of `points`.

They are compiled as `step_kernels` are, with the same callbacks and sizes.
"""

from __future__ import annotations

from typing import Any

N = OUTER = PARAMETERS = WORK = 0
f: Any = None
pull_f: Any = None
push_f: Any = None


def values(count: float, p: Any, q: Any, points: Any, found: Any, work: Any) -> Any:
    """Write the slope at each point to `found`; return whether it failed."""
    for k in range(int(count)):
        if f(points[k * (1 + N) :], p, q, found[k * N :], work):
            return (1,)
    return (0,)


def jacobians(count: float, p: Any, q: Any, points: Any, found: Any, work: Any) -> Any:
    """Write the Jacobian by y at each point to `found`; return whether it failed."""
    z = work[WORK:]
    slope = z[2 + 2 * N :]
    for k in range(int(count)):
        for i in range(1 + N):
            z[i] = points[k * (1 + N) + i]
            z[1 + N + i] = 0.0
        for j in range(N):
            z[2 + N + j] = 1.0
            if push_f(z, p, q, slope, work):
                return (1,)
            z[2 + N + j] = 0.0
            for i in range(N):
                found[(k * N + i) * N + j] = slope[i]
    return (0,)


def pulls(count: float, p: Any, q: Any, points: Any, bars: Any, found: Any, work: Any) -> Any:
    """Add the cotangents of the parameters, for those of the slopes at all points; return whether it failed."""
    z = work[WORK:]
    bar = z[1 + 2 * N :]
    for k in range(int(count)):
        for i in range(N):
            z[i] = bars[k * N + i]
        for i in range(1 + N):
            z[N + i] = points[k * (1 + N) + i]
        if pull_f(z, p, q, bar, work):
            return (1,)
        for i in range(OUTER):
            found[i] += bar[1 + N + i]
    return (0,)


def pushes(directions: float, count: float, p: Any, q: Any, points: Any, found: Any, work: Any) -> Any:
    """Write the tangents of the slopes, an array (directions, count, n), for those of the parameters."""
    z = work[WORK:]
    for k in range(int(count)):
        for i in range(1 + N):
            z[i] = points[k * (1 + N) + i]
            z[1 + N + i] = 0.0
        for d in range(int(directions)):
            if push_f(z, p[d * PARAMETERS :], q, found[(d * int(count) + k) * N :], work):
                return (1,)
    return (0,)
