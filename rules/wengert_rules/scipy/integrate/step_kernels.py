"""Kernels that solve an initial value problem by an explicit Runge-Kutta method of SciPy's, and differentiate it.

They are compiled to machine code, together with the callbacks that they call: `f` computes the slope from x = (t, y);
`pull_f` and `push_f` are its derivatives, from x = (slope_bar, t, y) to (t_bar, y_bar, p_bar) and from x = (t, y,
t_dot, y_dot) to slope_dot. Each returns whether it failed. Matrices are flat, row after row. A, C, E and `mixture` are
the coefficients of the method as in `Tableau`. The lengths of the steps are constants, as in the derivatives along the
steps. `work` is memory of zeros, whose first part the callbacks use.
"""

from __future__ import annotations

from math import inf, nextafter, pow, sqrt
from typing import Any

N = COUNT = STAGES = ESTIMATES = ESTIMATED = MIXED = OUTER = PARAMETERS = WORK = 0
TURNS = False
"""The sizes, which the compiler sets: of y, of all stages and of those of a step; the rows and columns of E, and the
rows of `mixture`; the parameters of f that `pull_f` differentiates, and all of `push_f`; the memory that the callbacks
use. TURNS tells whether the weights are those of DOP853."""

SAFETY, LEAST_FACTOR, LARGEST_FACTOR = 0.9, 0.2, 10.0
"""The constants of SciPy's step control."""

f: Any = None
pull_f: Any = None
push_f: Any = None


def fill(n: int, number: float, to: Any) -> None:
    """Write a number to the first places of a vector."""
    for i in range(n):
        to[i] = number


def copy(n: int, x: Any, to: Any) -> None:
    """Write a vector to another."""
    for i in range(n):
        to[i] = x[i]


def add(n: int, factor: float, x: Any, to: Any) -> None:
    """Add a multiple of a vector to another."""
    for i in range(n):
        to[i] += factor * x[i]


def dot(x: Any, y: Any) -> float:
    """Return the product of two states."""
    total = 0.0
    for i in range(N):
        total += x[i] * y[i]
    return total


def norm(x: Any, other: Any, scale: Any) -> float:
    """Return the root of the mean square of (x - other) / scale."""
    total = 0.0
    for i in range(N):
        e = (x[i] - other[i]) / scale[i]
        total += e * e
    return float(sqrt(total / N))


def weights(x: float, mixture: Any, w: Any, slope: Any) -> None:
    """Write the weights of the slopes at x, from 0 to 1 in a step, to w, and their derivatives by x to `slope`."""
    fill(COUNT, 0.0, w)
    fill(COUNT, 0.0, slope)
    b, d = x, 1.0
    for k in range(MIXED):
        if k > 0:
            if TURNS and k % 2 == 1:
                b, d = b * (1.0 - x), d * (1.0 - x) - b
            else:
                b, d = b * x, d * x + b
        for s in range(COUNT):
            w[s] += b * mixture[k * COUNT + s]
            slope[s] += d * mixture[k * COUNT + s]


def state_at(s: int, t: float, h: float, y: Any, K: Any, A: Any, C: Any, x: Any) -> None:
    """Write (t, y) of a stage to x."""
    x[0] = t + C[s] * h
    for i in range(N):
        x[1 + i] = 0.0
    for j in range(s):
        if A[s * COUNT + j] != 0.0:
            for i in range(N):
                x[1 + i] += A[s * COUNT + j] * K[j * N + i]
    for i in range(N):
        x[1 + i] = y[i] + h * x[1 + i]


def error_norm(h: float, scale: Any, K: Any, E: Any) -> float:
    """Return SciPy's norm of the estimated error of a step: by one row of weights, or by two of DOP853."""
    first, other = 0.0, 0.0
    for row in range(ESTIMATES):
        other = first
        first = 0.0
        for i in range(N):
            e = 0.0
            for s in range(ESTIMATED):
                e += E[row * ESTIMATED + s] * K[s * N + i]
            e /= scale[i]
            first += e * e
    if ESTIMATES == 1:
        return float(abs(h) * sqrt(first / N))
    if first == 0.0 and other == 0.0:
        return 0.0
    return float(abs(h) * first / sqrt((first + 0.01 * other) * N))


