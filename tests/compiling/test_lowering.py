"""Compiled gradients of loops: differentiated on a few iterations, continued to all, the numbers of the whole."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.loops import deferred_reverse, lowering
from wengert.recording.recording import Recording
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
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.max(np.abs(b), initial=0, where=np.isfinite(b)))


@pytest.mark.parametrize(("f", "x"), MORE, ids=lambda f: getattr(f, "__name__", ""))
def test_compiled_gradients_of_loops_are_those_of_grad(monkeypatch, f, x):
    monkeypatch.setattr(deferred_reverse, "LEAST_ENTRIES", 50)
    both = wg.value_and_grad(f)
    compiled = wg.compile(both)
    for factor in (1.0, 1.01, 1.02):
        near(compiled(factor * x), both(factor * x))
    assert f"{f.__name__}: compiled (NumPy), 1 trace" in compiled.explain()


def test_what_a_loop_reads_from_outside_is_read_anew(monkeypatch):
    monkeypatch.setattr(deferred_reverse, "LEAST_ENTRIES", 50)
    compiled = wg.compile(wg.grad(reads_outside))
    x = np.ones(3)
    compiled(x)
    monkeypatch.setattr(settings, "rate", 0.03)
    near(compiled(x), wg.grad(reads_outside)(x))
    assert "reads_outside: compiled (NumPy), 1 trace" in compiled.explain()


def test_a_derivative_is_taken_of_one_iteration(monkeypatch):
    lengths = []
    taken = deferred_reverse.Reverse.taped

    def noted(*args, **named):
        tape = taken(*args, **named)
        lengths.append(len(tape))
        return tape

    monkeypatch.setattr(deferred_reverse.Reverse, "taped", staticmethod(noted))

    def f(x, n):
        for _ in range(n):
            x = np.sin(x) + 0.1 * x**2
        return np.sum(x)

    x, compiled = np.ones(3), wg.compile(wg.grad(f))
    near(compiled(x, 2000), wg.grad(f)(x, 2000))
    first = [*lengths]
    near(compiled(x, 8000), wg.grad(f)(x, 8000))
    assert len(first) == 2 and max(first) < 60  # of an iteration, and of the sum after the loop
    assert lengths[2:] == first


def test_code_that_does_not_agree_with_the_trace_is_not_used(monkeypatch):
    changed = []

    def wrong(*args):
        tape = constructed(*args)
        for op in tape.calls:
            if 0.25 in [a for a in op.args if type(a) is float]:
                op.args = tuple([0.5 if type(a) is float else a for a in op.args])
                changed.append(op)
        return tape

    constructed = lowering.constructed_derivative
    monkeypatch.setattr(lowering, "constructed_derivative", wrong)
    monkeypatch.setattr(deferred_reverse, "LEAST_ENTRIES", 50)

    def f(x):
        for _ in range(400):
            x = np.cos(x) * 1.01
        return 0.25 * np.sum(x) * 0.25

    x, compiled = np.ones(3), wg.compile(wg.grad(f))
    for factor in (1.0, 1.1):
        near(compiled(factor * x), wg.grad(f)(factor * x))
    assert changed
    assert "1 trace" in compiled.explain()


def triangle(x):
    s = 0.0
    for i in range(24):
        for j in range(i):
            s = s + np.sin(x[i] * x[j])
    return s


def red_and_black(x):
    u = x.copy()
    for _ in range(60):
        u[1:-1:2] = 0.5 * (u[0:-2:2] + u[2::2])
        u[2:-1:2] = 0.5 * (u[1:-2:2] + u[3::2])
    return np.sum(u**2)


def outputs(x):
    found, s = [], 0.0
    for k in range(400):
        s = s * 0.99 + np.sin(x[k])
        found.append(s)
    return np.array(found)


def reshapes(x):
    return np.sum(outputs(x).reshape(20, 20)[3] ** 2)


def multiplies(x):
    return outputs(x) @ x[:400]


def takes(x):
    return np.sum(outputs(x)[np.array([3, 50, 399])] ** 2)


def leaves_out_the_last(x):
    return np.sum(outputs(x)[:-100] ** 2)


def indexes_by_arrays(x):
    u = x[:40] * 1.0
    for k in range(300):
        at = (np.arange(5) + k) % 40
        u[at] = u[at] * 0.9 + 0.1
    return np.sum(u**2)


def goes_on_otherwise(x, rates=(0.5,) * 350 + (0.25,) * 150):
    s = x[0] * 1.0
    for k in range(500):
        s = s * 0.99 + x[0] * x[1] * rates[k]
    return s


NOT_EVEN = [triangle, red_and_black, reshapes, multiplies, takes, leaves_out_the_last, indexes_by_arrays]


@pytest.mark.parametrize("f", [*NOT_EVEN, goes_on_otherwise, permuted], ids=lambda f: f.__name__)
def test_a_first_call_at_zero_says_nothing_of_the_next(monkeypatch, f):
    monkeypatch.setattr(deferred_reverse, "LEAST_ENTRIES", 50)
    both = wg.value_and_grad(f)
    compiled, x = wg.compile(both), R.normal(size=400)
    for factor in (0.0, 1.0, 1.01):
        near(compiled(factor * x), both(factor * x))
    assert f"{f.__name__}: compiled (NumPy), 1 trace" in compiled.explain()


def test_a_first_call_may_give_no_numbers(monkeypatch):
    def f(x, n):
        u = x.copy()
        for _ in range(n):
            u[1:-1:2] = 0.5 * (u[0:-2:2] + u[2::2])
            u[2:-1:2] = 0.5 * (u[1:-2:2] + u[3::2])
        return np.sum(u**2) / x[0]

    monkeypatch.setattr(deferred_reverse, "LEAST_ENTRIES", 50)
    both = wg.value_and_grad(f)
    compiled = wg.compile(both)
    for x in (np.full(40, np.nan), R.normal(size=40)):
        near(compiled(x, 60), both(x, 60))


TURN = 0.3 + 0.2j


def spirals(z):
    for k in range(100):
        z = z * 0.9 + 0.1 * np.sin(z) * (1 + 0.01 * k)
    return np.sum(np.abs(z) ** 2)


def turns(z):
    for _ in range(100):
        z = z * TURN + np.conj(z) * 0.5
    return np.sum(np.real(z * z)) + abs(np.sum(z))


def real_at_first(z):
    for _ in range(100):
        z = 0.9 * z + np.exp(0.3j) * 0.01 * z * z
    return np.sum(z)


@pytest.mark.parametrize("least", [50, 10**9])
@pytest.mark.parametrize("f", [spirals, turns, real_at_first], ids=lambda f: f.__name__)
def test_complex_numbers_that_were_real_at_first(monkeypatch, f, least):
    monkeypatch.setattr(deferred_reverse, "LEAST_ENTRIES", least)
    gradient = wg.grad(f, holomorphic=f is real_at_first)
    compiled, x = wg.compile(gradient, strict=True), R.uniform(0.2, 0.8, size=3)
    for z in (x + 0j, x + 1j * x[::-1], x[::-1] - 0.5j * x):
        near(compiled(z), gradient(z))
    assert f"{f.__name__}: compiled (NumPy), 1 trace" in compiled.explain()


def test_complex_gradients_of_loops_are_those_of_differences(monkeypatch):
    monkeypatch.setattr(deferred_reverse, "LEAST_ENTRIES", 50)
    compiled, z = wg.compile(wg.grad(spirals)), np.array([0.3 + 0j, 0.5, -0.4])
    compiled(z)
    z, h = z + 0.2j, 1e-6
    for k, direction in enumerate(np.eye(3)):
        along_real = (spirals(z + h * direction) - spirals(z - h * direction)) / (2 * h)
        along_imaginary = (spirals(z + 1j * h * direction) - spirals(z - 1j * h * direction)) / (2 * h)
        np.testing.assert_allclose(compiled(z)[k], along_real - 1j * along_imaginary, rtol=1e-7, atol=1e-10)


def swings(x):
    for k in range(120):
        x = x - 0.05 * np.sin(x) * (1 + 0.01 * k)
    return np.sum(x**2)


def descends(x):
    for _ in range(3):
        x = x - 0.1 * wg.grad(swings)(x)
    return x


def twice(x):
    value, bar = wg.value_and_grad(swings)(x)
    again, other = wg.value_and_grad(swings)(x + bar)
    return value * again, bar, other, wg.grad(swings)(x)


def beside(x):
    y = np.sin(x)

    def inner(z):
        for _ in range(100):
            z = z * 0.98 + 0.1 * np.cos(z * y)
        return np.sum(z)

    return wg.grad(inner)(x) * y


def beside_itself(x):
    def inner(z):
        for _ in range(100):
            z = z * 0.98 + 0.1 * np.cos(z * x)
        return np.sum(z)

    return wg.grad(inner)(x)


@pytest.mark.parametrize("f", [descends, twice, beside, beside_itself], ids=lambda f: f.__name__)
def test_gradients_inside_of_a_function(monkeypatch, f):
    monkeypatch.setattr(deferred_reverse, "LEAST_ENTRIES", 50)
    compiled = wg.compile(f, strict=True)
    for x in (R.normal(size=3), R.normal(size=3)):
        near(compiled(x), f(x))


def halves(x):
    while x > 1.0:
        x = x / (2.0 + 0.01 * np.sin(x))
    return x


@pytest.mark.parametrize(("f", "x"), [(swings, R.normal(size=3)), (halves, 300.0)])
def test_what_a_trace_computed_is_not_kept_by_its_code(monkeypatch, f, x):
    def recordings():
        gc.collect()
        return len([thing for thing in gc.get_objects() if type(thing) is Recording])

    monkeypatch.setattr(deferred_reverse, "LEAST_ENTRIES", 50)
    before = recordings()
    compiled = wg.compile(wg.value_and_grad(f), strict=True)
    compiled(x)
    assert recordings() <= before
    assert "reads a0" in compiled.explain()


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_a_mistake_of_ours_is_told_and_leaves_the_code_as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise KeyError("a mistake")

    monkeypatch.setattr(lowering, "constructed_derivative", fails)
    with pytest.raises(KeyError, match="a mistake"):
        wg.compile(wg.grad(reads_outside))(X)
    monkeypatch.setattr(lowering, "warn_of_bug", WARN_OF_BUG)
    with pytest.warns(RuntimeWarning, match="a bug in wengert.*KeyError"):
        assert wg.compile(wg.grad(reads_outside))(X) == pytest.approx(wg.grad(reads_outside)(X))


WARN_OF_BUG, X = lowering.warn_of_bug, np.array([0.3, 0.5, 0.7])


def test_nobody_is_told_of_what_a_few_iterations_alone_do(recwarn):
    """Rows that no iteration has filled yet are zero, and their logarithm is none of the function's."""
    r = np.random.default_rng(0).normal(size=300)

    def f(p):
        h = np.zeros(300)
        h[0] = 1.0
        for t in range(1, 300):
            h[t] = p[0] + p[1] * h[t - 1] + p[2] * r[t - 1] ** 2
        return np.sum(np.log(h))

    p = np.array([0.3, 0.6, 0.1])
    h, dh = 1.0, np.zeros(3)
    expected = np.zeros(3)
    for t in range(1, 300):
        h, dh = p @ [1.0, h, r[t - 1] ** 2], np.array([1.0, h, r[t - 1] ** 2]) + p[1] * dh
        expected += dh / h
    np.testing.assert_allclose(wg.compile(wg.grad(f))(p), expected, rtol=1e-12)
    assert not recwarn.list


