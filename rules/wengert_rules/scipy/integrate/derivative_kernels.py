"""Kernels that differentiate the solutions of `step_kernels` along their steps.

Besides `f` they call its derivatives: `pull_f` from x = (slope_bar, t, y) to (t_bar, y_bar, p_bar), and `push_f` from
x = (t, y, t_dot, y_dot) to slope_dot. The lengths of the steps are constants, as in the derivatives along the steps.
"""

from __future__ import annotations

from typing import Any

from wengert_rules.scipy.integrate.step_kernels import (
    COUNT,
    OUTER,
    PARAMETERS,
    STAGES,
    WORK,
    N,
    add,
    copy,
    fill,
    state_at,
    weights,
)

f: Any = None
pull_f: Any = None
push_f: Any = None


def dot(x: Any, y: Any) -> float:
    """Return the product of two states."""
    total = 0.0
    for i in range(N):
        total += x[i] * y[i]
    return total


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