def initial_step(
    p: Any, q: Any, work: Any, start: float, y: Any, end: float, largest: float, slope: Any, order: float, rtol: Any,
    atol: Any, x: Any, scale: Any, later: Any, zeros: Any,
) -> float:  # fmt: skip
    """Return the length of the first step as SciPy chooses it; -1 if f fails."""
    length = abs(end - start)
    direction = 1.0 if end > start else -1.0
    for i in range(N):
        scale[i] = atol[i] + abs(y[i]) * rtol[i]
    d0, d1 = norm(y, zeros, scale), norm(slope, zeros, scale)
    h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    h0 = min(h0, length)
    x[0] = start + h0 * direction
    copy(N, y, x[1:])
    add(N, h0 * direction, slope, x[1:])
    if f(x, p, q, later, work):
        return -1.0
    d2 = norm(later, slope, scale) / h0
    h1 = max(1e-6, h0 * 1e-3)
    if d1 > 1e-15 or d2 > 1e-15:
        h1 = pow(0.01 / max(d1, d2), 1.0 / (order + 1.0))
    return min(min(100.0 * h0, h1), min(length, largest))


def is_refused(span: Any, times: int, at: Any, rtol: Any, atol: Any, limits: Any) -> bool:
    """Return whether SciPy raises an error for some arguments, or warns."""
    forward = 1.0 if span[1] > span[0] else -1.0
    if span[0] == span[1] or not limits[1] > 0.0 or limits[0] <= 0.0 or limits[0] > abs(span[1] - span[0]):
        return True
    for i in range(N):
        if not (rtol[i] >= 100.0 * 2.220446049250313e-16 and atol[i] >= 0.0):
            return True
    for m in range(times):
        if forward * (at[m] - span[0]) < 0.0 or forward * (at[m] - span[1]) > 0.0 or at[m] != at[m]:
            return True
    for m in range(1, times):  # noqa: SIM110  as native code can do it
        if not forward * (at[m] - at[m - 1]) > 0.0:
            return True
    return False


def solve(
    size: float, p: Any, p_step: float, q: Any, problems: Any, times: float, A: Any, C: Any, E: Any, mixture: Any,
    order: float, room: float, rows: Any, counts: Any, found: Any, x: Any, work: Any,
) -> Any:  # fmt: skip
    """Solve some problems, one after the other; return the evaluations of f.

    A row of `problems` holds t_span, the first step, which is nan if SciPy chooses it, the largest step, y0, rtol,
    atol, and the times. Write the steps to `rows`, as many as `counts` says, and the values at the times to `found`.
    Before the evaluations return 1 if f failed at x; 2 if steps became too small; 3 if SciPy refuses the arguments; 4
    if there are more steps than room for rows.
    """
    M, begin, evaluations = int(times), 0, 0
    for e in range(int(size)):
        row = problems[e * (4 + 3 * N + M) :]
        failed, asked, steps = solve_one(
            p[e * int(p_step) :], q, row, M, row[4 + 3 * N :], A, C, E, mixture, order, int(room) - begin,
            rows[begin * (1 + N) :], found[e * M * N :], x, work,
        )  # fmt: skip
        evaluations += int(asked)
        if failed != 0:
            return failed, evaluations
        counts[e] = steps
        begin += int(steps) + 1
    return 0, evaluations


