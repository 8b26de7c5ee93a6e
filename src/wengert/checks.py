"""Derivatives by differences, and the comparison of a gradient with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from wengert.errors import GradientCheckError, NonScalarOutputError
from wengert.gradient import quiet_gradients
from wengert.values.callables import signature
from wengert.values.structures import Leaf, Seen, leaves, rebuild
from wengert.values.values import as_float


def ngradient(f: Callable[..., Any], *args: Any, argnums: int | tuple[int, ...] | None = None, **kwargs: Any) -> Any:
    """∂f/∂args by extrapolated central differences: a tuple with one gradient per argument, in its structure.

    As `grad` has it: None where there is no derivative; ∂f/∂a - i ∂f/∂b for a complex a + ib; shapes and dtypes of the
    arguments. `argnums`: a position, which gives a bare gradient, or a tuple of positions; by default all. A whole
    number that it names counts as a float. `f` runs some eight times a number, on copies of the arguments.

    >>> wg.ngradient(lambda x: np.sum(x**2), np.array([1.0, 2.0]), argnums=0).round(9)
    array([2., 4.])

    Errors: NonScalarOutputError for a result that is not one real number, ValueError for a position that is not there.
    """
    wanted = _wanted(argnums, len(args))
    if argnums is not None:
        args = tuple(as_float(x) if i in wanted else x for i, x in enumerate(args))
    gradients = _Probe(f, args, kwargs, wanted).gradients()
    return gradients[0] if isinstance(argnums, int) else gradients


def _wanted(argnums: int | tuple[int, ...] | None, count: int) -> tuple[int, ...]:
    if argnums is None:
        return tuple(range(count))
    chosen = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for i in chosen:
        if not -count <= i < count:
            raise ValueError(f"argnums names argument {i}, but there are {count} positional arguments")
    return tuple(i % count for i in chosen)


# The function near its arguments


class _Probe:
    """f with one leaf of its arguments changed; each run gets copies, because f may write its arguments."""

    def __init__(
        self, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], wanted: tuple[int, ...]
    ) -> None:
        self.f, self.args, self.kwargs, self.wanted = f, args, kwargs, wanted
        self.leaves: list[Leaf] = []
        seen: Seen = {}
        for i in wanted:
            rebuild(args[i], lambda leaf, _: self.leaves.append(leaf), seen=seen)
        self.base, self.eps = _real_number(self._call({}))

    def gradients(self) -> tuple[Any, ...]:
        found: Iterator[Any] = iter([self._gradient(k) for k in range(len(self.leaves))])
        seen: Seen = {}
        return tuple(rebuild(self.args[i], lambda *_: next(found), lambda _: None, seen=seen) for i in self.wanted)

    def _call(self, changed: dict[int, Leaf]) -> Any:
        """f on copies of the arguments, with leaf number k replaced by changed[k]."""
        numbers = iter(range(len(self.leaves)))
        seen: Seen = {}
        args = list(self.args)
        for i in self.wanted:
            args[i] = rebuild(self.args[i], lambda leaf, _: changed.get(next(numbers), _own(leaf)), _own, seen=seen)
        for i in set(range(len(args))) - set(self.wanted):
            args[i] = rebuild(self.args[i], lambda leaf, _: _own(leaf), _own, seen=seen)
        return self.f(*args, **_copy(self.kwargs))

    def _gradient(self, k: int) -> Any:
        leaf = self.leaves[k]
        out = np.zeros(np.shape(leaf), np.asarray(leaf).dtype)
        for index in np.ndindex(out.shape):
            out[index] = self._partial(k, index, 1)
            if out.dtype.kind == "c":
                out[index] -= 1j * self._partial(k, index, 1j)
        return _like(leaf, out)

    def _partial(self, k: int, index: tuple[int, ...], direction: complex) -> float:
        """The derivative with respect to the real or imaginary part of one number."""
        leaf = self.leaves[k]
        x = np.asarray(leaf)[index]
        eps = max(self.eps, float(np.finfo(x.dtype).eps))

        def difference(step: float) -> float:
            ends = [(np.asarray(x + sign * step * direction)).astype(x.dtype) for sign in (1, -1)]
            rise = [self._value(k, _with(leaf, index, end)) for end in ends]
            return (rise[0] - rise[1]) / float(abs(ends[0] - ends[1]))

        return derivative(difference, float(abs(x)), eps, abs(self.base))

    def _value(self, k: int, leaf: Leaf) -> float:
        """f there, or nan outside its domain."""
        try:
            with np.errstate(all="ignore"):
                return _real_number(self._call({k: leaf}))[0]
        except (ArithmeticError, ValueError):  # what math functions raise outside their domain
            return math.nan


def _own(value: Any) -> Any:
    return np.array(value, subok=True) if isinstance(value, np.ndarray) else value


def _copy(value: Any) -> Any:
    return rebuild(value, lambda leaf, _: _own(leaf), _own)


def _with(leaf: Leaf, index: tuple[int, ...], number: Any) -> Leaf:
    new = np.array(leaf, subok=True)
    new[index] = number
    return _like(leaf, new)


def _like(leaf: Leaf, array: np.ndarray) -> Any:
    """The array as the kind of thing that the leaf is."""
    if isinstance(leaf, np.ndarray):
        return array
    return array[()] if isinstance(leaf, np.generic) else array.item()


def _real_number(result: Any) -> tuple[float, float]:
    """A result as a float, and the spacing of its floats at 1."""
    array = np.asarray(result)
    if array.size != 1 or array.dtype.kind not in "fiu":
        raise NonScalarOutputError(
            f"differences need one real number as result, not {_described(result)}: "
            "return a sum, or the real part, of what the function computes"
        )
    eps = np.finfo(array.dtype if array.dtype.kind == "f" else np.float64).eps
    return float(array.item()), float(eps)


def _described(result: Any) -> str:
    if isinstance(result, np.ndarray):
        return f"an array of shape {result.shape} and dtype {result.dtype}"
    return f"a {type(result).__name__}"


# The derivative at a point


def derivative(difference: Callable[[float], float], x: float, eps: float, size: float) -> float:
    """The limit of `difference(step)` as the step goes to 0.

    A central difference extrapolated over four halvings errs by about step⁸ in truncation and eps/step in
    rounding, so the first step is eps^(1/9). Where the function bends within that, smaller steps are tried.
    `x` is the magnitude of the point, `size` that of the function.
    """
    first = eps ** (1 / 9)
    scales = [max(x, 1.0), min(x, 1.0) or 1.0 / 16]
    steps = [first * scale for scale in scales] + [first * scales[0] / 16**n for n in range(1, 8)]
    best, best_error = math.nan, math.inf
    for step in steps:
        estimate, error = _extrapolated(difference, step)
        rounding = eps * size / step
        if math.isfinite(error) and error + rounding < best_error:
            best, best_error = estimate, error + rounding
        if error <= eps**0.6 * abs(estimate) + 16 * rounding:
            break
    return best


def _extrapolated(difference: Callable[[float], float], step: float) -> tuple[float, float]:
    """Richardson's table over four halvings: its best entry, and how far that is from its neighbours."""
    best, best_error = math.nan, math.inf
    above: list[float] = []
    for halvings in range(4):
        row = [difference(step / 2**halvings)]
        for j, previous in enumerate(above, 1):
            row.append(row[-1] + (row[-1] - previous) / (4**j - 1))
        if above:
            error = max(abs(row[-1] - row[-2]), abs(row[-1] - above[-1]))
            if error < best_error:
                best, best_error = row[-1], error
        above = row if math.isfinite(row[0]) else []
    return best, best_error


