"""Initial value problems, differentiated along the steps that SciPy took."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import integrate

from wengert.extend import (
    NoPathWarning,
    NotConvergedWarning,
    Sealed,
    as_written,
    directly,
    grad,
    is_traced,
    order,
    unseen,
    with_value,
)
from wengert_rules.scipy.arguments import unpacked
from wengert_rules.scipy.integrate.paths import (
    LinearPath,
    LinearValues,
    Path,
    in_complex,
    in_pairs,
    path_by,
    path_on,
    values_along,
)
from wengert_rules.scipy.integrate.recorded import TABLEAUX, Cut, Steps, as_reals, recorded, recorded_paths

METHODS = {name: getattr(integrate, name) for name in ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")}
FAILED = -1
"""The status of an integration that failed."""
SHARES = tuple([0.75**k for k in range(20)])
"""The shares of the steps of a failed integration that are tried: the last ones are too short and steep."""


class UnwatchedCall(Sealed):
    """A call of a solver whose right-hand side has been traced, for `unseen`.

    What the right-hand side and events change is put back, so no search for that is needed. Other functions are
    arguments of `run`, where `unseen` searches them.
    """

    def __init__(self, f: Any, *args: Any) -> None:
        self.f, self.args = f, args

    def run(self, *searched: Any) -> Any:
        return self.f(*self.args)


def along_steps(call: dict[str, Any]) -> Any:
    """The result of a call of solve_ivp, with derivatives along its steps; None if these do not serve the call."""
    y0, args = call["y0"], call["args"]
    if not directly(is_initial_state, y0):
        y0 = np.asarray(y0)
        y0 = y0.astype(complex if np.iscomplexobj(y0) else float)
    if args is not None and not isinstance(args, tuple):
        try:
            args = unpacked(args)
        except TypeError:  # SciPy says what is wrong with them
            return None
    call = {**call, "y0": y0, "args": args}
    if not directly(may_serve, call):
        return None
    f = stages_of(call["fun"], args, call["t_span"][0], y0, call["vectorized"])
    events = [] if f is None or call.get("events") is None else events_of(call, y0)
    if f is None or events is None:
        return None
    made = unseen(directly(solving, f, events, call), call.get("jac"))
    if made is None:
        return None
    call, found, steps, cut, call_on_constants, words = made
    if words is not None:
        values = call_on_constants(values_along, in_pairs(y0), **words)
        return directly(with_values, found, np.transpose(in_complex(values.T)) if np.iscomplexobj(y0) else values)
    path = path_along(f, steps, cut, y0, call, found)
    if path is None:
        return None
    times = event_times(found, events, path)
    return None if times is None else with_derivatives(found, call, path, times)


def solving(f: Any, events: list[Any], call: dict[str, Any]) -> Any:
    """Return the function that calls SciPy's solver."""
    return UnwatchedCall(solved, f, events, call, asks_first_derivatives(call)).run


def may_serve(call: dict[str, Any]) -> bool:
    """Whether a call has a method of SciPy's and a vector of initial values."""
    return is_initial_state(call["y0"]) and method_of(call) is not None


def is_initial_state(y0: Any, *dtypes: Any) -> bool:
    """Whether initial values are what SciPy makes of them: a vector of floats, or of complex numbers."""
    return type(y0) is np.ndarray and y0.ndim == 1 and y0.size > 0 and y0.dtype in (dtypes or (float, complex))


def method_of(call: dict[str, Any]) -> Any:
    """The method of a call, as a class of SciPy's; None if it is another one."""
    method = METHODS.get(call["method"]) if isinstance(call["method"], str) else call["method"]
    return method if method in METHODS.values() else None


def asks_first_derivatives(call: dict[str, Any]) -> bool:
    """Whether first derivatives of values at constant times are all that is asked of a solution."""
    is_plain = not call["dense_output"] and call.get("events") is None
    return is_plain and order() == 1 and not is_traced((call["t_span"], call["t_eval"]))


