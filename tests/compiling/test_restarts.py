"""Traces that begin again once a loop is found to need symbolic counters: nothing shows that they began twice."""

from __future__ import annotations

import io
import math
import random
import warnings

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.compile import CompiledFunction
from wengert.compiling.watched import tracing

X = np.linspace(-1.0, 1.0, 40)
LOG = []
COUNTS = {"calls": 0}
ARRAY = np.ones(1)


def recursion(x):
    s = np.zeros(len(x))
    for t in range(1, len(x)):
        s[t] = x[t - 1] + 0.5 * s[t - 1]
        if x[t - 1] < 0:
            s[t] += 0.1 * x[t] ** 2
    return np.sum(s)


def with_handler(x):
    try:
        return recursion(x)
    except Exception:
        LOG.append("handled")
        return np.sum(x)


def with_finally(x):
    try:
        return recursion(x)
    finally:
        LOG.append("left")


def with_print(x):
    print("begun")
    return recursion(x)


def with_counts(x):
    COUNTS["calls"] += 1
    return recursion(x) * COUNTS["calls"]


def with_append(x):
    LOG.append("begun")
    return recursion(x)


def with_draws(x):
    return recursion(x) * random.random()


def with_numpys_warning(x):
    first = np.maximum(np.log(np.zeros(1)), 0.0)[0]
    return recursion(x) + first


def with_numpys_warning_in_the_loop(x):
    s = 0.0
    for t in range(1, len(x)):
        s = s + x[t] * (1.0 if x[t - 1] < 0 else 2.0) + np.maximum(np.log(np.zeros(1)), 0.0)[0]
    return s


def with_warn(x):
    warnings.warn("begun", UserWarning, stacklevel=1)
    return recursion(x)


def with_nested_gradient(x):
    return recursion(x) + np.sum(wg.grad(recursion)(x) ** 2)


def in_a_generator(x):
    def terms():
        for t in range(1, len(x)):
            yield x[t] * (1.0 if x[t - 1] < 0 else 2.0)

    return sum(terms())


def with_a_changed_array(x):
    ARRAY[0] += 1.0
    return recursion(x) * ARRAY[0]


def with_a_context(x):
    with np.errstate(over="ignore"):
        return recursion(x)


def that_fails_late(x):
    s = 0.0
    for t in range(1, len(x)):
        s = s + x[t] * (1.0 if x[t - 1] < 0 else 2.0)
        LOG.append(t)
        if t == 30:
            COUNTS[f"{t}"] = t
    return s


def noted(x):
    try:
        yield from x
    finally:
        LOG.append("ended")


def over_a_generator(x):
    return sum([recursion(x) * v for v in noted([1.0, 2.0])])


def beside_a_generator(x):
    values = noted([1.0, 2.0])
    return next(values) * recursion(x)


class Resource:
    def __enter__(self):
        LOG.append("opened")

    def __exit__(self, *error):
        LOG.append(error[0] is None)


def with_a_resource(x):
    with Resource():
        return recursion(x)


def that_raises(x):
    if len(x) > 3:
        recursion(x)
        raise KeyError("late")
    return x[0]


PROGRAMS = [
    recursion, with_handler, with_finally, with_print, with_counts, with_append, with_draws, with_numpys_warning,
    with_numpys_warning_in_the_loop, with_warn, with_nested_gradient, in_a_generator, with_a_changed_array,
    with_a_context, that_fails_late, over_a_generator, beside_a_generator, with_a_resource,
]  # fmt: skip


