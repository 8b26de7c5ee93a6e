"""Bounds and constraints as functions of x that are zero, or not negative."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from wengert.extend import unseen
from wengert_rules.scipy.arguments import unpacked


def limits_of(x: Any, bounds: Any, constraints: Any) -> Any:
    """A function of x that gives all that `bounds`, as `as_ends` has them, and constraints ask of it.

    And which of these numbers are to be zero; the others are not to be negative.
    """
    parts = [] if bounds is None else between(lambda x: x, bounds[0], bounds[1], x)
    if isinstance(constraints, (dict, optimize.LinearConstraint, optimize.NonlinearConstraint)):
        constraints = [constraints]
    for constraint in constraints:
        parts += parts_of(constraint, x)
    if not parts:
        return None, ()
    sizes = [unseen(lambda f: np.size(f(x)), f) for f, _ in parts]
    kinds = np.concatenate([np.full(size, is_equality) for size, (_, is_equality) in zip(sizes, parts, strict=True)])
    return lambda x: np.concatenate([np.atleast_1d(f(x)) for f, _ in parts]), kinds


def as_ends(bounds: Any) -> Any:
    """The lower and the upper bounds, as arrays: a solver may replace those of the object that it is given."""
    if bounds is None or isinstance(bounds, optimize.Bounds):
        return bounds and (bounds.lb, bounds.ub)
    lower, upper = zip(*bounds, strict=True)
    return (
        np.array([-np.inf if lo is None else lo for lo in lower], float),
        np.array([np.inf if hi is None else hi for hi in upper], float),
    )


def parts_of(constraint: Any, x: Any) -> list[Any]:
    """The pairs (function of x, whether it is to be zero) of one constraint."""
    if isinstance(constraint, dict):
        f, args = constraint["fun"], unpacked(constraint.get("args", ()))
        return [(lambda x: np.asarray(f(x, *args)), constraint["type"] == "eq")]
    if isinstance(constraint, optimize.NonlinearConstraint):
        return between(lambda x: np.atleast_1d(constraint.fun(x)), constraint.lb, constraint.ub, x)
    return between(lambda x: constraint.A @ x, constraint.lb, constraint.ub, x)


def between(f: Any, lower: Any, upper: Any, x: Any) -> list[Any]:
    """lower ≤ f(x) ≤ upper in parts."""
    size = unseen(lambda f: np.size(f(x)), f)
    lower, upper = np.broadcast_to(lower, size), np.broadcast_to(upper, size)
    fixed = np.flatnonzero(lower == upper)
    below, above = (
        np.flatnonzero(np.isfinite(lower) & (lower < upper)),
        np.flatnonzero(np.isfinite(upper) & (lower < upper)),
    )
    made: list[Any] = []
    if len(fixed):
        made.append((lambda x: f(x)[fixed] - lower[fixed], True))
    if len(below):
        made.append((lambda x: f(x)[below] - lower[below], False))
    if len(above):
        made.append((lambda x: upper[above] - f(x)[above], False))
    return made
