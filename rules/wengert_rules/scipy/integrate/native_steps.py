"""Initial value problems solved by native code, with SciPy's step control and derivatives along the steps.

Each is a call of `solved`; its derivatives are calls of `pulled` and `pushed`, which raise an error if the native code
does not reach the end. Then the compiled function runs uncompiled, and SciPy says why.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy import integrate

from wengert.extend import NotNativeError, Sealed, batching, jvp_rule, kernel, unseen, vjp_rule
from wengert_rules.scipy.integrate import derivative_kernels, step_kernels
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
    def of(solver: Any, in_pairs: bool = False, is_short: bool = False) -> Method:
        """Return the coefficients of a method for complex numbers in pairs, or for steps that end at the last time."""
        tableau = TABLEAUX[solver]
        E = np.array([solver.E3, solver.E5] if solver is integrate.DOP853 else [solver.E])
        parts = tableau.A, tableau.C, E, tableau.mixture
        A, C, E, mixture = [np.ascontiguousarray(part, float) for part in parts]
        sizes = {"COUNT": C.size, "STAGES": solver.n_stages, "ESTIMATES": E.shape[0], "ESTIMATED": E.shape[1]}
        sizes |= {"MIXED": mixture.shape[0], "TURNS": solver is integrate.DOP853}
        sizes |= {"IN_PAIRS": in_pairs, "IS_SHORT": is_short}
        return Method(A.ravel(), C, E.ravel(), mixture.ravel(), float(solver.error_estimator_order), sizes)


KINDS = {
    "solve": f"NUMBER READ NUMBER PLACES READ NUMBER {4 * 'READ '} NUMBER NUMBER {5 * 'WRITE '}",
    "pull": f"NUMBER {2 * 'READ NUMBER PLACES '} {3 * 'READ '} NUMBER {5 * 'READ '} WRITE WRITE",
    "replay": f"NUMBER READ NUMBER PLACES {6 * 'READ '} WRITE WRITE",
    "push": f"NUMBER {2 * 'READ NUMBER PLACES '} {3 * 'READ '} NUMBER READ NUMBER {4 * 'READ '} WRITE WRITE",
}
"""The kinds of the kernels' parameters."""


class Solution(NamedTuple):
    """The values asked for, of each problem; a row (t, y) for each step of one after the other; the number of steps of
    each, and that of evaluations."""

    values: np.ndarray
    steps: np.ndarray
    counts: np.ndarray
    evaluations: int


class FailedError(NotNativeError):
    """The native code of the right-hand side fails, at (t, y): it takes a new branch, or a number is infinite."""

    def __init__(self, *x: Any) -> None:
        super().__init__("the native code of the right-hand side fails")
        self.x = x


def failure(failed: int, x: np.ndarray) -> Exception:
    """Return the error of a kernel that has failed at x = (t, y)."""
    if failed == 1:
        return FailedError(x[0], x[1:])
    if failed == 2:
        return ArithmeticError("the steps become too small")
    return ValueError("SciPy refuses the arguments, or warns of them")


