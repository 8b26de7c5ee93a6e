"""Loops that tests end: compiled functions run them as often as they run, and go the way that is theirs each time."""

from __future__ import annotations

import functools
import itertools
import operator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.loops import while_loops
from wengert.compiling.loops.loop_finder import find_while_loops
from wengert.tape.ops import Call, Input, Op, Variable

R = np.random.default_rng(0)


def newton(a):
    x = a * 1.0
    while abs(x * x - a) > 1e-10 * a:
        before = x
        x = 0.5 * (before + a / before)
    return x


def bounded_newton(a):
    x = a * 1.0
    for _ in range(50):
        step = (x * x - a) / (2 * x)
        x = x - step
        if abs(step) < 1e-12:
            break
    return x


def two_kinds(x):
    total, y = 0.0 * x, x
    for _ in range(30):
        y = 3.7 * y * (1 - y)
        if y > 0.5:
            total = total + np.sin(y)
        else:
            total = total - y * y
    return total


def bisection(a):
    low, high = 0.0 * a, a * 1.0
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        if middle * middle > 2.0 * a:
            high = middle
        else:
            low = middle
    return low


def power_iteration(v):
    x, a = np.ones(3), np.diag(v) + 0.1
    while True:
        new = a @ x
        new = new / np.linalg.norm(new)
        if np.linalg.norm(new - x) < 1e-8:
            break
        x = new
    return new @ a @ new


def adaptive_steps(x):
    t = 0.0 * x
    while t < 1.0:
        h = 0.01 + 0.02 * abs(np.sin(x))
        x = x - h * x * x
        t = t + h
    return x


def in_place(v):
    u = v.copy()
    while u.sum() > 1.0:
        u[1:] = 0.5 * u[1:] + 0.2 * u[:-1]
        u[0] *= 0.9
    return u.sum()


class Pendulum:
    def __init__(self, x):
        self.x, self.v = x, 0.0 * x

    def step(self):
        self.v = self.v - 0.1 * np.sin(self.x)
        self.x = self.x + 0.1 * self.v


def of_an_object(x):
    pendulum = Pendulum(x)
    while pendulum.x > 0.1:
        pendulum.step()
    return pendulum.x + pendulum.v


def in_dicts(x):
    state = {"x": x, "sums": [x, x]}
    while state["x"] > 0.1:
        state["sums"][0] = state["sums"][0] * 0.5 + state["x"]
        state["x"] = state["x"] * 0.6
    return state["sums"][0] + state["sums"][1]


def a_loop_in_each_of_some(x):
    total = 0.0 * x
    for k in range(5):
        y = x + 0.1 * k
        while abs(y**3 - x - k) > 1e-9:
            y = y - (y**3 - x - k) / (3 * y * y)
        total = total + y
    return total


def a_loop_in_a_loop(x):
    t = x
    while t > 0.1:
        y = t
        while y > 0.05:
            y = 0.7 * y
        t = t - 0.3 * y - 0.1 * t
    return t * t


def a_comprehension_inside(x):
    while x > 0.1:
        x = 0.2 * sum([x * 0.5**k for k in range(3)])
    return x


def two_exits(x):
    while True:
        x = 0.7 * x
        if x < 0.2:
            return x * 3
        if x > 50:
            return x * 5


def in_a_callee(x):
    return newton(x) * np.sin(newton(x + 1.0))


def gives_both(z):
    while abs(z) > 0.5:
        z = z * (0.6 + 0.3j) + 0.01 * np.conj(z)
    return np.real(z) ** 2 + 2 * np.imag(z)


positive, vectors = functools.partial(R.uniform, 0.2, 30.0), functools.partial(R.uniform, 1.0, 3.0, 3)
FREE = [
    (newton, positive, 1), (bounded_newton, positive, 1), (two_kinds, lambda: R.uniform(0.1, 0.9), 8),
    (bisection, lambda: R.uniform(3, 50), 4), (power_iteration, vectors, 1), (adaptive_steps, positive, 1),
    (in_place, lambda: R.uniform(0.5, 4.0, 6), 1), (of_an_object, lambda: R.uniform(0.2, 3.0), 2),
    (in_dicts, positive, 3), (a_loop_in_each_of_some, lambda: R.uniform(1, 3), 2), (a_loop_in_a_loop, positive, 3),
    (a_comprehension_inside, positive, 1), (two_exits, lambda: R.uniform(0.3, 70), 4), (in_a_callee, positive, 8),
    (gives_both, lambda: complex(*R.uniform(1, 5, 2)), 6),
]  # fmt: skip