def observed(f, *args):
    """Return a result, and what the call does outside."""
    LOG.clear()
    with warnings.catch_warnings(record=True) as caught, pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("always")
        patch.setattr("sys.stdout", out := io.StringIO())
        value, (gradient,) = f(*args)
    said = [str(each.message) for each in caught if not issubclass(each.category, wg.NotCompiledWarning)]
    said = [text for text in said if "does not depend" not in text]
    return value, gradient, [*LOG], out.getvalue(), {**COUNTS}, ARRAY[0], random.random(), said


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_calls_are_as_without_compiling(f):
    gradient = wg.value_and_grad(f, argnums=(0,))
    results = []
    for g in (gradient, wg.compile(gradient, native=False)):
        random.seed(0)
        COUNTS.clear()
        COUNTS["calls"], ARRAY[0] = 0, 1.0
        results.append([observed(g, x) for x in (X, -X, X)])
    for k, (wanted, found) in enumerate(zip(*results, strict=True)):
        assert found[0] == pytest.approx(wanted[0], rel=1e-12)
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-12, atol=1e-12)
        assert found[2:-1] == wanted[2:-1]
        assert k or found[-1] == wanted[-1]  # later calls do not repeat the warnings of NumPy


@pytest.mark.parametrize("others", [[1.0], [1.0, 2.0]], ids=["one", "two"])
def test_a_number_keeps_its_type_beside_a_generator(others):
    def f(x):
        scale = 1.0
        for v in (each for each in others):
            scale = scale * v
        total = 0
        for w in x:
            if w > 0.0:
                total = total + scale * w
        return total

    compiled = wg.compile(f, native=False)
    for x in (X, -X, -np.abs(X), X[::-1].copy(), -np.abs(X) - 1.0):
        found, expected = compiled(x), f(x)
        assert type(found) is type(expected)
        assert found == pytest.approx(expected, rel=1e-13, abs=1e-15)


def test_an_exception_of_the_function_is_raised_once():
    compiled = wg.compile(wg.grad(that_raises), native=False)
    for _ in range(2):
        with pytest.raises(KeyError, match="late"):
            compiled(X)


def takes_turns(x):
    s, t = 0.0, 1.0
    for v in x:
        if v > 0.0:
            s, t = t, s + v
        else:
            s, t = t * 0.5, s
    return s, t


def float_or_numpy(x):
    s = 1.0
    for v in x:
        if v > 0.0:
            s = math.exp(-s) + v
        else:
            s = math.sqrt(abs(s))
    return s, s


@pytest.mark.parametrize("f", [takes_turns, float_or_numpy], ids=lambda f: f.__name__)
@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["positive", "negative"])
def test_numbers_of_two_types_in_turn_end_the_restarts(f, sign):
    compiled = wg.compile(f, native=False)
    for x in (sign * np.abs(X[:12]), X[14:26], X[::-1].copy()):
        assert compiled(x) == pytest.approx(f(x), rel=1e-13)


def accumulates(x):
    s = 0.0
    for v in x:
        s = s * 0.9 + v if v < 0.0 else s - v * s
    return s


def tells_its_type(x):
    s, seen = 0.0, []
    for v in x:
        seen.append(type(s) is float)
        s = s + v if v < 0.0 else abs(s) ** 0.5 - v
    return s + 0.1 * sum(seen)


def keeps_what_it_began_with(x):
    s, first = 0.0, None
    for v in x:
        first = s if first is None else first
        s = s + v if v < 0.0 else s * 0.5
    return first, s


@pytest.mark.parametrize("f", [accumulates, tells_its_type, keeps_what_it_began_with], ids=lambda f: f.__name__)
def test_floats_stay_floats_in_the_traced_call(f):
    for x in (X, -X, X[14:26], -np.abs(X)):
        compiled = wg.compile(f, native=False)
        found, expected = compiled(x), f(x)
        assert found == expected
        assert str(found) == str(expected)  # np.float64(0.0) is another string than 0.0
        for y in (X, -X, 1.0 - X):
            assert compiled(y) == pytest.approx(f(y), rel=1e-13)


def returns_what_it_began_with(x):
    s, kept = 0.0, []
    for v in x:
        kept.append(s)
        s = s + v if v < 0.0 else s * 0.5
    LOG.append("ended")
    return s, kept[0], kept[0] * 2.0, kept[0] < 1.0


