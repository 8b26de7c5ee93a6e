"""What is put together of shifted arrays, computed piece by piece, is what the function as written computes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from native_by_python import interpret_program

import wengert as wg
from wengert.compiling.native import stencil_fusion
from wengert.compiling.native.compiled import compile_native
from wengert.compiling.native.stencil_fusion import fuse_stencils
from wengert.tape.ops import Call
from wengert.values import functional

N = 9
X, Y = np.random.default_rng(3).uniform(0.5, 1.5, size=(2, N))


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stencil_fusion, "LEAST_FUSED", 1)


def stores(tape: wg.Tape) -> int:
    """How many stores the result of a tape is made by."""
    needed, found = {tape.result.op}, 0
    for op in reversed(list(tape)):
        if op in needed:
            needed.update(v.op for v in op.references())
            found += isinstance(op, Call) and op.fn in (functional.setitem, functional.additem)
    return found


def rosenbrock(x: Any, y: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2) + np.sum(y)


def waves(x: Any, y: Any) -> Any:
    """Second differences, and a part that is far from the others."""
    return np.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2 * y[1:-1]) + np.sum(x[-3:] * y[:3]) ** 2


def slow(x: Any, y: Any) -> Any:
    """What is not computed twice."""
    return np.sum(np.exp(np.sin(x[1:]) * np.cos(y[:-1])) * x[:-1])


def rows(x: Any, y: Any) -> Any:
    m = np.outer(x, y)
    return np.sum((m[1:] - 0.5 * m[:-1]) ** 3 / (1 + m[1:] ** 2))


@pytest.mark.parametrize("f", [rosenbrock, waves, slow, rows])
def test_gradients_by_pieces(f: Callable[..., Any]) -> None:
    tape = wg.gradtape(f, X, Y).optimise()
    apart = fuse_stencils(tape)
    assert stores(tape) > 1 >= stores(apart)
    run: Any = compile_native(tape, build=interpret_program)
    run.__kwdefaults__["plain"] = lambda *args: None
    for k in range(3):
        rng = np.random.default_rng(k)
        x, y, u, v = rng.uniform(0.5, 1.5, size=(4, N))
        slope = np.imag(f(x + 1e-30j * u, y + 1e-30j * v)) / 1e-30
        for found in (apart.play(x, y)[1][1:], run(x, y)[1][1:]):
            assert found[0] @ u + found[1] @ v == pytest.approx(slope, rel=1e-12)


def test_random_pieces() -> None:
    """Arrays at random slices of zeros, put there or added."""
    apart = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        tape = wg.Tape()
        tape.inputs = [X, Y]
        x, y = tape.inputs
        whole = tape.push(Call(np.zeros, [N], val=np.zeros(N)))
        value = np.zeros(N)
        for _ in range(int(rng.integers(2, 6))):
            first, end = sorted(map(int, rng.integers(0, N + 1, 2)))
            size, at = end - first, int(rng.integers(0, N - (end - first) + 1))
            parts = [
                tape.push(Call(operator.getitem, [v, slice(begin, begin + size)], val=a[begin : begin + size]))
                for v, a, begin in ((x, X, at), (y, Y, first))
            ]
            a, b = (part.op.val for part in parts)
            product = tape.push(Call(np.multiply, parts, val=a * b))
            what = tape.push(Call(np.subtract, [product, 0.5], val=a * b - 0.5))
            fn = functional.setitem if rng.random() < 0.4 else functional.additem
            value = fn(value, slice(first, end), a * b - 0.5)
            whole = tape.push(Call(fn, [whole, slice(first, end), what], val=value))
        tape.result = whole
        found = fuse_stencils(tape)
        apart += not stores(found)
        np.testing.assert_array_equal(found.play(-Y, X), tape.play(-Y, X))
    assert apart > 150


def test_what_others_read_stays() -> None:
    """An array that is read between two stores is there as it was then."""

    def f(x: Any) -> Any:
        u = np.zeros(N)
        u[1:] = x[:-1] * 2.0
        v = u * 3.0
        u[:-1] = x[1:]
        return u + v, v

    tape = wg.trace(f, X)[1].optimise()
    for a, b in zip(fuse_stencils(tape).play(Y), f(Y), strict=True):
        np.testing.assert_array_equal(a, b)
