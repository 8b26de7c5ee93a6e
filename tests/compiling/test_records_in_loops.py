"""Loops over lists of dictionaries or objects: one trace serves other branches, and nothing tells stand-ins apart."""

from __future__ import annotations

import copy
import json
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.loops import lowering

N = 20
W = np.array([1.3, -0.9, 1.6])
SCALES = (1.0, -1.0, 0.2, 2.5)


@pytest.fixture(autouse=True)
def bugs_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    def raised(error: Exception) -> None:
        raise error

    monkeypatch.setattr(lowering, "warn_of_bug", raised)


def penalty(r: Any) -> Any:
    return r * r if abs(r) < 0.8 else 1.6 * abs(r) - 0.64


class Cell:
    """An object with parts of all kinds."""

    rate = 0.5

    def __init__(self, x: float, group: int, is_old: bool, row: np.ndarray, name: str, shared: Any) -> None:
        self.x, self.group, self.is_old, self.row, self.name, self.shared = x, group, is_old, row, name, shared

    @property
    def twice(self) -> float:
        return 2.0 * self.x

    def loss(self, w: Any) -> Any:
        r = penalty(0.3 * self.twice * w[0] + 0.2 * self.row @ w) * self.rate
        return r * self.shared if self.is_old else r - w[self.group]


class Disc:
    """An object of one class."""

    def __init__(self, r: float) -> None:
        self.r = r

    def area(self, w: Any) -> Any:
        return penalty(3.0 * self.r * w[0])


class Box:
    """An object of another."""

    def __init__(self, a: float, b: float) -> None:
        self.a, self.b = a, b

    def area(self, w: Any) -> Any:
        return self.a * w[1] * penalty(self.b * w[2])


@dataclass
class Point:
    """A dataclass, which compares its fields."""

    x: float
    y: float


class Car:
    def __init__(self, x: float) -> None:
        self.x, self.v = x, 5.0


def ring(w, x):
    """Cars on a ring, each of which follows the next one."""
    cars, err = [Car(each) for each in x], 0.0
    for _ in range(25):
        steps = []
        for i, car in enumerate(cars):
            gap = cars[(i + 1) % len(cars)].x - car.x
            if gap < 0.0:
                gap = gap + 300.0
            steps.append(w[0] * gap - w[1] * car.v)
        for car, step in zip(cars, steps, strict=True):
            v = car.v + 0.1 * step
            if v < 0:
                v = 0.0
            car.v = v
            car.x = car.x + 0.1 * v
            if car.x > 300.0:
                car.x -= 300.0
        err += cars[0].v ** 2
    return err


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_parts_of_loops_results_at_counters():
    x, w = np.linspace(1.0, 290.0, 16).tolist(), np.array([0.3, 0.7])
    compiled = wg.compile(wg.value_and_grad(ring), native=False)
    for scale in (1.0, 1.1):
        value, slope = compiled(scale * w, x)
        steps = 1e-6 * np.eye(2)
        expected = [(ring(scale * w + h, x) - ring(scale * w - h, x)) / 2e-6 for h in steps]
        assert np.isclose(value, ring(scale * w, x), rtol=1e-12)
        np.testing.assert_allclose(slope, expected, rtol=1e-6)


def made() -> dict[str, Any]:
    """Return lists of dictionaries and objects."""
    r = np.random.default_rng(1)
    x, group, is_old = r.normal(size=N).tolist(), r.integers(0, 3, N).tolist(), (r.random(N) < 0.5).tolist()
    rows, names, shared = list(r.normal(size=(N, 3))), [f"cell {k}" for k in range(N)], 0.75
    cells = [Cell(*parts, shared) for parts in zip(x, group, is_old, rows, names, strict=True)]
    return {
        "records": [{"x": c.x, "group": c.group, "old": c.is_old, "row": c.row, "name": c.name} for c in cells],
        "numbers": [{"x": c.x, "y": float(k), "old": c.is_old} for k, c in enumerate(cells)],
        "cells": cells,
        "points": [Point(c.x, float(c.row[0])) for c in cells],
        "events": [
            {"type": "dose", "amount": c.x}
            if k % 4 == 0
            else {"type": "rest"}
            if k % 7 == 3
            else {"type": "sample", "y": c.x, "limit": None if k % 3 else 0.5 + k}
            for k, c in enumerate(cells + cells)
        ],
        "shapes": [Disc(c.x) if c.is_old else Box(c.x, float(c.row[0])) for c in cells],
        "labels": [("abc"[k % 3], c.x) for k, c in enumerate(cells)],
        "seen": [],
    }


