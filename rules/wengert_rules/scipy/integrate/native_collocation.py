"""Initial value problems in compiled functions that SciPy solves by an implicit method, or by odeint.

Native code computes the right-hand side. Derivatives are those along the steps, as in functions that are not compiled;
native code computes the derivatives of the right-hand side on all stages.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import integrate

from wengert.extend import NotNativeError, Sealed, kernel
from wengert_rules.scipy.integrate import stage_kernels
from wengert_rules.scipy.integrate.native_steps import (
    KEPT,
    OPTIONS,
    Axes,
    FailedError,
    Solution,
    content,
    examples,
    in_rows,
    parameters,
)
from wengert_rules.scipy.integrate.paths import LinearPath, LinearValues, mixed, path_on
from wengert_rules.scipy.integrate.recorded import as_reals, collocations, solved_by_odeint, solved_by_steps

KINDS = {
    "values": "NUMBER READ PLACES READ WRITE WRITE",
    "jacobians": "NUMBER READ PLACES READ WRITE WRITE",
    "pulls": "NUMBER READ PLACES READ READ WRITE WRITE",
    "pushes": "NUMBER NUMBER READ PLACES READ WRITE WRITE",
}
"""The kinds of the kernels' parameters."""
CALLBACKS = {
    "values": ("f", "value"), "jacobians": ("push_f", "pushforward"), "pulls": ("pull_f", "pullback"),
    "pushes": ("push_f", "pushforward"),
}  # fmt: skip
"""The name under which each calls the right-hand side or its derivative, and which."""
SUCCESS = "Integration successful."
"""The message of odeint if it has reached the end."""
SIZE = 32
"""About how many numbers a solution keeps for each step and equation."""


