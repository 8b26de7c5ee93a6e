"""Initial value problems solved by native code, with SciPy's step control and derivatives along the steps.

Each is a call of `solved`; its derivatives are calls of `pulled` and `pushed`, which raise an error if the native code
does not reach the end. Then the compiled function runs uncompiled, and SciPy says why.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy import integrate

from wengert.extend import NotNativeError, Sealed, batching, jvp_rule, kernel, unseen, vjp_rule
from wengert_rules.scipy.integrate import step_kernels
from wengert_rules.scipy.integrate.recorded import TABLEAUX

KEPT = 1 << 20
"""About the most numbers of steps that are kept for the derivatives of solutions."""
DIFFERENTIABLE, OPTIONS = 4, 8
"""The numbers of arguments of `solved` before the tolerances, and before what the right-hand side reads."""


class Method(NamedTuple):
    """The coefficients of a method as the kernels take them, and the sizes that are constants of these."""

    A: np.ndarray
    C: np.ndarray
    E: np.ndarray
    mixture: np.ndarray
    order: float
    sizes: dict[str, int]

    @staticmethod
    def of(solver: Any) -> Method:
        tableau = TABLEAUX[solver]
        E = np.array([solver.E3, solver.E5] if solver is integrate.DOP853 else [solver.E])
        parts = tableau.A, tableau.C, E, tableau.mixture
        A, C, E, mixture = [np.ascontiguousarray(part, float) for part in parts]
        sizes = {"COUNT": C.size, "STAGES": solver.n_stages, "ESTIMATES": E.shape[0], "ESTIMATED": E.shape[1]}
        sizes |= {"MIXED": mixture.shape[0], "TURNS": solver is integrate.DOP853}
        return Method(A.ravel(), C, E.ravel(), mixture.ravel(), float(solver.error_estimator_order), sizes)


KINDS = {
    "solve": f"READ PLACES READ READ NUMBER {8 * 'READ '} NUMBER NUMBER WRITE WRITE WRITE WRITE",
    "pull": "READ PLACES READ PLACES NUMBER READ NUMBER READ READ READ READ READ WRITE WRITE",
    "push": "READ PLACES READ PLACES NUMBER READ NUMBER READ NUMBER READ READ READ READ WRITE WRITE",
}
"""The kinds of the kernels' parameters."""


class Solution(NamedTuple):
    """The values asked for, a row (t, y) for each step, and the number of evaluations."""

    values: np.ndarray
    steps: np.ndarray
    evaluations: int


class FailedError(ArithmeticError):
    """The native code of the right-hand side fails, at (t, y): it takes a new branch, or a number is infinite."""

    def __init__(self, *x: Any) -> None:
        super().__init__("the native code of the right-hand side fails")
        self.x = x


class Problem(Sealed):
    """The right-hand side and method of initial value problems; it keeps the last steps for their derivatives."""

    def __init__(self, f: Any, method: Method) -> None:
        self.f, self.method = f, method
        self.kept = OrderedDict[Any, np.ndarray]()
        self.room, self.evaluations, self.kernels = 64, 0, dict[str, Any]()

    def kernel(self, name: str, more: int = 0, parameters: int = 0, **callbacks: Any) -> tuple[Any, np.ndarray]:
        """Return a compiled kernel, made when first needed, and zeros to work with, `more` for each stage and one."""
        work = max([callback.work_size for callback in callbacks.values()])
        n, outer, sizes = self.f.size, self.f.outer_size, self.method.sizes
        if name not in self.kernels:
            counts = {**sizes, "N": n, "OUTER": outer, "WORK": work, "PARAMETERS": parameters}
            self.kernels[name] = kernel(step_kernels, name, KINDS[name], callbacks, **counts)
        return self.kernels[name], np.zeros(work + outer + (sizes["COUNT"] + 4) * (3 * n + 4 + more))

    def solve(self, *args: Any) -> Solution:
        """Return the solution for the arguments of `solved`.

        Errors: ArithmeticError if the kernel does not reach the end, ValueError if SciPy refuses the arguments.
        """
        (start, end, at, y0, rtol, atol, first, largest), outer = args[:OPTIONS], args[OPTIONS:]
        span, limits = np.array([start, end], float), np.array([first, largest], float)
        rtol, atol = rtol + np.zeros(y0.size), atol + np.zeros(y0.size)
        at, y0 = np.ravel(at), np.ravel(y0)
        f, m, n, failed = self.f.value, self.method, y0.size, 4
        run, work = self.kernel("solve", f=f)
        found, x = np.empty((at.size, n)), np.empty(1 + n)
        while failed == 4:
            rows = np.empty((self.room, 1 + n))
            failed, evaluations, steps = run(
                f.parameters(outer), f.integers, span, y0, at.size, at, rtol, atol, limits, m.A, m.C, m.E, m.mixture,
                m.order, self.room, rows.reshape(-1), found.reshape(-1), x, work,
            )  # fmt: skip
            self.room *= 1 + (failed == 4)
        if failed == 1:
            raise FailedError(x[0], x[1:])
        if failed == 2:
            raise ArithmeticError("the steps become too small")
        if failed:
            raise ValueError("SciPy refuses the arguments, or warns of them")
        return Solution(found, rows[: int(steps) + 1].copy(), int(evaluations))

    def solve_and_keep(self, *args: Any) -> Solution:
        """Return the solution for the arguments of `solved`, and keep its steps. Errors: those of `solve`."""
        found = self.solve(*args)
        self.evaluations = found.evaluations
        self.kept[content(args)] = found.steps
        with suppress(KeyError):  # another thread may have dropped them
            while len(self.kept) > 1 + KEPT // found.steps.size:
                self.kept.popitem(last=False)
        return found

    def steps(self, *args: Any) -> np.ndarray:
        """Return the steps of the solution for the arguments of `solved`: those that are kept, or others."""
        kept = self.kept.get(content(args))
        return self.solve_and_keep(*args).steps if kept is None else kept

    def pull(self, y_bar: Any, *args: Any) -> Any:
        """Return the cotangents of `pulled`. Errors: FailedError."""
        steps, f, m, outer, at = self.steps(*args), self.f, self.method, args[OPTIONS:], args[2]
        value, pull = f.value, f.pullback
        run, work = self.kernel("pull", f=value, pull_f=pull)
        bar = np.zeros(2 + at.size + f.size + f.outer_size)
        (failed,) = run(
            value.parameters(outer), value.integers, pull.parameters(outer), pull.integers, len(steps) - 1,
            steps.ravel(), at.size, np.ravel(at), np.ravel(y_bar), m.A, m.C, m.mixture, bar, work,
        )  # fmt: skip
        if failed:
            raise FailedError
        return bar

    def push(self, dots: Any, *args: Any) -> Any:
        """Return the tangents of `pushed`. Errors: FailedError."""
        steps, f, m, outer, at = self.steps(*args), self.f, self.method, args[OPTIONS:], args[2]
        value, push, count, middle = f.value, f.pushforward, len(dots), dots.shape[1] - f.outer_size
        p = np.array([push.parameters([*outer, dot[middle:]]) for dot in dots])
        run, work = self.kernel("push", count * f.size, p.shape[1], f=value, push_f=push)
        found = np.empty((count, at.size, f.size))
        (failed,) = run(
            value.parameters(outer), value.integers, p.ravel(), push.integers, len(steps) - 1, steps.ravel(),
            at.size, np.ravel(at), count, np.ravel(dots[:, :middle]), m.A, m.C, m.mixture, found.reshape(-1), work,
        )  # fmt: skip
        if failed:
            raise FailedError
        return found