def dictionaries(w, d):
    s = 0.0
    for r in d["records"]:
        t = penalty(r["x"] * w[0] + r["row"] @ w)
        s += t if r["old"] else t * w[r["group"]]
    return s


def got(w, d):
    return sum(penalty(r.get("x") * w[0]) + r.get("missing", 0.25) * w[1] for r in d["numbers"])


def merged(w, d):
    s = 0.0
    for r in d["numbers"]:
        q = {**r, "y": r["y"] + 1.0}
        s += penalty(q["x"] * w[0]) + 0.01 * q["y"] * w[1]
    return s


def term(w, x, y, old):
    return penalty(x * w[0]) - (0.1 * y * w[1] if old else 0.0)


def as_keywords(w, d):
    return sum([term(w, **r) for r in d["numbers"]])


def walked(w, d):
    s = 0.0
    for r in d["numbers"]:
        for key, value in r.items():
            s += penalty(value * w[0]) if key == "x" else 0.0
        for key in r:
            s += penalty(r["x"] * w[1]) if key == "y" else 0.0
        s += len(r) * penalty(r["x"] * w[2]) * ("x" in r.keys())
    return s


def objects(w, d):
    return sum(c.loss(w) for c in d["cells"])


def enumerated(w, d):
    s = 0.0
    for k, (c, r) in enumerate(zip(d["cells"], d["records"], strict=True)):
        s += penalty(c.x * w[0] - r["x"] * w[1] + 0.1 * k)
    return s


def nested(w, d):
    s = 0.0
    for t in (0.5, 1.0, 1.5, 2.0, 0.7, 0.2, 0.9, 1.1, 1.3, 0.4, 0.8, 0.3):
        for c in d["cells"]:
            s += penalty(t * c.x * w[0] - c.twice * w[1]) * (0.3 if c.is_old else 1.0)
    return s


def paired(w, d):
    s = 0.0
    for i in range(N):
        for j in range(N):
            a, b = d["points"][i], d["points"][j]
            if i != j:
                s += penalty((a.x - b.x) * w[0]) * penalty((a.y - b.y) * w[1])
    return s


def kept(w, d):
    s, best = 0.0, None
    for r in d["numbers"]:
        if best is None or r["x"] * w[0] > best["x"] * w[0]:
            best = r
        s += penalty(r["x"] * w[1])
    return s + best["x"] * w[2]


def of_class(w, d):
    s = 0.0
    for c in d["cells"]:
        s += penalty(c.x * w[0]) if isinstance(c, Cell) and type(c) is Cell and c is not None else w[1]
    return s


def events(w, d):
    s = 0.0
    for e in d["events"]:
        if "amount" in e and "y" not in e:
            s = 0.9 * s + e["amount"] * w[0]
        elif e["type"] == "sample":
            s = s + penalty(s - e["y"] * w[1]) * (1.0 if e["limit"] is None else e["limit"])
        else:
            s = s * 0.5
    return s


def shapes(w, d):
    return sum(shape.area(w) for shape in d["shapes"])


def labels(w, d):
    s, weights = 0.0, {"a": w[0], "b": w[1], "c": 0.5}
    for label, x in d["labels"]:
        s += penalty(x * weights[label]) if label != "c" else x * w[2]
    return s


def by_inner_generator(w, d):
    def loss(r):
        eta = sum(b * r[name] for b, name in zip(w, ("x", "y"), strict=False))
        return penalty(0.1 * eta) if r["old"] else 0.5 * eta

    return sum(loss(r) for r in d["numbers"])


FREED = [
    by_inner_generator,
    dictionaries,
    got,
    merged,
    as_keywords,
    walked,
    objects,
    enumerated,
    nested,
    of_class,
    events,
    shapes,
    labels,
]


# -- what would tell a stand-in from the record, or change either


def first_by_name(w, d):
    s, first = 0.0, d["numbers"][3]
    for r in d["numbers"]:
        if r["x"] * w[0] > 0.3:
            s += first["x"] * w[1] + d["numbers"][5]["x"] * w[2]
        s += penalty(r["x"] * w[0])
    return s