def near(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def near_everywhere(f: Any, numbers: np.ndarray) -> None:
    """A function and its gradient, compiled, give at each of these numbers what they give as they are."""
    for g in (f, wg.grad(f)):
        compiled = wg.compile(g)
        for x in numbers.tolist():
            near(compiled(x), g(x))


@pytest.mark.parametrize(("f", "some", "most"), FREE, ids=lambda x: getattr(x, "__name__", ""))
def test_one_trace_serves_any_number_of_iterations(f, some, most):
    given = [x if isinstance(x := some(), np.ndarray | complex) else float(x) for _ in range(20)]
    for g in (f, wg.grad(f), wg.value_and_grad(f)):
        compiled = wg.compile(g, strict=True)
        for x in given:
            for a, b in zip(wg.ravel(compiled(x))[0], wg.ravel(g(x))[0], strict=True):
                near(a, b)
        assert int(compiled.explain().split(" trace")[0].split(" ")[-1]) <= most


def of_another(x, y):
    t = 0.0 * y
    while t < 1.0:
        h = 0.01 + 0.05 * abs(np.sin(y))
        x, y, t = x + h * np.cos(x) * y, y * 0.98, t + h
    return x * t


def test_the_tests_may_be_of_what_no_derivative_is_taken_by():
    for argnums in (0, 1, (0, 1)):
        gradient = wg.grad(of_another, argnums=argnums)
        compiled = wg.compile(gradient, strict=True)
        for x, y in R.uniform(0.2, 3.0, (10, 2)).tolist():
            near(compiled(x, y), gradient(x, y))
        assert "1 trace" in compiled.explain()


def walks(x, depth):
    if depth == 0:
        return x
    n = depth
    while x > 0.1 * depth:
        n = n + 1
        x = 0.5 * x + 0.01 * walks(x, depth - 1)
    return x * n


def test_gradients_are_those_of_closed_forms():
    compiled = wg.compile(wg.grad(newton), strict=True)
    for a in np.geomspace(1e-3, 1e8, 40):
        np.testing.assert_allclose(compiled(float(a)), 0.5 / np.sqrt(a), rtol=1e-6)
    assert "1 trace" in compiled.explain()


def test_gradients_are_those_of_differences():
    compiled, h = wg.compile(wg.grad(in_place), strict=True), 1e-6
    compiled(np.full(6, 1.5))
    for u in R.uniform(0.5, 4.0, (5, 6)):
        slopes = [(in_place(u + h * e) - in_place(u - h * e)) / (2 * h) for e in np.eye(6)]
        np.testing.assert_allclose(compiled(u), slopes, rtol=1e-6, atol=1e-8)


def a_list(x):
    seen = []
    while x > 0.1:
        x = 0.5 * x
        seen.append(x)
    return sum(seen)


def a_generator(x):
    factors = itertools.cycle([0.9, 0.5, 0.7])
    while x > 0.1:
        x = next(factors) * x
    return x


def a_flag(x):
    turn = True
    while x > 0.1:
        x = 0.5 * x if turn else 0.9 * x
        turn = not turn
    return x


def a_closure(x):
    n = 0

    def shrink(x):
        nonlocal n
        n = n + 1
        return x * (0.5 + 0.4 * (n % 2))

    while x > 0.1:
        x = shrink(x)
    return x


def halves(x):
    while x > 0.1:
        yield x
        x = 0.5 * x


def a_generator_s_own_loop(x):
    return x * len(list(halves(x)))


def a_generator_that_is_collected(x):
    return x * len([y for y in halves(x)]) + x * len((*halves(x),))  # noqa: C416


class Map:
    def __init__(self, x):
        self.x = 0.3 * x

    def step(self):
        self.x = 3.7 * self.x * (1 - self.x)
        return 1 if self.x > 0.5 else 0


def a_comprehension(x):
    logistic = Map(x)
    return sum([logistic.step() for _ in range(6)]) * logistic.x


def a_comprehension_of_two_loops(x):
    logistic = Map(x)
    return sum([logistic.step() for _ in range(2) for _ in range(3)]) * logistic.x


def a_method_of_a_list(x):
    factor = [0.9] * 9 + [0.5] * 4
    take = factor.pop
    del factor
    while x > 0.1:
        x = x * take()
    return x


def the_kind_of_a_flag(x):
    flags = {1}
    while x > 0.1:
        x = 0.5 * x
        if x > 0.7:
            flags = {True}
    return x * 2 if str(flags) == "{True}" else x * 3


def the_length_of_a_slice(x):
    u = np.full(8, x)
    while u.size > 1 and u[0] > 0.1:
        u = 0.7 * u[1:] * x
    return u.sum()


NOT_FREE = [
    a_list, a_generator, a_flag, a_closure, a_generator_s_own_loop, a_generator_that_is_collected, a_comprehension,
    a_comprehension_of_two_loops, a_method_of_a_list, the_kind_of_a_flag, the_length_of_a_slice,
    functools.partial(walks, depth=2),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("f", NOT_FREE, ids=lambda f: getattr(f, "__name__", "recursion"))
def test_what_changes_beside_the_numbers_keeps_a_loop_as_it_was(f):
    near_everywhere(f, R.uniform(0.3, 3.0, 12))


def test_explain_says_what_keeps_a_loop_as_it_was():
    def named(x):
        name = ""
        while abs(x) > 0.5:
            x, name = 0.7 * x, name + "."
        return x * len(name)

    compiled = wg.compile(wg.grad(named))
    compiled(30.0)
    assert "test_while_call.py" in compiled.explain()
    assert "the loop runs the traced number of iterations: it changes name" in compiled.explain()
    compiled = wg.compile(wg.grad(newton))
    compiled(3.0)
    assert "the loop runs until its condition ends it" in compiled.explain()


def test_explain_says_of_no_loop_that_it_is_free_where_it_is_not():
    width, most = 0.01, 1.0

    def steps(x):
        t = 0.0 * width
        while t < most:
            x, t = x - width * x * x, t + width
        return x

    def drawn(x):
        while x > 0.1:
            x = x * R.uniform(0.4, 0.6)
        return x

    def counted(x):
        for _ in range(20):
            x = np.sin(x)
        return x

    free = "its condition ends it"
    for f, words in ((steps, free), (drawn, "random numbers are drawn"), (newton, free)):
        compiled = wg.compile(wg.grad(f))
        compiled(3.0)
        assert words in compiled.explain()
    compiled = wg.compile(counted)
    compiled(3.0)
    assert "the loop" not in compiled.explain()


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("f", [in_dicts, two_exits, of_an_object], ids=lambda f: f.__name__)
def test_what_walks_over_the_trace_of_a_loop_keeps_it_as_it_was(f):
    def pushed(x):
        return wg.jvp(f, (x,), (1.0,))

    def pulled_twice(x):
        _, pullback = wg.vjp(f, x)
        return pullback(1.0)[0] + 2 * pullback(2.0)[0]

    for g in (pushed, pulled_twice, wg.grad(wg.grad(f)), wg.jacobian(f)):
        compiled = wg.compile(g)
        for x in R.uniform(0.3, 3.0, 8).tolist():
            near(compiled(x), g(x))


def test_the_way_out_that_the_trace_did_not_see_joins_it():
    def f(x):
        for _ in range(10):
            x = 0.9 * x
            if x < 0.5:
                break
        return x

    compiled = wg.compile(wg.grad(f), strict=True)
    for x in (0.8, 1.0, 5.0, 0.7, 9.0):  # the loop is left by its test, or when it is spent
        near(compiled(x), wg.grad(f)(x))
    assert "1 trace" in compiled.explain()


def test_what_is_written_is_the_argument_where_no_iteration_made_another_array():
    def f(v):
        u = v
        for _ in range(60):
            if u.sum() < 1.0:
                break
            u = 0.5 * u
        u *= 3.0
        return u.sum()

    compiled = wg.compile(f)
    compiled(np.full(2, 30.0))
    mine, theirs = np.full(2, 0.1), np.full(2, 0.1)
    near(compiled(mine), f(theirs))
    near(mine, theirs)
    assert "runs uncompiled" not in compiled.explain()


def test_an_error_in_a_later_iteration_is_the_function_s_own():
    def f(x):
        total = 0.0 * x
        while x > 0.1:
            total = total + 1.0 / (x - 0.25)
            x = 0.5 * x
        return total

    compiled = wg.compile(f)
    for x in (3.0, 5.0, 9.0, 7.3):
        near(compiled(x), f(x))
    with pytest.raises(ZeroDivisionError) as raised:
        compiled(4.0)
    assert raised.traceback[-1].path.name == "test_while_call.py"


def test_what_is_read_outside_in_a_loop_is_watched():
    factor = 0.5

    def f(x):
        while x > 0.1:
            x = factor * x
        return x

    compiled = wg.compile(wg.grad(f), strict=True)
    for value in (0.5, 0.6, 0.9):
        factor = value
        for x in (1.0, 2.0, 7.0):
            near(compiled(x), wg.grad(f)(x))


def test_how_long_it_takes_to_build_does_not_depend_on_the_iterations():
    compiled = wg.compile(wg.grad(adaptive_steps), strict=True)
    compiled(2.0)
    text = compiled.source()
    compiled.clear()
    compiled(0.001)  # three times as many
    assert len(compiled.source()) < 1.1 * len(text)


def test_the_source_shows_the_loop_and_the_way_back():
    compiled = wg.compile(wg.grad(newton), strict=True)
    compiled(3.0)
    assert ": break" in compiled.source()
    assert "in reversed(range(int(" in compiled.source()


def test_a_loop_that_is_called_twice_with_the_same_is_walked_back_over_each_time():
    def product(x):
        return wg.grad(newton)(x) * wg.grad(newton)(x) + newton(x) * wg.value_and_grad(newton)(x)[0]

    compiled = wg.compile(product, strict=True)
    for a in R.uniform(1, 1000, 8).tolist():
        np.testing.assert_allclose(compiled(a), 0.25 / a + a, rtol=1e-9)


def test_how_long_it_takes_to_build_grows_with_the_number_of_loops(monkeypatch):
    looked_at, innermost = [], while_loops._innermost
    monkeypatch.setattr(while_loops, "_innermost", lambda ops: looked_at.append(len(ops)) or innermost(ops))

    def roots(x, n):
        for k in range(n):
            x = x - 0.01 * newton(x + k)
        return x

    sums = []
    for n in (10, 40):
        looked_at.clear()
        wg.compile(wg.grad(roots), strict=True)(5.0, n)
        sums.append(sum(looked_at))
    assert 0 < sums[1] < 5 * sums[0]


def implicit_euler(k, u, steps):
    total = 0.0 * u
    for n in range(steps):
        force, v = np.cos(0.05 * n), u
        while abs(v - u + 0.05 * (k * v**3 - force)) > 1e-10:
            v = v - (v - u + 0.05 * (k * v**3 - force)) / (1 + 0.15 * k * v * v)
        u = v
        total = total + u * u
    return total


def relaxed(k, u, steps):
    for n in range(steps):
        v, d, t = u, 1.0, 0.1 * n
        while abs(d) > 1e-6:
            d = u + 0.05 * np.sin(t + k * v) - v
            v = v + 0.7 * d
        u = v
    return u * u


@pytest.mark.parametrize(("f", "few"), [(implicit_euler, 30), (relaxed, 50)])
def test_loops_within_a_loop_are_one_whatever_numbers_they_take_from_it(f, few):
    sizes = []
    for steps in (few, few + 5):
        plain = wg.value_and_grad(lambda k, u, n=steps: f(k, u, n), argnums=(0, 1))
        compiled = wg.compile(plain)
        for k, u in ((1.0, 0.5), (5.3, 0.7), (0.2, 0.9)):
            near(wg.ravel(compiled(k, u))[0], wg.ravel(plain(k, u))[0])
        assert "1 trace" in compiled.explain()
        sizes.append(len(compiled.source().splitlines()))
    assert sizes[0] == sizes[1]


def with_what_was_before(k, u):
    w, s, c = u, 0.0 * u, u
    for n in range(9):
        v, p = c + u, k
        for _ in range(30):
            new = 0.25 * np.tanh(v * 0.7 + p) + 0.1 * k
            p = v
            v = v + 0.01 * u if v < p else v * 0.99
            if abs(new - v) < 1e-3:
                break
            v = v + 0.6 * (new - v)
        w, u = w + v, v
        s = s + v * v
    return s + u * w


def test_a_loop_around_a_free_one_carries_what_that_gives_one_by_one():
    plain = wg.value_and_grad(with_what_was_before, argnums=(0, 1))
    compiled = wg.compile(plain)
    for k in range(12):
        args = 0.4 + 0.1 * k, 1.3 - 0.1 * k
        near(wg.ravel(compiled(*args))[0], wg.ravel(plain(*args))[0])
    assert "runs uncompiled" not in compiled.explain()


def of_the_largest(x):
    while True:
        k = np.argmax(x)
        if np.sum(x) < 1.0:
            return x[k] * 2.0
        x = x * np.array([0.5, 0.3, 0.7])


def test_whole_numbers_that_a_loop_gives_get_no_cotangent():
    plain = wg.value_and_grad(of_the_largest)
    compiled = wg.compile(plain)
    for x in ([1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [10.0, 0.1, 0.2], [0.1, 0.1, 0.2], [100.0, 30.0, 2.0]):
        for found, expected in zip(compiled(np.array(x)), plain(np.array(x)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("is_computed", [False, True])
def test_a_loop_that_calls_what_is_computed_is_not_free(is_computed):
    """Of a function that stands on the tape nobody knows what it does in another iteration."""
    root, x, heads = Input(np.sqrt), Input(9.0), []
    ops: list[Op] = [root, x]
    head = SimpleNamespace(ran_back_once=True, same=True, fixed=frozenset(), grown=None, number=False, left=None,
                           form=0, given=frozenset(), integers=frozenset(), past=frozenset(), unread=frozenset(),
                           alone=frozenset(),
                           heads=SimpleNamespace(written_like=()))  # fmt: skip
    while x.val > 1.1:
        heads.append(len(ops))
        ops.append(Call(head, [Variable(x)], val=None, guard=True))
        x = Call(Variable(root) if is_computed else np.sqrt, [Variable(x)], val=np.sqrt(x.val))
        ops += [x, Call(operator.gt, [Variable(x), 1.1], val=x.val > 1.1, guard=True)]
    ops.append(Call(operator.mul, [Variable(x), 2.0], val=2.0 * x.val))
    read = {v.op: k for k, op in enumerate(ops) if isinstance(op, Call) for v in op.references()}
    found = find_while_loops(ops, {op: k for k, op in enumerate(ops)}, [heads], [read], [0] * len(ops))
    assert (not found) == is_computed


def test_runs_with_other_constants_are_runs_of_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its derivative is constructed once."""

    def grown(y, rate):
        while y < 20.0:
            y = y * rate + 1.0
        return y

    def f(x):
        return grown(x, 1.5) + grown(x, 1.7) + grown(x, 1.9)

    found = []

    def followed(ops: Any, made: Any, result: Any) -> Any:
        found.extend([loop for _, loop in made])
        return insert(ops, made, result)

    insert = while_loops._insert_loops
    monkeypatch.setattr(while_loops, "_insert_loops", followed)
    compiled = wg.compile(wg.value_and_grad(f))
    for x in (1.0, 0.7, 3.0, 12.0):
        value, slope = compiled(x)
        assert value == f(x)
        assert slope == pytest.approx((f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=1e-8)
    assert len(found) == 3 and len({*found}) < 3
