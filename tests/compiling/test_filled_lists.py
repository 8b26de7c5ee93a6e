"""Loops that write the items of lists at counters, also of lists of lists: one trace serves other branches."""

from __future__ import annotations

import copy
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

U = 0.4 * np.abs(np.random.default_rng(0).normal(size=40))
P = np.array([0.5, 0.9, 0.3])
POINTS = [P, *(P + 0.12 * np.random.default_rng(3).normal(size=(6, 3)))]


def clip(v: Any, most: float = 0.25) -> Any:
    return most if v > most else v


def follow(x: Any, p: Any, u: Any) -> None:
    for t in range(1, len(u)):
        x[t] = x[t - 1] * p[0] + u[t] if x[t - 1] > 0.5 else x[t - 1] * 0.9 + p[1] * u[t] * 0.3


def of_zeros(p, u):
    x = [0.0] * len(u)
    x[0] = p[2]
    follow(x, p, u)
    return sum(x)


def of_none(p, u):
    x = [None] * len(u)
    x[0] = p[2]
    follow(x, p, u)
    return np.sum(np.array(x) ** 2)


def of_integers(p, u):
    x = list(range(len(u)))
    x[0] = p[2]
    follow(x, p, u)
    return max(x) + x[3]


def of_zeros_that_are_read(p, u):
    x = [0.0 for _ in range(len(u))]
    for t in range(1, len(u)):
        x[t] = clip(x[t - 1] * p[0] + p[2] * u[t], p[1] * 0.2)
    return sum(a * b for a, b in zip(x, u, strict=True))


def two_lists(p, u):
    x, v = [0.0] * len(u), [0.0] * len(u)
    x[0] = p[2]
    for t in range(1, len(u)):
        v[t] = clip(v[t - 1] + 0.1 * (u[t] - p[0] * x[t - 1] - p[1] * v[t - 1]), 0.05)
        x[t] = x[t - 1] + 0.1 * v[t]
    return np.sum(np.array(x) ** 2) + v[-1]


def backward(p, u):
    n = len(u)
    a, b, s = [0.0] * n, [0.0] * n, 0.0
    a[0] = b[-1] = p[2]
    for t in range(1, n):
        a[t] = clip(p[0] * a[t - 1] + u[t], 0.4)
    for t in range(n - 2, -1, -1):
        b[t] = clip(p[1] * b[t + 1] + u[t], 0.5)
    for t in range(n):
        s += a[t] * b[t] if a[t] * b[t] > 0.1 else a[t] ** 2
    return s


def from_the_end(p, u):
    x = [p[2]] * len(u)
    for t in range(2, len(u)):
        x[-t] = clip(x[1 - t] * p[0] + u[t], 0.4)
    return sum(x)


def around_the_end(p, u):
    x = [p[2]] * len(u)
    for t in range(len(u)):
        x[t] = x[t - 1] * p[0] + u[t] if x[t - 1] > 0.5 else x[t - 2] + p[1] * u[t]
    return sum(x) + x[-3]


def swapped_lists(p, u):
    old = [p[2]] * 12
    for t in range(10):
        new = [0.0] * 12
        for i in range(12):
            left = old[i - 1] if i > 0 else 0.0
            new[i] = clip(old[i] + p[0] * 0.3 * (left - old[i]) + 0.1 * u[t], p[1])
        old = new
    return sum(old)


class Model:
    def __init__(self, x):
        self.x = x

    def put(self, t, v):
        self.x[t] = clip(v, 0.6)


def in_an_object(p, u):
    model = Model([p[2]] * len(u))
    kept = [model.x]
    for t in range(1, len(u)):
        model.put(t, model.x[t - 1] * p[0] + u[t])
    return sum(kept[0])


def under_two_names(p, u):
    x = y = [0.0] * len(u)
    x[0] = p[2]
    for t in range(1, len(u)):
        y[t] = x[t - 1] * p[0] + u[t] if x[t - 1] > 0.5 else y[t - 1] + p[1] * u[t]
    return sum(y) + x[5]


def at_a_constant(p, u):
    x = [p[2]] * len(u)
    for t in range(len(u)):
        v = x[3] * p[0] + u[t]
        x[t] = v if v < 0.5 else x[7]
    return sum(x)


def in_some_iterations(p, u):
    x, s = [0.0] * len(u), 0.0
    for t in range(len(u)):
        if u[t] * p[0] > 0.1:
            x[t] = u[t] * p[1]
    for v in x:
        s += v * v if v > 0.2 else v
    return s + p[2]


