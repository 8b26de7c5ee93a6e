"""Initial value problems, differentiated along the steps that SciPy took.

The slopes k of all stages solve k = f(t, y + h A k). We take one Newton step of these equations for each order of
derivative, which leaves the slopes unchanged. f runs on all stages at once. The times of the steps are constants.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from scipy import integrate

from wengert.extend import NotConvergedWarning, as_written, grad, is_traced, order, unseen, with_value
from wengert_rules.scipy.arguments import unpacked
from wengert_rules.scipy.integrate.linear_steps import changed, changes
from wengert_rules.scipy.integrate.recorded import TABLEAUX, Cut, Steps, recorded, recorded_paths, refined

METHODS = {name: getattr(integrate, name) for name in ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")}
FAILED = -1
"""The status of an integration that failed."""
SHARES = tuple([0.75**k for k in range(20)])
"""The shares of the steps of a failed integration that are tried: the last ones are too short and steep."""
PARTS = (1, 2, 4)
"""The numbers of Radau's steps in place of one of another implicit method."""
NEAR = 30.0
"""The largest difference, in tolerances, between the values of a method and those of the steps in their place."""
FAR = 30.0
"""The same, in such differences, if steps of half the length come to the same values: then the method's errors grow."""


def along_steps(call: dict[str, Any]) -> Any:
    """The result of a call of solve_ivp, with derivatives along its steps; None if these do not serve the call."""
    method, y0 = call["method"], np.asarray(call["y0"])
    method = METHODS.get(method) if isinstance(method, str) else method
    if method not in METHODS.values():
        return None
    if y0.ndim != 1 or not y0.size:
        return None
    y0 = y0.astype(complex if np.iscomplexobj(y0) else float)
    f = stages_of(call["fun"], call["args"], call["t_span"][0], y0, call["vectorized"])
    events = None if f is None else events_of(call, y0)
    if f is None or events is None:
        return None
    call = {**call, "fun": as_written(call["fun"]), "method": method}
    found, steps, cut = unseen(recorded if method in TABLEAUX else recorded_paths, **call)
    if f.is_put_back() or ends_between(found, steps):
        return None
    path = path_along(f, steps, cut, y0, call, found)
    if path is None:
        return None
    times = event_times(found, events, path)
    return None if times is None else with_derivatives(found, call, path, times)


def path_along(f: Any, steps: Steps | None, cut: Cut, y0: Any, call: dict[str, Any], found: Any) -> Path | None:
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
            path = path_by(f, steps, in_pairs(y0), times)
        else:
            path = path_on(f, (steps, of_share), in_pairs(y0), times, (relative, absolute))
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


def in_pairs(y: Any) -> Any:
    """A vector of complex numbers as one of their real and imaginary parts, in pairs; a real one as it is."""
    return np.ravel(np.stack([np.real(y), np.imag(y)], axis=-1)) if np.iscomplexobj(y) else y


def in_complex(y: Any) -> Any:
    """Vectors of pairs as complex ones."""
    return y[..., ::2] + 1j * y[..., 1::2]


def stages_of(f: Any, args: Any, start: Any, y0: Any, vectorized: bool = False, is_event: bool = False) -> Any:
    """(t, y) ↦ f(t, y, *args) for many t and y at once, complex ones in pairs; None if that cannot be."""
    try:
        args = unpacked(args)
    except TypeError:  # SciPy says what is wrong with them
        return None
    of_one = f
    if vectorized:
        of_one = lambda t, y: f(t, y[:, None], *args)  # noqa: E731
    elif args:
        of_one = lambda t, y: f(t, y, *args)  # noqa: E731
    from wengert.extend import on_examples  # with the package of tapes, which takes 20 ms

    if not np.iscomplexobj(y0):
        return on_examples(of_one, start, y0)
    of_complex = lambda t, y: of_one(t, in_complex(y))  # noqa: E731
    of_pairs = lambda t, y: in_pairs(np.asarray(of_complex(t, y), complex))  # noqa: E731
    return on_examples(of_complex if is_event else of_pairs, start, in_pairs(y0))


def path_by(f: Any, steps: Any, y0: Any, times: Any, tolerance: Any = 0.0, kind: Any = None) -> Path | None:
    """The Path of some steps; None if f on all their stages has not the slopes there."""
    path = (kind or Path)(f, steps, tolerance)
    return path if path.follow(y0, times) else None


def path_on(
    f: Any,
    collocations: tuple[Steps | None, Cut],
    y0: Any,
    times: Any,
    tolerances: tuple[Any, Any],
    kind: Any = None,
) -> Path | None:
    """The Path of Radau's steps in place of those of another solution; None if they come to other values.

    If whole and half steps come to the same other values, the solution is the less accurate one. Then the Path follows
    Radau's solution, which Newton's step finds from it.
    """
    steps, cut = collocations
    reached: Any = None
    for parts in PARTS:
        steps = steps if parts == 1 else unseen(cut, parts)
        if steps is None:
            return None
        tolerance, of_parts = unseen(tolerance_of, steps.along[:, -1], *tolerances), refined(times, parts)
        path = (kind or Path)(f, steps, tolerance)
        if path.follow(y0, of_parts):
            # its slopes were differences of values, inaccurate in short steps; those of Newton's step are not
            return path_by(f, steps, y0, of_parts, tolerance, kind) if is_traced(times) else path
        if path.apart is None:
            return None
        before, reached = reached, (steps.along + path.apart)[::parts, -1]
        if before is not None and np.all(np.abs(reached - before) <= tolerance):  # SciPy's solution is less accurate
            is_far = np.any(np.abs(path.apart[:, -1]) > FAR * tolerance)
            steps.along = steps.along + path.apart
            return None if is_far else path_by(f, steps, y0, of_parts, tolerance, kind)
    return None


