"""Initial value problems: explicit methods, which SciPy has in Python, are traced; for the others steps are traced.

SciPy chooses the times of all steps, which are constants. The derivative is that of the discrete solution, in the
initial values, parameters and times. For methods other than explicit ones, steps of Runge and Kutta take the place of
SciPy's, if they come to the same values.
"""

from __future__ import annotations

import types
import warnings
from typing import Any

import numpy as np
from scipy import integrate

from wengert.extend import (
    NoDerivativeError,
    NotConvergedWarning,
    as_written,
    chosen_adjoint,
    directly,
    is_traced,
    order,
    order_in_batch,
    stands_for,
    stopped,
    unseen,
    with_value,
)
from wengert_rules.scipy.arguments import arguments, unpacked
from wengert_rules.scipy.integrate.along_steps import UnwatchedCall, along_steps, is_initial_state, stages_of
from wengert_rules.scipy.integrate.paths import LinearPath, LinearValues, mixed, path_on, values_along
from wengert_rules.scipy.integrate.recorded import collocations, needed, solved_by_odeint
from wengert_rules.scipy.integrate.sensitivities import by_equations
from wengert_rules.scipy.integrate.steps import OTHERS, STEPS, over


def with_constant_steps(method: Any) -> Any:
    """An explicit method of SciPy's whose steps are as long, but constants: the derivative is along them."""

    class Method(method):
        def __init__(self, *args: Any, **words: Any) -> None:
            super().__init__(*args, **words)
            self.h_abs: Any = stopped(self.h_abs)

        def _estimate_error_norm(self, *args: Any) -> Any:
            return stopped(super()._estimate_error_norm(*args))

    Method.__name__, Method.__qualname__, Method.__doc__ = method.__name__, method.__qualname__, method.__doc__
    return Method


EXPLICIT = (integrate.RK23, integrate.RK45, integrate.DOP853)
for each in EXPLICIT:
    stands_for(each)(with_constant_steps(each))
NEAR = 1e3
"""The largest difference, in tolerances, at which other steps may replace a method's own."""


class Solution:
    """y(t) between the times of the steps, as `OdeSolution` gives it, followed."""

    def __init__(self, native: Any, path: Any) -> None:
        self.native, self.path = native, path
        self.ts, self.t_min, self.t_max = native.ts, native.t_min, native.t_max

    def __call__(self, t: Any) -> Any:
        made = [self.path(s) for s in np.atleast_1d(t)]
        formula = made[0] if np.ndim(t) == 0 else np.stack(made, axis=1)
        return with_value(unseen(self.native, t), formula)


written: Any = types.FunctionType(
    integrate.solve_ivp.__code__, integrate.solve_ivp.__globals__, "solve_ivp", integrate.solve_ivp.__defaults__
)
"""SciPy's function, for which nothing stands."""


@stands_for(integrate.solve_ivp)
def solve_ivp(*given: Any, **words: Any) -> Any:
    call = arguments(integrate.solve_ivp, given, words)
    found = followed_solution(call)
    if not found["success"] and call["t_eval"] is None and len(found["t"]) > 1:
        times = np.concatenate([found["t"][:-1], [np.nan * np.sum(np.real(found["y"][:, -1]))]])
        found["t"] = with_value(found["t"], times)  # the time at which it failed has no known derivative
    return found


def followed_solution(call: dict[str, Any]) -> Any:
    """The result of a call of solve_ivp, with its derivatives."""
    if (kind := chosen_adjoint()) != "discrete":
        return by_equations(call, kind)
    if order_in_batch() is not None:
        from wengert_rules.scipy.integrate.batched_initial_values import solved_in_batch  # with the compiler

        if (found := solved_in_batch(call)) is not None:
            return found
    if (found := along_steps(call)) is not None:
        return found
    if call["method"] in STEPS or call["method"] in EXPLICIT:
        return written(**call)  # in Python all through
    if call.get("events") is not None:
        raise NoDerivativeError(
            "scipy.integrate.solve_ivp(events=) has no derivative here: the right-hand side or an event changes "
            "something outside or cannot be traced alone, or the solution is too inaccurate. Let them return new "
            'values and change nothing, lower rtol= and atol=, or use method="RK45".'
        )
    y0, (start, end) = np.asarray(call["y0"]), call["t_span"]
    found = unseen(integrate.solve_ivp, **{**call, "dense_output": True})
    native, found["sol"] = found["sol"], None
    times = [start, *native.ts[1:-1].tolist(), end if found["success"] else native.ts[-1]]
    count = needed(call, found, native.ts[:-1]) + 1
    f = of_arrays(call["fun"], call["args"], y0)
    tolerances, has_failed = (
        (float(np.max(call.get("rtol", 1e-3))), np.max(call.get("atol", 1e-6))),
        not found["success"],
    )
    step, parts, reached = unseen(chosen, f, native.ts[:count], lambda t: native(t).T, tolerances, has_failed)
    count = reached if has_failed else count
    ys = over(step, f, times[:count], y0, parts)
    path = between(step, f, times, ys, native.ts[:count])
    if call["t_eval"] is None:
        ys += [np.nan * ys[-1]] * (len(times) - count)
        found["y"] = with_value(found["y"], np.stack(ys, axis=1))
        found["t"] = with_value(found["t"], np.array(times))
    elif len(found["t"]):
        at = call["t_eval"][: len(found["t"])]
        found["y"] = with_value(found["y"], np.stack([path(t) for t in at], axis=1))
        found["t"] = np.asarray(at)
    if call["dense_output"]:
        found["sol"] = Solution(native, path)
    return found


