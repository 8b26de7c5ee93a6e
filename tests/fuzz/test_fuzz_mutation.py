"""Random programs of loops, branches, views and stores, against complex steps. FUZZ_EXAMPLES=10000 runs so many."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tapes import same_bits

import wengert as wg

N = 6
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "100"))
KEYS = [
    0,
    3,
    -1,
    slice(None),
    slice(1, 4),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(4, 1, -1),
    slice(2, 2),
    ...,
    [0, 2],
    [1, 1, 4],
    np.array([True, False] * 3),
    (slice(2, None),),
    None,
]
VIEWS = [
    lambda a: a[1:5],
    lambda a: a[::2],
    lambda a: a[::-1],
    lambda a: a.reshape(2, 3).T,
    lambda a: a.reshape(3, 2)[1],
    lambda a: a[2, ...],
    lambda a: a[None, 1:],
    lambda a: a[:0],
    lambda a: a.reshape(2, 3)[:, 1:],
]
NAMES = st.integers(0, 3)  # two arguments, a scratch array, and a view of one of them

op = st.one_of(
    st.tuples(st.just("view"), NAMES, st.sampled_from(range(len(VIEWS)))),
    st.tuples(st.just("store"), NAMES, st.sampled_from(range(len(KEYS))), NAMES, st.integers(0, N - 1)),
    st.tuples(st.just("constant"), NAMES, st.sampled_from(range(len(KEYS))), st.sampled_from([0.5, 2.0])),
    st.tuples(st.just("add"), NAMES, st.sampled_from(range(len(KEYS))), NAMES, st.integers(0, N - 1)),
    st.tuples(st.just("multiply"), NAMES, NAMES),
    st.tuples(st.just("out"), NAMES, NAMES, NAMES),
    st.tuples(st.just("copy"), NAMES, NAMES),
    st.tuples(st.just("read"), NAMES),
    st.tuples(st.just("fill"), NAMES, NAMES, st.integers(0, N - 1)),
)
branch = st.tuples(st.just("if"), NAMES, st.lists(op, max_size=4), st.lists(op, max_size=4))
loop = st.tuples(st.just("repeat"), st.integers(0, 3), st.lists(op, max_size=4))
programs = st.lists(st.one_of(op, op, op, branch, loop), min_size=1, max_size=12)


def entry(a: Any, place: int) -> Any:
    return a.ravel()[place % a.size] if a.size else 0.25


def run(ops: list[Any], names: list[Any], total: Any) -> Any:
    """Carry out a list of operations on the arrays; a sum of what was read."""
    for kind, *rest in ops:
        if kind == "if":
            test, then, other = rest
            total = run(then if np.sum(names[test]).real > 0.9 else other, names, total)
            continue
        if kind == "repeat":
            for _ in range(rest[0]):
                total = run(rest[1], names, total)
            continue
        a = names[rest[0]]
        flat = a.ndim == 1 and a.size == N
        if kind == "view" and flat:
            names[3] = VIEWS[rest[1]](a)
        elif kind == "constant" and flat:
            a[KEYS[rest[1]]] = rest[2]
        elif kind in ("store", "add") and flat:
            key, value = KEYS[rest[1]], names[rest[2]]
            part = a[key]
            value = value[key] * 0.5 if value.shape == a.shape and rest[3] % 2 else entry(value, rest[3]) * 0.5
            if kind == "store":
                a[key] = value
            else:
                a[key] += value
            total = total + np.sum(part)
        elif kind == "multiply":
            b = names[rest[1]]
            a *= np.sin(b if b.shape == a.shape else np.sum(b))
        elif kind == "out":
            b, c = names[rest[1]], names[rest[2]]
            if b.shape == c.shape == a.shape:
                np.multiply(np.cos(b), c, out=a)
            else:
                np.tanh(a, out=a)
        elif kind == "copy":
            b = names[rest[1]]
            np.copyto(a, b if b.shape == a.shape else np.cos(np.sum(b)))
        elif kind == "fill":
            a.fill(entry(names[rest[1]], rest[2]))
        elif kind == "read":
            total = total + np.sum(np.sin(a) * np.arange(1.0, a.size + 1).reshape(a.shape))
    return total


def arguments(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    return np.linspace(0.2, 0.9, N).astype(dtype), np.cos(np.arange(N)).astype(dtype)


def program(ops: list[Any]) -> Any:
    def f(x: Any, y: Any) -> Any:
        scratch = np.full(N, 0.3, x.dtype)
        names = [x, y, scratch, x[1:5]]
        total = run(ops, names, x[0] * y[1])
        return total + sum(np.sum(a * a) for a in names)

    return f


def complex_step(f: Any) -> list[float]:
    out = []
    for which in (0, 1):
        for place in range(N):
            args = arguments(complex)
            args[which][place] += 1e-30j
            out.append(f(*args).imag / 1e-30)
    return out


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=EXAMPLES == 100)
@given(programs)
def test_random_programs(ops: list[Any]) -> None:
    f = program(ops)
    plain, args = arguments(float), arguments(float)
    want = f(*plain)
    value, (_, *gradients) = wg.grad(f, *args)
    assert same_bits(value, want)
    assert all(map(same_bits, args, plain))
    exact = complex_step(f)
    np.testing.assert_allclose(np.concatenate(gradients), exact, rtol=1e-9, atol=1e-9)
    value, pullback = wg.vjp(f, *arguments(float))
    assert same_bits(pullback(1.0), pullback(1.0))
    value, tape = wg.trace(f, *arguments(float))
    assert same_bits(value, want)
    # a window comes off the tape in C order: a sum over it may add in another order
    np.testing.assert_allclose(tape.play(*arguments(float)), want, rtol=1e-13)
    np.testing.assert_allclose(np.concatenate(pullback(1.0)), exact, rtol=1e-9, atol=1e-9)
