"""Numbers of NumPy's that compiled code computes as Python's floats: the same values, types, infinities and errors."""

from __future__ import annotations

import math
import operator
import warnings
from collections import Counter

import numpy as np
import pytest
from loop_tapes import tape_of

import wengert as wg
from wengert.compiling.guard_check import check_guards_kept
from wengert.compiling.ops import info
from wengert.compiling.scalar_specialisation import with_floats
from wengert.tape.loops import Loop


def pendulum(x, y):
    for _ in range(40):
        x, y = x + 0.01 * y, y - 0.01 * math.sin(x)
    return x * x + y * y


def by_numpy(x, y):
    for _ in range(40):
        x, y = x + 0.1 * np.cos(y), y - 0.1 * np.tanh(x) / (1.5 + np.sin(x) ** 2)
    return x * y


def elements(a):
    s = 0.0
    for i in range(1, len(a)):
        s = s + np.exp(a[i]) * abs(a[i] - a[i - 1]) ** 3
    return s


def nested(x):
    for _ in range(8):
        for _ in range(9):
            x = math.sin(x) + 0.1 * x * x
    return x


def mixed(x):
    single, total = np.ones(3, np.float32), np.zeros(3)
    for _ in range(12):
        x = np.cos(x) * 0.9
        total = total + x * single
    return np.sum(total) + x


def straight(x):
    return np.exp(x) / np.sqrt(x) + math.atan2(x, 2.0) * np.arctan2(2.0, x)


def kinked(x):
    for _ in range(10):
        x = 0.9 * x - 0.2 * abs(x)
    return x


def kept_whole(x):
    rows = np.zeros(25)
    for i in range(25):
        x = 0.9 * np.sign(x) ** 2.0 + np.sin(x)
        rows[i] = x**0.5
    return x + rows[2]


def summed_list(x):
    return sum([x * math.sin(x * k) for k in range(40)])


def grown_list(x):
    found = [x]
    for _ in range(40):
        found.append(0.9 * found[-1] + math.sin(found[-1]))
    return np.mean(found) + np.array([*found, x]).max()


def alike(found, expected, tolerance=1e-12):
    assert type(found) is type(expected)
    if isinstance(found, tuple):
        for a, b in zip(found, expected, strict=True):
            alike(a, b, tolerance)
    elif expected is not None:
        np.testing.assert_allclose(found, expected, rtol=tolerance)


PROGRAMS = [
    (pendulum, (0.5, 0.1)), (pendulum, (np.float64(0.5), 0.1)), (nested, (0.7,)), (straight, (0.8,)),
    (by_numpy, (0.5, 0.1)), (by_numpy, (np.float64(0.5), np.float64(0.1))), (mixed, (0.3,)),
    (mixed, (np.float64(0.3),)),
    (elements, (np.linspace(-1.0, 1.0, 30) ** 2 + 0.3,)), (kinked, (0.5,)), (kinked, (-0.5,)),
    (kept_whole, (0.4,)), (kept_whole, (np.float64(0.4),)), (summed_list, (0.4,)), (summed_list, (np.float64(0.4),)),
    (grown_list, (0.4,)), (grown_list, (np.float64(0.4),)),
]  # fmt: skip


@pytest.mark.parametrize(("f", "args"), PROGRAMS)
@pytest.mark.parametrize("exact", [False, True])
def test_numbers_and_types_are_those_of_eager_code(f, args, exact):
    for g in (f, wg.value_and_grad(f, argnums=tuple(range(len(args))))):
        compiled = wg.compile(g, exact=exact, strict=True, native=False)
        for factor in (1.0, 1.0, 1.125):
            given = [a * factor for a in args]
            alike(compiled(*given), g(*given), 0.0 if exact and g is f else 1e-12)


def test_a_loop_of_floats_calls_nothing_of_numpy_and_keeps_lists():
    compiled = wg.compile(wg.value_and_grad(pendulum, argnums=(0, 1)), native=False)
    compiled(0.5, 0.1)
    assert "np." not in compiled.source()
    assert "[0.0] * " in compiled.source()


