"""Derivatives of integrals: nodes and weights that suit an integrand and its derivatives."""

from __future__ import annotations

import heapq
import itertools
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from wengert.api.gradient import gradients_held
from wengert.errors import NotConvergedWarning
from wengert.recording.recording import here
from wengert.values.callables import callable_name
from wengert.values.trees import leaves

ENTERED = "It calls the integrand."

Map = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Tolerance(NamedTuple):
    """The tolerances of an integral's numbers, and the largest number of intervals.

    >>> wg.extend.Tolerance(1e-9, 1e-9, 50).intervals
    50
    """

    absolute: float
    relative: float
    intervals: int


class Piece(NamedTuple):
    """An interval of t, what maps it to x, and the integrals over its halves; that with the largest error is first."""

    order: tuple[float, int]
    ends: tuple[float, float, float]
    to_x: Map
    halves: tuple[np.ndarray, np.ndarray]
    error: np.ndarray


def nodes_for(
    f: Callable[..., Any], a: float, b: float, breaks: Iterable[float], args: tuple[Any, ...], to: Tolerance
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes x and weights w of a sum Σ w f(x, *args) that is the integral from a to b, with the same derivatives.

    They suit `f` and ∂f/∂θ alike, for all θ that f holds or is given in `args`: from the pieces that `breaks` make of
    the interval from `a` to `b`, the worst is halved until each of these numbers is near enough, as `to` says.

    >>> x, w = wg.extend.nodes_for(np.exp, 0.0, 1.0, (), (), wg.extend.Tolerance(1e-9, 1e-9, 50))
    >>> print(round(w @ np.exp(x), 12))
    1.718281828459
    """
    count, summed = itertools.count(), _summed(f)

    def integral(lo: float, hi: float, to_x: Map) -> np.ndarray:
        xs, weights = _rule(lo, hi, to_x)
        value, gradients = gradients_held(summed, xs.tolist(), *args, given=weights)
        parts = [np.ravel(np.real(leaf)) for gradient in gradients for _, leaf in leaves(gradient)]
        return np.concatenate([np.ravel(value), *parts])

    def piece(lo: float, hi: float, to_x: Map, whole: np.ndarray) -> Piece:
        middle = (lo + hi) / 2
        halves = integral(lo, middle, to_x), integral(middle, hi, to_x)
        error = np.abs(halves[0] + halves[1] - whole)
        return Piece((-float(np.max(error)), next(count)), (lo, middle, hi), to_x, halves, error)

    heap = [piece(lo, hi, to_x, integral(lo, hi, to_x)) for lo, hi, to_x in _pieces(a, b, breaks)]
    heapq.heapify(heap)
    while not _is_near(heap, to):
        if len(heap) >= to.intervals:
            _warn(f)
            break
        _, (lo, middle, hi), to_x, (left, right), _ = heapq.heappop(heap)
        heapq.heappush(heap, piece(lo, middle, to_x, left))
        heapq.heappush(heap, piece(middle, hi, to_x, right))
    rules = [_rule(*half, piece.to_x) for piece in heap for half in itertools.pairwise(piece.ends)]
    return np.concatenate([x for x, _ in rules]), np.concatenate([w for _, w in rules])


def _is_near(heap: list[Piece], to: Tolerance) -> bool:
    total, error = sum([sum(piece.halves) for piece in heap]), sum([piece.error for piece in heap])
    return bool(np.all(error <= np.maximum(to.absolute, to.relative * np.abs(total))))


def _pieces(a: float, b: float, breaks: Iterable[float]) -> Iterable[tuple[float, float, Map]]:
    """Finite intervals of t, with the maps to x."""
    if a > b:
        for lo, hi, to_x in _pieces(b, a, breaks):
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


def _rule(lo: float, hi: float, to_x: Map) -> tuple[np.ndarray, np.ndarray]:
    """The nodes and weights of Gauss's rule on an interval of t."""
    points, shares = _gauss()
    x, slope = to_x(lo + (hi - lo) * points)
    return x, (hi - lo) * shares * slope


@cache
def _gauss() -> tuple[np.ndarray, np.ndarray]:
    """The nodes and weights of Gauss's rule on the interval from 0 to 1."""
    points, shares = np.polynomial.legendre.leggauss(10)  # which takes 10 ms to import
    return (points + 1) / 2, shares / 2


def _summed(f: Any) -> Any:
    """The sum of f, by a rule, over all numbers that f gives, and their real and imaginary parts."""

    def summed(xs: Any, *args: Any, given: Any) -> Any:
        ys = [np.ravel(f(x, *args)) for x in xs]
        total = np.sum(np.dot(given, np.array(ys)))
        return np.real(total) + np.imag(total) if np.iscomplexobj(total) else 0.0 + total

    return summed


def _warn(f: Any) -> None:
    warnings.warn(
        f"{here()}: the integral of {callable_name(f)}, or that of its derivative in what it reads, does not converge "
        "on so many intervals (limit=): the derivative is inaccurate, or there is none.",
        NotConvergedWarning,
        stacklevel=2,
    )