def solved(f: Any, events: list[Any], call: dict[str, Any], by_linear_path: bool) -> Any:
    """The call with plain functions, the result of SciPy's solver, its steps, and the function that cuts them.

    Behind them, f's `passed_to` with keywords for `values_along`, which are None if there is no linear path. None for
    all if the functions change something outside.
    """
    call = {**call, "fun": as_written(call["fun"]), "method": method_of(call)}
    found, steps, cut = (recorded if call["method"] in TABLEAUX else recorded_paths)(**call)
    if any([g.is_put_back() for g in (f, *events)]) or ends_between(found, steps):
        return None
    if by_linear_path and found["status"] != FAILED and len(found["t"]) and (products := f.products()) is not None:
        path: Any = path_along(f, steps, cut, call["y0"], call, found, LinearPath)
        if path is not None:
            values = as_reals(found["y"].T).T if np.iscomplexobj(call["y0"]) else found["y"]
            words = {"products": products, "at": LinearValues(path, call["t_eval"]), "values": values}
            return call, found, steps, cut, f.passed_to, words
    return call, found, steps, cut, f.passed_to, None


def with_values(found: Any, y: Any) -> Any:
    """The result with other values."""
    found["y"] = y
    return found


def path_along(
    f: Any, steps: Steps | None, cut: Cut, y0: Any, call: dict[str, Any], found: Any, kind: Any = Path
) -> Path | None:
    """The Path of the steps of a solution or, if its integration failed, of the first ones that f agrees with."""
    relative, absolute = call.get("rtol", 1e-3), call.get("atol", 1e-6)
    if np.iscomplexobj(y0):
        relative, absolute = [np.repeat(part, 2) if np.ndim(part) else part for part in (relative, absolute)]
    for share in SHARES if found["status"] == FAILED else SHARES[:1]:
        steps, of_share = steps if share == 1.0 else unseen(cut, 1, share), partial(cut, share=share)
        if steps is None:
            continue
        times, path = step_times(call, found, steps.times), None
        if call["method"] in TABLEAUX:
            path = path_by(f, steps, in_pairs(y0), times, kind=kind)
        else:
            path = path_on(f, (steps, of_share), in_pairs(y0), times, (relative, absolute), kind)
        if path is not None:
            if share < 1.0:
                warn_of_failure(steps.times[-1])
            path.is_complex, path.is_whole = np.iscomplexobj(y0), share == 1.0
            path.parts = (len(path.steps.times) - 1) // (len(steps.times) - 1)
            return path
    return None


def warn_of_failure(end: float) -> None:
    """Warn that derivatives are unknown behind a time."""
    warnings.warn(
        f"scipy.integrate.solve_ivp failed, and wengert's steps do not reproduce its values behind t = {end:.6g}. "
        "Their derivatives are NaN. Check `success` before you use the solution",
        NotConvergedWarning,
        2,
    )


def stages_of(f: Any, args: Any, start: Any, y0: Any, vectorized: bool = False, is_event: bool = False) -> Any:
    """(t, y) ↦ f(t, y, *args) for many t and y at once, complex ones in pairs; None if that cannot be."""
    if not isinstance(args, tuple):
        try:
            args = unpacked(args)
        except TypeError:  # SciPy says what is wrong with them
            return None
    from wengert.extend import on_examples  # with the package of tapes, which takes 20 ms

    return on_examples(*directly(example_of, f, args, start, y0, vectorized, is_event))


def example_of(f: Any, args: tuple[Any, ...], start: Any, y0: Any, vectorized: bool, is_event: bool) -> Any:
    """The function (t, y) ↦ f(t, y, *args), and the t and y of its first example."""
    of_one = f
    if vectorized:
        of_one = lambda t, y: f(t, y[:, None], *args)  # noqa: E731
    elif args:
        of_one = lambda t, y: f(t, y, *args)  # noqa: E731
    if np.iscomplexobj(y0):
        of_complex = lambda t, y, f=of_one: f(t, in_complex(y))  # noqa: E731
        of_pairs = lambda t, y: in_pairs(np.asarray(of_complex(t, y), complex))  # noqa: E731
        of_one, y0 = of_complex if is_event else of_pairs, in_pairs(y0)
    if of_one is not f:
        of_one.__wrapped__ = f
    return of_one, start, y0


def step_times(call: dict[str, Any], found: Any, times: Any) -> Any:
    """The times of the steps, of which the first and last are those of the call."""
    start, end = call["t_span"]
    if not is_traced((start, end)):
        return times
    last = end if unseen(float, end) == times[-1] else times[-1]
    return np.concatenate([np.reshape(start, 1), times[1:-1], np.reshape(last, 1)])


