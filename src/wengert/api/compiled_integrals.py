"""Integrals in compiled functions: compiled code of the integrand and of its derivatives, at nodes for each call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.api.called_functions import Branch, CalledFunction, join_parts, known_outside, split_parts
from wengert.api.integral import Tolerance, integrals
from wengert.errors import NotNativeError, StaleTapeError
from wengert.hooks.classes import as_traced
from wengert.hooks.solver_callbacks import is_traced, order, unseen
from wengert.recording.recording import calling
from wengert.recording.session import active_recording
from wengert.tape.ops import Constant
from wengert.values.callables import callable_name
from wengert.values.sealed import Sealed


class IntegralCall(Sealed):
    """An integral: its integrand, and what is the same in each call."""

    def __init__(self, f: Any, count: int, breaks: Iterable[float], to: Tolerance, moves: tuple[bool, bool]) -> None:
        self.outer = dict[int, Constant]()
        self._last: tuple[list[bytes], np.ndarray] | None = None
        self.f, self.breaks, self.to, self.moves = CalledFunction(f, self.outer), breaks, to, moves
        self._name, self._count = callable_name(f), count

    def slopes(self, values: Sequence[Any], missed: list[Any] | None = None) -> np.ndarray:
        """Return the integral, and its derivatives by its ends, its arguments and what the integrand reads.

        `values` are these. Errors: StaleTapeError if the integrand takes a new branch; it is appended to `missed`.
        """
        missed = [] if missed is None else missed
        key, last = [np.asarray(value).tobytes() for value in values], self._last  # other threads may set it
        if last is not None and last[0] == key:
            return last[1].copy()
        (a, b), end = values[:2], 2 + self._count
        args, outer = values[2:end], values[end:]
        gradient = self.f.bound(outer, missed, Branch.gradient)

        def integrand(x: float) -> np.ndarray:
            value, _, *slopes = gradient(x, *args)
            return _one_vector([value, *slopes])

        by_end = [sign * gradient(float(end), *args)[0] if moves else 0.0 for end, sign, moves in self._ends(a, b)]
        value, *others = integrals(integrand, float(a), float(b), self.breaks, self.to, self._name)
        found = np.array([value, *by_end, *others])
        self._last = key, found
        return found.copy()

    def curvature(self, values: Sequence[Any], direction: np.ndarray, missed: list[Any] | None = None) -> np.ndarray:
        """Return the product of the second derivatives with a direction, both in the order of `slopes`.

        The integral's second derivatives by an end and by a parameter are those of the integrand at the end.
        Errors: as `slopes`.
        """
        missed, (a, b), end = [] if missed is None else missed, values[:2], 2 + self._count
        args, outer, along, begin = values[2:end], values[end:], list[Any](), 2
        for value in values[2:]:
            along.append(direction[begin : begin + np.size(value)].reshape(np.shape(value))[()])
            begin += np.size(value)
        of_parts, of_outer = [0.0, *along[: self._count]], along[self._count :]
        gradient = self.f.bound(outer, missed, Branch.gradient)
        curvature = self.f.bound(outer, missed, lambda branch, *given: branch.curvature(*given, of_parts, of_outer))
        others, by_end = np.zeros(0), [0.0, 0.0]
        if along:
            others = integrals(
                lambda x: _one_vector(curvature(x, *args)[1:]), float(a), float(b), self.breaks, self.to, self._name
            )
        for k, (x, sign, moves) in enumerate(self._ends(a, b)):
            if moves:
                _, by_x, *slopes = gradient(float(x), *args)
                others = others + sign * direction[k] * _one_vector(slopes)
                by_end[k] = sign * (direction[k] * by_x + _one_vector(slopes) @ direction[2:])
        return np.array([*by_end, *others])

    def _ends(self, a: Any, b: Any) -> list[tuple[Any, float, bool]]:
        """Return each end, the sign of the integrand there in the derivative, and whether the end moves."""
        ends = zip((a, b), (-1.0, 1.0), self.moves, strict=True)
        return [(end, sign, moves and bool(np.isfinite(end))) for end, sign, moves in ends]


def _one_vector(parts: Sequence[Any]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *map(np.ravel, parts)])


def integral_by_code(
    record_as: Callable[..., Any],
    f: Callable[..., Any],
    a: Any,
    b: Any,
    breaks: Iterable[float],
    args: tuple[Any, ...],
    to: Tolerance,
) -> Any:
    """Return the integral of `f(x, *args)` from a to b, with its first derivative, by code for f and its gradient.

    It is recorded as the call `record_as(a, b, *args, *outer, call=call)`, with the values `outer` that f reads from
    the trace around it. `call.slopes` returns the integral for these values, and its derivatives by them;
    `call.curvature` returns products of its second derivatives with a direction.

    Parameters:
        record_as (callable): The function to record, which has a rule.
        f (callable): The integrand, which returns a number.
        a (float): The lower end.
        b (float): The upper end.
        breaks (Iterable[float]): The points at which to cut first.
        args (tuple): The further arguments of f.
        to (Tolerance): The tolerance of the integrals of f and of its derivatives.
    Returns:
        float: The integral.
    Raises:
        NotNativeError: f changes something outside, or cannot be traced alone.
    See Also:
        nodes_for, compiled_by

    Examples:
        >>> from scipy import integrate
        >>> f = wg.compile(wg.grad(lambda a: integrate.quad(lambda x: a * x, 0.0, 2.0)[0]))  # which calls it
        >>> print(round(f(3.0), 9))
        2.0
    """
    if is_traced((breaks, to)):
        raise NotNativeError("its points or its tolerances may change")
    parts, missed = list[Any](), list[Any]()
    form = split_parts(args, parts)

    @functools.wraps(f)
    def of_parts(x: Any, *parts: Any) -> Any:
        return as_traced(f)(x, *join_parts(form, parts))

    call = IntegralCall(of_parts, len(parts), breaks, to, (is_traced(a), is_traced(b)))
    try:
        while True:
            with known_outside([call.f], call.outer) as outer:
                values = [a, b, *parts, *outer]
                try:
                    unseen(call.slopes, values, missed)
                    if order() > 1:
                        size = 2 + sum([np.size(value) for value in values[2:]])
                        unseen(call.curvature, values, np.ones(size), missed)
                except StaleTapeError as error:
                    if not missed:
                        raise NotNativeError(str(error)) from error
                else:
                    return calling(active_recording())(record_as, *values, call=call)
            _, (of_args, of_kwargs) = missed.pop()
            call.f.add_branch(of_args, of_kwargs)
    finally:
        call.outer.clear()
        call.f.forget_trace()
