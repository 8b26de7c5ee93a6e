"""Loops with branches, counters in keys, lists and inner ranges: one trace serves data that takes other branches."""

from __future__ import annotations

import collections
import math
import operator
import sys
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
from wengert.api.differences import ngradient
from wengert.compiling import ops
from wengert.compiling.loops import lowering
from wengert.tape.loops import Loop, with_bodies
from wengert.tape.ops import Call
from wengert.values import functional

sys.path.insert(0, str(Path(__file__).parent.parent / "fuzz"))
from test_fuzz_matrices import native_code

R = np.random.default_rng(12)


@pytest.fixture(autouse=True)
def bugs_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    def raised(error: Exception) -> None:
        raise error

    monkeypatch.setattr(lowering, "warn_of_bug", raised)


def garch(x):
    h = np.zeros(len(x))
    h[0] = x[0] ** 2
    for t in range(1, len(x)):
        h[t] = 0.1 + 0.8 * h[t - 1]
        if x[t - 1] < 0.0:
            h[t] += 0.3 * x[t - 1] ** 2
    return np.sum(np.log1p(h))


def nested_branches(x):
    c, k = x[0], 0
    for i in range(1, len(x)):
        if x[i] > 0.0:
            if c > x[i]:
                c = 0.5 * c + x[i]
            else:
                c, k = c * x[i], k + 1
        elif i % 3 == 0:
            continue
        else:
            c = np.tanh(c) - 0.1 * k
    return c


def over_items(x):
    c = x[0] * x[1]
    for j, (a, b) in enumerate(zip(x, x[::-1], strict=True)):
        c = c * 0.9 + (a * b if a > b else 0.1 * j * a)
    return c


def over_rows(x):
    m, v = x.reshape(-1, 2), x[:2] * 1.0
    for row in m:
        v = 0.5 * v + row if row[0] > v[0] else v - 0.1 * row
    return np.sum(v**2)


def upwind(x):
    u = np.zeros((4, len(x)))
    u[0] = x
    for n in range(3):
        for i in range(1, len(x) - 1):
            if u[n, i + 1] > u[n, i - 1]:
                u[n + 1, i] = u[n, i] - 0.1 * (u[n, i] - u[n, i - 1])
            else:
                u[n + 1, i] = u[n, i] - 0.1 * (u[n, i + 1] - u[n, i])
    return np.sum(u[-1] ** 2)


def pairs(x):
    c = 0.1 * x[0]
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = x[i] - x[j]
            c = c + d * d if d * d < 1.0 else c + 0.5 * abs(d)
    return c


def listed(x):
    h, c = [x[0]], x[1]
    for r in x:
        v = 0.1 + 0.5 * h[-1]
        if r < 0.0:
            v = v + r**2
            c = c * 0.9
        h.append(v + c)
    return np.sum(np.array(h) ** 2) + h[3]


def ends_early(x):
    c = x[0] * 1.0
    for r in x:
        c = 0.5 * c + r
        if c > 1.5:
            break
    return c * c


def newton_in_each(x):
    t = 0.0 * x[0]
    for r in x:
        y = r * r + 1.0
        while abs(y * y - r * r - 1.0) > 1e-12:
            y = 0.5 * (y + (r * r + 1.0) / y)
        t = t + y * r
    return t


def bisection(x):
    a, b = 0.0 * x[0], 2.0 + x[0] ** 2
    for _ in range(50):
        m = 0.5 * (a + b)
        if m**3 > x[0] ** 2 + 1.0:
            b = m
        else:
            a = m
    return (a - x[1]) ** 2


def chosen(x):
    c = x[0] * 1.0
    for r in x:
        c = max(c, r) if r > -5.0 else c
        c = np.maximum(c, 0.0) + 0.1 * min(c, r, 0.5)
    return c


def _cube_root(y, b, seen=()):
    for _ in range(30):
        d = (y**3 + y - b) / (3.0 * y**2 + 1.0)
        y = y - d + 0.1 * (seen[-1] - seen[-1])
        if abs(d) < 1e-12:
            return y
    return y


def kept_paths(x):
    path, rows, s = [], [[0.0, x[1]]], 0.1
    for k in range(len(x)):
        if x[k] > 0.0:
            s = 0.5 * _cube_root(s, x[k], [0.0]) + 0.1 * s
        path.append(s)
        rows.append([s * x[k], s])
    a, b = np.array(rows).T
    return np.sum(np.array(path) ** 2) + np.sum(a) * b[-1]