def sorted_by_hand(p, u):
    x = [u[k] * p[k % 3] for k in range(12)]
    for i in range(12):
        for j in range(11 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return sum(x[k] * k for k in range(12))


def table(p, u):
    costs = [[0.0] * 9 for _ in range(8)]
    for i in range(1, 8):
        costs[i][0] = i * p[1]
    for j in range(1, 9):
        costs[0][j] = j * p[1]
    for i in range(1, 8):
        for j in range(1, 9):
            c = p[0] * (u[i] - u[j + 20]) ** 2
            costs[i][j] = c + min(costs[i - 1][j] + p[2], costs[i][j - 1] + p[2], costs[i - 1][j - 1])
    return costs[-1][-1]


def table_with_branches(p, u):
    best = [[0.0] * 12 for _ in range(6)]
    for i in range(1, 6):
        for w in range(12):
            best[i][w] = best[i - 1][w]
            if w >= i and best[i - 1][w - i] + p[0] * u[i] > best[i][w]:
                best[i][w] = best[i - 1][w - i] + p[0] * u[i]
    return best[5][11] + max(best[3]) + p[1] * p[2]


def table_of_strings(p, u):
    a, b = "GATTACAGATT", "CATTAGACATTA"
    costs = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) + 1):
        costs[i][0] = i * p[1]
    for j in range(len(b) + 1):
        costs[0][j] = j * p[1]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            changed = 0.0 if a[i - 1] == b[j - 1] else p[0] * u[j]
            costs[i][j] = min(costs[i - 1][j - 1] + changed, costs[i - 1][j] + p[1], costs[i][j - 1] + p[2])
    return costs[-1][-1]


def rows_in_turn(p, u):
    before = [j * p[1] for j in range(10)]
    for i in range(1, 8):
        row = [i * p[1]] + [0.0] * 9
        for j in range(1, 10):
            row[j] = min(before[j - 1] + p[0] * abs(u[i] - u[j + 20]), before[j] + p[2], row[j - 1] + p[2])
        before = row
    return before[-1]


GROUPS = [(0.1 * t, int(v > 0.3)) for t, v in enumerate(U)]


def dictionary_of_two(p, u):
    excited, last, s = {1: 0.0, 0: 0.0}, {0: 0.0, 1: 0.0}, 0.0
    for t, k in GROUPS:
        for c in (0, 1):
            excited[c] = excited[c] * np.exp(-p[c] * (t - last[c]))
            last[c] = t
        s += np.log(1.0 + excited[k] + p[2] * excited[1 - k])
        excited[k] += 1.0
    return s


def keys_apart(p, u):
    x, names = dict.fromkeys([7, -2, 30]), [30, -2]
    for c in x:
        x[c] = p[2]
    for t, k in GROUPS:
        v = x[names[k]] * p[0] + 0.1 * t
        x[names[k]] = p[1] * 0.3 if v > p[1] * 0.3 else v
    return x[30] + x[-2] * x[7] + len(x)


def short_list(p, u):
    x = [0.0, p[2]]
    for t, k in GROUPS:
        x[k] = clip(p[k] * x[k] + 0.01 * t, p[2])
    return sum(x)


FREED = [
    dictionary_of_two, keys_apart, short_list,
    of_zeros, of_none, of_integers, of_zeros_that_are_read, two_lists, backward, from_the_end, around_the_end,
    swapped_lists, in_an_object, under_two_names, at_a_constant, in_some_iterations, sorted_by_hand, table,
    table_with_branches, table_of_strings, rows_in_turn,
]  # fmt: skip


# -- lists that something uses otherwise than by items at numbers


def one_row_many_times(p, u):
    rows = [[0.0] * 9] * 5
    for i in range(5):
        for j in range(1, 9):
            rows[i][j] = clip(rows[i - 1][j - 1] * p[0] + u[i + j], 0.3)
    return rows[0][5] + sum(rows[3]) * p[1]


def row_under_a_name(p, u):
    rows = [[0.0] * 9 for _ in range(8)]
    row = rows[0]
    for i in range(1, 8):
        for j in range(1, 9):
            rows[i][j] = clip(rows[i - 1][j - 1] * p[0] + u[i + j] + row[j], 0.5)
        if rows[i][3] * p[1] > 0.2:
            row = rows[i]
        else:
            row[2] = row[2] + 0.1
    return sum(sum(r) for r in rows)


def rows_exchanged(p, u):
    rows = [[u[i + j] * p[1] for j in range(4)] for i in range(6)]
    for i in range(5):
        if rows[i][0] * p[0] > rows[i + 1][0]:
            rows[i], rows[i + 1] = rows[i + 1], rows[i]
        rows[i][1] = rows[i][1] + rows[i + 1][2] * p[2]
    return sum(k * v for k, r in enumerate(rows) for v in r)


def identity_of_rows(p, u):
    rows, s = [[p[2]] * 3 for _ in range(6)], 0.0
    for i in range(1, 6):
        rows[i][1] = clip(rows[i - 1][1] + u[i])
        s += rows[i][1] if rows[i] is rows[3] else rows[i][0] * p[0]
    return s


