"""Random programs that read, store and update parts of written arrays and of their views, against complex steps."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

KEYS: list[Any] = [
    0,
    -1,
    slice(1, 4),
    slice(0, None, 2),
    slice(4, 0, -1),
    slice(-3, None),
    slice(2, 3),
    slice(None),
    slice(None, None, -1),
    np.array([2, 0]),
    np.array([1, 1, 0]),
    np.array([-1, 0, 1]),
    np.array([True, False, True, True, False]),
]


def by_complex_step(f: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    return np.array([f(x + 1e-20j * e).imag for e in np.eye(len(x))]) / 1e-20


def key_for(view: Any, key: Any) -> Any:
    """Return a key that fits a view of any length."""
    if isinstance(key, np.ndarray):
        return key[: len(view)] if key.dtype == bool else np.clip(key, -1, len(view) - 1)
    return key


def step(views: list[Any], y: Any, x: Any, kind: int, key: Any, k: int, which: int) -> Any:
    """Do one of ten things to a view, and return what the program adds up."""
    v = views[which]
    key = key_for(v, key)
    match kind:
        case 0:
            v[key] = x[k] * 1.5
        case 1:
            v[key] += x[k]
        case 2:
            v[key] *= x[k]
        case 3:
            v[key] -= v[key] * x[k]
        case 4:
            return np.sum(v[key] * x[k])
        case 5:
            v *= x[: len(v)]
        case 6:
            views[which] = v[1:] if len(v) > 2 else v
        case 7:
            return v[k % len(v)] * views[0][-1]
        case 8:
            np.multiply(v, x[k], out=v)
        case 9:
            y[k + 1] = y[k] * x
    return 0.0


def program(seed: int) -> Callable[..., Any]:
    random = np.random.default_rng(seed)
    steps = [tuple(random.integers(0, (10, len(KEYS), 4, 5))) for _ in range(random.integers(4, 14))]

    def f(x: Any) -> Any:
        y, z = np.zeros((5, 5), dtype=x.dtype), np.ones(5, dtype=x.dtype)
        y[0], y[2], z[1:4] = x, np.sin(x), x[1:4] * x[0]
        views, total = [z, y[1], y[:, 2], y[2, 1:], y.T[0]], 0.0
        for kind, key, k, which in steps:
            total = total + step(views, y, x, int(kind), KEYS[key], int(k), int(which))
        return total + np.sum(y * y) + np.sum(np.cos(z)) + sum([np.sum(v) for v in views])

    return f


@pytest.mark.parametrize("seed", range(40))
def test_a_random_program(seed: int) -> None:
    f, x = program(seed), np.linspace(0.3, 1.1, 5)
    expected = by_complex_step(f, x)
    np.testing.assert_allclose(wg.grad(f)(x), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(wg.jvp(f, (x,), (x,))[1], expected @ x, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_the_second_derivative_of_a_random_program(seed: int) -> None:
    f, x = program(seed), np.linspace(0.3, 1.1, 5)
    expected = (by_complex_step(f, x * 1.00001) - by_complex_step(f, x * 0.99999)) / 2e-5
    bound = 1e-7 * (1.0 + np.max(np.abs(expected)))
    np.testing.assert_allclose(wg.hvp(f, x, x), expected, atol=bound)
    np.testing.assert_allclose(wg.jacobian(wg.grad(f))(x) @ x, expected, atol=bound)


@pytest.mark.parametrize("update", [operator.iadd, operator.isub, operator.imul], ids=["+=", "-=", "*="])
@pytest.mark.parametrize("places", [[0, 2, 4], [0, 2, 2], [-1, 4, 0], []], ids=str)
def test_updates_at_indices(update: Callable[..., Any], places: list[int]) -> None:
    """Of an element that is named twice, the last one counts, as in NumPy."""
    indices = np.array(places, int)

    def f(x: Any) -> Any:
        y = x * 1.0
        for k in range(3):
            y[indices] = update(y[indices], x[: len(places)] * (k + 1.0))
        return np.sum(y * y)

    x = np.linspace(0.3, 1.1, 5)
    np.testing.assert_allclose(wg.grad(f)(x), by_complex_step(f, x), rtol=1e-12)
    expected = (by_complex_step(f, x * 1.00001) - by_complex_step(f, x * 0.99999)) / 2e-5
    np.testing.assert_allclose(wg.hessian(f)(x) @ x, expected, rtol=1e-6)


@pytest.mark.parametrize("places", [[0, 2, 4], [0, 2, 2], [-1, 4, 0], [[0, 1], [1, 1]], []], ids=str)
def test_sums_at_indices(places: list[Any]) -> None:
    """`np.add.at` adds each term, also to an element that is named twice."""
    indices = np.array(places, int)

    def f(x: Any) -> Any:
        y = x * 1.0
        before = np.sin(y)
        for k in range(3):
            np.add.at(y, indices, (x * y[0])[indices] * (k + 1.0))
            np.add.at(y, indices, x[1])
            np.add.at(y, indices, 2.0)
        return np.sum(y * y * before)

    x = np.linspace(0.3, 1.1, 5)
    expected = (by_complex_step(f, x * 1.00001) - by_complex_step(f, x * 0.99999)) / 2e-5
    np.testing.assert_allclose(wg.grad(f)(x), by_complex_step(f, x), rtol=1e-12)
    np.testing.assert_allclose(wg.jvp(f, (x,), (x,))[1], by_complex_step(f, x) @ x, rtol=1e-12)
    np.testing.assert_allclose(wg.hessian(f)(x) @ x, expected, rtol=1e-6)


class Keeps:
    """An operand whose method gets what an update has read, and keeps a view of it."""

    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def __array_ufunc__(self, ufunc: Any, method: str, part: Any, *rest: Any, out: Any = None) -> Any:
        self.view = part[:1]
        np.multiply(part, self.factor, out=part)
        return part


@pytest.mark.parametrize("key", [np.array([1, 2]), slice(1, 3)], ids=str)
def test_an_operand_that_keeps_what_an_update_has_read(key: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y[0] = x[1]
        keeps = Keeps(x[2])
        y[key] += keeps
        y[3] += x[4]
        return np.sum(y) + keeps.view[0] * x[0]

    x = np.linspace(0.3, 1.1, 5)
    np.testing.assert_allclose(wg.grad(f)(x), by_complex_step(f, x), rtol=1e-12)


@pytest.mark.parametrize("change", ["in Python", "by C"])
def test_indices_that_change_between_the_read_and_the_store(change: str) -> None:
    def f(x: Any) -> Any:
        y, indices = x * 1.0, np.array([0, 1, 2])
        part = y[indices]
        if change == "in Python":
            indices[0] = 4
        else:
            indices.sort()
            np.random.default_rng(3).shuffle(indices)
        part += x[:3] * x[1]
        y[indices] = part
        return np.sum(y * y)

    x = np.linspace(0.3, 1.1, 5)
    np.testing.assert_allclose(wg.grad(f)(x), by_complex_step(f, x), rtol=1e-12)
