"""Initial value problems that are solved together by an explicit Runge-Kutta method of SciPy's.

Each has its own steps, of the lengths that SciPy chooses for it: in each turn, all problems try one step. Products of
matrices are stacked, so that each is the product that SciPy computes, with its bits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import DOP853

from wengert.extend import NotNativeError
from wengert_rules.scipy.integrate.recorded import TABLEAUX, Steps, Tableau

SAFETY, LEAST_FACTOR, LARGEST_FACTOR = 0.9, 0.2, 10.0
"""The constants of SciPy's step control."""
FEWEST = 16
"""The fewest problems that are computed together, also where some of them are finished."""
MOST = 1 << 27
"""The most numbers in the slopes of all steps."""

Slopes = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""The right-hand side: a function of times, states and the numbers of the problems, with a row for each."""


class Trajectories(NamedTuple):
    """The steps of some problems, one after the other: rows of times, values and slopes.

    Each problem has a row more than steps, whose slopes are zeros; its rows begin at `begins`. `computed` tells which
    slopes SciPy would compute.
    """

    tableau: Tableau
    times: np.ndarray
    values: np.ndarray
    slopes: np.ndarray
    computed: np.ndarray
    begins: np.ndarray

    @staticmethod
    def of(steps: Steps) -> Trajectories:
        """Return the Trajectories of one problem."""
        computed = np.zeros(steps.along[:, :-1, 0].shape, bool)
        computed[steps.computed] = True
        begins = np.array([0, len(steps.times)])
        return Trajectories(steps.tableau, steps.times, steps.along[:, -1], steps.along[:, :-1], computed, begins)

    def steps_at(self, at: np.ndarray) -> np.ndarray:
        """Return the row of the step in which each time lies, for rows of times: that of each problem."""
        return rows_at(self.times, self.begins, at)


def rows_at(times: np.ndarray, begins: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the row of the step in which each time lies, for rows of times of problems whose steps have these rows."""
    found = np.empty(at.shape, int)
    for k, (begin, end) in enumerate(itertools.pairwise(begins)):
        of_steps = times[begin:end]
        forward = 1.0 if of_steps[-1] >= of_steps[0] else -1.0
        inside = np.searchsorted(forward * of_steps, forward * at[k], side="left") - 1
        found[k] = begin + np.clip(inside, 0, end - begin - 2)
    return found