def solve_one(
    p: Any, q: Any, row: Any, M: int, at: Any, A: Any, C: Any, E: Any, mixture: Any, order: float, most: int, rows: Any,
    found: Any, x: Any, work: Any,
) -> Any:  # fmt: skip
    """Write a row (t, y) for each step, and a row y for each time in `at`.

    Return whether it failed, as `solve` does, and the numbers of evaluations and steps.
    """
    start, end, limits, y0, rtol, atol = row[0], row[1], row[2:], row[4:], row[4 + N :], row[4 + 2 * N :]
    K = work[WORK:]
    scale = K[COUNT * N :]
    w = scale[N:]
    slope = w[COUNT:]
    later, zeros = slope[COUNT:], slope[COUNT + N :]
    direction = 1.0 if end > start else -1.0
    steps, evaluations, m = 0, 1, 0
    x[0] = start
    copy(N, y0, x[1:])
    if most < 1:
        return 4, 0, 0
    copy(1 + N, x, rows)
    if is_refused(row, M, at, rtol, atol, limits):
        return 3, 0, 0
    if f(x, p, q, K, work):
        return 1, evaluations, steps
    length = limits[0]
    if length != length:
        length = initial_step(p, q, work, start, y0, end, limits[1], K, order, rtol, atol, x, scale, later, zeros)
        evaluations += 1
        if length < 0.0:
            return 1, evaluations, steps
    t = start
    while direction * (t - end) < 0.0:
        y = rows[steps * (1 + N) + 1 :]
        least = 10.0 * abs(nextafter(t, direction * inf) - t)
        length = min(max(length, least), limits[1])
        was_rejected = False
        next_t, h, is_taken = t, 0.0, False
        while not is_taken:
            if not length >= least:
                return 2, evaluations, steps
            next_t = t + length * direction
            if direction * (next_t - end) > 0.0:
                next_t = end
            h = next_t - t
            length = abs(h)
            for s in range(1, STAGES + 1):
                state_at(s, t, h, y, K, A, C, x)
                evaluations += 1
                if f(x, p, q, K[s * N :], work):
                    return 1, evaluations, steps
            for i in range(N):
                scale[i] = atol[i] + max(abs(y[i]), abs(x[1 + i])) * rtol[i]
            error = error_norm(h, scale, K, E)
            if error < 1.0:
                factor = LARGEST_FACTOR
                if error != 0.0:
                    factor = min(LARGEST_FACTOR, SAFETY * pow(error, -1.0 / (order + 1.0)))
                length *= min(1.0, factor) if was_rejected else factor
                is_taken = True
            else:
                factor = SAFETY * pow(error, -1.0 / (order + 1.0))
                length *= factor if factor > LEAST_FACTOR else LEAST_FACTOR
                was_rejected = True
        steps += 1
        if steps == most:
            return 4, evaluations, steps
        rows[steps * (1 + N)] = next_t
        copy(N, x[1:], rows[steps * (1 + N) + 1 :])
        extra = STAGES + 1
        while m < M:
            if direction * (at[m] - next_t) > 0.0:
                break
            while extra < COUNT:
                state_at(extra, t, h, y, K, A, C, x)
                evaluations += 1
                if f(x, p, q, K[extra * N :], work):
                    return 1, evaluations, steps
                extra += 1
            weights((at[m] - t) / h, mixture, w, slope)
            copy(N, y, found[m * N :])
            for s in range(COUNT):
                add(N, h * w[s], K[s * N :], found[m * N :])
            m += 1
        copy(N, K[STAGES * N :], K)
        t = next_t
    return 0, evaluations, steps


def pull(
    size: float, p: Any, p_step: float, q: Any, pull_p: Any, pull_p_step: float, pull_q: Any, begins: Any, counts: Any,
    rows: Any, times: float, at: Any, found_bar: Any, A: Any, C: Any, mixture: Any, bar: Any, work: Any,
) -> Any:  # fmt: skip
    """Write the cotangents of (t_span, at, y0, the first parameters) of some problems; return whether it failed.

    The steps of each begin in a row of `rows`, and are as many as `counts` says.
    """
    M = int(times)
    for e in range(int(size)):
        if pull_one(
            p[e * int(p_step) :], q, pull_p[e * int(pull_p_step) :], pull_q, int(counts[e]) - 1,
            rows[int(begins[e]) * (1 + N) :], M, at[e * M :], found_bar[e * M * N :], A, C, mixture,
            bar[e * (2 + M + N + OUTER) :], work,
        ):  # fmt: skip
            return (1,)
    return (0,)