def content(args: tuple[Any, ...]) -> tuple[bytes, ...]:
    """The bytes of numbers and arrays."""
    return tuple([np.asarray(arg).tobytes() for arg in args])


def solved(*args: Any, problem: Any) -> Any:
    """The values of a solution at some times, a row for each."""
    return unseen(problem.solve_and_keep, *args).values


def pulled(y_bar: Any, *args: Any, problem: Any) -> Any:
    """The cotangents of (t_span, times, y0, what the right-hand side reads), one after the other."""
    return unseen(problem.pull, y_bar, *args)


def pushed(dots: Any, *args: Any, problem: Any) -> Any:
    """The tangents of the values for tangents of (t_span, times, y0, outer), a row for each direction."""
    return unseen(problem.push, dots, *args)


@vjp_rule(solved)
def solved_(y_bar, y, *args, problem, wanted):
    bar = pulled(y_bar, *args, problem=problem)
    bars: list[Any] = [None] * len(args)
    begin = 0
    for k, arg in enumerate(args):
        if not DIFFERENTIABLE <= k < OPTIONS:
            end = begin + np.size(arg)
            bars[k] = np.reshape(bar[begin:end], np.shape(arg)) if np.ndim(arg) else bar[begin]
            begin = end
    return tuple(bars)


@jvp_rule(solved, broadcasts=True)
def push_solved(tangents, y, *args, problem):
    pairs = [pair for k, pair in enumerate(zip(tangents, args, strict=True)) if not DIFFERENTIABLE <= k < OPTIONS]
    counts = [len(tangent) for tangent, arg in pairs if tangent is not None and np.ndim(tangent) > np.ndim(arg)]
    rows = np.zeros((counts[0] if counts else 1, 1))
    parts = []
    for tangent, arg in pairs:
        has_rows = tangent is not None and np.ndim(tangent) > np.ndim(arg)
        row = (
            np.zeros((1, np.size(arg)))
            if tangent is None
            else np.reshape(tangent, (-1 if has_rows else 1, np.size(arg)))
        )
        parts.append(rows + row)
    found = pushed(np.concatenate(parts, axis=1), *args, problem=problem)
    return found if counts else found[0]


@vjp_rule(pulled, pushed)
def pull_twice(y_bar, y, *args, problem, wanted):
    raise NotNativeError("the native code of solve_ivp has no second derivatives")


@jvp_rule(pulled, pushed)
def push_twice(tangents, y, *args, problem):
    raise NotNativeError("the native code of solve_ivp has no second derivatives")


@batching(pulled)
def pulled_in_batches(batch, y_bar, *args, problem):
    if any(batch.axes[1:]):
        return NotImplemented
    return np.stack([pulled(bar, *args, problem=problem) for bar in y_bar])
