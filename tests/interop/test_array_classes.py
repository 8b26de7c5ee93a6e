"""Arrays of classes that take NumPy's functions over in Python, or say which float they are, as quantities do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([0.31, 0.57, 0.83])


class Asked(np.ndarray):
    """A class that is asked about each function."""

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        noted = [func.__name__, self]
        return super().__array_function__(func, types, args, kwargs) if noted else None


class Half(np.ndarray):
    """A class whose float is half of what the array holds: as of percents."""

    def __float__(self) -> float:
        return float(np.asarray(self)) * 0.5


def asked(x: Any) -> Any:
    return x.view(Asked)


def half(x: Any) -> Any:
    return x.reshape(()).view(Half)


def copied(x: Any) -> Any:
    y = np.zeros(3).view(Asked)
    np.copyto(y, asked(x) * 2)
    np.copyto(y, asked(x), where=np.array([True, False, True]))
    return np.sum(np.asarray(y) * np.arange(3))


CASES: dict[str, Callable[[Any], Any]] = {
    "broadcast": lambda x: np.asarray(np.broadcast_arrays(asked(x[0]), asked(x), subok=True)[0]).sum(),
    "broadcast, alike": lambda x: np.asarray(np.broadcast_arrays(*[asked(x), asked(x)], subok=True)[1])[2],
    "broadcast, plain": lambda x: np.broadcast_arrays(asked(x), np.ones((2, 3)))[0].sum(),
    "shapes": lambda x: x[0] * sum(map(np.ndim, [asked(x)])) + len(list(map(np.shape, [asked(x)]))) * x[1],
    "order": lambda x: np.asarray(asked(x))[next(map(np.argmax, [asked(x)]))],
    "meshgrid": lambda x: np.asarray(np.meshgrid(asked(x), asked(x[:2]))[0]).sum(),
    "copied": copied,
    "counted": lambda x: np.count_nonzero(asked(x)) * x[0] + np.count_nonzero(asked(x)[:, None], axis=0)[0] * x[1],
    "nansum": lambda x: np.asarray(np.nansum(asked(x))) * 2.0 + np.asarray(np.nanmax(asked(x))),
    "sqrt": lambda x: math.sqrt(half(x[:1])),
    "sin and cos": lambda x: math.sin(half(x[:1])) * math.cos(half(x[1:2])),
    "hypot": lambda x: math.hypot(half(x[:1]), x[1], half(x[2:])),
    "pow": lambda x: math.pow(half(x[:1]), 2) * math.atan2(half(x[1:2]), x[2]),
    "fsum": lambda x: math.fsum([half(x[:1]), x[1]]) ** 2,
    "floor": lambda x: x[0] * math.floor(10 * half(x[1:2])) + math.isfinite(half(x[:1])) * x[2],
    "float": lambda x: float(half(x[:1])) ** 2,
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str) -> None:
    f = CASES[name]
    value, slope = wg.value_and_grad(f)(X)
    assert np.asarray(value) == np.asarray(f(X))
    expected = [(float(f(X + h)) - float(f(X - h))) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(wg.gradtape(f, X).play(X)[1][-1], expected, rtol=1e-6, atol=1e-9)


def test_meshgrid_keeps_the_class() -> None:
    def f(x: Any) -> Any:
        rows, _ = np.meshgrid(asked(x), asked(x))
        assert type(rows) is Asked
        return np.sum(np.asarray(rows) ** 2)

    np.testing.assert_allclose(wg.grad(f)(X), 6 * X)