class Problem(Sealed):
    """The right-hand side and method of initial value problems; it keeps the last steps for their derivatives."""

    def __init__(self, f: Any, method: Method) -> None:
        self.f, self.method = f, method
        self.kept = OrderedDict[Any, tuple[np.ndarray, np.ndarray]]()
        self.room, self.kernels = 64, dict[str, Any]()
        self.evaluations = {"nfev": 0, "njev": 0, "nlu": 0}
        self.second: Problem | None = None

    def kernel(self, name: str, more: int = 0, parameters: int = 0, **callbacks: Any) -> tuple[Any, np.ndarray]:
        """Return a compiled kernel, made when first needed, and zeros to work with, `more` for each stage and one."""
        work = max([callback.work_size for callback in callbacks.values()])
        n, outer, sizes = self.f.size, self.f.outer_size, self.method.sizes
        if name not in self.kernels:
            counts = {**sizes, "N": n, "OUTER": outer, "WORK": work, "PARAMETERS": parameters}
            module = step_kernels if name == "solve" else derivative_kernels
            self.kernels[name] = kernel(module, name, KINDS[name], callbacks, **counts)
        return self.kernels[name], np.zeros(work + outer + (sizes["COUNT"] + 4) * (3 * n + 4 + more))

    def solve(self, *args: Any, axes: Axes = None) -> Solution:
        """Return the solution for the arguments of `solved`.

        Errors: those of `failure`.
        """
        size, n, m, f, failed = size_of(args, axes), self.f.size, self.method, self.f.value, 4
        start, end, at, y0, rtol, atol, first, largest, *outer = in_rows(args, axes)
        of_y = np.empty((size, 3, n))
        of_y[:, 0], of_y[:, 1], of_y[:, 2] = y0, rtol, atol
        problems = joined((start, end, first, largest, of_y.reshape(size, 3 * n), at), size)
        p = parameters(f, outer)
        run, work = self.kernel("solve", f=f)
        found, counts, x = np.empty((size, at.shape[1], n)), np.empty(size), np.empty(1 + n)
        while failed == 4:
            rows = np.empty((self.room * size, 1 + n))
            failed, evaluations = run(
                size, p.ravel(), step_of(p), f.integers, problems.ravel(), at.shape[1], m.A, m.C, m.E, m.mixture,
                m.order, len(rows), rows.reshape(-1), counts, found.reshape(-1), x, work,
            )  # fmt: skip
            self.room *= 1 + (failed == 4)
        if failed:
            raise failure(failed, x)
        return Solution(found, rows[: int(counts.sum()) + size].copy(), counts, int(evaluations))

    def solve_and_keep(self, *args: Any, axes: Axes = None) -> Solution:
        """Return the solution for the arguments of `solved`, and keep its steps. Errors: those of `solve`."""
        found = self.solve(*args, axes=axes)
        self.evaluations = {**self.evaluations, "nfev": found.evaluations}
        self.kept[content(args), axes] = found.steps, found.counts
        with suppress(KeyError):  # another thread may have dropped them
            while len(self.kept) > 1 + KEPT // found.steps.size:
                self.kept.popitem(last=False)
        return found

    def steps(self, args: Sequence[Any], axes: Axes, size: int) -> list[np.ndarray]:
        """Return where the steps of each problem for the arguments of `solved` begin, how many these are, and all."""
        axes = axes if axes and any(axes) else None
        steps, counts = self.kept.get((content(args), axes)) or self.solve_and_keep(*args, axes=axes)[1:3]
        begins = np.cumsum(counts + 1) - (counts + 1)
        return [*[np.repeat(each, size // counts.size) for each in (begins, counts)], steps.ravel()]

    def pull(self, y_bar: Any, *args: Any, axes: Axes) -> Any:
        """Return the cotangents of `pulled`. Errors: FailedError."""
        size = size_of((y_bar, *args), axes)
        y_bar, _, _, at, _, _, _, _, _, *outer = in_rows((y_bar, *args), axes)
        steps = self.steps(args, axes and axes[1:], size)
        bar = self.pull_along(steps, joined([at], size), joined([y_bar], size), outer)
        return bar if axes else bar[0]

    def pull_along(self, steps: Sequence[Any], at: np.ndarray, y_bar: np.ndarray, outer: Sequence[Any]) -> np.ndarray:
        """Return the cotangents of some problems, a row for each. Errors: FailedError."""
        f, m, (size, times) = self.f, self.method, at.shape
        value, pull, bar = f.value, f.pullback, np.zeros((size, 2 + times + f.size + f.outer_size))
        run, work = self.kernel("pull", f=value, pull_f=pull)
        p, pull_p = parameters(value, outer), parameters(pull, outer)
        (failed,) = run(
            size, p.ravel(), step_of(p), value.integers, pull_p.ravel(), step_of(pull_p), pull.integers, *steps, times,
            at.ravel(), y_bar.ravel(), m.A, m.C, m.mixture, bar.reshape(-1), work,
        )  # fmt: skip
        if failed:
            raise FailedError
        return bar

    def pull_pushed(self, dots: Any, y_bar: Any, *args: Any, axes: Axes) -> Any:
        """Return the cotangents of `pulled_from_pushed`. Errors: NotNativeError, FailedError."""
        size, n, given = size_of((dots, y_bar, *args), axes), self.f.size, (dots, y_bar, *args)
        dots, y_bar, _, _, at, _, _, _, _, _, *outer = in_rows(given, axes)
        of_times, of_y, of_outer = np.split(joined([dots], size), [2 + at.shape[1], 2 + at.shape[1] + n], axis=1)
        if np.any(of_times):
            raise NotNativeError("the native code of solve_ivp has no second derivatives by times")
        if self.second is None:
            self.second = Problem(self.f.with_tangent, self.method)
        begins, counts, rows = self.steps(args, axes and axes[2:], size)
        second, m, outer = self.second, self.method, [*outer, of_outer]
        run, work = second.kernel("replay", f=second.f.value)
        found, p = np.empty((int(counts.sum()) + size, 1 + 2 * n)), parameters(second.f.value, outer)
        (failed,) = run(
            size, p.ravel(), step_of(p), second.f.value.integers, begins, counts, rows, of_y.ravel(), m.A, m.C,
            found.reshape(-1), work,
        )  # fmt: skip
        if failed:
            raise FailedError
        both_bar = np.zeros((size, at.shape[1], 2 * n))
        both_bar[:, :, n:] = y_bar.reshape(-1, at.shape[1], n)
        begins = np.cumsum(counts + 1) - (counts + 1)
        bar = second.pull_along([begins, counts, found.ravel()], joined([at], size), both_bar, outer)
        parts = np.split(bar, np.cumsum([2 + at.shape[1] + n, n, self.f.outer_size]), axis=1)
        bar = np.concatenate([parts[0], parts[2]], axis=1)
        return bar if axes else bar[0]

    def push(self, dots: Any, *args: Any, axes: Axes) -> Any:
        """Return the tangents of `pushed`. Errors: FailedError."""
        size, count, f, m = size_of((dots, *args), axes), dots.shape[-2], self.f, self.method
        _, _, _, at, _, _, _, _, _, *outer = in_rows((dots, *args), axes)
        value, push, steps = f.value, f.pushforward, self.steps(args, axes and axes[1:], size)
        dots, of_outer = np.split(dots.reshape(-1, count, dots.shape[-1]), [2 + at.shape[1] + f.size], axis=2)
        p, by_direction = parameters(value, outer), [*[each[:, None] for each in outer], of_outer]
        push_p = joined([*by_direction, push.constants[None, None]], max(map(len, by_direction)), count)
        at, dots = joined([at], size), joined([dots], size, count)
        run, work = self.kernel("push", count * f.size, push_p.shape[-1], f=value, push_f=push)
        found = np.empty((size, count, at.shape[1], f.size))
        (failed,) = run(
            size, p.ravel(), step_of(p), value.integers, push_p.ravel(), step_of(push_p), push.integers, *steps,
            at.shape[1], at.ravel(), count, dots.ravel(), m.A, m.C, m.mixture, found.reshape(-1), work,
        )  # fmt: skip
        if failed:
            raise FailedError
        return found if axes else found[0]


Axes = tuple[bool, ...] | None
"""Whether each argument has a leading axis of problems that are solved one after the other; None for one problem."""


def size_of(args: Sequence[Any], axes: Axes) -> int:
    """The number of problems."""
    return next((len(arg) for arg, has_axis in zip(args, axes or (), strict=False) if has_axis), 1)


def examples(args: Sequence[Any], axes: Axes) -> list[list[Any]]:
    """The arguments of each problem."""
    pairs = [*zip(args, axes or [False] * len(args), strict=True)]
    return [[arg[k] if has_axis else arg for arg, has_axis in pairs] for k in range(size_of(args, axes))]


def in_rows(args: Sequence[Any], axes: Axes) -> list[np.ndarray]:
    """Each argument as a matrix, with a row for each problem, or one for all."""
    pairs = zip(args, axes or [False] * len(args), strict=True)
    return [np.asarray(arg, float).reshape(len(arg) if has_axis else 1, -1) for arg, has_axis in pairs]


def joined(parts: Sequence[np.ndarray], *shape: int) -> np.ndarray:
    """Arrays joined along the last axis, after the others are broadcast to a shape."""
    made, end = np.empty((*shape, sum([part.shape[-1] for part in parts]))), 0
    for part in parts:
        begin, end = end, end + part.shape[-1]
        made[..., begin:end] = part
    return made


def parameters(callback: Any, outer: Sequence[np.ndarray]) -> np.ndarray:
    """The parameters of a callback: a row for each problem, or one for all."""
    return joined([*outer, callback.constants[None]], max(map(len, outer), default=1))


def step_of(p: np.ndarray) -> int:
    """The distance of the parameters of one problem from those of the next; 0 if all share them."""
    return p[0].size if len(p) > 1 else 0


def content(args: Sequence[Any]) -> tuple[bytes, ...]:
    """The bytes of numbers and arrays."""
    return tuple([np.asarray(arg).tobytes() for arg in args])


def solved(*args: Any, problem: Any, axes: Axes = None) -> Any:
    """The values of a solution at some times, a row for each; those of several problems with `axes`."""
    values = unseen(problem.solve_and_keep, *args, axes=axes).values
    return values if axes else values[0]


def pulled(y_bar: Any, *args: Any, problem: Any, axes: Axes = None) -> Any:
    """The cotangents of (t_span, times, y0, what the right-hand side reads), one after the other."""
    return unseen(problem.pull, y_bar, *args, axes=axes)


def pushed(dots: Any, *args: Any, problem: Any, axes: Axes = None) -> Any:
    """The tangents of the values for tangents of (t_span, times, y0, outer), a row for each direction."""
    return unseen(problem.push, dots, *args, axes=axes)


def pulled_from_pushed(dots: Any, y_bar: Any, *args: Any, problem: Any, axes: Axes = None) -> Any:
    """The derivative of ⟨ȳ, ẏ⟩, like that of `pulled`, where ẏ is the tangent of the values for `dots`, one row."""
    return unseen(problem.pull_pushed, dots, y_bar, *args, axes=axes)


def in_parts(bar: Any, args: Sequence[Any], axes: Axes) -> tuple[Any, ...]:
    """The cotangents of the arguments of `solved`, by a row for all."""
    bars: list[Any] = [None] * len(args)
    begin = 0
    for k, arg in enumerate(args):
        if not DIFFERENTIABLE <= k < OPTIONS:
            has_axis = axes is not None and axes[k]
            end = begin + np.size(arg) // (len(arg) if has_axis else 1)
            part = bar[..., begin:end]
            bars[k] = np.reshape(np.sum(part, axis=0) if axes and not has_axis else part, np.shape(arg))
            begin = end
    return tuple(bars)


def in_dots(tangents: Sequence[Any], args: Sequence[Any], axes: Axes) -> tuple[Any, int]:
    """The tangents of the arguments of `solved` as an array (problems, directions, row), and how many directions.

    These are 0 if no tangent has an axis of directions.
    """
    parts, count, size = [], 0, size_of(args, axes)
    for k, (tangent, arg) in enumerate(zip(tangents, args, strict=True)):
        if not DIFFERENTIABLE <= k < OPTIONS:
            rows = len(arg) if axes and axes[k] else 1
            if tangent is None:
                parts.append(np.zeros((1, 1, np.size(arg) // rows)))
            else:
                has_directions = np.ndim(tangent) > np.ndim(arg)
                count = len(tangent) if has_directions else count
                parts.append(np.reshape(tangent, (-1 if has_directions else 1, rows, np.size(arg) // rows)))
    dots = np.concatenate([part + np.zeros((max(count, 1), size, 1)) for part in parts], axis=2)
    return np.swapaxes(dots, 0, 1), count


@vjp_rule(solved)
def solved_(y_bar, y, *args, problem, axes=None, wanted):
    return in_parts(pulled(y_bar, *args, problem=problem, axes=axes and (True, *axes)), args, axes)


@jvp_rule(solved, broadcasts=True)
def push_solved(tangents, y, *args, problem, axes=None):
    dots, count = in_dots(tangents, args, axes)
    found = pushed(dots if axes else dots[0], *args, problem=problem, axes=axes and (True, *axes))
    found = np.swapaxes(found, 0, 1) if axes else found
    return found if count else found[0]


@vjp_rule(pulled)
def pulled_(w, bar, y_bar, *args, problem, axes=None, wanted):
    """⟨w, bar⟩ is ⟨ȳ, ẏ⟩, where ẏ is the tangent of the values for w."""
    found = pushed(w[..., None, :], *args, problem=problem, axes=axes and (True, *axes[1:]))
    found = found[..., 0, :, :]
    bars = pulled_from_pushed(w, y_bar, *args, problem=problem, axes=axes and (True, *axes))
    is_shared = axes is not None and not axes[0]
    return np.sum(found, axis=0) if is_shared else found, *in_parts(bars, args, axes and axes[1:])


@jvp_rule(pulled)
def push_pulled(tangents, bar, y_bar, *args, problem, axes=None):
    y_dot, *others = tangents
    total: Any = 0.0 if y_dot is None else pulled(y_dot, *args, problem=problem, axes=axes)
    if all([tangent is None for tangent in others]):
        return total
    dots, _ = in_dots(others, args, axes and axes[1:])
    has_axis = axes is not None and any(axes[1:])
    dots, axes = dots[:, 0] if has_axis else dots[0, 0], axes and (has_axis, *axes)
    return total + pulled_from_pushed(dots, y_bar, *args, problem=problem, axes=axes)


@vjp_rule(pushed)
def pushed_(y_bar, y, dots, *args, problem, axes=None, wanted):
    if axes is None:
        for_all = True, *[False] * len(args)
        found = pulled(y_bar, *args, problem=problem, axes=for_all)
        bars = pulled_from_pushed(dots, y_bar, *args, problem=problem, axes=(True, *for_all))
        return found, *in_parts(np.sum(bars, axis=0), args, None)
    found, bars = [], 0.0
    for k in range(y_bar.shape[1]):
        found.append(pulled(y_bar[:, k], *args, problem=problem, axes=(True, *axes[1:])))
        places = axes[0], True, *axes[1:]
        bars = bars + pulled_from_pushed(dots[..., k, :], y_bar[:, k], *args, problem=problem, axes=places)
    found = np.stack(found, axis=1)
    return found if axes[0] else np.sum(found, axis=0), *in_parts(bars, args, axes[1:])


@vjp_rule(pulled_from_pushed)
def pull_more(y_bar, y, *args, problem, wanted, axes=None):
    raise NotNativeError("the native code of solve_ivp has no third derivatives")


@jvp_rule(pushed, pulled_from_pushed)
def push_more(tangents, y, *args, problem, axes=None):
    raise NotNativeError("the native code of solve_ivp has no third derivatives, and no second ones in forward mode")


@batching(solved, pulled, pushed, pulled_from_pushed)
def in_batches(batch, *args, problem, axes=None):
    if axes is None:
        return batch.fn(*args, problem=problem, axes=tuple(batch.axes))
    return np.stack([batch.fn(*example, problem=problem, axes=axes) for example in examples(args, batch.axes)])
