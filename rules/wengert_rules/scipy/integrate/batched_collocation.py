"""Initial value problems under `vmap` by Radau and BDF: solved together, and each differentiated along its steps.

The derivative is that of an example alone: along the steps of Radau's method in place of the solver's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import integrate

from wengert.extend import NotNativeError
from wengert_rules.scipy.integrate.batched_steps import BatchProblem, finite
from wengert_rules.scipy.integrate.bdf_lockstep import BDF
from wengert_rules.scipy.integrate.implicit_lockstep import places_for, solved_together
from wengert_rules.scipy.integrate.native_collocation import SIZE, SolvedProblem
from wengert_rules.scipy.integrate.native_steps import OPTIONS, Axes, in_rows
from wengert_rules.scipy.integrate.radau_lockstep import Radau
from wengert_rules.scipy.integrate.recorded import as_reals

IMPLICIT = {"Radau": (integrate.Radau, Radau), "BDF": (integrate.BDF, BDF)}
"""SciPy's methods that are solved together, and what does it."""

FEWEST = 8
"""The fewest problems that are solved together; fewer ones take less time one after another."""


class RowStages:
    """The right-hand side of one of some problems at many points, for what it reads: a row of each `outer`."""

    def __init__(self, f: Any, outer: Sequence[np.ndarray]) -> None:
        self.f, self.outer = f, outer

    def __call__(self, *points: np.ndarray) -> Any:
        return self._at(self.f.values, points)

    def slopes(self, *points: np.ndarray) -> Any:
        """The Jacobians by y."""
        return self._at(self.f.jacobians, points)

    def sparse_slopes(self, *points: np.ndarray) -> None:
        """The pattern of the Jacobians is not known."""

    def pulled(self, points: Any, bars: np.ndarray) -> Any:
        """The cotangents of `outer` for those of the slopes."""
        return np.sum(self._at(self.f.pulled, points, bars), axis=0)

    def pushed(self, points: Any, dots: np.ndarray) -> Any:
        """The tangents of the slopes for those of `outer`, a row for each direction."""
        return np.swapaxes(self._at(self.f.pushed, points, np.repeat(dots[None], len(points[0]), axis=0)), 0, 1)

    def _at(self, method: Callable[..., Any], points: Sequence[np.ndarray], *rows: np.ndarray) -> Any:
        """Call a method for a number of points for which there is code."""
        count = len(points[0])
        some = places_for(count)
        return method(*[part[some] for part in (*rows, *points)], *self.outer)[:count]


class CollocatedExamples:
    """Some problems that are solved: their values at some times, and each with its steps."""

    def __init__(self, problems: list[SolvedProblem]) -> None:
        self.values, self.problems = np.array([problem.values for problem in problems]), problems
        self.size = SIZE * sum([problem.times.size for problem in problems]) * self.values.shape[-1]

    def pull(self, y_bar: np.ndarray) -> np.ndarray:
        """Return the cotangents of (t_span, times, y0, outer), a row for each of y_bar."""
        return np.array([problem.pull(row) for problem, row in zip(self._for(y_bar), y_bar, strict=True)])

    def push(self, dots: np.ndarray) -> np.ndarray:
        """Return the tangents of the values, (rows, directions, times, n)."""
        return np.array([problem.push(rows) for problem, rows in zip(self._for(dots), dots, strict=True)])

    def _for(self, rows: np.ndarray) -> list[SolvedProblem]:
        """Return the problem of each row; the only one serves all."""
        return self.problems if len(self.problems) > 1 else self.problems * len(rows)


class CollocatedBatch(BatchProblem):
    """A BatchProblem for implicit methods; `is_differentiated` if first derivatives are asked for."""

    def __init__(self, f: Any, method: str, equations: int, in_pairs: bool, is_differentiated: bool) -> None:
        solver, self.kind = IMPLICIT[method]
        super().__init__(f, solver, equations, in_pairs)
        self.is_differentiated = is_differentiated

    def of_first(self, args: Sequence[Any]) -> CollocatedExamples:
        found, self.first = self.first, None
        return self._solved(args, None, [found])

    def solve(self, *args: Any, axes: Axes = None) -> CollocatedExamples:
        problems, at, _ = self.problems(args, axes)
        if len(at) < FEWEST:
            raise NotNativeError(f"fewer than {FEWEST} examples take longer together by an implicit method")
        found = solved_together(self.kind, problems)
        values = finite(as_reals(found.at(at)))
        return self._solved(args, axes, [(part, *found.of(k)) for k, part in enumerate(values)])

    def _solved(self, args: Sequence[Any], axes: Axes, found: list[tuple[Any, ...]]) -> CollocatedExamples:
        """Return the problems by the values, the times of the steps, and the values between them, of each.

        Errors: NotNativeError if the steps in place of the solver's do not come to its values.
        """
        made, rows = [], in_rows(args, axes)
        for k, of_one in enumerate(found):
            start, end, *others = [part[k if len(part) > 1 else 0] for part in rows[:OPTIONS]]
            outer = [part[k : k + 1] if len(part) > 1 else part for part in rows[OPTIONS:]]
            of_problem, stages = [start[0], end[0], *others], RowStages(self.f, outer)
            made.append(SolvedProblem(of_problem, stages, *of_one))
            if self.is_differentiated:
                made[-1].check()
        return CollocatedExamples(made)
