"""Objects that are integers by an `__index__` which reads a traced value: NumPy gets the integer, wherever it asks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg


class Second:
    """1 for what is above 1."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __index__(self) -> int:
        return int(self.x > 1)


class State:
    v: Any = 1.5


state = State()


class SecondOfState:
    """1 where a global name leads to what is above 1."""

    def __index__(self) -> int:
        return int(state.v > 1)


def pair(x: Any) -> Any:
    return np.array([x, 3 * x])


def row(x: Any) -> Any:
    return np.array([[x, 3 * x]])


def stored(x: Any, key: Any) -> Any:
    a = np.zeros(2)
    a[key] = 7 * x
    return a.sum()


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "item": lambda x, i: pair(x)[i],
    "two indices": lambda x, i: np.array([[x, 3 * x], [x, 5 * x]])[i, i],
    "slice": lambda x, i: pair(x)[i:][0],
    "slice in a tuple": lambda x, i: row(x)[0, i:][0],
    "store": stored,
    "take": lambda x, i: np.take(pair(x), i),
    "a.take": lambda x, i: pair(x).take(i),
    "a.item": lambda x, i: pair(x).item(i),
    "a.reshape": lambda x, i: pair(x).reshape(i, 2)[0, 1],
    "reshape": lambda x, i: np.reshape(pair(x), (i, 2))[0, 1],
    "repeat": lambda x, i: np.repeat(x, i).sum(),
    "zeros": lambda x, i: np.zeros(i).size * x,
    "zeros of two axes": lambda x, i: np.zeros((i, 2)).size * x,
    "ones": lambda x, i: (np.ones(i) * x).sum(),
    "empty": lambda x, i: np.empty(i).size * x,
    "full": lambda x, i: np.full(i, x).sum(),
    "linspace": lambda x, i: np.linspace(x, 2 * x, i).sum(),
    "roll": lambda x, i: np.roll(pair(x), i)[0],
    "expand_dims": lambda x, i: np.expand_dims(pair(x), i).sum(),
    "squeeze": lambda x, i: np.array([[x]]).squeeze(i)[0],
    "transpose": lambda x, i: row(x).transpose(i, 0)[1, 0],
    "swapaxes": lambda x, i: row(x).swapaxes(0, i)[1, 0],
    "moveaxis": lambda x, i: np.moveaxis(row(x), 0, i)[1, 0],
    "sum": lambda x, i: np.sum(row(x), i)[0],
    "a.sum": lambda x, i: row(x).sum(axis=i)[0],
    "cumsum": lambda x, i: np.cumsum(row(x), axis=i)[0, 1],
    "concatenate": lambda x, i: np.concatenate([np.array([[x]]), np.array([[3 * x]])], i)[0, 1],
    "stack": lambda x, i: np.stack([np.array([x]), np.array([3 * x])], axis=i)[0, 1],
    "argmax": lambda x, i: np.argmax(row(x), i)[0] * x,
    "size": lambda x, i: np.size(i) * x,
    "math.sqrt": lambda x, i: math.sqrt(i) * x,
}


def play(f: Callable[[Any], Any]) -> Callable[[float], float]:
    def slope(t: float) -> float:
        _, tape = wg.trace(f, t)
        return float((tape.play(t + 1e-6) - tape.play(t - 1e-6)) / 2e-6)

    return slope


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("go", [wg.grad, wg.jacfwd, play], ids=["grad", "jacfwd", "trace"])
@pytest.mark.parametrize("of_state", [False, True])
def test_the_integer_is_handed_on(go: Any, name: str, of_state: bool) -> None:
    def f(x: Any) -> Any:
        state.v = x
        return PROGRAMS[name](x, SecondOfState() if of_state else Second(x))

    expected = (f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6
    assert float(go(f)(1.5)) == pytest.approx(expected, rel=1e-5)


def test_an_operand_stays_an_object() -> None:
    def f(x: Any) -> Any:
        try:
            return np.multiply(np.ones(2) * x, Second(x)).sum()
        except TypeError:
            return 5.0 * x

    assert f(1.5) == 7.5
    assert wg.grad(f)(1.5) == 5.0


class Counting:
    """1, and counts how often it was asked."""

    asked = 0

    def __index__(self) -> int:
        Counting.asked += 1
        return 1


def stored(x: Any, key: Any) -> Any:
    y = x * 2.0
    y[key] = 3.0 * x[2]
    return np.sum(y * y)


def added(x: Any, key: Any) -> Any:
    y = x * 2.0
    y[key] += x[2]
    return np.sum(y * y)


KEYS = [lambda i: slice(i, None), lambda i: (slice(None, i),), lambda i: slice(0, 3, i), lambda i: i]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("f", [stored, added, lambda x, key: np.sum(x[key] ** 2)])
def test_an_index_is_asked_for_its_number_as_often_as_without_a_derivative(f: Any, key: Any) -> None:
    x = np.array([1.0, 2.0, 3.0])
    ways = [f, wg.value_and_grad(f, argnums=0), lambda x, key: wg.jvp(lambda x: f(x, key), (x,), (x,))]
    counts = []
    for way in ways:
        Counting.asked = 0
        way(x, key(Counting()))
        counts.append(Counting.asked)
    assert counts[1:] == counts[:1] * 2
    expected = [f(x + step * 1e-30j, key(1)).imag / 1e-30 for step in np.eye(3)]
    np.testing.assert_allclose(wg.grad(f, argnums=0)(x, key(Counting())), expected, rtol=1e-12)
