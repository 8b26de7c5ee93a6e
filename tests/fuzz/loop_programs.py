"""Programs with loops, as tapes: a stencil, a recurrent cell, a float's orbit and its derivative, loops in loops."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from loop_tapes import tape_of

from wengert.tape.loops import Loop
from wengert.values.functional import additem, getfield, setitem


def heat(n: int, steps: int) -> Any:
    """The heat equation on a rod, written into the array of temperatures; `heat_by_hand` is the same."""

    def step(call: Any, u: Any, rate: Any) -> Any:
        left, middle, right = (
            call(operator.getitem, u, part) for part in (slice(None, -2), slice(1, -1), slice(2, None))
        )
        bend = call(operator.sub, call(operator.add, left, right), call(operator.mul, middle, 2.0))
        return [call(setitem, u, slice(1, -1), call(operator.add, middle, call(operator.mul, rate, bend)))]

    values = [np.sin(np.arange(float(n))), 0.1]
    loop = Loop(tape_of(values, step, ["u", "rate"]), steps, [], 1)
    return tape_of(values, lambda call, u, rate: call(getfield, call(loop, u, rate), 0), ["u", "rate"])


def heat_by_hand(u: Any, rate: float, steps: int) -> Any:
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] + rate * (u[:-2] + u[2:] - u[1:-1] * 2.0)
    return u


def orbit(n: int) -> Any:
    """x = sin(a x), n times, and the derivative of the last x for the first and for a, from an array of all."""

    def forward(call: Any, i: Any, x: Any, kept: Any, a: Any) -> Any:
        return [call(math.sin, call(operator.mul, x, a)), call(setitem, kept, i, x)]

    def back(call: Any, i: Any, x_bar: Any, a_bar: Any, kept: Any, a: Any) -> Any:
        x = call(np.ndarray.item, kept, i)
        bar = call(operator.mul, x_bar, call(math.cos, call(operator.mul, x, a)))
        return [call(operator.mul, bar, a), call(operator.add, a_bar, call(operator.mul, bar, x))]

    forth = Loop(tape_of([0, 0.5, np.zeros(n), 0.5], forward, ["i", "x", "kept"]), n, [1], 2)
    back_ = Loop(tape_of([0, 0.5, 0.5, np.zeros(n), 0.5], back, ["i", "x_bar", "a_bar"]), n, [-1], 2)

    def f(call: Any, x: Any, a: Any) -> Any:
        found = call(forth, 0, x, call(np.empty, n), a)
        y, kept = call(getfield, found, 0), call(getfield, found, 1)
        bars = call(back_, n - 1, 1.0, 0.0, kept, a)
        return [y, call(getfield, bars, 0), call(getfield, bars, 1)]

    return tape_of([1.5, 0.4], f, ["x", "a"])


def orbit_by_hand(x: float, a: float, n: int) -> Any:
    kept = []
    for _ in range(n):
        kept.append(x)
        x = math.sin(x * a)
    x_bar, a_bar = 1.0, 0.0
    for z in reversed(kept):
        bar = x_bar * math.cos(z * a)
        x_bar, a_bar = bar * a, a_bar + bar * z
    return x, x_bar, a_bar


def cell(m: int, n: int) -> Any:
    """A recurrent cell with a gate: what it remembers, what it shows, and a row of what it has shown at each step."""

    def step(call: Any, i: Any, c: Any, h: Any, shown: Any, w: Any, data: Any) -> Any:
        x = call(operator.getitem, data, i)
        z = call(operator.add, call(operator.matmul, w, h), x)
        gate = call(np.tanh, z)
        c1 = call(operator.add, call(operator.mul, gate, c), call(operator.mul, x, 0.5))
        h1 = call(operator.mul, gate, call(np.tanh, c1))
        return [c1, h1, call(setitem, shown, i, h1), z]

    rng = np.random.default_rng(0)
    values = [rng.normal(size=(m, m)) / m, rng.normal(size=(n, m))]
    one = np.ones(m)
    loop = Loop(tape_of([0, one, one, np.ones((n, m)), *values], step, ["i", "c", "h", "shown"]), n, [1], 3)

    def f(call: Any, w: Any, data: Any) -> Any:
        zero = call(np.zeros, m)
        found = call(loop, 0, zero, zero, call(np.empty, (n, m)), w, data)
        return [call(getfield, found, k) for k in range(4)]

    return tape_of(values, f, ["w", "data"])


def cell_by_hand(w: Any, data: Any) -> Any:
    c = h = np.zeros(len(w))
    shown = np.empty(data.shape)
    for i, x in enumerate(data):
        z = w @ h + x
        gate = np.tanh(z)
        c = gate * c + x * 0.5
        h = gate * np.tanh(c)
        shown[i] = h
    return c, h, shown, z


def table(rows: int, columns: int) -> Any:
    """A loop in a loop: each row of a table is summed into one place of a vector, which the columns are added to."""

    def inner(call: Any, j: Any, s: Any, sums: Any, i: Any, x: Any) -> Any:
        v = call(operator.getitem, x, (i, j))
        product = call(operator.mul, v, s)
        return [call(operator.add, s, v), call(additem, sums, j, product)]

    x = np.linspace(-1.0, 1.0, rows * columns).reshape(rows, columns)
    zeros = np.zeros(columns)
    each = Loop(tape_of([0, np.float64(0.0), zeros, 0, x], inner, ["j", "s", "sums", "i", "x"]), columns, [1], 2)

    def outer(call: Any, i: Any, total: Any, sums: Any, x: Any) -> Any:
        found = call(each, 0, np.float64(0.0), sums, i, x)
        s = call(getfield, found, 0)
        return [call(setitem, total, i, s), call(getfield, found, 1)]

    all_ = Loop(tape_of([0, np.zeros(rows), zeros, x], outer, ["i", "total", "sums"]), rows, [1], 2)

    def f(call: Any, x: Any) -> Any:
        found = call(all_, 0, call(np.zeros, rows), call(np.zeros, columns), x)
        return [call(getfield, found, 0), call(getfield, found, 1)]

    return tape_of([x], f, ["x"])


def table_by_hand(x: Any) -> Any:
    total, sums = np.zeros(len(x)), np.zeros(x.shape[1])
    for i in range(len(x)):
        s = np.float64(0.0)
        for j in range(x.shape[1]):
            sums[j] += x[i, j] * s
            s = s + x[i, j]
        total[i] = s
    return total, sums


def halving(n: int) -> Any:
    """A float is halved n times, each time larger than one: a guard says so."""

    def step(call: Any, x: Any) -> Any:
        call(operator.gt, x, 1.0, guard=True)
        return [call(operator.mul, x, 0.5)]

    loop = Loop(tape_of([1e9], step, ["x"]), n, [], 1)
    return tape_of([1e9], lambda call, x: call(getfield, call(loop, x), 0), ["x"])
