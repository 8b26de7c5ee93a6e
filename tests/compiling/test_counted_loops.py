"""Loops that count: compiled functions run them as often as they run, and whole numbers stay those of Python."""

from __future__ import annotations

import collections
import functools
import itertools
import math

import numpy as np
import pytest
from test_while_call import near, near_everywhere

import wengert as wg
from wengert.errors import StaleTapeError
from wengert.values.functional import whole

R = np.random.default_rng(0)


def halvings(x):
    n = 0
    while x > 1.0:
        x = x / 2.0
        n += 1
    return x * n


def newton(a):
    x, n = a * 1.0, 0
    while abs(x * x - a) > 1e-10 * a and n < 100:
        x = 0.5 * (x + a / x)
        n = n + 1
    return x


def fixed_point(a):
    x = a
    for k in range(200):
        new = np.cos(a * x / (k + 2))
        if abs(new - x) < 1e-9:
            break
        x = new
    return x


def exponential_series(x):
    term, total, k = 1.0, 1.0, 0
    while abs(term) > 1e-12:
        k += 1
        term = term * x / k
        total = total + term
    return total


def sine_series(x):
    total = 0.0
    for k in range(60):
        term = (-1) ** k * x ** (2 * k + 1) / math.exp(math.lgamma(2 * k + 2))
        total = total + term
        if abs(term) < 1e-15:
            break
    return total


def power_iteration(v):
    x, a, n = np.ones(3), np.diag(v) + 0.1, 0
    while True:
        new = a @ x
        new = new / np.linalg.norm(new)
        n += 1
        if np.linalg.norm(new - x) < 1e-8 or n >= 500:
            break
        x = new
    return new @ a @ new + 0.001 * n


def bisection(a):
    low, high, steps = 0.0 * a, a * 1.0, 0
    while high - low > 1e-6 and steps < 60:
        middle = 0.5 * (low + high)
        if middle * middle > 2.0 * a:
            high = middle
        else:
            low = middle
        steps += 1
    return low * steps


def alternating(x):
    n, total = 0, 0.0 * x
    while x > 0.1:
        if n % 2 == 0:
            total = total + x
        else:
            total = total - 0.5 * x
        n += 1
        x = 0.8 * x
    return total


def steps_in_time(x):
    t = 0.0
    while x > 0.2:
        x = x - 0.05 * x * np.cos(t) ** 2
        t += 0.1
    return x * t


def numbers_of_numpy(x):
    t, s = np.float64(0.25), 1.0
    while x > 0.2:
        s = s * x
        if t > 3.0:
            t = np.float64(0.5)
        x = x - 0.05 * x * np.sqrt(t)
        t = t * 1.3
    return s * t


def rising_bound(x):
    n, bound = 0, 1
    while x > 0.01 * bound:
        x = 0.7 * x
        n, bound = n + 1, (bound * 3 + n) % 17
    return x + n * bound


def shrinking_step(x):
    step, tries = 1.0, 0
    while x > 0.1 and tries < 500:
        x = x - 0.3 * step * x
        step *= 0.99
        tries += 1
    return x * step


def a_bool_of_a_counter(x):
    left = 40
    while left and x > 0.1:
        x = 0.9 * x
        left -= 1
    return x + left


def of_two_counters(x):
    i, j = 0, 1
    while x > 0.05:
        x = 0.85 * x
        i, j = i + j, i + 1 if i > j else j
    return x * i - j


def bits(x):
    n, k = 1, 0
    while x > 0.05:
        x = x * (0.9 if n & 1 else 0.7)
        n, k = (n >> 1 if n % 2 == 0 else 3 * n + 1) if n > 1 else 27, k | 4
    return x * k


def a_counter_in_each(x):
    total = 0.0 * x
    for m in range(4):
        y, n = x + m, 0
        while abs(y * y - x - m) > 1e-9 and n < 50:
            y = y - (y * y - x - m) / (2 * y)
            n += 1
        total = total + y * n
    return total


def a_counter_around_a_counter(x):
    n = 0
    while x > 0.1:
        m = 0
        y = x
        while y > 0.01:
            y = 0.6 * y
            m += 1
        x = 0.7 * x - 0.001 * m
        n += 1
    return x * n


def in_a_callee(x):
    return halvings(x) * np.sin(newton(x + 1.0))


