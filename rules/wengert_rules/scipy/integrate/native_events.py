"""Events of `solve_ivp` in compiled functions: native code finds their times, which have derivatives as roots.

Each number of events has a trace of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from wengert.extend import Sealed, StaleTapeError, kernel, non_differentiable, unseen
from wengert_rules.scipy.integrate import event_kernels
from wengert_rules.scipy.integrate.native_steps import Method, failure, in_rows, joined, parameters

KINDS = f"READ PLACES READ NUMBER {5 * 'READ '} NUMBER NUMBER {3 * 'WRITE '}"
"""The kinds of the kernel's parameters."""


class Outcome(NamedTuple):
    """How often each event happens, whether one ends the solution, and how many of the times lie before its end."""

    counts: tuple[int, ...]
    is_ended: bool
    times: int


class EventProblem(Sealed):
    """An initial value problem with events, and the outcome in the trace."""

    def __init__(self, f: Any, method: Method, events: int) -> None:
        self.f, self.method, self.events = f, method, events
        self.outcome: Outcome | None = None
        self._room, self._run = 16, cast("Any", None)

    def locate(self, *args: Any) -> tuple[Outcome, np.ndarray]:
        """Return the outcome, and a row (time, ∂y/∂t) for each event, one event after the other.

        Errors: those of `failure`.
        """
        start, end, at, y0, rtol, atol, first, largest, limits, *outer = in_rows(args, None)
        f, n, m, k = self.f.value, self.f.size - self.events, self.method, self.events
        of_y = np.empty((3, n))
        of_y[0], of_y[1], of_y[2] = y0, rtol, atol
        row = joined((start, end, first, largest, of_y.reshape(1, -1), at), 1).ravel()
        if self._run is None:
            sizes = {**m.sizes, "N": n, "OUTER": self.f.outer_size, "WORK": f.work_size, "EVENTS": k}
            self._run = kernel(event_kernels, "locate", KINDS, {"f": f}, **sizes)
        work = np.zeros(f.work_size + self.f.outer_size + (m.sizes["COUNT"] + 4) * (3 * n + 4 + k))
        p, x, failed = parameters(f, outer), np.empty(1 + n), 4
        while failed == 4:
            hits = np.empty((self._room, 2 + n))
            failed, count, is_ended, last = self._run(
                p.ravel(), f.integers, row, at.size, limits.ravel(), m.A, m.C, m.E, m.mixture, m.order,
                len(hits), hits.reshape(-1), x, work,
            )  # fmt: skip
            self._room *= 1 + (failed == 4)
        if failed:
            raise failure(failed, x)
        hits = hits[: int(count)]
        forward = 1.0 if end[0, 0] > start[0, 0] else -1.0
        inside = np.count_nonzero(forward * (at - last) <= 0.0) if is_ended else at.size
        counts = tuple(np.bincount(hits[:, 0].astype(int), minlength=k).tolist())
        return Outcome(counts, bool(is_ended), int(inside)), hits[np.argsort(hits[:, 0], kind="stable"), 1:]


def located(*args: Any, problem: Any) -> Any:
    """A row (time, ∂y/∂t) for each event, one event after the other. Errors: StaleTapeError for another number."""
    outcome, rows = unseen(problem.locate, *args)
    if problem.outcome not in (None, outcome):
        raise StaleTapeError("another number of events happens; record the tape again")
    problem.outcome = outcome
    return rows


non_differentiable(located)