def identical(w, d):
    s, first = 0.0, d["cells"][2]
    for c in d["cells"]:
        if c.x * w[0] > 0.0 and c is first:
            s += w[1]
        s += penalty(c.x * w[0])
    return s


def found(w, d):
    s = 0.0
    for c in d["cells"]:
        s += penalty(c.x * w[0]) * d["cells"].index(c) + (c in d["cells"][:3])
    return s


def hashed(w, d):
    weights = {c: k for k, c in enumerate(d["cells"])}
    return sum(penalty(c.x * w[0]) * weights[c] for c in d["cells"])


def compared(w, d):
    s = 0.0
    for p in d["points"]:
        s += penalty(p.x * w[0]) + (p == d["points"][4]) + (p == Point(p.x, p.y))
    return s


def equal(w, d):
    s = 0.0
    for r in d["numbers"]:
        s += penalty(r["x"] * w[0]) + (r == d["numbers"][4]) + bool(r)
    return s


def printed(w, d):
    s = 0.0
    for r, c in zip(d["numbers"], d["cells"], strict=True):
        s += penalty(r["x"] * w[0]) * len(json.dumps(r)) + len(f"{r}") + len(str(vars(c)))
    return s


def named(w, d):
    weights = {c.name: 0.1 * k for k, c in enumerate(d["cells"])}
    return sum(penalty(c.x * w[0]) * weights[c.name] for c in d["cells"])


def stored(w, d):
    s = 0.0
    for r, c in zip(d["records"], d["cells"], strict=True):
        if r["x"] > 0.0:
            d["seen"] += [r, c]
        s += penalty(r["x"] * w[1])
    return s


def updated(w, d):
    s = 0.0
    for c in d["cells"]:
        c.x = 0.5 * c.x + 0.1
        s += penalty(c.x * w[1])
    return s


def written(w, d):
    s = 0.0
    for r in d["numbers"]:
        if r["x"] > 0.4:
            r["x"] = 0.4
        s += penalty(r["x"] * w[1])
    return s


def moved(w, d):
    s = 0.0
    for k, c in enumerate(d["cells"]):
        s += penalty(c.x * w[1])
        if k + 2 < N:
            d["cells"][k + 2].x = 0.1 * k
    return s


def copied(w, d):
    s = 0.0
    for c, r in zip(d["cells"], d["numbers"], strict=True):
        c, r = copy.copy(c), copy.copy(r)
        c.x, r["x"] = c.x + 1.0, 2.0 * r["x"]
        s += penalty(c.x * w[0]) + penalty(r["x"] * w[1])
    return s


def optional(w, d):
    s = 0.0
    for c in d["cells"]:
        if c.x * w[0] > 0.2 and hasattr(c, "bonus"):
            s += c.bonus * w[1]
        s += penalty(c.x * w[0]) * getattr(c, "rate", 2.0)
    return s


def broken_off(w, d):
    s = 0.0
    for c in d["cells"]:
        s += penalty(c.x * w[0])
        if s > 6.0:
            break
    return s * c.x + c.twice * w[1] + d["cells"][4].x * w[2]


def returned(w, d):
    s, best = 0.0, d["cells"][0]
    for c in d["cells"]:
        if c.x * w[0] > 0.5:
            best = c
        s += penalty(c.x * w[0])
    d["seen"].append(best)
    return s


class Holder:
    """An object that keeps another."""

    def __init__(self, kept: Any) -> None:
        self.kept = kept


def held_deep(w, d):
    s, holders = 0.0, []
    for c in d["cells"]:
        if c.x * w[0] > 0.5:
            holders.append(Holder([c]))
        s += penalty(c.x * w[0])
    d["seen"].extend([holder.kept[0] for holder in holders])
    return s + (holders[-1].kept[0].x * w[1] if holders else 0.0)


def by_closure(w, d):
    s, later = 0.0, []
    for c in d["cells"]:
        later.append(lambda v, c=c: penalty(c.x * v))
        s += penalty(c.x * w[0])
    return s + sum(f(w[1]) for f in later)


def in_generator(w, d):
    def kept():
        for c in d["cells"]:
            if c.x * w[0] > 0.1:
                yield c

    return sum(penalty(c.x * w[1]) for c in kept())


def sorted_by(w, d):
    s = 0.0
    for r, c in zip(sorted(d["numbers"], key=lambda r: r["x"]), reversed(d["cells"]), strict=True):
        s += penalty(r["x"] * w[0]) - penalty(c.x * w[1])
    return s