def pull_one(
    p: Any, q: Any, pull_p: Any, pull_q: Any, last: int, rows: Any, M: int, at: Any, found_bar: Any, A: Any, C: Any,
    mixture: Any, bar: Any, work: Any,
) -> bool:  # fmt: skip
    """Write the cotangents of a problem to `bar`, which is zero; return whether it failed."""
    at_bar, y_bar = bar[2:], bar[2 + M :]
    p_bar = y_bar[N:]
    K = work[WORK:]
    K_bar = K[COUNT * N :]
    x = K_bar[COUNT * N :]
    z = x[COUNT * (1 + N) :]
    later_bar = z[1 + 2 * N :]
    w = later_bar[N:]
    slope = w[COUNT:]
    state_bar = slope[COUNT:]
    fill(N, 0.0, K_bar)
    direction = 1.0 if rows[(last + 1) * (1 + N)] > rows[0] else -1.0
    m = M - 1
    for k in range(last, -1, -1):
        row = rows[k * (1 + N) :]
        y = row[1:]
        t, h = row[0], row[1 + N] - row[0]
        is_inside = is_in_step(k, m, at, t, direction)
        is_moved = k == 0 or k == last  # the length of the step, by the ends of the times
        for s in range(COUNT if is_inside else STAGES + 1):
            state_at(s, t, h, y, K, A, C, x[s * (1 + N) :])
            if f(x[s * (1 + N) :], p, q, K[s * N :], work):
                return True
        copy(N, y_bar, later_bar)
        fill(N, 0.0, y_bar)
        copy(N, K_bar, K_bar[STAGES * N :])
        for s in range(COUNT):
            if s != STAGES:
                fill(N, 0.0, K_bar[s * N :])
        t_bar, h_bar = 0.0, 0.0
        while is_in_step(k, m, at, t, direction):
            at_x = (at[m] - t) / h
            weights(at_x, mixture, w, slope)
            add(N, 1.0, found_bar[m * N :], y_bar)
            moved = 0.0
            for s in range(COUNT):
                add(N, h * w[s], found_bar[m * N :], K_bar[s * N :])
                along = dot(K[s * N :], found_bar[m * N :])
                moved += slope[s] * along
                h_bar += w[s] * along
            at_bar[m] += moved
            t_bar -= moved
            h_bar -= at_x * moved
            m -= 1
        for s in range((COUNT if is_inside else STAGES + 1) - 1, -1, -1):
            is_used = s > 0 or k == 0
            if s == STAGES and k == last and not is_inside:
                is_used = False
            if is_used:
                copy(N, K_bar[s * N :], z)
                copy(1 + N, x[s * (1 + N) :], z[N:])
                if pull_f(z, pull_p, pull_q, state_bar, work):
                    return True
                t_bar += state_bar[0]
                h_bar += C[s] * state_bar[0]
                add(OUTER, 1.0, state_bar[1 + N :], p_bar)
            else:
                fill(N, 0.0, state_bar[1:])
            if s == STAGES:
                add(N, 1.0, later_bar, state_bar[1:])
            if is_used or s == STAGES:
                add(N, 1.0, state_bar[1:], y_bar)
                for j in range(s):
                    if A[s * COUNT + j] != 0.0:
                        add(N, h * A[s * COUNT + j], state_bar[1:], K_bar[j * N :])
                        if is_moved:
                            h_bar += A[s * COUNT + j] * dot(K[j * N :], state_bar[1:])
        if k == 0:
            bar[0] += t_bar - h_bar
        if k == last:
            bar[1] += h_bar
    return False


def is_in_step(k: int, m: int, at: Any, t: float, direction: float) -> bool:
    """Return whether the time `at[m]` is behind the beginning t of step k; those before the first step are in it."""
    if m < 0:
        return False
    return k == 0 or direction * (at[m] - t) > 0.0


def push(
    size: float, p: Any, p_step: float, q: Any, push_p: Any, push_p_step: float, push_q: Any, begins: Any, counts: Any,
    rows: Any, times: float, at: Any, directions: float, dots: Any, A: Any, C: Any, mixture: Any, found: Any, work: Any,
) -> Any:  # fmt: skip
    """Write the tangents of the values, an array (size, directions, times, n), to `found`; return whether it failed.

    `dots` has a row for each problem and direction, the tangents of (t_span, at, y0); `push_p` a row with p and its
    tangent.
    """
    M, D = int(times), int(directions)
    for e in range(int(size)):
        if push_one(
            p[e * int(p_step) :], q, push_p[e * int(push_p_step) :], push_q, int(counts[e]) - 1,
            rows[int(begins[e]) * (1 + N) :], M, at[e * M :], D, dots[e * D * (2 + M + N) :], A, C, mixture,
            found[e * D * M * N :], work,
        ):  # fmt: skip
            return (1,)
    return (0,)


