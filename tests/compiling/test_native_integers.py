"""Integers and bools in native code, and sorts with ties, nan and zeros of both signs: the results are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_by_python import interpret_program
from test_native import by_python

import wengert as wg
from wengert.compiling.native.compiled import compile_native

RNG = np.random.default_rng(5)
AT = RNG.integers(0, 6, 40)
X = RNG.normal(size=40)
BIG = np.array([2.0**53, -(2.0**53), 1.0, 3.0] * 10)
POINTS = [X, -3.0 * X, np.round(X), np.zeros(40), X[::-1], np.abs(X), BIG, np.where(X > 0.5, np.inf, X)]
SIGNED = [np.where(X > 0.0, 0.0, -0.0), np.where(X > 1.0, np.nan, X)]


def integers(x: np.ndarray) -> np.ndarray:
    return np.trunc(x).astype(int)


FUNCTIONS: dict[str, Callable[[np.ndarray], Any]] = {
    "sort": lambda x: np.sort(x) * 1.0,
    "sort of rows": lambda x: np.sort(np.reshape(x, (8, 5)) * 2.0, axis=-1) + 1.0,
    "sort of columns": lambda x: np.sort(np.reshape(x, (8, 5)).T, axis=1) + 1.0,
    "sort of one": lambda x: np.sort(x[:1]) + 1.0,
    "sort of a part": lambda x: np.sort(x[::-3]) + 1.0,
    "sort of gathered": lambda x: np.sort(x[AT]) + 1.0,
    "stable argsort": lambda x: x[np.argsort(x * 2.0, kind="stable")] + 1.0,
    "stable argsort, indices": lambda x: np.argsort(np.round(x), kind="stable") * 1.0,
    "stable argsort of rows": lambda x: np.argsort(np.round(np.reshape(x, (4, 10))), axis=-1, kind="stable") + x[:1],
    "argsort, stable": lambda x: np.argsort(np.round(x), stable=True) * 1.0,
    "method sort": lambda x: sorted_in_place(x) + 1.0,
    "sum of bools": lambda x: np.sum(x > 0.3) * x,
    "sum of bools by rows": lambda x: np.sum(np.reshape(x, (8, 5)) > 0.3, axis=1) * x[:8],
    "sum of bools, kept": lambda x: np.sum(x > 0.3, keepdims=True) * x,
    "sum of integers": lambda x: np.sum(integers(x)) * 1.0 + x,
    "largest integer": lambda x: np.max(integers(x)) * 1.0 + np.min(integers(np.reshape(x, (8, 5))), axis=0),
    "running sum of bools": lambda x: np.cumsum(x > 0.3) * x,
    "running sum of integers": lambda x: np.cumsum(integers(x)) + x,
    "running sum of a matrix": lambda x: np.cumsum(np.reshape(x > 0.3, (8, 5))) + np.cumsum(np.reshape(x, (8, 5)).T),
    "running products": lambda x: np.cumprod(np.reshape(x, (8, 5)), axis=1) + np.cumprod(np.reshape(x, (8, 5)), axis=0),
    "joined bools": lambda x: np.where(np.concatenate([[True], x[1:] > x[:-1]]), x, 2.0 * x),
    "stacked bools": lambda x: np.sum(np.stack([x > 0.0, x < 0.3]) * x, axis=0),
    "joined integers": lambda x: np.concatenate([[7], integers(x)]) * 0.5 + x[0],
    "chosen integers": lambda x: np.where(x > 0.3, integers(x), 5) * 0.5,
    "integers and bools": lambda x: (integers(x) + (x > 0.3)) * 0.5 + np.maximum(integers(x), x > 0.3),
    "items at no index": lambda x: np.concatenate([np.sin(x[AT[:0]]), x * 2.0]),
    "bins": lambda x: np.bincount(AT, weights=x, minlength=9) * 2.0,
    "more bins than asked for": lambda x: np.bincount(AT, x, minlength=2) * 2.0,
    "bins of all lengths": lambda x: np.bincount(AT, weights=x)[AT] * x,
    "array of a list": lambda x: np.array((x * 2.0).tolist()) + 1.0,
    "array of a list of rows": lambda x: np.array(list(np.reshape(x * 2.0, (8, 5)))) + 1.0,
}


def sorted_in_place(x: np.ndarray) -> np.ndarray:
    x = x * 1.0
    x.sort()
    return x


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected) and found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=0)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("build", [None, interpret_program], ids=["LLVM", "Python"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_numpys(name: str, build: Any) -> None:
    f = FUNCTIONS[name]
    if build is None:
        pytest.importorskip("numba")
    tape = wg.trace(f, X)[1].optimise()
    run: Any = compile_native(tape, build=build) if build else compile_native(tape)
    assert run.state == "native code", run.state
    for x in (*POINTS, *SIGNED):
        same(run(x), tape.play(x))
        same(run(x), f(x))


@pytest.mark.parametrize("length", [1, 2, 3, 16, 17, 31, 100])
def test_sorts_of_all_lengths(length: int) -> None:
    pytest.importorskip("numba")
    x = RNG.normal(size=(3, length))
    f = lambda x: (np.sort(x) * 1.0, np.argsort(x, kind="stable") * 1.0)
    run: Any = compile_native(wg.trace(f, x)[1].optimise())
    assert run.state == "native code"
    for given in (x, np.round(x), -x, np.sort(x), np.sort(x)[:, ::-1], x * 0.0 + 1.0):
        for found, expected in zip(run(given), f(given), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_sums_of_integers_that_floats_do_not_represent_are_numpys() -> None:
    """The large parts cancel, but 2**53 + 1 is no float."""
    pytest.importorskip("numba")
    f = lambda x: np.sum(integers(x)) * 1.0
    run: Any = compile_native(wg.trace(f, np.ones(4))[1].optimise())
    for x in ([2.0**53, 1.0, 1.0, -(2.0**53)], [2.0**52, 2.0**52, 1.0, -(2.0**53)], [1.0, 2.0, 3.0, -7.0]):
        assert run(np.array(x)) == f(np.array(x))


def queue(w: np.ndarray, arrivals: np.ndarray) -> Any:
    servers, total = np.zeros(3), 0.0
    for k in range(len(arrivals)):
        servers = np.sort(np.maximum(servers - arrivals[k] * w[0], 0.0))
        if servers[0] > w[2]:
            total += 0.3 * (w[2] - w[0]) ** 2
            continue
        total += (servers[0] - w[1]) ** 2
        servers[0] += w[1] * (1.0 + 0.1 * k)
    return total + np.sum(servers**2)


def test_a_loop_that_sorts_is_native_with_its_derivative() -> None:
    pytest.importorskip("numba")
    arrivals = np.abs(RNG.normal(size=30))
    gradient = wg.value_and_grad(queue)
    compiled = wg.compile(gradient, native=True)
    for w in ([0.7, 1.1, 0.8], [0.9, 2.0, 1.5], [3.0, 0.2, 0.1], [0.1, 1.0, 5.0]):
        w = np.array(w)
        for _ in range(2):
            value, w_bar = compiled(w, arrivals)
            assert value == pytest.approx(queue(w, arrivals), rel=1e-12)
            np.testing.assert_allclose(w_bar, gradient(w, arrivals)[1], rtol=1e-9)
        if np.all(w < 3.0):  # else equal workloads meet a kink
            for k in range(3):
                h = 1e-6 * np.eye(3)[k]
                slope = (queue(w + h, arrivals) - queue(w - h, arrivals)) / 2e-6
                assert w_bar[k] == pytest.approx(slope, rel=1e-5, abs=1e-5)
    assert compiled.status == "compiled natively"


def test_a_count_that_ends_a_loop_is_guarded() -> None:
    def f(x: np.ndarray) -> Any:
        total = 0.0
        for k in range((x > 0.3).sum()):
            total = total + np.sin(x[k]) * x[-k] + np.cos(total * x[k]) - 0.1 * x[k] ** 3
        return total + np.sum(np.sort(x)[:3])

    pytest.importorskip("numba")
    gradient = wg.value_and_grad(f)
    compiled = wg.compile(gradient, native=True)
    for x in (X, 1.1 * X, np.abs(X) + 0.31, -X, X[::-1].copy(), 0.0 * X, X):
        for _ in range(2):
            found, expected = compiled(x), gradient(x)
            assert found[0] == pytest.approx(f(x), rel=1e-12)
            np.testing.assert_allclose(found[1], expected[1], rtol=1e-9, atol=1e-12)
    tape = wg.trace(f, X)[1].optimise()
    run: Any = compile_native(tape)
    assert run(1.01 * X) == pytest.approx(f(1.01 * X), rel=1e-12)
    with pytest.raises(wg.StaleTapeError):
        run(np.abs(X) + 0.31)


def test_the_derivative_of_a_sort_is_native_at_ties() -> None:
    gradient = wg.value_and_grad(lambda x: np.sum(np.sort(x) ** 2 * np.arange(40.0)))
    run = by_python(wg.trace(gradient, X)[1].optimise())
    for x in (X, np.round(X) + 0.0, np.abs(np.round(X)), X * 0.0 + 2.0):  # without -0.0
        (value, x_bar), expected = run(x), gradient(x)
        assert value == pytest.approx(expected[0], rel=1e-13)
        np.testing.assert_allclose(x_bar, expected[1], rtol=1e-12)


def follows_runs(p: np.ndarray, x: np.ndarray) -> Any:
    """Begin each inner loop where the last one ended, as loops over ties do."""
    i, total = 0, 0.0
    while i < len(x):
        j, peak = i, p[0]
        while j < len(x) and x[j] < p[1]:
            peak = peak + x[j] * p[1]
            j += 1
        total = total + peak * peak
        i = j + 1
    return total


def test_a_loop_may_begin_at_a_computed_integer() -> None:
    pytest.importorskip("numba")
    compiled = wg.compile(wg.value_and_grad(follows_runs), native=True, strict=True)
    for x, threshold in [(X, 0.9), (-X, 0.2), (X[::-1].copy(), 1.3)]:
        p = np.array([0.3, threshold])
        value, slopes = compiled(p, x)
        assert value == pytest.approx(follows_runs(p, x), rel=1e-12)
        steps = [follows_runs(p + 1e-6 * row, x) - follows_runs(p - 1e-6 * row, x) for row in np.eye(2)]
        np.testing.assert_allclose(slopes, np.array(steps) / 2e-6, rtol=1e-6, atol=1e-7)
    assert compiled.status == "compiled natively"