def counted_by_another(x):
    n = 0

    def shrunk(y, k):
        return y * (0.5 + 0.3 / (k + 1))

    while x > 0.1:
        x, n = shrunk(x, n), n + 1
    return x * n


def of_a_square_root(x):
    n = 0
    while x > 0.1:
        n += 1
        x = x - 0.1 * x / math.sqrt(n) - 0.01 * x * np.log(n + 1)
    return x


def an_array(v):
    u, n = v.copy(), 0
    while u.sum() > 1.0:
        u = u * (0.9 - 0.1 / (n + 2)) + 0.001 * n
        u[0] = n * 0.001 + u[0] * 0.5
        n += 1
        if n > 30:
            break
    return u.sum() * n


def the_variable_of_a_for(x):
    for k in range(2, 300, 3):
        x = x * (0.9 + 0.0001 * k)
        if x < 0.5:
            break
    return x * k


def a_range_down(x):
    for k in range(50, 0, -1):
        x = x * (0.5 + 0.4 / k)
        if x < 0.5:
            return x * k
    return x


def differences_of_kinds(x):
    n = 0
    while x > 0.1:
        x = x * (0.9 if isinstance(n, int) and type(n) is int else 0.5) * abs(-n - 1) / (n + 1)
        n = int(n) + 1
    return x * float(n)


class Base:
    def __init__(self, n):
        self.n = n


class Shrinking(Base):
    def __init__(self, n, by):
        super().__init__(n)
        self.by = by

    def of(self, x):
        return x * (self.by + 0.3 / (1 + self.n))


def objects_that_know_their_number(x):
    n = 0
    while x > 0.1:
        x, n = Shrinking(n, 0.5).of(x), n + 1
    return x


positive, vectors = functools.partial(R.uniform, 0.2, 30.0), functools.partial(R.uniform, 1.0, 3.0, 3)
FREE = [
    (halvings, positive, 2), (newton, positive, 1), (fixed_point, lambda: R.uniform(0.2, 0.9), 1),
    (exponential_series, positive, 1), (sine_series, lambda: R.uniform(0.2, 6.0), 1), (power_iteration, vectors, 1),
    (bisection, lambda: R.uniform(3, 50), 4), (alternating, positive, 2), (steps_in_time, positive, 2),
    (numbers_of_numpy, positive, 3),
    (rising_bound, positive, 1), (shrinking_step, positive, 1), (a_bool_of_a_counter, positive, 3),
    (of_two_counters, positive, 3), (bits, positive, 6), (a_counter_in_each, lambda: R.uniform(1, 3), 2),
    (a_counter_around_a_counter, positive, 6), (in_a_callee, lambda: R.uniform(2, 1000), 1),
    (counted_by_another, positive, 1), (of_a_square_root, positive, 1), (an_array, lambda: R.uniform(0.5, 4.0, 6), 2),
    (the_variable_of_a_for, lambda: R.uniform(1, 3), 1), (a_range_down, positive, 3),
    (differences_of_kinds, positive, 1), (objects_that_know_their_number, positive, 1),
]  # fmt: skip


@pytest.mark.parametrize(("f", "some", "most"), FREE, ids=lambda x: getattr(x, "__name__", ""))
def test_one_trace_serves_any_number_of_iterations(f, some, most):
    given = [x if isinstance(x := some(), np.ndarray) else float(x) for _ in range(20)]
    for g in (f, wg.grad(f), wg.value_and_grad(f)):
        compiled = wg.compile(g, strict=True)
        for x in given:
            for a, b in zip(wg.ravel(compiled(x))[0], wg.ravel(g(x))[0], strict=True):
                near(a, b)
        assert int(compiled.explain().split(" trace")[0].split(" ")[-1]) <= most


def an_index(x):
    table, n = [0.9, 0.8, 0.7, 0.6] * 20, 0
    while x > 0.1:
        x, n = x * table[n], n + 1
    return x


def an_index_of_an_array(x):
    table, n = np.linspace(0.5, 0.9, 200), 0
    while x > 0.1:
        x, n = x * table[n], n + 1
    return x


def a_slice(x):
    table, n = np.linspace(0.5, 0.9, 200), 1
    while x > 0.1:
        x, n = x * np.mean(table[:n]), n + 1
    return x


def a_range_of_a_counter(x):
    n = 0
    while x > 0.1:
        for _ in range(n):
            x = x * 0.99
        x, n = 0.9 * x, n + 1
    return x


