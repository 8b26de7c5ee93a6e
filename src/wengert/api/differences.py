"""Derivatives by central differences with Richardson's extrapolation; smaller steps where a function bends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.errors import ArgumentError, NonScalarOutputError
from wengert.values.argnums import refuse_swallowed
from wengert.values.specs import as_float
from wengert.values.trees import Leaf, Seen, rebuild

ENTERED = "It computes with the results of the user's function."


def ngradient(f: Callable[..., Any], *args: Any, argnums: int | tuple[int, ...] | None = None, **kwargs: Any) -> Any:
    """Compute ∂f/∂args of a function `f` that returns one real number, by extrapolated central differences.

    `f` runs about eight times for each number, on copies of the arguments.

    Parameters:
        f (callable): The function.
        *args (Any): Its positional arguments.
        argnums (int | tuple[int, ...] | None): The position of an argument, for which the result is that gradient
            alone, or a tuple of positions; by default all. An integer argument that it names counts as a float.
        **kwargs (Any): Its keyword arguments, which are constants.
    Returns:
        tuple: A gradient for each argument, of its structure, shapes and dtypes, as `grad` returns it: None where there
            is no derivative, ∂f/∂a - i ∂f/∂b for a complex a + ib.
    Raises:
        NonScalarOutputError: The result is not one real number.
        ArgumentError: A position is out of range.
    See Also:
        check_grads, grad

    Examples:
        >>> wg.ngradient(lambda x: np.sum(x**2), np.array([1.0, 2.0]), argnums=0).round(9)
        array([2., 4.])
    """
    refuse_swallowed(f, kwargs)
    wanted = _argument_positions(argnums, len(args))
    if argnums is not None:
        args = tuple(as_float(x) if i in wanted else x for i, x in enumerate(args))
    gradients = _FiniteDifferences(f, args, kwargs, wanted).gradients(lambda: None)
    return gradients[0] if isinstance(argnums, int) else gradients


def ngradient_with_progress(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], each: Callable[[], None]
) -> tuple[Any, ...]:
    """Compute `ngradient(f, *args, **kwargs)`; call `each` after the derivative with respect to each number."""
    return _FiniteDifferences(f, args, kwargs, tuple(range(len(args)))).gradients(each)


def _argument_positions(argnums: int | tuple[int, ...] | None, count: int) -> tuple[int, ...]:
    if argnums is None:
        return tuple(range(count))
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for i in chosen:
        if not -count <= i < count:
            raise ArgumentError(f"argnums names argument {i}, but there are {count} positional arguments")
    return tuple(i % count for i in chosen)


# The function near its arguments


class _FiniteDifferences:
    """Calls of f with one leaf of its arguments changed; each gets copies, since f may write into them."""

    def __init__(
        self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[int, ...]
    ) -> None:
        self.f, self.args, self.kwargs, self.wanted = f, args, kwargs, wanted
        self.leaves: list[Leaf] = []
        seen: Seen = {}
        for i in wanted:
            rebuild(args[i], lambda leaf, _: self.leaves.append(leaf), seen=seen)
        self.base, self.eps = _real_number(self._call({}))

    def gradients(self, each: Callable[[], None]) -> tuple[Any, ...]:
        """Return the gradients of the `wanted` arguments; call `each` after each number."""
        found: Iterator[Any] = iter([self._gradient(k, each) for k in range(len(self.leaves))])
        seen: Seen = {}
        return tuple(rebuild(self.args[i], lambda *_: next(found), lambda _: None, seen=seen) for i in self.wanted)

    def _call(self, changed: dict[int, Leaf]) -> Any:
        """Call f on copies of the arguments, with leaf number k replaced by changed[k]."""
        numbers = iter(range(len(self.leaves)))
        seen: Seen = {}
        args = list(self.args)
        for i in self.wanted:
            args[i] = rebuild(
                self.args[i], lambda leaf, _: changed.get(next(numbers), _array_copy(leaf)), _array_copy, seen=seen
            )
        for i in set(range(len(args))) - set(self.wanted):
            args[i] = rebuild(self.args[i], lambda leaf, _: _array_copy(leaf), _array_copy, seen=seen)
        return self.f(*args, **copies(self.kwargs))

    def _gradient(self, k: int, each: Callable[[], None]) -> Any:
        leaf = self.leaves[k]
        out = np.zeros(np.shape(leaf), np.asarray(leaf).dtype)
        for index in np.ndindex(out.shape):
            out[index] = self._partial(k, index, 1)
            if out.dtype.kind == "c":
                out[index] -= 1j * self._partial(k, index, 1j)
            each()
        return _as_kind_of(leaf, out)

    def _partial(self, k: int, index: tuple[int, ...], direction: complex) -> float:
        """Return the derivative with respect to the real or imaginary part of one number."""
        leaf = self.leaves[k]
        x = np.asarray(leaf)[index]
        eps = max(self.eps, float(np.finfo(x.dtype).eps))

        def difference(step: float) -> float:
            ends = [(np.asarray(x + sign * step * direction)).astype(x.dtype) for sign in (1, -1)]
            rise = [_real_number(self._call({k: _with_number_at(leaf, index, end)}))[0] for end in ends]
            return (rise[0] - rise[1]) / float(abs(ends[0] - ends[1]))

        return extrapolated_derivative(difference, float(abs(x)), eps, abs(self.base))


def _array_copy(value: Any) -> Any:
    return np.array(value, subok=True) if isinstance(value, np.ndarray) else value


def copies(value: Any) -> Any:
    """Copy the arrays of a structure."""
    return rebuild(value, lambda leaf, _: _array_copy(leaf), _array_copy)


def _with_number_at(leaf: Leaf, index: tuple[int, ...], number: Any) -> Leaf:
    new = np.array(leaf, subok=True)
    np.asarray(new)[index] = number  # also under the mask of a masked array, which stays one
    return _as_kind_of(leaf, new)


def _as_kind_of(leaf: Leaf, array: np.ndarray) -> Any:
    """Return an array as the type of the leaf: an array, a NumPy scalar or a Python number."""
    if isinstance(leaf, np.ndarray):
        return array
    return array[()] if isinstance(leaf, np.generic) else array.item()


def _real_number(result: Any) -> tuple[float, float]:
    """Return a result as a float, and the machine epsilon of its dtype. Errors: NonScalarOutputError."""
    array = np.asarray(result)
    if array.size != 1 or array.dtype.kind not in "fiu":
        raise NonScalarOutputError(
            f"finite differences need a function that returns one real number, not {_describe(result)}: "
            "return a sum, or the real part, of the result"
        )
    eps = np.finfo(array.dtype if array.dtype.kind == "f" else np.float64).eps
    return float(array.item()), float(eps)


def _describe(result: Any) -> str:
    if isinstance(result, np.ndarray):
        return f"an array of shape {result.shape} and dtype {result.dtype}"
    return f"a {type(result).__name__}"


# The derivative at a point


def extrapolated_derivative(difference: Callable[[float], float], x: float, eps: float, size: float) -> float:
    """Return the limit of `difference(step)` as the step goes to 0.

    A central difference extrapolated over four halvings has a truncation error of about step⁸ and a rounding error of
    eps/step, so the first step is eps^(1/9). If the function bends within that step, smaller steps are tried.
    `x` is the magnitude of the point, `size` that of the function.
    """
    first = eps ** (1 / 9)
    scales = [max(x, 1.0), min(x, 1.0) or 1.0 / 16]
    steps = [first * scale for scale in scales] + [first * scales[0] / 16**n for n in range(1, 8)]
    best, best_error = math.nan, math.inf
    for step in steps:
        estimate, error = _richardson(difference, step)
        rounding = eps * size / step
        if math.isfinite(error) and error + rounding < best_error:
            best, best_error = estimate, error + rounding
        if error <= eps**0.6 * abs(estimate) + 16 * rounding:
            break
    return best


def _richardson(difference: Callable[[float], float], step: float) -> tuple[float, float]:
    """Return the best entry of Richardson's table over four halvings, and its distance from its neighbours."""
    best, best_error = math.nan, math.inf
    above: list[float] = []
    for halvings in range(4):
        row = [_difference_or_nan(difference, step / 2**halvings)]
        for j, previous in enumerate(above, 1):
            row.append(row[-1] + (row[-1] - previous) / (4**j - 1))
        if above:
            error = max(abs(row[-1] - row[-2]), abs(row[-1] - above[-1]))
            if error < best_error:
                best, best_error = row[-1], error
        above = row if math.isfinite(row[0]) else []
    return best, best_error


def _difference_or_nan(difference: Callable[[float], float], step: float) -> float:
    """Return the difference, or nan if it leaves the function's domain."""
    try:
        with np.errstate(all="ignore"):
            return difference(step)
    except (ArithmeticError, ValueError):  # what math functions raise there
        return math.nan
