"""Derivatives of integrals: adaptive quadrature of an integrand and its derivatives."""

from __future__ import annotations

import heapq
import itertools
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from wengert.api.gradient import gradients_with_closure
from wengert.errors import NotConvergedWarning
from wengert.recording.recording import users_line
from wengert.values.callables import callable_name
from wengert.values.trees import leaves

ENTERED = "It calls the integrand."

ChangeOfVariable = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Tolerance(NamedTuple):
    """The tolerances of an integral's numbers, and the largest number of intervals.

    Parameters:
        absolute (float): The absolute tolerance.
        relative (float): The relative tolerance.
        intervals (int): The largest number of intervals.
    See Also:
        nodes_for

    Examples:
        >>> wg.extend.Tolerance(1e-9, 1e-9, 50).intervals
        50
    """

    absolute: float
    relative: float
    intervals: int


class QuadratureInterval(NamedTuple):
    """An interval of t, the map from t to x, and the integrals over its halves; the largest error sorts first."""

    order: tuple[float, int]
    ends: tuple[float, float, float]
    to_x: ChangeOfVariable
    halves: tuple[np.ndarray, np.ndarray]
    error: np.ndarray


def nodes_for(
    f: Callable[..., Any], a: float, b: float, breaks: Iterable[float], args: tuple[Any, ...], to: Tolerance
) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes x and weights w such that Σ w f(x, *args) is the integral from a to b, with its derivatives.

    They are accurate for `f` and for ∂f/∂θ, with θ the arrays that f holds and its `args`. The interval is cut at
    `breaks`; then the part with the largest error is halved until each of these integrals is within the tolerance.

    Parameters:
        f (callable): The integrand.
        a (float): The lower end.
        b (float): The upper end.
        breaks (Iterable[float]): The points at which to cut first.
        args (tuple): The further arguments of f.
        to (Tolerance): The tolerance.
    Returns:
        tuple[array, array]: The nodes and the weights.
    Warns:
        NotConvergedWarning: That takes more than `to.intervals` intervals. Raise the limit or the tolerance.
    See Also:
        Tolerance

    Examples:
        >>> x, w = wg.extend.nodes_for(np.exp, 0.0, 1.0, (), (), wg.extend.Tolerance(1e-9, 1e-9, 50))
        >>> print(round(w @ np.exp(x), 12))
        1.718281828459
    """
    weighted_sum = _weighted_sum_of(f)
    for interval in itertools.islice(_finite_intervals(a, b, breaks), 1):
        f(float(_gauss_rule(*interval)[0][0]), *args)  # it may keep what its first call computes: then it holds that

    def integral(xs: np.ndarray, weights: np.ndarray) -> np.ndarray:
        value, gradients = gradients_with_closure(weighted_sum, xs.tolist(), *args, weights=weights)
        parts = [np.ravel(np.real(leaf)) for gradient in gradients for _, leaf in leaves(gradient)]
        return np.concatenate([np.ravel(value), *parts])

    pieces = _converged_pieces(integral, a, b, breaks, to, callable_name(f))
    rules = [_gauss_rule(*half, piece.to_x) for piece in pieces for half in itertools.pairwise(piece.ends)]
    return np.concatenate([x for x, _ in rules]), np.concatenate([w for _, w in rules])


def integrals(
    f: Callable[[float], np.ndarray], a: float, b: float, breaks: Iterable[float], to: Tolerance, name: str
) -> Any:
    """Return the integrals from a to b of a function that returns a vector, as accurate as those of `nodes_for`.

    `name` is that of the integrand, for the warning that they do not converge.
    """

    def integral(xs: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return weights @ np.array([f(x) for x in xs.tolist()])

    return sum([sum(piece.halves) for piece in _converged_pieces(integral, a, b, breaks, to, name)])


def _converged_pieces(
    integral: Callable[[np.ndarray, np.ndarray], np.ndarray],
    a: float,
    b: float,
    breaks: Iterable[float],
    to: Tolerance,
    name: str,
) -> list[QuadratureInterval]:
    """Cut an interval until its integrals, as sums over nodes with weights, are accurate; warn if that fails."""
    count = itertools.count()

    def piece(lo: float, hi: float, to_x: ChangeOfVariable, whole: np.ndarray) -> QuadratureInterval:
        middle = (lo + hi) / 2
        halves = integral(*_gauss_rule(lo, middle, to_x)), integral(*_gauss_rule(middle, hi, to_x))
        error = np.abs(halves[0] + halves[1] - whole)
        return QuadratureInterval((-float(np.max(error)), next(count)), (lo, middle, hi), to_x, halves, error)

    intervals = _finite_intervals(a, b, breaks)
    heap = [piece(lo, hi, to_x, integral(*_gauss_rule(lo, hi, to_x))) for lo, hi, to_x in intervals]
    heapq.heapify(heap)
    while not _has_converged(heap, to):
        if len(heap) >= to.intervals:
            _warn_not_converged(name)
            break
        _, (lo, middle, hi), to_x, (left, right), _ = heapq.heappop(heap)
        heapq.heappush(heap, piece(lo, middle, to_x, left))
        heapq.heappush(heap, piece(middle, hi, to_x, right))
    return heap


def _has_converged(heap: list[QuadratureInterval], to: Tolerance) -> bool:
    total, error = sum([sum(piece.halves) for piece in heap]), sum([piece.error for piece in heap])
    return bool(np.all(error <= np.maximum(to.absolute, to.relative * np.abs(total))))


def _finite_intervals(a: float, b: float, breaks: Iterable[float]) -> Iterable[tuple[float, float, ChangeOfVariable]]:
    """Yield finite intervals of t, with their maps to x."""
    if a > b:
        for lo, hi, to_x in _finite_intervals(b, a, breaks):
            yield hi, lo, to_x
        return
    inner = sorted([p for p in breaks if a < p < b])
    if not np.isfinite(a) and not np.isfinite(b) and not inner:
        inner = [0.0]
    for lo, hi in itertools.pairwise([a, *inner, b]):
        if np.isfinite(lo) and np.isfinite(hi):
            yield lo, hi, lambda t: (t, np.ones_like(t))
        elif np.isfinite(lo):
            yield 0.0, 1.0, lambda t, lo=lo: (lo + t / (1 - t), 1 / (1 - t) ** 2)  # type: ignore[misc]
        else:
            yield 0.0, 1.0, lambda t, hi=hi: (hi - (1 - t) / t, 1 / t**2)  # type: ignore[misc]


def _gauss_rule(lo: float, hi: float, to_x: ChangeOfVariable) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes and weights of Gauss's rule on an interval of t."""
    points, shares = _unit_gauss_rule()
    x, slope = to_x(lo + (hi - lo) * points)
    return x, (hi - lo) * shares * slope


@cache
def _unit_gauss_rule() -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes and weights of Gauss's rule on the interval from 0 to 1."""
    points, shares = np.polynomial.legendre.leggauss(10)  # which takes 10 ms to import
    return (points + 1) / 2, shares / 2


def _weighted_sum_of(f: Any) -> Any:
    """Return the function that sums f over nodes with weights, over all numbers of its results, real and imaginary."""

    def weighted_sum(xs: Any, *args: Any, weights: Any) -> Any:
        ys = [np.ravel(f(x, *args)) for x in xs]
        total = np.sum(np.dot(weights, np.array(ys)))
        return np.real(total) + np.imag(total) if np.iscomplexobj(total) else 0.0 + total

    return weighted_sum


def _warn_not_converged(name: str) -> None:
    warnings.warn(
        f"{users_line()}: the integral of {name}, or of its derivative with respect to its parameters, "
        "does not converge within the limit on intervals: the derivative is inaccurate or does not exist. Pass a "
        "larger limit=.",
        NotConvergedWarning,
        stacklevel=2,
    )
