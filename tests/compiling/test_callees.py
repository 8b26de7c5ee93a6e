"""A function that cannot be compiled as a whole calls compiled code of the functions that it calls."""

from __future__ import annotations

import inspect
import random
import sys
import threading
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import wengert as wg

GRID = np.linspace(0.1, 1.0, 7)
LOCK = threading.Lock()
settings = SimpleNamespace(scale=2.0, log=[], made=None)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(settings, "scale", 2.0)
    monkeypatch.setattr(settings, "log", [])
    warnings.simplefilter("ignore", wg.NotCompiledWarning)


def wave(x, shift=0.0):
    total = 0.0
    for k in range(8):
        total = total + np.sum(np.sin(x * GRID + k + shift) ** 2)
    return total


def states(x):
    v = x * GRID
    for _ in range(8):
        v = np.sin(v) + settings.scale * 0.1 * v
    return v


def difference(f, x, step=1e-5):
    at = [f(x + k * step) for k in (-2, -1, 1, 2)]
    return (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * step)


def partly(f, *args, calls=4):
    """The compiled gradient of f after some calls; it must be compiled in part."""
    g = wg.compile(wg.grad(f))
    for _ in range(calls):
        g(*args)
    assert g.status == "partly compiled", g.explain()
    return g


def of_a_number(x):
    with LOCK:
        return wave(x)


def of_arrays(x):
    with LOCK:
        first = states(x)
    return np.sum(first * states(0.5 * x)) + first[2]


def by_name(x):
    with LOCK:
        return wave(shift=x * x, x=x)


def pair(v, pairs):
    v = np.cumsum(np.sin(v))
    for _ in range(6):
        v = np.cos(v) * pairs["a"] + pairs["b"][1]
    return v, {"sum": np.sum(v * v)}


def of_containers(x):
    with LOCK:
        v, rest = pair(x * GRID, {"a": np.exp(x), "b": (x, x * x)})
    return v @ v + rest["sum"] * x


class Model:
    def __init__(self, gain):
        self.gain = gain
        self.weights = np.arange(1.0, 8.0)

    def response(self, x):
        v = x * self.weights
        for _ in range(7):
            v = np.tanh(v) * self.gain
        return np.sum(v)

    def loss(self, x):
        with LOCK:
            return self.response(x) * x


model = Model(1.3)


def of_a_method(x):
    with LOCK:
        return model.response(x)


@pytest.mark.parametrize("f", [of_a_number, of_arrays, by_name, of_containers, of_a_method, model.loss])
def test_callees_are_compiled(f):
    g = partly(f, 0.7)
    for x in (0.7, 0.3, 1.1):
        assert g(x) == pytest.approx(wg.grad(f)(x), rel=1e-13)
        assert g(x) == pytest.approx(difference(f, x), rel=1e-7)


def test_what_a_callee_reads_from_outside_is_read_at_each_call():
    g = partly(of_arrays, 0.7)
    settings.scale = 5.0
    assert g(0.7) == pytest.approx(difference(of_arrays, 0.7), rel=1e-7)
    settings.scale = np.float64(0.5)  # of another type: it is traced again
    for _ in range(3):
        assert g(0.7) == pytest.approx(difference(of_arrays, 0.7), rel=1e-7)


def test_a_change_between_the_call_and_the_reverse_pass_comes_too_late():
    def changed(x):
        settings.scale = 2.0
        with LOCK:
            y = states(x)
        settings.scale = 77.0
        return np.sum(y * y)

    g = partly(changed, 0.7)
    assert g(0.7) == pytest.approx(difference(changed, 0.7), rel=1e-7)


def test_an_array_that_is_written_after_the_call():
    def written(x):
        v = x * GRID
        with LOCK:
            y = pair(v, {"a": x, "b": (1.0, 2.0)})[0]
        v[:] = 3.0 * v
        v[1] = x
        return np.sum(v * y)

    g = partly(written, 0.7)
    assert g(0.7) == pytest.approx(difference(written, 0.7), rel=1e-7)


