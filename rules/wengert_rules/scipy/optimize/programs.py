"""Linear programs, assignments and isotonic regression: their solutions move with what holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from wengert.extend import is_traced, minimum, non_differentiable, stands_for, unseen, with_value
from wengert_rules.scipy.arguments import arguments
from wengert_rules.scipy.optimize.limits import limits_of

non_differentiable(optimize.linear_sum_assignment)


def in_vertex(found: Any, costs: Any, integrality: Any, bounds: Any, constraints: Any) -> Any:
    """The result of a linear program, with its vertex as the solution of what holds there; integers are constants."""
    x = found["x"]
    if x is None:
        return found
    lower, upper = np.broadcast_to(bounds[0], x.shape), np.broadcast_to(bounds[1], x.shape)
    if integrality is not None:
        is_whole = np.broadcast_to(np.asarray(integrality) > 0, x.shape)
        lower, upper = np.where(is_whole, x, lower), np.where(is_whole, x, upper)
    if is_traced([lower, upper, *[part for c in constraints for part in (c.A, c.lb, c.ub)]]):
        gaps, is_equality = limits_of(x, (lower, upper), constraints)
        x = minimum(lambda x: costs + 0.0 * x, x, None, gaps, is_equality)
    found["x"], found["fun"] = x, with_value(found["fun"], np.dot(costs, x))
    return found


class Rows:
    """lower ≤ A x ≤ upper."""

    def __init__(self, matrix: Any, lower: Any, upper: Any) -> None:
        self.A, self.lb, self.ub = matrix, lower, upper


@stands_for(optimize.linprog)
def linprog(*given: Any, **words: Any) -> Any:
    call = arguments(optimize.linprog, given, words)
    found, costs, rows = unseen(optimize.linprog, *given, **words), np.asarray(call["c"], float), []
    if call["A_ub"] is not None:
        most = np.atleast_1d(np.asarray(call["b_ub"], float))
        rows.append(Rows(as_matrix(call["A_ub"]), np.full(np.shape(most), -np.inf), most))
    if call["A_eq"] is not None:
        values = np.atleast_1d(np.asarray(call["b_eq"], float))
        rows.append(Rows(as_matrix(call["A_eq"]), values, values))
    return in_vertex(found, costs, call["integrality"], ends_of(call["bounds"]), rows)


def as_matrix(a: Any) -> Any:
    return np.atleast_2d(np.asarray(a, float)) if isinstance(a, (list, tuple, np.ndarray)) else a


def ends_of(bounds: Any) -> Any:
    """The lower and upper bounds as linprog has them: one pair for all, or one for each."""
    if bounds is None:
        return 0.0, np.inf
    pairs = [bounds] if np.ndim(bounds[0]) == 0 else bounds
    lower, upper = [-np.inf if lo is None else lo for lo, _ in pairs], [np.inf if hi is None else hi for _, hi in pairs]
    return np.array(lower, float), np.array(upper, float)


@stands_for(optimize.milp)
def milp(*given: Any, **words: Any) -> Any:
    call = arguments(optimize.milp, given, words)
    bounds, constraints = call["bounds"], call["constraints"]
    held = (0.0, np.inf) if bounds is None else (bounds.lb, bounds.ub)
    if constraints is None:
        constraints = []
    elif isinstance(constraints, optimize.LinearConstraint):
        constraints = [constraints]
    elif not isinstance(constraints[0], optimize.LinearConstraint):
        constraints = [optimize.LinearConstraint(*constraints)]
    rows = [Rows(as_matrix(c.A), c.lb, c.ub) for c in constraints]
    found = unseen(optimize.milp, *given, **words)
    return in_vertex(found, np.atleast_1d(call["c"]), call["integrality"], held, rows)


@stands_for(optimize.quadratic_assignment)
def quadratic_assignment(*given: Any, **words: Any) -> Any:
    call, found = (
        arguments(optimize.quadratic_assignment, given, words),
        unseen(optimize.quadratic_assignment, *given, **words),
    )
    columns = found["col_ind"]
    found["fun"] = with_value(found["fun"], np.sum(call["A"] * call["B"][columns][:, columns]))
    return found


@stands_for(optimize.isotonic_regression)
def isotonic_regression(*given: Any, **words: Any) -> Any:
    """The mean of each block of what it gives."""
    call, found = (
        arguments(optimize.isotonic_regression, given, words),
        unseen(optimize.isotonic_regression, *given, **words),
    )
    y, weights, edges = np.asarray(call["y"], float), call["weights"], found["blocks"]
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, float)
    means = [
        np.full(hi - lo, 1.0) * (np.dot(weights[lo:hi], y[lo:hi]) / np.sum(weights[lo:hi]))
        for lo, hi in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]
    found["x"] = with_value(found["x"], np.concatenate(means))
    return found
