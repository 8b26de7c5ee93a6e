"""Compiled functions that write into arrays from outside: these hold what the plain function leaves in them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert as wg

INPUTS = [np.array([0.5, 1.5, 2.5]) + k for k in (0.0, 0.25, -2.0, 3.0, 0.125, -1.0, 0.5, 2.0, 7.0, 1.0)]


class State:
    """Arrays that functions write."""

    def __init__(self) -> None:
        self.v, self.m, self.buffer, self.counts = np.zeros(3), np.ones(3), np.empty((2, 3)), np.zeros(3, int)
        self.base = np.arange(12.0).reshape(2, 6)
        self.part, self.row, self.odd = self.base[1, :3], np.arange(8.0)[2:5], np.arange(12.0).reshape(2, 6)[0, 1::2]
        self.odd_calls = np.array([True, False, True])
        self.n, self.kept, self.last, self.items = 0, None, None, {"g": np.zeros(3)}
        self.rng = np.random.default_rng(3)
        self.buffer[:] = 0.0


def momentum(s: Any, x: Any) -> Any:
    s.v *= 0.9
    s.v += x
    return np.sum(s.v**2)


def adam(s: Any, x: Any) -> Any:
    s.n += 1
    s.m[:] = 0.9 * s.m + 0.1 * x
    s.v[:] = 0.99 * s.v + 0.01 * x**2
    return np.sum(x - s.m / (1 - 0.9**s.n) / (np.sqrt(s.v / (1 - 0.99**s.n)) + 1e-8))


def out_arguments(s: Any, x: Any) -> Any:
    np.multiply(x, 2.0, out=s.v)
    np.sin(s.v, out=s.buffer[1])
    np.cumsum(s.v, out=s.m)
    np.dot(np.diag([1.0, 2.0, 3.0]), x, out=s.items["g"])
    return np.sum(s.buffer[1] * x) + s.m[2] + s.items["g"][1]


def elements(s: Any, x: Any) -> Any:
    for k in range(3):
        s.v[k] = x[k] * s.m[k - 1]
    s.n += 1
    s.m[s.n % 3] = np.sum(x)
    s.buffer[s.n % 2] += x
    return np.sum(s.v * s.m)


def masks(s: Any, x: Any) -> Any:
    s.v[x > 1.0] = 0.0
    s.m[x < 1.0] += x[x < 1.0]
    np.add.at(s.buffer, (0, [0, 0, 2]), x)
    np.copyto(s.row, x, where=x > 0.0)
    s.odd.fill(x[0])
    return np.sum(s.v * x) + np.sum(s.m) * x[0]


def views(s: Any, x: Any) -> Any:
    v = s.v[1:]
    v += x[1:]
    s.row[:] = x
    s.odd[::-1] *= x
    s.buffer.reshape(-1)[:2] = x[:2]
    return np.sum(s.v * x) + np.sum(s.row * s.odd)


def counts(s: Any, x: Any) -> Any:
    s.counts[x > 0.0] += 1
    return np.sum(x * s.counts)


def rebinds(s: Any, x: Any) -> Any:
    s.v += x
    s.kept, s.last = s.v, x * 2.0
    s.v = s.v * 0.5
    s.v[0] = 1.0
    return np.sum(s.v * x)


def swaps(s: Any, x: Any) -> Any:
    s.v, s.m = s.m, s.v
    s.v[:] = x
    s.m *= 0.5
    return np.sum(s.v * x + s.m)


def stops_in_the_middle(s: Any, x: Any) -> Any:
    s.v += x
    if x[0] > 3.0:
        raise ValueError("too large")
    s.v *= 2.0
    return np.sum(s.v * x)


def its_argument(s: Any, x: Any) -> Any:
    x *= 2.0
    x[0] = s.v[0] + 1.0
    return np.sum(x**2)


def draws(s: Any, x: Any) -> Any:
    noise = s.rng.normal(size=3)
    noise *= 0.1
    s.v += noise
    return np.sum((x + noise) * s.v)


def while_loop(s: Any, x: Any) -> Any:
    y = np.sum(x)
    while y > 1.0:
        y *= 0.7
        s.v[1] += y
    return y * np.sum(x)


def long_loop(s: Any, x: Any) -> Any:
    for k in range(40):
        s.v[k % 3] = np.tanh(s.v[k % 3] + x[k % 3])
        s.m += s.v * 0.1
    return np.sum(s.m * x)


def copies(s: Any, x: Any) -> Any:
    s.m[:] = s.v
    s.v[:] = x
    s.odd[:] = s.row[::-1]
    np.copyto(s.row, s.items["g"])
    np.copyto(s.items["g"], s.v)
    s.buffer.T[:, 1] = s.buffer[0]
    s.buffer[0] = x
    return np.sum(s.m * x) + np.sum(s.odd * s.row)


def copies_its_argument(s: Any, x: Any) -> Any:
    s.v[...] = x
    x[:] = s.m
    s.m[:] = s.v[::-1]
    return np.sum(s.v) * x[0]


def constants(s: Any, x: Any) -> Any:
    s.v[:] = 1.0
    s.buffer[1] = [1.0, 2.0, 3.0]
    return np.sum(x * x)


COMPILED = [
    momentum, adam, out_arguments, elements, masks, views, counts, rebinds, swaps, stops_in_the_middle, its_argument,
    draws, while_loop, long_loop, copies, copies_its_argument, constants,
]  # fmt: skip


def overlapping(s: Any, x: Any) -> Any:
    s.base[:, 2] = x[0]
    s.part += x
    return np.sum(s.part * x)


def keeps_a_view(s: Any, x: Any) -> Any:
    s.v += x
    s.kept = s.v[1:]
    return np.sum(s.v * x)


def flags(s: Any, x: Any) -> Any:
    s.odd_calls ^= True
    return np.sum(x[s.odd_calls])


RIGHT_ALL_THE_SAME = [overlapping, keeps_a_view, flags]


def state_of(thing: Any) -> Any:
    """Everything that can be read of a state, to the bit."""
    if isinstance(thing, np.ndarray):
        return thing.dtype.str, thing.shape, thing.strides, thing.tobytes()
    if isinstance(thing, dict):
        return {key: state_of(part) for key, part in thing.items()}
    return repr(thing)


def left(run: Callable[[Any], Any], s: State, x: Any) -> tuple[Any, Any]:
    result = None
    try:
        result = run(x)
    except ValueError as error:
        result = str(error)
    arrays = [(name, part) for name, part in vars(s).items() if isinstance(part, np.ndarray)]
    shared = [(a, b) for k, (a, x) in enumerate(arrays) for b, y in arrays[k + 1 :] if np.shares_memory(x, y)]
    return result, (state_of(vars(s) | {"rng": s.rng.bit_generator.state}), shared, x.tobytes())


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("mode", ["value", "gradient", "hessian"])
@pytest.mark.parametrize("f", [*COMPILED, *RIGHT_ALL_THE_SAME], ids=lambda f: f.__name__)
def test_arrays_hold_what_the_function_leaves(f: Any, mode: str) -> None:
    if mode == "hessian" and f in (its_argument, copies_its_argument, counts):
        return  # refused without wg.compile, too
    plain, other, own = State(), State(), State()
    transform: Any = {"value": lambda f: f, "gradient": wg.grad, "hessian": wg.hessian}[mode]
    expected_by, compiled = transform(lambda x: f(other, x)), wg.compile(transform(lambda x: f(own, x)), exact=True)
    for k, x in enumerate(INPUTS):
        expected, expected_left = left(expected_by, other, x.copy())
        found, found_left = left(compiled, own, x.copy())
        assert found_left == expected_left, f"call {k}"
        if mode != "hessian":
            assert left(lambda x: f(plain, x), plain, x.copy())[1] == expected_left
        if isinstance(expected, str):
            assert found == expected
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    if mode != "hessian":
        assert ("runs uncompiled" in compiled.explain()) == (f in RIGHT_ALL_THE_SAME), compiled.explain()


def test_the_very_array_is_returned_and_kept() -> None:
    s = State()

    @wg.compile
    def f(x: Any) -> Any:
        s.v += x
        s.kept = s.v
        return s.v, np.sum(s.v * x)

    for _ in range(3):
        before = s.v.copy()
        found, value = f(INPUTS[1])
        assert found is s.v is s.kept
        np.testing.assert_array_equal(s.v, before + INPUTS[1])
        assert value == np.sum(s.v * INPUTS[1])
    assert "1 trace" in f.explain()


def test_memory_that_another_array_shares_later_is_noticed() -> None:
    a, b = SimpleNamespace(v=np.zeros(3), w=np.ones(3)), SimpleNamespace(v=np.zeros(3), w=np.ones(3))

    def f(s: Any, x: Any) -> Any:
        s.v[:] = x
        return np.sum(s.w * x)

    compiled = wg.compile(f, quiet=True)
    for k, x in enumerate(INPUTS[:6]):
        if k == 3:
            a.w, b.w = a.v[::-1], b.v[::-1]
        with pytest.warns(wg.NotCompiledWarning, match="share") if k == 3 else np.errstate():
            assert compiled(a, x) == f(b, x)
        np.testing.assert_array_equal(a.v, b.v)


def test_a_gradient_by_a_view_of_an_array_that_is_written() -> None:
    w = np.ones(4)

    def f(x: Any) -> Any:
        w[1:] = 0.25
        return np.sum(x * x)  # which may show w

    g = wg.compile(wg.grad(f), quiet=True)
    np.testing.assert_array_equal(g(np.arange(4.0)), [0, 2, 4, 6])
    with pytest.warns(wg.NotCompiledWarning, match="share"):
        found = g(w[::-1])
    np.testing.assert_array_equal(found, [0, 0, 0, 2])
    np.testing.assert_array_equal(g(w[:2]), [2, 0])


def test_a_read_only_array_raises_as_without_compilation() -> None:
    s = State()
    compiled = wg.compile(lambda x: momentum(s, x), quiet=True)
    compiled(INPUTS[0])
    s.v.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled(INPUTS[0])


def test_a_refused_trace_writes_once() -> None:
    """Where a trace with integers as inputs is refused, what it wrote is taken back before the function runs again."""
    mine, theirs = State(), State()

    def f(s: Any, x: Any) -> Any:
        s.v += x
        s.n += 1
        s.odd_calls ^= True
        return np.sum(s.v * x) * len(hex(s.n))

    compiled = wg.compile(lambda x: f(mine, x), quiet=True)
    with warnings.catch_warnings(record=True) as issued:
        for x in INPUTS:
            assert compiled(x) == f(theirs, x)
            np.testing.assert_array_equal(mine.v, theirs.v)
            np.testing.assert_array_equal(mine.odd_calls, theirs.odd_calls)
    assert len(issued) == 1