def read_paths(x):
    path, s = [x[0]], 0.1
    other = path
    for k in range(len(x)):
        s = 0.5 * _cube_root(s, x[k], other) + 0.1 * s
        path.append(s)
    return np.sum(np.array(path) ** 2)


class Late:
    def __init__(self, v):
        self.v, self.memory = v, collections.deque([v] * 3, maxlen=3)

    def step(self, force):
        self.memory.append(self.v)
        pull = force - self.memory[0]
        self.v = self.v + (0.1 * pull if pull > 0.0 else 0.2 * pull)


def delayed(x):
    line, s, total, late = collections.deque([0.0, 0.0]), 0.1, 0.0, Late(x[1])
    for v in x:
        old = line.popleft()
        s = 0.9 * s + 0.1 * old if s > 0.2 else s + v * v
        line.append(s)
        late.step(v + s)
        total = total + late.v * v
    return total + sum(line)


def windowed(x):
    line, v, total = collections.deque([np.zeros(2), np.zeros(2)]), np.zeros(2), 0.0
    for r in x:
        v = 0.9 * v + 0.1 * line.popleft() + r
        line.append(np.where(v > 0.5, v, 0.0))
        v = v - 0.5 if v[0] > 0.5 else v
        total = total + np.sum(line[-1] * v)
    return total


def type_asked_later(x):
    out, c = np.zeros(12), 0.0
    for n in range(12):
        c = 0.9 * c + x[n] if x[n] > c else 0.5 * c
        out[n] = c * x[n]
    return np.sum(out**2, dtype=np.result_type(x, out))


PROGRAMS = [
    garch, nested_branches, over_items, over_rows, upwind, pairs, listed, ends_early, newton_in_each, bisection, chosen,
    kept_paths, read_paths, delayed, windowed, type_asked_later,
]  # fmt: skip


def difference(f, x, k):
    """A Richardson extrapolation of central differences in entry k; nan beside a kink or step."""
    e = np.zeros_like(x)
    e[k] = 1.0
    one, two = [(f(x + h * e) - f(x - h * e)) / (2 * h) for h in (1e-4, 2e-4)]
    return (4.0 * one - two) / 3.0 if abs(one - two) < 1e-4 * (1.0 + abs(one)) else np.nan


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("is_native", [False, True])
def test_a_loop_with_branches_has_the_gradient_of_its_path(f, is_native):
    plain = wg.value_and_grad(f)
    compiled = wg.compile(plain, native=False)
    compiled(R.normal(size=12))
    run = native_code(compiled) if is_native else compiled
    if run is None:
        pytest.skip("native code has no word for it")
    for _ in range(6):
        x = R.normal(size=12)
        try:
            value, gradient = run(x)
        except wg.StaleTapeError:
            continue
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
        np.testing.assert_allclose(gradient, plain(x)[1], rtol=1e-10, atol=1e-12)
        expected = difference(f, x, int(x[0] * 1e6) % 12)
        if f is not bisection and not np.isnan(expected):  # its derivative is that of the path, zero
            assert gradient[int(x[0] * 1e6) % 12] == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("f", [garch, *PROGRAMS[3:7], *PROGRAMS[8:12], windowed, type_asked_later])
def test_one_trace_or_two_serve_all_data(f):
    compiled = wg.compile(wg.grad(f), strict=True, native=False)
    for _ in range(12):
        compiled(R.normal(size=12))
    assert len([line for line in compiled.explain().splitlines() if line.startswith("called with")]) <= 2


def test_lists_from_outside_that_a_loop_keeps_are_left_as_they_are():
    def f(x, rows):
        kept, s = [], 0.1
        for v in x:
            s = 0.5 * s + v if v > 0.0 else s
            kept.append(rows[0])
            kept.append([s, v])
        return np.sum(np.array(kept) ** 2)

    compiled = wg.compile(wg.grad(f), strict=True, native=False)
    rows = [[1.5, 2.5]]
    before = [*rows[0]]
    for _ in range(3):
        x = R.normal(size=6)
        np.testing.assert_allclose(compiled(x, rows), ngradient(lambda y: f(y, rows), x)[0], rtol=1e-6)
        assert all(map(operator.is_, rows[0], before))