# The comparison


def _own_gradient(g: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    places = [k for k, x in enumerate(args) if leaves(x)]
    found = quiet_gradients(g, args, kwargs, tuple(places))
    table = dict(zip(places, found, strict=True))
    return tuple(table.get(k) for k in range(len(args)))


def check_grads(
    f: Callable[..., Any],
    *args: Any,
    gradient: Callable[..., tuple[Any, ...]] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    **kwargs: Any,
) -> float:
    """The largest relative error of the gradient against differences; `gradient(f, *args)` may replace wengert's own.

    A result that is not one real number is reduced to one by fixed random weights. `gradient` gives a tuple, one
    gradient per argument. `rtol` and `atol`: the tolerances, by default eps^(1/3) and eps^(1/2) of each leaf's dtype.

    >>> wg.check_grads(np.sin, np.array([0.5, 2.0])) < 1e-9
    True

    Errors: GradientCheckError, naming the leaf, both numbers and the error.
    """
    g = _scalarised(f, args, kwargs)
    actual = (_own_gradient if gradient is None else gradient)(g, *args, **kwargs)
    expected = ngradient(g, *args, **kwargs)
    if not isinstance(actual, tuple) or len(actual) != len(args):
        raise GradientCheckError(f"expected a tuple of {len(args)} gradients, one per argument, got {actual!r}")
    worst = 0.0
    for name, x, found, wanted in zip(_names(f, len(args)), args, actual, expected, strict=True):
        found_at, wanted_at = dict(leaves(found, name)), dict(leaves(wanted, name))
        for path, leaf in leaves(x, name):
            if path not in found_at:
                raise GradientCheckError(f"there is no gradient at {path}: the gradient's structure differs")
            _check_form(path, found_at[path], leaf)
            worst = max(worst, _compare(path, found_at[path], wanted_at[path], rtol, atol))
        for path in sorted(found_at.keys() - wanted_at.keys()):
            raise GradientCheckError(f"there is a gradient at {path}, where the argument has no leaf")
    return worst


def _names(f: Callable[..., Any], count: int) -> list[str]:
    """The parameters' names, as far as they are known."""
    try:
        bound = signature(f).bind(*range(count)).arguments
    except (TypeError, ValueError):
        return [f"args[{i}]" for i in range(count)]
    names: list[str] = []
    for name, value in bound.items():
        names += [f"{name}[{i}]" for i in range(len(value))] if isinstance(value, tuple) else [name]
    return names


def _scalarised(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
    """f itself, or the sum of its result with fixed random weights."""
    result = np.asarray(f(*_copy(args), **_copy(kwargs)))
    if result.size == 1 and result.dtype.kind == "f":
        return f
    weights = np.random.default_rng(0).standard_normal(result.shape)
    if result.dtype.kind == "c":
        weights = weights + 1j * np.random.default_rng(1).standard_normal(result.shape)

    def weighted_sum(*args: Any, **kwargs: Any) -> Any:
        return np.sum(np.real(f(*args, **kwargs) * weights))

    return weighted_sum


def _check_form(path: str, found: Any, leaf: Leaf) -> None:
    """A gradient has its leaf's shape and dtype."""
    for what, has, needs in (
        ("shape", np.shape(found), np.shape(leaf)),
        ("dtype", np.asarray(found).dtype, np.asarray(leaf).dtype),
    ):
        if has != needs:
            raise GradientCheckError(f"the gradient at {path} has {what} {has}, the argument {needs}")


def _compare(path: str, found: Any, wanted: Any, rtol: float | None, atol: float | None) -> float:
    """The largest relative error at one leaf; raises where it is too large."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if not wanted.size:
        return 0.0
    eps = float(np.finfo(wanted.dtype).eps)
    rtol = eps ** (1 / 3) if rtol is None else rtol
    atol = eps ** (1 / 2) if atol is None else atol
    with np.errstate(all="ignore"):
        gap = np.abs(found - wanted)
        relative = np.where(gap <= atol, 0.0, gap / np.abs(wanted))
        wrong = ~(gap <= atol + rtol * np.abs(wanted))  # so that a nan is wrong
    if not wrong.any():
        return float(relative.max())
    severity = np.where(wrong, np.nan_to_num(relative, nan=np.inf), -1.0)
    index = tuple(int(i) for i in np.unravel_index(int(severity.argmax()), severity.shape))
    at = path + (f"[{', '.join(map(str, index))}]" if index else "")
    raise GradientCheckError(
        f"the gradient disagrees with differences at {at}\n"
        f"    gradient:       {found[index]!s}\n"
        f"    differences:    {wanted[index]!s}\n"
        f"    relative error: {relative[index]:.2g}, allowed {rtol:.2g}\n"
        f"{int(wrong.sum())} of {wrong.size} numbers at {path} disagree"
    )
