"""Loops that begin with constants in objects, containers and closures: the first iteration is one like the others."""

from dataclasses import dataclass

import numpy as np
import pytest

import wengert as wg


@pytest.fixture
def rng():
    return np.random.default_rng(11)


class Slotted:
    __slots__ = ("level", "unset")

    def __init__(self):
        self.level = 0.0


class Controller:
    def __init__(self):
        self.sum, self.last, self.parts = 0, 0.0, [0.0, 1.0]
        self.history = {"u": 0.0, "n": 0}
        self.slotted = Slotted()

    def step(self, error):
        self.sum = self.sum + error
        if error > 1:
            self.history["u"] = self.history["u"] * 0.5 + error
        elif error < -1:
            self.parts[0] = self.parts[0] + error
        output = self.sum + 0.1 * (error - self.last) + self.history["u"] + self.parts[0] * self.parts[1]
        self.last = error
        self.slotted.level = self.slotted.level * 0.9 + output
        return output


def of_object(x):
    controller, total = Controller(), 0.0
    for v in x:
        total += controller.step(v) ** 2
    return total + controller.slotted.level


def of_objects_in_a_list(x):
    controllers, total = [Controller() for _ in range(2)], 0.0
    for v in x:
        for gain, controller in zip((1.0, 1.5), controllers, strict=True):
            total += controller.step(gain * v)
    return total


@dataclass
class Adam:
    m: float
    v: float
    t: int

    def step(self, slope):
        self.t += 1
        self.m, self.v = 0.9 * self.m + 0.1 * slope, 0.99 * self.v + 0.01 * slope**2
        return self.m / (1 - 0.9**self.t) / (np.sqrt(self.v / (1 - 0.99**self.t)) + 1e-8)


def of_dataclass(x):
    adam, w = Adam(0.0, 0.0, 0), 0.0
    for v in x:
        slope = 2 * (w - v)
        if abs(slope) > 1.5:
            slope = slope / abs(slope) * 1.5
        w = w - 0.05 * adam.step(slope)
    return w


def of_dictionary(x):
    state = {"p": 0.0, "q": {"r": 1.0}}
    for v in x:
        if v > 1:
            state["q"]["r"] = state["q"]["r"] * 1.1
        elif v < -1:
            state["p"] -= v
        state["p"] = state["p"] * 0.9 + state["q"]["r"] * v
    return state["p"]


class Buffer:
    def __init__(self, n):
        self.values, self.count, self.pair = np.zeros(n), 0, np.zeros(2)

    def push(self, v):
        self.values[self.count] = v
        self.count += 1
        if v > 1:
            self.pair = self.pair * 0.5 + v
        elif v < -1:
            self.pair[0] += v


def of_arrays_in_an_object(x):
    buffer = Buffer(len(x))
    for v in x:
        buffer.push(v)
    return np.sum(buffer.values**2) + np.sum(buffer.pair)


def of_closure(x):
    total = 0.0

    def add(v):
        nonlocal total
        if v > 1:
            total = total * 0.5 + v
        elif v < -1:
            total = total - v

    for v in x:
        add(v)
    return total * 1.0


FUNCTIONS = [
    of_object, of_objects_in_a_list, of_dataclass, of_dictionary, of_arrays_in_an_object, of_closure
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_first_iteration_is_one_like_the_others(f, rng):
    compiled = wg.compile(wg.value_and_grad(f), strict=True, native=False)
    for k in range(6):
        x = 1.3 * rng.normal(size=40)
        if k == 0:
            x[:4] = 0.3, 2.0, -2.0, 0.4  # each branch, but none in the first iteration
        value, slope = compiled(x)
        assert value == pytest.approx(f(x))
        np.testing.assert_allclose(slope, wg.ngradient(f, x)[0], rtol=2e-5, atol=1e-6)
    assert "1 trace" in compiled.explain().splitlines()[0]


def test_a_slot_that_is_not_set_and_a_key_that_changes_are_no_constants(rng):
    def f(x):
        found, last = {}, Slotted()
        for k, v in enumerate(x):
            found[k] = v if v > 0 else v * v
            last.level = last.level + found[k]
        return last.level

    compiled = wg.compile(wg.grad(f), strict=True, native=False)
    for _ in range(3):
        x = rng.normal(size=5)
        np.testing.assert_allclose(compiled(x), wg.ngradient(f, x)[0], rtol=1e-6, atol=1e-8)


def clipped(x):
    kept = []
    for v in x:
        z = v * v - 0.5
        if z < 0:
            z = 0.0
        kept.append(z)
    return np.sum(np.array(kept) ** 2)


def leaky(x):
    kept, level = [], x[0]
    for v in x:
        level = 0.9 * level + v
        if level < 0:
            level = 0.0
        kept.append(level)
    return np.sum(np.array(kept) ** 2)


def rectified(x):
    kept = []
    for v in x:
        kept.append(v if v > 0 else 0.0)
    return np.sum(np.array(kept) ** 2)


@pytest.mark.parametrize("f", [clipped, leaky, rectified], ids=lambda f: f.__name__)
def test_a_list_may_get_a_constant_in_one_branch(f, rng):
    compiled = wg.compile(wg.value_and_grad(f))
    for _ in range(4):
        x = rng.normal(size=40)
        value, slope = compiled(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        differences = [(f(x + step) - f(x - step)) / 2e-6 for step in 1e-6 * np.eye(40)]
        np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-7)
    assert "takes either branch in each" in compiled.explain()
    assert int(compiled.explain().split("called with 1: ")[1].split()[0]) < 50


def wheres(x):
    kept = []
    for v in x:
        kept.append(np.where(v > 0, v, 0))
    return kept[0], kept[1], kept[-1]


def test_arrays_without_axes_stay_arrays_in_a_list(rng):
    compiled = wg.compile(wheres)
    for _ in range(4):
        x = rng.normal(size=14)
        found, expected = compiled(x), wheres(x)
        assert [*map(type, found)] == [*map(type, expected)] == [np.ndarray] * 3
        assert found == expected
