"""Loops that append to a list and read its items at a counter: one trace serves other branches."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

U = 0.3 * np.abs(np.random.default_rng(0).normal(size=40))
P = np.array([0.5, 0.9, 0.3])
POINTS = [P, *(P + 0.15 * np.random.default_rng(3).normal(size=(8, 3)))]


def clip(v: Any, most: float = 0.25) -> Any:
    return most if v > most else v


def last(p, u):
    x = [p[2]]
    for t in range(len(u)):
        x.append(x[t] * p[0] + u[t] if x[t] > 0.6 else x[t] + p[1] * u[t])
    return sum(x)


def second_last(p, u):
    x = [p[2], p[2] * 1.1]
    for t in range(2, len(u)):
        d = clip(x[t - 1] - x[t - 2])
        x.append(x[-1] + p[0] * d + p[1] * u[t])
    return max(x) + x[10]


def lagged(p, u):
    x = [p[2] + 0.01 * k for k in range(6)]
    for t in range(6, len(u)):
        x.append(x[t - 1] + 0.2 * (p[0] * clip(x[t - 6]) - p[1] * x[t - 1] + u[t]))
    return sum(v * v for v in x)


def two_lists(p, u):
    x, v = [p[2]], [0.0]
    for t in range(1, len(u)):
        v.append(v[t - 1] + 0.1 * clip(u[t] - p[0] * x[t - 1] - p[1] * v[t - 1], 0.1))
        x.append(x[t - 1] + 0.1 * v[t])
    return np.sum(np.array(x) ** 2)


def rows_of_a_table(p, u):
    rows = [[j * p[1] for j in range(8)]]
    for i in range(1, 8):
        row = [i * p[1]]
        for j in range(1, 8):
            row.append(min(rows[i - 1][j - 1] + p[0] * u[i + j], rows[i - 1][j] + p[1], row[j - 1] + p[2]))
        rows.append(row)
    return rows[-1][-1]


def filled_each_time(p, u):
    old, s = [p[2]] * 10, 0.0
    for t in range(12):
        new = []
        for i in range(10):
            left = old[i - 1] if i > 0 else 0.0
            new.append(clip(old[i] + p[0] * 0.3 * (left - old[i]) + 0.1 * u[t], p[1]))
        old = new
        s += old[3]
    return sum(old) + s


FREED = [last, second_last, lagged, two_lists]


# -- items that are no last ones of each iteration


def fixed_item(p, u):
    x, s = [p[2]], 0.0
    for t in range(len(u)):
        if x[t] * p[0] > 0.2:
            s += x[2] if t > 2 else x[0]
        x.append(x[t] + p[1] * u[t] * 0.2)
    return s + x[-1]


def fixed_item_of_the_loop(p, u):
    x, s = [p[2]], 0.0
    for t in range(len(u)):
        x.append(x[t] + p[1] * u[t] * 0.2)
        if u[t] * p[0] > 0.25:
            s += x[3 - 2] * 2.0
    return s + x[-1]


def pointer(p, u):
    x, best, s = [p[2]], 0, 0.0
    for t in range(len(u)):
        x.append(0.8 * x[t] + p[0] * u[t])
        if x[t + 1] > x[best]:
            best = t + 1
        s += x[best] * p[1]
    return s


def pointer_that_lags(p, u):
    x, k, s = [p[2]], 0, 0.0
    for t in range(len(u)):
        x.append(0.8 * x[t] + p[0] * u[t])
        k = k + 1 if u[t] * p[1] > 0.05 else k
        s += x[k]
    return s


def far_from_the_end(p, u):
    x = [p[2] * (1.0 + 0.05 * k) for k in range(20)]
    for t in range(20, 60):
        x.append(x[t - 1] * 0.9 + p[0] * u[t - 20] + (0.3 * x[t - 20] if p[1] * u[t - 20] > 0.42 else 0.0))
    return sum(x)


def before_the_first(p, u):
    x, s = [p[2] * (1.0 + 0.05 * k) for k in range(5)], 0.0
    for t in range(len(u)):
        s += 2.0 * x[t - 3] if p[1] * u[t] > 0.3 else clip(x[t + 4])
        x.append(x[t + 4] * 0.9 + p[0] * u[t])
    return s + x[-1]


def by_a_constant_from_the_end(p, u):
    x, s, k = [p[2] * (1.0 + 0.1 * j) for j in range(20)], 0.0, -18
    for t in range(len(u)):
        if p[1] * u[t] > 0.38:
            s += 2.0 * x[k]
        x.append(x[t + 19] * 0.9 + p[0] * u[t])
        s += x[t + 20] if x[t + 20] > 0.4 else 0.1
    return s + x[-1]


def modulo(p, u):
    x, s = [p[2]], 0.0
    for t in range(len(u)):
        x.append(clip(0.9 * x[t] + p[0] * u[t], p[1]))
        s += x[t % 3] + x[t // 2]
    return s


def twice(p, u):
    x = [p[2]]
    for t in range(20):
        x.append(clip(0.9 * x[2 * t] + p[0] * u[t], p[1]))
        x.append(x[2 * t + 1] * 0.5 if x[2 * t + 1] > 0.3 else x[2 * t])
    return sum(x)


def in_a_branch(p, u):
    x = [p[2]]
    for t in range(len(u)):
        if u[t] * p[0] > 0.08:
            x.append(x[len(x) - 1] + u[t])
        else:
            x[-1] = x[-1] * 0.9
    return sum(x) * p[1]


def broken_off(p, u):
    x = [p[2]]
    for t in range(len(u)):
        x.append(x[t] + p[0] * u[t] if x[t] < 1.0 else x[t] + p[1] * u[t])
        if x[t + 1] > 2.0:
            break
    return x[-1] * len(x) + x[1]


def under_another_name(p, u):
    x = [p[2]]
    y = x
    for t in range(len(u)):
        x.append(y[t] * p[0] + u[t] if y[t] > 0.6 else x[t] + p[1] * u[t])
    return sum(y)


def written_between(p, u):
    x = [p[2]]
    y = x
    for t in range(len(u)):
        y[t] = y[t] * 0.9
        x.append(x[t] * p[0] + u[t] if x[t] > 0.5 else x[t] + p[1] * u[t])
    return sum(x)


def with_floats(p, u):
    a, b, x = float(p[0]), float(p[1]), [0.5]
    for t in range(len(u)):
        x.append(math.exp(-a * x[t]) if x[t] > 0.4 else b + x[t])
    return math.fsum(x) * p[2]


def while_counted(p, u):
    x, t = [p[2]], 0
    while t < len(u):
        x.append(x[t] * p[0] + u[t] if x[t] > 0.6 else x[t] + p[1] * u[t])
        t += 1
    return sum(x)


def beyond(p, u):
    x = [p[2]]
    for t in range(10):
        try:
            x.append(x[t + 1 if u[t] * p[0] > 0.2 else t] * 0.5)
        except IndexError:
            x.append(p[1])
    return sum(x)


OTHERS = [
    rows_of_a_table, filled_each_time, fixed_item, fixed_item_of_the_loop, pointer, pointer_that_lags, modulo, twice,
    far_from_the_end, before_the_first, by_a_constant_from_the_end, in_a_branch, broken_off, under_another_name,
    written_between, with_floats, while_counted, beyond,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("f", [*FREED, *OTHERS], ids=lambda f: f.__name__)
def test_lists_that_grow_are_those_of_python(f: Callable[..., Any]) -> None:
    if f is with_floats:
        compiled = wg.compile(f, native=False)
        for p in POINTS:
            assert compiled(p, U) == pytest.approx(f(p, U), rel=1e-12)
        return
    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for p in (*POINTS, *POINTS[::-1]):
        value, p_bar = compiled(p, U)
        assert value == pytest.approx(f(p, U), rel=1e-12)
        steps = 1e-7 * np.eye(3)
        differences = [(f(p + h, U) - f(p - h, U)) / 2e-7 for h in steps]
        np.testing.assert_allclose(p_bar, differences, rtol=1e-4, atol=1e-5)
    if f in FREED:
        assert int(compiled.explain().splitlines()[0].split()[-2]) <= 2
