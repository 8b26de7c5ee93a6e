"""`solve_ivp` and `odeint` in compiled functions, at given times: calls of functions with native code."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate
from scipy.integrate._ivp.ivp import OdeResult

from wengert.extend import (
    NotNativeError,
    chosen_adjoint,
    compiled_by,
    native_function,
    partly_known,
    refuse_native,
    unseen,
)
from wengert_rules.scipy.arguments import arguments, unpacked
from wengert_rules.scipy.integrate.native_collocation import ScipyProblem
from wengert_rules.scipy.integrate.native_steps import FailedError, Method, Problem, solved

EXPLICIT = {method.__name__: method for method in (integrate.RK23, integrate.RK45, integrate.DOP853)}
"""The methods that are native code. For the others, and odeint, the right-hand side is."""
METHODS = EXPLICIT | {method.__name__: method for method in (integrate.Radau, integrate.BDF, integrate.LSODA)}
OF_ODEINT = {"func", "y0", "t", "args", "rtol", "atol", "mxstep", "tfirst"}
"""The parameters of odeint that are supported."""
WORDS = {
    "fun", "t_span", "y0", "method", "t_eval", "dense_output", "events", "vectorized", "args", "rtol", "atol",
    "first_step", "max_step",
}  # fmt: skip
"""The parameters of solve_ivp that are supported."""


@compiled_by(integrate.solve_ivp)
def solve_ivp(*given: Any, **words: Any) -> Any:
    call = arguments(integrate.solve_ivp, given, words)
    check(call)
    f, args, (start, end) = call["fun"], unpacked(call["args"]), call["t_span"]
    of_one = lambda t, y: f(t, y, *args)  # noqa: E731
    if call["vectorized"]:
        of_one = lambda t, y: f(t, y[:, None], *args)  # noqa: E731
    first = np.nan if call.get("first_step") is None else call["first_step"]
    options = call.get("rtol", 1e-3), call.get("atol", 1e-6), first, call.get("max_step", np.inf)
    others = call["y0"], options, call["vectorized"], method_name(call)
    at_times = lambda at: native_values(of_one, (start, end), at, *others)  # noqa: E731
    values, problem = at_times(np.asarray([end] if call["t_eval"] is None else call["t_eval"]).astype(float))
    return result_of(call, values, problem, DenseSolution(call, at_times) if call["dense_output"] else None)


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


class DenseResult(OdeResult):
    """A result whose `sol` is known, but neither the times of the steps nor the values there."""

    def __getitem__(self, name: str) -> Any:
        if name not in ("t", "y"):
            return dict.__getitem__(self, name)
        refuse_native(f"it reads {name} of a solution without t_eval=")
        return integrate.solve_ivp(**dict.__getitem__(self, "sol")._call)[name]


def method_name(call: dict[str, Any]) -> str:
    """Return the name of the method of a call."""
    method = call["method"]
    return method if isinstance(method, str) else method.__name__


def result_of(call: dict[str, Any], values: Any, problem: Any, dense: Any = None) -> Any:
    """Return the result of a call of solve_ivp, of which some entries are not known."""
    known = {
        "t": np.array(call["t_eval"]), "y": np.transpose(values), "sol": dense, "t_events": None, "y_events": None,
        "status": 0, "success": True, "message": "The solver successfully reached the end of the integration interval.",
    }  # fmt: skip
    kind = OdeResult
    if call["t_eval"] is None:
        del known["t"], known["y"]
        kind = DenseResult
    return partly_known(kind(**problem.evaluations, **known), known)


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
    given = (at[0], at[-1]), at, np.atleast_1d(call["y0"]), (*options, np.nan, np.inf)
    return native_values(of_one, *given, False, "odeint", mxstep=call["mxstep"])[0]


def native_values(
    f: Any, span: Any, at: Any, y0: Any, options: Any, is_vectorized: bool, solver: str, **words: Any
) -> tuple[Any, Any]:
    """Return the values of a solution, and its problem. Errors: NotNativeError."""
    (start, end), y0 = span, np.asarray(y0).astype(float)
    native = native_function(f, float(start), y0)
    if native.native.size != y0.size or not (is_vectorized or native.shape == y0.shape):
        raise NotNativeError(f"the right-hand side returns an array of shape {native.shape}")
    while True:
        problem = unseen(problem_of, native.native, solver, **words)
        try:
            return native.call(solved, start, end, at, y0, *options, problem=problem), problem
        except FailedError as error:
            if not error.x:
                raise
            native = native.with_branch(*error.x)
        except (ArithmeticError, ValueError) as error:
            raise NotNativeError(str(error)) from None


def problem_of(f: Any, solver: str, **words: Any) -> Any:
    """The problem with a right-hand side and a solver."""
    if solver in EXPLICIT:
        return Problem(f, Method.of(EXPLICIT[solver]))
    return ScipyProblem(f, solver, **words)


def check(call: dict[str, Any]) -> None:
    """Check that native code supports a call. Errors: NotNativeError."""
    if chosen_adjoint() != "discrete":
        raise NotNativeError("native code has no ode_adjoint")
    method, y0 = call["method"], np.asarray(call["y0"])
    if not any([method is known or method == name for name, known in METHODS.items()]):
        raise NotNativeError(f"native code has the methods {', '.join(METHODS)}")
    if call["events"] is not None:
        raise NotNativeError("native code has no events=")
    if call["dense_output"] and method_name(call) not in EXPLICIT:
        raise NotNativeError(f"native code has dense_output= for the methods {', '.join(EXPLICIT)}")
    if call["t_eval"] is None and not call["dense_output"]:
        raise NotNativeError("native code needs t_eval=; for the end alone pass t_eval=[end]")
    at = [] if call["t_eval"] is None else call["t_eval"]
    if y0.ndim != 1 or np.iscomplexobj(y0) or not y0.size or np.ndim(at) != 1:
        raise NotNativeError("y0 or t_eval is not a vector of real numbers")
    if not {*call} <= WORDS:
        raise NotNativeError(f"native code does not support {', '.join(sorted({*call} - WORDS))}")
    if not isinstance(call["args"], tuple | list | np.ndarray | None):
        raise NotNativeError("args= is not a tuple")
