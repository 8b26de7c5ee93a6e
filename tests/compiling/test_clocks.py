"""Compiled functions that read clocks: the generated code reads them again, each in its place."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import wengert as wg

GRID = np.linspace(0.1, 1.0, 50)
times: list[Any] = []
CLOCKS = [time.time, time.perf_counter, time.monotonic, time.process_time, time.thread_time]


@pytest.fixture(autouse=True)
def _no_times():
    times.clear()


def stamped(v):
    """A primitive of the user's, which tells when it is called."""
    times.append(("called", time.perf_counter()))
    return np.sin(v)


@wg.vjp_rule(stamped)
def _stamped(y_bar, y, v):
    return y_bar * np.cos(v)


def difference(f, x, step=1e-5):
    at = [f(x + k * step) for k in (-2, -1, 1, 2)]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * step)


@pytest.mark.parametrize("clock", CLOCKS, ids=lambda clock: clock.__name__)
def test_a_measured_time_is_that_of_each_call(clock: Any) -> None:
    def f(x):
        begin = clock()
        y = np.sum(np.sin(x * GRID) ** 2)
        times.append((begin, clock() - begin))
        return y

    g = wg.compile(wg.grad(f), strict=True)
    for k in range(4):
        before = clock()
        assert g(0.3 + k) == pytest.approx(difference(lambda x: np.sum(np.sin(x * GRID) ** 2), 0.3 + k), rel=1e-8)
        begin, took = times[-1]
        assert before <= begin <= begin + took <= clock()
        assert len(times) == k + 1


def test_a_clock_is_read_between_what_is_computed_around_it() -> None:
    def f(x):
        first = time.perf_counter()
        v = stamped(x * GRID)
        second = time.perf_counter()
        w = stamped(v * x)
        third = time.perf_counter()
        times.append(("read", first, second, third))
        return np.sum(w)

    g = wg.compile(wg.grad(f), strict=True)
    for x in (0.3, 0.4, 0.5):
        times.clear()
        assert g(x) == pytest.approx(difference(lambda x: np.sum(np.sin(np.sin(x * GRID) * x)), x), rel=1e-8)
        (_, one), (_, two), (_, first, second, third) = times[:2] + [each for each in times if each[0] == "read"]
        assert first < one < second < two < third


def test_a_function_stops_at_a_deadline() -> None:
    def f(x, seconds):
        end, total = time.monotonic() + seconds, 0.0
        for k in range(30):
            if time.monotonic() > end:
                break
            total = total + np.sin(x * k)
        return total + x

    g = wg.compile(wg.grad(f), strict=True)
    for _ in range(3):
        assert g(0.7, 100.0) == pytest.approx(1.0 + sum(k * np.cos(0.7 * k) for k in range(30)), rel=1e-12)
        assert g(0.7, -1.0) == 1.0


def test_a_function_that_waits() -> None:
    def f(x):
        begin, y = time.perf_counter(), np.sin(x)
        while time.perf_counter() - begin < 2e-3:
            y = y * 1.0
        return y

    g = wg.compile(wg.grad(f))
    for _ in range(3):
        begin = time.perf_counter()
        assert g(0.7) == pytest.approx(np.cos(0.7), rel=1e-15)
        assert time.perf_counter() - begin >= 2e-3


def test_a_loop_beside_a_clock_is_compiled_as_ever() -> None:
    def f(x, n):
        begin, total = time.perf_counter(), 0.0
        for k in range(n):
            total = total + np.sin(x * k) * total + 0.1
        times.append(time.perf_counter() - begin)
        return total

    g = wg.compile(wg.grad(f), strict=True)
    for n in (40, 40, 40, 40):
        assert g(0.7, n) == pytest.approx(wg.grad(f)(0.7, n), rel=1e-12)
    assert len(times) == 8
    assert "pass roll loops" in g.explain()


def test_a_time_that_is_returned() -> None:
    def f(x):
        begin = time.perf_counter()
        return np.sum(np.sin(x * GRID)), time.perf_counter() - begin

    g = wg.compile(wg.grad(f, has_aux=True), quiet=True)
    for _ in range(4):
        slope, took = g(0.7)
        assert slope == pytest.approx(difference(lambda x: np.sum(np.sin(x * GRID)), 0.7), rel=1e-8)
        assert 0.0 < took < 10.0


def test_a_clock_without_anything_computed_before_it() -> None:
    def f():
        return time.perf_counter()

    g = wg.compile(f, quiet=True)
    found = [g() for _ in range(4)]
    assert found == sorted(found)
    assert found[0] < found[-1]
    with pytest.raises(wg.NotCompiledError, match="perf_counter"):
        wg.compile(f, strict=True)()


def test_the_time_of_a_pause_is_measured() -> None:
    def f(x):
        y = np.sum(np.sin(x * GRID) ** 2)
        begin = time.perf_counter()
        time.sleep(0.01)
        times.append(time.perf_counter() - begin)
        return y

    g = wg.compile(wg.grad(f))
    with pytest.warns(wg.NotCompiledWarning, match="time.perf_counter after time.sleep"):
        g(0.3)
    [g(0.3) for _ in range(3)]
    assert min(times) >= 0.009
