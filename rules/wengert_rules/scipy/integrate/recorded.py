"""Solutions of SciPy's methods, with the steps that they accepted and the slopes at the stages of these.

An explicit method has its own stages. For the others we take those of Radau's method of order 5, on the solution.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, DenseOutput, OdeSolution, odeint, solve_ivp

from wengert.extend import Sealed, unseen
from wengert_rules.scipy.integrate.linear_steps import (
    MOST,
    CollocationSteps,
    JacobiansByCode,
    LargeSteps,
    LinearSteps,
    SparseCollocationSteps,
    SparseJacobians,
    changes,
)
from wengert_rules.scipy.integrate.steps import RADAU_A, RADAU_C

SMALL = 24
"""The most equations whose Jacobians are multiplied with each other, or inverted, for all steps at once."""
LARGEST = 128
"""The most equations whose Jacobians are written out with their zeros."""
NEAR = 1e-6
"""The largest relative difference between the slopes of f on all stages and those that SciPy computed one by one."""

MUTABLE = (list, np.ndarray)
"""The types of slopes that a right-hand side may change after it has returned them."""
SAME = 1e-9
"""The largest relative difference between the last values of two integrations with the same steps."""


class Tableau(NamedTuple):
    """The coefficients of a Runge-Kutta method; its last stages, if `stages` are fewer, only serve interpolation.

    y between two steps is y + h Σ wᵢ(x) kᵢ with the weights w(x) = `basis(x) @ mixture`, x from 0 to 1.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    stages: int
    basis: Callable[[Any], Any]
    mixture: np.ndarray

    def without_interpolation(self) -> Tableau:
        """The method for the values at its steps alone."""
        s = self.stages
        return self._replace(A=self.A[:s, :s], B=self.B[:s], C=self.C[:s], mixture=self.mixture[:, :s])


def powers(count: int) -> Callable[[Any], Any]:
    """The function x ↦ (x, x², …), with a row for each x."""

    def basis(x: Any) -> Any:
        columns = [x]
        for _ in range(1, count):
            columns.append(columns[-1] * x)
        return np.stack(columns, axis=1)

    return basis


def products(count: int) -> Callable[[Any], Any]:
    """The function x ↦ (x, x (1 - x), x² (1 - x), …), with a row for each x."""

    def basis(x: Any) -> Any:
        columns = [x]
        for k in range(1, count):
            columns.append(columns[-1] * (1 - x if k % 2 else x))
        return np.stack(columns, axis=1)

    return basis


def with_end(method: Any) -> Tableau:
    """The coefficients of a method that interpolates with the slope at the end of the step."""
    s = method.n_stages
    A = np.zeros((s + 1, s + 1))
    A[:s, : method.A.shape[1]], A[s, :s] = method.A, method.B
    B, C = np.append(method.B, 0.0), np.append(method.C, 1.0)
    return Tableau(A, B, C, s, powers(method.P.shape[1]), np.array(method.P.T))


def with_extra_stages() -> Tableau:
    """The coefficients of DOP853, which interpolates with three more stages."""
    s = DOP853.n_stages
    count = s + 1 + len(DOP853.C_EXTRA)
    A, B = np.zeros((count, count)), np.zeros(count)
    A[:s, :s], A[s, :s], A[s + 1 :] = DOP853.A, DOP853.B, DOP853.A_EXTRA
    B[:s] = DOP853.B
    first, last = np.eye(count)[0], np.eye(count)[s]
    mixture = np.stack([B, first - B, 2 * B - last - first, *DOP853.D])
    return Tableau(A, B, np.concatenate([DOP853.C, [1.0], DOP853.C_EXTRA]), s, products(len(mixture)), mixture)


def collocation(nodes: np.ndarray) -> np.ndarray:
    """Return the mixture of slopes at some nodes for `powers`: the integral of the polynomial through them."""
    return np.linalg.inv(np.vander(nodes, increasing=True)) / np.arange(1, len(nodes) + 1)[:, None]


