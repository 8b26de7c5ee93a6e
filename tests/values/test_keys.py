"""Keys of each kind, by which elements are read and written, against derivatives by complex steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

KEYS: dict[str, Any] = {
    "number": 1,
    "numpy integer": np.int8(1),
    "slice": np.s_[::2],
    "ellipsis": ...,
    "nothing": (),
    "new axis": (None, 1),
    "list": [2, 0, 2],
    "array": np.array([2, 0, 2]),
    "small integers": np.array([1, 1], np.uint8),
    "number in an array": np.array(2),
    "two axes": np.array([[0, 1], [1, 0]]),
    "range": range(1, 3),
    "tuple in a tuple": ((1, 1, 0),),
    "tuple after a slice": (slice(None), (1, 1)),
    "tuple after an ellipsis": (..., (0, 0, 1)),
    "tuple of tuples": (((0, 1), (1, 1)),),
    "two tuples": ((0, 2, 0), (1, 1, 1)),
    "tuple and number": ((2, 2), 0),
    "list of lists": [[0, 0], [1, 2]],
    "empty list": [],
    "empty tuple in a tuple": ((), slice(1)),
    "mask": np.array([True, False, True]),
    "mask as a list": [True, False, True],
    "mask as a tuple": ((True, False, True),),
    "mask and places": ((True, False, True), (1, 1)),
    "mask of elements": np.array([[True, False], [False, True], [True, True]]),
    "bool": True,
}

X = np.array([[0.3, -0.7], [1.1, 0.4], [-0.2, 0.9]])


def reading(key: Any) -> Callable[[Any], Any]:
    return lambda x: np.sum(np.sin(x[key]) * np.sin(x[key]))


def writing(key: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = x * 2.0
        y[key] = np.cos(x[key]) * np.arange(1.0, 1.0 + X[key].size).reshape(X[key].shape)
        return np.sum(y * y)

    return f


def adding(key: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = x * 2.0
        y[key] += x[key] * np.arange(1.0, 1.0 + X[key].size).reshape(X[key].shape)
        return np.sum(y * y)

    return f


def adding_at(key: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = x * 2.0
        np.add.at(y, key, x[key] * 3.0)
        return np.sum(y * y)

    return f


def complex_steps(f: Callable[[Any], Any], x: Any = X) -> Any:
    steps = [np.imag(f(x + 1e-30j * step.reshape(x.shape))) / 1e-30 for step in np.eye(x.size)]
    return np.array(steps).reshape(x.shape)


WAYS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: wg.grad(f)(X),
    "forward": lambda f: np.reshape([wg.jvp(f, (X,), (step.reshape(X.shape),))[1] for step in np.eye(X.size)], X.shape),
    "tape": lambda f: wg.gradtape(f, X).play(X)[1][1],
    "code of the tape": lambda f: wg.gradtape(f, X).compile()(X)[1][1],
    "optimised": lambda f: wg.gradtape(f, X).optimise().compile()(X)[1][1],
    "compiled": lambda f: wg.compile(wg.grad(f), native=False, quiet=True)(X),
    "examples": lambda f: wg.vmap(wg.grad(f))(np.stack([X, X]))[1],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("program", [reading, writing, adding, adding_at])
def test_derivatives_agree_with_complex_steps(program: Any, key: str, way: str) -> None:
    f = program(KEYS[key])
    np.testing.assert_allclose(WAYS[way](f), complex_steps(f), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("program", [reading, writing, adding, adding_at])
def test_second_derivatives_agree_with_differences(program: Any, key: str) -> None:
    f, h = program(KEYS[key]), 1e-5
    expected = (complex_steps(f, X + h) - complex_steps(f, X - h)) / (2 * h)
    compiled = wg.compile(wg.hvp, quiet=True)
    for product in (wg.hvp, compiled):
        np.testing.assert_allclose(product(f, X, np.ones_like(X)), expected, rtol=1e-7, atol=1e-7)