@pytest.mark.parametrize("f", [garch, kept_paths])
def test_the_cost_of_a_loop_that_stores_grows_with_its_length_alone(f):
    lengths = []
    for n in (100, 400):
        compiled = wg.compile(wg.grad(f), native=False)
        compiled(R.normal(size=n))
        lengths.append(len(compiled.source().splitlines()))
        assert f is kept_paths or ".copy()" not in compiled.source().split("for ", 1)[1].split("def entry")[0]
    assert lengths[0] == lengths[1]


def while_of_constants(x):
    h, c = [], x[0] ** 2 + 0.1
    while c > 0.01:
        c = c * 0.7
        h.append(1.0)
    return c * len(h)


def length_inside(x):
    h, c = [], x[0]
    for r in x:
        c = c + r if r > 0.0 else c
        h.append(c)
        if len(h) > 5:
            c = c * 0.5
    return np.sum(np.array(h) ** 2)


def list_by_two_names(x):
    h, c = [x[0]], x[0]
    g = h
    for r in x:
        c = c + r if r > 0.0 else c
        h.append(c)
        c = c + 0.1 * g[0] + 0.01 * g[len(g) // 2]
    return np.sum(np.array(h) ** 2)


def unchanged_items(x):
    h, c = [], x[0]
    for r in x:
        c = c * 0.5 + r if r > 0.0 else c
        h.append(c)
    return np.sum(np.array(h) ** 2) + sum(h)


def append_in_some(x):
    h = []
    for r in x:
        if r > 0.0:
            h.append(r)
    return sum(h) * len(h)


def count_of_positive(x):
    k = 0
    for r in x:
        if r > 0.0:
            k = k + 1
    return k


def as_many_as_positive(x):
    c = 0.1 * x[0]
    for j in range(count_of_positive(x)):
        c = c * 0.9 + x[j]
        if c > 2.0:
            c = c - 1.0
    return c


def list_as_long_as_positive(x):
    h, c = [], 0.1 * x[0]
    for j in range(count_of_positive(x)):
        c = c * 0.9 + x[j] if x[j] < 2.0 else c
        h.append(c)
    return np.sum(np.array(h)) if h else c


def triangle_that_ends_early(x):
    c = 0.1 * x[0]
    for i in range(1, 8):
        for j in range(i):
            if x[j] * c > 1.0:
                break
            c = c * 0.9 + x[j] * x[i]
    return c


def triangle_that_stores(x):
    s = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(i + 1):
            if x[j] > x[i]:
                s[i] += x[j]
            else:
                s[j] -= 0.1 * x[i]
    return np.sum(s**2)


def some_that_never_run(x):
    c = 0.1 * x[0]
    for i in range(6):
        d = c
        for j in range(i, 3):
            c = c * 0.9 + x[j] if x[j] > 0.0 else c - 0.1
        c = c + 0.5 * d
    return c


ODD = [
    while_of_constants, length_inside, list_by_two_names, unchanged_items, append_in_some, as_many_as_positive,
    list_as_long_as_positive, triangle_that_ends_early, triangle_that_stores, some_that_never_run,
]  # fmt: skip


@pytest.mark.parametrize("f", ODD)
def test_a_list_or_a_number_of_iterations_keeps_its_meaning(f):
    plain = wg.value_and_grad(f)
    compiled = wg.compile(plain, native=False, quiet=True)
    for _ in range(8):
        x = R.normal(size=12)
        expected, found = plain(x), compiled(x)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-10, atol=1e-12)


def test_a_guard_on_a_number_of_iterations_is_native():
    def pairs_as_many_as_positive(x):
        pairs, c = [], 0.1 * x[0]
        for j in range(count_of_positive(x)):
            c = c * 0.9 + x[j] if x[j] < 2.0 else c
            pairs.append((c, "weight"))
        return sum([c for c, _ in pairs])

    compiled = wg.compile(wg.value_and_grad(pairs_as_many_as_positive), native=False)
    x = R.normal(size=12)
    compiled(x)
    ((entry,),) = compiled._entries.values()
    assert functional.iterations in [getattr(op, "fn", None) for op in entry.tape]
    run = native_code(compiled)
    value, gradient = run(x)
    expected = wg.value_and_grad(pairs_as_many_as_positive)(x)
    assert value == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12)