RADAU = Tableau(RADAU_A, RADAU_A[-1], RADAU_C, 3, powers(4), np.pad(collocation(RADAU_C), (0, 1)))
"""Radau IIA of order 5, which interpolates by the collocation polynomial."""
SMOOTH = collocation(np.append(RADAU_C, 0.0))
"""The mixture with the slope at the start, too, that at the end of the step before: of one order more."""
SLOW = 5.0
"""The largest norm of h J in steps that it is for: in longer ones, the slope at the start is that of a transient."""
RADAU_INVERSE = np.linalg.inv(RADAU_A)
TABLEAUX = {RK23: with_end(RK23), RK45: with_end(RK45), DOP853: with_extra_stages()}


class Steps(Sealed):
    """The accepted steps of a solution: their times, and an array (steps + 1, stages + 1, n) of slopes and values.

    The slopes of each step have the value at its start behind them; the last row holds the value at the end alone.
    `known` holds the indices of the slopes that SciPy computed, and behind them those of the values.
    """

    def __init__(
        self, tableau: Tableau, times: np.ndarray, values: np.ndarray, slopes: np.ndarray, computed: np.ndarray
    ) -> None:
        self.tableau, self.times, self.computed = tableau, times, np.nonzero(computed)
        self.along = np.zeros((len(values), slopes.shape[1] + 1, values.shape[1]))
        self.along[:-1, :-1], self.along[:, -1] = slopes, values
        self.is_smooth = np.zeros(len(times) - 1, bool)
        of_values = np.arange(len(values)), np.full(len(values), slopes.shape[1])
        self.known = tuple([np.concatenate(both) for both in zip(self.computed, of_values, strict=True)])

    def compared(
        self, f: Any, points: tuple[np.ndarray, np.ndarray], found: np.ndarray, tolerance: Any
    ) -> tuple[LinearSteps | None, np.ndarray | None]:
        """Return the linear equations of changes, and the difference of these steps from SciPy's solution.

        None in place of the equations if the two are not the same, or the equations are too large. Radau's steps are
        moved by the difference, as it is Newton's step to their solution.
        """
        linear = self.linear(f, points)
        if linear is None:
            return None, None
        apart = self.apart(found, linear)
        if not self.agree(apart, tolerance):
            return None, apart
        if isinstance(linear, CollocationSteps | SparseCollocationSteps):
            self.along = self.along + apart
            self.is_smooth = linear.speeds(tolerance) <= SLOW
            self.is_smooth[0] = False
        return linear, apart

    def linear(self, f: Any, points: tuple[np.ndarray, np.ndarray]) -> LinearSteps | None:
        """Return the linear equations of changes, where f holds on all stages. None if too large, or singular."""
        kind, jacobians = self._jacobians(f, points)
        try:
            return kind and kind(self.tableau.A, self.tableau.B, np.diff(self.times), jacobians, self.known)
        except (RuntimeError, np.linalg.LinAlgError):  # SciPy's and NumPy's, for a singular matrix
            return None

    def _jacobians(self, f: Any, points: tuple[np.ndarray, np.ndarray]) -> tuple[Any, Any]:
        """Return the kind of LinearSteps for f and its Jacobians; None for both if these are too large."""
        (steps, stages), n, is_implicit = self.along[:-1, :-1].shape[:2], self.along.shape[-1], self.tableau is RADAU
        fits = steps * stages * n * n <= MOST
        found = f.sparse_slopes(*points) if n > SMALL or not fits else None
        if (n > SMALL or not fits) and (found is not None or not is_implicit):
            jacobians = self._large_jacobians(f, points, found)
            if jacobians is not None:
                return SparseCollocationSteps if is_implicit else LargeSteps, jacobians
        if n > LARGEST or not fits:
            return None, None
        J = np.zeros((steps, stages, n, n))
        J[self.computed] = f.slopes(*points)
        return CollocationSteps if is_implicit else LinearSteps, J

    def _large_jacobians(self, f: Any, points: tuple[np.ndarray, np.ndarray], found: Any) -> Any:
        """Return the Jacobians of all stages by the sparse ones that are `found`, or else by the code of products."""
        places = np.full(self.along[:-1, :-1, 0].size, -1)
        places[np.ravel_multi_index(self.computed, self.along[:-1, :-1, 0].shape)] = np.arange(len(points[0]))
        if found is None:
            products = f.jacobian_products(*points)
            return None if products is None else JacobiansByCode(products, places)
        return SparseJacobians(found[0], found[1], places)

    def apart(self, found: np.ndarray, linear: LinearSteps) -> np.ndarray:
        """The difference of these steps from SciPy's solution, by `found`: f on all stages, and the values at ends.

        For Radau's method it is Newton's step to its solution.
        """
        residuals = found - self.along[self.known]
        return changes(residuals, steps=linear) if self.tableau is RADAU else residuals

    def agree(self, apart: np.ndarray, tolerance: np.ndarray) -> bool:
        """Whether the two are the same: of an explicit method but for rounding, else if the values change by little."""
        if self.tableau is RADAU:
            return bool(np.all(np.abs(apart[:, -1]) <= tolerance))
        of_slopes = apart[: self.computed[0].size]
        return bool(np.all(np.abs(of_slopes) <= NEAR * np.max(np.abs(self.along[:, :-1]), axis=(0, 1))))

    def stages_and_ends(self, times: Any, along: Any) -> tuple[Any, Any]:
        """Return the (t, y) of the stages whose slopes SciPy computed, and the values at the ends of all steps.

        The times of the steps, and their slopes and values, are those given.
        """
        starts, slopes, h = along[:-1, -1], along[:-1, :-1], (times[1:] - times[:-1])[:, None]
        t = times[:-1, None] + h * self.tableau.C
        y = starts[:, None] + h[:, None] * (self.tableau.A @ slopes)
        return (t[self.computed], y[self.computed]), starts + h * (self.tableau.B @ slopes)

    def weights(self, times: Any, t: Any) -> tuple[np.ndarray, Any]:
        """Return the steps in which times t lie, and the weights of slopes and value that yield the values there.

        Radau's have one weight more, that of the slope at the end of the step before.
        """
        k, mixture = unseen(self.at, t), self.tableau.mixture
        if self.tableau is RADAU:
            mixture = np.where(self.is_smooth[k][:, None, None], SMOOTH, mixture)
        h = (times[1:] - times[:-1])[k]
        of_slopes = h[:, None] * np.squeeze(self.tableau.basis((t - times[:-1][k]) / h)[:, None] @ mixture, 1)
        s = self.tableau.C.size
        return k, np.concatenate([of_slopes[:, :s], np.ones((len(t), 1)), of_slopes[:, s:]], axis=1)

    def at(self, t: np.ndarray) -> np.ndarray:
        """Return the step in which each of some times lies; a time between two belongs to the earlier step."""
        forward = 1.0 if self.times[-1] >= self.times[0] else -1.0
        found = np.searchsorted(forward * self.times, forward * t, side="left") - 1
        return np.clip(found, 0, len(self.times) - 2)


