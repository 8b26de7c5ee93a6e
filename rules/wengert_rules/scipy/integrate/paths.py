"""Paths: the solution of an initial value problem as a formula of what its right-hand side reads, along its steps.

The slopes k of all stages solve k = f(t, y + h A k). We take one Newton step of these equations for each order of
derivative, which leaves the slopes unchanged. f runs on all stages at once. The times of the steps are constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.extend import (
    NoDerivativeError,
    Sealed,
    is_traced,
    jvp_rule,
    order,
    unseen,
    vjp_rule,
    with_value,
)
from wengert_rules.scipy.integrate.linear_steps import changes, residuals_of_changes
from wengert_rules.scipy.integrate.recorded import Cut, Steps, refined

PARTS = (1, 2, 4)
"""The numbers of Radau's steps in place of one of another implicit method."""
NEAR = 30.0
"""The largest difference, in tolerances, between the values of a method and those of the steps in their place."""
FAR = 30.0
"""The same, in such differences, if steps of half the length come to the same values: then the method's errors grow."""


def in_pairs(y: Any) -> Any:
    """A vector of complex numbers as one of their real and imaginary parts, in pairs; a real one as it is."""
    return np.ravel(np.stack([np.real(y), np.imag(y)], axis=-1)) if np.iscomplexobj(y) else y


def in_complex(y: Any) -> Any:
    """Vectors of pairs as complex ones."""
    return y[..., ::2] + 1j * y[..., 1::2]


class Path:
    """y(t) by the steps of a method, as a formula of what f reads, the initial values and the times."""

    is_complex = False
    """Whether the values are complex numbers in pairs."""
    is_whole = True
    """Whether these steps are all of the solution; behind them, derivatives are not numbers."""
    parts = 1
    """The number of steps for each one of SciPy's."""

    def __init__(self, f: Any, steps: Steps, tolerance: Any) -> None:
        self.f, self.steps, self.tableau, self.tolerance = f, steps, steps.tableau, tolerance
        self.apart: Any = None

    def follow(self, y0: Any, times: Any) -> bool:
        """Compute slopes and values along the steps; return whether f on all stages is what it was on each."""
        steps, linear = self.steps, None
        self.times, self.along = times, steps.along
        for _ in range(order()):
            points, ends = self.stages_and_ends()
            found = self.found(points, y0, ends)
            if found is None or not is_traced(found):
                return found is not None
            if linear is None:
                linear, self.apart = unseen(steps.compared, self.f, points, found, self.tolerance)
                if linear is None:
                    return False
                self.along = steps.along
            residuals = with_value(steps.along[steps.known], found) - self.along[steps.known]
            self.along = self.along + changes(residuals, steps=linear)
        return True

    def found(self, points: tuple[Any, Any], y0: Any, ends: Any) -> Any:
        """Return f on all stages and, behind them, the values at the start and ends; None if f is not one function."""
        found = self.f(*points)
        if found is None or found.size != points[1].size or found.dtype != float:
            return None
        return np.concatenate([np.reshape(found, points[1].shape), y0[None], ends])

    def stages_and_ends(self) -> tuple[Any, Any]:
        """The (t, y) of the stages whose slopes SciPy computed, and the values at the ends of all steps."""
        return unseen_if_constant(self.steps.stages_and_ends, self.times, self.along)

    def states(self, values: Any) -> Any:
        """The states that some values of these steps stand for."""
        return in_complex(values) if self.is_complex else values

    def between(self, t: Any) -> Any:
        """The values at some times, a row for each."""
        k, weights = self.weights(t)
        if not self.is_whole:
            weights = np.where(unseen(self.is_behind, t)[:, None], np.nan, weights)
        return mixed(weights, self.along, k)

    def is_behind(self, t: Any) -> Any:
        """Whether each of some times lies behind these steps."""
        start, *_, end = self.steps.times
        return np.asarray(t) > end if end > start else np.asarray(t) < end

    def weights(self, t: Any) -> tuple[np.ndarray, Any]:
        """The steps in which some times lie, and the weights of slopes and value that yield the value at each time."""
        return unseen_if_constant(self.steps.weights, self.times, np.asarray(t))


class LinearPath(Path):
    """A Path on numbers, and the linear equations of its first derivatives."""

    def follow(self, y0: Any, times: Any) -> bool:
        self.y0, self.times, self.along = y0.copy(), times, self.steps.along
        self.points, ends = self.stages_and_ends()
        found = self.found(self.points, y0, ends)
        if found is None:
            return False
        self.linear, self.apart = self.steps.compared(self.f, self.points, found, self.tolerance)
        self.along = self.steps.along
        return self.linear is not None


class LinearValues(Sealed):
    """The changes of the values at some times, ascending or descending, for the residuals of a path's equations."""

    def __init__(self, path: LinearPath, t: Any = None) -> None:
        assert path.linear is not None  # since it follows the solution
        self.y0, self.points, self.steps, self.along = path.y0, path.points, path.linear, path.along
        if t is None:  # the ends of the solver's own steps
            self.k = np.arange(0, len(self.along), path.parts)
            self.weights = np.eye(self.along.shape[1])[[-1] * len(self.k)]
        else:
            self.k, self.weights = path.weights(t)

    @classmethod
    def of(cls, steps: Any, along: np.ndarray, k: np.ndarray, weights: np.ndarray) -> LinearValues:
        """Return the changes of the values in the steps k, with these weights of slopes and value."""
        made = cls.__new__(cls)
        made.steps, made.along, made.k, made.weights = steps, along, k, weights
        return made

    def changes(self, residuals: np.ndarray) -> np.ndarray:
        """Return the changes, a row for each time."""
        return mixed(self.weights, self.steps.changes(residuals), self.k)

    def residuals(self, y: np.ndarray) -> np.ndarray:
        """Return the transpose of `changes`."""
        along = np.zeros((*y.shape[:-2], *self.along.shape))
        first, own = np.flatnonzero(np.diff(self.k, prepend=-1)), along.shape[-2]
        sums = np.add.reduceat(self.weights[:, :, None] * y[..., None, :], first, axis=-3)
        along[..., self.k[first], :, :] = sums[..., :own, :]
        along[..., self.k[first] - 1, -2, :] += sums[..., own:, :].sum(axis=-2)
        return self.steps.residuals(along)