def test_a_branch_may_raise():
    def f(x):
        c = x[0]
        for r in x:
            if r > 2.0:
                raise ValueError("too large")
            c = c + r * r if r > 0.0 else c
        return c

    compiled = wg.compile(wg.grad(f), native=False)
    small, large = R.uniform(-1.0, 1.0, 12), R.uniform(-1.0, 1.0, 12)
    large[5] = 3.0
    np.testing.assert_allclose(compiled(small), wg.grad(f)(small))
    with pytest.raises(ValueError, match="too large"):
        compiled(large)
    np.testing.assert_allclose(compiled(-small), wg.grad(f)(-small))


def test_more_iterations_than_rows_are_traced_again():
    def f(x):
        while x > 1.0:
            x = 0.99 * x
        return x

    compiled = wg.compile(wg.grad(f), strict=True, native=False)
    for x in (1.1, 1e6, 1e30):
        n = math.ceil(math.log(x) / -math.log(0.99) - 1e-9)
        assert compiled(x) == pytest.approx(0.99**n, rel=1e-9)


def test_a_loop_until_a_condition_keeps_no_rows_that_are_cheap_to_compute_again():
    def f(x):
        t = 0.0
        while t < 9.0:
            h = 0.1 + 0.2 * x
            x, t = x - 0.1 * h * x * x, t + h
        return x

    compiled = wg.compile(wg.grad(f), native=False)
    assert compiled(1.5) == wg.grad(f)(1.5)
    assert compiled(0.7) == pytest.approx(wg.derivative(f)(0.7 + 0.0), rel=1e-12)
    assert compiled.source().count("[0.0] *") == 2


def test_an_inner_range_may_end_before_it_begins():
    def f(x):
        row, i = np.sin(x), 0
        while i < len(x):
            i += 1
            if x[i - 1] > 0.0 or row[0] > 0.9:
                for _ in range(i + 1, len(x)):
                    row[0] = math.sin(row[0] + x[i - 1])
                row[1] += x[i - 1]
        return np.sum(row)

    compiled, rng = wg.compile(wg.grad(f), strict=True, native=False), np.random.default_rng(0)
    for _ in range(4):
        x = rng.normal(size=9)
        np.testing.assert_allclose(compiled(x), wg.grad(f)(x), rtol=1e-12)
        assert compiled(x)[3] == pytest.approx(difference(f, x, 3), rel=1e-6)
    assert ", 1 trace" in compiled.explain().splitlines()[0]


def test_a_shared_body_computes_indices_from_the_counter_of_its_own_run():
    """The code for i = 1 reads x[1], and not x[5] as the code for the last i does."""

    def f(x):
        c, m = x[0], x * 1.0
        for i in range(1, 6):
            for _ in range(6):
                if x[-1] < x[i % 6] * 0.5:
                    c = 0.6 * math.sin(c * x[1])
                m[4] = x[1] * 0.0
        return c * 1.3

    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for x in ([0.5, -1.0, 0.3, -1.1, 0.2, -0.4], [0.4, 0.9, 0.3, 0.5, 0.2, -0.4], [0.5, 1.0, 0.3, 0.9, 0.2, 0.4]):
        x = np.array(x)
        value, gradient = compiled(x)
        assert value == pytest.approx(f(x), rel=1e-12)
        assert gradient[1] == pytest.approx(difference(f, x, 1), rel=1e-5, abs=1e-12)


def test_a_trace_may_take_no_branch_that_changes_a_variable_read_later():
    def f(x):
        c, e, g, s = x[0], np.sum(x) * 0.1, x[2], x[1]
        t = s
        for v in x:
            c = 0.6 * math.sin(c) + v
            if c > 1.2:
                e = e * 0.4 - c
            elif c < -1.4:
                g = c
            if c < -1.0:
                s, t = s * 2.0, t + s
        return c * 1.3 - e + g * s + t

    compiled = wg.compile(wg.grad(f), strict=True, native=False)
    for scale in (0.1, 0.3, 0.6, 0.9, 1.2, 0.1, 0.5):
        x = scale * np.random.default_rng(int(scale * 10)).normal(size=9)
        assert compiled(x)[2] == pytest.approx(difference(f, x, 2), rel=1e-6)
    assert ", 1 trace" in compiled.explain().splitlines()[0]


