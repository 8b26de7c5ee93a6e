"""`np.vectorize`: a function of numbers, called for each of an array's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X, Y = np.array([0.3, -0.2, 0.9]), np.array([[1.1], [0.4]])


def branching(x: float, y: float = 2.0) -> float:
    return math.sin(x) * y if x > 0 else x * x + y


def pair(x: float) -> tuple[float, float]:
    return x * x, math.exp(x)


@np.vectorize(otypes=[float])
def decorated(x: float) -> float:
    return x**3


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "broadcast": (lambda x, y: np.sum(np.vectorize(branching)(x, y) ** 2), (X, Y)),
    "by name": (lambda x, y: np.sum(np.vectorize(branching)(x, y=y)), (X, 1.5)),
    "excluded": (lambda x, y: np.sum(np.vectorize(branching, excluded={1})(x, y)), (X, 1.5)),
    "several results": (lambda x: np.sum(np.vectorize(pair)(x)[0] * np.vectorize(pair, otypes="dd")(x)[1]), (X,)),
    "a closure": (lambda y: np.sum(np.vectorize(lambda x: x * y)(np.arange(3.0))), (1.5,)),
    "a number": (lambda x: decorated(x) * 2, (0.7,)),
    "a signature": (lambda x, y: np.sum(np.vectorize(np.dot, signature="(n),(n)->()")(x, y @ np.ones((1, 3)))), (X, Y)),
    "a cache": (lambda x: np.sum(np.vectorize(branching, cache=True)(x)), (X,)),
    "nothing": (lambda x: np.sum(decorated(x[:0])) + x[0], (X,)),
}


@pytest.mark.parametrize("name", CASES)
def test_each_element_has_its_derivative(name: str) -> None:
    f, args = CASES[name]
    places = tuple(range(len(args)))
    value, slopes = wg.value_and_grad(f, argnums=places)(*args)
    assert value == f(*args)
    for slope, expected in zip(slopes, wg.ngradient(f, *args), strict=True):
        np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-9)


def test_no_elements_need_otypes() -> None:
    with pytest.raises(ValueError, match="size 0 inputs unless `otypes` is set"):
        wg.grad(lambda x: np.sum(np.vectorize(branching)(x[:0])))(X)


def test_a_tape_of_it_is_played() -> None:
    _, tape = wg.trace(lambda x: decorated(x).sum(), X)
    assert tape.play(2 * X) == pytest.approx(np.sum((2 * X) ** 3))
