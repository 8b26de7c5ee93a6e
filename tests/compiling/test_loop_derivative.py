"""Derivatives of loops that are constructed from their bodies equal the uncompiled gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from loop_sources import loop_arguments, loop_function
from scipy.linalg import lu_factor, lu_solve

import wengert as wg
from wengert.compiling.loops import deferred_reverse, loop_derivative, lowering

R = np.random.default_rng(3)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the derivatives that are constructed; short functions defer their reverse pass, too."""
    found: list[int] = []

    def noted(*args: Any) -> Any:
        tape = loop_derivative.constructed_derivative(*args)
        found.append(len(tape))
        return tape

    monkeypatch.setattr(lowering, "constructed_derivative", noted)
    monkeypatch.setattr(deferred_reverse, "LEAST_ENTRIES", 20)
    return found


def by_differences(f: Any, x: np.ndarray) -> np.ndarray:
    """The gradient by Richardson's differences of fourth order."""
    found = []
    for e in np.eye(x.size).reshape(-1, *x.shape):
        d = [(f(x + h * e) - f(x - h * e)) / (2 * h) for h in (1e-3, 2e-3)]
        found.append((4 * d[0] - d[1]) / 3)
    return np.reshape(found, x.shape)


def item_of_an_argument(x: np.ndarray) -> Any:
    s = 0.0
    for _ in range(200):
        s = s * 0.9 + math.sin(s + x[0]) * x[1]
    return s


def recurrence(x: np.ndarray) -> Any:
    u = np.zeros(120)
    u[0], u[1] = x[0], x[1]
    for i in range(2, 120):
        u[i] = 0.5 * u[i - 1] - 0.3 * u[i - 2] + 0.1 * np.sin(u[i - 1] * x[2])
    return np.sum(u * u)


def loop_in_a_loop(x: np.ndarray) -> Any:
    s = x[0]
    for i in range(20):
        for j in range(30):
            s = s + 0.01 * np.sin(s + j) * x[1]
        s = s * 0.9 + x[2] * i * 0.01
    return s


def table(x: np.ndarray) -> Any:
    t = np.zeros((12, 12))
    t[0, :] = x[0]
    for i in range(1, 12):
        for j in range(1, 12):
            t[i, j] = 0.5 * t[i - 1, j] + 0.3 * t[i, j - 1] * x[1] + 0.1 * t[i - 1, j - 1] ** 2
    return t[-1, -1] + np.sum(t[5])


def adds_to_items(x: np.ndarray) -> Any:
    u = np.zeros(5)
    for i in range(100):
        u[i % 5] += x[0] * math.cos(0.1 * i)
    return np.sum(u**2 * x[1])


def shift_register(x: np.ndarray) -> Any:
    a, b, c = x[0], x[1], x[2]
    for _ in range(80):
        a, b, c = b, c, 0.4 * a + 0.3 * b * c
    return a * b + c


def matrix_power(x: np.ndarray) -> Any:
    m = np.array([[0.5, 0.1], [0.2, 0.4]]) * x[0]
    v = np.array([1.0, 2.0]) * x[1]
    for _ in range(60):
        v = np.tanh(m @ v) + x[2]
    return np.sum(v * v)


def last_value(x: np.ndarray) -> Any:
    s, t = x[0], 0.0
    for _ in range(50):
        t = np.sin(s) * x[1]
        s = s * 0.9 + t * x[2]
    return s * t


def parts_of_a_result(x: np.ndarray) -> Any:
    s, m = 0.0, np.array([[2.0, 0.3], [0.1, 1.0]])
    for k in range(60):
        sign, size = np.linalg.slogdet(m + k * x[0] * x[0])
        _, other = np.linalg.slogdet(m * (2.0 + x[1] * x[1]))
        u = np.zeros(2)
        u[0] = np.sin(size + other * x[2])
        s = s * 0.9 + sign * u[0]
    return s


def integers_among_parts(x: np.ndarray) -> Any:
    """The pivots of the factors, which depend on x, but have no cotangent; a guard reads them."""
    s, m = 0.0, np.array([[0.1, 2.0, 0.3], [1.0, 0.1, 0.7], [0.2, 0.4, 0.9]])
    for k in range(40):
        found = lu_factor(m + np.diag(x) * np.sin(k))
        y = lu_solve(found, x)
        y = y + lu_solve(found, np.tanh(y) - s)
        s = 0.5 * s + np.sum(np.tanh(y))
    return s


