"""Derivatives by dual numbers: a peer of another kind, exact to any order, that shares nothing with wengert.

A number has a part for each direction of the derivative in which it stands; these parts, and the number without them,
may be such numbers again. The parts count while the function of their derivative runs: what escapes is a constant.
Arrays are NumPy's arrays of objects, so the same programs run, with `NP` in the place of `numpy` and `math`, and with
these `grad`, `vjp`, … in the place of wengert's. Complex numbers are moved along both axes.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np


class Derivative:
    """One derivative: while its function runs it is open. `order` grows from the outer ones to the inner ones."""

    count = 0

    def __init__(self) -> None:
        Derivative.count += 1
        self.order, self.is_open = Derivative.count, True


class Number:
    """A number of a derivative: `primal + Σ parts[d]·εd`; of none: a float or complex number, and no parts."""

    __slots__ = ("of", "parts", "primal")

    def __init__(self, primal: Any, parts: dict[Any, Any] | None = None, of: Derivative | None = None) -> None:
        self.primal, self.parts, self.of = primal, parts or {}, of

    def __add__(self, other: Any) -> Any:
        return binary(self, other, lambda a, b: a + b, lambda a, b: 1.0, lambda a, b: 1.0)

    def __sub__(self, other: Any) -> Any:
        return binary(self, other, lambda a, b: a - b, lambda a, b: 1.0, lambda a, b: -1.0)

    def __mul__(self, other: Any) -> Any:
        return binary(self, other, lambda a, b: a * b, lambda a, b: b, lambda a, b: a)

    def __truediv__(self, other: Any) -> Any:
        return binary(self, other, lambda a, b: a / b, lambda a, b: 1.0 / b, lambda a, b: -a / (b * b))

    def __pow__(self, n: int) -> Any:
        return unary(self, lambda a: a**n, lambda a: n * a ** (n - 1) if n > 1 else Number(1.0))

    def __neg__(self) -> Any:
        return self * -1.0

    def __rsub__(self, other: Any) -> Any:
        return number(other) - self

    def __rtruediv__(self, other: Any) -> Any:
        return number(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: Any) -> bool:
        return plain(self) < plain(other)

    def __gt__(self, other: Any) -> bool:
        return plain(self) > plain(other)

    def __float__(self) -> Any:
        raise TypeError("a number of a derivative is no float")


def number(x: Any) -> Number:
    """`x` as a Number, without the parts of derivatives whose functions have returned."""
    if not isinstance(x, Number):
        return Number(x.item() if isinstance(x, np.generic) else x)
    while x.of is not None and not x.of.is_open:
        x = number(x.primal)
    return x


def plain(x: Any) -> Any:
    """The float or complex number under all parts."""
    while isinstance(x, Number):
        x = x.primal
    return x


def unary(x: Any, f: Callable[[Any], Any], slope: Callable[[Any], Any]) -> Any:
    """f(x), and f′(x) times each part."""
    x = number(x)
    if x.of is None:
        return Number(f(x.primal))
    by = slope(x.primal)
    return Number(f(x.primal), {d: by * part for d, part in x.parts.items()}, x.of)


def binary(a: Any, b: Any, f: Any, by_a: Any, by_b: Any) -> Any:
    """f(a, b), and its partial derivatives times the parts of each."""
    if isinstance(b, np.ndarray):
        return NotImplemented
    a, b = number(a), number(b)
    of = max((x.of for x in (a, b) if x.of is not None), key=lambda of: of.order, default=None)
    if of is None:
        return Number(f(a.primal, b.primal))
    (p, p_parts), (q, q_parts) = ((x.primal, x.parts) if x.of is of else (x, {}) for x in (a, b))
    parts = {d: by_a(p, q) * part for d, part in p_parts.items()}
    for d, part in q_parts.items():
        own = by_b(p, q) * part
        parts[d] = parts[d] + own if d in parts else own
    return Number(f(p, q), parts, of)


def partwise(x: Any, f: Callable[[Any], Any]) -> Any:
    """A function that is linear over the reals, of the number and of each part."""
    x = number(x)
    if x.of is None:
        return Number(f(x.primal))
    return Number(partwise(x.primal, f), {d: partwise(part, f) for d, part in x.parts.items()}, x.of)


def sin(x: Any) -> Any:
    return unary(x, sin if isinstance(number(x).primal, Number) else _of(math.sin, cmath.sin), cos)


def cos(x: Any) -> Any:
    return unary(x, cos if isinstance(number(x).primal, Number) else _of(math.cos, cmath.cos), lambda a: sin(a) * -1.0)


def exp(x: Any) -> Any:
    return unary(x, exp if isinstance(number(x).primal, Number) else _of(math.exp, cmath.exp), exp)


def tanh(x: Any) -> Any:
    f = tanh if isinstance(number(x).primal, Number) else _of(math.tanh, cmath.tanh)
    return unary(x, f, lambda a: 1.0 - tanh(a) * tanh(a))


def log(x: Any) -> Any:
    f = log if isinstance(number(x).primal, Number) else _of(math.log, cmath.log)
    return unary(x, f, lambda a: 1.0 / number(a))


def sqrt(x: Any) -> Any:
    f = sqrt if isinstance(number(x).primal, Number) else _of(math.sqrt, cmath.sqrt)
    return unary(x, f, lambda a: 0.5 / sqrt(a))


def _of(real: Any, complexes: Any) -> Callable[[Any], Any]:
    return lambda x: complexes(x) if isinstance(x, complex) else real(x)


def mapped(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numbers as one of numbers and arrays, with `out=`."""
    each = np.frompyfunc(f, f.__code__.co_argcount, 1)

    def of_arrays(*args: Any, out: Any = None) -> Any:
        if any(isinstance(a, np.ndarray) for a in args):
            return each(*args, out=out) if out is not None else each(*args)
        return f(*args)

    return of_arrays


