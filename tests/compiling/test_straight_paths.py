"""Branches outside of loops: a trace joins those of other branches, so that one entry serves all combinations."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.loops import lowering


@pytest.fixture(autouse=True)
def bugs_raise(monkeypatch):
    def raised(error):
        raise error

    monkeypatch.setattr(lowering, "warn_of_bug", raised)


def independent(x):
    a = x[0] * 2.0 if x[1] > 0.0 else x[0] - 1.0
    b = 0.5
    if x[2] > 0.0:
        b = a * x[2]
    if np.any(x > 1.0):
        a = np.sin(a)
    c = max(a, 0.25) + min(b, x[3])
    if -0.5 < x[3] < 0.5 or not a > b:
        c = c * b
    return c * c + a * b


def chained(x):
    if x[0] > 1.0:
        y = x[1] * 2.0
    elif x[0] > 0.0:
        y = 0.75
        if x[1] > 0.0:
            y = x[2]
    elif x[0] > -1.0:
        return np.sum(x) * x[0]
    else:
        y = np.exp(x[3])
    if y * x[2] < 0.0:
        return y * x[3]
    return y + x[0]


def clipped(a, b):
    if a > b:
        return b
    if a < -b:
        return -b
    a = a * 1.5
    return a


def calls(x):
    a = clipped(x[0], 0.5)
    b = clipped(x[1] * a, 0.25)
    c = clipped(x[2], abs(b))
    return a * b + c * clipped(x[3], 0.5)


def stores(x):
    u, h = x.copy(), [x[0]]
    if x[0] > 0.0:
        u *= 0.9
    u[1] = x[2] * u[0]
    if x[1] > 0.0:
        u[2:] += u[1]
    else:
        u = np.tanh(u)
        h[0] = u[2]
    if x[2] > 0.0:
        u[0] = 0.5
    return np.sum(u * u) + h[0]


def around_a_loop(x):
    c = x[0] if x[1] > 0.0 else 0.5
    for v in x:
        c = c * 0.5 + v if c > 0.0 else c - v
    if c > x[2]:
        c = c * c
    return c + x[3] if x[3] > 0.0 else c


def swaps(x):
    low, high = x[0], x[1]
    if low > high:
        low, high = high, low
    middle = x[2]
    if middle < low:
        low, middle = middle, low
    elif middle > high:
        middle, high = high, middle
    width = high
    if x[3] > 0.0:
        width = middle
    return high * 3.0 + middle * 2.0 - low * width


PROGRAMS = {independent: 8, chained: 7, calls: 12, stores: 6, around_a_loop: 6, swaps: 6}
"""The programs, and after how many traces all combinations of their branches run compiled."""


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_few_traces_serve_all_combinations_of_branches(f, monkeypatch):
    traced = []
    trace = wg.compiling.compile.CompiledFunction._trace
    monkeypatch.setattr(
        wg.compiling.compile.CompiledFunction, "_trace", lambda *args: traced.append(args[0]) or trace(*args)
    )
    value, gradient = wg.compile(f, native=False, strict=True), wg.compile(wg.grad(f), native=False, strict=True)
    rng = np.random.default_rng(1)
    for _ in range(60):
        x = rng.normal(size=4)
        given = x.copy()
        assert value(given) == pytest.approx(f(x), rel=1e-14)
        step = 1e-6 * np.eye(4)
        slopes = [(f(x + move) - f(x - move)) / 2e-6 for move in step]
        np.testing.assert_allclose(gradient(given), slopes, rtol=1e-5, atol=1e-7)
        np.testing.assert_array_equal(given, x)
    assert "1 trace" in value.explain() and "1 trace" in gradient.explain()
    assert max(traced.count(value), traced.count(gradient)) <= PROGRAMS[f]


DATA = np.array([[1.0, -2.0, 0.5], [0.3, 0.4, -1.0]])


def returns_one_number_twice(x):
    low, high = x[0] * 1.0, x[1] * 1.0
    if low > high:
        high = low
    return low, high


def returns_what_it_reads(x):
    row = DATA[0]
    if x[0] > 0.0:
        row = x
    return x[1] * 2.0, row


def returns_constants(x):
    scale = 2.0
    if x[0] > 0.0:
        scale = x[1]
    elif x[1] > 0.0:
        scale = 0.5
    return np.sum(x) * x[2], scale


@pytest.mark.parametrize("f", [returns_one_number_twice, returns_what_it_reads, returns_constants])
@pytest.mark.parametrize("order", [1, -1])
def test_results_that_coincide_on_one_path_are_those_of_each(f, order):
    rng = np.random.default_rng(2)
    value, gradient = wg.compile(f, native=False), wg.compile(wg.value_and_grad(f, has_aux=True), native=False)
    for x in rng.normal(size=(12, 3))[::order]:
        first, second = f(x)
        (found, aux), slopes = gradient(x)
        for a, b in (value(x), (found, aux)):
            assert a == first
            np.testing.assert_array_equal(b, second)
        step = 1e-6 * np.eye(3)
        expected = [(f(x + move)[0] - f(x - move)[0]) / 2e-6 for move in step]
        np.testing.assert_allclose(slopes, expected, rtol=1e-6, atol=1e-8)


def compares_identity(x):
    c = d = 0.5
    if x[0] > 0.0:
        c = 0.25
    return x[1] * (2.0 if c is d else 3.0)


def catches_a_division_by_zero(x):
    c = 0.0
    if x[0] > 0.0:
        c = x[1]
    try:
        return x[2] / c
    except ZeroDivisionError:
        return -x[2]


def asks_for_the_type(x):
    c = 1.0
    if x[0] > 0.0:
        c = x[1]
    return c * x[2] if type(c) is float else c * x[2] * 3.0


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("f", [compares_identity, catches_a_division_by_zero, asks_for_the_type])
def test_floats_stay_what_they_are_where_the_code_tells_them_apart(f):
    value = wg.compile(f, native=False, quiet=True)
    for x in np.random.default_rng(2).normal(size=(12, 3)):
        assert value(x) == f(x)
    assert "runs uncompiled" not in value.explain()


def ends_between(x):
    a = x[0] if x[1] > 0.0 else x[1]
    for k in range(3):
        if a > 1.0:
            break
        a = a + 0.4 * x[k]
        if a < -1.5:
            return a * x[3]
    else:
        a = 0.5 * a
    if a > 0.2:
        a = a * x[2]
    return a * a + x[3]


def test_a_loop_with_several_ends_may_stand_between_branches():
    value, gradient = wg.compile(ends_between, native=False), wg.compile(wg.grad(ends_between), native=False)
    for x in np.random.default_rng(1).normal(size=(40, 4)):
        assert value(x) == pytest.approx(ends_between(x), rel=1e-14)
        slopes = [(ends_between(x + move) - ends_between(x - move)) / 2e-6 for move in 1e-6 * np.eye(4)]
        np.testing.assert_allclose(gradient(x), slopes, rtol=1e-5, atol=1e-7)
