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
    if call["dense_output"] or call["events"] is not None or call["t_eval"] is None:
        return None
    try:
        check(call)
        method = method_name(call)
        given, args = np.asarray(call["y0"]), unpacked(call["args"])
        y0 = in_pairs(given).astype(float)
        at = np.asarray(call["t_eval"]).astype(float)
    except (NotNativeError, TypeError, ValueError):  # SciPy says what is wrong with them
        return None
    if not at.size or order > 1 or (y0.size > SMALL and (order == 1 or method not in EXPLICIT)):
        return None
    if method not in EXPLICIT and (
        method not in IMPLICIT or any([call.get(name) is not None for name in OF_JACOBIANS])
    ):
        return None
    start, end = call["t_span"]
    stages = stages_of(call["fun"], args, start, given, call["vectorized"])
    call = {
        **call,
        "y0": given if np.iscomplexobj(given) else y0,
        "t_eval": at,
        "args": args,
        "method": method,
    }
    problem = None if stages is None else unseen(first_solved, stages, call, order == 1)
    if problem is None:
        return None
    values = problem.f.passed_to(solved, start, end, at, y0, *options_of(call), problem=problem)
    return result_of(call, in_complex(values) if np.iscomplexobj(given) else values, problem.evaluations)


def first_solved(stages: Any, call: dict[str, Any], is_differentiated: bool) -> BatchProblem | None:
    """Return the problem, with its first example solved; None if that fails, or if f has effects."""
    is_complex, method = np.iscomplexobj(call["y0"]), call["method"]
    given, problem = (call["y0"].size * (1 + is_complex), is_complex), cast("BatchProblem", None)
    call = {**call, "fun": as_written(call["fun"]), "method": METHODS[method]}
    of_first: Any
    try:
        if method in EXPLICIT:
            problem = BatchProblem(stages.of_rows(), EXPLICIT[method], *given)
            found, steps, _ = recorded(**call)
            of_first = steps and (as_reals(found["y"].T), steps)
        else:
            problem = CollocatedBatch(stages.of_rows(), method, *given, is_differentiated)
            found, times, between = solved_by_steps(**call)
            of_first = as_reals(found["y"].T), times, between
    except NotNativeError:
        return None
    if stages.is_put_back() or not found["success"] or of_first is None:
        return None
    problem.first = of_first
    return problem
