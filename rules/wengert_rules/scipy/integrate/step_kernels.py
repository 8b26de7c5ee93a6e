"""Kernels that solve an initial value problem by an explicit Runge-Kutta method of SciPy's, and differentiate it.

They are compiled with numba. `f(x, p, q, out)` computes the slope from x = (t, y), and returns whether it failed;
`pull` and `push` are its derivatives, from x = (slope_bar, t, y) to (t_bar, y_bar, p_bar) and from x = (t, y, t_dot,
y_dot) to slope_dot. Each has parameters p and integers q of its own. `method` holds A, B, C and the weights of the
interpolation as `Tableau` does, in rows. The lengths of the steps are constants, as in the derivatives along the steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SAFETY, LEAST_FACTOR, LARGEST_FACTOR = 0.9, 0.2, 10.0
"""The constants of SciPy's step control."""


def fill(number: float, to: Any) -> None:
    """Write a number to all places of a vector."""
    for i in range(to.size):
        to[i] = number


def copy(x: Any, to: Any) -> None:
    """Write a vector to another."""
    for i in range(x.size):
        to[i] = x[i]


def add(factor: float, x: Any, to: Any) -> None:
    """Add a multiple of a vector to another."""
    for i in range(x.size):
        to[i] += factor * x[i]


def dot(x: Any, y: Any) -> float:
    """Return the product of two vectors."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


def norm(x: Any, other: Any, scale: Any) -> float:
    """Return the root of the mean square of (x - other) / scale."""
    total = 0.0
    for i in range(x.size):
        e = (x[i] - other[i]) / scale[i]
        total += e * e
    return float(np.sqrt(total / x.size))


def longer(rows: Any, count: int) -> Any:
    """Return the first rows, in an array with room for as many more."""
    made = np.empty((2 * count, rows.shape[1]))
    for k in range(count):
        copy(rows[k], made[k])
    return made


def weights(x: float, mixture: Any, turns: bool, w: Any, slope: Any) -> None:
    """Write the weights of the slopes at x, from 0 to 1 in a step, to w, and their derivatives by x to `slope`."""
    fill(0.0, w)
    fill(0.0, slope)
    b, d = x, 1.0
    for k in range(mixture.shape[0]):
        if k > 0:
            if turns and k % 2 == 1:
                b, d = b * (1.0 - x), d * (1.0 - x) - b
            else:
                b, d = b * x, d * x + b
        for s in range(w.size):
            w[s] += b * mixture[k, s]
            slope[s] += d * mixture[k, s]


def state_at(s: int, t: float, h: float, y: Any, K: Any, A: Any, C: Any, x: Any) -> None:
    """Write (t, y) of a stage to x."""
    n = y.size
    x[0] = t + C[s] * h
    for i in range(n):
        x[1 + i] = 0.0
    for j in range(s):
        if A[s, j] != 0.0:
            for i in range(n):
                x[1 + i] += A[s, j] * K[j, i]
    for i in range(n):
        x[1 + i] = y[i] + h * x[1 + i]


def error_norm(h: float, scale: Any, K: Any, E: Any) -> float:
    """Return SciPy's norm of the estimated error of a step: by one row of weights, or by two of DOP853."""
    n = scale.size
    first = other = 0.0
    for row in range(E.shape[0]):
        other = first
        first = 0.0
        for i in range(n):
            e = 0.0
            for s in range(E.shape[1]):
                e += E[row, s] * K[s, i]
            e /= scale[i]
            first += e * e
    if E.shape[0] == 1:
        return abs(h) * np.sqrt(first / n)
    if first == 0.0 and other == 0.0:
        return 0.0
    return abs(h) * first / np.sqrt((first + 0.01 * other) * n)


