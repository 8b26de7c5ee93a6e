"""Rolled tapes: equal iterations as loops give the very numbers of the tape that they are made of."""

from __future__ import annotations

import math

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.loops.rolling import rolled
from wengert.tape.loops import Loop
from wengert.values.trees import leaves

R = np.random.default_rng(3)


def counted(x, y):
    for _ in range(100):
        x, y = x + 0.01 * y, y - 0.01 * math.sin(x)
    return x * x + y * y


def neighbours(a):
    s = 0.0
    for i in range(1, len(a)):
        s = s + (a[i] - a[i - 1] ** 2) ** 2 * 0.5
    return s


def heat(u, c):
    u = u.copy()
    for _ in range(20):
        u[1:-1] = u[1:-1] + c * (u[:-2] + u[2:] - 2.0 * u[1:-1])
    return np.sum(u * u)


def two_back(x):
    a, b = x, 0.5 * x
    for _ in range(30):
        a, b = b, np.sin(a) + 0.5 * b * a
    return a + b


def decaying(x):
    s = 0.0
    for i in range(40):
        s = s + 0.9**i * x[i % 7] * x[i % 5]
    return s


def nested(a):
    s = np.zeros(5)
    for i in range(12):
        t = s
        for j in range(30):
            t = t * 0.5 + np.sin(t) * a[j, i % 3]
        s = s + t * a[0]
    return np.sum(s)


def matrix(a):
    s = 0.0
    for i in range(14):
        for j in range(i, 14):
            s = s + a[i, j] * a[j, i]
    return s


def history(w):
    h, found = np.ones(3), []
    for _ in range(60):
        h = np.tanh(w @ h + 0.1)
        found.append(h)
    return np.sum(np.array(found) ** 2) + np.sum(found[3])


def ramps(x):
    for i in range(40):
        x = np.sin(x * np.arange(i, i + 3.0)) + x
    return np.sum(x)


def swapped(x, y):
    for _ in range(60):
        x, y = y, x * 0.9 + 0.1
    return np.sum(x * y)


def forced(x):
    """With other numbers of NumPy's in each iteration, and complex ones."""
    z = 1.0 + 0.0j
    for n in range(50):
        x = x + 0.01 * np.sin(x) * np.cos(0.1 * n)
        z = z * np.exp(0.01j * n * x) + np.float32(n) * 0.001
    return x * abs(z)


def observed(a):
    """With whole numbers of NumPy's from data: as indices, and as factors."""
    s = np.ones(4)
    for k in R_LABELS:
        s = np.tanh(s @ a) * a[:, k] + a[k, 0] * k
    return np.sum(s)


R_LABELS = np.random.default_rng(1).integers(0, 4, size=60)

PROGRAMS = [
    (observed, (R.normal(size=(4, 4)),)),
    (forced, (0.7,)),
    (counted, (0.5, 0.1)),
    (neighbours, (R.normal(size=60),)),
    (heat, (R.normal(size=(12, 3)), 0.1)),
    (two_back, (0.7,)),
    (decaying, (R.normal(size=7),)),
    (nested, (R.normal(size=(30, 5)),)),
    (matrix, (R.normal(size=(14, 14)),)),
    (history, (R.normal(size=(3, 3)),)),
    (ramps, (R.normal(size=3),)),
    (swapped, (R.normal(size=4), R.normal(size=4))),
]


def loops_of(tape):
    return [op.fn for op in tape.calls if isinstance(op.fn, Loop)]


@pytest.mark.parametrize(("f", "args"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_a_rolled_tape_gives_the_numbers_of_its_tape(f, args):
    wanted = tuple(range(len(args))) if len(args) > 1 else 0
    for tape in (wg.trace(f, *args)[1], wg.gradtape(f, *args, argnums=wanted)):
        made = rolled(tape)
        assert loops_of(made)
        assert len(made) < len(tape) / 2
        for given in (args, tuple([1.1 * np.asarray(x) if isinstance(x, np.ndarray) else 1.1 * x for x in args])):
            expected, found = tape.play(*given), made.play(*given)
            assert repr(expected) == repr(found)
            for (_, a), (_, b) in zip(leaves(expected), leaves(found), strict=True):
                np.testing.assert_array_equal(a, b)


def test_loops_within_loops_are_rolled():
    outer = loops_of(rolled(wg.trace(nested, R.normal(size=(30, 5)))[1]))
    assert any(loops_of(loop.body) for loop in outer)


def arm(angles):
    """Each rotation makes an identity matrix of its own; the inner loop is rolled before the outer one."""
    s = 0.0
    for row in angles:
        x = np.array([1.0, 0.0])
        for angle in row:
            x = (np.eye(2) + math.sin(angle) * np.array([[0.0, -1.0], [1.0, 0.0]])) @ x + np.cos(x * angle)
        s = s + np.sum(x**2)
    return s


def test_loops_with_equal_constant_arrays_are_equal():
    angles = R.normal(size=(20, 30))
    tape = wg.trace(arm, angles)[1]
    found = rolled(tape)
    assert len(loops_of(found)) == 1
    np.testing.assert_allclose(found.play(angles), arm(angles), rtol=1e-15)


def triangle(p):
    values = [p[0] * math.sin(j) for j in range(31)]
    for i in range(30, 0, -1):
        for j in range(i):
            values[j] = p[1] * values[j + 1] + p[2] * values[j]
    return values[0]


def test_all_rows_of_a_triangle_are_rolled_in_the_same_round():
    p = np.array([1.5, 0.4, 0.55])
    tape = wg.trace(triangle, p)[1]
    found = rolled(tape)
    assert found.play(p) == triangle(p)
    assert len(loops_of(found)) == 25
    assert len(found) < len(tape) / 9


def test_what_does_not_repeat_stays_the_tape_itself():
    tape = wg.gradtape(lambda x: np.sum(np.sin(x)), np.ones(3))
    assert rolled(tape) is tape


def test_constants_are_told_apart_by_their_bits():
    def f(x):
        for k in range(80):
            x = np.copysign(1.0, np.float64(-0.0 if k % 2 else 0.0) * np.abs(x)) * np.sin(x)
        return np.sum(x)

    x = R.normal(size=3)
    tape = wg.trace(f, x)[1]
    made = rolled(tape)
    assert loops_of(made)
    np.testing.assert_array_equal(made.play(x), tape.play(x))


def test_a_function_that_is_given_a_list_is_given_one():
    """A list and a list make a longer one, an array and a list a sum."""

    def closed(parts):
        return np.concatenate(parts + [parts[0]])

    def f(x):
        parts = []
        for _ in range(60):
            x = np.sin(x) * 1.1
            parts.append(x)
        return np.sum(closed(parts) ** 2)

    x = R.normal(size=3)
    with wg.rules.scope():
        wg.rrule(closed)(lambda parts: (closed(parts), lambda bar: (None,)))
        made = rolled(wg.trace(f, x)[1])
    assert loops_of(made)
    np.testing.assert_allclose(made.play(-1.1 * x), f(-1.1 * x), rtol=1e-14)