def raised(w, d):
    s = 0.0
    for c in d["cells"]:
        try:
            if c.x * w[0] > 0.2:
                raise ValueError(c)
            s += penalty(c.x * w[0])
        except ValueError as error:
            s += error.args[0].x * w[1]
    return s


def got_by_c(w, d):
    get = operator.attrgetter("x")
    return sum(penalty(get(c) * w[0]) + penalty(operator.itemgetter("x")(c.__dict__) * w[1]) for c in d["cells"])


OTHERS = [
    paired, kept, first_by_name, identical, found, hashed, compared, equal, printed, named, stored, updated, written,
    moved, copied, optional, broken_off, got_by_c, returned, held_deep, by_closure, in_generator, sorted_by, raised,
]  # fmt: skip


def contents(d: dict[str, Any]) -> Any:
    """Return what the data hold, and which records are those that were seen."""
    rows = [[*vars(c).items()] for c in d["cells"]]
    ids = {id(thing): k for k, thing in enumerate([*d["records"], *d["cells"]])}
    return repr((rows, d["records"], d["numbers"], d["points"])), [ids[id(thing)] for thing in d["seen"]]


def check(f: Callable[..., Any], compiled: Any, w: np.ndarray, d: dict[str, Any]) -> None:
    """Check a value, its gradient by differences, and what the call leaves in the data."""
    plain, ours = copy.deepcopy(d), copy.deepcopy(d)
    value, w_bar = compiled(w, ours)
    assert value == pytest.approx(f(w, plain), rel=1e-12)
    assert contents(ours) == contents(plain)
    steps = 1e-6 * np.eye(3)
    differences = [(f(w + h, copy.deepcopy(d)) - f(w - h, copy.deepcopy(d))) / 2e-6 for h in steps]
    np.testing.assert_allclose(w_bar, differences, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("f", [*FREED, *OTHERS], ids=lambda f: f.__name__)
def test_loops_over_records_are_those_of_python(f: Any) -> None:
    d = made()
    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for scale in SCALES:
        check(f, compiled, scale * W, d)
    if f in FREED:
        assert "takes either branch" in compiled.explain()
        assert compiled.explain().splitlines()[0].endswith(", 1 trace")
    for c, r, q in zip(d["cells"], d["records"], d["numbers"], strict=True):
        c.x, r["x"], q["x"] = c.x + 0.3, 0.5 - r["x"], q["x"] * 0.7
    d["records"][3]["old"] ^= True
    d["cells"][5].is_old, d["cells"][6].group = not d["cells"][5].is_old, (d["cells"][6].group + 1) % 3
    check(f, compiled, W, d)
    d["cells"][7].rate, d["cells"][8].shared, d["cells"][2].row = 3.0, 1.25, np.array([1.0, 2.0, -1.0])
    d["cells"][9].bonus = 1.0
    d["events"][6], d["events"][1]["limit"], d["labels"][2] = d["events"][0], 0.3, ("a", 0.4)
    d["shapes"][3], d["shapes"][4] = d["shapes"][4], d["shapes"][3]
    d["records"][1]["more"], d["numbers"][4] = 2.0, {**d["numbers"][5]}
    check(f, compiled, 0.9 * W, d)
    check(f, compiled, -0.5 * W, d)


def merge(r: dict[str, Any], x: Any) -> None:
    r |= {"x": x}


def update(r: dict[str, Any], x: Any) -> None:
    dict.update(r, {"x": x})


def set_by_operator(r: dict[str, Any], x: Any) -> None:
    operator.setitem(r, "x", x)


def set_by_map(r: dict[str, Any], x: Any) -> None:
    list(map(r.__setitem__, ["x"], [x]))


def set_by_loop(r: dict[str, Any], x: Any) -> None:
    for r["x"] in [x]:
        pass


def pop(r: dict[str, Any], x: Any) -> None:
    r.pop("x")
    r["x"] = x


WRITES = [merge, update, set_by_operator, set_by_map, set_by_loop, pop]


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("reads_real", [True, False])
@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__)
def test_a_write_into_a_record_that_is_undone_is_seen(write: Any, reads_real: bool) -> None:
    """Under another name than that of the loop, be it written under the one and read under the other."""
    records = [{"x": float(x)} for x in np.random.default_rng(2).normal(size=N)]

    def f(w):
        s, k = 0.0, 0
        for r in records:
            one, other = (r, records[k]) if reads_real else (records[k], r)
            x = r["x"]
            write(one, 2.0 * w[1])
            s = s + penalty(other["x"] * w[0]) + sum({**r}.values()) * w[2] + r["x"]
            write(one, x)
            k = k + 1
        return s

    compiled = wg.compile(f, quiet=True, native=False)
    for scale in SCALES:
        assert compiled(scale * W) == pytest.approx(f(scale * W), rel=1e-12)