KNOTS = np.linspace(0.0, 1.0, 9)


def moving_index(x: np.ndarray) -> Any:
    """An index that branches increase: the key of an item depends on x, but has no cotangent."""
    s, k = 0.0, 0
    for i in range(40):
        at = 0.1 * x[0] + i / 42.2
        if k < 7 and at > KNOTS[k + 1]:
            k += 1
        s = s + (at - KNOTS[k]) ** 2 * x[k % 3] + np.sin(s * x[2])
    return s


def written_at_an_index(x: np.ndarray) -> Any:
    u, k = np.zeros(9), 0
    for i in range(60):
        if k < 8 and x[1] * i * 0.1 > k + 0.531:
            k += 1
        u[k] = 0.9 * u[k] + np.sin(x[0] + i) * x[2]
        u[0] += u[k] * 0.1
    return np.sum(u**2)


def stores_at_many(x: np.ndarray) -> Any:
    u = x * 1.0
    for _ in range(60):
        u[np.array([0, 2])] = np.sin(u[[2, 0]]) * x[2] + x[1]
    return np.sum(u)


def spreads_a_row(x: np.ndarray) -> Any:
    m = np.zeros((3, 3))
    for _ in range(60):
        m[:] = x * 0.5 + np.sin(m[0, 1])
        m[:, 1:] = x[:, None] * m[2, 2]
        m[[2], :] *= x[1]
    return np.sum(m**2)


INSIDE = np.array([[False, True, False], [True, False, True]])


def masked_in_layers(x: np.ndarray) -> Any:
    """A branch on how many elements the mask selects is a tuple in each iteration."""
    m = np.ones((2, 2, 3)) * x
    for _ in range(40):
        m[:, INSIDE] = np.sin(m[:, INSIDE][::-1]) * x[1] + x[0]
    return np.sum(m[0] * m[1])