def mixed(weights: Any, along: Any, k: np.ndarray) -> Any:
    """Return the values by `Steps.weights` of slopes and values in the steps k."""
    own = along.shape[-2]
    found = np.einsum("es,...esn->...en", weights[:, :own], along[..., k, :, :])
    return found if weights.shape[1] == own else found + weights[:, own:] * along[..., k - 1, -2, :]


def values_along(y0: Any, *constants: Any, products: Any, at: Any, values: Any) -> Any:
    """The `values` of a solution at some times, an array (n, times). Errors: NoDerivativeError for other arguments."""
    pairs = zip((y0, *constants), (at.y0, *products.constants), strict=True)
    if not all([np.array_equal(*pair, equal_nan=True) for pair in pairs]):
        raise NoDerivativeError("the recorded solution is not that for these inputs; record the tape again")
    return values.copy("K")


@vjp_rule(values_along)
def values_along_(y_bar, y, y0, *constants, products, at, values, wanted):
    bars, count = residuals_of_changes(np.transpose(y_bar), steps=at), len(at.points[0])
    places = tuple([k for k in range(1, 1 + len(constants)) if wanted[k]])
    args = [*at.points, *constants]
    found = products.pulled_in_blocks(bars[:count], args, tuple([k + 1 for k in places])) if places else ()
    of_constants = dict(zip(places, found, strict=True))
    return bars[count], *[of_constants.get(k) for k in range(1, 1 + len(constants))]


@jvp_rule(values_along, broadcasts=True)
def push_values_along(tangents, y, y0, *constants, products, at, values):
    args = y0, *constants
    k = next(k for k in range(len(args)) if tangents[k] is not None)
    count = len(tangents[k]) if np.ndim(tangents[k]) > np.ndim(args[k]) else None
    dots = [None if dot is None else np.reshape(dot, (count or 1, *np.shape(arg)))
            for dot, arg in zip(tangents, args, strict=True)]  # fmt: skip
    stages = np.zeros((count or 1, len(at.points[0]), y0.size))
    if any([dot is not None for dot in dots[1:]]):
        stages = products.pushed_in_blocks([None, None, *dots[1:]], [*at.points, *constants])
    start = np.zeros((count or 1, y0.size)) if dots[0] is None else dots[0]
    ends = np.zeros((count or 1, len(at.along) - 1, y0.size))
    found = changes(np.concatenate([stages, start[:, None], ends], axis=1), steps=at)
    return np.transpose(found[0]) if count is None else np.swapaxes(found, 1, 2)


def unseen_if_constant(f: Any, *args: Any) -> Any:
    """The result of f, untraced if no argument is traced: that is faster."""
    return f(*args) if is_traced(args) else unseen(f, *args)


def path_by(f: Any, steps: Any, y0: Any, times: Any, tolerance: Any = 0.0, kind: Any = Path) -> Path | None:
    """The Path of some steps; None if f on all their stages has not the slopes there."""
    path = kind(f, steps, tolerance)
    return path if path.follow(y0, times) else None


def path_on(
    f: Any,
    collocations: tuple[Steps | None, Cut],
    y0: Any,
    times: Any,
    tolerances: tuple[Any, Any],
    kind: Any = Path,
) -> Path | None:
    """The Path of Radau's steps in place of those of another solution; None if they come to other values.

    If whole and half steps come to the same other values, the solution is the less accurate one. Then the Path follows
    Radau's solution, which Newton's step finds from it.
    """
    steps, cut = collocations
    reached: Any = None
    for parts in PARTS:
        steps = steps if parts == 1 else unseen(cut, parts)
        if steps is None:
            return None
        tolerance, of_parts = unseen(tolerance_of, steps.along[:, -1], *tolerances), refined(times, parts)
        path = kind(f, steps, tolerance)
        if path.follow(y0, of_parts):
            # its slopes were differences of values, inaccurate in short steps; those of Newton's step are not
            return path_by(f, steps, y0, of_parts, tolerance, kind) if is_traced(times) else path
        if path.apart is None:
            return None
        before, reached = reached, (steps.along + path.apart)[::parts, -1]
        if before is not None and np.all(np.abs(reached - before) <= tolerance):  # SciPy's solution is less accurate
            is_far = np.any(np.abs(path.apart[:, -1]) > FAR * tolerance)
            steps.along = steps.along + path.apart
            return None if is_far else path_by(f, steps, y0, of_parts, tolerance, kind)
    return None


def tolerance_of(values: Any, relative: Any, absolute: Any) -> Any:
    """The largest difference between the values of two methods, for each equation."""
    return NEAR * (absolute + relative * np.max(np.abs(values), axis=0))