def as_reals(values: np.ndarray) -> np.ndarray:
    """Complex numbers as twice as many real ones, in pairs; real numbers as they are."""
    return np.ascontiguousarray(values).view(float) if np.iscomplexobj(values) else values


Cut = Callable[..., Steps | None]
"""A function from the number of parts of each step, and the share of the steps, from the first on, to the steps."""


class Rows(NamedTuple):
    """The points (t, y) between steps, the slopes at all stages of each step, and how many of them are known."""

    points: list[Any]
    slopes: list[np.ndarray]
    counts: list[int]


class Interpolant(DenseOutput):
    """The solution by RK23 or RK45 in one step: the bits of SciPy's interpolation, in less time."""

    def __init__(self, solver: Any) -> None:
        super().__init__(solver.t_old, solver.t)
        self.y_old, self.Q = solver.y_old, solver.K.T.dot(solver.P)

    def _call_impl(self, t: np.ndarray) -> np.ndarray:
        h, powers = self.t - self.t_old, np.empty((self.Q.shape[1], *t.shape))
        powers[:] = (t - self.t_old) / h
        y = h * np.dot(self.Q, np.multiply.accumulate(powers))
        y += self.y_old if t.ndim == 0 else self.y_old[:, None]
        return y


def recorder(method: Any) -> Any:
    """An explicit method whose option `rows` receives its accepted steps."""
    stages, all_stages = TABLEAUX[method].stages, TABLEAUX[method].C.size
    slopes_of = attrgetter("K_extended" if method is DOP853 else "K")

    class Recorder(method):
        def __init__(self, *args: Any, rows: Rows, **options: Any) -> None:
            super().__init__(*args, **options)
            self.rows = rows
            rows.points.append((self.t, self.y))

        def _step_impl(self) -> Any:
            done = super()._step_impl()
            if done[0]:
                points, slopes, counts = self.rows
                points.append((self.t, self.y))
                slopes.append(slopes_of(self).copy())
                counts.append(stages)
            return done

        def _estimate_error_norm(self, K: Any, h: Any, scale: Any) -> Any:
            if method is DOP853 or K.dtype == complex:
                return super()._estimate_error_norm(K, h, scale)
            errors = self._estimate_error(K, h) / scale
            return np.sqrt(errors.dot(errors)) / errors.size**0.5  # as SciPy computes it, with fewer calls

        def _dense_output_impl(self) -> Any:
            self.rows.counts[-1] = all_stages
            if method is not DOP853:
                return Interpolant(self)
            found = super()._dense_output_impl()  # computes more stages
            self.rows.slopes[-1] = slopes_of(self).copy()
            return found

    return Recorder


