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
from wengert.api.parameters import ravel, stop_gradient
from wengert.api.tangents import jvp_of_call
from wengert.errors import ArgumentError, NoDerivativeError, NotConvergedWarning
from wengert.hooks.solver_callbacks import begin_again, is_traced, order, reaches_traced, unseen
from wengert.hooks.solver_effects import SolverEffects
from wengert.recording.recording import users_line
from wengert.values import signatures
from wengert.values.callables import callable_name
from wengert.values.functional import stopped
from wengert.values.specs import is_inexact, number_type
from wengert.values.transformed import check_function

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

    The solver is not traced, so it may be any code. θ is everything that r reads: `args`, its closure and its object.

    Parameters:
        residual (callable): The function r. r(x) has the structure of x, or as many numbers.
        solution (Any): x (a number, an array or a container of these), or the solver: a function of `args` that returns
            x. Without it, `implicit` returns a decorator of the solver.
        *args (Any): The further arguments of `residual`.
        jacobian (callable | None): A function of the residual's arguments that returns the matrix ∂r/∂x, dense or
            sparse, instead of wengert's own: `wg.sparse_jacobian(residual)` for a large system.
    Returns:
        float | array | container: x, with its derivative; or the decorator.
    Raises:
        NoDerivativeError: ∂r/∂x is singular.
        ArgumentError: The residual has another size than x.
        RefusedCallError: The solver writes into an array that the residual reads.
    Warns:
        NotConvergedWarning: x is not a solution. Lower the solver's tolerance.
    See Also:
        jacobian, custom_derivative

    Examples:
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
    """
    check_function(implicit, residual, "(residual, x)")
    if solution is None:
        return functools.partial(_decorate_solver, residual, jacobian)
    with SolverEffects(residual, solution, args, jacobian) as effects:
        x = solution
        if callable(solution):
            x = unseen(solution, *args)
            effects.refuse_written(solution)
        return _with_derivative(residual, x, args, jacobian)


def _with_derivative(residual: Any, x: Any, args: Any, jacobian: Any) -> Any:
    """Return the solution x with its derivative; it may be a container."""
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


def followed(residual: Any, x: Any, jacobian: Any = None, elementwise: bool = False, goes_on: bool = False) -> Any:
    """Return the constant `x`, a number or array, with the derivative of the root of `residual`, as `implicit` does.

    If the residual reads nothing traced, or no derivative is taken, x is returned unchanged. One that reads it in
    conditions alone, as a step does, has no derivative.

    Parameters:
        residual (callable): The function whose root x is.
        x (float | array): The root.
        jacobian (callable | None): A function that returns the matrix ∂r/∂x.
        elementwise (bool): Each number of the residual depends only on the number of x at its index.
        goes_on (bool): The residual goes on from what its last call has stored, such as that of a step in time.
    Returns:
        float | array: x, with its derivative.
    Raises:
        NoDerivativeError: ∂r/∂x is singular.
        ArgumentError: The residual has another size than x.
    See Also:
        implicit, minimum

    Examples:
        >>> wg.grad(lambda a: wg.extend.followed(lambda x: x * x - a, 2.0))(4.0)
        0.25
    """
    x = stopped(x)  # it may be the solver's own argument

    def again(x: Any) -> Any:
        value = residual(x)
        if not goes_on:
            begin_again()
        return value

    value = again(x)
    if not order() or not (is_traced(value) or reaches_traced(residual)):
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
            step = scale(again(root))
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
    if _is_sparse(matrix):
        factors, rows, columns = unseen(_sparse_factors, residual, matrix)
        return lambda r: np.reshape(factors.solve(np.ravel(r) / rows) / columns, shape)
    return lambda r: np.reshape(np.linalg.solve(matrix, np.ravel(r)), shape)


def _is_sparse(matrix: Any) -> bool:
    """Whether a matrix is one of scipy.sparse."""
    return hasattr(matrix, "tocsc")


def _sparse_factors(residual: Any, matrix: Any) -> Any:
    """Return the LU factors of the matrix with rows and columns divided by their sizes, and these sizes."""
    from scipy.sparse import diags_array, linalg

    rows = abs(matrix).max(axis=1).toarray().ravel()
    if not np.all(np.isfinite(rows)) or not np.all(rows):
        raise _singular(residual)
    columns = abs(diags_array(1 / rows) @ matrix).max(axis=0).toarray().ravel()
    if not np.all(columns):
        raise _singular(residual)
    scaled = (diags_array(1 / rows) @ matrix @ diags_array(1 / columns)).tocsc()
    try:
        factors = linalg.splu(scaled)
    except RuntimeError:  # a pivot is zero
        raise _singular(residual) from None
    inverse = linalg.LinearOperator(
        scaled.shape, matvec=factors.solve, rmatvec=lambda b: factors.solve(b, "H"), dtype=scaled.dtype
    )
    if not linalg.onenormest(scaled) * linalg.onenormest(inverse) <= LARGEST_CONDITION:
        raise _singular(residual)
    return factors, rows, columns


def _elementwise_slope(residual: Any, x: Any, jacobian: Any) -> Any:
    """Return ∂r/∂x, number by number."""
    if jacobian is not None:
        slope = jacobian(x)
        slope = np.reshape(slope.toarray() if _is_sparse(slope) else slope, np.shape(x))[()]
    else:
        one = np.ones_like(x) if isinstance(x, np.ndarray) else number_type(type(x))(1)
        slope = np.reshape(jvp_of_call(residual, (x,), {}, (0,), (one,), quiet=True)[1], np.shape(x))[()]
    if not np.all(np.isfinite(slope)) or not np.all(slope):
        raise _singular(residual)
    return slope if isinstance(x, (np.ndarray, np.generic)) else number_type(type(x))(slope)


def _jacobian_matrix(residual: Any, x: Any, jacobian: Any) -> Any:
    """Return ∂r/∂x as a matrix, a row for each number of the residual."""
    if jacobian is not None:
        matrix = jacobian(x)
        if np.size(matrix) != x.size**2 and np.shape(matrix) != (x.size, x.size):
            raise ArgumentError(
                f"jacobian= returns an array of shape {np.shape(matrix)} for {x.size} unknowns. Return the matrix "
                f"∂r/∂x, of shape {(x.size, x.size)}."
            )
        if _is_sparse(matrix):
            return matrix.tocsc()
        matrix = np.reshape(matrix, (x.size, x.size))
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