def test_a_number_may_be_constant_in_the_first_run_of_an_inner_loop_alone():
    def f(x):
        total = 0.0 * x
        for m in range(4):
            y, n = x + m, 0
            while abs(y * y - x - m) > 1e-9 and n < 50:
                y, n = y - (y * y - x - m) / (2.0 * y), n + 1
            total = total + y * n
        return total

    compiled = wg.compile(f, native=False)
    for x in (2.3, 1.5, 1.1, 1.03):
        assert compiled(x) == pytest.approx(f(x), rel=1e-13)
    assert "1 trace" in compiled.explain()


def test_a_variable_holds_one_result_of_a_loop_that_a_test_ends():
    def f(x, a):
        c, d, t, n, w = x, a, 0.0 * x, 0, x * a
        while not t > 1.09:
            d = np.sin(c) + a * t
            if t > 1.0:
                d = np.sin(c) + a * t
            t = t + 0.2 + 0.1 * abs(np.sin(c))
            n = n + 1
            if n > 40:
                break
            w = c * d
        return c + d * t + 0.1 * w + n

    plain = wg.value_and_grad(f, argnums=(0, 1))
    compiled = wg.compile(plain, native=False)
    for args in ((0.9, -0.3), (0.8, 0.4), (-0.2, 1.5)):
        (value, gradient), step = compiled(*args), 1e-6
        assert value == pytest.approx(f(*args), rel=1e-13)
        for k in range(2):
            there, back = [[v + sign * step * (j == k) for j, v in enumerate(args)] for sign in (1.0, -1.0)]
            assert gradient[k] == pytest.approx((f(*there) - f(*back)) / (2.0 * step), rel=1e-7)


@pytest.mark.parametrize("name", ["maximum", "minimum", "where", "sign"])
def test_a_choice_of_floats_is_that_of_numpy(name):
    row = ops.info(getattr(np, name))
    values = [0.0, -0.0, 1.5, -2.0, np.nan, np.inf, -np.inf]
    for a in values:
        for b in values:
            given = {"where": (a > b, a, b), "sign": (a,)}.get(name, (a, b))
            np.testing.assert_array_equal(row.on_floats(*given), getattr(np, name)(*given))


def test_runs_with_other_constants_share_only_the_branches_that_both_took():
    def walk(x, is_short):
        for _ in range(12):
            if x > 1.0:
                x = x * 0.5 if is_short else x * 0.25
            else:
                x = x * 1.3 + 0.001
        return x

    def f(a, b):
        return walk(a, True) + walk(b, False)

    compiled = wg.compile(wg.value_and_grad(f, argnums=(0, 1)), native=False)
    for a, b in [(1.7, 0.002), (1.7, 5.0), (0.5, 7.0), (3.0, 2.0)]:
        value, gradient = compiled(a, b)
        assert value == f(a, b)
        step = 1e-6
        slopes = (f(a + step, b) - f(a - step, b)) / (2 * step), (f(a, b + step) - f(a, b - step)) / (2 * step)
        assert gradient == pytest.approx(slopes, rel=1e-8)


def of_a_dictionary(parameters, x):
    level = parameters["first"]
    for v in x:
        level = parameters["decay"] * level + (v if v > 0.0 else parameters["slope"][0] * v)
    return level * level


def that_changes_its_dictionary(parameters, x):
    level = parameters["first"]
    for v in x:
        level = parameters["decay"] * level + (v if v > 0.0 else parameters["slope"][0] * v)
        parameters["decay"] = parameters["decay"] * 0.9
    return level * level


def that_replaces_an_array(parameters, x):
    level = parameters["first"]
    for v in x:
        level = level + (v if v > 0.0 else parameters["slope"][0] * v)
        parameters["slope"] = np.array([0.5, 1.0])
    return level * level


