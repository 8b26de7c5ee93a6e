"""Traces of a function that took different branches in its loops are joined, so that one entry makes all calls."""

import math
import types

import numpy as np
import pytest

import wengert as wg
from wengert.api.differences import ngradient
from wengert.compiling import joining
from wengert.compiling.loops import straight_code


@pytest.fixture
def rng():
    return np.random.default_rng(1)


COMPILED = {"strict": True, "native": False}


def rarely(x):
    """Twelve outcomes, each of them rare."""
    total = 0.0
    for k in range(len(x)):
        if x[k] > 2.0:
            total = total + x[k] ** 2
        elif x[k] < -2.0:
            total = total - 0.5 * x[k]
        if total > 30.0:
            total = total * 0.5
        if x[k] * x[k - 1] > 3.0:
            total = total + np.sin(x[k])
        elif x[k] * x[k - 1] < -3.0:
            total = total * np.cos(x[k])
        total = total + x[k] * 0.1
    return total


def stores(x):
    filled = np.zeros(len(x))
    for k in range(1, len(x)):
        if x[k] > 1.5:
            filled[k] = filled[k - 1] * 0.5 + x[k]
        elif x[k] < -1.5:
            filled[k] = np.sin(x[k])
        else:
            filled[k] = filled[k - 1] + 0.1 * x[0]
    return np.sum(filled**2)


def ends_early(x):
    total, k = x[0], 0
    while k < len(x) and total < 20.0:
        if x[k] > 1.5:
            total = total + x[k] ** 2
        elif x[k] < -1.5:
            total = total - 0.5 * x[k]
        total = total * 1.1 + 0.1
        k += 1
    return total * total


def appends(x):
    found = []
    for v in x:
        found.append(v * 2.0 if v > 1.5 else np.exp(v) if v < -1.5 else v)
    return np.sum(np.array(found) ** 2)


def nested(x):
    total = x[0]
    for a in range(3):
        for k in range(len(x)):
            total = total + x[k] * a if x[k] > 1.5 else total * 0.9
    return total


def at_most_once(x):
    total = x[0]
    for k in range(2, len(x)):
        total = np.tanh(total) + 0.1
        for j in range(k % 2):
            total = total + 0.1 * x[j]
            if total * x[j] > 0.9:
                break
    return total


@pytest.mark.parametrize(
    ("f", "most"), [(rarely, 1), (stores, 1), (nested, 1), (ends_early, 3), (appends, 3), (at_most_once, 8)]
)
def test_calls_that_take_other_branches_share_entries(f, most, rng):
    """Each way out of a loop is an entry, as is each way to fill a list."""
    gradient = wg.compile(wg.value_and_grad(f), **COMPILED)
    for scale in (0.3, 0.3, *[1.5] * 40):
        x = scale * rng.normal(size=9)
        value, slope = gradient(x)
        assert value == pytest.approx(f(x))
        np.testing.assert_allclose(slope, ngradient(f, x)[0], rtol=1e-5, atol=1e-5)
    assert sum(map(len, gradient._entries.values())) <= most


def module(source):
    """Return a module with global names of its own."""
    made = types.ModuleType("outside")
    exec(source, made.__dict__)
    return made


SEEN_IN_ONE_BRANCH = """
import numpy as np
weights, cap = {"w": np.array([0.5, 2.0])}, 3.0
class Gate:
    gain = 1.5
    def act(self, v):
        return self.gain * v
gate = Gate()
def helper(v):
    return v * cap
def f(x):
    total = 0.0
    for v in x:
        if v > 1.5:
            total = total + helper(v)
        elif v < -1.5:
            total = total + gate.act(v) * weights["w"][1]
        else:
            total = total + v**2
    return total
"""


def change_function(space):
    space.helper = lambda v: v * v


def change_float(space):
    space.cap = 5.0


def change_array(space):
    space.weights["w"] = np.array([1.0, -1.0])


def change_array_in_place(space):
    space.weights["w"][1] = 7.0