def of_arrays(f: Any, args: Any, y0: Any) -> Any:
    """(t, y) ↦ f(t, y, *args) as an array like y: a copy, since f may return one array again and again."""
    args = unpacked(args)
    return lambda t, y: np.reshape(np.array(f(t, y, *args)), np.shape(y0))


def between(step: Any, f: Any, times: Any, ys: Any, ts: Any) -> Any:
    """t ↦ y(t), by a step from the last of the times before it; NaN behind the last one if there are more `times`."""
    forward = ts[-1] >= ts[0]

    def path(t: Any) -> Any:
        at = unseen(float, t)
        if len(ts) < len(times) and (at > ts[-1]) == forward and at != ts[-1]:
            return np.nan * ys[-1]
        k = int(np.searchsorted(ts if forward else -ts, at if forward else -at, side="right")) - 1
        k = min(max(k, 0), len(ts) - 1)
        return step(f, times[k], ys[k], t)

    return path


def chosen(
    f: Any, times: Any, values_at: Any, tolerances: tuple[float, Any], has_failed: bool = False
) -> tuple[Any, int, int]:
    """The first of OTHERS that comes to the values of the solution, or else, with a warning, the last one.

    Behind it, the number of times that it reaches with these values. If the integration has failed, no steps reach its
    end: then those that the next kind of steps does not pass.
    """
    wanted, last = values_at(times), (*OTHERS[-1], 0)
    for step, parts in OTHERS:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reached = steps_near(step, parts, f, times.tolist(), wanted, tolerances)
        if reached == len(times):
            return step, parts, reached
        if has_failed and reached <= last[2]:
            break
        last = step, parts, reached
    warn_of_inaccuracy()
    return last


def steps_near(step: Any, parts: int, f: Any, times: list[float], wanted: Any, tolerances: Any) -> int:
    """The number of times, from the first on, at which steps come to the wanted values."""
    (relative, absolute), y = tolerances, wanted[0]
    allowed = NEAR * (absolute + relative * np.maximum.accumulate(np.abs(wanted), axis=0))
    for k in range(1, len(times)):
        y = over(step, f, times[k - 1 : k + 1], y, parts)[-1]
        if not np.all(np.abs(y - wanted[k]) <= allowed[k]):
            return k
    return len(times)


def is_near(found: Any, wanted: Any, relative: Any, absolute: Any) -> bool:
    """Whether values, a row for each time, are those of a solution."""
    return bool(np.all(np.abs(found - wanted) <= NEAR * (absolute + relative * np.max(np.abs(wanted), axis=0))))


def warn_of_inaccuracy() -> None:
    """Warn that the steps differ from the solution."""
    warnings.warn(
        "wengert's steps do not reproduce the values of this solution, so its derivatives are inaccurate. "
        "Try a smaller rtol=, or another method=",
        NotConvergedWarning,
        2,
    )