RECORDERS = {method: recorder(method) for method in TABLEAUX}


def recorded(method: Any, **words: Any) -> tuple[Any, Steps | None, Cut]:
    """The result of `solve_ivp` by an explicit method, its steps, None if one is not finite, and fewer of them."""
    rows = Rows([], [], [])
    solution = solve_ivp(method=RECORDERS[method], rows=rows, **words)
    count = needed(words, solution, np.array([t for t, _ in rows.points[:-1]]))
    points, slopes, counts = rows.points[: count + 1], rows.slopes[:count], rows.counts[:count]
    for part in rows:
        part.clear()  # SciPy's solver is a cycle, which holds it until the collector comes

    def cut(_: int, share: float = 1.0) -> Steps | None:
        count = round(share * len(slopes))
        return explicit_steps(TABLEAUX[method], points[: count + 1], slopes[:count], counts[:count])

    return solution, cut(1), cut


def explicit_steps(tableau: Tableau, points: list[Any], slopes: list[Any], counts: list[int]) -> Steps | None:
    """The steps between points (t, y) by the known slopes of each; None if there are none, or one is not finite."""
    if not slopes:
        return None
    if max(counts) == tableau.stages:
        tableau = tableau.without_interpolation()
    n, width = points[0][1].size, tableau.C.size
    computed = np.arange(width) < np.array(counts)[:, None]
    found = np.concatenate(slopes).reshape(len(slopes), -1, n)[:, :width]
    found[~computed] = 0.0
    if not np.isfinite(found).all():
        return None
    times, values = [t for t, _ in points], np.concatenate([y for _, y in points]).reshape(-1, n)
    return Steps(tableau, np.array(times), as_reals(values), as_reals(found), computed)