def initial_step(
    f: Any, p: Any, q: Any, start: float, y: Any, end: float, largest: float, slope: Any, order: float, rtol: Any,
    atol: Any, x: Any,
) -> float:  # fmt: skip
    """Return the length of the first step as SciPy chooses it; -1 if f fails."""
    length = abs(end - start)
    direction = 1.0 if end > start else -1.0
    scale, zeros, later = np.empty(y.size), np.zeros(y.size), np.empty(y.size)
    for i in range(y.size):
        scale[i] = atol[i] + abs(y[i]) * rtol[i]
    d0, d1 = norm(y, zeros, scale), norm(slope, zeros, scale)
    h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    h0 = min(h0, length)
    x[0] = start + h0 * direction
    copy(y, x[1:])
    add(h0 * direction, slope, x[1:])
    if f(x, p, q, later) != 0:
        return -1.0
    d2 = norm(later, slope, scale) / h0
    h1 = max(1e-6, h0 * 1e-3) if d1 <= 1e-15 and d2 <= 1e-15 else (0.01 / max(d1, d2)) ** (1.0 / (order + 1.0))
    return min(min(100.0 * h0, h1), min(length, largest))


def is_refused(span: Any, at: Any, rtol: Any, atol: Any, limits: Any) -> bool:
    """Return whether SciPy raises an error for some arguments, or warns."""
    forward = 1.0 if span[1] > span[0] else -1.0
    if span[0] == span[1] or not limits[1] > 0.0 or limits[0] <= 0.0 or limits[0] > abs(span[1] - span[0]):
        return True
    for i in range(rtol.size):
        if not (rtol[i] >= 100.0 * 2.220446049250313e-16 and atol[i] >= 0.0):
            return True
    for m in range(at.size):
        if forward * (at[m] - span[0]) < 0.0 or forward * (at[m] - span[1]) > 0.0 or np.isnan(at[m]):
            return True
        if m > 0 and not forward * (at[m] - at[m - 1]) > 0.0:
            return True
    return False


def solve(
    f: Any, p: Any, q: Any, span: Any, y0: Any, at: Any, rtol: Any, atol: Any, limits: Any, A: Any, C: Any, E: Any,
    mixture: Any, turns: bool, stages: int, order: float,
) -> Any:  # fmt: skip
    """Return whether it failed, the evaluations of f, a row (t, y) for each step, and a row y for each time in `at`.

    The first result is 1 if f failed at x, the last result; 2 if the steps became too small; 3 if SciPy refuses the
    arguments. `limits` holds the first step, which is nan if SciPy chooses it, and the largest.
    """
    n, count, start, end = y0.size, C.size, span[0], span[1]
    found = np.empty((at.size, n))
    rows = np.empty((64, 1 + n))
    K, x, scale = np.zeros((count, n)), np.empty(1 + n), np.empty(n)
    w, slope = np.empty(count), np.empty(count)
    direction = 1.0 if end > start else -1.0
    steps, evaluations, m = 0, 1, 0
    x[0] = start
    copy(y0, x[1:])
    copy(x, rows[0])
    if is_refused(span, at, rtol, atol, limits):
        return 3, 0, rows[:1], found, x
    if f(x, p, q, K[0]) != 0:
        return 1, evaluations, rows[:1], found, x
    length = limits[0]
    if np.isnan(length):
        length = initial_step(f, p, q, start, y0, end, limits[1], K[0], order, rtol, atol, x)
        evaluations += 1
        if length < 0.0:
            return 1, evaluations, rows[:1], found, x
    t = start
    while direction * (t - end) < 0.0:
        y = rows[steps, 1:]
        least = 10.0 * abs(np.nextafter(t, direction * np.inf) - t)
        length = min(max(length, least), limits[1])
        was_rejected = False
        while True:
            if not length >= least:
                return 2, evaluations, rows[: steps + 1], found, x
            later = t + length * direction
            if direction * (later - end) > 0.0:
                later = end
            h = later - t
            length = abs(h)
            for s in range(1, stages + 1):
                state_at(s, t, h, y, K, A, C, x)
                evaluations += 1
                if f(x, p, q, K[s]) != 0:
                    return 1, evaluations, rows[: steps + 1], found, x
            for i in range(n):
                scale[i] = atol[i] + max(abs(y[i]), abs(x[1 + i])) * rtol[i]
            error = error_norm(h, scale, K, E)
            if error < 1.0:
                factor = (
                    LARGEST_FACTOR if error == 0.0 else min(LARGEST_FACTOR, SAFETY * error ** (-1.0 / (order + 1.0)))
                )
                length *= min(1.0, factor) if was_rejected else factor
                break
            factor = SAFETY * error ** (-1.0 / (order + 1.0))
            length *= factor if factor > LEAST_FACTOR else LEAST_FACTOR
            was_rejected = True
        steps += 1
        if steps == rows.shape[0]:
            rows = longer(rows, steps)
        rows[steps, 0] = later
        copy(x[1:], rows[steps, 1:])
        if m < at.size and direction * (at[m] - later) <= 0.0:
            for s in range(stages + 1, count):
                state_at(s, t, h, y, K, A, C, x)
                evaluations += 1
                if f(x, p, q, K[s]) != 0:
                    return 1, evaluations, rows[:steps], found, x
            while m < at.size and direction * (at[m] - later) <= 0.0:
                weights((at[m] - t) / h, mixture, turns, w, slope)
                copy(y, found[m])
                for s in range(count):
                    add(h * w[s], K[s], found[m])
                m += 1
        copy(K[stages], K[0])
        t = later
    return 0, evaluations, rows[: steps + 1], found, x