def test_a_traced_number_that_the_callee_reads_outside_is_followed():
    def passed_outside(x):
        settings.scale = x * x
        with LOCK:
            return np.sum(states(0.3 + 0.0 * x))

    def sometimes(x, outside):
        settings.scale = x * x if outside else 2.0
        with LOCK:
            return np.sum(states(x))

    g = wg.compile(wg.grad(passed_outside))
    for _ in range(4):
        assert g(0.7) == pytest.approx(difference(passed_outside, 0.7), rel=1e-7)
    g = partly(sometimes, 0.7, False)
    assert g(0.7, True) == pytest.approx(difference(lambda x: sometimes(x, True), 0.7), rel=1e-7)
    assert g(0.7, False) == pytest.approx(difference(lambda x: sometimes(x, False), 0.7), rel=1e-7)


def test_a_traced_attribute_of_an_argument_is_followed():
    def of_object(x):
        other = Model(x)
        with LOCK:
            return other.response(0.3) + other.response(x)

    g = wg.compile(wg.grad(of_object))
    for _ in range(5):
        assert g(0.7) == pytest.approx(difference(of_object, 0.7), rel=1e-7)


class Options(dict):
    """What it holds is a constant of the code of a function that reads it."""


class Row(np.ndarray):
    """An array of a class of its own."""


@pytest.mark.parametrize(
    ("hidden", "read"),
    [
        (lambda v: Options(a=v), lambda b: b["a"]),
        (lambda v: frozenset([v]), max),
        (lambda v: {v: 1.0}, lambda b: next(iter(b))),
        (lambda v: slice(v), lambda b: b.stop),
        (lambda v: np.asarray(v * GRID).view(Row), lambda b: b[1]),
        (lambda v: np.array([(v, 1)], dtype=[("a", float), ("b", int)]), lambda b: b["a"][0]),
    ],
    ids=["dictionary of a class", "set", "key", "slice", "array of a class", "record"],
)
def test_a_traced_number_equal_to_one_that_the_trace_has_compared_is_followed(hidden, read):
    def work(x, b):
        return wave(x) * read(b)

    def compares(x, is_traced):
        with LOCK:
            return work(x, hidden(x if is_traced else 0.7))

    g = wg.compile(wg.grad(compares))
    for is_traced in (False, False, False, True, False):
        assert g(0.7, is_traced) == pytest.approx(difference(lambda x: compares(x, is_traced), 0.7), rel=1e-7)


@pytest.mark.parametrize("where", ["list", "set", "attribute", "array", "print", "draw", "draw of Python"])
def test_a_callee_with_effects_runs_once_in_each_call(where, capsys):
    counts = np.zeros(1)
    seen, members = SimpleNamespace(count=0), set()
    rng, other_rng = np.random.default_rng(3), random.Random(3)

    def work(x):
        if where == "list":
            settings.log.append(1)
        elif where == "set":
            members.add(len(members))
        elif where == "attribute":
            seen.count += 1
        elif where == "array":
            counts[0] += 1
        elif where == "print":
            print("called")
        elif where == "draw":
            x = x + rng.normal() * 0.0
        else:
            x = x + other_rng.random() * 0.0
        return wave(x)

    def effects(x):
        with LOCK:
            return work(x)

    g = wg.compile(wg.grad(effects))
    for _ in range(6):
        assert g(0.7) == pytest.approx(wg.grad(wave)(0.7), rel=1e-12)
    told = len(settings.log) + len(members) + seen.count + counts[0] + capsys.readouterr().out.count("called")
    assert told == 6 * (not where.startswith("draw"))
    draws = 6 * np.array([where == "draw", where == "draw of Python"])
    expected, other = np.random.default_rng(3), random.Random(3)
    assert rng.normal() == [expected.normal() for _ in range(draws[0] + 1)][-1]
    assert other_rng.random() == [other.random() for _ in range(draws[1] + 1)][-1]


def test_a_result_that_shares_memory_is_not_taken_from_code():
    def same(v):
        for _ in range(20):
            np.sin(v)
        return v

    def rows(v):
        w = v * 1.0
        for _ in range(20):
            w = np.sin(w)
        return w, w[1:]

    def writes(x):
        v = x * GRID
        with LOCK:
            w = same(v)
            a, b = rows(v)
        w[0] = 3.0 * x
        b[0] = x
        return np.sum(v * v) + np.sum(a)

    g = wg.compile(wg.grad(writes))
    for _ in range(5):
        assert g(0.7) == pytest.approx(difference(writes, 0.7), rel=1e-7)


