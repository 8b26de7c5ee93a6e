"""What a gradient keeps: counted in arrays by tracemalloc, so that no machine decides."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import memory
import numpy as np
import pytest
from mutation_programs import Program, leaves
from tapes import same_bits
from view_programs import FOLLOWED

import wengert as wg
from wengert.mutation import undo

N = 70_000
X = np.linspace(0.1, 1.0, N)


def peak(f: Callable[..., Any], *args: np.ndarray) -> float:
    """The most that a gradient with respect to all arguments takes above them, in arrays like the first."""
    gradient = wg.grad(f, argnums=tuple(range(len(args))))
    gradient(*args)  # what is made once
    tracemalloc.start()
    try:
        gradient(*args)
        return tracemalloc.get_traced_memory()[1] / args[0].nbytes
    finally:
        tracemalloc.stop()


def sums(x: Any) -> Any:
    for k in range(50):
        x = x * 0.9 + k
    return x.sum()


def sines(x: Any) -> Any:
    for _ in range(20):
        x = np.sin(x)
    return x.sum()


def smoothing(x: Any) -> Any:
    y = x.copy()
    for _ in range(50):
        y[1:-1] += 0.1 * (y[2:] - 2 * y[1:-1] + y[:-2])
    return y.sum()


def sines_in_place(x: Any) -> Any:
    y = x.copy()
    for _ in range(20):
        np.sin(y, out=y)
    return y.sum()


def layers(*ws: Any) -> Any:
    h = ws[0]
    for w in ws:
        h = np.tanh(h * w)
    return h.sum()


def layers_after_a_store(*ws: Any) -> Any:
    h = ws[0].copy()
    h[0] = ws[1][0]
    for w in ws:
        h = np.tanh(h * w)
    return h.sum()


def layers_in_place(*ws: Any) -> Any:
    h = ws[0].copy()
    for w in ws:
        h *= w
    return h.sum()


def in_passing(x: Any) -> Any:
    """A value that is kept at the time only."""
    y = np.exp(x)
    total = y.sum()
    y = np.cos(x)
    return total + y.sum()


LAYERS = [X + k for k in range(20)]


@pytest.mark.parametrize(
    ("f", "args", "kept"),
    [
        (sums, [X], 0),
        (sines, [X], 19),
        (smoothing, [X], 1),
        (sines_in_place, [X], 20),
        (layers, LAYERS, 20),  # as many results as gradients: the ones give way to the others
        (layers_after_a_store, LAYERS, 20),
        (layers_in_place, LAYERS, 20),
        (in_passing, [X], 1),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_kept_is_what_pullbacks_read(f: Any, args: Any, kept: int) -> None:
    """Above what is kept there are a few arrays: what is computed with, and the cotangents on their way."""
    assert peak(f, *args) < kept + 4.5


def test_an_inner_function_may_be_a_checkpoint() -> None:
    def inner(x: Any) -> Any:
        for _ in range(8):
            x = np.sin(x)
        return x

    def outer(wrap: Any, x: Any) -> Any:
        for _ in range(10):
            x = wrap(inner)(x)
        return x.sum()

    assert peak(partial(outer, lambda f: f), X) > 79
    assert peak(partial(outer, wg.checkpoint), X) < 10 + 8 + 4.5


def test_heat() -> None:
    """Each step keeps how each cell was changed, and no more; nothing at all where conductivities are not wanted."""
    u, k = memory.field(200)
    assert peak(partial(memory.heat, np), u, k) < 100 + 9
    assert peak(lambda u: memory.heat(np, u, k), u) < 9


def test_options() -> None:
    """27 values of 54 are read by pullbacks."""
    assert peak(partial(memory.options, np), *memory.market(N)) < 30


def test_memory_is_as_the_function_left_it() -> None:
    """Regions of one array, large and small, that overlap: each has its last content after the log is used up."""
    shared = np.zeros(3 * N)

    def f(x: Any) -> Any:
        for k in range(5):
            shared[:N] = np.sin(x) * k
            shared[k : N + k] *= x
            shared[N // 2 : 2 * N : 2][: N // 2] += shared[: N // 2] ** 2
            shared[[0, 5, -1]] = shared[1] * 2
            shared[7] = x[k] ** 2 * shared[3]
            shared[...] = np.cos(shared)
        return np.sum(shared**2)

    expected_value, expected = f(X), shared.copy()
    shared[:] = 0
    value, _ = wg.value_and_grad(f)(X)
    assert value == expected_value
    assert same_bits(shared, expected)
    shared[:] = 0
    (of_x,) = wg.vjp(f, X)[1](1.0)
    shared[:] = 0
    assert same_bits(wg.grad(f)(X), of_x)


def test_memory_is_as_the_function_left_it_after_an_error() -> None:
    shared = np.zeros(N)

    def broken(x: Any) -> Any:
        return x * 1.0

    def f(x: Any) -> Any:
        y = broken(x)
        for _ in range(3):
            shared[:] = np.exp(shared) * y
        return np.sum(shared)

    with wg.rules.scope():
        wg.rrule(broken)(lambda x: (x * 1.0, lambda y_bar: {}["no such key"]))
        with pytest.raises(KeyError):
            wg.grad(f)(X)
    found = shared.copy()
    shared[:] = 0
    for _ in range(3):
        shared[:] = np.exp(shared) * X
    assert same_bits(found, shared)


@pytest.mark.parametrize("program", FOLLOWED, ids=lambda p: p.f.__name__)
def test_regions_of_small_programs(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every region is treated as a large one is."""
    args = program.args()
    value, gradients = wg.grad(program.f, *args)
    monkeypatch.setattr(undo, "WEAKLY_HELD_ABOVE", -1)
    again = program.args()
    value_again, gradients_again = wg.grad(program.f, *again)
    assert same_bits(value, value_again)
    assert same_bits(leaves(gradients[1:]), leaves(gradients_again[1:]))
    assert same_bits(leaves(args), leaves(again))


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize("f", [sums, sines, in_passing])
def test_a_gradient_leaves_no_cycles_to_the_collector(f: Any) -> None:
    """A cycle would keep all residuals until the collector finds it."""
    gradient, x = wg.grad(f), np.ones(3)
    for _ in range(10):  # until the steps back are generated, by functions of ast that refer to themselves
        gradient(x)
    gc.collect()
    gc.disable()
    try:
        gradient(x)
        assert gc.collect() == 0
    finally:
        gc.enable()