def pull(
    f: Any, p: Any, q: Any, pull_f: Any, pull_p: Any, pull_q: Any, rows: Any, at: Any, found_bar: Any,
    A: Any, C: Any, mixture: Any, turns: bool, stages: int, size: int,
) -> Any:  # fmt: skip
    """Return whether it failed, and the cotangents of (t_span, at, y0, the first `size` parameters) in one vector."""
    n, count, last = rows.shape[1] - 1, C.size, rows.shape[0] - 2
    bar = np.zeros(2 + at.size + n + size)
    span_bar, at_bar, y_bar, p_bar = (
        bar[:2],
        bar[2 : 2 + at.size],
        bar[2 + at.size : bar.size - size],
        bar[bar.size - size :],
    )
    K, K_bar, x, z = np.zeros((count, n)), np.zeros((count, n)), np.empty((count, 1 + n)), np.empty(1 + 2 * n)
    state_bar, later_bar = np.empty(1 + n + size), np.zeros(n)
    moved_bar = state_bar[1 : 1 + n]
    w, slope = np.empty(count), np.empty(count)
    direction = 1.0 if rows[-1, 0] > rows[0, 0] else -1.0
    m = at.size - 1
    for k in range(last, -1, -1):
        t, h, y = rows[k, 0], rows[k + 1, 0] - rows[k, 0], rows[k, 1:]
        is_inside = m >= 0 and (k == 0 or direction * (at[m] - t) > 0.0)
        computed = count if is_inside else stages + 1
        is_moved = k == 0 or k == last  # the length of the step, by the ends of the times
        for s in range(computed):
            state_at(s, t, h, y, K, A, C, x[s])
            if f(x[s], p, q, K[s]) != 0:
                return 1, bar
        copy(y_bar, later_bar)
        fill(0.0, y_bar)
        copy(K_bar[0], K_bar[stages])
        for s in range(count):
            if s != stages:
                fill(0.0, K_bar[s])
        t_bar, h_bar = 0.0, 0.0
        while m >= 0 and (k == 0 or direction * (at[m] - t) > 0.0):
            at_x = (at[m] - t) / h
            weights(at_x, mixture, turns, w, slope)
            add(1.0, found_bar[m], y_bar)
            moved = 0.0
            for s in range(count):
                add(h * w[s], found_bar[m], K_bar[s])
                along = dot(K[s], found_bar[m])
                moved += slope[s] * along
                h_bar += w[s] * along
            at_bar[m] += moved
            t_bar -= moved
            h_bar -= at_x * moved
            m -= 1
        for s in range(computed - 1, -1, -1):
            if s == stages and k == last and not is_inside:
                is_used = False
            else:
                is_used = s > 0 or k == 0
            if is_used:
                copy(K_bar[s], z[:n])
                copy(x[s], z[n:])
                if pull_f(z, pull_p, pull_q, state_bar) != 0:
                    return 1, bar
                t_bar += state_bar[0]
                h_bar += C[s] * state_bar[0]
                add(1.0, state_bar[1 + n :], p_bar)
            else:
                fill(0.0, moved_bar)
            if s == stages:
                add(1.0, later_bar, moved_bar)
            elif not is_used:
                continue
            add(1.0, moved_bar, y_bar)
            for j in range(s):
                if A[s, j] != 0.0:
                    add(h * A[s, j], moved_bar, K_bar[j])
                    if is_moved:
                        h_bar += A[s, j] * dot(K[j], moved_bar)
        if k == 0:
            span_bar[0] += t_bar - h_bar
        if k == last:
            span_bar[1] += h_bar
    return 0, bar


