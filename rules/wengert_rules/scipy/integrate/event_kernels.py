"""A kernel that finds the events of an initial value problem, as `solve_ivp` does with `events=`.

The callback `f` writes the slope and, behind it, the values of all events. Source: SciPy's `handle_events`, `brentq`.
"""

from __future__ import annotations

from typing import Any

from wengert_rules.scipy.integrate.step_kernels import (
    COUNT,
    EVENTS,
    STAGES,
    WORK,
    N,
    add,
    copy,
    fill,
    initial_step,
    is_refused,
    state_at,
    take_step,
    weights,
)

ACCURACY = 4.0 * 2.220446049250313e-16
"""The tolerance of the times of events."""

f: Any = None


def locate(
    p: Any, q: Any, row: Any, times: float, limits: Any, A: Any, C: Any, E: Any, mixture: Any, order: float,
    room: float, hits: Any, x: Any, work: Any,
) -> Any:  # fmt: skip
    """Write a row (event, time, ∂y/∂t) for each event that happens to `hits`.

    `row` is that of a problem of `solve`; `limits` holds how often each event may happen, and in which direction.
    Return whether it failed, as `solve` does, how many happened, whether one ended the solution, and the time of the
    end.
    """
    start, end, lengths, y0, rtol, atol = row[0], row[1], row[2:], row[4:], row[4 + N :], row[4 + 2 * N :]
    K = work[WORK:]
    scale = K[COUNT * N + EVENTS :]
    w = scale[N:]
    slope = w[COUNT:]
    y = slope[COUNT:]
    before = y[N:]
    found = before[EVENTS:]
    zeros = found[EVENTS:]
    later = zeros[N:]
    count, t, direction = 0, start, 1.0 if end > start else -1.0
    x[0] = start
    copy(N, y0, x[1:])
    copy(N, y0, y)
    if is_refused(row, int(times), row[4 + 3 * N :], rtol, atol, lengths):
        return 3, count, 0, t
    if f(x, p, q, K, work):
        return 1, count, 0, t
    copy(EVENTS, K[N:], before)
    length = lengths[0]
    if length != length:
        length = initial_step(p, q, work, start, y0, end, lengths[1], K, order, rtol, atol, x, scale, later, zeros)
        if length < 0.0:
            return 1, count, 0, t
    while direction * (t - end) < 0.0:
        failed, _, next_t, length = take_step(
            p, q, work, t, y, end, length, lengths[1], rtol, atol, A, C, E, order, K, x, scale
        )
        if failed != 0:
            return failed, count, 0, t
        copy(N, x[1:], later)
        copy(EVENTS, K[(STAGES + 1) * N :], later[N:])
        if any_happens(before, later[N:], limits):
            h = next_t - t
            for s in range(STAGES + 1, COUNT):
                state_at(s, t, h, y, K, A, C, x)
                if f(x, p, q, K[s * N :], work):
                    return 1, count, 0, t
            if count + EVENTS > int(room):
                return 4, count, 0, t
            first = count
            for e in range(EVENTS):
                if happens(e, before, later[N:], limits):
                    found[e] += 1.0
                    failed, root = time_of(e, p, q, work, t, next_t, y, K, mixture, x, w, slope, later[N + EVENTS :])
                    if failed != 0:
                        return failed, count, 0, t
                    hits[count * (2 + N)], hits[count * (2 + N) + 1] = float(e), root
                    count += 1
            kept = first_terminal(first, count, hits, found, limits, direction)
            for k in range(first, count):
                fill(N, 0.0, hits[k * (2 + N) + 2 :])
                weights((hits[k * (2 + N) + 1] - t) / h, mixture, w, slope)
                for s in range(COUNT):
                    add(N, slope[s], K[s * N :], hits[k * (2 + N) + 2 :])
            if kept > 0:
                return 0, kept, 1, hits[(kept - 1) * (2 + N) + 1]
        copy(N, later, y)
        copy(EVENTS, later[N:], before)
        copy(N, K[STAGES * N :], K)
        t = next_t
    return 0, count, 0, t


def happens(e: int, before: Any, after: Any, limits: Any) -> bool:
    """Return whether event e changes its sign in its direction."""
    direction = limits[EVENTS + e]
    up = before[e] <= 0.0 and after[e] >= 0.0
    down = before[e] >= 0.0 and after[e] <= 0.0
    return (up and direction >= 0.0) or (down and direction <= 0.0)