def test_a_text_of_a_traced_number_is_refused_as_ever():
    def parsed(x, text):
        return wave(x) * float(text)

    def parses(x):
        with LOCK:
            return parsed(x, str(x) if settings.made else "2.0")

    settings.made = False
    g = partly(parses, 0.7)
    settings.made = True
    with pytest.raises(wg.NoRuleError):
        g(2.0)
    settings.made = None


def test_an_array_from_outside_that_is_written_after_the_call():
    weights = np.linspace(0.5, 1.5, 7)

    def weighted(x):
        v = x * weights
        for _ in range(8):
            v = np.sin(v) * weights
        return v

    def writes(x):
        weights[:] = np.linspace(0.5, 1.5, 7)
        with LOCK:
            v = weighted(x)
        weights[1] = 99.0
        return np.sum(v * v)

    g = partly(writes, 0.7)
    assert g(0.7) == pytest.approx(difference(writes, 0.7), rel=1e-7)


def test_an_array_that_is_written_between_a_vjp_and_its_pullback():
    weights = np.linspace(0.5, 1.5, 7)

    def weighted(x):
        return wave(x * weights)

    def of_weights(x):
        with LOCK:
            return weighted(x)

    g, expected = wg.compile(lambda x: wg.vjp(of_weights, x)), difference(of_weights, 0.7)
    for _ in range(4):
        _, pullback = g(0.7)
        weights[:] = 0.0
        assert pullback(1.0)[0] == pytest.approx(expected, rel=1e-7)
        weights[:] = np.linspace(0.5, 1.5, 7)


def test_a_result_may_be_written():
    def written(x):
        with LOCK:
            y, parts = states(x), pair(x * GRID, {"a": x, "b": (1.0, 2.0)})
        y[0], parts[0][1], parts[1]["more"] = x * x, 3.0 * x, x
        y[1:] *= parts[0][1:]
        return np.sum(y) + np.sum(parts[0]) * parts[1]["sum"] * parts[1]["more"]

    g = partly(written, 0.7)
    for x in (0.7, 0.3):
        assert g(x) == pytest.approx(difference(written, x), rel=1e-7)


def test_a_callee_of_complex_numbers():
    def turned(z, w):
        for _ in range(12):
            z = np.sin(z) * 0.5 + 0.5j * z * w
        return z, np.sum(z)

    def of_complex(x):
        with LOCK:
            (a, s), (b, t) = turned(x * GRID + 1j * x * x, GRID), turned(x * GRID + 0j, GRID * x)
        return np.abs(s) ** 2 + np.sum(np.abs(a) ** 2 + b.imag) + t.imag

    g = partly(of_complex, 0.7)
    for x in (0.7, 0.3):
        assert g(x) == pytest.approx(difference(of_complex, x), rel=1e-7)


def test_a_callee_that_reads_a_clock_is_entered():
    begin = time.perf_counter()

    def late(x):
        return wave(x) * (time.perf_counter() - begin)

    def of_time(x):
        with LOCK:
            return late(x)

    g = wg.compile(wg.value_and_grad(of_time))
    for _ in range(5):
        value, slope = g(0.7)
        assert slope / value == pytest.approx(difference(wave, 0.7) / wave(0.7), rel=1e-7)


def test_a_trace_that_raises_draws_no_number():
    rng, expected = random.Random(3), random.Random(3)

    def sometimes(x):
        if rng.random() < 0.5:
            raise ValueError
        return wave(x)

    def retries(x):
        with LOCK:
            try:
                return sometimes(x)
            except ValueError:
                return wave(x)

    g = wg.compile(wg.grad(retries))
    [g(0.7) for _ in range(12)]
    assert rng.random() == [expected.random() for _ in range(13)][-1]