@pytest.mark.parametrize("f", [of_a_dictionary, that_changes_its_dictionary, that_replaces_an_array])
def test_a_loop_that_reads_a_differentiated_dictionary_takes_either_branch(f):
    def given():
        return {"first": 1.0, "decay": 0.8, "slope": np.array([0.3, 0.1])}

    gradient = wg.value_and_grad(f)
    compiled = wg.compile(gradient, native=False)
    for _ in range(5):
        x, mine, theirs = R.normal(size=14), given(), given()
        value, slopes = gradient(theirs, x)
        found, found_slopes = compiled(mine, x)
        assert found == pytest.approx(value, rel=1e-13)
        for name in slopes:
            np.testing.assert_allclose(found_slopes[name], slopes[name], rtol=1e-12, atol=1e-14)
            np.testing.assert_array_equal(mine[name], theirs[name])
    if f is of_a_dictionary:
        assert compiled.explain().splitlines()[0].endswith((", 1 trace", ", 2 traces"))


def bisected(p):
    total = 0.0
    for c in np.linspace(0.1, 1.0, 6):
        low, high = 0.0, 5.0
        for _ in range(50):
            middle = 0.5 * (low + high)
            if p[0] * middle + p[1] * middle**3 > c:
                high = middle
            else:
                low = middle
        total = total + middle * p[0] ** 2
    return total


def with_cells(p):
    low, high = 0.0, 5.0

    def last():
        return 3.0 * low

    for _ in range(30):
        middle = 0.5 * (low + high)
        if p[0] * middle > p[1]:
            high = middle
        else:
            low = middle
    return middle * p[0] ** 2 + last() * p[1] ** 2


@pytest.mark.parametrize("f", [bisected, with_cells])
def test_variables_that_are_equal_when_a_loop_ends_are_told_apart(f):
    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for p in ([1.3, 0.7], [0.9, 1.6], [2.0, 0.3], [0.6, 0.65]):
        p = np.array(p)
        value, p_bar = compiled(p)
        expected, expected_bar = wg.value_and_grad(f)(p)
        assert value == expected
        np.testing.assert_allclose(p_bar, expected_bar, rtol=1e-12)
    assert "takes either branch" in compiled.explain()
    assert all([len(entry.tape) < 120 for entries in compiled._entries.values() for entry in entries])


def assert_same_gradient(compiled, f, p, rel, rtol, atol):
    value, p_bar = compiled(p)
    expected, expected_bar = wg.value_and_grad(f)(p)
    assert value == pytest.approx(expected, rel=rel)
    np.testing.assert_allclose(p_bar, expected_bar, rtol=rtol, atol=atol)


def pair_energy(p):
    x, energy = np.cumsum(p.reshape(-1, 2), axis=0), 0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):  # some runs take one branch alone, and keep the energy
            d = x[i] - x[j]
            r2 = d @ d
            if r2 < 1.5:
                energy += (r2 + 0.1) ** -3
    return energy


def bracketed(p):
    total = 0.0
    for c in p:
        low, high = -3.0, 3.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            if middle**3 + 0.5 * middle > c:
                high = middle
            else:
                low = middle
        total += (low + high - 0.1 * middle) * c
    return total


def clipped_steps(p):
    t, h, y = 0.0, 0.1, p[0]
    while t < 2.0:
        slope = p[2] * np.sin(p[1] * t) - y
        error = abs(slope) * h
        if error < 0.05:
            t, y = t + h, y + h * slope
        h = h * min(2.0, max(0.3, 0.03 / (error + 0.001)))
    return y + t


@pytest.mark.parametrize("f", [pair_energy, bracketed, clipped_steps])
def test_floats_that_a_run_keeps_or_two_variables_share_are_told_apart(f):
    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for seed in range(4):
        p = np.random.default_rng(seed).uniform(0.3, 1.0, 12)
        assert_same_gradient(compiled, f, p, 1e-13, 1e-10, 1e-12)
    if f is not bracketed:  # whose result is a constant between two values of `high`
        wg.check_grads(f, p)
    (entries,) = compiled._entries.values()
    assert len(entries) == 1
    assert len(entries[0].tape) < 150


def nearest_centres(p):
    x, centres = np.cumsum(p.reshape(-1, 2), axis=0) % 1.3, p.reshape(-1, 2)[:5]
    sums, counts = np.zeros_like(centres), np.zeros(len(centres))
    for i in range(len(x)):
        best, least = 0, np.inf
        for k in range(len(centres)):
            d = np.sum((x[i] - centres[k]) ** 2)
            if d < least:
                best, least = k, d
        sums[best] += x[i]
        counts[best] += 1
    return np.sum(sums**2 / (1.0 + counts[:, None]))


