"""Initial value problems that are solved together by an implicit method of SciPy's: what Radau and BDF share.

Each has its own steps, Jacobians and Newton iterations, as SciPy chooses them for it: in each turn, all problems that
are not finished try one step. Matrices are stacked, and each Newton step solves all of its systems at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.extend import NotNativeError
from wengert_rules.scipy.integrate.lockstep import FEWEST, MOST, Problems, rows_at
from wengert_rules.scipy.integrate.recorded import as_reals

EPS = float(np.finfo(float).eps)
LEAST_FACTOR, LARGEST_FACTOR, SAFETY = 0.2, 10.0, 0.9
"""The constants of SciPy's step control."""
REJECTED, SMALL, BIG = EPS**0.875, EPS**0.75, EPS**0.25
"""The relative differences of slopes at which SciPy tries another length, and lets it grow or shrink."""

Taken = tuple[np.ndarray, ...]
"""The numbers of the problems that accept a step, times and states at its end, and what interpolates in it."""


class Interpolants(NamedTuple):
    """The steps of some problems, one after the other: rows of times, values, and what interpolates behind each.

    Each problem has a row more than steps; its rows begin at `begins`. `formula(parts, x)` takes the time and value at
    the start and the end of a step, the parts, and times in it.
    """

    times: np.ndarray
    values: np.ndarray
    parts: tuple[np.ndarray, ...]
    begins: np.ndarray
    formula: Callable[..., np.ndarray]

    def between(self, k: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Return the values at rows of times, each in the step that begins at row k."""
        parts = [part[k] for part in self.parts]
        return self.formula(self.times[k], self.times[k + 1], self.values[k], *parts, t)

    def at(self, at: np.ndarray) -> np.ndarray:
        """Return the values at times of each problem, a row of them for each."""
        k = rows_at(self.times, self.begins, at)
        return self.between(k.ravel(), at.reshape(-1, 1)).reshape(*at.shape, -1)

    def of(self, problem: int) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """Return the times of the steps of a problem, and the values at rows of times in the first of them."""
        begin, end = self.begins[problem : problem + 2].tolist()

        def between(times: np.ndarray) -> np.ndarray:
            return as_reals(self.between(np.arange(begin, begin + len(times)), times))

        return self.times[begin:end], between


class Turn(NamedTuple):
    """A step that some problems try: their numbers, times, states, signed lengths, and the times at its end."""

    rows: np.ndarray
    t: np.ndarray
    y: np.ndarray
    h: np.ndarray
    after: np.ndarray


class Integration:
    """The state of some problems that are solved together. Subclasses try and accept steps."""

    order: int
    """The order by which SciPy chooses the lengths of first steps."""

    def __init__(self, problems: Problems) -> None:
        self.problems, self.is_complex = problems, problems.in_pairs
        size, every = len(problems.y0), np.arange(len(problems.y0))
        self.direction = np.where(problems.end >= problems.start, 1.0, -1.0)
        as_given: Any = (lambda part: part.view(complex)) if self.is_complex else np.array
        self.t, self.y = problems.start.copy(), as_given(problems.y0.copy())
        self.atol, self.rtol = [part[:, :: 1 + self.is_complex] for part in (problems.atol, problems.rtol)]
        self.tolerance = np.maximum(10 * EPS / self.rtol[:, 0], np.minimum(0.03, powers(self.rtol[:, 0], 0.5)))
        self.slope, n = self.f(self.t, self.y, every), self.y.shape[1]
        slope = self.slope.view(float) if self.is_complex else self.slope
        self.h = problems.first_lengths(slope, self.direction, self.order)
        self.factors = np.full((size, n), EPS**0.5)
        self.J = np.zeros((size, n, n), self.y.dtype)
        self.is_new, self.is_current, self.has_matrix = np.ones(size, bool), np.ones(size, bool), np.zeros(size, bool)
        self.find_jacobians(every, self.t, self.y, self.slope)

    def f(self, t: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the slopes, of complex numbers too, at some points."""
        count = len(rows)
        some = places_for(count)
        y = np.ascontiguousarray(y[some])
        found = self.problems.f(t[some], y.view(float) if self.is_complex else y, rows[some])[:count]
        found = np.ascontiguousarray(found)  # other products of matrices have other last bits
        return found.view(complex) if self.is_complex else found

    def norms(self, x: np.ndarray) -> np.ndarray:
        """Return the root of the mean square of each row."""
        x = x.reshape(len(x), math.prod(x.shape[1:]))
        size, x = x.shape[1], np.ascontiguousarray(x).view(float)
        return np.sqrt(np.matmul(x[:, None], x[:, :, None]).ravel()) / size**0.5

    def find_jacobians(self, rows: np.ndarray, t: np.ndarray, y: np.ndarray, slope: np.ndarray) -> None:
        """Set the Jacobians of some problems by differences, of the lengths that SciPy chooses."""
        if not rows.size:
            return
        columns, sign = np.arange(y.shape[1]), np.where(slope.real >= 0, 1.0, -1.0)
        factors, units = self.factors[rows], sign * np.maximum(self.atol[rows], np.abs(y))
        while np.any(is_zero := (y + factors * units) - y == 0):
            factors = np.where(is_zero, 10 * factors, factors)
        h = (y + factors * units) - y

        def changes(k: np.ndarray, j: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            """Return the changes of the slopes of problems k by h in column j, the largest ones, and their scale."""
            moved = y[k]
            moved[np.arange(len(k)), j] += h
            after = self.f(t[k], moved, rows[k])
            change = after - slope[k]
            places = np.arange(len(k)), np.argmax(np.abs(change), axis=1)
            return change, np.abs(change[places]), np.maximum(np.abs(slope[k][places]), np.abs(after[places]))

        k, j = [part.ravel() for part in np.meshgrid(np.arange(len(rows)), columns, indexing="ij")]
        h, factors = h.ravel(), factors.ravel()
        change, largest, scale = changes(k, j, h)
        again = np.flatnonzero(largest < REJECTED * scale)
        if again.size:
            longer = 10 * factors[again]
            of_y = y[k[again], j[again]]
            lengths = (of_y + longer * units[k[again], j[again]]) - of_y
            found = changes(k[again], j[again], lengths)
            is_better = largest[again] * found[2] < found[1] * scale[again]
            better = again[is_better]
            factors[better], h[better] = longer[is_better], lengths[is_better]
            for part, of_again in zip((change, largest, scale), found, strict=True):
                part[better] = of_again[is_better]
        self.J[rows] = np.swapaxes((change / h[:, None]).reshape(len(rows), columns.size, -1), 1, 2)
        factors[largest < SMALL * scale] *= 10
        factors[largest > BIG * scale] *= 0.1
        self.factors[rows] = np.maximum(factors, 1e3 * EPS).reshape(len(rows), -1)

    def least(self, rows: np.ndarray) -> np.ndarray:
        """Return the lengths of the shortest steps."""
        t = self.t[rows]
        return 10 * np.abs(np.nextafter(t, self.direction[rows] * np.inf) - t)

    def turn(self, rows: np.ndarray) -> Turn:
        """Return the step that some problems try. Errors: NotNativeError if one is too short."""
        begins = rows[self.is_new[rows]]
        self.begin(begins, np.clip(self.h[begins], self.least(begins), self.problems.largest[begins]))
        if not np.all(self.h[rows] >= self.least(rows)):
            raise NotNativeError("the steps of one become too small")
        ahead, t, end = self.direction[rows], self.t[rows], self.problems.end[rows]
        after = t + self.h[rows] * ahead
        is_last = ahead * (after - end) > 0
        self.shorten(rows[is_last], np.abs(end - t)[is_last])
        after = np.where(is_last, end, after)
        self.h[rows] = np.abs(after - t)
        return Turn(rows, t, self.y[rows], after - t, after)

    def begin(self, rows: np.ndarray, lengths: np.ndarray) -> None:
        """Let some problems begin a step of these lengths."""
        raise NotImplementedError

    def shorten(self, rows: np.ndarray, lengths: np.ndarray) -> None:
        """Let some problems end where they have to."""

    def attempt(self, turn: Turn) -> Taken:
        """Try a step; return those that are accepted."""
        raise NotImplementedError

    def taken(self) -> Iterator[Taken]:
        """Yield the steps that are accepted in each turn."""
        rows = np.arange(len(self.t))
        while rows.size:
            yield self.attempt(self.turn(rows))
            rows = rows[self.direction[rows] * (self.t[rows] - self.problems.end[rows]) < 0]

    formula: Callable[..., np.ndarray]
    """The values at times in a step, for its ends, the value at its start, and what `attempt` returns besides."""


class Iteration:
    """Newton's iteration of some problems at once, which stops for each where SciPy's does."""

    def __init__(self, size: int, most: int, tolerance: np.ndarray) -> None:
        self.most, self.tolerance = most, tolerance
        self.rows, self.k = np.arange(size), 0
        self.has_converged, self.counts, self.rates = np.zeros(size, bool), np.zeros(size, int), np.full(size, np.nan)
        self._norms = np.full(size, np.nan)

    def begins(self) -> bool:
        """Whether there are problems for another iteration."""
        return self.rows.size > 0 and self.k < self.most

    def keep_finite(self, values: np.ndarray) -> np.ndarray:
        """Drop the problems whose values are not finite; return the values of the others."""
        self.counts[self.rows] += 1
        is_finite = np.isfinite(values.reshape(len(values), -1)).all(axis=1)
        self.rows = self.rows[is_finite]
        return values[is_finite]

    def stop(self, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Judge steps of some norms; return which are taken, and the problems that take them."""
        tolerance, rates = self.tolerance[self.rows], norms / self._norms[self.rows]
        self.rates[self.rows], self._norms[self.rows] = rates, norms
        diverges = (rates >= 1) | (rates ** (self.most - self.k) / (1 - rates) * norms > tolerance)
        is_done = (norms == 0) | (rates / (1 - rates) * norms < tolerance)
        taken = self.rows[~diverges]
        self.has_converged[taken] = is_done[~diverges]
        self.rows, self.k = self.rows[~diverges & ~is_done], self.k + 1
        return ~diverges, taken


def places_for(count: int) -> np.ndarray:
    """Return the places of so many points, the last of which is repeated, as code serves one number of points alone.

    They are a few numbers in all: powers of two.
    """
    return np.minimum(np.arange(max(FEWEST, 1 << (count - 1).bit_length())), count - 1)


def powers(x: np.ndarray, exponents: Any) -> np.ndarray:
    """Return powers of numbers, some of which may be zero, with the bits of SciPy's: NumPy's of arrays differ."""
    pairs = zip(x, np.broadcast_to(exponents, x.shape), strict=True)
    return np.array([number**exponent for number, exponent in pairs], float)


def divided(matrices: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the solutions of linear systems. Errors: NotNativeError if one is singular, of which SciPy warns."""
    try:
        return np.linalg.solve(matrices, b[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError as error:
        raise NotNativeError(str(error)) from None


def solved_together(kind: type[Integration], problems: Problems) -> Interpolants:
    """Return the steps of all problems. Errors: NotNativeError if one fails."""
    with np.errstate(all="ignore"):
        integration, made, numbers = kind(problems), list[Taken](), 0
        size = len(integration.t)
        at_starts = np.arange(size), integration.t.copy(), integration.y.copy()
        for taken in integration.taken():
            made.append(taken)
            numbers += sum([part.size for part in taken])
            if numbers > MOST:
                raise NotNativeError("its steps are too many for the memory")
    rows, ends, values, *parts = [np.concatenate(each) for each in zip(*made, strict=True)]
    rows, ends, values = [np.concatenate(pair) for pair in zip(at_starts, (rows, ends, values), strict=True)]
    order = np.argsort(rows, kind="stable")
    begins = np.searchsorted(rows[order], np.arange(size + 1))
    starts = np.delete(np.arange(len(order)), begins[1:] - 1)
    spread = []
    for part in parts:
        spread.append(np.zeros((len(order), *part.shape[1:]), part.dtype))
        spread[-1][starts] = part[order[starts + 1] - size]
    return Interpolants(ends[order], values[order], tuple(spread), begins, integration.formula)