def tolerance_of(values: Any, relative: Any, absolute: Any) -> Any:
    """The largest difference between the values of two methods, for each equation."""
    return NEAR * (absolute + relative * np.max(np.abs(values), axis=0))


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
        times, values = path.times[:: path.parts], path.states(path.values[:: path.parts])
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
    events = call.get("events")
    if events is None:
        return []
    start, several = call["t_span"][0], [events] if callable(events) else events
    found = [stages_of(g, call["args"], start, y0, is_event=True) for g in several]
    return None if any([g is None for g in found]) else found


def ends_between(found: Any, steps: Steps | None) -> bool:
    """Whether SciPy dropped the last step of a solution that an event ends."""
    return found["sol"] is not None and steps is not None and len(found["sol"].ts) != len(steps.times)


def event_times(found: Any, events: list[Any], path: Path) -> list[Any] | None:
    """The times of events as formulas: each is the root of g(t, y(t)), by a step of Newton for each order.

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
            slopes = unseen(grad(lambda t, at_times=at_times: np.sum(at_times(t))), native)
            for _ in range(order()):
                times = times - np.reshape(at_times(times), native.shape) / slopes
            times = with_value(native, times)
        made.append(times)
    found["t_events"] = made or found["t_events"]
    return made


def last_event(end: Any, native: Any, times: list[Any]) -> Any:
    """The time of the event that ends a solution, as an array of one number."""
    return next(t[-1:] for at, t in zip(native, times, strict=True) if len(at) and at[-1] == end)


class Path:
    """y(t) by the steps of a method, as a formula of what f reads, the initial values and the times."""

    is_complex = False
    """Whether the values are complex numbers in pairs."""
    is_whole = True
    """Whether these steps are all of the solution; behind them, derivatives are not numbers."""
    parts = 1
    """The number of steps for each one of SciPy's."""

    def __init__(self, f: Any, steps: Steps, tolerance: Any) -> None:
        self.f, self.steps, self.tableau, self.tolerance = f, steps, steps.tableau, tolerance
        self.apart: Any = None

    def follow(self, y0: Any, times: Any) -> bool:
        """Compute slopes and values along the steps; return whether f on all stages is what it was on each."""
        steps, linear = self.steps, None
        self.times, self.along = times, steps.along
        for _ in range(order()):
            points, ends = self.stages_and_ends()
            found = self.f(*points)
            if found is None or found.size != points[1].size or found.dtype != float:
                return False
            found = np.concatenate([np.reshape(found, points[1].shape), y0[None], ends])
            if not is_traced(found):
                break
            if linear is None:
                linear, self.apart = unseen(steps.compared, self.f, points, found, self.tolerance)
                if linear is None:
                    return False
                self.along = steps.along
            if order() == 1 and not is_traced(times):
                self.along = changed(found, value=steps.along, steps=linear)
            else:
                residuals = with_value(steps.along[steps.known], found) - self.along[steps.known]
                self.along = self.along + changes(residuals, steps=linear)
        self.values = self.along[:, -1]
        return True

    def stages_and_ends(self) -> tuple[Any, Any]:
        """The (t, y) of the stages whose slopes SciPy computed, and the values at the ends of all steps."""
        return unseen_if_constant(self.steps.stages_and_ends, self.times, self.along)

    def states(self, values: Any) -> Any:
        """The states that some values of these steps stand for."""
        return in_complex(values) if self.is_complex else values

    def between(self, t: Any) -> Any:
        """The values at some times, a row for each."""
        k, weights = self.weights(t)
        if not self.is_whole:
            weights = np.where(unseen(self.is_behind, t)[:, None], np.nan, weights)
        return np.einsum("es,esn->en", weights, self.along[k])

    def is_behind(self, t: Any) -> Any:
        """Whether each of some times lies behind these steps."""
        start, *_, end = self.steps.times
        return np.asarray(t) > end if end > start else np.asarray(t) < end

    def weights(self, t: Any) -> tuple[np.ndarray, Any]:
        """The steps in which some times lie, and the weights of slopes and value that yield the value at each time."""
        return unseen_if_constant(self.steps.weights, self.times, np.asarray(t))


def unseen_if_constant(f: Any, *args: Any) -> Any:
    """The result of f, untraced if no argument is traced: that is faster."""
    return f(*args) if is_traced(args) else unseen(f, *args)


class DenseSolution:
    """y(t) between the times of the steps, as `OdeSolution` gives it, with its derivatives."""

    def __init__(self, native: Any, path: Path) -> None:
        self.native, self.path = native, path
        self.ts, self.t_min, self.t_max = native.ts, native.t_min, native.t_max

    def __call__(self, t: Any) -> Any:
        found = self.path.states(self.path.between(np.atleast_1d(t)))
        return with_value(unseen(self.native, t), found[0] if np.ndim(t) == 0 else np.transpose(found))