def a_key(x):
    found, n = {0: 0.9, 1: 0.5, 2: 0.7}, 0
    while x > 0.1:
        x, n = x * found[n % 3], n + 1
    return x


def a_member(x):
    n = 0
    while x > 0.1:
        x, n = x * (0.5 if n in {0, 3, 5} else 0.9), n + 1
    return x


def a_text(x):
    n = 0
    while x > 0.1:
        x, n = x * (0.5 if str(n).endswith("3") else 0.9), n + 1
    return x


def a_format(x):
    n = 0
    while x > 0.1:
        x, n = x * (0.5 if f"{n:03d}" > "004" else 0.9), n + 1
    return x


def a_length(x):
    n = 0
    while x > 0.1:
        x, n = x * 0.8 + 0.0001 * len([0] * n), n + 1
    return x


def a_shape(x):
    n = 1
    while x > 0.1:
        x, n = x * 0.8 * np.mean(np.ones(n)), n + 1
    return x


def an_identity(x):
    n = 0
    while x > 0.1:
        m = n * 1
        x, n = x * (0.5 if n is m else 0.9), n + 1
    return x


def a_sorted_one(x):
    n = 0
    while x > 0.1:
        x, n = x * (0.5 if sorted([n, 3])[0] == 3 else 0.9), n + 1
    return x


def the_largest(x):
    n = 0
    while x > 0.1:
        x, n = x * (0.9 - 0.1 / (1 + max(n, 4))), n + 1
    return x


def a_sum(x):
    n = 0
    while x > 0.1:
        x, n = x * 0.9 - 0.0001 * sum([n, 1]), n + 1
    return x


def bits_of_a_counter(x):
    n = 0
    while x > 0.1:
        x, n = x * (0.9 if n.bit_length() < 3 else 0.5), n + 1
    return x


def the_place_of_a_counter(x):
    n = 0
    while x > 0.1:
        x, n = x * (0.5 if [0, 4, 2].count(n) else 0.9), n + 1
    return x


def the_truth_of_a_range(x):
    n = -3
    while x > 0.1:
        x, n = x * (0.5 if range(n) else 0.9), n + 1
    return x


def ranges_compared(x):
    n = 0
    while x > 0.1:
        x, n = x * (0.5 if range(n) == range(2) else 0.9), n + 1
    return x


def the_end_of_a_range(x):
    n = 1
    while x > 0.1:
        x, n = x * (0.9 - 0.02 * range(n)[-1]), n + 1
    return x


def a_factorial(x):
    n, total = 0, 0.0
    while x**n / math.factorial(n) > 1e-9:
        total, n = total + x**n / math.factorial(n), n + 1
    return total


def many(x):
    n = 1
    while x > 0.1:
        x, n = 0.6 * x + 0.01 * x * (n % 7 / (n % 11 + 1)), n * n + 2
    return x


def a_negative_power(x):
    n = 3
    while x > 0.1:
        x, n = x * 0.9 - 0.01 * 2**n, n - 1
    return x


class Sized:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n


def the_size_of_an_object(x):
    n = 5
    while Sized(n) and x > 0.1:
        x, n = x * 0.9, n - 1
    return x


def an_iterator_of_its_own(x):
    numbers = iter(range(50))
    for k in numbers:
        x = x * (0.9 - 0.01 * k)
        if x < 0.1:
            break
        next(numbers)
    return x


def caught_by_the_function(x):
    n = 0
    while x > 0.1:
        try:
            x = x * [0.9, 0.8, 0.7][n]
        except Exception:
            x = x * 0.5
        n += 1
    return x


def a_kind(x):
    n = 0
    while x > 0.1:
        match n:
            case int(m) if m > 3:
                x = x * 0.5
            case 2:
                x = x * 0.6
            case _:
                x = x * 0.9
        n += 1
    return x


def divides(x):
    n, total = 5, 0.0
    while x > 0.1:
        try:
            total = total + 1 / n
        except ZeroDivisionError:
            total = total + 3
        x, n = 0.8 * x, n - 1
    return x * total


def an_array_of_ints(x):
    counts, n = np.zeros(3, int), 0
    while x > 0.1:
        counts = counts + n
        x, n = 0.8 * x, n + 1
    return x * counts.sum()


