"""Branches that join: what follows is compiled once, and serves combinations of branches that no trace has seen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.loops import lowering


@pytest.fixture(autouse=True)
def bugs_raise(monkeypatch):
    def raised(error):
        raise error

    monkeypatch.setattr(lowering, "warn_of_bug", raised)


def of_many_ifs(x, w):
    c, s = w[0] * 1.0, np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0.2:
            c = c * 0.9 + w[1] * x[i]
        else:
            c = c * 0.95
        if x[i] * x[i - 1] < 0.0:
            c = c + w[2]
            s[i] = 0.1 * c
        if abs(x[i]) > 1.0:
            if c > 0.5:
                c = np.tanh(c) * w[0]
            else:
                s[i] += x[i]
        elif x[i] < -0.3:
            c = c - 0.05 * w[1]
        w = w * 0.99 if c > 0.3 else w
        s[i] += c
    return np.sum(s) + c


def slopes(f, x, w, step=1e-6):
    """Central differences in w."""
    moves = step * np.eye(len(w))
    return np.array([(f(x, w + move) - f(x, w - move)) / (2.0 * step) for move in moves])


@pytest.mark.parametrize("native", [False, True])
def test_one_trace_serves_all_combinations_of_branches(native):
    if native:
        pytest.importorskip("numba")
    rng = np.random.default_rng(3)
    compiled = wg.compile(wg.value_and_grad(of_many_ifs, argnums=1), native=native)
    for _ in range(6):
        x, w = rng.normal(size=200), np.array([0.6, 0.4, 0.3])
        value, gradient = compiled(x, w)
        assert value == pytest.approx(of_many_ifs(x, w), rel=1e-13)
        np.testing.assert_allclose(gradient, slopes(of_many_ifs, x, w), rtol=1e-6, atol=1e-8)
    assert "1 trace" in compiled.explain()
    assert "takes either branch in each" in compiled.explain()


def test_code_grows_with_the_number_of_ifs_and_not_with_their_combinations():
    def program(count):
        lines = ["def f(x):", "    c = 0.5", "    for v in x:"]
        for k in range(count):
            lines += [f"        if v * {k + 1.0} % 1.0 > 0.5 or v > 2.0:", f"            c = c * 0.9 + 0.{k + 1} * v"]
            lines += ["            c = c * 0.99", "        else:", "            d = c * 0.95", "            c = d"]
        space = {}
        exec("\n".join([*lines, "    return c"]), space)
        return space["f"]

    x, lengths = np.random.default_rng(1).normal(size=50), []
    for count in (2, 3, 5):
        compiled = wg.compile(wg.grad(program(count)), native=False)
        compiled(x)
        lengths.append(len(compiled.source().splitlines()))
    assert lengths[2] - lengths[1] < 2.5 * (lengths[1] - lengths[0])


class Counter:
    def __init__(self):
        self.mode = 0


def sets_a_constant(a, b, x):
    mode = 0
    for k in range(len(a)):
        x = x * 0.9
        if a[k] > 0.0:
            mode = 1
        else:
            mode = 2
        if b[k] > 0.0:
            x = x + 0.1 * mode
    return x


def sets_a_flag(a, b, x):
    is_late = False
    for k in range(len(a)):
        is_late = False
        if a[k] > 0.0:
            is_late = True
        x = x * 0.8
        if b[k] > 0.0:
            x = 0.5 * x if is_late else x + 0.3
    return x


def sets_an_attribute(a, b, x):
    for k in range(len(a)):
        counter = Counter()
        if a[k] > 0.0:
            counter.mode = 1
        x = x * 0.9
        if b[k] > 0.0:
            x = x + 0.2 * counter.mode
    return x


def fills_a_list(a, b, x):
    for k in range(len(a)):
        found = [x]
        if a[k] > 0.0:
            found.append(0.5 * x)
        x = x * 0.9
        if b[k] > 0.0:
            x = x + 0.1 * sum(found)
    return x


def picks_a_function(a, b, x):
    for k in range(len(a)):
        f = np.sin if a[k] > 0.0 else np.cos
        x = x * 0.9
        if b[k] > 0.0:
            x = f(x)
    return x


def picks_an_array(a, b, x):
    one, other = x * np.ones(2), x * np.arange(2.0)
    for k in range(len(a)):
        taken = one if a[k] > 0.0 else other
        x = x * 0.9
        if b[k] > 0.0:
            taken[0] = taken[0] * 0.5 + x
    return x + np.sum(one) + 2.0 * np.sum(other)


def swaps_by_chance(a, b, x):
    best, current = x, x
    for k in range(len(a)):
        if a[k] > 0.0:
            best = current
        if b[k] > 0.0:
            current = current * 0.7
    return best + 0.1 * current


def leaves_a_view(a, b, x):
    m = x * np.ones((2, 2))
    for k in range(len(a)):
        row = m[0]
        if a[k] > 0.0:
            row = m[1]
        x = x * 0.9
        if b[k] > 0.0:
            row[0] = row[0] * 0.5 + x
    return np.sum(m * np.array([[1.0, 2.0], [3.0, 4.0]]))


def deletes_a_key(a, b, x):
    for k in range(len(a)):
        table = {"p": x, "q": 0.3 * x}
        if a[k] > 0.0:
            del table["q"]
        x = x * 0.9
        if b[k] > 0.0:
            x = x + 0.1 * sum(table.values())
    return x


def changes_a_shape(a, b, x):
    v = x * np.ones(3)
    for k in range(len(a)):
        part = v[:2] if a[k] > 0.0 else v[1:2]
        v = v * 0.9
        if b[k] > 0.0:
            v = v + 0.1 * np.sum(part) / len(part)
    return np.sum(v)


def asks_identity(a, b, x):
    other = 1.0 * x
    for k in range(len(a)):
        taken = x if a[k] > 0.0 else other
        if b[k] > 0.0:
            other = 0.9 * other if taken is other else 0.8 * other
    return x + other


def raises_in_between(a, b, x):
    for k in range(len(a)):
        try:
            if a[k] > 0.0:
                raise ValueError
            step = 0.1
        except ValueError:
            step = 0.2
        x = x * 0.9
        if b[k] > 0.0:
            x = x + step
    return x


def breaks_after_a_join(a, b, x):
    n = 0
    for k in range(len(a)):
        if a[k] > 0.0:
            n = n + 1
            x = x * 0.9
        if b[k] * x > 1.0:
            break
        x = x + 0.1 * n
    return x


def closes_over(a, b, x):
    for k in range(len(a)):
        y = x
        if a[k] > 0.0:
            y = 2.0 * x

        def read(z):
            return z + 0.1 * y

        if b[k] > 0.0:
            x = read(0.5 * x)
    return x


PROGRAMS = [
    sets_a_constant, sets_a_flag, sets_an_attribute, fills_a_list, picks_a_function, picks_an_array, swaps_by_chance,
    leaves_a_view, deletes_a_key, changes_a_shape, asks_identity, raises_in_between, breaks_after_a_join, closes_over,
]  # fmt: skip
COMBINATIONS = {
    "alike": [(1.0, 1.0), (-1.0, -1.0)], "apart": [(1.0, -1.0), (-1.0, 1.0)],
    "three": [(1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)], "others": [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0)],
}  # fmt: skip


@pytest.mark.parametrize("seen", COMBINATIONS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_a_branch_leaves_behind_holds_in_combinations_that_were_not_seen(program, seen):
    pairs = np.array([*itertools.islice(itertools.cycle(COMBINATIONS[seen]), 12)])
    others = np.random.default_rng(5).choice([-1.0, 1.0], size=(3, 12, 2))
    plain = wg.value_and_grad(program, argnums=2)
    compiled = wg.compile(plain, native=False, quiet=True)
    for given in (pairs, *others, pairs[::-1]):
        a, b = given.T.copy()
        value, gradient = compiled(a, b, 0.7)
        assert value == pytest.approx(program(a, b, 0.7), rel=1e-13)
        step = 1e-5
        slope = (program(a, b, 0.7 + step) - program(a, b, 0.7 - step)) / (2.0 * step)
        assert gradient == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_a_variable_that_the_caller_does_not_read_again_is_no_part_of_a_loop():
    def walk(c, x):
        for v in x:
            c = c * 0.9 + v if v > c else c * 0.8
        return c

    def f(x):
        c = 0.0
        for i, v in enumerate(x):
            c = c + 0.1 * v if x[i] > c else c * 0.7
        return c + walk(x[0], x) + walk(x[1], x[: len(x) // 2])

    rng = np.random.default_rng(2)
    compiled = wg.compile(f, native=False)
    for _ in range(3):
        x = rng.normal(size=30)
        assert compiled(x) == pytest.approx(f(x), rel=1e-13)
    assert "1 trace" in compiled.explain()


def test_a_counter_that_stood_still_at_last_is_computed():
    def f(x):
        c, n = 0.5, 0
        for v in x:
            if v > 0.0:
                n = n + 1
            c = c * 0.9 + 0.1 * n * v
        return c

    x = np.r_[np.ones(4), -np.ones(8)] * np.linspace(0.5, 1.0, 12)
    compiled = wg.compile(f, native=False)
    for given in (x, -x, x[::-1].copy()):
        assert compiled(given) == pytest.approx(f(given), rel=1e-13)
    assert "1 trace" in compiled.explain()


def begins_with_a_float(x, w):
    total = 0.0
    for v in x:
        if v > 0.0:
            total += v * w[0]
        else:
            total = total * 0.9 - w[1] * v
    return total


def begins_with_zeros(x, w):
    s = np.zeros(4)
    for k, v in enumerate(x):
        if v > 0.0:
            s[k % 4] = s[k % 4] * 0.5 + v * w[0]
        if s[0] > 0.3:
            s = s * w[1]
    return np.sum(s)


def begins_with_its_argument(x, w):
    for v in x:
        if v > 0.0:
            w = w * 0.9 + 0.1 * v
        elif v * w[0] < -0.2:
            w = w - 0.05
    return np.sum(w)


def begins_with_nothing_but_constants(x, w):
    a, b, n = 1.0, np.ones(2), 0
    while n < 12:
        a, n = (a * w[0], n + 1) if x[n] > 0.0 else (a + 0.1, n + 2)
        if a > 0.5:
            b = b * a
    return np.sum(b) + a


def begins_with_an_order(x, w):
    y, total = w[0] * x + w[1], 0.0
    order = np.argsort(y)
    for k in range(len(x)):
        v = y[order[k]]
        total = total + k * np.sin(v) if v > 0.4 else total * 0.9 - v
    return total


@pytest.mark.parametrize(
    "f",
    [
        begins_with_a_float,
        begins_with_zeros,
        begins_with_its_argument,
        begins_with_nothing_but_constants,
        begins_with_an_order,
    ],
)
def test_the_first_iteration_is_like_the_others(f):
    rng, w = np.random.default_rng(8), np.array([0.7, 0.4])
    plain = wg.value_and_grad(f, argnums=1)
    compiled = wg.compile(plain, native=False)
    given = [rng.normal(size=24) for _ in range(4)]
    for x in (given[0], -given[0], *given[1:]):
        value, gradient = compiled(x, w)
        assert value == pytest.approx(f(x, w), rel=1e-13)
        np.testing.assert_allclose(gradient, slopes(f, x, w), rtol=1e-6, atol=1e-8)
    assert "1 trace" in compiled.explain()


def falls_at_most_so_fast(h, w):
    v = 0.0
    for _ in range(30):
        v = v - 0.5
        h = h + 0.05 * v
        if v < w[0]:
            v = w[0] * 1.0
        if h < 0.0:
            break
    return h * w[1] + v


def test_a_number_that_one_trace_alone_took_from_the_arguments_needs_one_more_trace():
    compiled = wg.compile(wg.grad(falls_at_most_so_fast, argnums=1), native=False)
    for h, least in ((4.0, -50.0), (4.1, -3.2), (3.1, -4.2), (2.1, -1.2), (6.1, -5.2), (1.1, -60.0), (20.0, -6.2)):
        w = np.array([least, 1.3])
        np.testing.assert_allclose(compiled(h, w), slopes(falls_at_most_so_fast, h, w), rtol=1e-6, atol=1e-8)
    assert "2 traces" in compiled.explain()


class Neuron:
    reset = 0.25

    def __init__(self, w):
        self.w, self.v = w, w[2]

    def step(self, current):
        self.v = self.w[0] * self.v + self.w[1] * current
        if self.v > 1.0:
            self.v = self.reset
            return 1.0
        return 0.0


def spikes(x, w):
    neuron, count, total = Neuron(w), 0, 0.0
    for current in x:
        count += neuron.step(current)
        total = total + neuron.v / (1.0 + neuron.v**2)
    return total + 0.1 * count * w[0]


def test_a_branch_may_assign_a_float_from_outside():
    """Other branches assign a np.float64."""
    rng = np.random.default_rng(1)
    compiled = wg.compile(wg.value_and_grad(spikes, argnums=1), native=False)
    for scale in (1.0, 0.8, 1.3, 0.1):
        x, w = scale * np.abs(rng.normal(size=60)), np.array([0.9, 0.4, 0.3])
        value, gradient = compiled(x, w)
        assert value == pytest.approx(spikes(x, w), rel=1e-13)
        np.testing.assert_allclose(gradient, slopes(spikes, x, w), rtol=1e-6, atol=1e-8)
    assert "1 trace" in compiled.explain()
    assert "takes either branch in each" in compiled.explain()


def test_the_argument_is_written_to_where_no_branch_replaced_it():
    def f(x, w):
        for v in x:
            if v > 0.0:
                w = w * 0.9
        w += 1.0
        return np.sum(w)

    compiled = wg.compile(f, native=False)
    x = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    for given in (x, -x, -np.abs(x)):
        mine, theirs = np.ones(3), np.ones(3)
        assert compiled(given, mine) == pytest.approx(f(given, theirs), rel=1e-14)
        np.testing.assert_array_equal(mine, theirs)


def begins_with_an_integer(x, w):
    total = 0
    for v in x:
        if v > 0.0:
            total += v * w[0]
        else:
            total = total * 0.9 - w[1] * v
    return total


def negates_an_integer(x, w):
    total = 0
    for v in x:
        total = np.arctan2(w[0] * v, -total) if v > 0.0 else total + w[1] * v
    return total


def returns_an_integer(x, w):
    total = 0
    for v in x:
        if v > 0.0:
            total = total + v * w[0]
    return total


def keeps_an_integer(x, w):
    total, other = 0, 1
    for v in x:
        if v > 0.0:
            total, other = other, total + v * w[0]
        else:
            other = other + w[1] * v
    return total + other


def lists_an_integer(x, w):
    total = 0
    for v in x:
        pair = np.array([total, v])
        total = (total + v * w[0] if v > 0.0 else total * w[1] * v) + 0.1 * np.sum(pair)
    return total


@pytest.mark.parametrize(
    "f", [begins_with_an_integer, lists_an_integer, negates_an_integer, returns_an_integer, keeps_an_integer]
)
def test_an_integer_that_becomes_a_float_is_one_where_it_makes_a_difference(f):
    rng, w = np.random.default_rng(8), np.array([0.7, 0.4])
    compiled = wg.compile(f, native=False, quiet=True)
    given = [rng.normal(size=16) for _ in range(4)]
    for x in (given[0], -given[0], -np.abs(given[0]), *given[1:]):
        expected, found = f(x, w), compiled(x, w)
        assert type(found) is type(expected)
        assert found == pytest.approx(expected, rel=1e-13, abs=1e-15)
        assert np.copysign(1.0, found) == np.copysign(1.0, expected)
    assert ("1 trace" in compiled.explain()) == (f in (begins_with_an_integer, negates_an_integer))


@pytest.mark.parametrize("f", [returns_an_integer, keeps_an_integer])
def test_a_loop_may_keep_its_integer_for_some_iterations(f):
    w, compiled = np.array([0.7, 0.4]), wg.compile(f, native=False, quiet=True)
    x = np.where(np.arange(9) % 3 == 1, 1.3, -0.6)
    for shift, count in ((0, 1), (-1, 1), (4, 1), (-2, 1), (None, 2)):
        given = -np.abs(x) if shift is None else np.roll(x, shift)
        found = compiled(given, w)
        assert type(found) is type(f(given, w)) and found == pytest.approx(f(given, w), rel=1e-13)
        assert f"{count} trace" in compiled.explain()


def total_of(x):
    total = 0.0
    for v in x:
        total = total + v if v > 0.0 else total - v
    return total


def takes_items_in_c(x, least=0.5):
    total = 0.0
    for _ in range(6):
        total += total_of(x) + max(tuple(v * 2.0 if v > least else v for v in x))
    return total


def test_a_generator_in_the_frame_of_an_earlier_loop_is_not_taken_for_it():
    compiled = wg.compile(takes_items_in_c, native=False)
    for x in (np.array([0.3, 1.0, -0.2]), np.array([-0.3, -1.0, 0.2])):
        assert compiled(x) == pytest.approx(takes_items_in_c(x), rel=1e-13)


def scales_a_copy(x, w):
    total = 0.0 * x[0]
    for k in range(len(x)):
        v = x.copy()
        if x[k] > 0.0:
            v = w[0] * v
        v[0] = x[k] * w[1]
        total = total + np.sum(v * v)
    return total


def test_a_copy_that_only_one_branch_replaces_is_not_written_into_the_argument():
    rng, w = np.random.default_rng(8), np.array([0.7, 0.4])
    compiled = wg.compile(scales_a_copy, native=False, strict=True)
    for x in rng.normal(size=(4, 5)):
        given = x.copy()
        assert compiled(given, w) == pytest.approx(scales_a_copy(x, w), rel=1e-14)
        np.testing.assert_array_equal(given, x)