def needed(call: dict[str, Any], found: Any, starts: np.ndarray) -> int:
    """Return how many of the first steps, which start at these times, lie before the last time of a result.

    An integration that fails has many very short steps behind it.
    """
    if call["t_eval"] is None or call["dense_output"] or call.get("events") is not None:
        return len(starts)
    start, end = call["t_span"]
    last = found["t"][-1] if len(found["t"]) else start
    return max(1, int(np.count_nonzero(starts < last if end > start else starts > last)))


def recorded_paths(method: Any, **words: Any) -> tuple[Any, Steps | None, Cut]:
    """The result of `solve_ivp` by an implicit method, and its `collocations`."""
    found, times, values_at = solved_by_steps(method, **words)
    return found, *collocations(times[: needed(words, found, times[:-1]) + 1], values_at)


ValuesAt = Callable[[np.ndarray], np.ndarray]
"""A function from a row of times in each of the first steps to the values there, an array (steps, times, equations)."""


def solved_by_steps(method: Any, **words: Any) -> tuple[Any, np.ndarray, ValuesAt]:
    """The result of `solve_ivp` by an implicit method, the times of its steps, and the values between them."""
    paths: list[Any] = []
    recorder = recording(
        method, lambda solver: paths.append((method is LSODA and Nordsieck.of(solver)) or solver.dense_output())
    )
    found = solve_ivp(method=recorder, **words)
    if found.sol is not None:
        found.sol = OdeSolution(found.sol.ts, found.sol.interpolants, alt_segment=method in (BDF, LSODA))
    times = np.array([path.t_old for path in paths[:1]] + [path.t for path in paths])
    return found, times, lambda times: interpolated(paths[: len(times)], times)


def solved_by_odeint(call: dict[str, Any]) -> tuple[np.ndarray, dict[str, Any], np.ndarray, ValuesAt]:
    """The values and details of a call of `odeint`, the times of its steps, and the values between them.

    odeint tells no steps, but evaluates the function at the end of each: at a time that no later one lies before. It
    interpolates as it does at the times of a call, so a second call computes the values at the stages. If the length of
    the first step is known, the second call takes the same steps, and gets the slopes of the first call.
    """
    func, at, asked, slopes = call["func"], call["t"], [], []
    place = 0 if call["tfirst"] else 1

    def asking(*given: Any) -> Any:
        asked.append(given[place])
        slope = func(*given)
        slopes.append(slope.copy() if isinstance(slope, MUTABLE) else slope)
        return slope

    def values_at(times: np.ndarray) -> np.ndarray:
        call_again = {**call, "t": forward * np.sort(forward * times, axis=None), "full_output": False}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first call has warned
            values = replayed(call_again) if first_step else None
            values = odeint(**call_again) if values is None else values
        return values.reshape(*times.shape, -1)

    def replayed(call: dict[str, Any]) -> np.ndarray | None:
        slope = iter(slopes)
        values = odeint(**{**call, "func": lambda *_: next(slope, slopes[-1]), "h0": first_step})
        is_same = next(slope, None) is None and np.all(abs(values[-1] - found[-1]) <= SAME * abs(found[-1]))
        return values if is_same else None

    found, details = odeint(**{**call, "func": asking, "full_output": True})
    first_step = call.get("h0") or (asked[1] if len(asked) > 1 and asked[0] == 0.0 else 0.0)
    forward = 1.0 if at[-1] >= at[0] else -1.0
    steps = np.unique(np.minimum.accumulate(forward * np.array(asked[::-1])))
    inside = steps[(forward * at[0] < steps) & (steps < forward * at[-1])]
    return found, details, np.concatenate([at[:1], forward * inside, at[-1:]]), values_at


def recording(method: Any, keep: Callable[[Any], None]) -> Any:
    """The method, which calls `keep(solver)` after each of its steps."""

    class Recording(method):
        def step(self) -> Any:
            message = super().step()
            if self.status != "failed":
                keep(self)
            return message

    return Recording