def test_floats_are_floats_again_if_no_loop_becomes_free(monkeypatch):
    monkeypatch.setattr(CompiledFunction, "_freeing_loops", lambda *args: None)
    compiled = wg.compile(returns_what_it_began_with, native=False)
    for _ in range(5):
        found, expected = compiled(X), returns_what_it_began_with(X)
        assert found == expected
        assert [*map(type, found)] == [*map(type, expected)] == [np.float64, float, float, bool]
    assert compiled.explain().startswith("test_restarts.returns_what_it_began_with: compiled (NumPy), 1 trace")


@pytest.mark.parametrize("f", [recursion, accumulates], ids=lambda f: f.__name__)
def test_only_one_trace_comes_to_its_end(f, monkeypatch):
    ends, begin = [], tracing.Tracer.trace_watched

    def noted(*args, **kwargs):
        ends.append("begun")
        found = begin(*args, **kwargs)
        ends[-1] = "ended"
        return found

    monkeypatch.setattr(tracing.Tracer, "trace_watched", noted)
    compiled = wg.compile(wg.grad(f), native=False)
    compiled(X)
    assert ends[-1] == "ended"
    assert {*ends[:-1]} == {"begun"}
    assert compiled.explain().startswith(f"test_restarts.{f.__name__}: compiled (NumPy), 1 trace")


def by_a_divisor(x, d):
    s = 1.0
    for v in x:
        s = s / d + v if v > 0.0 else s / d - v
    return s


def by_a_computed_divisor(x, d):
    s = 1.0
    for v in x:
        s = s / (2.0 * d - 3.0) + v if v > 0.0 else s / abs(d - 1.0) - v
    return s


def by_a_remainder(x, d):
    s = 5.0
    for v in x:
        s = s + v * (s % d) if v > 0.0 else s - v
    return s


