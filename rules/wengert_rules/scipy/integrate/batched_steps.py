"""Initial value problems under `vmap`: all examples are solved together, and differentiated along their steps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from wengert.extend import NoDerivativeError, NotNativeError, Sealed
from wengert_rules.scipy.integrate.linear_steps import LinearSteps
from wengert_rules.scipy.integrate.lockstep import Problems, Trajectories, solved_together, values_at
from wengert_rules.scipy.integrate.native_steps import KEPT, OPTIONS, Axes, Solution, content, in_rows, size_of
from wengert_rules.scipy.integrate.paths import LinearValues
from wengert_rules.scipy.integrate.recorded import NEAR, Steps

MOST = 1 << 22
"""About the most numbers in the Jacobians and parameters of the stages that are computed at once."""


class SolvedExamples:
    """Some problems that are solved: their values at some times, the steps, and the outer values of each."""

    def __init__(
        self, f: Any, values: np.ndarray, found: Trajectories, at: np.ndarray, outer: Sequence[np.ndarray]
    ) -> None:
        self.f, self.values, self.found, self.at, self.outer, self.k = f, values, found, at, outer, found.steps_at(at)
        self.size = found.slopes.size

    def pull(self, y_bar: np.ndarray) -> np.ndarray:
        """Return what `LinearExamples` do for these rows, in parts that fit into memory."""
        return np.concatenate([linear.pull(y_bar[rows]) for linear, rows in self._parts(1)])

    def push(self, dots: np.ndarray) -> np.ndarray:
        """Return what `LinearExamples` do for these rows, in parts that fit into memory."""
        return np.concatenate([linear.push(dots[rows]) for linear, rows in self._parts(dots.shape[1])])

    def _parts(self, directions: int) -> Iterator[tuple[LinearExamples, slice]]:
        """Yield parts of the problems, each with its rows; those of the only problem are all."""
        size, n = len(self.values), self.values.shape[2]
        if size == 1:
            yield LinearExamples(self.f, self), slice(None)
            return
        numbers = self.found.computed[0].size * (n * n + directions * (n + self.f.outer_size))
        for first, last in chunks(np.diff(self.found.begins) * numbers):
            yield LinearExamples(self.f, self._some(first, last)), slice(first, last)

    def _some(self, first: int, last: int) -> SolvedExamples:
        """Return those with some numbers."""
        begins = self.found.begins[first : last + 1]
        rows = slice(begins[0], begins[-1])
        tableau, times, values, slopes, computed, _ = self.found
        found = Trajectories(tableau, times[rows], values[rows], slopes[rows], computed[rows], begins - begins[0])
        outer = [part if len(part) == 1 else part[first:last] for part in self.outer]
        return SolvedExamples(self.f, self.values[first:last], found, self.at[first:last], outer)


class LinearExamples:
    """The linear equations of first derivatives along the steps of some problems."""

    def __init__(self, f: Any, solved: SolvedExamples) -> None:
        found, (self.size, self.times, n) = solved.found, solved.values.shape
        tableau, self.begins, self.f = found.tableau, found.begins[:-1], f
        steps = Steps(tableau, found.times, found.values, found.slopes[:-1], found.computed[:-1])
        self.points, _ = steps.stages_and_ends(steps.times, steps.along)
        of_points = np.searchsorted(found.begins, steps.computed[0], side="right") - 1
        self.first_points = np.searchsorted(of_points, np.arange(self.size))
        self.outer = [part if len(part) == 1 else part[of_points] for part in solved.outer]
        self.of_points, self.count = of_points, len(of_points)
        J = np.zeros((*steps.along[:-1, :-1].shape, n))
        J[steps.computed] = f.jacobians(*self.points, *self.outer)
        breaks = found.begins[1:-1] - 1
        linear = LinearSteps(tableau.A, tableau.B, np.diff(steps.times), J, steps.known, breaks)
        k = solved.k.ravel()
        h, small = np.diff(steps.times)[k], 1e-30j
        shares = (solved.at.ravel() - steps.times[k]) / h
        of_slopes = tableau.basis(shares + small) @ tableau.mixture
        weights = np.concatenate([h[:, None] * of_slopes.real, np.ones((k.size, 1))], axis=1)
        self.values = LinearValues.of(linear, steps.along, k, weights)
        self.at_starts = steps.along[self.begins, 0]
        at_times = np.einsum("es,esn->en", of_slopes.imag / small.imag, found.slopes[k])
        self.at_times = at_times.reshape(solved.values.shape)

    def pull(self, y_bar: np.ndarray) -> np.ndarray:
        """Return the cotangents of (t_span, times, y0, outer), a row for each y_bar.

        These are those of each problem, or of the only one.
        """
        is_one = self.size == 1 < len(y_bar)
        in_front = (len(y_bar),) if is_one else ()
        bars = self.values.residuals(y_bar.reshape(*in_front, -1, y_bar.shape[-1]))
        of_stages, of_rows = bars[..., : self.count, :], bars[..., self.count :, :]
        y0_bar = of_rows[..., self.begins, :].reshape(len(y_bar), -1)
        of_times = np.sum(self.at_times * y_bar, axis=2)
        of_start = -np.sum(self.at_starts * y0_bar, axis=1)
        outer = [self._outer_bar(part) for part in (of_stages if is_one else [of_stages])]
        return np.column_stack([of_start, np.zeros(len(y_bar)), of_times, y0_bar, np.concatenate(outer)])

    def _outer_bar(self, bars: np.ndarray) -> np.ndarray:
        """Return the cotangents of the outer values of each problem, for those of the slopes at all stages."""
        found = self.f.pulled(bars, *self.points, *self.outer)
        return np.add.reduceat(found, self.first_points, axis=0) if found.shape[1] else found[: self.size]

    def push(self, dots: np.ndarray) -> np.ndarray:
        """Return the tangents of the values, (rows, directions, times, n), for those of (t_span, times, y0, outer).

        The rows are those of each problem, or of the only one.
        """
        rows, directions, _ = dots.shape
        if self.size == 1 < rows:
            found = self.push(dots.reshape(1, rows * directions, -1))
            return found.reshape(rows, directions, *found.shape[2:])
        n, M = self.at_starts.shape[1], self.times
        of_span, of_times, of_y0, of_outer = np.split(dots, [2, 2 + M, 2 + M + n], axis=2)
        residuals = np.zeros((directions, self.values.steps.known[0].size, n))
        pushed = self.f.pushed(of_outer[self.of_points], *self.points, *self.outer)
        residuals[:, : self.count] = np.swapaxes(pushed, 0, 1)
        starts = of_y0 - of_span[:, :, :1] * self.at_starts[:, None]
        residuals[:, self.count + self.begins] = np.swapaxes(starts, 0, 1)
        found = self.values.changes(residuals).reshape(directions, rows, M, n)
        return np.swapaxes(found, 0, 1) + of_times[:, :, :, None] * self.at_times[:, None]


class BatchProblem(Sealed):
    """The right-hand side and method of initial value problems, with the methods of a `native_steps.Problem`."""

    def __init__(self, f: Any, method: Any, equations: int, in_pairs: bool) -> None:
        self.f, self.method, self.equations, self.in_pairs = f, method, equations, in_pairs
        self.kept = OrderedDict[Any, Any]()
        self.evaluations = {"nfev": 0, "njev": 0, "nlu": 0}
        self.first: Any = None  # the values and steps of the first example

    def keep(self, args: Sequence[Any], axes: Axes, solved: Any) -> None:
        """Keep the solution for the arguments of `solved`."""
        self.kept[content(args), axes] = solved
        with suppress(KeyError):  # another thread may have dropped them
            while len(self.kept) > 2 + KEPT // solved.size:
                self.kept.popitem(last=False)

    def solution(self, args: Sequence[Any], axes: Axes) -> Any:
        """Return the solution for the arguments of `solved`. Errors: NotNativeError."""
        axes = axes if axes and any(axes) else None
        found = self.kept.get((content(args), axes))
        if found is None:
            found = self.solve(*args, axes=axes) if self.first is None or axes else self.of_first(args)
            self.keep(args, axes, found)
        return found

    def of_first(self, args: Sequence[Any]) -> Any:
        """Return the first example, which SciPy has solved. Errors: NotNativeError if its slopes are other ones."""
        assert self.first is not None
        (y, steps), self.first = self.first, None
        _, _, at, *_ = rows = in_rows(args, None)
        points, _ = steps.stages_and_ends(steps.times, steps.along)
        apart = np.abs(self.f.values(*points, *rows[OPTIONS:]) - steps.along[steps.computed])
        if not np.all(apart <= NEAR * np.max(np.abs(steps.along[:, :-1]), axis=(0, 1))):
            raise NotNativeError("the right-hand side differs from its trace")
        return SolvedExamples(self.f, y[None], Trajectories.of(steps), at, rows[OPTIONS:])

    def solve(self, *args: Any, axes: Axes = None) -> Any:
        """Solve problems together. Errors: NotNativeError if one fails, or if SciPy refuses the arguments."""
        problems, at, outer = self.problems(args, axes)
        found = solved_together(problems)
        return SolvedExamples(self.f, finite(values_at(problems, found, at)), found, at, outer)

    def problems(self, args: Sequence[Any], axes: Axes) -> tuple[Problems, np.ndarray, list[np.ndarray]]:
        """Return the problems, their times, and what their right-hand sides read. Errors: NotNativeError."""
        size, n = size_of(args, axes), self.equations
        start, end, at, y0, rtol, atol, first, largest, *outer = in_rows(args, axes)
        start, end, first, largest = (np.repeat(part, size // len(part)) for part in (start, end, first, largest))
        y0, rtol, atol = (np.array(np.broadcast_to(part, (size, n)), order="C") for part in (y0, rtol, atol))
        at = np.array(np.broadcast_to(at, (size, at.shape[1])))
        f = self._slopes(outer)
        problems = Problems(self.method, f, start, end, y0, rtol, atol, first, largest, self.in_pairs)
        if problems.is_refused(at):
            raise NotNativeError("SciPy refuses the arguments of one, or warns of them")
        return problems, at, outer

    def _slopes(self, outer: Sequence[np.ndarray]) -> Any:
        """Return the right-hand side for some numbers of problems."""

        def slopes(t: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
            return self.f.values(t, y, *[part if len(part) == 1 else part[rows] for part in outer])

        return slopes

    def solve_and_keep(self, *args: Any, axes: Axes = None) -> Solution:
        """Return the solution for the arguments of `solved`, and keep it. Errors: those of `solve`."""
        return Solution(self.solution(args, axes).values, np.zeros(0), np.zeros(0), 0)

    def pull(self, y_bar: Any, *args: Any, axes: Axes) -> Any:
        """Return the cotangents of `pulled`. Errors: NotNativeError."""
        return self._along_steps("pull", y_bar, args, axes)

    def push(self, dots: Any, *args: Any, axes: Axes) -> Any:
        """Return the tangents of `pushed`. Errors: NotNativeError."""
        return self._along_steps("push", dots, args, axes)

    def _along_steps(self, name: str, given: Any, args: Sequence[Any], axes: Axes) -> Any:
        """Return what `pull` or `push` of the solution gives for a row for each problem. Errors: NotNativeError."""
        solved, given = self.solution(args, axes and axes[1:]), np.asarray(given, float)
        given = given if axes and axes[0] else given[None]
        if len(solved.values) > len(given):
            given = np.repeat(given, len(solved.values), axis=0)
        found = getattr(solved, name)(given)
        return found if axes else found[0]

    def pull_pushed(self, *args: Any, axes: Axes) -> Any:
        """Second derivatives. Errors: NoDerivativeError."""
        raise NoDerivativeError("solve_ivp under vmap has first derivatives only. Record the tape without vmap")


def finite(values: np.ndarray) -> np.ndarray:
    """Return some values. Errors: NotNativeError if one is not finite."""
    if not np.isfinite(values).all():
        raise NotNativeError("a value is not finite")
    return values


def chunks(sizes: np.ndarray) -> list[tuple[int, int]]:
    """Return the ranges of the fewest successive parts whose sizes add up to at most MOST, or that are one."""
    found, first, total = [], 0, 0
    for k, size in enumerate(sizes.tolist()):
        if k > first and total + size > MOST:
            found.append((first, k))
            first, total = k, 0
        total += size
    return [*found, (first, len(sizes))]