def test_a_loop_that_finds_an_index_rolls_with_the_one_around_it():
    compiled = wg.compile(wg.value_and_grad(nearest_centres), native=False)
    for seed in range(3):
        p = np.random.default_rng(seed).uniform(0.3, 1.0, 40)
        assert_same_gradient(compiled, nearest_centres, p, 1e-13, 1e-10, 1e-12)
    wg.check_grads(nearest_centres, p)
    ((entry,),) = compiled._entries.values()
    assert len(entry.tape) < 60


WEIGHTS = np.arange(1.0, 5.0)


def reflected(p):
    v = p.reshape(-1, 4).copy()
    for _ in range(6):
        v = v + 0.3 * np.roll(v, 1)
        for i in range(len(v)):
            for k in range(4):
                if v[i, k] > 1.0:
                    v[i, k] = -0.5 * v[i, k]
    return np.sum(v**2)


def with_views(p):
    v, total = p.reshape(-1, 4).copy(), 0.0
    first, across = v[0], v.T
    for i in range(len(v)):
        row = v[i]
        for k in range(4):
            if v[i, k] < 0.0:
                v[0, k] = v[0, k] - 0.5 * v[i, k]
        total += np.sum(row * first) + across[1, 0] * i
    return total


def with_copies(p):
    v, total = p.reshape(-1, 4).copy(), 0.0

    def corrected(a, i):
        for k in range(4):
            if a[i, k] < 0.0:
                a[0, k] = a[0, k] - 0.5 * a[i, k]
        return a

    for i in range(len(v)):
        before, same = v.copy(), v
        total += np.sum((v + 0.0) * corrected(v, i)) + np.sum(before[0] * same[0] * WEIGHTS)
    return total


@pytest.mark.parametrize("f", [reflected, with_views, with_copies])
def test_what_is_read_after_runs_that_write_nothing_is_what_others_write(f):
    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for seed, sign in enumerate([1.0, 0.0, -1.0, 0.0, 0.0]):
        p = np.random.default_rng(seed).normal(size=24)
        p = sign * np.abs(p) if sign else p
        assert_same_gradient(compiled, f, p, 1e-12, 1e-10, 1e-12)
    if f is not with_views:
        assert sum(map(len, compiled._entries.values())) == 1


def marched(p):
    total = 0.0
    for k in range(10):
        t, across, along = 0.0, np.sin(0.1 * k), np.cos(0.1 * k)
        for _ in range(40):
            d = np.sqrt((t * across - p[0]) ** 2 + (t * along - 3.0) ** 2) - p[1]
            if d < 1e-3:
                break
            t = t + d
            if t > 8.0:
                break
        total += t * (k + p[2])
    return total


def swapped_in_between(p):
    total = 0.0
    for k in range(8):
        u, w, n = p[k], 1.0, 0
        while True:
            u = 0.7 * u + 0.1 * p[k + 1]
            if u < 0.3:
                break
            u, w = w, u
            n = n + 1
            if n > 4:
                break
        total = total + u * 2.0 + w * k + n
    return total


def computed_in_between(p):
    total = 0.0
    for k in range(8):
        x, y = p[k], 0.0
        for _ in range(10):
            x = x * 0.8
            if x < 0.4:
                break
            y = y + x * p[k + 1]
            if y > 0.9:
                break
        total += x * y
    return total


def flagged(p):
    total = 0.0
    for k in range(8):
        x, hit = p[k], False
        for _ in range(10):
            x = x * 0.8
            if x < 0.4:
                hit = True
                break
            if x * p[k + 1] > 0.9:
                break
        total += 3.0 * x if hit else -x
    return total


def inserted(p):
    v, total = p.copy(), 0.0
    for k in range(1, len(v)):
        held, i = v[k], k - 1
        while i >= 0 and v[i] > held:
            v[i + 1] = v[i]
            i -= 1
        v[i + 1] = held
        total += v[0] * k
    return total + v @ np.arange(float(len(v)))


def returned(p):
    def solved(a, x):
        for k in range(4):
            step = (x * x - a) / (2.0 * x)
            if abs(step) < 1e-3:
                return x, k
            x = x - step
            if x > 1.6:
                return 1.6, None
        return x, None

    total = 0.0
    for k in range(9):
        x, n = solved(p[k], p[k + 1])
        total += x if n is None else x * p[k] * n
    return total