def by_a_quotient(x, d):
    s = 5.0
    for v in x:
        s = s + v * (s // d) if v > 0.0 else s - v
    return s


def by_a_divmod(x, d):
    s = 7.0
    for v in x:
        quotient, rest = divmod(s, d)
        s = quotient + v if v > 0.0 else rest - v
    return s


def by_a_counted_divisor(x, d):
    s = 1.0
    for k, v in enumerate(x):
        s = s / (k + d) + v if v > 0.0 else s - v
    return s


def in_one_branch(x, d):
    s = 2.0
    for v in x:
        s = 1.0 / (s - d) + v if v > 0.0 else s - v
    return s


def by_a_power(x, d):
    s = 10.0
    for v in x:
        large = s ** (100.0 * d)
        s = s + 0.1 * v / (1.0 + large) if v > 0.0 else s - 0.1 * v
    return s


def of_a_negative_power(x, d):
    s = -1.0
    for v in x:
        power = s**d
        s = s - v * abs(power) if v > 0.0 else s + v * abs(power)
    return s


def by_a_divisor_that_changes(x, d):
    s = 1.0
    for v in x:
        s = s / d if v > 0.0 else s - v
        d = d - 0.5
    return s


def by_a_float_that_a_branch_changes(x, d):
    s, t = 1.0, 0.0
    for v in x:
        s = s - v if v < -0.5 else s - 0.5 if v > 0.0 else s
        t = t + d / s
    return t


def after_the_loop(x, d):
    s = 0.0
    for v in x:
        if v > d:
            s = s + v
    return d / s


def of_either_kind_after_the_loop(x, d):
    s = 0.0
    for v in x.tolist():
        s = s + d * x[0] if v > d else s + 0.0 * v
    try:
        return 1.0 / s
    except ZeroDivisionError:
        return 3.0 * d


def in_a_dictionary(x, d):
    s = {"many": 0.0, "few": 0.0}
    for v in x:
        s["many" if v > d else "few"] += v
    return d / s["many"] + divmod(d, s["few"])[1]


def by_a_negative_power_after_the_loop(x, d):
    s = 0.0
    for v in x:
        s = s + v if v > d else s
    return d * s**-1.5


def of_a_root_after_the_loop(x, d):
    s = -1.0
    for v in x:
        if v > 0.0:
            s = s + 2.0 * v
    return d * s**0.5


def of_a_difference(x, d):
    s, total = 1.0, 0.0
    for v in x:
        if v > 0.3:
            total = total + (s - d) ** 1.5 + (s - d) ** (200.0 * d - 100.0)
        s = max(s + v, 0.7)
    return np.real(total)


def raised_or_returned(f, *args):
    try:
        return f(*args)
    except (ArithmeticError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize(
    "f",
    [
        by_a_divisor,
        by_a_computed_divisor,
        by_a_remainder,
        by_a_quotient,
        by_a_divmod,
        by_a_counted_divisor,
        in_one_branch,
        by_a_power,
        of_a_negative_power,
        by_a_divisor_that_changes,
        by_a_float_that_a_branch_changes,
        after_the_loop,
        of_either_kind_after_the_loop,
        in_a_dictionary,
        by_a_negative_power_after_the_loop,
        of_a_root_after_the_loop,
        of_a_difference,
    ],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("order", [1, -1])
def test_pythons_floats_raise_their_errors(f, order):
    compiled = wg.compile(f, native=False)
    calls = [
        (X, 1.5),
        (-X, 2.0),
        (np.abs(X), 0.5),
        (X[:5], 0.0),
        (np.abs(X), 1.0),
        (np.abs(X), 2.0),
        (np.abs(X), 3.5),
        (-X, 0.0),
    ]
    for args in calls[::order]:
        with np.errstate(all="ignore"):
            found, expected = raised_or_returned(compiled, *args), raised_or_returned(f, *args)
        assert found is expected or found == pytest.approx(expected, rel=1e-12, nan_ok=True)


def leaks(x, tau):
    u = 0.0
    for v in x:
        u = u + 0.1 * (v - u / tau) if u < 0.1 else u / (tau * 2.0)
    return u


def averages(x, tau):
    mean = 0.0
    for k, v in enumerate(x):
        mean = mean * k / (k + 1) + v / (k + 1) if v < tau else mean**2
    return mean


def drains(x, tau):
    level, out = 5.0, 0.0
    for v in x:
        out = out + v / (level + tau) * (level / tau) ** 1.5
        if v < 0.0:
            level = level - 0.1 * (level / tau) ** tau
        level = max(level + 0.1 * v, 0.1)
    return out


@pytest.mark.parametrize("f", [leaks, averages, drains], ids=lambda f: f.__name__)
def test_divisors_that_are_not_zero_leave_loops_free(f):
    compiled = wg.compile(f, native=False)
    for x, tau in [(X, 2.0), (-X, 3.0), (np.linspace(0.0, 3.0, 50), 1.5), (X[:20], 2.5)]:
        assert compiled(x, tau) == pytest.approx(f(x, tau), rel=1e-12)
    assert "takes either branch" in compiled.explain()


def pairwise(x):
    a = np.zeros((len(x), len(x)), x.dtype)
    for i in range(len(x)):
        for j in range(len(x)):
            if i == j:
                a[i, j] = 1.0
            else:
                a[i, j] = 0.1 * np.sin(x[i] - x[j])
    return np.sum(np.linalg.inv(a))


def test_loops_that_branch_on_their_counters_are_traced_to_their_end_once(monkeypatch):
    ended, trace = [], tracing.Tracer.trace_watched

    def counting(*args, **kwargs):
        found = trace(*args, **kwargs)
        ended.append(found)
        return found

    monkeypatch.setattr(tracing.Tracer, "trace_watched", counting)
    compiled = wg.compile(wg.grad(pairwise), native=False)
    for x in (np.linspace(0.0, 1.0, 12), np.linspace(1.0, 0.5, 12)):
        steps = [pairwise(x + 1e-30j * row).imag / 1e-30 for row in np.eye(12)]
        np.testing.assert_allclose(compiled(x), steps, rtol=1e-10, atol=1e-13)
    assert len(ended) == 1