def identity_of_items(p, u):
    x, s = [p[2]] * 20, 0.0
    for t in range(1, 20):
        x[t] = x[t - 1] if u[t] < 0.3 * p[0] else x[t - 1] * 0.5 + u[t]
        y = x[t]
        s += (x[t] is y) * u[t] if u[t] < 0.2 else p[1] * u[t]
    return s + (x[3] is x[3]) * p[2]


def also_summed(p, u):
    x, s = [0.0] * 20, 0.0
    for t in range(20):
        x[t] = clip(s * p[0] + u[t], 0.3)
        s = sum(x) * 0.1 * p[1]
    return s + x[3]


def also_sliced(p, u):
    x = [p[2]] * 20
    for t in range(3, 20):
        x[t] = clip(max(x[t - 3 : t]) * p[0] + u[t], 0.4)
    return sum(x)


def also_appended_to(p, u):
    x = [0.0] * 10
    x[0] = p[2]
    for t in range(1, 10):
        x[t] = clip(x[t - 1] * p[0] + u[t], 0.4)
        x.append(x[t] * p[1])
    return sum(x)


def runs_over_itself(p, u):
    x, s, t = [p[2]] * 12, 0.0, 0
    for v in x:
        s += clip(v * p[0], 0.2)
        if t < 11:
            x[t + 1] = s
        t += 1
    return s + x[4] * p[1]


def beyond_its_end(p, u):
    x = [0.0] * 20
    try:
        for t in range(25):
            x[t] = clip(x[t - 1] * p[0] + u[t], 0.4)
    except IndexError:
        x[0] = x[0] + p[1]
    return sum(x)


def of_arrays(p, u):
    x = [np.zeros(2)] * 12
    for t in range(1, 12):
        x[t] = x[t - 1] * p[:2] + u[t] if x[t - 1][0] < p[2] else x[t - 1] * 0.5
    return np.sum(x[-1]) + np.sum(x[5])


def an_integer_at_times(p, u):
    x = [p[2]] * 12
    for t in range(1, 12):
        x[t] = 0 if x[t - 1] > 0.6 else x[t - 1] + p[1] * u[t]
    return sum(x)


