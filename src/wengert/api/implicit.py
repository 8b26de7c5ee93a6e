"""Implicit derivatives: a solver's result differentiated through the equation that it solves, not through its steps.

Where r(x, θ) = 0, dx/dθ = -(∂r/∂x)⁻¹ ∂r/∂θ. We take one Newton step x ← x - J⁻¹ r(x, θ) with a constant J = ∂r/∂x for
each order of derivative. It leaves the value unchanged, makes that order correct, and is traced like other code.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.api.jacobians import jacobian as jacobian_of
from wengert.api.parameters import ravel, stop_gradient, stopped
from wengert.api.tangents import jvp_of_call
from wengert.errors import ArgumentError, NoDerivativeError, NotConvergedWarning
from wengert.hooks.solver_callbacks import is_traced, order, unseen
from wengert.recording.recording import users_line
from wengert.values import signatures
from wengert.values.callables import callable_name
from wengert.values.specs import is_inexact, number_type

ENTERED = "It calls the residual, and computes with its results."

__all__ = ["implicit"]

RELATIVE_STEP = 1e-3
"""A Newton step above this, relative to a solution's size, is a NotConvergedWarning; then the absolute part of it."""
ABSOLUTE_STEP = 1e-7
LARGEST_CONDITION = 1e14


@signatures.implicit
def implicit(
    residual: Callable[..., Any], solution: Any = None, *args: Any, jacobian: Callable[..., Any] | None = None
) -> Any:
    """Return the x with r(x, *args) = 0 that a solver has found, with its derivative dx/dθ = -(∂r/∂x)⁻¹ ∂r/∂θ.

    `residual` is r; it returns as many numbers as x has. `solution` is x, or the solver: a function of `args` that
    returns x. The solver is not traced, so it may be any code. θ is everything that r reads: `args`, its closure and
    its object. With `residual` alone it is a decorator of the solver.

    >>> def kepler(anomaly, mean, eccentricity):
    ...     return anomaly - eccentricity * np.sin(anomaly) - mean
    >>> @wg.implicit(kepler)
    ... def solve(mean, eccentricity):
    ...     anomaly = mean
    ...     for _ in range(100):
    ...         anomaly = mean + eccentricity * np.sin(anomaly)
    ...     return anomaly
    >>> print(round(wg.grad(solve)(1.0, 0.5), 9), round(1 / (1 - 0.5 * np.cos(solve(1.0, 0.5))), 9))
    1.037362022 1.037362022

    `jacobian` returns the matrix ∂r/∂x, instead of wengert's own; it takes the arguments of the residual.

    Shapes: x is a number, an array or a container of these; r(x) has the structure of x, or as many numbers.
    Errors: NoDerivativeError if ∂r/∂x is singular; ArgumentError for a residual of another size. NotConvergedWarning
    if x is not a solution.
    """
    if solution is None:
        return functools.partial(_decorate_solver, residual, jacobian)
    x = unseen(solution, *args) if callable(solution) else solution
    r, matrix = residual, jacobian
    if args:
        r = lambda x: residual(x, *args)  # noqa: E731
        matrix = jacobian and (lambda x: jacobian(x, *args))
    if is_inexact(x):
        return followed(r, x, matrix)
    vector, unravel = ravel(stop_gradient(x))
    return unravel(followed(lambda v: ravel(r(unravel(v)))[0], vector, matrix and (lambda v: matrix(unravel(v)))))


def _decorate_solver(residual: Any, jacobian: Any, solver: Any) -> Any:
    @functools.wraps(solver)
    def solve(*args: Any) -> Any:
        return implicit(residual, solver, *args, jacobian=jacobian)

    return solve


def followed(residual: Any, x: Any, jacobian: Any = None, elementwise: bool = False) -> Any:
    """Return the constant `x`, a number or array, with the derivative of the root of `residual`, as `implicit` does.

    `jacobian` may be None. `elementwise`: each number of the residual depends only on the number of x at its index. If
    the residual depends on nothing traced, x is returned unchanged.

    >>> wg.grad(lambda a: wg.extend.followed(lambda x: x * x - a, 2.0))(4.0)
    0.25

    Errors: those of `implicit`.
    """
    x = stopped(x)  # it may be the solver's own argument
    value = residual(x)
    if not is_traced(value):
        return x
    scale = _inverse_jacobian(residual, x, jacobian, elementwise, np.size(value))
    step = scale(value)
    if not np.all(np.abs(step) <= unseen(_allowed_change, residual, x, step)):
        raise NoDerivativeError(
            "the recorded solution does not solve the equation for these inputs; record the tape again"
        )
    root = x
    for k in range(order()):
        if k:
            step = scale(residual(root))
        root = root - (step - stopped(step))
    residual(root)  # a residual may keep its last result: let it be that of the solution
    return root