def skips_its_else(p):
    total = 0.0
    for k in range(9):
        x = p[k]
        for n in range(6):
            x = 0.8 * x
            if x < 0.4 * p[k + 1]:
                total += x * n
                break
        else:
            total -= p[k] * x
    return total


def ends_before_its_range(p):
    total, least = 0.0, 0
    for k in range(10):
        x = 0.0
        for j in range(k):
            x += abs(p[k] - p[j])
            if x > 1.2:
                least += j
                break
        total += x * p[k]
    return total * (1.0 + least)


ENDINGS = [computed_in_between, flagged, returned, skips_its_else, ends_before_its_range]


@pytest.mark.parametrize("f", [marched, swapped_in_between, inserted, *ENDINGS])
def test_an_inner_loop_may_end_at_several_places(f):
    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for seed, scale in enumerate([2.0, 1.0, 0.5, 1.0]):
        p = scale * np.random.default_rng(seed).uniform(0.3, 1.3, 10)
        assert_same_gradient(compiled, f, p, 1e-12, 1e-9, 1e-10)
    if f in ENDINGS:
        assert [len(entries) for entries in compiled._entries.values()] == [1]


def halved(p):
    total = 0.0
    for k in range(9):
        t, n = 1.0, 0
        while t * p[k] > 1.5:
            t *= 0.5
            n += 1
        total += t * p[k] + 0.1 * n * p[k + 1]
    return total


@pytest.mark.parametrize("ranges", [((1.6, 2.9), (0.1, 1.4), (0.3, 20.0)), ((0.1, 1.4), (0.3, 20.0), (1.6, 2.9))])
def test_runs_of_no_or_one_iteration_are_runs_of_the_loop(ranges):
    compiled = wg.compile(wg.value_and_grad(halved), native=False)
    for seed, (least, most) in enumerate((*ranges, (0.2, 9.0))):
        p = np.random.default_rng(seed).uniform(least, most, 10)
        assert_same_gradient(compiled, halved, p, 1e-12, 1e-12, 1e-12)
    assert [len(entries) for entries in compiled._entries.values()] == [1]


def of_three_levels(p):
    total = 0.0
    for k in range(6):
        y = p[0] + 0.1 * k
        if k % 2 == 0 or p[2] > 0.9:
            while y < 3.0:
                z = p[1]
                while z < y:
                    z = z * 1.4 + 0.1 * p[2]
                y = y + 0.2 * z
        else:
            while y > 0.3:
                y = y * 0.7 - 0.01 * p[1]
        total = total + y * y
    return total


def of_vectors(p):
    total, v = 0.0, np.array([1.0, 0.5]) * p[0]
    for _ in range(4):
        w = v
        while np.sum(w * w) > 0.01:
            w = 0.3 * w + 0.01 * np.sin(w) * p[1]
            total = total + w[0] * p[2]
        v = v + np.cos(w)
    return total + np.sum(v)


@pytest.mark.parametrize("f", [of_three_levels, of_vectors, newton_in_each])
def test_the_outer_loop_holds_the_rows_of_inner_ones(f):
    """An array for each run of an inner loop would have to be as long as the longest run, and be copied whole."""
    compiled = wg.compile(wg.value_and_grad(f), native=False)
    runs = [compiled]
    for scale in (1.0, 0.8, 1.2):
        p = scale * np.array([1.0, 0.9, 0.7])
        expected = wg.value_and_grad(f)(p)
        np.testing.assert_allclose(expected[1], ngradient(f, p)[0], rtol=1e-8)
        for run in runs:
            np.testing.assert_allclose(np.hstack(run(p)), np.hstack(expected), rtol=1e-12)
        runs[1:] = [native_code(compiled)]
    [[entry]] = compiled._entries.values()
    loops = [op.fn for op in with_bodies(entry.tape) if isinstance(op, Call) and type(op.fn) is Loop]
    inner = [op for loop in loops for op in with_bodies(loop.body) if isinstance(op, Call)]
    assert loops
    assert not [op for op in inner if op.fn in (np.zeros, np.empty) and op.val.size > 10]