class Problems(NamedTuple):
    """A method, a right-hand side, and the arguments of each problem, with a row for each; `first` may be nan.

    If `in_pairs`, states are complex numbers in pairs.
    """

    method: Any
    f: Slopes
    start: np.ndarray
    end: np.ndarray
    y0: np.ndarray
    rtol: np.ndarray
    atol: np.ndarray
    first: np.ndarray
    largest: np.ndarray
    in_pairs: bool

    def is_refused(self, at: np.ndarray) -> bool:
        """Whether SciPy raises an error for some arguments, or warns."""
        forward = np.where(self.end > self.start, 1.0, -1.0)[:, None]
        inside = forward * (at - self.start[:, None]) >= 0.0, forward * (self.end[:, None] - at) >= 0.0
        with_steps = np.isnan(self.first) | ((self.first > 0.0) & (self.first <= np.abs(self.end - self.start)))
        allowed = self.rtol >= 100 * np.finfo(float).eps, self.atol >= 0.0, np.isfinite(self.y0), with_steps
        ordered = forward * np.diff(at, axis=1) > 0.0, self.end != self.start, self.largest > 0.0
        return not all([np.all(each) for each in (*inside, *allowed, *ordered)])

    def first_lengths(self, slope: np.ndarray, direction: np.ndarray, order: int) -> np.ndarray:
        """Return the lengths of the first steps, as SciPy chooses them for an order of the error."""
        if not np.isnan(self.first).any():
            return self.first
        rows, whole = np.arange(len(self.y0)), np.abs(self.end - self.start)
        scale = self.atol + self.magnitudes(self.y0) * self.rtol
        d0, d1 = self.norms(self.y0 / scale), self.norms(slope / scale)
        with np.errstate(all="ignore"):
            h0 = np.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1)
        h0 = np.minimum(h0, whole)
        later = self.f(self.start + h0 * direction, self.y0 + (h0 * direction)[:, None] * slope, rows)
        d2 = self.norms((later - slope) / scale) / h0
        exponent = 1 / (order + 1)
        h1 = np.array([max(1e-6, h * 1e-3) if a <= 1e-15 and b <= 1e-15 else (0.01 / max(a, b)) ** exponent
                       for h, a, b in zip(h0.tolist(), d1.tolist(), d2.tolist(), strict=True)])  # fmt: skip
        lengths = np.minimum(np.minimum(100 * h0, h1), np.minimum(whole, self.largest))
        return np.where(np.isnan(self.first), lengths, self.first)

    def stages(self, t: np.ndarray, y: np.ndarray, slope: np.ndarray, h: np.ndarray, rows: np.ndarray) -> Any:
        """Return the slopes at all stages of a step of some problems, and the states at its end."""
        method, of_step = self.method, h[:, None]
        K = np.empty((len(rows), method.n_stages + 1, y.shape[1]))
        K[:, 0] = slope
        for s in range(1, method.n_stages):
            K[:, s] = self.f(t + method.C[s] * h, y + times(K[:, :s], method.A[s, :s]) * of_step, rows)
        after = y + of_step * times(K[:, :-1], method.B)
        K[:, -1] = self.f(t + h, after, rows)
        return K, after

    def error_norms(self, K: np.ndarray, h: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Return SciPy's norms of the estimated errors."""
        if self.method is not DOP853:
            return self.norms(times(K, self.method.E) * h[:, None] / scale)
        fifth, third = [squares(times(K, E) / scale) for E in (self.method.E5, self.method.E3)]
        is_exact = (fifth == 0) & (third == 0)
        denominator = np.where(is_exact, 1.0, fifth + 0.01 * third)
        return np.abs(h) * fifth / np.sqrt(denominator * self.size)

    @property
    def size(self) -> int:
        """The number of states."""
        return self.y0.shape[1] // (1 + self.in_pairs)

    def magnitudes(self, y: np.ndarray) -> np.ndarray:
        """Return the absolute values of states."""
        return np.repeat(np.abs(y.view(complex)), 2, axis=1) if self.in_pairs else np.abs(y)

    def norms(self, x: np.ndarray) -> np.ndarray:
        """Return the root of the mean square of each row."""
        return np.sqrt(np.matmul(x[:, None], x[:, :, None]).ravel()) / self.size**0.5


def times(K: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the sums of the slopes of each step with some weights, or with columns of these."""
    return np.matmul(np.swapaxes(K, 1, 2), weights)


def squares(x: np.ndarray) -> np.ndarray:
    """Return the square of the length of each row."""
    length = np.sqrt(np.matmul(x[:, None], x[:, :, None]).ravel())
    return length * length


def solved_together(problems: Problems) -> Trajectories:
    """Return the steps of all problems. Errors: NotNativeError if one fails."""
    taken = [[np.arange(len(problems.y0))], [problems.start], [problems.y0], list[np.ndarray]()]
    with np.errstate(all="ignore"):
        slope = problems.f(problems.start, problems.y0, taken[0][0])
        for made in taken_steps(problems, slope):
            for parts, part in zip(taken, made, strict=True):
                parts.append(part)
            if len(taken[3]) * taken[3][0].size > MOST:
                raise NotNativeError("its steps are too many for the memory")
    return joined(problems, *[np.concatenate(parts) for parts in taken])


def taken_steps(problems: Problems, slope: np.ndarray) -> Any:
    """Yield the steps that are accepted in each turn: the number of the problem, time and state at the end, slopes."""
    exponent = -1 / (problems.method.error_estimator_order + 1)
    direction = np.where(problems.end >= problems.start, 1.0, -1.0)
    rows, t, y, is_retry = np.arange(len(slope)), problems.start, problems.y0, np.zeros(len(slope), bool)
    length, is_running = (
        problems.first_lengths(slope, direction, problems.method.error_estimator_order),
        np.ones(len(slope), bool),
    )
    while is_running.any():
        if 2 * np.count_nonzero(is_running) <= len(rows) and len(rows) > FEWEST:
            some = np.argsort(~is_running, kind="stable")[: max(-(-len(rows) // 2), FEWEST)]
            rows, t, y, slope, is_retry = rows[some], t[some], y[some], slope[some], is_retry[some]
            length, is_running = length[some], is_running[some]
        ahead, end = direction[rows], problems.end[rows]
        least = 10 * np.abs(np.nextafter(t, ahead * np.inf) - t)
        length = np.where(is_retry, length, np.clip(length, least, problems.largest[rows]))
        if not np.all((length >= least) | ~is_running):
            raise NotNativeError("the steps of one become too small")
        following = t + length * ahead
        following = np.where(is_running, np.where(ahead * (following - end) > 0, end, following), t)
        h = following - t
        length = np.abs(h)
        K, after = problems.stages(t, y, slope, h, rows)
        sizes = np.maximum(problems.magnitudes(y), problems.magnitudes(after))
        scale = problems.atol[rows] + sizes * problems.rtol[rows]
        error = problems.error_norms(K, h, scale)
        is_taken = (error < 1) & is_running
        length = length * factors(error, exponent, is_retry)
        is_retry = ~is_taken
        yield rows[is_taken], following[is_taken], after[is_taken], K[is_taken]
        t, y = np.where(is_taken, following, t), np.where(is_taken[:, None], after, y)
        slope = np.where(is_taken[:, None], K[:, -1], slope)
        is_running = is_running & (ahead * (t - end) < 0)


def factors(errors: np.ndarray, exponent: float, is_retry: np.ndarray) -> np.ndarray:
    """Return how the length of each step changes."""
    made = []
    for error, retried in zip(errors.tolist(), is_retry.tolist(), strict=True):  # as NumPy's powers of arrays differ
        if error < 1:
            factor = LARGEST_FACTOR if error == 0 else min(LARGEST_FACTOR, SAFETY * error**exponent)
            made.append(min(1, factor) if retried else factor)
        else:
            made.append(max(LEAST_FACTOR, SAFETY * error**exponent))
    return np.array(made)


def joined(
    problems: Problems, numbers: np.ndarray, ends: np.ndarray, values: np.ndarray, K: np.ndarray
) -> Trajectories:
    """Return the Trajectories by a row for each start, and behind these one for each step."""
    size, order = len(problems.y0), np.argsort(numbers, kind="stable")
    tableau, numbers = TABLEAUX[problems.method], numbers[order]
    begins = np.searchsorted(numbers, np.arange(size + 1))
    starts = np.delete(np.arange(len(order)), begins[1:] - 1)  # all rows but the last of each problem
    slopes = np.zeros((len(order), tableau.C.size, values.shape[1]))
    slopes[starts, : K.shape[1]] = K[order[starts + 1] - size]
    computed = np.zeros(slopes.shape[:2], bool)
    computed[starts, : tableau.stages] = True
    return Trajectories(tableau, ends[order], values[order], slopes, computed, begins)


def values_at(problems: Problems, found: Trajectories, at: np.ndarray) -> np.ndarray:
    """Return the values at some times of each problem, as SciPy interpolates; mark the slopes that this takes."""
    k = found.steps_at(at)
    steps, inverse, counts = np.unique(k, return_inverse=True, return_counts=True)
    if problems.method is DOP853:
        add_extra_stages(problems, found, steps)
    found.computed[steps] = True
    x = (at - found.times[k]) / (found.times[k + 1] - found.times[k])
    values, of_times = np.empty((*at.shape, found.values.shape[1])), counts[inverse].reshape(at.shape)
    interpolate = by_turns if problems.method is DOP853 else by_powers
    for count in np.unique(counts).tolist():  # all times in a step are interpolated at once
        some, places = steps[counts == count], of_times == count
        made = interpolate(problems.method, found, some, x[places].reshape(len(some), count))
        values[places] = (made + found.values[some][:, None]).reshape(-1, values.shape[-1])
    return values


def add_extra_stages(problems: Problems, found: Trajectories, steps: np.ndarray) -> None:
    """Add the slopes at the stages with which DOP853 interpolates in some steps."""
    t, y, h = found.times[steps], found.values[steps], found.times[steps + 1] - found.times[steps]
    K, s = found.slopes[steps], DOP853.n_stages + 1
    rows = np.searchsorted(found.begins, steps, side="right") - 1
    for a, c in zip(DOP853.A_EXTRA, DOP853.C_EXTRA, strict=True):
        K[:, s] = problems.f(t + c * h, y + times(K[:, :s], a[:s]) * h[:, None], rows)
        s += 1
    found.slopes[steps] = K


def by_powers(method: Any, found: Trajectories, steps: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the changes of y at the shares x of some steps, by RK23 or RK45."""
    h, Q = found.times[steps + 1] - found.times[steps], times(found.slopes[steps], method.P)
    powers = np.cumprod(np.repeat(x[:, None], Q.shape[2], axis=1), axis=1)
    return np.swapaxes(h[:, None, None] * np.matmul(Q, powers), 1, 2)


def by_turns(method: Any, found: Trajectories, steps: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the changes of y at the shares x of some steps, by DOP853."""
    K, h, moved = found.slopes[steps], found.times[steps + 1] - found.times[steps], np.diff(found.values, axis=0)[steps]
    of_step, first, last = h[:, None], K[:, 0], K[:, DOP853.n_stages]
    parts = [moved, of_step * first - moved, 2 * moved - of_step * (last + first)]
    further, y, x = of_step[:, None] * np.matmul(method.D, K), np.zeros((*x.shape, K.shape[2])), x[:, :, None]
    for i, part in enumerate([*np.swapaxes(further, 0, 1)[::-1], *parts[::-1]]):
        y += part[:, None]
        y *= x if i % 2 == 0 else 1 - x
    return y