@stands_for(integrate.odeint)
def odeint(*given: Any, **words: Any) -> Any:
    call = arguments(integrate.odeint, given, words)
    func, at, y0, args = call["func"], call["t"], call["y0"], call["args"]
    if not directly(is_initial_state, y0, float):
        y0 = np.atleast_1d(np.asarray(y0, float))
    f = func if call["tfirst"] else lambda t, y, *args: func(y, t, *args)
    stages = stages_of(f, args, at[0], y0)
    alone, tolerances = {**call, "func": as_written(func)}, directly(tolerances_of, call)
    made: Any = None
    if stages is not None:
        made = unseen(directly(solving_by_odeint, stages, alone, y0, tolerances), call["Dfun"])
    is_pure = made is not None
    values, details, times, values_at, linear = made if is_pure else (*unseen(solved_by_odeint, alone), None)
    if linear is not None:
        call_on_constants, words = linear
        values = np.transpose(call_on_constants(values_along, y0, values=np.transpose(values), **words))
        return (values, details) if call["full_output"] else values
    if (reached := unseen(rows_reached, values, details, at)) < len(at):
        formula = up_to(reached, call, of_arrays(f, args, y0))
    else:
        path = None
        if is_pure:
            of_steps = np.concatenate([at[:1], times[1:-1], at[-1:]])
            path = path_on(stages, unseen(collocations, times, values_at), y0, of_steps, tolerances)
        if path is not None:
            formula = path.between(at)
        else:
            f, knots = of_arrays(f, args, y0), [at[0], *times[1:].tolist()]
            of_all = float(np.max(tolerances[0])), np.max(tolerances[1])
            step, parts, _ = unseen(chosen, f, times, values_at, of_all)
            traced = between(step, f, knots, over(step, f, knots, y0, parts), times)
            formula = np.stack([y0, *[traced(t) for t in at[1:]]])
        if not unseen(is_near, formula, values, *tolerances):
            warn_of_inaccuracy()
    values = with_value(values, formula)
    return (values, details) if call["full_output"] else values


def tolerances_of(call: dict[str, Any]) -> tuple[Any, Any]:
    """The relative and the absolute tolerance of a call of `odeint`."""
    relative, absolute = call["rtol"], call["atol"]
    return 1.49012e-8 if relative is None else relative, 1.49012e-8 if absolute is None else absolute


def solving_by_odeint(stages: Any, call: dict[str, Any], y0: Any, tolerances: tuple[Any, Any]) -> Any:
    """Return the function that calls SciPy's odeint."""
    by_linear_path = order() == 1 and not is_traced(call["t"])
    return UnwatchedCall(along_odeint, stages, call, y0, tolerances, by_linear_path).run


def along_odeint(stages: Any, call: dict[str, Any], y0: Any, tolerances: tuple[Any, Any], by_linear_path: bool) -> Any:
    """The results of `solved_by_odeint`, and `passed_to` of the stages with keywords for `values_along`, or None.

    None for all if the right-hand side changes something outside.
    """
    values, details, times, values_at = found = solved_by_odeint(call)
    if stages.is_put_back():
        return None
    at, products = np.asarray(call["t"], float), stages.products() if by_linear_path else None
    if products is None or rows_reached(values, details, at) < len(at):
        return *found, None
    of_steps = np.concatenate([at[:1], times[1:-1], at[-1:]])
    path: Any = path_on(stages, collocations(times, values_at), y0, of_steps, tolerances, LinearPath)
    changes = None if path is None else LinearValues(path, at)
    if changes is None or not is_near(mixed(changes.weights, path.along, changes.k), values, *tolerances):
        return *found, None
    return *found, (stages.passed_to, {"products": products, "at": changes})


FINISHED = {"Integration successful.", "Nothing was done; the integration time was 0."}
"""The messages of odeint where it has solved for all times."""


def rows_reached(values: Any, details: dict[str, Any], at: Any) -> int:
    """Return how many of the first rows `odeint` has solved for: those before it gave up, or met an infinite value."""
    is_reached = np.isfinite(values).all(axis=1)
    if details["message"] not in FINISHED:
        at = np.asarray(at, float)
        passed = details["tcur"] >= at[1:] if at[-1] >= at[0] else details["tcur"] <= at[1:]
        is_reached[1:] &= passed  # the times behind the first that it has not passed are arbitrary
        is_reached[-1] = False
    return int(np.argmin(is_reached)) if not is_reached.all() else len(values)


def up_to(reached: int, call: dict[str, Any], f: Any) -> Any:
    """Return the rows that `odeint` has solved for, and behind them others whose derivatives are not numbers."""
    at, y = call["t"], np.atleast_1d(np.asarray(call["y0"], float))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first call has warned
        rows = odeint(**{**call, "t": at[:reached], "full_output": False}) if reached > 1 else y[None]
    unknown = np.nan * (rows[-1] + f(at[max(reached - 1, 0)], rows[-1]))
    return np.concatenate([rows[:reached], np.repeat(unknown[None], len(at) - reached, axis=0)])
