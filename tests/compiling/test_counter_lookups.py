"""Loops that look up their counters in dictionaries with integer keys, and in sets, tuples and lists of integers."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg

DOSES = {3: 1.0, 7: 2.0, 20: -1.0}


def of_doses(x, doses):
    s = 0.1 * x
    for k in range(30):
        if k in doses:
            s = s + doses[k] * x
        s = s * 0.9 + np.sin(s)
    return s


def of_its_own(x, doses):
    s, rates = x, {2: np.sin(x), 9: 0.5 * x, 10: x}
    for k in range(14):
        if k in rates:
            s = s - 0.1 * rates[k] if s > 0.0 else s + 0.3
        elif k not in (4, 5, 6) and k in {1, 12}:
            s = s * 0.7
        s = s + 0.01 * doses[3]
    return s


def of_remainders(x, doses):
    s, rows = np.array([x, 0.5]), {0: 0.2, 4: 0.1 * x}
    for k in range(20):
        if k not in (0, 2, 3, 11) and s[0] < 3.0:
            s = 0.8 * s + 0.1
        if k % 5 in rows:
            s = s + rows[k % 5] * s[::-1]
    return np.sum(s)


def of_one(x, doses):
    for k in range(12):
        if k in {5: 1.0}:
            x = x * doses[3]
        x = x + 0.1 * np.cos(x) if x > 0.0 else x - 0.2
    return x


@pytest.mark.parametrize("f", [of_doses, of_its_own, of_remainders, of_one], ids=lambda f: f.__name__)
def test_lookups_of_counters_leave_loops_free(f):
    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for x, doses in [(0.3, DOSES), (-0.8, {3: 0.2, 7: -4.0, 20: 3.0}), (1.7, {3: 9.0, 8: 2.0}), (0.3, DOSES)]:
        value, slope = compiled(x, doses)
        assert value == pytest.approx(f(x, doses), rel=1e-12)
        assert slope == pytest.approx((f(x + 1e-6, doses) - f(x - 1e-6, doses)) / 2e-6, rel=1e-6, abs=1e-8)
    assert "takes either branch" in compiled.explain()


LATE, STEPS = {25: 0.5, 3: 2.0}, {"at": [4, 5]}


def of_globals(x):
    for k in range(30):
        x = x * LATE[k] if k in LATE else 0.9 * x if k in STEPS["at"] or x < 0.0 else x + 0.1
    return x


def writes_its_keys(x):
    seen = {0: x}
    for k in range(1, 20):
        if k - 1 in seen and x < 5.0:
            seen[k] = 0.9 * seen[k - 1] + 0.1
            x = x + seen[k]
    return x


def misses_a_key(x):
    for k in range(20):
        try:
            x = x * {0: 0.5, 19: 2.0}[k] if x > 0.0 else x
        except KeyError:
            x = x + 0.25
    return x


@pytest.mark.parametrize("f", [of_globals, writes_its_keys, misses_a_key], ids=lambda f: f.__name__)
def test_what_is_looked_up_may_change(f, monkeypatch):
    compiled = wg.compile(f, native=False)
    for x in (0.3, 2.0, -1.0):
        assert compiled(x) == pytest.approx(f(x), rel=1e-12)
    for name, key, new in [(LATE, 3, 0.1), (LATE, 11, 3.0), (STEPS, "at", [4, 17])]:
        monkeypatch.setitem(name, key, new)
        assert compiled(0.3) == pytest.approx(f(0.3), rel=1e-12)


NONES, FAR = {0: None, 2: None, 4: None, 6: None, 8: None, 10: None}, {10**400}


def reads_nothing(x, first):
    for k in range(3):
        x = x * 0.9 if x > 0.5 or k in FAR else x + 0.1
        x = x if NONES[2 * k + first] else x * 1.1
    return x


def test_an_absent_key_is_not_one_of_none():
    compiled = wg.compile(reads_nothing, native=False, strict=True)
    for first in (0, 2, 4, 6, 0):
        assert compiled(0.3, first) == pytest.approx(reads_nothing(0.3, first), rel=1e-12)
    with pytest.raises(KeyError):
        compiled(0.3, 1)