def array(items: Any) -> np.ndarray:
    made = np.array(items, object)
    return np.frompyfunc(number, 1, 1)(made) if made.size else made


NP = SimpleNamespace(
    **{f.__name__: mapped(f) for f in (sin, cos, exp, tanh, log, sqrt)},
    real=mapped(lambda x: partwise(x, lambda v: v.real)),
    imag=mapped(lambda x: partwise(x, lambda v: v.imag)),
    conj=mapped(lambda x: partwise(x, lambda v: v.conjugate())),
    multiply=mapped(lambda a, b: number(a) * b),
    add=mapped(lambda a, b: number(a) + b),
    maximum=mapped(lambda a, b: a if plain(a) > plain(b) else number(b)),
    zeros=lambda *shape: array(np.zeros(*shape)),
    zeros_like=lambda a: array(np.zeros(a.shape)),
    array=array,
    where=lambda test, a, b: np.where(test, a, b),
    **{name: getattr(np, name) for name in ("sum", "prod", "cumsum", "dot", "outer", "stack", "concatenate", "sort")},
    **{name: getattr(np, name) for name in ("reshape", "transpose", "roll", "mean", "copy", "einsum", "trace")},
)


# Derivatives of functions of structures


def leaves(x: Any) -> list[Any]:
    """The numbers of a structure, each apart: those of an array in their order."""
    if isinstance(x, dict):
        return [leaf for part in x.values() for leaf in leaves(part)]
    if isinstance(x, (list, tuple)):
        return [leaf for part in x for leaf in leaves(part)]
    return x.ravel().tolist() if isinstance(x, np.ndarray) else [x]


def filled(x: Any, numbers: Any) -> Any:
    """A structure like `x` with other numbers, from an iterator."""
    if isinstance(x, dict):
        return {key: filled(part, numbers) for key, part in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)([filled(part, numbers) for part in x])
    if not isinstance(x, np.ndarray):
        return next(numbers)
    made = np.empty(x.size, object)
    for k in range(x.size):
        made[k] = next(numbers)
    return made.reshape(x.shape)