class Strict:
    """An object that compares only with others of its class, and contains numbers."""

    def __init__(self, x: float) -> None:
        self.x = x

    def __eq__(self, other: Any) -> Any:
        return self.x == other.x

    def __contains__(self, number: float) -> bool:
        return number < self.x


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_an_object_is_compared_only_where_the_code_does_so() -> None:
    cells = [Strict(float(x)) for x in np.random.default_rng(3).normal(size=N)]

    def f(w):
        return sum([penalty(c.x * w[0]) + (0.1 in c) for c in cells])

    compiled = wg.compile(f, quiet=True, native=False)
    for scale in SCALES:
        assert compiled(scale * W) == pytest.approx(f(scale * W), rel=1e-12)


class Switch:
    """An object whose attribute is set in passing."""

    def __init__(self, x: float) -> None:
        self.x = x


SETTERS = [setattr, object.__setattr__, lambda c, name, x: c.__dict__.update({name: x})]


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("reads_real", [True, False])
@pytest.mark.parametrize("write", SETTERS, ids=["setattr", "plain setter", "by its dictionary"])
def test_an_attribute_that_is_set_and_put_back_is_seen(write: Any, reads_real: bool) -> None:
    cells = [Switch(float(x)) for x in np.random.default_rng(3).normal(size=N)]

    def f(w):
        s, k = 0.0, 0
        for c in cells:
            one, other = (c, cells[k]) if reads_real else (cells[k], c)
            x = c.x
            write(one, "x", 2.0 * w[1])
            s = s + penalty(other.x * w[0])
            write(one, "x", x)
            k = k + 1
        return s

    compiled = wg.compile(f, quiet=True, native=False)
    for scale in SCALES:
        assert compiled(scale * W) == pytest.approx(f(scale * W), rel=1e-12)


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_parts_of_the_last_record_of_a_branch() -> None:
    data = made()

    def f(w, d):
        s, last, is_old = 0.0, None, False
        for r in d["records"]:
            t = r["x"] * w[0]
            if t > 0.3:
                last, is_old = r["group"], r["old"]
            s += penalty(t)
        return s, (last, is_old)

    compiled = wg.compile(wg.value_and_grad(f, has_aux=True), native=False)
    for xs in (None, 0.7 - 0.1 * np.arange(N)):
        for r, x in zip(data["records"], [] if xs is None else xs.tolist(), strict=False):
            r["x"] = x
        for scale in (1.0, 0.8, -1.0, 1.2, 2.5, 0.1, 0.6, 3.0, -2.0):
            (value, parts), w_bar = compiled(scale * W, data)
            assert value == pytest.approx(f(scale * W, data)[0], rel=1e-12)
            assert parts == f(scale * W, data)[1]
            slope = sum([x * np.clip(2.0 * x * scale * W[0], -1.6, 1.6) for x in [r["x"] for r in data["records"]]])
            np.testing.assert_allclose(w_bar, [slope, 0.0, 0.0])


def test_records_may_be_differentiated() -> None:
    records = [{"x": float(x), "y": 0.5} for x in np.random.default_rng(4).normal(size=N)]

    def f(records):
        s = 0.0
        for r in records:
            s = s + penalty(r["x"] * r["y"])
        return s

    compiled = wg.compile(wg.grad(f), native=False)
    for scale in SCALES:
        given = [{"x": scale * r["x"], "y": r["y"]} for r in records]
        slopes = [2.0 * r["x"] * r["y"] if abs(r["x"] * r["y"]) < 0.8 else 1.6 * np.sign(r["x"]) for r in given]
        got = compiled(given)
        np.testing.assert_allclose([g["x"] for g in got], [t * r["y"] for t, r in zip(slopes, given, strict=True)])
        np.testing.assert_allclose([g["y"] for g in got], [t * r["x"] for t, r in zip(slopes, given, strict=True)])
    assert compiled.explain().splitlines()[0].endswith(", 1 trace")