def change_attribute(space):
    space.gate.gain = 0.5


def change_method(space):
    space.Gate.act = lambda self, v: v * 10.0


def change_object(space):
    space.gate = type("Other", (), {"act": lambda self, v: v - 1.0})()


CHANGES = [
    change_function, change_float, change_array, change_array_in_place, change_attribute, change_method, change_object
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_an_earlier_branch_read_from_outside_is_read_or_guarded(change):
    space = module(SEEN_IN_ONE_BRANCH)
    gradient = wg.compile(wg.value_and_grad(space.f), **COMPILED)
    above, below, both = np.array([0.5, 2.0, 0.1]), np.array([0.5, -2.0, 0.1]), np.array([2.0, -3.0, 0.4])
    for x in (above, below, np.array([0.5, 0.2, 0.1]), both):
        gradient(x)
    assert gradient.explain().startswith("outside.f: compiled (NumPy), 1 trace")
    change(space)
    for x in (above, below, both):
        value, slope = gradient(x)
        assert value == pytest.approx(space.f(x))
        np.testing.assert_allclose(slope, ngradient(space.f, x)[0], rtol=1e-6)


def test_a_branch_outside_of_loops_joins_as_those_in_loops_do(rng):
    def f(x):
        total = x[0] * 2.0 if x[1] > 0 else x[0]
        for v in x:
            total = total + v if v > 1.5 else total * 0.9
        return total

    gradient = wg.compile(wg.grad(f), **COMPILED)
    for _ in range(30):
        x = 1.5 * rng.normal(size=6)
        np.testing.assert_allclose(gradient(x), ngradient(f, x)[0], rtol=1e-6, atol=1e-8)
    assert gradient.explain().startswith("f: compiled (NumPy), 1 trace")


def test_states_that_differ_are_not_joined(rng):
    """A flag from outside decides what an iteration does, so that runs with other flags share nothing."""

    def f(x, flag):
        total = x[0]
        for v in x:
            if v > 1.5:
                total = total + (v if flag else v * v)
        return total

    gradient = wg.compile(wg.grad(f), **COMPILED)
    for flag in (True, False, True, False):
        for _ in range(5):
            x = 2.0 * rng.normal(size=6)
            np.testing.assert_allclose(gradient(x, flag), ngradient(lambda x: f(x, flag), x)[0], rtol=1e-6, atol=1e-8)


def test_large_values_are_not_kept_for_later_traces(monkeypatch, rng):
    from wengert.compiling.loops import earlier_traces

    monkeypatch.setattr(earlier_traces, "MOST_BYTES", 100)
    gradient = wg.compile(wg.grad(stores), **COMPILED)
    for _ in range(4):
        x = 2.0 * rng.normal(size=9)
        np.testing.assert_allclose(gradient(x), ngradient(stores, x)[0], rtol=1e-5, atol=1e-6)
    assert not any(entry.history for entries in gradient._entries.values() for entry in entries)


@pytest.mark.parametrize(("most", "traces"), [(10, 2), (100, 1)])
def test_long_paths_that_share_little_code_do_not_join(most, traces, monkeypatch, rng):
    """Each more of them would take longer to compile, and hardly a call would be one of theirs."""

    def chosen(x):
        values = {}
        for k in range(len(x)):
            if x[k] > 0.0:
                values[k] = x[k] ** 2
        return sum(values.values())

    monkeypatch.setattr(straight_code, "MOST_STEPS_APART", most)
    monkeypatch.setattr(straight_code, "FEW_PATHS", 1)
    g = wg.compile(wg.grad(chosen), native=False)
    for left_out in ([0, 1, 6], [0, 2, 6]):
        x = rng.random(8) + 0.1
        x[left_out] = -1.0
        np.testing.assert_array_equal(g(x), np.where(x > 0.0, 2 * x, 0.0))
    assert f"{traces} trace" in g.explain().splitlines()[0]


def test_a_write_that_an_earlier_trace_saw_is_not_lost():
    """What one trace wrote to an array of its own may be an argument's in the calls of another."""

    def f(y, x):
        for v in x:
            if v > 1.0:
                y[0] += v
            elif v < -1.0:
                y = y * 0.5
        return np.sum(y * y) + np.sum(x**2)

    compiled = wg.compile(wg.value_and_grad(f, argnums=1), native=False)
    first = np.array([-2.0, 2.0, -2.0, 2.0, 0.1, -2.0]), np.array([0.1, 0.2, -2.0, 0.2, -2.0, 0.1])
    then = [np.array([2.0, 0.1, -2.0, 2.0, 0.3, 0.2]), np.array([0.1, 2.0, 0.1, -2.0, 2.0, 0.2])]
    for x in (*first, *first, *then):
        mine, theirs = np.ones(3), np.ones(3)
        value, slope = compiled(mine, x)
        expected, slopes = wg.value_and_grad(f, argnums=1)(theirs, x)
        assert value == pytest.approx(expected)
        np.testing.assert_allclose(slope, slopes)
        np.testing.assert_array_equal(mine, theirs)


def test_settings_of_floating_point_errors_in_an_earlier_branch_are_kept():
    def f(x):
        total = x[0]
        for v in x:
            if v > 1.0:
                with np.errstate(divide="ignore"):
                    total = total + 1.0 / np.maximum(total * 0.0, 0.0) * 0.0 if v > 90.0 else total + np.log(v)
            elif v < -1.0:
                total = total - v
        return total

    compiled = wg.compile(wg.grad(f), native=False)
    for x in ([0.1, -2.0, 0.3], [0.1, 2.0, 0.3], [0.1, -2.0, 3.0], [0.1, 2.0, -3.0], [0.1, 0.2, 0.3]):
        np.testing.assert_allclose(compiled(np.array(x)), wg.grad(f)(np.array(x)))


def test_traces_whose_results_depend_on_other_arguments_are_not_joined():
    def f(p, x):
        t = p
        for k in range(8):
            if x > k:
                t = t + x
            else:
                t = t * 0.9
        return t

    compiled = wg.compile(wg.value_and_grad(f, argnums=(0, 1)), native=False, quiet=True)
    for x in (9.0, -3.0, 4.5, 2.5):
        value, slopes = compiled(1.3, x)
        h = 1e-6
        expected = [(f(1.3 + h, x) - f(1.3 - h, x)) / (2 * h), (f(1.3, x + h) - f(1.3, x - h)) / (2 * h)]
        assert np.isclose(value, f(1.3, x), rtol=1e-13)
        np.testing.assert_allclose(slopes, expected, rtol=1e-7, atol=1e-8)


def test_where_native_code_returns_other_numbers_loops_are_numpy_code(monkeypatch, rng):
    pytest.importorskip("numba")
    is_right = joining._reproduces
    monkeypatch.setattr(joining, "_reproduces", lambda entry, *args: not entry.native and is_right(entry, *args))

    def f(x):
        s = 0.0
        for v in x:
            s = s * 0.9 + v if v > 0.0 else s - v * v
        return s

    compiled = wg.compile(wg.grad(f), native=True)
    for x in rng.normal(size=(4, 60)):
        np.testing.assert_allclose(compiled(x), wg.ngradient(f, x)[0], rtol=1e-5, atol=1e-7)
    title, *lines = compiled.explain().splitlines()
    assert title.endswith("compiled (NumPy), 1 trace")
    assert any(["takes either branch" in line for line in lines])


def with_a_loop_of_tests(x):
    c = d = float(x[0])
    for k in range(4):
        c = 0.5 * c + 0.1 * x[k]
        if c > d:
            d = d * 0.9
    c = d
    return c


def with_an_unread_quotient(x):
    c = float(x[0])
    if c > 0.0:
        _ = 1.0 / float(x[1])
    if c > 1.0:
        c = c * 3.0
    return c


def with_unread_quotients(x):
    c = 1.0
    for k in range(5):
        if x[0] > k:
            _ = 1.0 / (float(x[1]) - k)
        c = c * 1.1 + float(x[2])
    return c


def of_a_first_item(x):
    c, h, u = x[0], [x[2]], np.sin(x)
    for k in range(4):
        if np.any(u > c):
            c = c + h[0]
        else:
            u[k] = 0.7
        h[0] = 0.1
    return c


def of_an_argument_in_each_branch(x):
    if x[0] > 0.5:
        return x[1] ** 2.0
    if x[0] > -0.5:
        return x[2] * 3.0
    return x[3]


@pytest.mark.parametrize("f", [of_a_first_item, of_an_argument_in_each_branch])
def test_a_path_on_which_the_result_depends_on_other_values_than_on_the_traced_one(f, rng):
    compiled = wg.compile(wg.grad(lambda *numbers: f(np.array(numbers)), argnums=(0, 1, 2, 3)), native=False)
    for _ in range(30):
        x = rng.normal(size=4)
        np.testing.assert_allclose(compiled(*x), wg.ngradient(f, x)[0], atol=1e-7)


@pytest.mark.parametrize("f", [with_a_loop_of_tests, with_an_unread_quotient, with_unread_quotients])
def test_a_branch_without_results_keeps_its_tests_and_errors(f, rng):
    def outcome(f, x):
        try:
            return f(x)
        except ZeroDivisionError as error:
            return type(error)

    compiled = wg.compile(f, native=False)
    for _ in range(30):
        x = rng.normal(size=4) * 2.0
        x[1] = rng.choice([x[1], 0.0, 1.0])
        found, wanted = outcome(compiled, x), outcome(f, x)
        assert found == wanted or abs(found - wanted) < 1e-13 * abs(wanted)


def test_a_path_on_which_the_result_depends_on_another_argument():
    def f(x, p):
        n, total, count, is_over, last, a, b = len(x), 0.0, 0, False, -1, 1.0, p[1]
        for i in range(n):
            a = x[i]
            j = 0
            is_over = False
            while abs(a) > 0.15 and j < 6:
                j += 1
                a = 0.5 * p[0] + 0.4 * p[1]
                if abs(x[j % n]) > 0.6:
                    break
            if is_over:
                total = total - b
        return total * 1.0 + 0.1 * count + a * p[0] + (0.5 * b if is_over else 0.0) + 0.01 * last

    compiled = wg.compile(wg.value_and_grad(f, argnums=(0, 1)), strict=True, native=False)
    rng = np.random.default_rng(7008)
    for x, p in [(0.7 * rng.normal(size=9), 0.6 * rng.normal(size=2)) for _ in range(5)]:
        _, (x_bar, p_bar) = compiled(x, p)
        np.testing.assert_allclose(x_bar, wg.ngradient(lambda x, p=p: f(x, p), x)[0], atol=1e-7)
        np.testing.assert_allclose(p_bar, wg.ngradient(lambda p, x=x: f(x, p), p)[0], atol=1e-7)


@pytest.mark.filterwarnings("ignore::wengert.NoPathWarning")
def test_a_path_on_which_the_result_depends_on_no_argument():
    def f(p, events):
        sums, a = dict.fromkeys(range(3), 0.0), p[1]
        for i, (t, k) in enumerate(events):
            a = 0.3 + 0.02 * t
            if p[1] > p[0]:
                sums[k] = math.sin(p[1]) + 0.2 * sums[i % 3]
        return a + 0.1 * sum(sums.values())

    compiled, rng = wg.compile(wg.value_and_grad(f), strict=True, native=False), np.random.default_rng(0)
    for k in range(6):
        p = np.array([0.0, 1.0] if k % 2 else [1.0, 0.5])
        events = [*zip(rng.random(15).tolist(), rng.integers(3, size=15).tolist(), strict=True)]
        value, p_bar = compiled(p, events)
        assert value == f(p, events)
        np.testing.assert_allclose(p_bar, ngradient(lambda p, e=events: f(p, e), p)[0], atol=1e-7)
