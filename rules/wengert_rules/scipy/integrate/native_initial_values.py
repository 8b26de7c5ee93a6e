"""`solve_ivp` in compiled functions: one call of native code, for explicit methods and given times."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate
from scipy.integrate._ivp.ivp import OdeResult

from wengert.extend import NotNativeError, compiled_by, native_function, partly_known, unseen
from wengert_rules.scipy.arguments import arguments, unpacked
from wengert_rules.scipy.integrate.native_steps import FailedError, Method, Problem, solved

METHODS = {method.__name__: method for method in (integrate.RK23, integrate.RK45, integrate.DOP853)}
WORDS = {
    "fun", "t_span", "y0", "method", "t_eval", "dense_output", "events", "vectorized", "args", "rtol", "atol",
    "first_step", "max_step",
}  # fmt: skip


@compiled_by(integrate.solve_ivp)
def solve_ivp(*given: Any, **words: Any) -> Any:
    call = arguments(integrate.solve_ivp, given, words)
    check(call)
    method = call["method"] if isinstance(call["method"], type) else METHODS[call["method"]]
    y0, at, (start, end) = (
        np.asarray(call["y0"]).astype(float),
        np.asarray(call["t_eval"]).astype(float),
        call["t_span"],
    )
    f, args = call["fun"], unpacked(call["args"])
    of_one = lambda t, y: f(t, y, *args)  # noqa: E731
    if call["vectorized"]:
        of_one = lambda t, y: f(t, y[:, None], *args)  # noqa: E731
    native = native_function(of_one, float(start), y0)
    if native.native.size != y0.size or not (call["vectorized"] or native.shape == y0.shape):
        raise NotNativeError(f"the right-hand side returns an array of shape {native.shape}")
    first = np.nan if call.get("first_step") is None else call["first_step"]
    options = call.get("rtol", 1e-3), call.get("atol", 1e-6), first, call.get("max_step", np.inf)
    while True:
        problem = unseen(Problem, native.native, unseen(Method.of, method))
        try:
            values = native.call(solved, start, end, at, y0, *options, problem=problem)
            break
        except FailedError as error:
            native = native.with_branch(*error.x)
        except (ArithmeticError, ValueError) as error:
            raise NotNativeError(str(error)) from None
    known = {
        "t": np.array(call["t_eval"]), "y": np.transpose(values), "sol": None, "t_events": None, "y_events": None,
        "njev": 0, "nlu": 0, "status": 0, "success": True,
        "message": "The solver successfully reached the end of the integration interval.",
    }  # fmt: skip
    return partly_known(OdeResult(nfev=problem.evaluations, **known), known)


def check(call: dict[str, Any]) -> None:
    """Check that native code supports a call. Errors: NotNativeError."""
    method, y0 = call["method"], np.asarray(call["y0"])
    if not any([method is known or method == name for name, known in METHODS.items()]):
        raise NotNativeError(f"native code has the methods {', '.join(METHODS)}")
    if call["dense_output"] or call["events"] is not None:
        raise NotNativeError("native code has no events= and dense_output=")
    if call["t_eval"] is None:
        raise NotNativeError("native code needs t_eval=; for the end alone pass t_eval=[end]")
    if y0.ndim != 1 or np.iscomplexobj(y0) or not y0.size or np.ndim(call["t_eval"]) != 1:
        raise NotNativeError("y0 or t_eval is not a vector of real numbers")
    if not {*call} <= WORDS:
        raise NotNativeError(f"native code does not support {', '.join(sorted({*call} - WORDS))}")
    if not isinstance(call["args"], tuple | list | np.ndarray | None):
        raise NotNativeError("args= is not a tuple")