def test_exceptions_of_a_callee_are_the_users():
    def checked(x):
        y = wave(x)
        if x > 1:
            raise ValueError(f"too large: {x:.1f}")
        return y

    def checks(x):
        with LOCK:
            try:
                return checked(x)
            except ValueError:
                return x * x

    g = partly(checks, 0.7)
    assert g(2.0) == 4.0
    assert g(0.7) == pytest.approx(difference(checks, 0.7), rel=1e-7)

    def raises(x):
        with LOCK:
            return checked(x)

    g = partly(raises, 0.7)
    with pytest.raises(ValueError, match="too large") as error:
        g(2.0)
    assert error.traceback[-1].name == "checked"


def test_a_branch_in_a_callee():
    def branching(x):
        v = x * GRID
        for _ in range(8):
            v = np.sin(v) if np.sum(v) > 2.0 else v * v
        return np.sum(v)

    def branches(x):
        with LOCK:
            return branching(x)

    g = wg.compile(wg.grad(branches))
    for x in np.linspace(0.2, 2.0, 12):
        for _ in range(2):
            assert g(x) == pytest.approx(wg.grad(branching)(x), rel=1e-12)


def test_zero_times_infinity_in_a_callee():
    def careful(x):
        v = x * GRID
        for _ in range(8):
            v = v * 0.9 + np.where(v > 0, np.sqrt(np.where(v > 0, v, 0.0)), 0.0)
        return v

    def begins_at_zero(x):
        with LOCK:
            return np.sum(careful(x))

    g = wg.compile(wg.grad(begins_at_zero))
    with np.errstate(all="ignore"):
        for _ in range(4):
            assert g(0.7) == pytest.approx(difference(begins_at_zero, 0.7), rel=1e-7)
        assert g(0.0) == pytest.approx(wg.grad(begins_at_zero)(0.0), rel=1e-14)


@pytest.mark.parametrize("of", [wg.jacobian, wg.hessian, wg.value_and_grad, lambda f: wg.grad(wg.grad(f))])
def test_other_derivatives_of_an_uncompiled_function(of):
    def f(x):
        with LOCK:
            return np.sum(states(x)) * wave(x)

    g = wg.compile(of(f))
    for _ in range(4):
        assert np.ravel(g(0.7)) == pytest.approx(np.ravel(of(f)(0.7)), rel=1e-11)


@pytest.mark.parametrize("by_method", [False, True])
def test_a_recursion_goes_as_deep_as_untraced(by_method):
    class Chain:
        def deep(self, x, n):
            return np.sin(x) if n == 0 else self.deep(0.999 * x, n - 1)

        def f(self, x, n):
            with LOCK:
                pass
            return self.deep(x, n)

    def deep(x, n):
        return np.sin(x) if n == 0 else deep(0.999 * x, n - 1)

    def f(x, n):
        with LOCK:
            pass
        return deep(x, n)

    loss = Chain().f if by_method else f
    depth = (sys.getrecursionlimit() - len(inspect.stack())) * 8 // 10
    g = wg.compile(wg.grad(loss))
    for _ in range(4):
        assert g(0.7, depth) == pytest.approx(0.999**depth * np.cos(0.7 * 0.999**depth), rel=1e-12)


def test_several_threads():
    g, found = wg.compile(wg.grad(of_a_number)), []

    def run(x):
        found.extend([g(x) - wg.grad(of_a_number)(x) for _ in range(20)])

    threads = [threading.Thread(target=run, args=(0.1 * k + 0.2,)) for k in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(found) == 80
    assert np.allclose(found, 0.0, atol=1e-12)


def test_a_time_is_measured_around_compiled_code():
    def timed(x):
        with LOCK:
            begin = time.perf_counter()
            y = wave(x)
        settings.log.append(time.perf_counter() - begin)
        return y

    g = partly(timed, 0.7)
    assert min(settings.log) > 0.0
    assert len(settings.log) == 4
    assert g(0.7) == pytest.approx(difference(wave, 0.7), rel=1e-7)


def test_the_status_of_a_compiled_function():
    g = wg.compile(wg.grad(wave))
    assert g.status == "not compiled"
    g(0.3)
    assert g.status.startswith("compiled")
    assert g.explain().splitlines()[0].endswith(f"wave: {g.status}, 1 trace")
    g = partly(of_a_number, 0.7)
    assert "compiled alone: wave" in g.explain().splitlines()
    assert "runs uncompiled: " in g.explain()
