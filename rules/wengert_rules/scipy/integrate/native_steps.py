"""Initial value problems in compiled functions: solved by native code with SciPy's step control, as one call.

The derivatives are those along the steps. If the native code does not reach the end, the compiled function runs
uncompiled, so that SciPy says why.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from scipy import integrate
from scipy.integrate._ivp.ivp import OdeResult

from wengert.extend import NotNativeError, Sealed, batching, compiled_by, jvp_rule, kernels, native_function, not_native, unseen, vjp_rule
from wengert_rules.scipy.arguments import arguments, unpacked
from wengert_rules.scipy.integrate import step_kernels
from wengert_rules.scipy.integrate.recorded import TABLEAUX

METHODS = {method.__name__: method for method in TABLEAUX if hasattr(method, "A")}
KEPT = 1 << 20
"""The most numbers of solutions that are kept for their derivatives."""
OPTIONS = 8
"""The number of arguments of `solved` before what the right-hand side reads."""


class Method(NamedTuple):
    """The coefficients of a method as the kernels take them."""

    A: np.ndarray
    C: np.ndarray
    E: np.ndarray
    mixture: np.ndarray
    turns: bool
    stages: int
    order: float

    @staticmethod
    def of(solver: Any) -> Method:
        tableau, s = TABLEAUX[solver], solver.n_stages
        E = np.array([solver.E3, solver.E5] if solver is integrate.DOP853 else [solver.E])
        parts = tableau.A, tableau.C, E, tableau.mixture
        A, C, E, mixture = [np.ascontiguousarray(part, float) for part in parts]
        return Method(A, C, E, mixture, solver is integrate.DOP853, s, float(solver.error_estimator_order))

    @property
    def coefficients(self) -> tuple[Any, ...]:
        return self.A, self.C, self.mixture, self.turns, self.stages


_F, _COEFFICIENTS = "CALLBACK, READ, PLACES", "ROWS, READ, ROWS, types.boolean, types.int64"
SIGNATURES = {
    "solve": f"({_F}, {', '.join(6 * ['READ'])}, ROWS, READ, ROWS, ROWS, types.boolean, types.int64, types.float64)",
    "pull": f"({_F}, {_F}, ROWS, READ, ROWS, {_COEFFICIENTS}, types.int64)",
    "push": f"({_F}, CALLBACK, ROWS, PLACES, ROWS, READ, ROWS, {_COEFFICIENTS})",
}
"""The numba types of the kernels' arguments."""


@functools.cache
def kernel(name: str) -> Any:
    """The compiled kernel of this name."""
    return kernels(step_kernels, {name: SIGNATURES[name]})[name]


class Steps(NamedTuple):
    """A solution: the content of the arguments, the evaluations, a row (t, y) for each step, and the values asked for."""

    key: list[bytes]
    evaluations: int
    rows: np.ndarray
    found: np.ndarray


class FailedError(ArithmeticError):
    """The native code of the right-hand side fails at (t, y): its branches are other ones, or a number is infinite."""

    def __init__(self, x: np.ndarray) -> None:
        super().__init__("the native code of the right-hand side fails")
        self.t, self.y = x[0], x[1:]


class Problem(Sealed):
    """The right-hand side and method of initial value problems; it keeps the last solutions for their derivatives."""

    def __init__(self, f: Any, method: Method) -> None:
        self.f, self.method, self.kept = f, method, list[Steps]()

    def solve(self, *args: Any) -> Steps:
        """Return the solution for the arguments of `solved`, and keep it.

        Errors: ArithmeticError if the kernel does not reach the end, ValueError if SciPy refuses the arguments.
        """
        (start, end, at, y0, rtol, atol, first, largest), outer = args[:OPTIONS], args[OPTIONS:]
        span, limits = np.array([start, end], float), np.array([first, largest], float)
        rtol, atol = rtol + np.zeros(y0.size), atol + np.zeros(y0.size)
        f, m = self.f.value, self.method
        failed, evaluations, *arrays, x = kernel("solve")(
            f.function, f.parameters(outer), f.integers, span, y0, at, rtol, atol, limits,
            m.A, m.C, m.E, m.mixture, m.turns, m.stages, m.order,
        )  # fmt: skip
        if failed == 1:
            raise FailedError(x)
        if failed == 2:
            raise ArithmeticError("the steps become too small")
        if failed:
            raise ValueError("SciPy refuses the arguments, or warns of them")
        made = Steps(content(args), evaluations, *arrays)
        kept = [made, *self.kept]
        while len(kept) > 1 and sum([steps.rows.size for steps in kept]) > KEPT:
            del kept[-1]
        self.kept = kept
        return made

    def solution(self, *args: Any) -> Steps:
        """Return the solution for the arguments of `solved`: one that is kept, or another."""
        key = content(args)
        return next((steps for steps in self.kept if steps.key == key), None) or self.solve(*args)


def content(args: tuple[Any, ...]) -> list[bytes]:
    """What numbers and arrays hold."""
    return [np.asarray(arg).tobytes() for arg in args]


def solved(*args: Any, problem: Any) -> Any:
    """The values of a solution at some times, a row for each."""
    return problem.solve(*args).found


def pulled(y_bar: Any, *args: Any, problem: Any) -> Any:
    """The cotangents of (t_span, times, y0, what the right-hand side reads), one after the other."""
    steps, f, outer = problem.solution(*args), problem.f, args[OPTIONS:]
    value, pull = f.value, f.pullback
    failed, bar = kernel("pull")(
        value.function, value.parameters(outer), value.integers, pull.function, pull.parameters(outer), pull.integers,
        steps.rows, args[2], np.ascontiguousarray(y_bar), *problem.method.coefficients, f.outer_size,
    )  # fmt: skip
    if failed:
        raise ArithmeticError("the native code does not reach the end")
    return bar