class Stages:
    """A right-hand side for what it reads, `outer`, at many points (t, y)."""

    def __init__(self, f: Any, outer: Sequence[Any], kernels: dict[str, Any]) -> None:
        self.f, self.outer, self.kernels = f, in_rows(outer, None), kernels

    def kernel(self, name: str, size: int) -> tuple[Any, Any, np.ndarray]:
        """Return a compiled kernel, made when first needed, its callback, and zeros to work with."""
        word, kind = CALLBACKS[name]
        callback, n, outer = getattr(self.f, kind), self.f.size, self.f.outer_size
        if name not in self.kernels:
            sizes = {"N": n, "OUTER": outer, "WORK": callback.work_size, "PARAMETERS": size}
            self.kernels[name] = kernel(stage_kernels, name, KINDS[name], {word: callback}, **sizes)
        return self.kernels[name], callback, np.zeros(callback.work_size + outer + 3 * n + 4)

    def run(self, name: str, numbers: Sequence[int], p: np.ndarray, points: Any, *others: np.ndarray) -> None:
        """Run a kernel. Errors: FailedError."""
        run, callback, work = self.kernel(name, p.shape[-1])
        rows = np.column_stack(points).ravel()
        (failed,) = run(*numbers, p.ravel(), callback.integers, rows, *[a.reshape(-1) for a in others], work)
        if failed:
            raise FailedError(points[0][0], points[1][0])

    def slope(self) -> Callable[[float, np.ndarray], np.ndarray]:
        """Return the right-hand side as SciPy calls it."""
        p, point = parameters(self.f.value, self.outer).ravel(), np.empty(1 + self.f.size)
        run, callback, work = self.kernel("values", p.size)

        def slope(t: float, y: np.ndarray) -> np.ndarray:
            point[0], point[1:], found = t, y, np.empty(y.size)
            if run(1, p, callback.integers, point, found, work)[0]:
                raise FailedError(t, y.copy())
            return found

        return slope

    def __call__(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        found = np.empty((len(t), self.f.size))
        self.run("values", [len(t)], parameters(self.f.value, self.outer), (t, y), found)
        return found

    def slopes(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The Jacobians by y."""
        found = np.empty((len(t), self.f.size, self.f.size))
        p = self._parameters_of_push(np.zeros((1, self.f.outer_size)))
        self.run("jacobians", [len(t)], p, (t, y), found)
        return found

    def sparse_slopes(self, *points: np.ndarray) -> None:
        """The pattern of the Jacobians is not known."""

    def pulled(self, points: Any, bars: np.ndarray) -> np.ndarray:
        """The cotangents of `outer` for those of the slopes."""
        found = np.zeros(self.f.outer_size)
        self.run("pulls", [len(bars)], parameters(self.f.pullback, self.outer), points, bars, found)
        return found

    def pushed(self, points: Any, dots: np.ndarray) -> np.ndarray:
        """The tangents of the slopes for those of `outer`, a row for each direction."""
        found = np.empty((len(dots), *points[1].shape))
        self.run("pushes", found.shape[:2], self._parameters_of_push(dots), points, found)
        return found

    def _parameters_of_push(self, dots: np.ndarray) -> np.ndarray:
        return parameters(self.f.pushforward, [*self.outer, dots])


def of_complex(f: Callable[[float, np.ndarray], np.ndarray]) -> Callable[[float, np.ndarray], np.ndarray]:
    """Return a right-hand side of pairs of numbers as one of complex numbers."""
    return lambda t, y: f(t, as_reals(y)).view(complex)


class SolvedProblem:
    """A solution by SciPy, whose steps are followed when a derivative first needs them."""

    def __init__(self, args: Sequence[Any], stages: Any, values: Any, times: Any, between: Any) -> None:
        self.args, self.stages, self.values, self.times, self.between = args, stages, values, times, between
        self._linear: Any = None

    @property
    def linear(self) -> LinearValues:
        """The changes of its values. Errors: NotNativeError."""
        if self._linear is None:
            _, _, at, y0, *tolerances = self.args[: OPTIONS - 2]
            of_steps = collocations(self.times, self.between)
            path: Any = path_on(self.stages, of_steps, y0, self.times, tuple(tolerances), LinearPath)
            if path is None:
                raise NotNativeError("the steps in place of the solver's do not come to its values")
            self._linear = LinearValues(path, at)
        return self._linear

    def check(self) -> None:
        """Check that it has derivatives. Errors: NotNativeError."""
        _ = self.linear

    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """The slopes at the start and at the times asked for: a time moves the value along its slope.

        It is f at the values of the steps in place of the solver's: in stiff problems, f multiplies the solver's error.
        """
        (start, _, at, y0), path = self.args[:4], self.linear
        values = mixed(path.weights, path.along, path.k)
        return self.stages(np.array([start], float), y0[None])[0], self.stages(np.asarray(at, float), values)

    def pull(self, y_bar: np.ndarray) -> np.ndarray:
        """The cotangents of (t_span, times, y0, outer)."""
        linear, (at_start, at_times) = self.linear, self.slopes()
        bars, count = linear.residuals(y_bar), len(linear.points[0])
        y0_bar, at_bar = bars[count], np.sum(at_times * y_bar, axis=1)
        outer_bar = self.stages.pulled(linear.points, bars[:count])
        return np.concatenate([[-at_start @ y0_bar, 0.0], at_bar, y0_bar, outer_bar])

    def push(self, dots: np.ndarray) -> np.ndarray:
        """The tangents of the values for those of (t_span, times, y0, outer), a row for each direction."""
        linear, (at_start, at_times) = self.linear, self.slopes()
        M, n, count = len(self.values), len(at_start), len(linear.points[0])
        of_span, of_times, of_y0, of_outer = np.split(dots, [2, 2 + M, 2 + M + n], axis=1)
        residuals = np.zeros((len(dots), count + len(linear.along), n))
        residuals[:, :count] = self.stages.pushed(linear.points, of_outer)
        residuals[:, count] = of_y0 - of_span[:, :1] * at_start
        return linear.changes(residuals) + of_times[:, :, None] * at_times


class ScipyProblem(Sealed):
    """The right-hand side and solver of initial value problems, with the methods of a `native_steps.Problem`."""

    def __init__(
        self, f: Any, solver: str, in_pairs: bool = False, jacobian: np.ndarray | None = None, **options: Any
    ) -> None:
        """Set the right-hand side, of complex numbers if `in_pairs`; `jacobian` is that at the start by `jac=`."""
        self.f, self.solver, self.in_pairs, self.jacobian, self.options = f, solver, in_pairs, jacobian, options
        self.kept, self.kernels = OrderedDict[Any, SolvedProblem](), dict[str, Any]()
        self.evaluations, self.is_checked = {"nfev": 0, "njev": 0, "nlu": 0}, jacobian is None

    def solve(self, *args: Any) -> SolvedProblem:
        """Return a solution by SciPy. Errors: NotNativeError, or those of SciPy."""
        start, end, at, y0, rtol, atol, first, largest, *outer = [np.array(arg, float) for arg in args]
        if not at.size:
            raise NotNativeError("there are no times to solve for")
        stages, of_y = Stages(self.f, outer, self.kernels), (y0, rtol, atol)
        if self.solver == "odeint":
            found = self._by_odeint(stages, at, *of_y, first, largest)
        else:
            found = self._by_solve_ivp(stages, (start, end), at, *of_y, first, largest)
        return SolvedProblem((start, end, at, *of_y), stages, *found)

    def _by_odeint(
        self, stages: Stages, at: np.ndarray, y0: Any, rtol: Any, atol: Any, first: Any, largest: Any
    ) -> tuple[Any, ...]:
        """Return the values, the times of the steps, and the values between them."""
        words = {"rtol": rtol, "atol": atol, "h0": float(first), "hmax": float(largest), "tfirst": True, **self.options}
        values, info, *steps = solved_by_odeint({"func": stages.slope(), "y0": y0, "t": at, **words})
        if info["message"] != SUCCESS:
            raise NotNativeError(info["message"])
        return values, *steps

    def _by_solve_ivp(
        self, stages: Stages, span: Any, at: np.ndarray, y0: Any, rtol: Any, atol: Any, first: Any, largest: Any
    ) -> tuple[Any, ...]:
        """Return the values, the times of the steps, and the values between them."""
        f = stages.slope()
        words = {**self.options, "t_eval": at, "max_step": largest, "first_step": None if np.isnan(first) else first}
        if self.jacobian is not None:
            words["jac"] = self._checked_jacobian(stages, span[0], y0)
        if self.in_pairs:
            rtol, atol = [part[::2] if part.ndim else part for part in (rtol, atol)]
            f, y0 = of_complex(f), y0.view(complex)
        words |= {"fun": f, "t_span": span, "y0": y0, "rtol": rtol, "atol": atol}
        found, *steps = solved_by_steps(getattr(integrate, self.solver), **words)
        if not found.success:
            raise NotNativeError(found.message)
        self.evaluations = {name: found[name] for name in self.evaluations}
        return as_reals(found.y.T), *steps

    def _checked_jacobian(self, stages: Stages, start: Any, y0: np.ndarray) -> Callable[[float, Any], np.ndarray]:
        """Return the Jacobian by native code, in place of the user's. Errors: NotNativeError if the two differ."""

        def jacobian(t: float, y: np.ndarray) -> np.ndarray:
            return stages.slopes(np.array([t], float), y[None])[0]

        if not self.is_checked:
            found = jacobian(start, y0)
            wanted: Any = self.jacobian
            atol = 1e-9 * np.max(np.abs(found))
            if np.shape(wanted) != found.shape or not np.allclose(wanted, found, 1e-6, atol):
                raise NotNativeError("jac= is not the Jacobian of the right-hand side at the start")
            self.is_checked = True
        return jacobian

    def solve_and_keep(self, *args: Any, axes: Axes = None) -> Solution:
        """Return the solution for the arguments of `solved`, and keep it. Errors: those of `solve`."""
        found = [self.solution(example, True) for example in examples(args, axes)]
        return Solution(np.array([solution.values for solution in found]), np.zeros(0), np.zeros(0), 0)

    def solution(self, args: Sequence[Any], is_new: bool = False) -> SolvedProblem:
        """Return a solution that is kept, or another one, which then is."""
        key = content(args)
        found = None if is_new else self.kept.get(key)
        if found is None:
            self.kept[key] = found = self.solve(*args)
            with suppress(KeyError):  # another thread may have dropped them
                while len(self.kept) > 1 + KEPT // (SIZE * found.times.size * self.f.size):
                    self.kept.popitem(last=False)
        return found

    def pull(self, y_bar: Any, *args: Any, axes: Axes) -> Any:
        """Return the cotangents of `pulled`. Errors: NotNativeError, or those of SciPy."""
        found = [self.solution(example).pull(bar) for bar, *example in examples((y_bar, *args), axes)]
        return np.array(found) if axes else found[0]

    def push(self, dots: Any, *args: Any, axes: Axes) -> Any:
        """Return the tangents of `pushed`. Errors: NotNativeError, or those of SciPy."""
        found = [self.solution(example).push(rows) for rows, *example in examples((dots, *args), axes)]
        return np.array(found) if axes else found[0]

    def pull_pushed(self, *args: Any, axes: Axes) -> Any:
        """Second derivatives. Errors: NotNativeError."""
        raise NotNativeError(f"the native code of {self.solver} has no second derivatives")
