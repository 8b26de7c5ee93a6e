"""Where results go: the buffers of a compiled function are nobody else's, whatever the runs do."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import WeakSet

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.numpy_source import edges
from wengert.compiling.placement import Buffer, Pool
from wengert.values.trees import leaves

N = 4096  # elements: 32 kB, large enough for a buffer


def chain(x: Any, y: Any) -> Any:
    u = np.exp(x * y) + np.sin(x)
    v = u * u - y
    v[1:] += u[:-1]
    return np.sum(v * np.cos(u)), v * 2.0, u[::2].copy()


def views(x: Any, y: Any) -> Any:
    a = np.reshape(np.sin(x), (64, 64))
    b = a.T @ a + a
    return b * np.reshape(np.cos(y), (64, 64)).T, a[3], np.sum(b, axis=0)


def stores(x: Any, y: Any) -> Any:
    u = x * y
    u[1:] += y[1:] * x[1:]
    w = np.zeros(N)
    w[: N // 2] = u[N // 2 :] * 2.0
    return u, w * u


def numbers_between(x: Any, y: Any) -> Any:
    """A number that is made of an array, and read when that has been overwritten."""
    u = np.exp(x)
    first = u[0] * u[1]
    v = np.sin(u * y) * y
    return first + np.sum(v), u[2] * first


def total(f: Any) -> Any:
    return lambda x, y: sum([np.sum(np.cos(part)) for part in f(x, y)])


FUNCTIONS = {f.__name__: f for f in (chain, views, stores, numbers_between)}
each = pytest.mark.parametrize(("name", "derivative"), [(name, d) for name in FUNCTIONS for d in (False, True)])


def arguments(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (2, N))


def made(name: str, derivative: bool) -> tuple[Any, Any]:
    """The compiled function, and the tape to compare it with."""
    f = FUNCTIONS[name]
    tape = wg.gradtape(total(f), *arguments(0)) if derivative else wg.trace(f, *arguments(0))[1]
    run: Any = tape.optimise().compile()
    assert run.pool.buffers
    return run, tape.play


def arrays(value: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for _, leaf in leaves(value)]


def poison(pool: Pool | None) -> None:
    for buffer in [buffer for buffers in (pool.free if pool else ()) for buffer in buffers]:
        buffer.fill(np.nan)


def check(found: Any, expected: Any) -> None:
    for a, b in zip(arrays(found), arrays(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.max(np.abs(b)))


@each
def test_buffers_hold_nothing_between_runs(name: str, derivative: bool) -> None:
    run, play = made(name, derivative)
    for seed in range(3):
        x, y = arguments(seed)
        before = x.copy(), y.copy()
        found, expected = run(x, y), play(x, y)
        poison(run.pool)
        check(found, expected)
        np.testing.assert_array_equal([x, y], before)
        assert len(run.pool.free) == 1
        ours = [*run.pool.free[0], x, y]
        assert not any([np.shares_memory(a, b) for a in arrays(found) for b in ours])


def on_threads(work: Callable[[int], None]) -> None:
    """Do some work on three threads at once, each with a number of its own; what one raises is raised."""
    with ThreadPoolExecutor(3) as pool:
        assert [*pool.map(work, range(3))] == [None] * 3


@each
def test_two_threads(name: str, derivative: bool) -> None:
    run, play = made(name, derivative)

    def work(seed: int) -> None:
        x, y = arguments(seed)
        expected = play(x, y)
        for _ in range(20):
            check(run(x, y), expected)

    on_threads(work)
    assert 1 <= len(run.pool.free) <= 3


def test_all_pools_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pool, "most", 100_000)
    monkeypatch.setattr(Pool, "pools", WeakSet())
    first, second, third, huge = (Pool([Buffer((n,), np.dtype(float))]) for n in (5_000, 5_000, 5_000, 20_000))
    for pool in (first, second):
        pool.give(pool.take())
    assert len(first.free) == len(second.free) == 1
    first.give(first.take())
    third.give(third.take())
    assert [len(pool.free) for pool in (first, second, third)] == [1, 0, 1]  # the second was used least recently
    huge.give(huge.take())
    assert [len(pool.free) for pool in (first, second, third, huge)] == [0, 0, 0, 0]


def test_buffers_go_with_their_function() -> None:
    x, y = arguments(0)
    g = wg.compile(wg.grad(lambda x, y: np.sum(np.sin(x) * np.cos(x * y))))
    before = {*Pool.pools}
    g(x, y), g(x, y)
    (pool,) = [weakref.ref(pool) for pool in Pool.pools if pool not in before and pool.free]
    gc.disable()
    try:
        g.clear()
        assert pool() is None
    finally:
        gc.enable()


def test_inside_of_itself() -> None:
    runs: list[Any] = []

    def again(x: Any) -> Any:
        return runs.pop()(x * 0.5) if runs else x * 1.0

    wg.rrule(again)(lambda x: (again(x), lambda y_bar: y_bar))
    f = lambda x: np.exp(np.sin(x) * 2.0) * again(np.cos(x) * 3.0) * x
    x = arguments(0)[0]
    _, tape = wg.trace(f, x)
    run: Any = tape.optimise().compile()
    runs.append(run)
    found = run(x)
    runs.append(f)
    np.testing.assert_allclose(found, f(x), rtol=1e-13)
    assert len(run.pool.free) == 2


def test_what_a_function_may_keep_is_no_buffer() -> None:
    kept: list[np.ndarray] = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return np.sum(x)

    wg.rrule(keep)(lambda x: (keep(x), lambda y_bar: y_bar * np.ones(N)))
    f = lambda x: keep(np.sin(x) * 2.0) + np.sum(np.exp(np.cos(x) * 2.0))
    x, _ = arguments(0)
    _, tape = wg.trace(f, x)
    run = tape.optimise().compile()
    kept.clear()
    run(x), run(-x)
    np.testing.assert_array_equal(kept[0], np.sin(x) * 2.0)


def test_an_error_leaves_the_pool_whole() -> None:
    def checked(x: Any) -> Any:
        if not np.all(np.isfinite(x)):
            raise ValueError("not finite")
        return x * 1.0

    wg.rrule(checked)(lambda x: (checked(x), lambda y_bar: y_bar))
    f = lambda x: checked(np.exp(x) * 2.0) * np.cos(np.sin(x))
    x, y = arguments(0)
    _, tape = wg.trace(f, x)
    run: Any = tape.optimise().compile()
    run(x)
    with pytest.raises(ValueError, match="not finite"):
        run(np.full(N, np.nan))
    assert len(run.pool.free) == 1
    check(run(y), f(y))


def test_small_arrays_are_written_as_the_user_would() -> None:
    _, tape = wg.trace(lambda x, y: np.sum(x * y + x), np.ones(3), np.ones(3))
    run: Any = tape.optimise().compile()
    assert run.pool is None and "x * y" in run.source


def test_memory_is_used_again() -> None:
    """A chain of forty calls has two arrays alive at a time."""

    def f(x: Any) -> Any:
        for _ in range(20):
            x = np.sin(x) * 1.5
        return x

    run: Any = wg.trace(f, np.ones(N))[1].optimise().compile()
    assert len(run.pool.buffers) == 1


def test_the_first_sum_into_zeros_is_written() -> None:
    f = lambda x, y: np.sum(x[:-1] * y[:-1]) + np.sum(x[1:] * 2.0)
    x, y = np.ones(5), np.array([-0.0, 0.0, -0.0, 2.0, 7.0])
    tape = wg.gradtape(f, x, y)
    run: Any = tape.optimise(exact=True).compile()
    assert "np.empty" in run.source and "[4:] = 0.0" in run.source
    for found, expected in zip(arrays(run(x, y)), arrays(tape.play(x, y)), strict=True):
        assert found.tobytes() == expected.tobytes()  # the signs of zeros, too


def test_what_is_put_somewhere_is_computed_there() -> None:
    """The products and the sum that make a part of a gradient need no buffers; where the part is a column, they do."""
    f = lambda x: np.sum((x[:-1] ** 2 - x[1:]) ** 2 + (1.0 - x[:-1]) ** 2)
    g = lambda x: np.sum((x[:, 0] ** 2 - x[:, 1]) ** 2 + (1.0 - x[:, 0]) ** 2)
    x = np.random.default_rng(0).normal(size=N + 1)
    for h, at, most in ((f, x, 2), (g, np.stack([x, np.cos(x), x], axis=1), 4)):
        tape = wg.gradtape(h, at)
        run: Any = tape.optimise().compile()
        assert len(run.pool.buffers) <= most
        for _ in range(2):
            check(run(-at), tape.play(-at))
            poison(run.pool)


def squares_late(x: Any, w: Any) -> Any:
    z = np.sin(x)
    squares = z * z
    return np.sum(np.cos(squares), axis=0), np.sum(z * w, axis=0)


def squares_of_what_is_made_of_them(x: Any, w: Any) -> Any:
    z = np.sin(x)
    return np.sum(z * np.sum(np.cos(z * z), axis=1)[:, None], axis=0)


def two_that_could_be_written_over(x: Any, w: Any) -> Any:
    z = np.sin(x)
    return np.sum(np.exp(z), axis=0), np.sum(np.cos(z), axis=0), np.sum(w * z, axis=1)


@pytest.mark.parametrize(
    ("f", "most"), [(squares_late, 1), (squares_of_what_is_made_of_them, 2), (two_that_could_be_written_over, 2)]
)
def test_who_reads_a_large_array_does_so_before_it_is_written_over(f: Any, most: int) -> None:
    x, w = np.random.default_rng(0).normal(size=(2, 700, 100))
    tape = wg.trace(f, x, w)[1]
    run: Any = tape.optimise().compile()
    assert len([buffer for buffer in run.pool.buffers if buffer.shape == x.shape]) == most
    for _ in range(2):
        check(run(x, w), f(x, w))
        poison(run.pool)
    gradients = wg.gradtape(lambda x, w: sum(map(np.sum, map(np.tanh, f(x, w)))), x, w, argnums=(0, 1))
    check(gradients.optimise().compile()(x, w), gradients.play(x, w))


SLICES = [slice(None), slice(1, None), slice(None, -1), slice(1, -1), slice(None, None, 2), slice(None, None, -1), ...]


@pytest.mark.parametrize("first", SLICES)
@pytest.mark.parametrize("second", SLICES)
def test_edges(first: Any, second: Any) -> None:
    if first is ... and second is ...:
        return
    for key in (first, (first, second)):
        left = edges(key, (4, 5))
        x = np.ones((4, 5))
        x[key] = 0.0
        seen = np.zeros((4, 5))
        for edge in left or ():
            exec(f"seen[{edge}] += 1.0", {"seen": seen})
        if left is not None:
            np.testing.assert_array_equal(seen, x)
    assert edges(slice(1, None), (4, 5)) == [":1"] and edges((slice(None), slice(2)), (4, 5)) == [":, 2:"]


def test_zeros_that_are_written_in_part_are_zeros_at_each_run() -> None:
    f = lambda x: np.sum(np.stack([x[:10], x[N - 10 :]]) ** 2) + np.sum(x[3] * x[4 : N // 4] ** 3)
    x = arguments(0)[0]
    tape = wg.gradtape(f, x)
    run: Any = tape.optimise().compile()
    for x in arguments(1):
        found = run(x)
        poison(run.pool)
        check(found, tape.play(x))