def some_of_an_iterator(x):
    n, few = 0, functools.partial(itertools.islice, range(100))
    while x > 0.1:
        if len(list(itertools.islice(range(100), n))) > 6 or sum(few(n)) > 500:
            x = 0.7 * x
        x, n = 0.9 * x, n + 1
    return x


class Few(collections.deque):
    pass


def a_class_of_c(x):
    n = 0
    while x > 0.1:
        if len(Few(range(9), n)) > 6:
            x = 0.7 * x
        x, n = 0.9 * x, n + 1
    return x


REFUSED = [
    some_of_an_iterator, a_class_of_c,
    an_index, an_index_of_an_array, a_slice, a_range_of_a_counter, a_key, a_member, a_text, a_format, a_length, a_shape,
    an_identity, a_sorted_one, the_largest, a_sum, bits_of_a_counter, the_place_of_a_counter, a_factorial, many,
    the_truth_of_a_range, ranges_compared, the_end_of_a_range,
    a_negative_power, the_size_of_an_object, an_iterator_of_its_own, caught_by_the_function, a_kind, divides,
    an_array_of_ints,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("f", REFUSED, ids=lambda f: f.__name__)
def test_what_a_tape_cannot_hold_of_a_counter_keeps_a_loop_as_long_as_it_was(f):
    near_everywhere(f, R.uniform(0.3, 3.0, 12))


def test_counters_that_are_returned_are_ints():
    def counted(x):
        n = 0
        while x > 1.0:
            x, n = 0.7 * x, n + 1
        return x, n, [n * n, n / 2], {"n": -n}

    compiled = wg.compile(counted, strict=True)
    for x in R.uniform(1.5, 1e6, 20).tolist():
        assert repr(compiled(x)) == repr(counted(x))
    assert "1 trace" in compiled.explain()


def test_whole_numbers_are_those_of_python():
    for fn in (int.__add__, int.__sub__, int.__mul__, int.__floordiv__, int.__mod__, int.__and__, int.__xor__):
        for a, b in R.integers(-1000, 1000, (200, 2)).tolist():
            if b:
                assert repr(whole(fn, float(a), float(b))) == repr(float(fn(a, b)))
    for fn, a, b in ((int.__mul__, 1e9, 1e9), (pow, 2, 53.5e6), (pow, 2, -1), (pow, 3, 40), (int.__lshift__, 1, 60)):
        with pytest.raises((StaleTapeError, OverflowError)):
            whole(fn, a, b)
    assert math.copysign(1.0, whole(int.__mul__, 0.0, -3.0)) == 1.0


def test_numbers_beyond_those_of_floats_are_traced_anew():
    def grows(x):
        n = 1
        while x > 1.0:
            x, n = 0.5 * x, n * 1000 + 7
        return x + n % 13

    compiled = wg.compile(grows)
    for x in (4.0, 7.0, 30.0, 9.0, 100.0, 1e5, 1e9):
        assert compiled(x) == grows(x)


def test_explain_says_what_asks_for_the_number():
    compiled = wg.compile(wg.grad(a_key))
    compiled(3.0)
    assert "the loop runs the traced number of iterations: it changes n (" in compiled.explain()
    assert "a counter is used as a key" in compiled.explain()


def test_code_in_python_that_numpy_calls_may_tell_whole_numbers_from_floats():
    def weighted(x):
        n, total = 0, 0.0
        while x > 1.0:
            n += 1
            weight = np.frompyfunc(lambda n: 0.5 * n if isinstance(n, float) or n < 4 else 0.0, 1, 1)
            total = total + x * weight(n)
            x = x * 0.5
        return total

    compiled = wg.compile(weighted)
    for x in (4.0, 40.0, 400.0):
        assert compiled(x) == weighted(x)


KNOTS = np.sort(np.random.default_rng(5).uniform(0.0, 1.0, 40))


def bisected(x):
    low, high = 0, 39
    while high - low > 1:
        middle = (low + high) // 2
        if x < KNOTS[middle]:
            high = middle
        else:
            low = middle
    return (x - KNOTS[low]) / (KNOTS[high] - KNOTS[low]) + high * x


def test_counters_that_take_the_values_of_others_are_computed(recwarn):
    """In the first iteration `low` is a constant, in another one the value of `middle`."""
    compiled = wg.compile(wg.value_and_grad(bisected), native=False)
    for x in (0.5 * (KNOTS[1:] + KNOTS[:-1]))[[20, 21, 5, 35, 9, 11, 30, 14, 26, 17, 3]].tolist():
        high = int(np.searchsorted(KNOTS, x))
        slope = 1.0 / (KNOTS[high] - KNOTS[high - 1]) + high
        assert compiled(x) == pytest.approx((bisected(x), slope), rel=1e-12)
    assert "until its condition ends it" in compiled.explain()
    assert "1 trace" in compiled.explain()
    assert not [w for w in recwarn if issubclass(w.category, wg.NoPathWarning)]


def interval(x):
    low, high = 0, 39
    while high - low > 1:
        middle = (low + high) // 2
        if x < KNOTS[middle]:
            high = middle
        else:
            low = middle
    return low


def span(x):
    """The loop runs never if the first guess is right."""
    low, high = 0, 39
    middle = (low + high) // 2
    while x < KNOTS[middle] or x >= KNOTS[middle + 1]:
        if x < KNOTS[middle]:
            high = middle
        else:
            low = middle
        middle = (low + high) // 2
    return middle


def last_but_one(x):
    low, high, last, begun = 0, 39, 0, 0
    while high - low > 1:
        middle = (low + high) // 2
        last = low
        if x < KNOTS[middle]:
            high = middle
        else:
            low = middle
    return (low + 2 * last + begun) % 39


def halved(x):
    size, steps = 1.0, 0
    while size > x and steps < 9:
        size, steps = size / 2, steps + 1
    return steps


def test_two_variables_that_hold_one_value_are_told_apart():
    """At the end `low` and `last` may both hold what `low` began with."""

    def f(x):
        return x * last_but_one(x)

    compiled = wg.compile(wg.grad(f), quiet=True)
    for x in R.permutation(0.5 * (KNOTS[1:] + KNOTS[:-1]))[:12].tolist():
        assert compiled(x) == last_but_one(x)


@pytest.mark.parametrize("place", [interval, span, halved], ids=lambda f: f.__name__)
def test_searches_in_a_loop_serve_all_data(place):
    """A variable that no iteration has changed, or none of a loop that never ran, is read after the loop."""

    def interpolated(c, x):
        total = 0.0
        for v in x:
            k = place(v)
            total += (v - KNOTS[k]) * np.sin(c[k] * v) * c[k + 1] + c[place(0.5 * (v + KNOTS[0]))]
        return total

    rng = np.random.default_rng(2)
    compiled, c = wg.compile(wg.grad(interpolated), native=False), rng.normal(size=40)
    for power in (1.0, 3.0, 0.3):
        x = KNOTS[0] + (KNOTS[39] - KNOTS[0]) * rng.uniform(0.001, 0.999, 50) ** power
        for each in (x, np.sort(x), x[:1].repeat(50)):
            used = np.unique([k + j for v in each for k in (place(v), place(0.5 * (v + KNOTS[0]))) for j in (0, 1)])
            found = compiled(c, each)
            steps = [interpolated(c + 1e-30j * np.eye(40)[k], each).imag / 1e-30 for k in used]
            np.testing.assert_allclose(found[used], steps, rtol=1e-11, atol=1e-13)
            assert np.count_nonzero(found) <= len(used)
    if place in (interval, span):
        assert "1 trace" in compiled.explain()
        assert "until its condition ends it" in compiled.explain()


def test_a_range_up_to_a_counter_may_index_a_list():
    """Then the counters of the loops around are constants, but a search beside them runs as often as it runs."""

    def smoothed(c, x):
        total = 0.0
        for v in x:
            k = span(v) % 35
            d = [c[k], c[k + 1], c[k + 2], c[k + 3], c[k + 4]]
            for r in range(1, 5):
                for j in range(4, r - 1, -1):
                    d[j] = 0.5 * v * d[j] + np.sin(d[j - 1])
            total += d[4] * v
        return total

    rng = np.random.default_rng(2)
    compiled, c = wg.compile(wg.grad(smoothed), native=False), rng.normal(size=40)
    for power in (1.0, 3.0, 0.3):
        x = KNOTS[0] + (KNOTS[39] - KNOTS[0]) * rng.uniform(0.001, 0.999, 50) ** power
        steps = [smoothed(c + 1e-30j * row, x).imag / 1e-30 for row in np.eye(40)]
        np.testing.assert_allclose(compiled(c, x), steps, rtol=1e-11, atol=1e-13)
    assert "1 trace" in compiled.explain()
