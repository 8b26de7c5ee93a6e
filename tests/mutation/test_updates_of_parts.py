"""Updates `a[key] op= v` in all modes: rules read what an update has left, also if other code undoes the write."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

X = np.array([1.3, 0.7, 1.9, 1.1, 0.4])
UPDATES = {
    "**=": operator.ipow, "/=": operator.itruediv, "*=": operator.imul, "+=": operator.iadd, "-=": operator.isub,
    "%=": operator.imod,
}  # fmt: skip
KEYS: dict[str, Any] = {
    "indices": np.array([0, 2]),
    "negative": np.array([-1, 1]),
    "mask": np.array([True, False, True, False, False]),
    "slice": slice(0, 2),
    "repeated": np.array([3, 3]),
}


def scaled(x):
    return 2.0 * x


@wg.rrule(scaled)
def scaled_rule(x):
    return 2.0 * x, lambda y_bar: 2.0 * y_bar


def with_users_rule(x):
    return scaled(x[0]) * x


OPTIONS = {"pass through": {"strategy": "pass through"}, "plus": {"add": "plus"}}
BEFORE: dict[str, Callable[[Any], Any]] = {"plain": lambda x: x * 1.5, "after a user's rule": with_users_rule}


def direct(name: str, key: Any, before: Callable[[Any], Any], times: int = 1) -> Callable[[Any], Any]:
    """A function with the statement `y[key] op= v` itself."""
    size = 2 if times == 1 else 2 * times
    text = f"def f(x):\n    y = np.concatenate([before(x)] * {times})\n    y[1] = y[1] + 0.5\n"
    text += f"    v = np.concatenate([x[:2]] * {times})[:{size}]\n    y[key] {name} v\n    y[0] = y[0] * y[2]\n"
    text += f"    y[key] {name} 1.5\n    return np.sum(y * y)\n"
    space: dict[str, Any] = {"np": np, "key": key if times == 1 else np.arange(2 * times), "before": before}
    exec(text, space)
    made: Callable[[Any], Any] = space["f"]
    return made


def differences(f: Callable[[Any], Any]) -> np.ndarray:
    def slope(h: float) -> np.ndarray:
        return np.array([(f(X + e) - f(X - e)) / (2 * h) for e in h * np.eye(X.size)])

    return (4 * slope(5e-5) - slope(1e-4)) / 3


@pytest.mark.parametrize("times", [1, 300], ids=["small", "large"])
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", UPDATES)
def test_all_modes_agree_with_differences(name, key, before, times):
    f = direct(name, KEYS[key], BEFORE[before], times)
    expected = differences(f)
    size = np.max(np.abs(expected))
    _, pullback = wg.vjp(f, X)
    ways = {
        "grad": wg.grad(f)(X),
        "checkpoint": wg.grad(wg.checkpoint(f))(X),
        "jvp": np.array([wg.jvp(f, (X,), (e,))[1] for e in np.eye(X.size)]),
        "jacfwd": wg.jacfwd(f)(X),
        "pullback in a trace": expected + wg.grad(lambda seed: np.sum(pullback(seed)[0] * X))(1.0) - expected @ X,
    }
    for strategy in ("pass through", "plus", "nans"):
        with wg.debug_nans() if strategy == "nans" else wg.accumulation_options(**OPTIONS[strategy]):
            ways[strategy] = wg.grad(f)(X)
    for mode, found in ways.items():
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * size, err_msg=mode)


def test_a_hessian_of_a_power_in_place_is_symmetric():
    def f(x):
        y = x * 1.5
        y[np.array([0, 2])] **= x[:2]
        return np.sum(y * y)

    found = wg.hessian(f)(X)
    np.testing.assert_allclose(found, found.T, rtol=1e-10)
    h = 1e-5
    expected = np.array([(wg.grad(f)(X + e) - wg.grad(f)(X - e)) / (2 * h) for e in h * np.eye(X.size)])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["+=", "*="])
def test_the_value_may_set_the_shape(name):
    space: dict[str, Any] = {"np": np, "weights": np.arange(6.0).reshape(3, 2)}
    exec(
        "def f(x):\n    y = x * 1.0\n    y[0] = x[1]\n"
        "    def v():\n        y.shape = (3, 2)\n        return x[2:4]\n"
        f"    y[0:2] {name} v()\n    return np.sum(y * weights)\n",
        space,
    )
    x = np.arange(1.0, 7.0)
    try:
        value, found = wg.value_and_grad(space["f"])(x)
    except wg.WengertError:
        return
    assert value == space["f"](x)
    np.testing.assert_allclose(found, [space["f"](x + 1e-20j * e).imag / 1e-20 for e in np.eye(6)], rtol=1e-12)


def test_a_view_that_gets_another_shape_after_an_update_failed():
    def f(x):
        y = x * 0.0
        y[0] = x[1]
        view = y[1:5]
        with contextlib.suppress(ValueError):
            view += x[:3]
        view.shape = (2, 2)
        view += x[:4].reshape(2, 2)
        return np.sum(y * y * x)

    np.testing.assert_allclose(wg.grad(f)(X), differences(f), rtol=1e-6)


def test_a_sum_at_indices_of_a_read_only_array_is_one_in_all_modes():
    def f(x):
        y = x * 1.0
        y[0] = x[1]
        y.flags.writeable = False
        try:
            np.add.at(y, np.array([0, 1]), x[:2])
        except ValueError:
            return np.sum(y * y) * 0.5
        return np.sum(y * y)

    try:
        value, slope = wg.value_and_grad(f)(X)
    except wg.WengertError:
        return
    primal, tangent = wg.jvp(f, (X,), (X,))
    assert np.isclose(value, primal)
    assert np.isclose(slope @ X, tangent)


VALUES = {
    "writes the array": "y[0] = x[3] * y[2]",
    "writes another element": "y[4] = x[3] * y[4]",
    "writes the whole array": "y[:] = y * x",
    "updates another part": "y[other] *= x[1:3]",
    "updates the same part": "y[places] += x[1:3]",
    "updates another array": "z[places] += y[places]",
    "writes the indices": "places[0] = 3",
    "adds at the indices": "np.add.at(y, places, x[1:3])",
    "raises": "raise KeyError",
}


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("value", VALUES)
def test_the_value_may_write_what_the_update_reads(name, value):
    """An error that the value raises leaves the array as it was."""
    space: dict[str, Any] = {"np": np}
    exec(
        "def f(x):\n"
        "    places, other, y, z = np.array([0, 2]), np.array([1, 2]), x * 1.5, x * 0.5\n"
        "    y[1], z[1] = x[0] * x[1], x[2] * x[3]\n"
        f"    def v():\n        {VALUES[value]}\n        return 0.3 * x[2:4] + 0.1 * np.tanh(y[:2])\n"
        "    for _ in range(2):\n"
        "        try:\n"
        f"            y[places] {name} v()\n"
        "        except KeyError:\n"
        "            y[places] *= x[:2]\n"
        f"        z[places] {name} 0.7\n"
        "    return np.sum(y * y) + np.sum(z * z)\n",
        space,
    )
    f = space["f"]
    expected = differences(f)
    for found in (wg.grad(f)(X), wg.jacfwd(f)(X), wg.grad(lambda x: wg.value_and_grad(f)(x)[0])(X)):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.max(np.abs(expected)))