def any_happens(before: Any, after: Any, limits: Any) -> bool:
    """Return whether any event changes its sign in its direction."""
    for e in range(EVENTS):  # noqa: SIM110  as native code can do it
        if happens(e, before, after, limits):
            return True
    return False


def first_terminal(first: int, count: int, hits: Any, found: Any, limits: Any, direction: float) -> int:
    """Sort the events of a step by time if one of them ends the solution; return how many happen until then, or 0."""
    is_terminal = False
    for k in range(first, count):
        e = int(hits[k * (2 + N)])
        if found[e] >= limits[e]:
            is_terminal = True
    if not is_terminal:
        return 0
    for k in range(first + 1, count):
        event, t, j = hits[k * (2 + N)], hits[k * (2 + N) + 1], k
        while j > first and direction * (hits[(j - 1) * (2 + N) + 1] - t) > 0.0:
            copy(2, hits[(j - 1) * (2 + N) :], hits[j * (2 + N) :])
            j -= 1
        hits[j * (2 + N)], hits[j * (2 + N) + 1] = event, t
    for k in range(first, count):
        e = int(hits[k * (2 + N)])
        if found[e] >= limits[e]:
            return k + 1
    return 0


def value_at(
    e: int, t: float, p: Any, q: Any, work: Any, begin: float, end: float, y: Any, K: Any, mixture: Any, x: Any, w: Any,
    slope: Any, out: Any,
) -> Any:  # fmt: skip
    """Return whether f failed, and the value of event e at a time t in the step."""
    h = end - begin
    weights((t - begin) / h, mixture, w, slope)
    x[0] = t
    copy(N, y, x[1:])
    for s in range(COUNT):
        add(N, h * w[s], K[s * N :], x[1:])
    if f(x, p, q, out, work):
        return 1, 0.0
    return 0, out[N + e]


def time_of(
    e: int, p: Any, q: Any, work: Any, begin: float, end: float, y: Any, K: Any, mixture: Any, x: Any, w: Any,
    slope: Any, out: Any,
) -> Any:  # fmt: skip
    """Return whether it failed, and the time in the step at which event e is zero, by Brent's method."""
    last, t, other, step, before = begin, end, 0.0, 0.0, 0.0
    failed, of_last = value_at(e, last, p, q, work, begin, end, y, K, mixture, x, w, slope, out)
    if failed != 0:
        return 1, t
    failed, of_t = value_at(e, t, p, q, work, begin, end, y, K, mixture, x, w, slope, out)
    if failed != 0:
        return 1, t
    of_other = 0.0
    if of_last == 0.0:
        return 0, last
    if of_t == 0.0:
        return 0, t
    if (of_last < 0.0) == (of_t < 0.0):
        return 3, t
    for _ in range(100):
        if of_last != 0.0 and of_t != 0.0 and (of_last < 0.0) != (of_t < 0.0):
            other, of_other, before, step = last, of_last, t - last, t - last
        if abs(of_other) < abs(of_t):
            last, t, other = t, other, t
            of_last, of_t, of_other = of_t, of_other, of_t
        least, half = 0.5 * (ACCURACY + ACCURACY * abs(t)), 0.5 * (other - t)
        if of_t == 0.0 or abs(half) < least:
            return 0, t
        trial, is_tried = half, False
        if abs(before) > least and abs(of_t) < abs(of_last):
            if last == other:
                trial = -of_t * (t - last) / (of_t - of_last)
            else:
                a, b = (of_last - of_t) / (last - t), (of_other - of_t) / (other - t)
                trial = -of_t * (of_other * b - of_last * a) / (b * a * (of_other - of_last))
            is_tried = 2.0 * abs(trial) < min(abs(before), 3.0 * abs(half) - least)
        if is_tried:
            before, step = step, trial
        else:
            before, step = half, half
        last, of_last = t, of_t
        if abs(step) > least:
            t += step
        else:
            t += least if half > 0.0 else -least
        failed, of_t = value_at(e, t, p, q, work, begin, end, y, K, mixture, x, w, slope, out)
        if failed != 0:
            return 1, t
    return 3, t
