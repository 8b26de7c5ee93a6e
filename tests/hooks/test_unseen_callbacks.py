"""Python functions that C or NumPy calls unfollowed: what they read of traced values is seen or refused."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wengert as wg


class State:
    """An object that programs name globally, in which they put a traced value."""

    t: Any = 1.5


state = State()


def scaled(v: Any) -> Any:
    return v * state.t


def total(a: Any, b: Any) -> Any:
    return a + b * state.t


def product(a: Any, b: Any) -> Any:
    return a * b * state.t


class Scaler:
    def method(self, v: Any) -> Any:
        return scaled(v)

    def __call__(self, v: Any) -> Any:
        return v * state.t


class Scaled:
    """A class whose objects are made by a function that NumPy calls."""

    def __init__(self, v: Any) -> None:
        self.v = float(v[0]) * state.t

    def __float__(self) -> float:
        return float(self.v)


class Item:
    """An item of an array of objects, of which NumPy calls the operators and asks the number."""

    def __init__(self, v: float) -> None:
        self.v = v

    def __add__(self, other: Any) -> Any:
        return Item(self.v * state.t)

    def __float__(self) -> float:
        return float(self.v * state.t)


def array_of(*items: Any) -> np.ndarray:
    made = np.empty(len(items), object)
    made[:] = items
    return made


ITEMS, ONES = array_of(Item(1.0), Item(2.0)), np.ones(2)
TOTAL, PRODUCT, SCALED = np.frompyfunc(total, 2, 1), np.frompyfunc(product, 2, 1), np.frompyfunc(scaled, 1, 1)


class Holder:
    def __init__(self) -> None:
        self.items = ITEMS

    def get(self) -> Any:
        return self.items


holder = Holder()


def at_first(ufunc: Any) -> Any:
    made = array_of(1.0, 1.0)
    ufunc.at(made, [0], 1.0)
    return made.sum()


def applied(g: Callable[..., Any], x: Any) -> Any:
    return g(x)


@wg.rrule(applied)
def _applied(g: Callable[..., Any], x: Any) -> Any:
    return g(x), lambda y_bar: (None, y_bar * (g(x + 1e-6) - g(x)) / 1e-6)


def halves() -> Iterator[Any]:
    yield 1.0
    yield state.t


def scaled_once() -> Iterator[Any]:
    yield scaled(1.0)


OLD: dict[str, Any] = {}
"""Generators that were made before the trace."""

MASKS = [np.array([True, False])]
PROGRAMS: dict[str, Callable[[], Any]] = {
    "piecewise": lambda: np.piecewise(np.array([1.0, 2.0]), MASKS, [scaled, 0.0]).sum(),
    "piecewise of a lambda": lambda: np.piecewise(np.array([1.0, 2.0]), MASKS, [lambda v: v * state.t, 0.0]).sum(),
    "along an axis": lambda: np.apply_along_axis(scaled, 0, ONES)[0],
    "along an axis, a method": lambda: np.apply_along_axis(Scaler().method, 0, ONES)[0],
    "along an axis, an object": lambda: np.apply_along_axis(Scaler(), 0, ONES)[0],
    "along an axis, a partial": lambda: np.apply_along_axis(functools.partial(scaled), 0, ONES)[0],
    "along an axis, a class": lambda: float(np.apply_along_axis(Scaled, 0, ONES)[()]),
    "over axes": lambda: np.apply_over_axes(lambda a, axis: a * state.t, ONES, 0)[0],
    "fromfunction": lambda: np.fromfunction(lambda i: (i + 1) * state.t, (2,)).sum(),
    "vectorize": lambda: np.vectorize(scaled)(ONES).sum(),
    "fromiter": lambda: np.fromiter(map(scaled, [1.0, 2.0]), float).sum(),
    "ufunc": lambda: SCALED(ONES).sum(),
    "ufunc, out": lambda: SCALED(ONES, out=np.empty(2, object)).sum(),
    "outer": lambda: PRODUCT.outer(ONES, ONES).sum(),
    "reduce": lambda: TOTAL.reduce(ONES),
    "reduce, axis": lambda: TOTAL.reduce(np.ones((2, 2)), axis=1).sum(),
    "accumulate": lambda: TOTAL.accumulate(ONES, dtype=object).sum(),
    "reduceat": lambda: TOTAL.reduceat(ONES.astype(object), [0]).sum(),
    "at": lambda: at_first(TOTAL),
    "objects, reduce": lambda: np.add.reduce(ITEMS).v,
    "objects, sum": lambda: ITEMS.sum().v,
    "objects, +": lambda: (ITEMS + ITEMS)[0].v,
    "objects, astype": lambda: ITEMS.astype(float).sum(),
    "objects, array": lambda: np.array(ITEMS, float).sum(),
    "objects of an attribute": lambda: np.add.reduce(holder.get()).v,
    "objects of an attribute, +": lambda: (holder.get() + 1.0)[0].v,
    "a rule's callback": lambda: applied(scaled, 2.0),
    "a rule's callback, a partial": lambda: applied(functools.partial(scaled), 2.0),
    "a rule's callback, an object": lambda: applied(Scaler(), 2.0),
    "chain": lambda: sum(itertools.chain(OLD["halves"])),
    "chain, by a function": lambda: sum(itertools.chain(OLD["scaled"])),
    "chain.from_iterable": lambda: sum(itertools.chain.from_iterable([OLD["scaled"]])),
    "zip": lambda: sum([a for a, _ in zip(OLD["scaled"], [1], strict=True)]),
    "islice": lambda: sum(itertools.islice(OLD["scaled"], 1)),
}  # fmt: skip
RIGHT = {
    "piecewise", "piecewise of a lambda", "along an axis", "along an axis, a method", "along an axis, an object",
    "along an axis, a partial", "over axes", "fromfunction", "vectorize", "fromiter", "ufunc", "outer", "reduce", "at",
}  # fmt: skip


def program(name: str) -> Callable[[Any], Any]:
    """A function of t that puts it where a callback reads it by a global name."""
    body = PROGRAMS[name]

    def f(t: Any) -> Any:
        state.t = t
        return body() + t

    return f


def fresh() -> None:
    state.t = 1.5
    OLD.update(halves=halves(), scaled=scaled_once())


def slope(f: Callable[[Any], Any]) -> float:
    values = []
    for t in (1.5 + 1e-6, 1.5 - 1e-6):
        fresh()
        values.append(float(f(t)))
    return (values[0] - values[1]) / 2e-6


def play(f: Callable[[Any], Any], t: float) -> float:
    """The derivative by the values of a tape at other arguments: a constant on it would show."""
    _, tape = wg.trace(f, t)
    return float((tape.play(t + 1e-6) - tape.play(t - 1e-6)) / 2e-6)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("go", [wg.grad, wg.jacfwd, play], ids=["grad", "jacfwd", "trace"])
def test_right_or_refused(go: Any, name: str) -> None:
    f = program(name)
    fresh()
    try:
        found = play(f, 1.5) if go is play else float(go(f)(1.5))
    except wg.WengertError:
        assert name not in RIGHT or go is play
        return
    assert math.isclose(found, slope(f), rel_tol=1e-5)
