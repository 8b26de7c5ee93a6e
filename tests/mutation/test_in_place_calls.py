"""In-place calls on arrays, on views of any kind and with `out=`, in loops, against complex steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

TARGETS: dict[str, Callable[[Any], Any]] = {
    "the array": lambda y: y,
    "all of it": lambda y: y[:],
    "a row": lambda y: y[1],
    "a column": lambda y: y[:, 2],
    "an element": lambda y: y[1, 2:3],
    "backwards": lambda y: y[::-1, ::2],
    "transposed": lambda y: y.T,
    "flat": lambda y: y.reshape(-1),
    "of a view": lambda y: y[:, 1:][1:, ::2],
    "a diagonal": lambda y: y.reshape(-1)[::5],
}


def _divide(t: Any, v: Any) -> None:
    t /= v


def _power(t: Any, v: Any) -> None:
    t **= 2
    t **= 0.5 + v[..., :1]


def _chain(t: Any, v: Any) -> None:
    t -= v
    t *= v
    t += 0.1
    t *= t
    t -= t * 0.3


def _out(t: Any, v: Any) -> None:
    np.multiply(t, v, out=t)
    np.add(v, v, out=t)
    np.subtract(2, t, t)
    np.exp(t, out=t)
    np.add(t, v[..., :1], out=t)


def _broadcast(t: Any, v: Any) -> None:
    np.multiply(v[..., :1], v[..., :1], out=t)
    t -= v[..., :1]
    t /= np.float64(1.5)
    t -= 3


CALLS = {f.__name__[1:]: f for f in (_divide, _power, _chain, _out, _broadcast)}


def by_complex_step(f: Callable[..., Any], x: np.ndarray) -> np.ndarray:
    return np.array([f(x + 1e-20j * e).imag for e in np.eye(len(x))]) / 1e-20


@pytest.mark.parametrize("begun", [False, True], ids=["new", "written"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_an_in_place_call(target: Callable[..., Any], call: Callable[..., None], begun: bool) -> None:
    def f(x: Any) -> Any:
        y = np.ones((3, 4), dtype=x.dtype) if begun else np.outer(x[:3], x[:4])
        if begun:
            y[:2] = np.cos(x[:4])
        t, total = target(y), 0.0
        before, seen = np.sin(y), t * x[0]  # which keep what is overwritten
        for k in range(3):
            call(t, np.sin(1.2 + x[: t.shape[-1]]) if t.shape[-1] < 7 else np.cos(0.1 * y.reshape(-1)) ** 2)
            y[0, k] = x[k] * y[1, 2]
            total = total + np.sum(np.sin(t))
        return total + np.sum(before * y) + np.sum(seen * t)

    x = np.linspace(0.3, 1.4, 6)
    expected = by_complex_step(f, x)
    assert wg.value_and_grad(f)(x)[0] == f(x)
    np.testing.assert_allclose(wg.grad(f)(x), expected, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(wg.jvp(f, (x,), (x,))[1], expected @ x, rtol=1e-10)
    np.testing.assert_allclose(wg.hvp(f, x, x), wg.jvp(wg.grad(f), (x,), (x,))[1], rtol=1e-8, atol=1e-9)


KEYS: dict[str, Any] = {
    "indices": np.array([2, 0]),
    "from the end": np.array([-1, 0]),
    "repeated": np.array([1, 1, 0, 1]),
    "small integers": np.array([2, 1], np.uint8),
    "none": np.array([], int),
    "all": np.array([2, 1, 0]),
    "a matrix": np.array([[0, 2], [1, 0]]),
    "a mask": np.array([True, False, True]),
    "a mask of elements": np.arange(12).reshape(3, 4) % 5 == 0,
    "no element": np.zeros((3, 4), bool),
    "rows and columns": (np.array([0, 2, 0]), np.array([1, 1, 3])),
    "of a row": (1, np.array([0, 3, 0])),
    "of columns": (slice(None), np.array([3, 1])),
    "of some columns": (slice(0, 2), np.array([True, False, False, True])),
    "a grid": (np.array([[0], [2]]), np.array([1, 3])),
    "one": np.array(1),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("call", [_chain, _divide], ids=["chain", "divide"])
def test_stores_and_updates_by_arrays(call: Callable[..., None], key: Any) -> None:
    def f(x: Any) -> Any:
        y = np.outer(x[:3], x[:4])
        before, seen = np.sin(y), y[key] * x[0]
        for k in range(3):
            part = y[key]
            call(part, np.cos(part * x[k]))
            y[key] = part
            y[key] *= x[k]
            y[key] += 0.5
            y[0, k] = y[1, 2] * x[1]
            y[key] = x[k] if k else np.float64(0.5)
            y[key] -= x[k + 1] * y[key] ** 2
        return np.sum(before * y) + np.sum(seen * y[key]) + np.sum(y**2)

    x = np.linspace(0.3, 1.4, 6)
    expected = by_complex_step(f, x)
    assert wg.value_and_grad(f)(x)[0] == f(x)
    np.testing.assert_allclose(wg.grad(f)(x), expected, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(wg.jvp(f, (x,), (x,))[1], expected @ x, rtol=1e-10)
    np.testing.assert_allclose(wg.compile(wg.grad(f))(x), expected, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(wg.hvp(f, x, x), wg.jvp(wg.grad(f), (x,), (x,))[1], rtol=1e-8, atol=1e-9)


def test_an_index_array_that_changes_later() -> None:
    def f(x: Any) -> Any:
        y, index, mask = x.copy(), np.array([0, 1]), np.zeros(6, bool)
        y[2] = x[0]
        total = 0.0
        for k in range(3):
            total = total + np.sum(y[index] ** 2) + np.sum(x[mask] * y[mask])
            y[index] *= y[index + 1]
            y[mask] = x[k]
            index += 1
            mask[k] = True
        mask[:] = False
        index[:] = 0
        return total + np.sum(y * x)

    x = np.linspace(0.3, 1.4, 6)
    np.testing.assert_allclose(wg.grad(f)(x), by_complex_step(f, x), rtol=1e-12)
    np.testing.assert_allclose(wg.jvp(f, (x,), (x,))[1], by_complex_step(f, x) @ x, rtol=1e-12)


@pytest.mark.parametrize("key", [np.array([0, 9]), np.ones(4, bool), np.array([0.5]), (np.array([0]), np.array([0]))])
def test_keys_that_numpy_refuses(key: Any) -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        y[1] = x[0]
        for wrong in (lambda: y[key], lambda: y.__setitem__(key, x[:2]), lambda: y.__setitem__(key, x[0])):
            with pytest.raises(IndexError):
                wrong()
        with pytest.raises(ValueError, match=r"shape|broadcast"):
            y[np.array([0, 1])] = x[:3]
        return np.sum(y * y)

    x = np.linspace(0.3, 1.4, 6)
    np.testing.assert_allclose(wg.grad(f)(x), by_complex_step(lambda x: np.sum(x[[0, 0, 2, 3, 4, 5]] ** 2), x))


def _array_locked(y: Any, x: Any) -> Any:
    y[1] = 2.0 * x[0]
    y[2:4] *= x[1]
    y.flags.writeable = False
    return y


def _view_locked(y: Any, x: Any) -> Any:
    part = y[1:4]
    part *= x[0]
    part.setflags(write=False)
    return part


def _both_locked(y: Any, x: Any) -> Any:
    part = y[1:4]
    part *= x[0]
    y *= x
    part.flags.writeable = y.flags.writeable = False
    for wrong in (lambda: y.__setitem__(0, 3.0), lambda: y.__imul__(2.0), lambda: part.__setitem__(slice(0, 2), x[0])):
        with pytest.raises(ValueError, match="read-only"):
            wrong()
    return y


@pytest.mark.parametrize("lock", [_array_locked, _view_locked, _both_locked])
def test_arrays_that_are_made_read_only_after_writes(lock: Callable[..., Any]) -> None:
    kept = []

    def f(x: Any) -> Any:
        y = x * 1.0
        y[0] = x[1]
        seen = np.sin(y)  # which the writes below overwrite
        kept[:] = [lock(y, x)]
        return np.sum(seen * seen * y)

    x = np.linspace(0.3, 1.4, 6)
    expected = by_complex_step(f, x)
    for gradient in (wg.grad(f), wg.grad(wg.checkpoint(lambda x: f(x) * 1.0)), lambda x: wg.vjp(f, x)[1](1.0)[0]):
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-12)
        assert not kept[0].flags.writeable
    np.testing.assert_allclose(wg.jvp(f, (x,), (x,))[1], expected @ x, rtol=1e-12)
    np.testing.assert_allclose(wg.hvp(f, x, x), wg.jvp(wg.grad(f), (x,), (x,))[1], rtol=1e-10)