def push(
    f: Any, p: Any, q: Any, push_f: Any, push_p: Any, push_q: Any, rows: Any, at: Any, dots: Any, A: Any,
    C: Any, mixture: Any, turns: bool, stages: int,
) -> Any:  # fmt: skip
    """Return whether it failed, and the tangents of the values at `at`: an array (directions, times, n).

    `dots` has a row for each direction, the tangents of (t_span, at, y0); `push_p` a row with p and its tangent.
    """
    n, count, last, directions = rows.shape[1] - 1, C.size, rows.shape[0] - 2, dots.shape[0]
    found = np.empty((directions, at.size, n))
    K, K_dot, x = np.zeros((count, n)), np.zeros((directions, count, n)), np.empty((count, 1 + n))
    y_dot, moved, z, later = np.empty((directions, n)), np.empty(n), np.empty(2 + 2 * n), np.empty(n)
    for d in range(directions):
        copy(dots[d, 2 + at.size :], y_dot[d])
    w, slope = np.empty(count), np.empty(count)
    direction, m = 1.0 if rows[-1, 0] > rows[0, 0] else -1.0, 0
    for k in range(last + 1):
        t, h, y = rows[k, 0], rows[k + 1, 0] - rows[k, 0], rows[k, 1:]
        first, is_inside = m, m < at.size and direction * (at[m] - rows[k + 1, 0]) <= 0.0
        computed = count if is_inside else stages + 1
        for s in range(computed):
            state_at(s, t, h, y, K, A, C, x[s])
            if f(x[s], p, q, K[s]) != 0:
                return 1, found
        while m < at.size and direction * (at[m] - rows[k + 1, 0]) <= 0.0:
            m += 1
        for d in range(directions):
            t_dot = dots[d, 0] if k == 0 else 0.0
            h_dot = (dots[d, 1] if k == last else 0.0) - t_dot
            for s in range(computed):
                if s == 0 and k > 0:
                    copy(K_dot[d, stages], K_dot[d, 0])
                    continue
                fill(0.0, moved)
                for j in range(s):
                    if A[s, j] != 0.0:
                        add(h * A[s, j], K_dot[d, j], moved)
                        add(h_dot * A[s, j], K[j], moved)
                add(1.0, y_dot[d], moved)
                copy(x[s], z[: 1 + n])
                z[1 + n] = t_dot + C[s] * h_dot
                copy(moved, z[2 + n :])
                if push_f(z, push_p[d], push_q, K_dot[d, s]) != 0:
                    return 1, found
                if s == stages:
                    copy(moved, later)
            for e in range(first, m):
                at_x = (at[e] - t) / h
                weights(at_x, mixture, turns, w, slope)
                x_dot = dots[d, 2 + e] - t_dot - at_x * h_dot
                copy(y_dot[d], found[d, e])
                for s in range(count):
                    add(h * w[s], K_dot[d, s], found[d, e])
                    add(h_dot * w[s] + x_dot * slope[s], K[s], found[d, e])
            copy(later, y_dot[d])
    return 0, found