def test_lists_of_floats_are_kept_as_lists():
    compiled = wg.compile(wg.value_and_grad(summed_list), native=False)
    for x in (0.4, 0.4, -1.3):
        slope = sum([math.sin(x * k) + x * k * math.cos(x * k) for k in range(40)])
        alike(compiled(x), (summed_list(x), slope), 1e-11)
    assert "np." not in compiled.source() and ".tolist()" not in compiled.source()


def test_a_list_of_floats_belongs_to_the_caller():
    def f(x):
        found = [math.sin(x * k) for k in range(40)]
        return found, sum(found)

    compiled = wg.compile(f, native=False, strict=True)
    for x in (0.4, 0.4, 0.5):
        found, total = compiled(x)
        assert (found, total) == f(x) and {*map(type, found)} == {float}
        found.clear()


@pytest.mark.parametrize("x", [800.0, 0.0, -1.0, math.inf, -math.inf, math.nan, 1e-320, 1e200])
def test_infinities_are_those_of_numpy(x):
    eager = wg.value_and_grad(lambda x: np.exp(x) / np.sqrt(x) * np.log(x) + np.cos(x) / x**3)
    compiled = wg.compile(eager, native=False)
    compiled(np.float64(1.5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alike(compiled(np.float64(x)), eager(np.float64(x)))
        with np.errstate(all="ignore"):
            tape = wg.gradtape(lambda x: np.exp(0.5 * x) / np.sqrt(x) * np.cos(x), 1.5).optimise()
            alike(tape.compile()(x), tape.play(x))


@pytest.mark.parametrize("begin", [300.0, np.float64(300.0)])
def test_loops_that_overflow_give_what_numpy_gives(begin):
    def f(x):
        for _ in range(10):
            x = np.exp(x) * 2.0 / (x - 1.0)
        return x

    compiled = wg.compile(wg.value_and_grad(f), native=False)
    with np.errstate(all="ignore"):
        for x in (0.1, 0.1, begin, 1.0):
            alike(compiled(type(begin)(x)), compiled.wrapped(type(begin)(x)))


def test_what_is_not_finite_warns_as_it_did():
    tape = wg.trace(lambda x: np.exp(x) * 2.0, 1.5)[1].optimise()
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert tape.compile()(1000.0) == math.inf


def test_what_numpy_is_told_to_raise_is_raised():
    def rolled(x):
        for _ in range(8):
            x = np.sin(x) * 1.1
        return np.arctan(x * 1e300 * 1e300)

    def free(x):
        while x > 0.5:
            x = x * 0.5
        return np.arctan(x * 1e300 * 1e300) + x

    for f, argument in ((rolled, 0.3), (rolled, np.float64(0.3)), (free, np.float64(40.0))):
        compiled = wg.compile(wg.value_and_grad(f), native=False, strict=True)
        with np.errstate(all="ignore"):
            for _ in range(2):
                alike(compiled(argument), compiled.wrapped(argument))
        with np.errstate(over="raise"), pytest.raises(FloatingPointError):
            compiled(argument)


def test_errors_that_a_function_with_loops_has_raised_are_its_own():
    def caught(x):
        try:
            with np.errstate(over="raise"):
                for _ in range(3):
                    x = x * np.exp(x) * 0.5
                return np.arctan(x * 1e300 * x)
        except FloatingPointError:
            return x * 0.0 + 7.0

    def caught_later(x):
        try:
            with np.errstate(over="raise"):
                while x > 1.0:
                    x = x * 0.5
                return np.arctan(x * 1e200 * np.exp(-x) * 1e200) + x
        except FloatingPointError:
            return x * 3.0

    for f, arguments in ((caught, (0.1, 0.2, 5.0)), (caught_later, (np.float64(1e-95), np.float64(9e-95), 30.0, 1e9))):
        for g in (f, wg.value_and_grad(f)):
            compiled = wg.compile(g, native=False)
            for x in arguments:
                alike(compiled(x), g(x))


def test_errors_of_the_function_are_its_own():
    compiled = wg.compile(wg.grad(lambda x: math.log(x) * np.cos(x)), native=False)
    compiled(2.0)
    with pytest.raises(ValueError, match=r"math domain|expected a positive"):
        compiled(-2.0)


@pytest.mark.parametrize("x", [0.0, -0.0, 2.0, -3.0, math.inf, -math.inf, math.nan])
def test_sign_is_that_of_numpy(x):
    assert np.float64(info(np.sign).on_floats(x)).tobytes() == np.sign(np.float64(x)).tobytes()


def test_a_float_that_becomes_complex_is_told():
    def f(x):
        y = x**0.5
        for _ in range(8):
            y = y * 0.9
        return abs(y)

    compiled = wg.compile(wg.grad(f), native=False)
    assert compiled(4.0) == pytest.approx(wg.grad(f)(4.0))
    try:
        expected = wg.grad(f)(-4.0)
    except wg.WengertError as error:
        with pytest.raises(type(error)):
            compiled(-4.0)
    else:
        assert compiled(-4.0) == pytest.approx(expected)


def test_an_array_that_is_read_whole_is_none():
    def f(x):
        rows = np.zeros(12)
        for i in range(12):
            x = x + 0.1 * np.sin(x)
            rows[i] = x
        return np.sum(rows * rows) + np.max(rows)

    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for x in (0.5, 0.5, 0.6):
        alike(compiled(x), compiled.wrapped(x))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * math.frexp(x)[1],
        lambda x: x * {1.5: 2.0}.get(float(x), 3.0),
        lambda x: x * int(math.modf(x)[1]),
        lambda x: x * divmod(x, 0.6)[0].astype(int),
    ],
)
def test_what_is_decided_by_a_part_of_a_number_is_decided_in_each_call(f):
    g = wg.compile(lambda x: f(x[0]) + f(x[1]))
    for x in ([0.5, 0.75], [1.5, 2.0], [0.7, 1.05], [3.0, 1.5]):
        np.testing.assert_allclose(g(np.array(x)), sum(map(f, np.array(x))))