AXES = {"re": 1.0, "im": 1j}


def is_complex(x: Any) -> bool:
    return isinstance(plain(x), complex)


class Linear:
    """A function's value at a point, and its derivative there, by the axes of each number: `parts[(k, axis)]`."""

    def __init__(self, f: Callable[..., Any], primals: tuple[Any, ...]) -> None:
        of = Derivative()
        self.primals = primals
        self.at = [number(x) for x in leaves(primals)]
        self.axes = [(k, axis) for k, x in enumerate(self.at) for axis in (AXES if is_complex(x) else ["re"])]
        parts = [{(j, a): Number(AXES[a]) for j, a in self.axes if j == k} for k in range(len(self.at))]
        moved = [Number(x, part, of) for x, part in zip(self.at, parts, strict=True)]
        try:
            result = f(*filled(primals, iter(moved)))
            ys = [number(y) for y in leaves(result)]
        finally:
            of.is_open = False
        self.parts = [y.parts if y.of is of else {} for y in ys]
        self.value = filled(result, iter([number(y) for y in ys]))

    def push(self, *tangents: Any) -> Any:
        dots = [number(v) for v in leaves(tangents)]
        return filled(self.value, iter([self._along(parts, dots) for parts in self.parts]))

    def _along(self, parts: dict[Any, Any], dots: list[Any]) -> Any:
        total: Any = Number(0.0)
        for (k, axis), part in parts.items():
            total = total + part * (NP.real(dots[k]) if axis == "re" else NP.imag(dots[k]))
        return total

    def pull(self, y_bar: Any) -> tuple[Any, ...]:
        bars = [number(v) for v in leaves(y_bar)]
        found = [Number(0.0) for _ in self.at]
        for k, axis in self.axes:
            for bar, parts in zip(bars, self.parts, strict=True):
                if (k, axis) in parts:
                    found[k] = found[k] + NP.real(bar * parts[k, axis]) * AXES[axis].conjugate()
        found = [x_bar + 0j if is_complex(x) else x_bar for x_bar, x in zip(found, self.at, strict=True)]
        return tuple(filled(self.primals, iter(found)))


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    linear = Linear(f, primals)
    return linear.value, linear.pull


def jvp(f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    linear = Linear(f, primals)
    return linear.value, linear.push(*tangents)


def linearize(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    linear = Linear(f, primals)
    return linear.value, linear.push


def value_and_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    def both(x: Any, *rest: Any) -> Any:
        linear = Linear(lambda x: f(x, *rest), (x,))
        return linear.value, linear.pull(1.0)[0]

    return both


def grad(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: value_and_grad(f)(*args)[1]


def jacobian(f: Callable[..., Any]) -> Callable[[Any], Any]:
    """Of a function of real numbers."""

    def at(x: Any) -> Any:
        linear = Linear(f, (x,))
        rows = [[parts.get((k, "re"), Number(0.0)) for k in range(len(linear.at))] for parts in linear.parts]
        made = array(rows).reshape(np.shape(linear.value) + np.shape(x))
        return made if made.shape else made.item()

    return at


def hessian(f: Callable[..., Any]) -> Callable[[Any], Any]:
    return jacobian(grad(f))


def hvp(f: Callable[..., Any], x: Any, v: Any) -> Any:
    return jvp(grad(f), (x,), (v,))[1]


def derivative(f: Callable[..., Any], order: int) -> Callable[[Any], Any]:
    return grad(f) if order == 1 else grad(derivative(f, order - 1))


def vmap(f: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda rows: array([f(row) for row in rows])


def plainly(x: Any) -> Any:
    """A structure of plain numbers and arrays of them."""
    if isinstance(x, dict):
        return {key: plainly(part) for key, part in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)([plainly(part) for part in x])
    return np.array([plain(v) for v in x.ravel()]).reshape(x.shape) if isinstance(x, np.ndarray) else plain(x)
