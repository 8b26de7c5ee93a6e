"""Numbers that tell, on a plain run of a tensor function, what it costs and its derivative along a direction.

The undecorated function run on them is the oracle for the cost model and for the total derivative. Python's own 0, with
which `sum` starts and which `else 0.0` gives, is a structural zero: adding it costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.rulebook.registry import rules

_OPERATORS: dict[Any, str] = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "truediv", np.power: "pow",
    np.negative: "neg",
}  # fmt: skip


def is_structural_zero(x: Any) -> bool:
    """Whether x is a zero that nothing computed."""
    return type(x) in (int, float) and x == 0


class Scalar:
    """A number whose operations all go through `_made`."""

    __array_priority__ = 1000.0

    def __array_ufunc__(self, f: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            return NotImplemented
        if f is np.square:
            return args[0] ** 2
        if f in _OPERATORS:
            name = _OPERATORS[f]
            if isinstance(args[0], type(self)):
                return getattr(args[0], f"__{name}__")(*args[1:])
            return getattr(args[1], f"__r{name}__")(args[0])
        return self._called(f, args)

    def _called(self, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        raise NotImplementedError

    def __pos__(self) -> Any:
        return self

    def __sub__(self: Any, other: Any) -> Any:
        return self + -other

    def __rsub__(self: Any, other: Any) -> Any:
        return -self + other

    def __abs__(self) -> Any:
        return self._called(np.absolute, (self,))

    def __float__(self) -> float:
        raise TypeError("this number counts or carries a derivative: name the function of NumPy, np.sin, not math.sin")


class Counting(Scalar):
    """A number that counts, in `spent`, the additions, multiplications and calls of functions that it meets."""

    def __init__(self, value: Any, spent: list[int]) -> None:
        self.value, self.spent = value, spent

    def _made(self, value: Any, cost: int) -> Counting:
        self.spent[0] += cost
        return Counting(value, self.spent)

    def __add__(self, other: Any) -> Any:
        return self if is_structural_zero(other) else self._made(self.value + bare(other), 1)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return self._made(-self.value, 1)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (bool, np.bool_)):
            return self if other else 0
        return self._made(self.value * bare(other), 1)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._made(self.value / bare(other), 2 if isinstance(other, Counting) else 1)

    def __rtruediv__(self, other: Any) -> Any:
        return self._made(bare(other) / self.value, 1 if other == 1 else 2)

    def __pow__(self, exponent: Any) -> Any:
        cost = {0: 0, 1: 0, 2: 1, 3: 2, 4: 2}.get(bare(exponent), 1)
        return self._made(self.value ** bare(exponent), cost)

    def __rpow__(self, base: Any) -> Any:
        return self._made(base**self.value, 1)

    def __gt__(self, other: Any) -> bool:
        """Python's max and min compare once for each call of theirs."""
        self.spent[0] += 1
        return bool(self.value > bare(other))

    def __lt__(self, other: Any) -> bool:
        self.spent[0] += 1
        return bool(self.value < bare(other))

    def _called(self, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        return self._made(f(*map(bare, args)), 1)


def bare(x: Any) -> Any:
    """The Python number of a Scalar."""
    return x.value if isinstance(x, Scalar) else x  # type: ignore[attr-defined]


class Dual(Scalar):
    """A number with its derivative along a direction; `dot` is None where it is certainly 0."""

    def __init__(self, value: Any, dot: Any = None) -> None:
        self.value, self.dot = value, dot

    def __add__(self, other: Any) -> Any:
        return Dual(self.value + bare(other), added(self.dot, dot(other)))

    __radd__ = __add__

    def __neg__(self) -> Any:
        return Dual(-self.value, None if self.dot is None else -self.dot)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (bool, np.bool_)):
            return self if other else 0
        return Dual(self.value * bare(other), added(scaled(self.dot, bare(other)), scaled(dot(other), self.value)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self * (Dual(other) if not isinstance(other, Dual) else other).inverse()

    def __rtruediv__(self, other: Any) -> Any:
        return self.inverse() * other

    def inverse(self) -> Dual:
        y = 1 / self.value
        return Dual(y, scaled(self.dot, -y * y))

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, Dual):
            return self._called(np.power, (self, exponent))
        y_dot = None if exponent == 0 else scaled(self.dot, exponent * self.value ** (exponent - 1))
        return Dual(self.value**exponent, y_dot)

    def __rpow__(self, base: Any) -> Any:
        return self._called(np.power, (base, self))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > bare(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < bare(other))

    def _called(self, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """By the rule of f: Σ ∂f/∂x ẋ."""
        values = [bare(a) for a in args]
        y = f(*values)
        y_dot = None
        for m, a in enumerate(args):
            if dot(a) is not None:
                y_dot = added(y_dot, scaled(dot(a), np.conj(rules.rrule(f, *values)[1](1.0)[m])))
        return Dual(y, y_dot)


def dot(x: Any) -> Any:
    return x.dot if isinstance(x, Dual) else None


def added(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b


def scaled(a: Any, c: Any) -> Any:
    return None if a is None else a * c


def mapped_numbers(f: Callable[[Any], Any], x: Any) -> Any:
    """An array, tuple or list with f(number) for each number in it; arrays become arrays of objects."""
    if isinstance(x, (tuple, list)):
        return type(x)(mapped_numbers(f, part) for part in x)
    if isinstance(x, np.ndarray):
        return filled(x.shape, [f(v) for v in x.flat])
    return f(x)


def filled(shape: tuple[int, ...], numbers: list[Any]) -> np.ndarray:
    """The array of objects of this shape that holds these numbers."""
    made = np.empty(len(numbers), object)
    made[:] = numbers
    return made.reshape(shape)


def plain_cost(f: Callable[..., Any], *args: Any) -> int:
    """How many operations a plain run takes; arguments that are not floats stay as they are."""
    spent = [0]
    f(*(mapped_numbers(lambda v: Counting(v, spent), a) if is_differentiable(a) else a for a in args))
    return spent[0]


def plain_jvp(f: Callable[..., Any], args: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """The derivative of a plain run along tangents, None for those without; its structure is the result's."""
    duals = [_dual(a, t) for a, t in zip(args, tangents, strict=True)]
    return _dots(f(*duals))


def is_differentiable(x: Any) -> bool:
    """Whether x is a float, an array of floats, or a container of such."""
    if isinstance(x, (tuple, list)):
        return all(map(is_differentiable, x))
    return isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype.kind in "fO")


def _dual(x: Any, tangent: Any) -> Any:
    if tangent is None:
        return x
    if isinstance(x, tuple):
        return tuple(_dual(part, t) for part, t in zip(x, tangent, strict=True))
    if not isinstance(x, np.ndarray):
        return Dual(x, tangent)
    return filled(x.shape, [Dual(v, t) for v, t in zip(x.flat, np.asarray(tangent).flat, strict=True)])


def _dots(y: Any) -> Any:
    if isinstance(y, tuple):
        return tuple(map(_dots, y))
    if isinstance(y, (list, np.ndarray)):
        return np.array([_dots(part) for part in y])
    return 0 if dot(y) is None else dot(y)
