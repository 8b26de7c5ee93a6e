"""`solve_ivp` and `odeint` in compiled functions, at given times: calls of functions with native code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate
from scipy.integrate._ivp.ivp import MESSAGES, OdeResult, prepare_events

from wengert.extend import (
    KnownEnds,
    NotNativeError,
    chosen_adjoint,
    compiled_by,
    directly,
    native_function,
    order,
    partly_known,
    refuse_native,
    stopped,
    unseen,
)
from wengert_rules.scipy.arguments import arguments, unpacked
from wengert_rules.scipy.integrate.along_steps import as_roots, example_of, slopes_of
from wengert_rules.scipy.integrate.native_collocation import ScipyProblem
from wengert_rules.scipy.integrate.native_events import EventProblem, located
from wengert_rules.scipy.integrate.native_steps import FailedError, Method, Problem, solved
from wengert_rules.scipy.integrate.paths import in_complex

EXPLICIT = {method.__name__: method for method in (integrate.RK23, integrate.RK45, integrate.DOP853)}
"""The methods that are native code. For the others, and odeint, the right-hand side is."""
METHODS = EXPLICIT | {method.__name__: method for method in (integrate.Radau, integrate.BDF, integrate.LSODA)}
OF_ODEINT = {"func", "y0", "t", "args", "rtol", "atol", "h0", "hmax", "mxstep", "tfirst"}
"""The parameters of odeint that are supported."""
WORDS = {
    "fun", "t_span", "y0", "method", "t_eval", "dense_output", "events", "vectorized", "args", "rtol", "atol",
    "first_step", "max_step", "jac", "jac_sparsity",
}  # fmt: skip
"""The parameters of solve_ivp that are supported."""


@compiled_by(integrate.solve_ivp)
def solve_ivp(*given: Any, **words: Any) -> Any:
    call = arguments(integrate.solve_ivp, given, words)
    check(call)
    call["args"], call["y0"] = unpacked(call["args"]), np.asarray(call["y0"])
    if call["events"] is not None:
        return with_events(call)
    at_times, end = lambda at: values_of(call, at), call["t_span"][1]
    values, problem = at_times(np.asarray([end] if call["t_eval"] is None else call["t_eval"]).astype(float))
    dense = DenseSolution(call, at_times) if call["dense_output"] else None
    return result_of(call, values, problem.evaluations, (end, values[-1]), sol=dense)


def values_of(call: dict[str, Any], at: Any) -> tuple[Any, Any]:
    """Return the values at some times, a row for each, and the problem. Errors: NotNativeError."""
    values, problem = states_of(call, call["t_span"][1], at)
    return in_complex(values) if np.iscomplexobj(call["y0"]) else values, problem


def states_of(call: dict[str, Any], end: Any, at: Any, **words: Any) -> tuple[Any, Any]:
    """Return the same with complex numbers in pairs."""
    start, method = call["t_span"][0], method_name(call)
    f, _, y0 = example_of(call["fun"], call["args"], start, call["y0"], call["vectorized"], False)
    if np.iscomplexobj(call["y0"]):
        words["in_pairs"] = True
    if method not in EXPLICIT:
        words |= {"jacobian": jacobian_of(call), **{name: call[name] for name in call if name == "jac_sparsity"}}
    return native_values(f, (start, end), at, y0, options_of(call), call["vectorized"], method, **words)


def options_of(call: dict[str, Any]) -> tuple[Any, ...]:
    """Return the tolerances, and the lengths of the first step, nan if it is not given, and of the largest."""
    first = np.nan if call.get("first_step") is None else call["first_step"]
    tolerances: Any = call.get("rtol", 1e-3), call.get("atol", 1e-6)
    if np.iscomplexobj(call["y0"]):
        tolerances = tuple([np.repeat(part, 2) if np.ndim(part) else part for part in tolerances])
    return *tolerances, first, call.get("max_step", np.inf)


def jacobian_of(call: dict[str, Any]) -> Any:
    """Return the Jacobian at the start by `jac=`, None if there is none.

    Native code computes the Jacobians itself. Errors: NotNativeError if `jac` changes something outside.
    """
    jac: Any = call.get("jac")
    args = call["args"]
    if jac is None:
        return None
    if np.iscomplexobj(call["y0"]):
        raise NotNativeError("native code has no jac= for complex states")
    if callable(jac):
        start, y0 = call["t_span"][0], call["y0"].astype(float)
        native_function(lambda t, y: np.array(jac(t, y, *args)), float(start), y0)
        jac = unseen(jac, start, y0, *args)
    return directly(np.array, jac)


def with_events(call: dict[str, Any]) -> Any:
    """Return the result of a call with events. Errors: NotNativeError."""
    (start, end), y0 = call["t_span"], call["y0"]
    functions, most, directions = prepare_events(call["events"])
    events = [example_of(g, call["args"], start, y0, False, True)[0] for g in functions]
    at = np.asarray([] if call["t_eval"] is None else call["t_eval"]).astype(float)
    rows, outcome = rows_of_events(call, events, at, np.concatenate([most, directions]))
    states_at = lambda at: states_of(call, stopped(float(end)), at, is_short=True)[0]  # noqa: E731
    as_given: Any = in_complex if np.iscomplexobj(y0) else lambda values: values
    found, begin = {"t_events": list[Any](), "y_events": list[Any]()}, 0
    for g, count in zip(events, outcome.counts, strict=True):
        some, begin = rows[begin : begin + count], begin + count
        times = times_of_event(g, some, states_at) if count else np.array([])
        found["t_events"].append(times)
        found["y_events"].append(as_given(states_at(times)) if count else np.array([]))
    values, last = None, (end, None)
    if call["t_eval"] is None:
        if outcome.is_ended:
            e = next(e for e, count in enumerate(outcome.counts) if count >= most[e])
            end = found["t_events"][e][-1]
        last = end, as_given(states_at(np.reshape(end, 1).astype(float)))[0]
    elif outcome.times:
        call = {**call, "t_eval": at[: outcome.times]}
        values = as_given(states_at(call["t_eval"]))
    else:
        raise NotNativeError("an event ends it before all times")
    return result_of(call, values, {"nfev": 0, "njev": 0, "nlu": 0}, last, **found, status=int(outcome.is_ended))


def rows_of_events(call: dict[str, Any], events: list[Any], at: Any, limits: Any) -> tuple[Any, Any]:
    """Return a row (time, ∂y/∂t) for each event, one event after the other, and their Outcome."""
    start, end = call["t_span"]
    f, _, y0 = example_of(call["fun"], call["args"], start, call["y0"], call["vectorized"], False)

    def slope_and_events(t: Any, y: Any) -> Any:
        slope, values = f(t, y), [g(t, y) for g in events]
        if any([np.ndim(value) for value in values]):
            raise NotNativeError("an event returns an array")
        if isinstance(slope, list | tuple):
            return [*slope, *values]
        return np.concatenate([np.ravel(slope), np.array(values)])

    def find(native: Any) -> Any:
        if native.native.size != np.size(y0) + len(events):
            raise NotNativeError("the right-hand side returns another number of slopes than states")
        method = Method.of(EXPLICIT[method_name(call)], np.iscomplexobj(call["y0"]))
        problem = unseen(EventProblem, native.native, method, len(events))
        return native.call(located, start, end, at, y0, *options_of(call), limits, problem=problem), problem.outcome

    return by_branches(slope_and_events, (float(start), y0.astype(float)), find)


def times_of_event(event: Any, rows: Any, states_at: Any) -> Any:
    """Return the times of an event, which have derivatives, for a row (time, ∂y/∂t) of each."""
    native, along = rows[:, 0], rows[:, 1:]
    if not order():
        return native
    values = lambda t, y: np.array([np.reshape(event(t[k], y[k]), ()) for k in range(len(rows))])  # noqa: E731
    at_native = states_at(native)
    y = stopped(at_native)
    slopes = unseen(slopes_of, lambda t: values(t, y + along * (t - native)[:, None]), native)
    if not np.all(slopes):
        refuse_native("an event of solve_ivp has the slope 0 at its time, which has no derivative")
    return as_roots(lambda t: values(t, states_at(t)), native, slopes, values(native, at_native), at_native)


class DenseSolution:
    """y(t) as `OdeSolution` gives it: native code solves again for the times of each call."""

    def __init__(self, call: dict[str, Any], at_times: Any) -> None:
        self._call, self._at_times = call, at_times

    def __call__(self, t: Any) -> Any:
        try:
            values, _ = self._at_times(np.reshape(t, (1,)) if np.ndim(t) == 0 else np.asarray(t))
        except NotNativeError as error:
            refuse_native(f"it evaluates a dense solution: {error}")
            return integrate.solve_ivp(**self._call)["sol"](t)
        return values[0] if np.ndim(t) == 0 else np.transpose(values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        refuse_native(f"it reads {name} of a dense solution, which compiled code does not return")
        return getattr(integrate.solve_ivp(**self._call)["sol"], name)


def step_ends(call: dict[str, Any], end: Any, y: Any) -> dict[str, Any]:
    """Return the times of the steps and y there, of which the first and the last are known: the end and y there."""
    start, y0 = call["t_span"][0], call["y0"]
    times, states = np.stack([start, end]).astype(float), np.stack([y0.astype(y.dtype), y], axis=1)
    reason = "it reads a step of a solution without t_eval= that is neither the first nor the last"
    return {
        "t": KnownEnds(times, lambda: integrate.solve_ivp(**call)["t"], reason),
        "y": KnownEnds(states, lambda: integrate.solve_ivp(**call)["y"], reason),
    }


def method_name(call: dict[str, Any]) -> str:
    """Return the name of the method of a call."""
    method = call["method"]
    return method if isinstance(method, str) else method.__name__


def result_of(
    call: dict[str, Any], values: Any, evaluations: dict[str, int], last: Any = (), status: int = 0, **more: Any
) -> Any:
    """Return the result of a call of solve_ivp, of which some entries are not known.

    Without `t_eval` the first and the `last` (t, y) of the steps are known.
    """
    known = {
        "t": np.array(call["t_eval"]), "y": np.transpose(values), "sol": None, "t_events": None, "y_events": None,
        "status": status, "success": True, "message": MESSAGES[status], **more,
    }  # fmt: skip
    if call["t_eval"] is None:
        known |= step_ends(call, *last)
    return partly_known(OdeResult(**known, **evaluations), known)


@compiled_by(integrate.odeint)
def odeint(*given: Any, **words: Any) -> Any:
    call = arguments(integrate.odeint, given, words)
    defaults = arguments(integrate.odeint, (None, None, None), {})
    others = [name for name in call if name not in OF_ODEINT and call[name] is not defaults[name]]
    if others:
        raise NotNativeError(f"native code does not support {', '.join(others)}")
    f, args, at = call["func"], unpacked(call["args"]), np.asarray(call["t"]).astype(float)
    of_one = lambda t, y: f(t, y, *args)  # noqa: E731
    if not call["tfirst"]:
        of_one = lambda t, y: f(y, t, *args)  # noqa: E731
    options = [1.49012e-8 if call[name] is None else call[name] for name in ("rtol", "atol")]
    given = (at[0], at[-1]), at, np.atleast_1d(call["y0"]), (*options, call["h0"], call["hmax"])
    return native_values(of_one, *given, False, "odeint", mxstep=call["mxstep"])[0]


def native_values(
    f: Any, span: Any, at: Any, y0: Any, options: Any, is_vectorized: bool, solver: str, **words: Any
) -> tuple[Any, Any]:
    """Return the values of a solution, and its problem. Errors: NotNativeError."""
    (start, end), y0 = span, np.asarray(y0).astype(float)

    def solve(native: Any) -> Any:
        if native.native.size != y0.size or not (is_vectorized or native.shape == y0.shape):
            raise NotNativeError(f"the right-hand side returns an array of shape {native.shape}")
        problem = unseen(problem_of, native.native, solver, **words)
        return native.call(solved, start, end, at, y0, *options, problem=problem), problem

    return by_branches(f, (float(start), y0), solve)


def by_branches(f: Any, example: tuple[Any, ...], solve: Callable[[Any], Any]) -> Any:
    """Return what `solve` returns for the native code of f, with all branches that it takes. Errors: NotNativeError."""
    native = native_function(f, *example)
    while True:
        try:
            return solve(native)
        except FailedError as error:
            if not error.x:
                raise
            native = native.with_branch(*error.x)
        except (ArithmeticError, ValueError) as error:
            raise NotNativeError(str(error)) from None


def problem_of(f: Any, solver: str, **words: Any) -> Any:
    """The problem with a right-hand side and a solver."""
    if solver in EXPLICIT:
        return Problem(f, Method.of(EXPLICIT[solver], **words))
    return ScipyProblem(f, solver, **words)


def check(call: dict[str, Any]) -> None:
    """Check that native code supports a call. Errors: NotNativeError."""
    if chosen_adjoint() != "discrete":
        raise NotNativeError("native code has no ode_adjoint")
    method, y0 = call["method"], np.asarray(call["y0"])
    if not any([method is known or method == name for name, known in METHODS.items()]):
        raise NotNativeError(f"native code has the methods {', '.join(METHODS)}")
    is_explicit, has_events = method_name(call) in EXPLICIT, call["events"] is not None
    if has_events and not is_explicit:
        raise NotNativeError(f"native code has events= for the methods {', '.join(EXPLICIT)}")
    if has_events and call["dense_output"]:
        raise NotNativeError("native code has no dense_output= with events=")
    for name in ("jac", "jac_sparsity"):
        if call.get(name) is not None and (is_explicit or (name == "jac_sparsity" and method_name(call) == "LSODA")):
            raise NotNativeError(f"SciPy warns of {name}= for {method_name(call)}")
    at = [] if call["t_eval"] is None else call["t_eval"]
    if y0.ndim != 1 or not y0.size or np.ndim(at) != 1 or np.iscomplexobj(at):
        raise NotNativeError("y0 or t_eval is not a vector of numbers")
    if not {*call} <= WORDS:
        raise NotNativeError(f"native code does not support {', '.join(sorted({*call} - WORDS))}")
    if not isinstance(call["args"], tuple | list | np.ndarray | None):
        raise NotNativeError("args= is not a tuple")