def filtered(x):
    s, peak = 1.0, 0.0
    for v in x:
        s = np.where(v > 0.2, 0.9 * s + v, 0) * 0.5 + max(s, v)
        peak = np.arctan2(-np.where(v > 0.2, s, 0), -1.0) + peak
    return s + peak, np.where(v > 0.2, s, 0)


def test_where_of_numbers_is_a_choice_of_floats():
    compiled = wg.compile(filtered)
    for seed in range(4):
        x = np.random.default_rng(seed).normal(size=60)
        (value, last), (expected, expected_last) = compiled(x), filtered(x)
        assert value == expected
        assert type(last) is type(expected_last) is np.ndarray
        assert last == expected_last
    assert compiled.source().count("np.where(") <= 2  # those of the arrays that either trace returns


def test_the_gradient_of_where_of_numbers_is_that_of_differences():
    def loss(x):
        return filtered(x)[0]

    x = np.random.default_rng(1).normal(size=30)
    slope = wg.compile(wg.grad(loss))(x)
    differences = [(loss(x + step) - loss(x - step)) / 2e-6 for step in 1e-6 * np.eye(30)]
    np.testing.assert_allclose(slope, differences, rtol=1e-5, atol=1e-7)


def test_guards_in_a_loop_that_has_not_run_are_answered_once():
    def step(call, x):
        call(np.iscomplexobj, x, guard=True)
        return [call(np.multiply, x, 0.5)]

    def f(call, x):
        return call(operator.getitem, call(Loop(tape_of([np.float64(0.5)], step), 0, [], 1), call(np.sin, x)), 0)

    tape, answered = tape_of([0.5], f), Counter()
    made = with_floats(tape, True, answered)
    assert made is not tape
    check_guards_kept(tape, made, answered)