ONE_LEVEL = [
    item_of_an_argument, recurrence, adds_to_items, shift_register, matrix_power, last_value, parts_of_a_result,
    integers_among_parts, moving_index, written_at_an_index,
]  # fmt: skip
CASES = [*ONE_LEVEL, loop_in_a_loop, table, stores_at_many, spreads_a_row, masked_in_layers]


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_gradients(made: list[int], f: Any) -> None:
    compiled = wg.compile(wg.grad(f), strict=True)
    for x in (np.array([0.4, 0.7, 0.2]), np.array([-0.3, 0.5, 0.9]), np.zeros(3)):
        np.testing.assert_allclose(compiled(x), wg.grad(f)(x), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(compiled(x), by_differences(f, x), rtol=1e-6, atol=1e-8)
    assert made and "1 trace" in compiled.explain()


@pytest.mark.parametrize("f", [item_of_an_argument, recurrence, shift_register], ids=lambda f: f.__name__)
def test_second_derivatives(made: list[int], f: Any) -> None:
    def along(x: np.ndarray) -> Any:
        return np.sum(wg.grad(f)(x) * np.array([1.0, -2.0, 0.5]))

    x = np.array([0.4, 0.7, 0.2])
    np.testing.assert_allclose(wg.compile(wg.grad(along))(x), by_differences(along, x), rtol=1e-6, atol=1e-8)


def test_the_derivative_does_not_grow_with_the_loop(made: list[int]) -> None:
    def f(x: np.ndarray, n: int) -> Any:
        s = x[0]
        for _ in range(n):
            s = s * 0.99 + np.sin(s) * x[1]
        return s

    compiled = wg.compile(wg.grad(f))
    for n in (100, 200, 400):
        compiled(np.array([0.3, 0.4]), n)
    assert max(made) < 40


def test_invariants_that_read_each_other_twice_are_looked_at_once(made: list[int]) -> None:
    """Each doubles the paths to the first one: searched path by path, thirty take for ever."""

    def f(x: np.ndarray, w: float) -> Any:
        s = x[0]
        for _ in range(60):
            y = w
            y = np.cos(y) * y + y
            y = y * y * 0.1 + y
            y = y * y * 0.1 + y
            y = y * y * 0.1 + y
            y = y * y * 0.1 + y
            y = y * y * 0.1 + y
            y = y * y * 0.1 + y
            y = y * y * 0.1 + y
            y = y * y * 0.1 + y
            y = y * y * 0.1 + y
            y = y * y * 0.1 + y
            y = y * y * 0.1 + y
            y = y * y * 0.1 + y
            y = y * y * 0.1 + y
            y = y * y * 0.1 + y
            y = y * y * 0.1 + y
            s = np.sin(s) * y + 0.1 * x[1]
        return s

    x, compiled = np.array([0.3, 0.4]), wg.compile(wg.grad(f), native=False)
    for w in (0.1, 0.05):
        np.testing.assert_allclose(compiled(x, w), wg.grad(f)(x, w), rtol=1e-12)
    assert made


def traced_pullbacks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments of the pullbacks that are traced from now on."""
    taken, count = deferred_reverse.Reverse.taped, []

    def noted(*args: Any, **named: Any) -> Any:
        count.append(args)
        return taken(*args, **named)

    monkeypatch.setattr(deferred_reverse.Reverse, "taped", staticmethod(noted))
    return count


def test_the_body_of_each_nested_loop_is_traced_once(made: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    count = traced_pullbacks(monkeypatch)

    def f(x: np.ndarray) -> Any:
        s = x[0]
        for _ in range(10):
            for _ in range(10):
                for _ in range(12):
                    s = np.sin(s) * x[1]
                s = s + 0.1 * np.cos(s)
            s = s * 0.9 + np.tanh(s)
        return s

    x = np.array([0.3, 0.4])
    np.testing.assert_allclose(wg.compile(wg.grad(f), native=False)(x), wg.grad(f)(x), rtol=1e-12)
    assert made and len(count) <= 2 * 4


def test_loops_with_equal_bodies_share_a_trace(made: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    count = traced_pullbacks(monkeypatch)

    def damped(s: Any, a: Any, rate: float, n: int) -> Any:
        for _ in range(n):
            s = s * rate + np.sin(s) * a
        return s

    def equal(x: np.ndarray) -> Any:
        return damped(x[0], x[1], 0.9, 30) + damped(x[2], x[0], 0.9, 50) * damped(-x[1], x[1], 0.9, 20)

    def unequal(x: np.ndarray) -> Any:
        return damped(x[0], x[1], 0.9, 30) + damped(x[2], x[0], 0.8, 50) * damped(-x[:2], x[1], 0.9, 20)[1]

    traced = []
    for f in (equal, unequal):
        count.clear()
        compiled = wg.compile(wg.grad(f), strict=True, native=False)
        for x in (np.array([0.4, 0.7, 0.2]), np.array([-0.3, 0.5, 0.9])):
            np.testing.assert_allclose(compiled(x), by_differences(f, x), rtol=1e-6, atol=1e-8)
        traced.append(len(count))
    assert traced == [2, 4]  # one or three bodies, and the code after the loops


def differ_in_a_sign(x: np.ndarray) -> Any:
    found = []
    for side in (0.5, -0.0, 0.0):
        s = x[0]
        for _ in range(70):
            s = s * 0.9 + np.arctan2(side, s) * x[1]
        found.append(s)
    return found[0] + found[1] * x[2] + found[2]


def differ_in_a_function(x: np.ndarray) -> Any:
    total = 0.0
    for fn in (np.maximum, np.minimum, np.hypot):
        s = x[:2] * 1.0
        for _ in range(70):
            s = fn(s * 0.9, x[2] * 0.3) * 0.5 + 0.1 * s
        total = total + np.sum(s)
    return total


def differ_in_an_array(x: np.ndarray) -> Any:
    total = 0.0
    for k in (1.0, 2.0, 1.0):
        w, s = np.array([[0.2, 0.1], [0.3, -0.4]]) * k, x[:2] * 1.0
        for _ in range(70):
            s = np.tanh(s @ w) + 0.1 * s + x[2]
        total = total + np.sum(s)
    return total


def differ_in_an_exponent(x: np.ndarray) -> Any:
    total = 0.0
    for p in (2, 3, 2.0):
        s = x[0]
        for _ in range(70):
            s = s * 0.5 + 0.1 * s**p * x[1] + 0.2
        total = total + s
    return total * x[2]


@pytest.mark.parametrize(
    "f",
    [differ_in_a_sign, differ_in_a_function, differ_in_an_array, differ_in_an_exponent],
    ids=lambda f: f.__name__,
)
def test_loops_with_other_constants_share_no_trace(made: list[int], f: Any) -> None:
    compiled = wg.compile(wg.grad(f), strict=True, native=False)
    for x in (np.array([0.4, 0.7, 0.2]), np.array([0.3, 0.5, 0.9])):
        np.testing.assert_allclose(compiled(x), wg.grad(f)(x), rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(compiled(x), by_differences(f, x), rtol=1e-6, atol=1e-8)
    assert made


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(40))
def test_random_loops(made: list[int], seed: int) -> None:
    text, f = loop_function(seed)
    gradient = wg.grad(f, argnums=(0, 1, 2, 3))
    compiled = wg.compile(gradient, native=False)
    for args in (loop_arguments(seed), loop_arguments(seed + 1000)):
        for found, expected in zip(compiled(*args), gradient(*args), strict=True):
            size = np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * float(size), err_msg=text)


def moved_particles(x: np.ndarray) -> Any:
    """Arrays of indices that depend on x, at which is read and added."""
    place, s = 1.5 + np.array([0.1, 0.32, 0.55, 0.68]) * x[0], 0.0
    for _ in range(30):
        cells = np.floor(place).astype(int)
        density = np.zeros(8)
        np.add.at(density, cells % 8, place - cells)
        place = place + 0.013 * np.sin(density[cells % 8] * x[1]) + 0.002
        s = s + np.sum(density**2) * x[2]
    return s + np.sum(place**2)


def unsupported() -> Iterator[Any]:
    def stores_twice(x: np.ndarray) -> Any:
        u, s = x * 1.0, 0.0
        for _ in range(60):
            u[[0, 2, 0]] = np.sin(u + s) * x[1]
            s = 0.3 * s + np.sum(u)
        return s

    def reads_a_part_later(x: np.ndarray) -> Any:
        s = 0.0
        for _ in range(60):
            both = np.linalg.slogdet(np.array([[2.0, 0.3], [0.1, 1.0]]) * (2.0 + x[0] * x[0]))
            u = np.zeros(2)
            u[0] = np.sin(s + x[1])
            s = u[0] * x[2] + both[1]
        return s

    yield from (stores_twice, reads_a_part_later, moved_particles)


@pytest.mark.parametrize("f", unsupported(), ids=lambda f: f.__name__)
def test_what_is_not_constructed_is_differentiated_by_iterations(monkeypatch: pytest.MonkeyPatch, f: Any) -> None:
    monkeypatch.setattr(deferred_reverse, "LEAST_ENTRIES", 20)
    x = np.array([0.4, 0.7, 0.2])
    compiled = wg.compile(wg.grad(f), strict=True)
    compiled(x)
    np.testing.assert_allclose(compiled(1.1 * x), by_differences(f, 1.1 * x), rtol=1e-6, atol=1e-8)


def item_of_list(x):
    kept = []
    for _ in range(12):
        x = x * 0.9 if x > 2.0 else x * 0.8
        kept.append(x)
    return kept[3]


def sum_of_list(x):
    kept = []
    for _ in range(12):
        x = x * 0.9 if x > 2.0 else x * 0.8
        kept.append(x)
    return x + sum(kept)


@pytest.mark.parametrize("f", [item_of_list, sum_of_list])
def test_the_gradient_of_a_list_of_floats_is_a_float(f):
    compiled = wg.compile(wg.grad(f))
    for x in (5.0, 4.0, 6.0):
        slope = compiled(x)
        assert type(slope) is float
        assert slope == pytest.approx((f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=1e-8)


def shuffled_numbers(x: np.ndarray) -> Any:
    values, s = [np.sin(0.1 * k * x[0] + x[1]) for k in range(50)], 0.0
    for k in range(50):
        s = np.tanh(0.9 * s + values[k * k % 50] * x[2])
    return s


def shuffled_vectors(x: np.ndarray) -> Any:
    values, s = [np.sin(0.1 * k * x) for k in range(50)], x
    for k in range(50):
        s = np.tanh(0.9 * s + values[k * k % 50] * x[2])
    return s[0]


@pytest.mark.parametrize("f", [shuffled_numbers, shuffled_vectors])
def test_cotangents_of_a_table_that_are_zero_in_the_first_call(made: list[int], f: Any) -> None:
    compiled, x = wg.compile(wg.grad(f), strict=True), np.array([0.4, 0.7, 0.2])
    compiled(x * np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(compiled(x), by_differences(f, x), rtol=1e-6, atol=1e-8)