def push_one(
    p: Any, q: Any, push_p: Any, push_q: Any, last: int, rows: Any, M: int, at: Any, D: int, dots: Any, A: Any, C: Any,
    mixture: Any, found: Any, work: Any,
) -> bool:  # fmt: skip
    """Write the tangents of the values of a problem; return whether it failed."""
    K = work[WORK:]
    x = K[COUNT * N :]
    moved = x[COUNT * (1 + N) :]
    z = moved[N:]
    later = z[2 + 2 * N :]
    w = later[N:]
    slope = w[COUNT:]
    y_dots = slope[COUNT:]
    K_dots = y_dots[D * N :]
    for d in range(D):
        copy(N, dots[d * (2 + M + N) + 2 + M :], y_dots[d * N :])
    direction, m = 1.0 if rows[(last + 1) * (1 + N)] > rows[0] else -1.0, 0
    for k in range(last + 1):
        row = rows[k * (1 + N) :]
        y = row[1:]
        t, h, first = row[0], row[1 + N] - row[0], m
        while m < M:
            if direction * (at[m] - row[1 + N]) > 0.0:
                break
            m += 1
        for s in range(COUNT if m > first else STAGES + 1):
            state_at(s, t, h, y, K, A, C, x[s * (1 + N) :])
            if f(x[s * (1 + N) :], p, q, K[s * N :], work):
                return True
        for d in range(D):
            K_dot, y_dot, dot_row = K_dots[d * COUNT * N :], y_dots[d * N :], dots[d * (2 + M + N) :]
            t_dot = dot_row[0] if k == 0 else 0.0
            h_dot = (dot_row[1] if k == last else 0.0) - t_dot
            for s in range(COUNT if m > first else STAGES + 1):
                if s == 0 and k > 0:
                    copy(N, K_dot[STAGES * N :], K_dot)
                else:
                    fill(N, 0.0, moved)
                    for j in range(s):
                        if A[s * COUNT + j] != 0.0:
                            add(N, h * A[s * COUNT + j], K_dot[j * N :], moved)
                            add(N, h_dot * A[s * COUNT + j], K[j * N :], moved)
                    add(N, 1.0, y_dot, moved)
                    copy(1 + N, x[s * (1 + N) :], z)
                    z[1 + N] = t_dot + C[s] * h_dot
                    copy(N, moved, z[2 + N :])
                    if push_f(z, push_p[d * PARAMETERS :], push_q, K_dot[s * N :], work):
                        return True
                    if s == STAGES:
                        copy(N, moved, later)
            for e in range(first, m):
                at_x = (at[e] - t) / h
                weights(at_x, mixture, w, slope)
                x_dot, out = dot_row[2 + e] - t_dot - at_x * h_dot, found[(d * M + e) * N :]
                copy(N, y_dot, out)
                for s in range(COUNT):
                    add(N, h * w[s], K_dot[s * N :], out)
                    add(N, h_dot * w[s] + x_dot * slope[s], K[s * N :], out)
            copy(N, later, y_dot)
    return False


def replay(
    size: float, p: Any, p_step: float, q: Any, begins: Any, counts: Any, rows: Any, dots: Any, A: Any, C: Any,
    found: Any, work: Any,
) -> Any:  # fmt: skip
    """Write the steps of some problems with their tangents, as long as the steps in `rows`, to `found`.

    A state has the tangent behind it, at first that in `dots`, and so has what f computes. Return whether it failed.
    """
    n, begin = N // 2, 0
    K = work[WORK:]
    x = K[COUNT * N :]
    for e in range(int(size)):
        given = rows[int(begins[e]) * (1 + n) :]
        made = found[begin * (1 + N) :]
        copy(1 + n, given, made)
        copy(n, dots[e * n :], made[1 + n :])
        if f(made, p[e * int(p_step) :], q, K, work):
            return (1,)
        for k in range(int(counts[e])):
            y, t = made[k * (1 + N) + 1 :], given[k * (1 + n)]
            h = given[(k + 1) * (1 + n)] - t
            for s in range(1, STAGES + 1):
                state_at(s, t, h, y, K, A, C, x)
                if f(x, p[e * int(p_step) :], q, K[s * N :], work):
                    return (1,)
            made[(k + 1) * (1 + N)] = t + h
            copy(N, x[1:], made[(k + 1) * (1 + N) + 1 :])
            copy(N, K[STAGES * N :], K)
        begin += int(counts[e]) + 1
    return (0,)
