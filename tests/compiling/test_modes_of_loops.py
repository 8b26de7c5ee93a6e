"""Loops with a flag or a mode that branches set: the tape computes which of a few constants it is."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg

U = 0.4 * np.abs(np.random.default_rng(0).normal(size=60))
P = np.array([0.5, 0.9, 0.3])
R = np.random.default_rng(3)
POINTS = [P, *(P * (1.0 + 0.3 * R.normal(size=(9, 3))))]


class Mode(enum.Enum):
    CHARGE = 1
    REST = 2


RATES = {"charge": 0.9, "rest": 0.7, "idle": 0.2}


def flag(p, u):
    on, x, s = False, p[2], 0.0
    for f in u:
        if x < 0.4 and not on:
            on = True
        elif x > 0.6 and on:
            on = False
        x = x + 0.1 * (p[0] * on - p[1] * x * f)
        s += x
    return s


def of_comparison(p, u):
    above, x, s = False, p[2], 0.0
    for f in u:
        x = x * 0.9 + 0.3 * p[0] * f
        was, above = above, x > 0.1 * p[1]
        s += x if above and not was else 0.5 * x
    return s


def mode(p, u):
    mode, q, s = "charge", p[2], 0.0
    for f in u:
        if mode == "charge":
            q += p[0] * f * 0.3
            mode = "rest" if q > 0.7 else mode
        else:
            q -= p[1] * f * 0.2
            mode = "charge" if q < 0.3 else mode
        s += q * q * RATES[mode]
    return s


def member(p, u):
    mode, q, s = Mode.CHARGE, p[2], 0.0
    for f in u:
        q += p[0] * f * 0.3 if mode is Mode.CHARGE else -p[1] * f * 0.2
        if q > 0.7:
            mode = Mode.REST
        elif q < 0.3:
            mode = Mode.CHARGE
        s += q
    return s


def three(p, u):
    mode, q, s = "idle", p[2], 0.0
    for f in u:
        if mode == "idle":
            mode = "charge" if f * p[0] > 0.1 else "idle"
        elif mode == "charge":
            q += p[1] * f
            mode = "rest" if q > 1.0 else "charge"
        else:
            q *= 0.8
            mode = "idle" if q < 0.4 else "rest"
        s += q * RATES[mode]
    return s


def rising(p, q, f):
    return q + 0.3 * p[0] * f


def falling(p, q, f):
    return q * (1.0 - 0.3 * p[1] * f)


def function(p, u):
    step, q, s = rising, p[2], 0.0
    for f in u:
        q = step(p, q, f)
        if q > 0.7:
            step = falling
        elif q < 0.4:
            step = rising
        s += q
    return s


def two_functions(p, u):
    step = other = rising
    q, s = p[2], 0.0
    for f in u:
        q = step(p, q, f) + 0.01 * other(p, q, f)
        if q > 0.7:
            step = falling
        elif q < 0.4:
            step, other = rising, falling
        s += q
    return s


def read_after(p, u):
    mode, q = "charge", p[2]
    for f in u:
        q += p[0] * f * 0.3 if mode == "charge" else -p[1] * f * 0.2
        mode = "rest" if q > 0.7 else "charge" if q < 0.3 else mode
    return q * 2.0 if mode == "rest" else q * p[1]


class Thermostat:
    """An object that the function makes, with a flag."""

    def __init__(self, p: Any) -> None:
        self.p, self.x, self.on = p, p[2], False

    def step(self, f: Any) -> Any:
        if self.x < 0.4:
            self.on = True
        elif self.x > 0.6:
            self.on = False
        self.x = self.x + 0.1 * (self.p[0] * (1.0 if self.on else 0.0) - self.p[1] * self.x * f)
        return self.x


def attribute(p, u):
    t = Thermostat(p)
    return sum(t.step(f) for f in u) * (1.5 if t.on else 1.0)


def under_key(p, u):
    state, s = {"x": p[2], "mode": None}, 0.0
    for f in u:
        if state["mode"] is None:
            state["mode"] = "up" if state["x"] < 0.5 else None
        elif state["x"] > 0.7:
            state["mode"] = None
        state["x"] = state["x"] + (0.2 * p[0] * f if state["mode"] else -0.1 * p[1] * f)
        s += state["x"]
    return s


def nested(p, u):
    on, x, s = False, p[2], 0.0
    for f in u[:20]:
        for k in range(12):
            x = x + 0.05 * (p[0] * f if on else -p[1] * x * 0.5)
            if x > 0.6:
                on = False
            elif x < 0.2:
                on = True
            s += x
    return s


FREED = [
    flag, of_comparison, mode, member, three, function, two_functions, attribute, under_key, nested, read_after,
]  # fmt: skip


def ended(p, u):
    on, x, n = True, p[2], 0
    while x < 2.0 and n < 50:
        x = x + (0.3 * p[0] if on else 0.1 * p[1])
        on = not on if x > 1.0 else on
        n += 1
    return x * (2.0 if on else 1.0)


def broken_off(p, u):
    mode, q = "charge", p[2]
    for f in u:
        q += p[0] * f * 0.3 if mode == "charge" else p[1] * f * 0.2
        if q > 0.7:
            mode = "rest"
        if q > 2.0:
            break
    return q * RATES[mode]


def many(p, u):
    name, s = "", p[2]
    for k, f in enumerate(u):
        s += p[0] * f if f * p[1] > 0.2 and name != "13" else 0.5 * f * p[2]
        name = str(k)
    return s


def of_other_type(p, u):
    last, s = None, 0.0
    for f in u:
        x = p[0] * f
        if last is None or x > last * 1.01:
            last = x
        s += p[1] * (x - last)
    return s


def mixed(p, u):
    what, x, s = None, p[2], 0.0
    for f in u:
        what = "a" if x > 0.6 else (1 if x < 0.3 else what)
        x = x + 0.1 * (f * p[0] if what in (None, 1) else -f * p[1])
        s += x
    return s


def gathered(p, u):
    modes, q = [], p[2]
    for f in u:
        q += p[0] * f * 0.3 if modes[-1:] != ["rest"] else -p[1] * f * 0.2
        modes.append("rest" if q > 0.7 else "charge")
    return q * modes.count("rest")


def gathered_in_tuples(p, u):
    what, mode, q = [], "charge", p[2]
    for f in u:
        q += p[0] * f * 0.3 if mode == "charge" else -p[1] * f * 0.2
        mode = "rest" if q > 0.7 else "charge" if q < 0.3 else mode
        what.append((mode, q))
    return sum([x for name, x in what if name == "rest"])


def in_one_of_two_lists(p, u):
    a, b, s = [True, p[0]], [True, 2.0 * p[1]], 0.0
    held = [True, p[2]]
    for f in u:
        s += (held[1] if held[0] else 0.5 * held[1]) * f
        if p[1] < 0.8:
            held = a if f > 0.3 else b
        else:
            held = [True, f * p[2]] if f * p[0] < 0.1 else [False, f * p[2]]
    return s + a[1] + b[1]


def identical(p, u):
    on, x, s = False, p[2], 0.0
    for f in u:
        x = x * 0.9 + 0.3 * p[0] * f
        on = x > 0.1 * p[1]
        s += x * (on is np.True_) + x * 0.5 * (on is True)
    return s


def appended_flags(p, u):
    seen, names, s = [], ["b"], p[2]
    for f in u:
        seen.append(s > 0.5)
        names.append("a" if s > 0.4 else "b")
        s = s * 0.9 + p[0] * f if f * p[1] > 0.1 else s * 0.8
    return s * (1 + sum(seen)) + names.count("a") * p[1]


def flags_in_a_list(p, u):
    on, s = [True, False, False], p[2]
    for k, f in enumerate(u):
        s = s * 0.9 + p[0] * f * (1.0 if on[0] else 0.5) - (0.1 if on[2] else 0.0)
        on[0] = s < 0.6
        on[2] = bool(f * p[1] > 0.15)
    return s * (1.0 + on[0] + on[2])


OTHERS = [
    appended_flags, flags_in_a_list, ended, broken_off, many, of_other_type, mixed, gathered,
    gathered_in_tuples, in_one_of_two_lists, identical,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("f", [*FREED, *OTHERS], ids=lambda f: f.__name__)
def test_modes_are_those_of_python(f: Callable[..., Any]) -> None:
    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for p in (*POINTS, *POINTS[::-1]):
        value, p_bar = compiled(p, U)
        assert value == pytest.approx(f(p, U), rel=1e-12)
        steps = 1e-7 * np.eye(3)
        differences = [(f(p + h, U) - f(p - h, U)) / 2e-7 for h in steps]
        np.testing.assert_allclose(p_bar, differences, rtol=1e-5, atol=1e-5)
    if f in FREED:
        assert int(compiled.explain().splitlines()[0].split()[-2]) <= (4 if f in (read_after, nested) else 2)


def test_a_mode_that_is_returned_is_that_of_the_call() -> None:
    def f(p):
        mode, q = "charge", p[2]
        for f in U:
            q += p[0] * f * 0.3 if mode == "charge" else -p[1] * f * 0.2
            mode = "rest" if q > 0.7 else "charge" if q < 0.3 else mode
        return q, mode

    compiled = wg.compile(f, native=False)
    for p in POINTS:
        assert compiled(p)[1] == f(p)[1]
        assert compiled(p)[0] == pytest.approx(f(p)[0], rel=1e-12)
    assert {compiled(p)[1] for p in POINTS} == {"charge", "rest"}


def test_a_flag_that_another_function_reads_is_that_of_the_call() -> None:
    def f(p):
        on, x, s = False, p[2], 0.0
        for f in U[:24]:
            if x < 0.4:
                on = True
            elif x > 0.6:
                on = False
            x = x + 0.1 * (p[0] * on - p[1] * x * f) + 0.05 * f
            s += x

        def last():
            return s if on else 2.0 * s

        return last()

    compiled = wg.compile(f, native=False)
    for p in (P, -P, 0.1 * P, 2.0 * P, -P, P):
        assert compiled(p) == pytest.approx(f(p), rel=1e-12)
