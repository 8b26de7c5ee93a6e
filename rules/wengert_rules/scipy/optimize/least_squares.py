"""Least squares: the gradient of the sum of squares vanishes; covariances by the Jacobian at that point."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

from wengert.extend import RefusedCallError, grad, jacobian, minimum, stands_for, unseen, with_value
from wengert_rules.scipy.arguments import arguments, in_tuple, unpacked
from wengert_rules.scipy.optimize.limits import limits_of


def fitted(found: Any, residual: Any, slopes: Any = None, bounds: Any = None, cost: Any = None) -> Any:
    """The point `found` as the one where the sum of squares of the residual is least, or where the `cost` is."""
    x = np.asarray(found, float)
    gradient: Any = grad(cost or (lambda x: np.sum(residual(x) ** 2) / 2))
    if slopes is not None and cost is None:
        gradient = lambda x: np.transpose(slopes(x)) @ residual(x)  # noqa: E731
    gaps, is_equality = limits_of(x, None if bounds is None else broadcast(bounds, len(x)), ())
    return minimum(gradient, x, None, gaps, is_equality)


def broadcast(bounds: Any, n: int) -> Any:
    """The lower and upper bounds of n numbers."""
    lower, upper = (bounds.lb, bounds.ub) if isinstance(bounds, optimize.Bounds) else bounds
    return np.broadcast_to(np.asarray(lower, float), n), np.broadcast_to(np.asarray(upper, float), n)


def residual_of(f: Any, args: Any, words: Any = None) -> Any:
    """x ↦ f(x, *args), an array of one axis."""
    words = words or {}
    return lambda x: np.ravel(np.asarray(f(x, *args, **words)))


def slopes_of(jac: Any, args: Any, words: Any = None, transposed: Any = False) -> Any:
    """x ↦ ∂f/∂x, where the user gives it as a matrix; None where not."""
    words = words or {}
    if not callable(jac):
        return None
    return lambda x: np.transpose(jac(x, *args, **words)) if transposed else jac(x, *args, **words)


LOSSES = {
    "soft_l1": lambda z: 2 * ((1 + z) ** 0.5 - 1),
    "huber": lambda z: np.where(z <= 1, z, 2 * np.where(z <= 1, 1.0, z) ** 0.5 - 1),
    "cauchy": lambda z: np.log1p(z),
    "arctan": lambda z: np.arctan(z),
}


def cost_of(residual: Any, loss: Any, scale: Any) -> Any:
    """The half sum of a loss of the squares; None for that of the squares themselves."""
    if loss == "linear":
        return None
    rho = LOSSES[loss] if isinstance(loss, str) else lambda z: loss(z)[0]
    return lambda x: np.sum(scale**2 * rho((residual(x) / scale) ** 2)) / 2


@stands_for(optimize.least_squares)
def least_squares(*given: Any, **words: Any) -> Any:
    call = arguments(optimize.least_squares, given, words)
    found = unseen(optimize.least_squares, *given, **words)
    args, named, bounds = unpacked(call["args"]), call.get("kwargs"), call["bounds"]
    residual, slopes = residual_of(call["fun"], args, named), slopes_of(call["jac"], args, named)
    cost = cost_of(residual, call["loss"], call["f_scale"])
    found["x"] = x = fitted(found["x"], residual, slopes, bounds, cost)
    found["fun"] = value = with_value(found["fun"], residual(x))
    found["cost"] = with_value(found["cost"], cost(x) if cost else np.sum(value**2) / 2)
    if cost is None and isinstance(found["jac"], np.ndarray):
        found["jac"] = with_value(found["jac"], (slopes or jacobian(residual, as_matrix=True))(x))
    return found


def covariance(residual: Any, slopes: Any, x: Any) -> Any:
    """(Jᵀ J)⁻¹."""
    matrix = (slopes or jacobian(residual, as_matrix=True))(x)
    return np.linalg.inv(np.transpose(matrix) @ matrix)


@stands_for(optimize.leastsq)
def leastsq(*given: Any, **words: Any) -> Any:
    call, found = arguments(optimize.leastsq, given, words), unseen(optimize.leastsq, *given, **words)
    args = in_tuple(call["args"])
    residual, slopes = residual_of(call["func"], args), slopes_of(call["Dfun"], args, None, call["col_deriv"])
    x = fitted(found[0], residual, slopes)
    if not call["full_output"] or found[1] is None:
        return x, *found[1:]
    return x, with_value(found[1], covariance(residual, slopes, x)), *found[2:]


@stands_for(optimize.curve_fit)
def curve_fit(*given: Any, **words: Any) -> Any:
    call = arguments(optimize.curve_fit, given, words)
    if call.get("nan_policy") is not None:
        raise RefusedCallError("scipy.optimize.curve_fit has no derivative here with nan_policy=: leave the nans out.")
    f, sigma, jac, bounds = call["f"], call["sigma"], call["jac"], call["bounds"]
    xs, ys = as_floats(call["xdata"]), np.ravel(np.asarray(call["ydata"], float))
    divided = by_deviations(None if sigma is None else np.asarray(sigma, float))
    residual = lambda p: divided(np.ravel(f(xs, *p)) - ys)  # noqa: E731
    slopes = (lambda p: divided(jac(xs, *p))) if callable(jac) else None
    found, variances, *rest = unseen(optimize.curve_fit, *given, **words)
    x = fitted(found, residual, slopes, bounds)
    if np.all(np.isfinite(variances)):
        formula = covariance(residual, slopes, x)
        if not call["absolute_sigma"]:
            formula = formula * np.sum(residual(x) ** 2) / (len(ys) - len(x))
        variances = with_value(variances, formula)
    return x, variances, *rest


def as_floats(xs: Any) -> Any:
    """The abscissas as curve_fit gives them to the function."""
    return np.asarray(xs, float) if isinstance(xs, (list, tuple, np.ndarray)) else xs


def by_deviations(sigma: Any) -> Any:
    """Return a function that whitens residuals, or rows of a Jacobian, by standard deviations or a covariance."""
    if sigma is None:
        return lambda r: r
    if sigma.ndim == 2:
        return lambda r: np.linalg.solve(np.linalg.cholesky(sigma), r)
    return lambda r: np.transpose(np.transpose(r) / sigma)


@stands_for(optimize.nnls)
def nnls(*given: Any, **words: Any) -> Any:
    call, (x, norm) = arguments(optimize.nnls, given, words), unseen(optimize.nnls, *given, **words)
    residual = linear(np.asarray(call["A"]), call["b"])
    x = fitted(x, residual, bounds=(0.0, np.inf))
    return x, with_value(norm, np.linalg.norm(residual(x))) if norm > 0 else norm


@stands_for(optimize.lsq_linear)
def lsq_linear(*given: Any, **words: Any) -> Any:
    call = arguments(optimize.lsq_linear, given, words)
    residual, bounds = linear(call["A"], call["b"]), call["bounds"]
    found = unseen(optimize.lsq_linear, *given, **words)
    found["x"] = x = fitted(found["x"], residual, bounds=bounds)
    found["fun"] = value = with_value(found["fun"], residual(x))
    found["cost"] = with_value(found["cost"], np.sum(value**2) / 2)
    return found


def linear(matrix: Any, b: Any) -> Any:
    """x ↦ A x - b."""
    matrix, b = np.asarray(matrix) if isinstance(matrix, list) else matrix, np.asarray(b)
    return lambda x: matrix @ x - b