def by_a_while(p, u):
    x, n = [0.0] * 60, 0
    x[0] = p[2]
    while x[n] < 2.0 and n < 59:
        x[n + 1] = x[n] * 1.05 + 0.05 * p[0] * (2.0 if x[n] > 1.0 else 1.0)
        n += 1
    return x[n] * p[1] + x[n // 2]


def divided_by(p, u):
    x = [0.0] * 20
    for t in range(1, 20):
        try:
            x[t] = u[t] * p[0] / x[t - 1] if u[t] > 0.1 else x[t - 1] + p[2]
        except ZeroDivisionError:
            x[t] = p[1]
    return sum(x)


def key_added(p, u):
    x = {0: 0.0, 1: 0.5}
    for t in range(20):
        x[t % 2 if t < 12 else 2] = clip(u[t] * p[1])
    return sum(x.values()) + len(x)


def key_deleted(p, u):
    x = dict.fromkeys(range(20), p[2])
    for t in range(1, 20):
        x[t] = clip(x[t - 1] * p[0] + u[t], 0.5)
        if t == 12:
            del x[t]
            x[t] = p[1]
    return sum([k * v for k, v in x.items()])


OTHERS = [
    one_row_many_times, row_under_a_name, rows_exchanged, identity_of_rows, identity_of_items, also_summed, also_sliced,
    also_appended_to, key_added, key_deleted,
    runs_over_itself, beyond_its_end, of_arrays, an_integer_at_times, by_a_while, divided_by,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("f", [*FREED, *OTHERS], ids=lambda f: f.__name__)
def test_filled_lists_are_those_of_python(f: Callable[..., Any]) -> None:
    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for p in (*POINTS, *POINTS[::-1]):
        value, p_bar = compiled(p, U)
        assert value == pytest.approx(f(p, U), rel=1e-12)
        differences = [(f(p + h, U) - f(p - h, U)) / 2e-7 for h in 1e-7 * np.eye(3)]
        np.testing.assert_allclose(p_bar, differences, rtol=1e-4, atol=1e-5)
    if f in FREED:
        assert int(compiled.explain().splitlines()[0].split()[-2]) <= 2


@pytest.mark.parametrize("f", [of_zeros, of_none, table, table_of_strings, swapped_lists], ids=lambda f: f.__name__)
def test_native_code_fills_lists(f: Callable[..., Any]) -> None:
    pytest.importorskip("numba")
    compiled = wg.compile(wg.value_and_grad(f), native=True)
    for p in POINTS:
        value, p_bar = compiled(p, U)
        assert value == pytest.approx(f(p, U), rel=1e-12)
        differences = [(f(p + h, U) - f(p - h, U)) / 2e-7 for h in 1e-7 * np.eye(3)]
        np.testing.assert_allclose(p_bar, differences, rtol=1e-4, atol=1e-5)
    assert "compiled natively" in compiled.explain()


# -- the list itself


def first_is_float(p, u):
    x = [0.5] * len(u)
    follow(x, p, u)
    return x


def none_is_left(p, u):
    x = [None] * (len(u) + 1)
    x[0] = p[2]
    follow(x, p, u)
    return x, x


def floats_alone(p, u):
    x, rate = [0.0] * len(u), float(p[0])
    for t in range(1, len(u)):
        x[t] = math.exp(-rate * x[t - 1]) if x[t - 1] < 0.7 else 0.25
    return x


def of_lists(p, u):
    rows = [[0.0] * 5 for _ in range(4)]
    for i in range(1, 4):
        for j in range(5):
            rows[i][j] = clip(rows[i - 1][j] + p[0] * u[i + j])
    return rows, rows[2], rows[2][1]


@pytest.mark.parametrize("f", [first_is_float, none_is_left, floats_alone, of_lists], ids=lambda f: f.__name__)
def test_filled_lists_come_back_as_they_are(f: Callable[..., Any]) -> None:
    def typed(x: Any) -> Any:
        return [*map(typed, x)] if type(x) in (list, tuple) else (type(x), x and pytest.approx(x, rel=1e-12))

    compiled = wg.compile(f, native=False)
    for p in POINTS[:4]:
        found, expected = compiled(p, U), f(p, U)
        assert typed(found) == typed(expected)
        if f is of_lists:
            assert found[0][2] is found[1]
        if f is none_is_left:
            assert found[0] is found[1]


USES: dict[str, Callable[..., Any]] = {
    "a slice": lambda x, u: x[2:9:2][1] + 2.0 * x[::-1][3],
    "a copy": lambda x, u: sum([y[4] for y in (x.copy(), copy.copy(x), [*x], tuple(x))]),
    "a deep copy": lambda x, u: copy.deepcopy([x])[0][4],
    "a sum of lists": lambda x, u: (x + x)[45] + (x * 2)[50] + (2 * x)[1],
    "items removed": lambda x, u: x.pop() + x.pop(0) + x[3] + len(x),
    "an item added": lambda x, u: x.append(x[3]) or x.insert(2, x[5]) or x[2] + x[-1],
    "an order": lambda x, u: x.sort() or x[0] + 2.0 * x[-1],
    "its reverse": lambda x, u: x.reverse() or x[0] + sum(k * v for k, v in enumerate(reversed(x))),
    "a slice written": lambda x, u: x.__setitem__(slice(2, 4), [x[5], x[6]]) or x[2] + 2.0 * x[3],
    "comparisons": lambda x, u: (x == [*x]) + (x < [9.0]) + (x[4] in x) + x.index(x[4]) + x.count(0.5) + x[3],
    "iterators": lambda x, u: sum(map(abs, x)) + sum(a * b for a, b in itertools.pairwise(x)) + next(iter(x)),
    "unpacked": lambda x, u: max(*x) + (lambda a, b, *c: a + 2.0 * b + c[3])(*x),
    "arrays": lambda x, u: np.array(x).sum() + np.dot(x, u) + (u * x).sum() + np.mean([x, x]) + np.maximum(x, 0.3)[3],
    "a string": lambda x, u: (str(x) == repr([*x])) * x[3] + (f"{x}" == "") + x[2],
    "folded": lambda x, u: functools.reduce(lambda a, b: 0.5 * a + b, x) + [*itertools.accumulate(x)][-1],
    "by a key": lambda x, u: min(x, key=lambda v: -v) + x[sorted(range(40), key=x.__getitem__)[-1]],
    "in a dictionary": lambda x, u: {"x": x}["x"].__setitem__(3, 7.0) or x[3] * x[4] + sum(map(sum, [x, [1.0]])),
    "floats": lambda x, u: math.fsum(x) + math.dist(x, [*u]) + x[int(3.0 * x[3])],
}


@pytest.mark.parametrize("use", USES)
def test_a_filled_list_is_any_list_afterwards(use: str) -> None:
    def used(p, u):
        x = [p[2]] * len(u)
        follow(x, p, u)
        return USES[use](x, u)

    compiled = wg.compile(wg.value_and_grad(used), native=False)
    for p in (*POINTS[:3], P):
        value, p_bar = compiled(p, U)
        assert value == pytest.approx(used(p, U), rel=1e-12)
        differences = [(used(p + h, U) - used(p - h, U)) / 2e-7 for h in 1e-7 * np.eye(3)]
        np.testing.assert_allclose(p_bar, differences, rtol=1e-4, atol=1e-5)
    assert ("takes either branch" in compiled.explain()) == (use not in ("by a key", "a deep copy"))