def _inverse_jacobian(residual: Any, x: Any, jacobian: Any, elementwise: bool, size: int) -> Any:
    """Return the function r ↦ J⁻¹ r, with J a constant. Errors: ArgumentError if r has another size than x."""
    shape = np.shape(x)
    if size != np.size(x):
        raise ArgumentError(
            f"the residual {callable_name(residual)} returns {size} numbers for {np.size(x)} unknowns. Return as many "
            "numbers as x has."
        )
    if elementwise or shape == ():
        slope = unseen(_elementwise_slope, residual, x, jacobian)
        return lambda r: (r if np.shape(r) == shape else np.reshape(r, shape)[()]) / slope
    matrix = unseen(_jacobian_matrix, residual, x, jacobian)
    return lambda r: np.reshape(np.linalg.solve(matrix, np.ravel(r)), shape)


def _elementwise_slope(residual: Any, x: Any, jacobian: Any) -> Any:
    """Return ∂r/∂x, number by number."""
    if jacobian is not None:
        slope = np.reshape(jacobian(x), np.shape(x))[()]
    else:
        one = np.ones_like(x) if isinstance(x, np.ndarray) else number_type(type(x))(1)
        slope = np.reshape(jvp_of_call(residual, (x,), {}, (0,), (one,), quiet=True)[1], np.shape(x))[()]
    if not np.all(np.isfinite(slope)) or not np.all(slope):
        raise _singular(residual)
    return slope if isinstance(x, (np.ndarray, np.generic)) else number_type(type(x))(slope)


def _jacobian_matrix(residual: Any, x: Any, jacobian: Any) -> Any:
    """Return ∂r/∂x as a matrix, a row for each number of the residual."""
    if jacobian is not None:
        matrix = np.reshape(jacobian(x), (x.size, x.size))
    else:
        matrix = jacobian_of(residual, as_matrix=True, holomorphic=x.dtype.kind == "c")(x)
    return check_regular(matrix, residual)


def check_regular(matrix: Any, residual: Any) -> Any:
    """Return the matrix. Errors: NoDerivativeError if it is singular, however its rows and columns are scaled."""
    sizes = np.abs(matrix)
    with np.errstate(all="ignore"):
        sizes = sizes / np.max(sizes, axis=1, keepdims=True)
        largest = np.max(sizes, axis=0, keepdims=True)
        scaled = matrix / np.max(np.abs(matrix), axis=1, keepdims=True) / largest
    if not np.all(np.isfinite(scaled)) or np.linalg.cond(scaled, 1) > LARGEST_CONDITION:
        raise _singular(residual)
    return matrix


def _singular(residual: Any) -> NoDerivativeError:
    return NoDerivativeError(
        f"∂r/∂x of {callable_name(residual)} is singular at the solution x of r(x) = 0: x is not isolated, or has no "
        "derivative with respect to the parameters of r. Differentiate at other parameters, or rewrite the equation."
    )


def _allowed_change(residual: Any, x: Any, step: Any) -> Any:
    """Return how far x may move and still be the same solution; warn if Newton's `step` from it is large."""
    if not np.all(np.isfinite(step)):
        raise NoDerivativeError(f"{callable_name(residual)} is not finite at the solution. Check the solver's result.")
    size = np.max(np.abs(x), initial=0.0)
    if np.max(np.abs(step), initial=0.0) > RELATIVE_STEP * size + ABSOLUTE_STEP:
        warnings.warn(
            f"{users_line()}: the solver's result is not a root of {callable_name(residual)}: Newton's step from there "
            f"is {np.max(np.abs(step)):.2g}. wengert differentiates at this point, so the derivative is inaccurate. "
            "Give the solver more iterations or a smaller tolerance.",
            NotConvergedWarning,
            stacklevel=2,
        )
    return 2 * np.abs(step) + 1e-9 * np.abs(x) + np.finfo(np.asarray(x).dtype).eps * size  # x may be of any size
