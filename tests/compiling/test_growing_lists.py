"""Lists to which a loop appends any number of items: one trace serves each number of them."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.watched import growing_lists

POINTS = [np.array(p) for p in ([9.0, 0.7], [9.5, 0.72], [30.0, 0.75], [3.0, 0.6], [50.0, 0.8], [12.0, 0.7])]
FEW = [*POINTS[:3], np.array([1.2, 0.5]), np.array([0.5, 0.7]), *POINTS[3:]]
"""Points with one item and with none among them."""


def decay(p):
    x, xs = p[0], []
    while x > 1.0:
        x = x * p[1]
        xs.append(x)
    return xs, x


def matched(xs, x):
    match xs:
        case []:
            return x * 5
        case [a]:
            return a * 7
        case [a, _, *more]:
            return a * len(more)


def popped(xs):
    total = 0.0
    while xs:
        total = 0.5 * total + xs.pop()
    return total


def first_below(xs, bound):
    for k, v in enumerate(xs):
        if v < bound:
            break
    else:
        return xs[-1] * 10
    return v * k


def in_turn(xs):
    total = 0.0
    for k in range(1, len(xs)):
        total = 0.9 * total + xs[k] * xs[k - 1]
    return total


def gaps(xs):
    steps = [b - a for a, b in zip(xs[:-1], xs[1:], strict=True)]  # noqa: RUF007
    return sum(steps) / len(steps)


def changed(change, xs):
    change(xs)
    return np.sum(np.array(xs)) * len(xs)


@dataclasses.dataclass
class Record:
    xs: list


READ: dict[str, Callable[..., Any]] = {
    "array": lambda xs, x, p: np.sum(np.array(xs) ** 2),
    "mean": lambda xs, x, p: np.mean(xs) + np.std(xs) + np.linalg.norm(xs),
    "sum": lambda xs, x, p: sum(xs),
    "largest": lambda xs, x, p: max(xs) + 2 * min(xs),
    "last": lambda xs, x, p: xs[-1] ** 2 + xs[-3],
    "first": lambda xs, x, p: xs[0] ** 2 + xs[2],
    "length": lambda xs, x, p: xs[-1] / len(xs) + np.array(xs).shape[0] * x,
    "truth": lambda xs, x, p: xs[-1] if xs else p[0] * 3,
    "loop": lambda xs, x, p: in_turn(xs),
    "comprehension": lambda xs, x, p: sum([v * v for v in xs]),
    "numbered": lambda xs, x, p: sum([a * k for k, a in enumerate(xs)]),
    "indexed": lambda xs, x, p: sum([xs[k] * k for k in range(len(xs))]),
    "pairs": lambda xs, x, p: sum([a * b for a, b in zip(xs, xs[1:])]),  # noqa: B905, RUF007
    "gaps": lambda xs, x, p: gaps(xs),
    "slices": lambda xs, x, p: np.sum((np.array(xs[1:]) - np.array(xs[:-1])) ** 2),
    "differences": lambda xs, x, p: np.sum(np.diff(xs) ** 2) + np.trapezoid(xs, dx=0.1),
    "running": lambda xs, x, p: np.sum(np.cumsum(xs) ** 2),
    "joined": lambda xs, x, p: np.sum(np.concatenate([xs, [1.0]]) ** 2),
    "between": lambda xs, x, p: np.interp(2.0, -np.array(xs), np.array(xs) ** 2) + np.interp(-2.0, -np.array(xs), xs),
    "first_below": lambda xs, x, p: first_below(xs, 2.0),
    "record": lambda xs, x, p: np.sum(np.array(dataclasses.replace(Record(xs)).xs)) * len(xs),
    "one_more": lambda xs, x, p: changed(lambda xs: xs.append(p[0]), xs),
    "zeros": lambda xs, x, p: np.sum((np.zeros(len(xs)) + x) * np.array(xs)),
}
"""Ways to read a list that need one trace."""
OF_ONE_LENGTH: dict[str, Callable[..., Any]] = {
    "sorted": lambda xs, x, p: sorted(xs)[1],
    "reversed": lambda xs, x, p: [*reversed(xs)][1] * len(xs[::-1]),
    "each_second": lambda xs, x, p: xs[::2][-1] * len(xs[-2:]),
    "starred": lambda xs, x, p: np.sum(np.array([*xs, 1.0]) ** 2) * len([*xs]),
    "unpacked": lambda xs, x, p: (lambda a, *b: a * len(b))(*xs),
    "added": lambda xs, x, p: x * len(xs + [1.0]) * len(xs * 2),
    "copied": lambda xs, x, p: x * len(xs.copy()) * len([*xs]) + copy.copy(xs)[1],
    "deeply_copied": lambda xs, x, p: np.sum(np.array(copy.deepcopy(xs))),
    "tuple": lambda xs, x, p: x * len(tuple(xs)) + next(iter(xs)),
    "popped": lambda xs, x, p: xs.pop() + xs.pop(0) + x * len(xs),
    "inserted": lambda xs, x, p: changed(lambda xs: xs.insert(0, p[0]), xs),
    "extended": lambda xs, x, p: changed(lambda xs: xs.extend([p[0], p[1]]), xs),
    "replaced": lambda xs, x, p: changed(lambda xs: xs.__setitem__(0, p[0] * 3), xs),
    "replaced_slice": lambda xs, x, p: changed(lambda xs: xs.__setitem__(slice(2), [x]), xs),
    "deleted": lambda xs, x, p: changed(lambda xs: xs.__delitem__(0), xs),
    "cleared": lambda xs, x, p: x * 2 + changed(lambda xs: xs.clear(), xs),
    "compared": lambda xs, x, p: x if xs == [] or xs == xs[1:] else 2 * x,
    "found": lambda xs, x, p: x * xs.index(x) + (x if 3.0 in xs else 2 * x),
    "printed": lambda xs, x, p: x * len(f"{len(xs)}") if repr(xs) else x * 2,
    "folded": lambda xs, x, p: functools.reduce(lambda a, b: 0.5 * a + b, xs),
    "iterated": lambda xs, x, p: next(iter(xs)) * 2 + sum(itertools.chain(xs, [1.0])),
    "last_three": lambda xs, x, p: sum(deque(xs, 3)) + [*itertools.accumulate(xs)][-1],
    "mapped": lambda xs, x, p: sum(v * v for v in xs) + sum(filter(lambda v: v > 2.0, xs)),
    "generated": lambda xs, x, p: sum(v * v for v in xs) if any(v > 5.0 for v in xs) else x,
    "table": lambda xs, x, p: np.sum(np.array([xs, xs]) ** 2) + np.median(xs),
    "counts": lambda xs, x, p: np.sum(np.linspace(0, 1, len(xs)) * np.array(xs) * np.arange(len(xs))),
    "matched": lambda xs, x, p: matched(xs, x),
    "emptied": lambda xs, x, p: popped(xs),
    "identity": lambda xs, x, p: x * 2 if xs[-1] is x else x * 3,
    "type": lambda xs, x, p: x * 2 if bool(xs) and type(xs[-1]) is np.float64 and isinstance(xs[0], float) else x * 3,
    "caught": lambda xs, x, p: item_or(xs, 6, x),
}
"""Ways that need a trace for each length, and those that no trace serves."""


def item_or(xs, k, x):
    try:
        return xs[k] * 2
    except IndexError:
        return x * 5


def differences(f: Callable[[np.ndarray], Any], p: np.ndarray) -> np.ndarray:
    """Richardson differences of a function, whose loops run as often at all points near `p`."""

    def slope(k: int, h: float) -> Any:
        step = h * np.eye(len(p))[k]
        return (f(p + step) - f(p - step)) / (2 * h)

    return np.array([(4 * slope(k, 5e-6) - slope(k, 1e-5)) / 3 for k in range(len(p))])


def outcome(f: Callable[[np.ndarray], Any], p: np.ndarray) -> Any:
    """Return what a function returns, or the type of the error that it raises."""
    try:
        return f(p.copy())
    except Exception as error:
        return type(error)


def check(f: Callable[[np.ndarray], Any], points: list[np.ndarray]) -> str:
    """Compare the value and gradient of a compiled function at points; return the title of its explanation."""
    compiled = wg.compile(wg.value_and_grad(f), native=False, quiet=True)
    for p in points:
        found, plain = outcome(compiled, p), outcome(f, p)
        if isinstance(plain, type) or not isinstance(found, tuple):
            assert found is (plain if isinstance(plain, type) else outcome(wg.value_and_grad(f), p))
            continue
        assert isinstance(found[0], type(plain))
        np.testing.assert_allclose(found[0], plain, rtol=1e-13)
        if np.isnan(plain):
            continue
        np.testing.assert_allclose(found[1], differences(f, p), rtol=1e-6, atol=1e-6)
    title: str = compiled.explain().splitlines()[0]
    return title


@pytest.mark.filterwarnings("ignore::wengert.NoPathWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", READ)
def test_one_trace_serves_a_list_of_any_length(name):
    def f(p):
        xs, x = decay(p)
        return READ[name](xs, x, p)

    assert "1 trace" in check(f, POINTS)
    check(f, FEW)


@pytest.mark.filterwarnings("ignore::wengert.NoPathWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OF_ONE_LENGTH)
def test_other_uses_of_a_list_have_their_meaning(name):
    def f(p):
        xs, x = decay(p)
        return OF_ONE_LENGTH[name](xs, x, p)

    check(f, FEW)


def some_branches(p):
    x, xs, ys = p[0], [], [1.0]
    for k in range(40):
        x = x * p[1] if x > 1.0 else x * 3.0
        if x > 2.0:
            xs.append(x)
        elif x < 1.2:
            ys.append(x * k)
    return np.sum(np.array(xs) ** 2) + np.sum(np.array(ys)) + len(ys) * x


def until_a_break(p):
    x, xs = p[0], [p[0]]
    for k in range(100):
        x = x * p[1]
        xs.append(x)
        if abs(xs[-1] - xs[-2]) < 1e-2:
            break
    return np.sum(np.array(xs) ** 2) + k * x


def rows(p):
    x, xs = np.array([p[0], p[1]]), []
    while x[0] > 1.0:
        x = np.array([x[0] * p[1], x[1] + x[0] * 0.1])
        xs.append(x)
    table = np.array(xs)
    return np.sum(table[:, 0] * table[:, 1]) + table[-1, 0] + xs[-1][1] + sum([row[0] * 0.1 for row in xs])


def copies_of_rows(p):
    x, xs = np.array([p[0], p[1]]), []
    while x[0] > 1.0:
        x[0] *= p[1]
        xs.append(x.copy())
    return np.sum(np.array(xs)[:, 0])


class Simulation:
    def __init__(self, p):
        self.p, self.x, self.history, self.n = p, p[0], [], 0

    def step(self):
        self.x = self.x * self.p[1]
        self.history.append(self.x)
        self.n += 1


def an_object(p):
    simulation = Simulation(p)
    while simulation.x > 1.0:
        simulation.step()
    return np.sum(np.array(simulation.history) ** 2) + simulation.n * simulation.x


def a_dictionary(p):
    history, x = {"x": [], "y": []}, p[0]
    while x > 1.0:
        x = x * p[1]
        history["x"].append(x)
        history["y"].append(x * x)
    return np.sum(np.array(history["x"]) * np.array(history["y"]))


def two_loops(p):
    x, xs = p[0], []
    while x > 1.0:
        x = x * p[1]
        xs.append(x)
    x = p[0] * 2
    while x > 1.5:
        x = x * p[1] * 0.9
        xs.append(x)
    return np.sum(np.array(xs) ** 2) * len(xs)


def newton_in_each(p):
    xs, t = [], 0.0
    while t < 1.0:
        x = p[0]
        for _ in range(30):
            x = 0.5 * (x + p[0] / x)
            if abs(x * x - p[0]) < 1e-8:
                break
        t = t + 0.1 * p[1]
        xs.append(x * t)
    return np.mean(np.array(xs))


def two_types(p):
    x, xs = p[0], [1.0]
    while x > 1.0:
        x = x * p[1]
        xs.append(float(x))
    return xs[0] + xs[-1] * 2 + xs[1]


def interpolated(p):
    t, x, ts, xs = 0.0, p[0], [0.0], [p[0]]
    while x > 1.0:
        h = 0.1 + 0.05 * p[1]
        t, x = t + h, x * (1.0 - h)
        ts.append(t)
        xs.append(x)
    ts, xs = np.array(ts), np.array(xs)
    return np.sum(np.interp(np.linspace(0.0, ts[-1], 6), ts, xs) ** 2) + np.trapezoid(xs, ts)


def chosen(p):
    x = p[0] * np.cos(np.arange(30.0) * p[1])
    large = [v for v in x if v > 0.3]
    return np.sum(np.array(large) ** 2) / len(large)


def pairs(p):
    x, n, found = p[0], 0, []
    while x > 1.0:
        x = x * p[1]
        n += 1
        found.append((n * 0.1, x))
    return sum([t * v for t, v in found])


def counted_pairs(p):
    x, n, found = p[0], 0, []
    while x > 1.0:
        x = x * p[1]
        n += 1
        if x < 5.0:
            found.append((n, x))
    return sum([WEIGHTS[k] * v / k for k, v in found]) + np.sum(np.array(found)[:, 1]) * found[-1][0]


def lists_of_numbers(p):
    x, states = p[0], [[0.0, p[0]]]
    while x > 1.0:
        x = x * p[1]
        states.append([states[-1][0] + 0.1, x])
    t = np.array(states)[:, 0]
    return np.trapezoid([row[1] for row in states], t) + sum([b[1] * a[0] for a, b in zip(states[:-1], states[1:])])  # noqa: B905, RUF007


def two_at_once(p):
    x, xs = p[0], []
    while x > 1.0:
        x = x * p[1]
        xs.extend([x, x * x])
        xs += [x * 0.5]
    return np.sum(np.array(xs) ** 2) + len(xs) * x


def numbers_of_steps(p):
    x, n, found = p[0], 0, []
    while x > 1.0:
        x = x * p[1]
        n += 1
        found.append(n)
    return x * found[-1] + sum(found) * x + WEIGHTS[found[0]] * x


WEIGHTS = np.sin(np.arange(40.0))
ONE_TRACE = [
    pairs, counted_pairs, lists_of_numbers, two_at_once, numbers_of_steps,
    some_branches, until_a_break, rows, copies_of_rows, an_object, a_dictionary, two_loops, newton_in_each, two_types,
    interpolated, chosen,
]  # fmt: skip


@pytest.mark.parametrize("f", ONE_TRACE)
def test_one_trace_serves_a_loop_that_appends(f):
    assert "1 trace" in check(f, POINTS)


def written_in_place(p):
    x, xs = np.array([p[0], p[1]]), []
    while x[0] > 1.0:
        x[0] *= p[1]
        xs.append(x)
    return np.sum(np.array(xs)[:, 0] * np.array(xs)[:, 1])


def written_later(p):
    x, xs = np.array([p[0], p[1]]), []
    while x[0] > 1.0:
        x = x * p[1]
        xs.append(x)
    x[0] = p[0] * p[0]
    return np.sum(np.array(xs))


def written_through_the_list(p):
    x, xs = np.array([p[0], p[1]]), []
    while x[0] > 1.0:
        x = x * p[1]
        xs.append(x)
    xs[-1][0] = p[0] * 3
    return np.sum(np.array(xs)) + x[0]


def row_identity(p):
    x, xs = np.array([p[0], p[1]]), []
    while x[0] > 1.0:
        x = x * p[1]
        xs.append(x)
    return np.sum(x) if xs[-1] is x else 2 * np.sum(x)


def read_as_it_grows(p):
    x, xs = p[0], [p[0]]
    while x > 1.0:
        x = x * p[1] + 0.01 * np.mean(np.array(xs[-3:])) + 0.001 * sum(xs) / len(xs)
        xs.append(x)
    return np.sum(np.array(xs))


def appended_as_it_is_read(p):
    xs, x = decay(p)
    for v in xs:
        if len(xs) < 12:
            xs.append(v * 0.5)
    return np.sum(np.array(xs)) + x


def row_written_in_place(p):
    x, row, rows_found = p[0], [0.0, 0.0], []
    while x > 1.0:
        x = x * p[1]
        row[0], row[1] = x, 2 * x
        rows_found.append(row)
    return np.sum(np.array(rows_found) ** 2)


def row_written_later(p):
    x, rows_found = p[0], []
    while x > 1.0:
        x = x * p[1]
        row = [x, x * 2]
        rows_found.append(row)
    row[0] = p[0]
    return np.sum(np.array(rows_found) ** 2)


def row_written_through_the_list(p):
    x, rows_found = p[0], []
    while x > 1.0:
        x = x * p[1]
        rows_found.append([x, x * 2])
    rows_found[-1][1] = p[0] * 3
    return np.sum(np.array(rows_found) ** 2)


def rows_of_two_lengths(p):
    x, n, rows_found = p[0], 0, []
    while x > 1.0:
        x = x * p[1]
        n += 1
        rows_found.append([x] * (1 + n % 2))
    return sum([sum(row) for row in rows_found])


def a_list_in_each(p):
    total = 0.0
    for k in range(8):
        x, xs = p[0] + k, []
        while x > 1.0:
            x = x * p[1]
            xs.append(x)
        total = total + np.sum(np.array(xs)) * len(xs)
    return total


@pytest.mark.parametrize(
    "f",
    [
        written_in_place, written_later, written_through_the_list, row_identity, read_as_it_grows,
        appended_as_it_is_read, row_written_in_place, row_written_later, row_written_through_the_list,
        rows_of_two_lengths, a_list_in_each,
    ],
)  # fmt: skip
def test_lists_that_may_not_grow_on_the_tape_keep_their_meaning(f):
    check(f, POINTS)


def test_a_list_that_is_returned():
    g = wg.value_and_grad(lambda p: decay(p)[::-1], has_aux=True)
    compiled = wg.compile(g, native=False)
    for p in FEW:
        (value, xs), slope = outcome(compiled, p)
        assert [value, *xs] == [decay(p)[1], *decay(p)[0]]
        np.testing.assert_allclose(slope, differences(lambda p: decay(p)[1], p), rtol=1e-6)


def test_a_list_from_outside_is_appended_to():
    log: list[float] = []

    def f(p):
        x = p[0]
        while x > 1.0:
            x = x * p[1]
            log.append(float(len(log)))
        return x

    compiled = wg.compile(wg.value_and_grad(f), native=False, quiet=True)
    for p in POINTS:
        log.clear()
        value, _ = compiled(p)
        found = [*log]
        log.clear()
        assert value == f(p)
        assert found == log


def test_a_list_beyond_its_room_is_traced_again(monkeypatch):
    monkeypatch.setattr(growing_lists, "LEAST_ROOM", 4)

    def f(p):
        xs, x = decay(p)
        return np.sum(np.array(xs) ** 2) + len(xs) * x

    check(f, [np.array([3.0, 0.6]), *POINTS])
