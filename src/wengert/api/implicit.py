"""Implicit derivatives: of what a solver finds, by the equation that it solves and not by the steps to it.

Where r(x, θ) = 0, dx/dθ = -(∂r/∂x)⁻¹ ∂r/∂θ. It is had by the chord x ← x - J⁻¹ r(x, θ) at the solution, with J = ∂r/∂x
as a constant: it changes no value, each turn makes the derivatives right to one order more, and it is code like any.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.api.jacobians import jacobian as jacobian_of
from wengert.api.parameters import ravel, stop_gradient, stopped
from wengert.api.tangents import pushed
from wengert.errors import ArgumentError, NoDerivativeError, NotConvergedWarning
from wengert.hooks.solver_callbacks import is_traced, order, unseen
from wengert.recording.recording import here
from wengert.values import signatures
from wengert.values.callables import callable_name
from wengert.values.specs import is_inexact, number_type

ENTERED = "It calls the residual, and computes on what that gives."

__all__ = ["implicit"]

NEAR = 1e-3
"""The part of a solution by which Newton's step may move it, lest it count as none."""
LEAST = 1e-7
SINGULAR = 1e14


@signatures.implicit
def implicit(
    residual: Callable[..., Any], solution: Any = None, *args: Any, jacobian: Callable[..., Any] | None = None
) -> Any:
    """The x with r(x, *args) = 0 that a solver has found, with its derivative dx/dθ = -(∂r/∂x)⁻¹ ∂r/∂θ.

    `residual` is r; it gives as many numbers as x has. `solution` is x, or the solver: a function of `args` that gives
    it, and that no derivative sees, so it may be anything. θ is all that r reads: `args`, what its closure and its
    object hold. With `residual` alone it is a decorator of the solver.

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

    `jacobian` gives the matrix ∂r/∂x in place of wengert's own, called as the residual is.

    Shapes: x is a number, an array or a container of these; r(x) has the structure of x, or as many numbers.
    Errors: NoDerivativeError where ∂r/∂x is singular; ArgumentError for a residual of another size. NotConvergedWarning
    where x is no solution.
    """
    if solution is None:
        return functools.partial(_decorated, residual, jacobian)
    x = unseen(solution, *args) if callable(solution) else solution
    r, matrix = residual, jacobian
    if args:
        r = lambda x: residual(x, *args)  # noqa: E731
        matrix = jacobian and (lambda x: jacobian(x, *args))
    if is_inexact(x):
        return followed(r, x, matrix)
    vector, unravel = ravel(stop_gradient(x))
    return unravel(followed(lambda v: ravel(r(unravel(v)))[0], vector, matrix and (lambda v: matrix(unravel(v)))))


def _decorated(residual: Any, jacobian: Any, solver: Any) -> Any:
    @functools.wraps(solver)
    def solve(*args: Any) -> Any:
        return implicit(residual, solver, *args, jacobian=jacobian)

    return solve


def followed(residual: Any, x: Any, jacobian: Any = None, elementwise: bool = False) -> Any:
    """The constant `x`, a number or array, as the root of the `residual`, whose `jacobian` may be given: `implicit`.

    With `elementwise`, each number of the residual depends on the same of x only. Where the residual depends on nothing
    that is traced, x is returned as it is.

    >>> wg.grad(lambda a: wg.extend.followed(lambda x: x * x - a, 2.0))(4.0)
    0.25

    Errors: those of `implicit`.
    """
    x = stopped(x)  # it may be what the solver was given
    value = residual(x)
    if not is_traced(value):
        return x
    scale = _inverse(residual, x, jacobian, elementwise, np.size(value))
    step = scale(value)
    if not np.all(np.abs(step) <= unseen(_reach, residual, x, step)):
        raise NoDerivativeError("the solver's result is none for these values")
    root = x
    for turn in range(order()):
        if turn:
            step = scale(residual(root))
        root = root - (step - stopped(step))
    residual(root)  # what it keeps of its last call is that of the solution
    return root


def _inverse(residual: Any, x: Any, jacobian: Any, elementwise: bool, size: int) -> Any:
    """r ↦ J⁻¹ r, of constants."""
    shape = np.shape(x)
    if size != np.size(x):
        raise ArgumentError(f"the residual {callable_name(residual)} gives {size} numbers for {np.size(x)} unknowns.")
    if elementwise or shape == ():
        slope = unseen(_slope, residual, x, jacobian)
        return lambda r: (r if np.shape(r) == shape else np.reshape(r, shape)[()]) / slope
    matrix = unseen(_matrix, residual, x, jacobian)
    return lambda r: np.reshape(np.linalg.solve(matrix, np.ravel(r)), shape)


def _slope(residual: Any, x: Any, jacobian: Any) -> Any:
    """∂r/∂x, number by number."""
    if jacobian is not None:
        slope = np.reshape(jacobian(x), np.shape(x))[()]
    else:
        one = np.ones_like(x) if isinstance(x, np.ndarray) else number_type(type(x))(1)
        slope = np.reshape(pushed(residual, (x,), {}, (0,), (one,), quiet=True)[1], np.shape(x))[()]
    if not np.all(np.isfinite(slope)) or not np.all(slope):
        raise _singular(residual)
    return slope if isinstance(x, (np.ndarray, np.generic)) else number_type(type(x))(slope)


def _matrix(residual: Any, x: Any, jacobian: Any) -> Any:
    """∂r/∂x, a row for each number of the residual."""
    if jacobian is not None:
        matrix = np.reshape(jacobian(x), (x.size, x.size))
    else:
        matrix = jacobian_of(residual, as_matrix=True, holomorphic=x.dtype.kind == "c")(x)
    return regular(matrix, residual)


def regular(matrix: Any, residual: Any) -> Any:
    """The matrix itself. Errors: NoDerivativeError where it is singular, however its rows and columns are scaled."""
    sizes = np.abs(matrix)
    with np.errstate(all="ignore"):
        sizes = sizes / np.max(sizes, axis=1, keepdims=True)
        largest = np.max(sizes, axis=0, keepdims=True)
        scaled = matrix / np.max(np.abs(matrix), axis=1, keepdims=True) / largest
    if not np.all(np.isfinite(scaled)) or np.linalg.cond(scaled, 1) > SINGULAR:
        raise _singular(residual)
    return matrix


def _singular(residual: Any) -> NoDerivativeError:
    return NoDerivativeError(
        f"∂r/∂x of {callable_name(residual)} is singular at the solution x of r(x) = 0: x is not isolated, or has no "
        "derivative in what r reads."
    )


def _reach(residual: Any, x: Any, step: Any) -> Any:
    """Return how far x may move and count as the same solution; warn if Newton's `step` leads far away."""
    if not np.all(np.isfinite(step)):
        raise NoDerivativeError(f"{callable_name(residual)} is not finite at the solution.")
    size = np.max(np.abs(x), initial=0.0)
    if np.max(np.abs(step), initial=0.0) > NEAR * size + LEAST:
        warnings.warn(
            f"{here()}: the solver's result is no root of {callable_name(residual)}: Newton's step from there is "
            f"{np.max(np.abs(step)):.2g}. The derivative is that at this point; let the solver go on.",
            NotConvergedWarning,
            stacklevel=2,
        )
    return 2 * np.abs(step) + 1e-9 * np.abs(x) + np.finfo(np.asarray(x).dtype).eps * size  # x may be of any size
