"""Kernels that solve an initial value problem by an explicit Runge-Kutta method of SciPy's.

They are compiled to machine code, together with the callbacks that they call: `f` computes the slope from x = (t, y).
It returns whether it failed. Matrices are flat, row after row. A, C, E and `mixture` are the coefficients of the method
as in `Tableau`. `work` is memory of zeros, whose first part the callbacks use. In `event_kernels`, f also writes the
values of events behind the slope.
"""

from __future__ import annotations

from math import inf, nextafter, pow, sqrt
from typing import Any

N = COUNT = STAGES = ESTIMATES = ESTIMATED = MIXED = OUTER = PARAMETERS = WORK = EVENTS = 0
TURNS = IN_PAIRS = IS_SHORT = False
"""The sizes, which the compiler sets: of y, of all stages and of those of a step; the rows and columns of E, and the
rows of `mixture`; the parameters of f that `pull_f` differentiates, and all of `push_f`; the memory that the callbacks
use; the number of events. TURNS tells whether the weights are those of DOP853, IN_PAIRS whether y holds the parts of
complex numbers, in pairs, and IS_SHORT whether the steps end behind the last time asked for."""

SAFETY, LEAST_FACTOR, LARGEST_FACTOR = 0.9, 0.2, 10.0
"""The constants of SciPy's step control."""

f: Any = None


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


def number_of_states() -> float:
    """Return the number of states: of real numbers, or of complex ones."""
    return 0.5 * N if IN_PAIRS else 1.0 * N


def magnitude(i: int, y: Any) -> float:
    """Return the absolute value of the state of which y[i] is a part."""
    if IN_PAIRS:
        k = i - i % 2
        return float(sqrt(y[k] * y[k] + y[k + 1] * y[k + 1]))
    return float(abs(y[i]))


def set_scale(y: Any, other: Any, rtol: Any, atol: Any, scale: Any) -> None:
    """Write the allowed error of each state."""
    for i in range(N):
        scale[i] = atol[i] + max(magnitude(i, y), magnitude(i, other)) * rtol[i]


def norm(x: Any, other: Any, scale: Any) -> float:
    """Return the root of the mean square of (x - other) / scale."""
    total = 0.0
    for i in range(N):
        e = (x[i] - other[i]) / scale[i]
        total += e * e
    return float(sqrt(total / number_of_states()))


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
        return float(abs(h) * sqrt(first / number_of_states()))
    if first == 0.0 and other == 0.0:
        return 0.0
    return float(abs(h) * first / sqrt((first + 0.01 * other) * number_of_states()))


def initial_step(
    p: Any, q: Any, work: Any, start: float, y: Any, end: float, largest: float, slope: Any, order: float, rtol: Any,
    atol: Any, x: Any, scale: Any, later: Any, zeros: Any,
) -> float:  # fmt: skip
    """Return the length of the first step as SciPy chooses it; -1 if f fails."""
    length = abs(end - start)
    direction = 1.0 if end > start else -1.0
    set_scale(y, y, rtol, atol, scale)
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
    while direction * (t - end) < 0.0 and not (IS_SHORT and m == M):
        y = rows[steps * (1 + N) + 1 :]
        failed, asked, next_t, length = take_step(
            p, q, work, t, y, end, length, limits[1], rtol, atol, A, C, E, order, K, x, scale
        )
        evaluations += int(asked)
        if failed != 0:
            return failed, evaluations, steps
        h = next_t - t
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


def take_step(
    p: Any, q: Any, work: Any, t: float, y: Any, end: float, length: float, largest: float, rtol: Any, atol: Any,
    A: Any, C: Any, E: Any, order: float, K: Any, x: Any, scale: Any,
) -> Any:  # fmt: skip
    """Try steps from (t, y) until one is accurate enough; write its slopes to K, whose first is known, its end to x.

    Return whether it failed, as `solve` does, the evaluations of f, the time at the end, and the length of the next.
    """
    direction = 1.0 if end > t else -1.0
    least = 10.0 * abs(nextafter(t, direction * inf) - t)
    length = min(max(length, least), largest)
    was_rejected, is_taken, evaluations, next_t = False, False, 0, t
    while not is_taken:
        if not length >= least:
            return 2, evaluations, t, length
        next_t = t + length * direction
        if direction * (next_t - end) > 0.0:
            next_t = end
        h = next_t - t
        length = abs(h)
        for s in range(1, STAGES + 1):
            state_at(s, t, h, y, K, A, C, x)
            evaluations += 1
            if f(x, p, q, K[s * N :], work):
                return 1, evaluations, t, length
        set_scale(y, x[1:], rtol, atol, scale)
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
    return 0, evaluations, next_t, length