def test_what_numpy_warns_of_is_told_once(recwarn):
    """A counter has the function traced twice, and the code is compared with the trace; the user sees one run."""

    def f(x):
        n = 0
        while x > 1e-3 and n < 500:
            x, n = x * 0.9, n + 1
        return x * n + 0.0 * np.log(np.abs(x - x))

    warnings.simplefilter("always")
    wg.grad(f)(5.0)
    expected = [str(one.message) for one in recwarn.list]
    recwarn.clear()
    g = wg.compile(wg.grad(f))
    g(5.0)
    assert [str(one.message) for one in recwarn.list] == expected
    assert "until its condition ends it" in g.explain()


def test_integers_and_masks_that_are_read_before_and_after_a_loop_that_is_differentiated():
    """They are computed again for the derivative, since no input of it can be other than a number or an array."""

    def f(x, w):
        order, above = np.argsort(w), w > 0.0

        def loss(x):
            t = x[0] * 1.0
            for _ in range(50):
                t = np.tanh(t) + np.sum(x[order][above]) * 0.1
            return t

        return wg.grad(loss)(x)[order] + above

    compiled = wg.compile(f)
    for seed in range(4):
        x, w = np.random.default_rng(seed).normal(size=(2, 4))
        np.testing.assert_allclose(compiled(x, w), f(x, w), rtol=1e-12)
    assert "compiled" in compiled.explain().splitlines()[0]


def kernel_rows(x, at, kind=1.5):
    """A loop whose derivative is taken as a whole, as it writes at indices; each iteration compares an option."""
    total = 0.0
    for i in range(len(at)):
        r = np.abs(at[:, None] - at) / x[0]
        K = (1 + r) * np.exp(-r) if kind == 1.5 else np.exp(-r)
        K[np.diag_indices_from(K)] += x[1]
        total += K[i % 3].sum()
    return total


def test_options_that_tapes_compare_are_no_caches():
    x, at = np.array([1.3, 0.2]), np.linspace(0.0, 2.0, 45)
    compiled = wg.compile(wg.grad(kernel_rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error", wg.CacheWarning)
        found = compiled(x, at)
    near = [kernel_rows(x + 1e-30j * direction, at) for direction in np.eye(2)]
    np.testing.assert_allclose(found, np.imag(near) / 1e-30, rtol=1e-12)
