"""`solve_ivp` in a function under `vmap`: one call of a function with a batching rule, for all examples."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from wengert.extend import NotNativeError, as_written, order_in_batch, unseen
from wengert_rules.scipy.arguments import unpacked
from wengert_rules.scipy.integrate.along_steps import stages_of
from wengert_rules.scipy.integrate.batched_collocation import IMPLICIT, CollocatedBatch
from wengert_rules.scipy.integrate.batched_steps import BatchProblem
from wengert_rules.scipy.integrate.native_initial_values import (
    EXPLICIT,
    METHODS,
    DenseSolution,
    check,
    method_name,
    options_of,
    result_of,
)
from wengert_rules.scipy.integrate.native_steps import solved
from wengert_rules.scipy.integrate.paths import in_complex, in_pairs
from wengert_rules.scipy.integrate.recorded import SMALL, as_reals, recorded, solved_by_steps

OF_JACOBIANS = "jac", "jac_sparsity"
"""The options of implicit methods with which each example is solved alone."""


def solved_in_batch(call: dict[str, Any]) -> Any:
    """Return the result of a call of solve_ivp under `vmap`, for all examples; None if each is solved alone.

    SciPy solves the first example, whose values the function under `vmap` sees.
    """
    order: Any = order_in_batch()
    if call["events"] is not None or order > 1:
        return None
    try:
        check(call)
        method, end, given = method_name(call), call["t_span"][1], np.asarray(call["y0"])
        given = given if np.iscomplexobj(given) else given.astype(float)
        at = np.asarray([end] if call["t_eval"] is None else call["t_eval"]).astype(float)
        call = {**call, "args": unpacked(call["args"]), "y0": given, "method": method}
    except (NotNativeError, TypeError, ValueError):  # SciPy says what is wrong with them
        return None
    size = given.size * (1 + np.iscomplexobj(given))
    if not at.size or not may_be_batched(call) or (size > SMALL and (order == 1 or method not in EXPLICIT)):
        return None
    stages = stages_of(call["fun"], call["args"], call["t_span"][0], given, call["vectorized"])
    if stages is None:
        return None
    at_times = lambda at: values_of(stages, call, at, order == 1)  # noqa: E731
    try:
        values, problem = at_times(at)
    except NotNativeError:
        return None
    dense = DenseSolution(call, at_times) if call["dense_output"] else None
    return result_of(call, values, problem.evaluations, (end, values[-1]), sol=dense)


def may_be_batched(call: dict[str, Any]) -> bool:
    """Whether examples are solved together by the method of a call, with its options."""
    method = call["method"]
    return method in EXPLICIT or (method in IMPLICIT and all([call.get(name) is None for name in OF_JACOBIANS]))


def values_of(stages: Any, call: dict[str, Any], at: Any, is_differentiated: bool) -> tuple[Any, BatchProblem]:
    """Return the values at some times, a row for each, and the problem. Errors: NotNativeError."""
    (start, end), y0 = call["t_span"], in_pairs(call["y0"])
    problem = unseen(first_solved, stages, {**call, "t_eval": at, "dense_output": False}, is_differentiated)
    values = problem.f.passed_to(solved, start, end, at, y0, *options_of(call), problem=problem)
    return in_complex(values) if np.iscomplexobj(call["y0"]) else values, problem


def first_solved(stages: Any, call: dict[str, Any], is_differentiated: bool) -> BatchProblem:
    """Return the problem, with its first example solved. Errors: NotNativeError if that fails, or if f has effects."""
    is_complex, method = np.iscomplexobj(call["y0"]), call["method"]
    given, problem = (call["y0"].size * (1 + is_complex), is_complex), cast("BatchProblem", None)
    call = {**call, "fun": as_written(call["fun"]), "method": METHODS[method]}
    of_first: Any
    if method in EXPLICIT:
        problem = BatchProblem(stages.of_rows(), EXPLICIT[method], *given)
        found, steps, _ = recorded(**call)
        of_first = steps and (as_reals(found["y"].T), steps)
    else:
        problem = CollocatedBatch(stages.of_rows(), method, *given, is_differentiated)
        found, times, between = solved_by_steps(**call)
        of_first = as_reals(found["y"].T), times, between
    if stages.is_put_back() or not found["success"] or of_first is None:
        raise NotNativeError("the solver fails, or its right-hand side changes something outside")
    problem.first = of_first
    return problem
