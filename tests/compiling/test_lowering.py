"""Compiled gradients of loops: differentiated on a few iterations, continued to all, the numbers of the whole."""

from __future__ import annotations

import numpy as np
import pytest
from test_rolling import PROGRAMS

import wengert as wg
from wengert.compiling import lowering, postponing
from wengert.compiling.rolling import rolled
from wengert.compiling.unrolling import unrolled
from wengert.values.trees import leaves

R = np.random.default_rng(5)
ORDER = tuple(int(k) for k in R.permutation(200))
WEIGHTS = tuple(float(k) for k in R.normal(size=200))


class Settings:
    def __init__(self):
        self.rate, self.scale = 0.01, np.ones(3)


settings = Settings()


def reads_outside(x):
    for _ in range(200):
        x = x - settings.rate * np.sin(x * settings.scale)
    return np.sum(x)


def branches(x):
    for i in range(300):
        x = x - 0.01 * x * i / 300 if x > 0 else x + 0.02
    return x * x


def kinds_of_iterations(x):
    for i in range(300):
        x = x * 1.1 if i < 5 else x * x * 0.5 if i > 290 else x + 0.02 * np.cos(x) * x
    return x * x


def alternating(x):
    for i in range(300):
        x = x - 0.01 * np.sin(x) if i % 2 else x + 0.02 * np.cos(x)
    return x * x


def fills(x):
    y = np.zeros(200)
    for k in range(200):
        y[k] = x[k] ** 2 + (y[k - 1] if k else 0.0)
    return y[-1] + np.sum(y)


def backwards(x):
    y = np.zeros(200)
    for k in range(199, -1, -1):
        y[k] = x[k] * x[199 - k]
    return np.sum(np.sin(y))


def permuted(x, order=ORDER):
    s = 0.0
    for k in range(200):
        s = s * 0.99 + x[order[k]] * x[k]
    return s


def weighted(x, weights=WEIGHTS):
    s = x * 0
    for k in range(200):
        s = s * 0.99 + np.sin(x * weights[k])
    return np.sum(s)


def collects(x):
    return np.sum(np.concatenate([np.sin(x * k) for k in range(300)]) ** 2)


def averages(x):
    return np.mean([x[k] ** 2 for k in range(200)])


def solves(a):
    x = np.ones(4)
    for k in range(100):
        x = np.linalg.solve(a + np.eye(4) * k, x) + 1
    return x @ x


MORE = [
    (reads_outside, R.normal(size=3)),
    (branches, 1.0),
    (kinds_of_iterations, 1.0),
    (alternating, 1.0),
    (fills, R.normal(size=200)),
    (backwards, R.normal(size=200)),
    (permuted, R.normal(size=200)),
    (weighted, R.normal(size=4)),
    (collects, R.normal(size=3)),
    (averages, R.normal(size=200)),
    (solves, R.normal(size=(4, 4)) + 4 * np.eye(4)),
]


def near(found, expected):
    for (_, a), (_, b) in zip(leaves(found), leaves(expected), strict=True):
        assert type(a) is type(b)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.max(np.abs(b)))


@pytest.mark.parametrize(("f", "x"), MORE, ids=lambda f: getattr(f, "__name__", ""))
def test_compiled_gradients_of_loops_are_those_of_grad(monkeypatch, f, x):
    monkeypatch.setattr(postponing, "LEAST", 50)
    both = wg.value_and_grad(f)
    compiled = wg.compile(both)
    for factor in (1.0, 1.01, 1.02):
        near(compiled(factor * x), both(factor * x))
    assert f"{f.__name__}: 1 traces" in compiled.explain()


def test_what_a_loop_reads_from_outside_is_read_anew(monkeypatch):
    monkeypatch.setattr(postponing, "LEAST", 50)
    compiled = wg.compile(wg.grad(reads_outside))
    x = np.ones(3)
    compiled(x)
    monkeypatch.setattr(settings, "rate", 0.03)
    near(compiled(x), wg.grad(reads_outside)(x))
    assert "reads_outside: 1 traces" in compiled.explain()


def test_a_derivative_is_taken_of_a_few_iterations(monkeypatch):
    lengths = []
    taken = postponing.Reverse.taped

    def noted(*args):
        tape = taken(*args)
        lengths.append(len(tape))
        return tape

    monkeypatch.setattr(postponing.Reverse, "taped", staticmethod(noted))

    def f(x, n):
        for _ in range(n):
            x = np.sin(x) + 0.1 * x**2
        return np.sum(x)

    x, compiled = np.ones(3), wg.compile(wg.grad(f))
    near(compiled(x, 2000), wg.grad(f)(x, 2000))
    first = [*lengths]
    near(compiled(x, 8000), wg.grad(f)(x, 8000))
    assert len(first) == 2
    assert lengths[2:] == first


def test_code_that_does_not_agree_with_the_trace_is_not_used(monkeypatch):
    def wrong(*args):
        tape = continued(*args)
        for op in tape.calls:
            if op.fn is np.sum or op.args[-1:] == (0.25,):
                op.args = (*op.args[:-1], 0.5)
        return tape

    continued = lowering.continued
    monkeypatch.setattr(lowering, "continued", wrong)
    monkeypatch.setattr(postponing, "LEAST", 50)

    def f(x):
        for _ in range(400):
            x = np.cos(x) * 1.01
        return 0.25 * np.sum(x) * 0.25

    x, compiled = np.ones(3), wg.compile(wg.grad(f))
    for factor in (1.0, 1.1):
        near(compiled(factor * x), wg.grad(f)(factor * x))


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_a_rolled_tape_unrolled_is_the_tape(f, args):
    tape = wg.gradtape(f, *args)
    again = unrolled(rolled(tape))
    for (_, a), (_, b) in zip(leaves(tape.play(*args)), leaves(again.play(*args)), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(tape) <= len(again) + 5
