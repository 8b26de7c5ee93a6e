"""Implicit derivatives of minima, where the gradient vanishes, or with constraints that of the Lagrangian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.api.gradient import grad
from wengert.api.implicit import followed
from wengert.api.jacobians import jacobian
from wengert.errors import NoDerivativeError
from wengert.hooks.solver_callbacks import is_for_code, is_taped, is_traced, order, unseen
from wengert.rulebook.declare import jvp_rule, vjp_rule
from wengert.values.functional import stopped

ENTERED = "It calls the objective, and computes with its results."

ACTIVE = 1e-5
"""The relative distance from its bound within which a constraint with a multiplier counts as active."""


def minimum(
    gradient: Callable[[Any], Any], x: Any, hessian: Any = None, gaps: Any = None, is_equality: Any = ()
) -> Any:
    """Return the constant vector `x` with the derivative of a minimum, by its `gradient`, and its `hessian` if given.

    The active constraints join the KKT conditions.

    Parameters:
        gradient (callable): The gradient of the function whose minimum x is.
        x (array): The minimum.
        hessian (callable | None): Its Hessian.
        gaps (callable | None): `gaps(x)` are the constraints: zero where `is_equality`, else not negative.
        is_equality (Sequence[bool]): For each constraint, whether it is an equality.
    Returns:
        array: x, with its derivative.
    Raises:
        NoDerivativeError: An active constraint has a zero multiplier, or x is not isolated or no minimum.
    See Also:
        followed, implicit

    Examples:
        >>> wg.jacobian(lambda a: wg.extend.minimum(lambda x: x**3 - a, np.array([2.0])))(8.0).round(9)
        array([0.08333333])
    """
    x = stopped(x)
    if gaps is None:
        return followed(gradient, x, hessian)
    active, multipliers = unseen(_active_constraints, gradient, x, gaps, np.asarray(is_equality))
    if not len(active):
        slope = unseen(gradient, x)
        if np.max(np.abs(slope)) > unseen(_gradient_noise, gradient, x):
            raise NoDerivativeError(
                "the gradient is not zero at the solver's minimum, and no constraint is active there. Pass the "
                "solver a smaller tolerance (`xtol`, `gtol` and `barrier_tol` of trust-constr)."
            )
        return followed(gradient, x, hessian)
    n = len(x)

    def kkt_conditions(z: Any) -> Any:
        x, multipliers = z[:n], z[n:]
        normal = grad(lambda x: np.sum(multipliers * gaps(x)[active]))(x)
        return np.concatenate([gradient(x) - normal, gaps(x)[active]])

    return followed(kkt_conditions, np.concatenate([x, multipliers]))[:n]


def _gradient_noise(gradient: Any, x: Any) -> Any:
    """Bound the gradient at a minimum: return its largest change over a step of about a hundredth of x."""
    step = 1e-2 * (1 + np.max(np.abs(x)))
    return np.max(np.abs(np.asarray(gradient(x + step)) - np.asarray(gradient(x - step))))


def _active_constraints(gradient: Any, x: Any, gaps: Any, is_equality: Any) -> Any:
    """Return the indices of the active constraints, and their multipliers.

    Errors: NoDerivativeError if one is active with a zero multiplier.
    """
    slope, gap = np.asarray(gradient(x)), np.asarray(gaps(x))
    size = 1 + np.max(np.abs(x), initial=0.0)
    near = np.flatnonzero(is_equality | (gap <= ACTIVE * size))
    if not len(near):
        return near, np.zeros(0)
    normals = np.atleast_2d(jacobian(gaps, as_matrix=True)(x))[near]
    multipliers = np.linalg.lstsq(normals.T, slope, rcond=None)[0]
    least = 1e-6 * (1e-3 + np.max(np.abs(multipliers), initial=0.0))
    holds = is_equality[near] | (multipliers > least)
    if np.any(~holds & (gap[near] <= 1e-9 * size) & (np.abs(multipliers) <= least)):
        raise NoDerivativeError(
            "a constraint or bound is active at the minimum with a zero multiplier, so the minimum has one derivative "
            "on each side. Differentiate at other parameters, or leave out that constraint."
        )
    if not np.all(holds):
        near = near[holds]
        multipliers = np.linalg.lstsq(normals[holds].T, slope, rcond=None)[0]
    return near, multipliers


def with_value(value: Any, formula: Any) -> Any:
    """Return the constant `value` with the derivative of `formula`, a traced number or array near it.

    Parameters:
        value (float | array): The value.
        formula (float | array): A traced value near it.
    Returns:
        float | array: `value`, with the derivative of `formula`.
    See Also:
        followed, unseen

    Examples:
        >>> wg.value_and_grad(lambda x: wg.extend.with_value(1.4142, x**0.5))(2.0)
        (1.4142, 0.3535533905932738)
    """
    if not is_traced(formula) or not order():
        return value
    if is_taped():
        _guard_formula(formula, value)
    change = formula - stopped(formula)
    if unseen(np.isnan, change).any():
        change = without_nan(change)
    return stopped(value) + change


def without_nan(change: Any) -> Any:
    """Return a change with zeros for NaN: where a derivative is unknown, the value is not."""
    return np.where(np.isnan(change), 0.0, change)


@vjp_rule(without_nan)
def without_nan_(y_bar, y, change):  # type: ignore[no-untyped-def]
    return y_bar


@jvp_rule(without_nan)
def push_without_nan(tangents, y, change):  # type: ignore[no-untyped-def]
    return tangents[0]


def _guard_formula(formula: Any, value: Any) -> None:
    """Guard that the formula is near the value. Errors: NoDerivativeError, also when the tape is played."""
    if unseen(np.isnan, formula).any() and not unseen(np.isnan, value).all():
        if is_for_code():
            from wengert.compiling.watched.refusals import refuse_native  # with the compiler

            refuse_native("a part of its result has no derivative")
        raise NoDerivativeError(
            "a part of this result has no derivative, as behind the time at which odeint gives up. No tape can be "
            "recorded of it: use wg.grad alone, or end the solution earlier"
        )
    if not np.all(np.abs(formula - value) <= unseen(_formula_tolerance, formula, value)):
        raise NoDerivativeError(
            "the recorded result does not match its formula for these inputs; record the tape again"
        )


def _formula_tolerance(formula: Any, value: Any) -> Any:
    return 2 * np.abs(formula - value) + 1e-9 * np.abs(value)