class Nordsieck(NamedTuple):
    """The work arrays of ODEPACK's LSODA after a step from `t_old` to `t`, from which SciPy interpolates, too.

    The real one holds the lengths of this and the next step at 10 and 11, and the Taylor coefficients from 20 on; the
    other holds the orders of this and the next step at 13 and 14.
    """

    t_old: float
    t: float
    reals: np.ndarray
    integers: np.ndarray

    @staticmethod
    def of(solver: Any) -> Nordsieck | None:
        """The work arrays after the last step of a solver; None if this SciPy keeps them elsewhere."""
        held: Any = getattr(getattr(solver, "_lsoda_solver", None), "_integrator", None)
        if not hasattr(held, "rwork"):
            return None
        return Nordsieck(solver.t_old, solver.t, held.rwork[: 20 + TERMS * solver.n].copy(), held.iwork[13:15].copy())


TERMS = 13
"""The most Taylor coefficients of LSODA: its order is at most 12."""


def collocations(times: np.ndarray, values_at: ValuesAt) -> tuple[Steps | None, Cut]:
    """The Steps of Radau's method on a solution, and the function that returns those of shorter steps.

    The search for arrays that a function reaches takes long in `values_at`, so it is no argument of an unseen call.
    """
    if len(times) < 2 or not np.all(np.diff(times)):
        return None, lambda *_: None

    def cut(parts: int, share: float = 1.0) -> Steps | None:
        count = round(share * (len(times) - 1))
        return collocated(times[: count + 1], values_at, parts) if count else None

    return cut(1), cut


def collocated(times: np.ndarray, values_at: ValuesAt, parts: int) -> Steps | None:
    """The steps of a solution, each cut into `parts`; None if one is not finite."""
    inner = (np.arange(parts)[:, None] + [0.0, *RADAU.C]).ravel() / parts
    at_stages = values_at(times[:-1, None] + np.diff(times)[:, None] * inner)
    at_stages = np.reshape(at_stages, (-1, 1 + RADAU.C.size, at_stages.shape[-1]))
    times = refined(times, parts)
    starts = np.concatenate([at_stages[:1, 0], at_stages[:-1, -1]])
    slopes = RADAU_INVERSE @ (at_stages[:, 1:] - starts[:, None]) / np.diff(times)[:, None, None]
    if not np.all(np.isfinite(slopes)):
        return None
    values = np.concatenate([starts, at_stages[-1:, -1]])
    return Steps(RADAU, times, values, slopes, np.ones(slopes.shape[:2], bool))


def interpolated(paths: list[Any], times: np.ndarray) -> np.ndarray:
    """The values of each path at a row of times: an array (steps, times, equations)."""
    if type(paths[0]) is not Nordsieck:
        return as_reals(np.array([path(t).T for path, t in zip(paths, times, strict=True)]))
    reals, orders = np.array([path.reals for path in paths]), np.array([path.integers for path in paths])
    last, following = orders.T[:, :, None]
    h, terms = reals[:, 11:12], np.arange(1 + np.max(last))
    scales = np.where((terms == last) & (following < last), h / reals[:, 10:11], 1.0) ** last
    coefficients = scales[:, :, None] * reals[:, 20:].reshape(len(paths), TERMS, -1)[:, : terms.size]
    x = (times - [[path.t] for path in paths]) / h
    powers_of_x = np.repeat(x[:, :, None], terms.size, axis=2)
    powers_of_x[:, :, 0] = 1.0
    return np.multiply.accumulate(powers_of_x, axis=2) @ np.where((terms <= last)[:, :, None], coefficients, 0.0)


def refined(times: Any, parts: int) -> Any:
    """The times with each interval cut into equal parts."""
    if parts == 1:
        return times
    inner = times[:-1, None] + (times[1:] - times[:-1])[:, None] * (np.arange(parts) / parts)
    return np.concatenate([np.ravel(inner), times[-1:]])