def pushed(dots: Any, *args: Any, problem: Any) -> Any:
    """The tangents of the values for tangents of (t_span, times, y0, outer), a row for each direction."""
    steps, f, outer = problem.solution(*args), problem.f, args[OPTIONS:]
    value, push, middle = f.value, f.pushforward, dots.shape[1] - f.outer_size
    p = np.array([push.parameters([*outer, dot[middle:]]) for dot in dots])
    failed, found = kernel("push")(
        value.function, value.parameters(outer), value.integers, push.function, p, push.integers,
        steps.rows, args[2], np.ascontiguousarray(dots[:, :middle]), *problem.method.coefficients,
    )  # fmt: skip
    if failed:
        raise ArithmeticError("the native code does not reach the end")
    return found


@vjp_rule(solved)
def solved_(y_bar, y, *args, problem, wanted):  # type: ignore[no-untyped-def]
    bar = pulled(y_bar, *args, problem=problem)
    bars, begin = [], 0
    for k, arg in enumerate(args):
        if 4 <= k < OPTIONS:
            bars.append(None)
            continue
        end = begin + np.size(arg)
        bars.append(np.reshape(bar[begin:end], np.shape(arg)) if np.ndim(arg) else bar[begin])
        begin = end
    return tuple(bars)


@jvp_rule(solved, broadcasts=True)
def push_solved(tangents, y, *args, problem):  # type: ignore[no-untyped-def]
    directions = [t.shape[0] for t, a in zip(tangents, args, strict=True) if t is not None and np.ndim(t) > np.ndim(a)]
    count = directions[0] if directions else 1
    parts = []
    for k, (tangent, arg) in enumerate(zip(tangents, args, strict=True)):
        if 4 <= k < OPTIONS:
            continue
        if tangent is None:
            parts.append(np.zeros((count, np.size(arg))))
        else:
            rows = count if np.ndim(tangent) > np.ndim(arg) else 1
            parts.append(np.zeros((count, 1)) + np.reshape(tangent, (rows, np.size(arg))))
    found = pushed(np.concatenate(parts, axis=1), *args, problem=problem)
    return found if directions else found[0]


@vjp_rule(pulled, pushed)
def no_second_derivative(y_bar, y, *args, problem, wanted):  # type: ignore[no-untyped-def]
    raise NotNativeError("second derivatives of solutions run uncompiled")


@batching(pulled)
def pulled_in_batches(batch, y_bar, *args, problem):  # type: ignore[no-untyped-def]
    if any(batch.axes[1:]):
        return NotImplemented
    return np.stack([pulled(bar, *args, problem=problem) for bar in y_bar])


class Solution(OdeResult):
    """The result of solve_ivp in a trace, which gives up if it is asked for the number of evaluations."""

    def __getitem__(self, name: str) -> Any:
        if name == "nfev":
            not_native("it reads nfev= of a solution")
        return dict.__getitem__(self, name)

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __reduce__(self) -> Any:
        return OdeResult, (dict(self),)


def that_reads_all(method: Any) -> Any:
    """The method of a dictionary, for a Solution."""

    @functools.wraps(method)
    def reading(self: Any, *args: Any) -> Any:
        not_native("it reads all items of a solution")
        return method(self, *args)

    return reading


for _name in (
    "__iter__", "__reversed__", "keys", "values", "items", "get", "pop", "popitem", "setdefault", "copy", "__eq__", "__ne__",
    "__or__", "__ror__",
):  # fmt: skip
    setattr(Solution, _name, that_reads_all(getattr(dict, _name)))
Solution.__name__ = Solution.__qualname__ = "OdeResult"


@compiled_by(integrate.solve_ivp)
def solve_ivp(*given: Any, **words: Any) -> Any:
    call = arguments(integrate.solve_ivp, given, words)
    method, t_eval = call["method"], call["t_eval"]
    method = METHODS.get(method) if isinstance(method, str) else method
    if method not in METHODS.values():
        raise NotNativeError(f"only {', '.join(METHODS)} are solved in native code")
    if t_eval is None or call["dense_output"] or call["events"] is not None:
        raise NotNativeError("it is not given t_eval=, or asks for events or a dense output")
    y0, (start, end) = np.asarray(call["y0"]), call["t_span"]
    if y0.ndim != 1 or np.iscomplexobj(y0) or not y0.size:
        raise NotNativeError("y0 is not a vector of real numbers")
    y0, at = y0.astype(float), np.asarray(t_eval).astype(float)
    f, args = call["fun"], unpacked(call["args"])
    if call["vectorized"]:
        of_one = lambda t, y: f(t, y[:, None], *args)  # noqa: E731
    else:
        of_one = lambda t, y: f(t, y, *args)  # noqa: E731
    native = native_function(of_one, float(start), y0)
    limits = np.nan if call.get("first_step") is None else call["first_step"], call.get("max_step", np.inf)
    tolerances = call.get("rtol", 1e-3), call.get("atol", 1e-6)
    while True:
        problem = unseen(Problem, native.native, unseen(Method.of, method))
        try:
            values = native.call(solved, start, end, at, y0, *tolerances, *limits, problem=problem)
            break
        except FailedError as error:
            native = native.with_branch(error.t, error.y)
        except (ArithmeticError, ValueError) as error:
            raise NotNativeError(str(error)) from None
    return Solution(
        t=np.array(t_eval), y=np.transpose(values), sol=None, t_events=None, y_events=None, nfev=problem.kept[0].evaluations,
        njev=0, nlu=0, status=0, message="The solver successfully reached the end of the integration interval.",
        success=True,
    )  # fmt: skip