def with_derivatives(found: Any, call: dict[str, Any], path: Path, event_times: list[Any]) -> Any:
    """The result of SciPy's solver, with derivatives."""
    if event_times:
        found["y_events"] = [
            with_value(y, path.states(path.between(t))) if len(t) else y
            for y, t in zip(found["y_events"], event_times, strict=True)
        ]
    if call["t_eval"] is None:
        times, values = path.times[:: path.parts], path.states(path.along[:: path.parts, -1])
        if missing := len(found["t"]) - len(times):
            times = np.concatenate([times, found["t"][-missing:]])
            values = np.concatenate([values, np.repeat(np.nan * values[-1:], missing, axis=0)])
        if found["status"] == 1:
            end = last_event(found["t"][-1], found["t_events"], event_times)
            times = np.concatenate([times[:-1], end])
            values = np.concatenate([values[:-1], path.states(path.between(end))])
        found["y"] = with_value(found["y"], np.transpose(values))
        found["t"] = with_value(found["t"], times)
    elif len(found["t"]):
        at = call["t_eval"][: len(found["t"])]
        found["y"] = with_value(found["y"], np.transpose(path.states(path.between(at))))
        found["t"] = np.asarray(at)
    if call["dense_output"]:
        found["sol"] = DenseSolution(found["sol"], path)
    return found


def events_of(call: dict[str, Any], y0: Any) -> list[Any] | None:
    """The events of a call for many t and y at once; None if that cannot be."""
    events, start = call["events"], call["t_span"][0]
    several = [events] if callable(events) else events
    found = [stages_of(g, call["args"], start, y0, is_event=True) for g in several]
    return None if any([g is None for g in found]) else found


def ends_between(found: Any, steps: Steps | None) -> bool:
    """Whether SciPy dropped the last step of a solution that an event ends."""
    return found["sol"] is not None and steps is not None and len(found["sol"].ts) != len(steps.times)


def event_times(found: Any, events: list[Any], path: Path) -> list[Any] | None:
    """The times of events as formulas: each is the root of g(t, y(t)).

    None if an event is not the same function at all its times.
    """
    made = []
    for g, native in zip(events, found["t_events"] or (), strict=True):
        times = native
        if len(native):
            at_times = lambda t, g=g: g(t, path.between(t))  # noqa: E731
            values = at_times(native)
            if g.is_put_back() or values is None or values.size != native.size:
                return None
            times = as_roots(at_times, native, unseen(slopes_of, at_times, native), values, path.between(native))
        made.append(times)
    found["t_events"] = made or found["t_events"]
    return made


def slopes_of(event: Any, times: Any) -> Any:
    """Return the slopes of an event at its times."""
    with warnings.catch_warnings(action="ignore", category=NoPathWarning):  # `as_roots` warns of a step
        return grad(lambda t: 1.0 * np.sum(event(t)))(times)


def as_roots(event: Any, native: Any, slopes: Any, values: Any, states: Any) -> Any:
    """The times at which an event is 0, as formulas: by a step of Newton for each order of derivative.

    The event has these slopes and values at its `native` times. Where the slope is 0, as that of a step, the derivative
    is NaN, by the `states` there.
    """
    times, is_flat = native, slopes == 0
    for k in range(order()):
        times = times - np.reshape(event(times) if k else values, native.shape) / (slopes + is_flat)
    if np.any(is_flat):
        unseen(warn_of_step)
        times = times + np.where(is_flat, np.nan, 0.0) * np.sum(states, axis=1)
    return with_value(native, times)


def warn_of_step() -> None:
    """Warn that the time of an event has no derivative."""
    warnings.warn(
        "an event of scipy.integrate.solve_ivp has the slope 0 at its time, like a step, so the derivative of this "
        "time is NaN. Return a number that goes through 0, such as y[0] - 1 for y[0] > 1",
        NoPathWarning,
        2,
    )


def last_event(end: Any, native: Any, times: list[Any]) -> Any:
    """The time of the event that ends a solution, as an array of one number."""
    return next(t[-1:] for at, t in zip(native, times, strict=True) if len(at) and at[-1] == end)


class DenseSolution:
    """y(t) between the times of the steps, as `OdeSolution` gives it, with its derivatives."""

    def __init__(self, native: Any, path: Path) -> None:
        self.native, self.path = native, path
        self.ts, self.t_min, self.t_max = native.ts, native.t_min, native.t_max

    def __call__(self, t: Any) -> Any:
        found = self.path.states(self.path.between(np.atleast_1d(t)))
        return with_value(unseen(self.native, t), found[0] if np.ndim(t) == 0 else np.transpose(found))
