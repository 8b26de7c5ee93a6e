"""Loops over lists, comprehensions and generators: one trace serves weights for which they take other branches."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.loops import lowering

N = 24
R = np.random.default_rng(0)
W = np.array([1.3, -0.9, 1.6])


@pytest.fixture(autouse=True)
def bugs_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    def raised(error: Exception) -> None:
        raise error

    monkeypatch.setattr(lowering, "warn_of_bug", raised)


def made() -> dict[str, Any]:
    """Return lists of all kinds of items."""
    r = np.random.default_rng(1)
    floats, ints = r.normal(size=N).tolist(), r.integers(0, 3, N).tolist()
    bools, rows = (r.random(N) < 0.5).tolist(), list(r.normal(size=(N, 3)))
    return {
        "floats": floats,
        "ints": ints,
        "bools": bools,
        "np_bools": [*map(np.bool_, bools)],
        "np_floats": [*map(np.float64, floats)],
        "rows": rows,
        "int_rows": list(r.integers(0, 3, (N, 2))),
        "tuples": [*zip(ints, floats, rows, bools, strict=True)],
        "by_number": dict(enumerate(floats)),
        "array": np.array(floats),
        "names": ["a" if b else "bb" for b in bools],
    }


def penalty(r: Any) -> Any:
    return r * r if abs(r) < 0.8 else 1.6 * abs(r) - 0.64


def floats(w, d):
    s = 0.0
    for v in d["floats"]:
        s = s + penalty(v - w[0])
    return s


def np_floats(w, d):
    s = 0.0
    for v in d["np_floats"]:
        s = s + penalty(v * w[1])
    return s


def ints(w, d):
    s = 0.0
    for i in d["ints"]:
        s = s + penalty(w[i] * (i + 1) - 0.3 * i)
    return s


def compared_ints(w, d):
    s = 0.0
    for i in d["ints"]:
        if i == 1:
            s = s + w[i]
        elif i > 1 and w[0] > 0:
            s = s - w[i] ** 2
        else:
            s = s + penalty(w[i])
    return s


def bools(w, d):
    s = 0.0
    for b, v in zip(d["bools"], d["floats"], strict=True):
        s = s + (penalty(v * w[0]) if b is True else b * w[1] - penalty(v + w[1]))
    return s


def np_bools(w, d):
    s = 0.0
    for b, v in zip(d["np_bools"], d["array"], strict=True):
        s = s + (penalty(v * w[0]) if b else 0.1 * w[2])
    return s


def rows(w, d):
    s = 0.0
    for r in d["rows"]:
        s = s + penalty(r @ w)
    return s


def int_rows(w, d):
    s = 0.0
    for i, j in d["int_rows"]:
        s = s + penalty(w[i] - 2 * w[j])
    return s


def tuples(w, d):
    s = 0.0
    for k, (i, v, r, b) in enumerate(d["tuples"]):
        z = w[i] * v - r @ w + 0.1 * k
        s = s + (penalty(z) if b else z)
    return s


def dictionary(w, d):
    s = 0.0
    for k, v in d["by_number"].items():
        s = s + penalty(w[k % 3] * v)
    return s


def broken_off(w, d):
    s = 0.0
    for v in d["floats"]:
        s = s + penalty(v * w[0])
        if s > 3.0:
            break
    else:
        s = s * 2
    return s


def previous(w, d):
    s, before = 0.0, None
    for v in d["floats"]:
        if before is not None:
            s = s + penalty((v - before) * w[0])
        before = v
    return s + before * w[1]


def blank(w, d):
    s = 0.0
    for v in d["floats"]:
        a = np.empty(2)
        a[0], a[1] = v * w[0], w[1]
        s = s + penalty(a.sum())
    return s


def comprehension(w, d):
    return np.sum(np.array([penalty(v * w[0]) for v in d["array"]]) ** 2)


def listed(w, d):
    return sum([penalty(w[i] * v) for i, v in zip(d["ints"], d["floats"], strict=True)])


def generated(w, d):
    return sum(penalty(v * w[0]) for v in d["array"]) + max(penalty(v + w[1]) for v in d["floats"])


def nested_comprehension(w, d):
    return np.sum(np.array([penalty(u * w[0] + v) for u in d["array"][:6] for v in d["floats"][:5]]))


FREED = [
    floats, np_floats, ints, compared_ints, bools, np_bools, rows, int_rows, tuples, dictionary, previous, blank,
    comprehension, listed, generated,
]  # fmt: skip


def written(w, d):
    s, given = 0.0, [r * w for r in d["rows"]]
    for r in given:
        r *= w
        r[0] += 1.0
        s = s + penalty(r.sum())
    return s + penalty(given[2][0])


def written_outside(w, d):
    s = 0.0
    for r in d["rows"]:
        s = s + penalty(r @ w)
        r[0] = 0.5
    return s


def appended(w, d):
    queue, s = list(d["floats"][:5]), 0.0
    for n, v in enumerate(queue):
        s = s + penalty(v * w[0])
        if n < 4:
            queue.append(v * w[1])
    return s


def replaced(w, d):
    queue, s = list(d["floats"]), 0.0
    for k, v in enumerate(queue):
        s = s + penalty(v * w[0])
        if k + 1 < len(queue) and s > 1:
            queue[k + 1] = w[1] * v
    return s


def keys(w, d):
    s, parts = 0.0, {0: w[0], 1: w[1], 2: w[2]}
    for i, v in zip(d["ints"], d["floats"], strict=True):
        s = s + penalty(parts[i] * v)
    return s


def names(w, d):
    s, parts = 0.0, {"a": w[0], "bb": w[1]}
    for name, v in zip(d["names"], d["floats"], strict=True):
        s = s + penalty(parts[name] * v)
    return s


def identical(w, d):
    s = 0.0
    for r in d["rows"]:
        s = s + penalty(r @ w) + (10 * w[0] if r is d["rows"][3] else 0.0)
    return s


def changed_dictionary(w, d):
    s, parts = 0.0, dict(d["by_number"])
    for v in parts.values():
        s = s + penalty(v * w[0])
        if v > 1.2:
            parts[N - 1] = w[1]
    return s


def appended_last(w, d):
    queue, s = list(d["floats"]), 0.0
    for v in queue:
        s = s + penalty(v * w[0])
        if v == d["floats"][-1] and len(queue) < N + 3:
            queue.append(w[1])
    return s


def pairs(w, d):
    items, s = iter(d["array"]), 0.0
    for a, b in zip(items, items, strict=False):
        s = s + penalty(a * w[0]) * b
    return s


def rest(w, d):
    items, s = enumerate(d["array"]), next(iter(d["floats"]))
    for k, v in items:
        s = s + penalty(v * w[0]) * k
        if v > 1.0:
            break
    return s + next(items, (0, 0.0))[0] * w[1] + sum([v for _, v in items]) * w[2]


def begun(w, d):
    items = iter(d["array"])
    s = next(items) * w[1]
    for v in items:
        s = s + penalty(v * w[0])
    return s


def of_other_length(w, d):
    s = 0.0
    try:
        for a, b in zip(d["floats"], d["array"][:-3], strict=True):
            s = s + penalty(a * w[0]) * b
    except ValueError:
        return s * w[1]
    return s


def identical_pairs(w, d):
    s, one = 0.0, d["tuples"][7]
    for part, again in zip(d["tuples"], d["tuples"], strict=True):
        s = s + penalty(part[1] * w[0]) + (10 * w[0] if part is one else 0.0) + (part is again) * w[1]
    return s + (part is d["tuples"][-1]) * w[2]


def record_lent(w, d):
    parts = [{"x": v * w[0]} for v in d["floats"]]
    s, one = 0.0, parts[7]
    for part in parts:
        before = one["x"]
        one["x"] = before * 2.0
        s = s + penalty(part["x"])
        one["x"] = before
    return s


def best_record_lent(w, d):
    parts = [{"x": v * w[0]} for v in d["floats"]]
    s, best = 0.0, {"x": 0.0 * w[0]}
    for part in parts:
        s = s + penalty(part["x"])
        best = part if part["x"] > best["x"] else best
    before = best.pop("x")
    best.update(x=2.0 * before)
    s = s + sum([part["x"] for part in parts])
    best.update(x=before)
    return s


def int_row_lent(w, d):
    s = 0.0
    given = [r + 1 for r in d["int_rows"]]
    one = given[7]
    for r in given:
        one[0] += 1
        s = s + penalty(r[0] * w[0] + r[1] * w[1])
        one[0] -= 1
    return s


def row_lent(w, d):
    given = [r * w for r in d["rows"]]
    s, one = 0.0, given[7]
    for r in given:
        s = s + penalty(r @ w)
    one *= 2.0
    s = s + sum([r.sum() for r in given])
    one /= 2.0
    return s


OTHERS = [
    identical_pairs, record_lent, best_record_lent, int_row_lent, row_lent,
    broken_off, nested_comprehension, written, written_outside, appended, replaced, keys, names, identical,
    changed_dictionary, appended_last, pairs, rest, begun, of_other_length,
]  # fmt: skip
SCALES = (1.0, -1.0, 0.2, 2.5)


def check(f: Any, compiled: Any, w: np.ndarray, d: dict[str, Any]) -> None:
    """Check a value, its gradient by differences, and what the call leaves in the data."""
    plain, ours = copy.deepcopy(d), copy.deepcopy(d)
    value, w_bar = compiled(w, ours)
    assert value == pytest.approx(f(w, plain), rel=1e-12)
    np.testing.assert_array_equal(ours["rows"], plain["rows"])
    steps = 1e-6 * np.eye(3)
    differences = [(f(w + h, copy.deepcopy(d)) - f(w - h, copy.deepcopy(d))) / 2e-6 for h in steps]
    np.testing.assert_allclose(w_bar, differences, rtol=1e-5, atol=1e-7)


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("f", [*FREED, *OTHERS], ids=lambda f: f.__name__)
def test_loops_over_lists_are_those_of_python(f: Any) -> None:
    d = made()
    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for scale in SCALES:
        check(f, compiled, scale * W, d)
    if f in FREED:
        assert "takes either branch" in compiled.explain()
        assert compiled.explain().splitlines()[0].endswith(", 1 trace")
    d["floats"][3], d["array"][3], d["by_number"][5], d["rows"][2][1] = 5.0, 5.0, 0.1, 4.0
    d["ints"][2], d["bools"][4], d["int_rows"][1] = (d["ints"][2] + 1) % 3, not d["bools"][4], np.array([2, 2])
    check(f, compiled, W, d)
    d["floats"].append(0.77), d["rows"].append(np.ones(3)), d["ints"].append(1), d["bools"].append(True)
    d["names"].append("a"), d["np_floats"].append(np.float64(2.0)), d["int_rows"].append(np.array([0, 1]))
    d["np_bools"][0] = not d["np_bools"][0]
    d["tuples"][1] = (1.5, *d["tuples"][1][1:]) if f is not tuples else (2, *d["tuples"][1][1:])
    d["array"] = d["array"][:-1] if f is not np_bools else d["array"]
    check(f, compiled, 0.9 * W, d)


def test_the_items_may_be_what_is_differentiated() -> None:
    def loss(xs):
        s = 0.0
        for x in xs:
            s = s + penalty(x * x - 0.5)
        return s

    compiled = wg.compile(wg.grad(loss), native=False)
    for scale in SCALES:
        xs = [scale * x for x in made()["floats"]]
        expected = [2 * x * (2 * r if abs(r) < 0.8 else 1.6 * np.sign(r)) for x in xs for r in [x * x - 0.5]]
        np.testing.assert_allclose(compiled(xs), expected, rtol=1e-12)
    assert compiled.explain().splitlines()[0].endswith(", 1 trace")


def test_an_array_of_a_list_that_is_returned_is_itself() -> None:
    data = list(R.normal(size=(9, 3)))

    def f(w):
        best, s = data[0], 0.0
        for r in data:
            if r @ w > s:
                best, s = r, r @ w
        return s, best

    compiled = wg.compile(wg.grad(f, has_aux=True), native=False)
    for scale in SCALES:
        w_bar, best = compiled(scale * W)
        expected = max([*data], key=lambda r: r @ (scale * W))
        np.testing.assert_array_equal(w_bar, expected)
        np.testing.assert_array_equal(best, expected)


def test_a_generator_that_a_loop_takes_is_not_gathered() -> None:
    def steps(w):
        for v in made()["array"]:
            yield penalty(v * w[0])

    def f(w):
        s = 0.0
        for p in steps(w):
            s = s * 0.5 + p
        return s + sum(steps(w)) + sum([p * p for p in steps(w)])

    compiled = wg.compile(wg.value_and_grad(f), native=False, quiet=True)
    for scale in SCALES:
        value, w_bar = compiled(scale * W)
        assert value == pytest.approx(f(scale * W), rel=1e-12)
        h = np.array([1e-6, 0.0, 0.0])
        assert w_bar[0] == pytest.approx((f(scale * W + h) - f(scale * W - h)) / 2e-6, rel=1e-5)


def test_lists_in_machine_code() -> None:
    pytest.importorskip("numba")
    for f in (tuples, ints, bools, rows, comprehension, generated):
        d, compiled = made(), wg.compile(wg.value_and_grad(f), native=True)
        for scale in SCALES:
            check(f, compiled, scale * W, d)
        assert compiled.explain().splitlines()[0].endswith("compiled natively, 1 trace")


class Term(NamedTuple):
    """An item of a list."""

    place: int
    weight: float


def records(w, d):
    s = 0.0
    for r in d["records"]:
        s = s + (penalty(r["x"] * w[0]) if r["event"] else w[r["group"]])
    return s


def terms(w, d):
    return sum(penalty(t.weight * w[t.place]) if t.weight > 0 else w[0] for t in d["terms"])


def changed_record(w, d):
    s = 0.0
    for r in d["records"]:
        if r["x"] > 1.0:
            r["x"] = 0.5
        s = s + penalty(r["x"] * w[0])
    return s


def kept_record(w, d):
    s, best = 0.0, None
    for r in d["records"]:
        if best is None or r["x"] * w[0] > best["x"] * w[0]:
            best = r
        s = s + penalty(r["x"] * w[1])
    return s + best["x"] * w[2]


def stored_record(w, d):
    d["seen"].clear()
    s = 0.0
    for r in d["records"]:
        if r["x"] > 0.0:
            d["seen"].append(r)
        s = s + penalty(r["x"] * w[1])
    return s


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("f", [records, terms, changed_record, kept_record, stored_record], ids=lambda f: f.__name__)
def test_records_in_a_list_are_those_of_python(f: Any) -> None:
    given, compiled = made(), wg.compile(wg.value_and_grad(f), native=False)
    rows = [*zip(given["floats"], given["bools"], given["ints"], strict=True)]
    data = {
        "records": [{"x": x, "event": event, "group": group} for x, event, group in rows],
        "terms": [Term(group, x) for x, _, group in rows],
        "rows": 0,
        "seen": [],
    }
    for scale in SCALES:
        check(f, compiled, scale * W, data)
        ours = copy.deepcopy(data)
        compiled(scale * W, ours)
        assert all([any([r is own for own in ours["records"]]) for r in ours["seen"]])
    if f is terms:
        assert "takes either branch" in compiled.explain()
        assert compiled.explain().splitlines()[0].endswith(", 1 trace")
    data["records"][3]["event"] ^= True
    data["terms"][3] = Term(0, 2.0)
    check(f, compiled, W, data)


def test_a_loop_around_one_that_became_free_is_rolled() -> None:
    times = R.uniform(0.0, 3.0, 20)

    def f(w):
        s = 0.0
        for t in times:
            x = t
            while abs(x - w[0] * np.sin(x) - t) > 1e-12:
                x = x - (x - w[0] * np.sin(x) - t) / (1.0 - w[0] * np.cos(x))
            s = s + np.cos(x * w[1])
        return s

    compiled = wg.compile(wg.value_and_grad(f), native=False)
    for e in (0.2, 0.5):
        w = np.array([e, 1.3])
        value, w_bar = compiled(w)
        assert value == pytest.approx(f(w), rel=1e-12)
        steps = 1e-6 * np.eye(2)
        np.testing.assert_allclose(w_bar, [(f(w + h) - f(w - h)) / 2e-6 for h in steps], rtol=1e-5)
    (entries,) = compiled._entries.values()
    assert len(entries[0].tape) < 400


def test_batches_of_other_integers_need_no_trace_each() -> None:
    def loss(w, batch):
        s = 0.0
        for i, j, r in batch:
            s = s + penalty(w[i] * w[j] - r)
        return s

    r, compiled = np.random.default_rng(5), wg.compile(wg.value_and_grad(loss), native=False)
    w = r.normal(size=9)
    for _ in range(12):
        batch = [(*r.integers(0, 9, 2).tolist(), float(r.normal())) for _ in range(12)]
        value, w_bar = compiled(w, batch)
        assert value == pytest.approx(loss(w, batch), rel=1e-12)
        steps = 1e-6 * np.eye(9)
        differences = [(loss(w + h, batch) - loss(w - h, batch)) / 2e-6 for h in steps]
        np.testing.assert_allclose(w_bar, differences, rtol=1e-5, atol=1e-7)
    assert compiled.status.startswith("compiled")


def indexed(w, d):
    s, parts, weights = 0.0, [w[0], w[1], w[0] * w[2]], (0.5, 1.5, 2.5)
    for k in range(len(d["floats"])):
        i = d["ints"][k]
        s = s + penalty(parts[i] * d["floats"][k] - d["floats"][-k]) * weights[k % 3]
    return s


def indexed_while_it_changes(w, d):
    values, s = list(d["floats"]), 0.0
    for k in range(len(values) - 1):
        if values[k] * w[0] > 0.5:
            values[k + 1] = values[k] * w[1]
        s = s + penalty(values[k] * w[2])
    return s


def indexed_beyond_its_end(w, d):
    s = 0.0
    try:
        for k in range(len(d["floats"]) + 2):
            s = s + penalty(d["floats"][k] * w[0])
    except IndexError:
        s = s * w[1]
    return s


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("f", [indexed, indexed_while_it_changes, indexed_beyond_its_end], ids=lambda f: f.__name__)
def test_items_at_counters_are_those_of_python(f: Any) -> None:
    d, compiled = made(), wg.compile(wg.value_and_grad(f), native=False)
    for scale in SCALES:
        check(f, compiled, scale * W, d)
    assert ("takes either branch" in compiled.explain()) == (f is not indexed_beyond_its_end)
    d["floats"][3], d["ints"][5] = 2.0, (d["ints"][5] + 1) % 3
    check(f, compiled, W, d)


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_ids_are_those_of_python_beside_a_counter() -> None:
    data = {"floats": made()["floats"], "a": "".join("hello"), "b": None}
    data["b"] = data["a"]

    def f(w):
        s = 0.0
        for k, v in enumerate(data["floats"]):
            s = s + (v * w[0] * k if v * w[1] > 0.0 else w[2] * v * v)
            if k > 3:
                s = s + 0.1 * (id(data["a"]) == id(data["b"]))
        return s

    def g(w):
        s, given = 0.0, [r * w for r in ROWS]
        for r in given:
            s = s + penalty(r @ w)
        return s + len({id(r) for r in [*given, r]}) * w[1]

    compiled, compiled_g = [wg.compile(wg.value_and_grad(h), native=False) for h in (f, g)]
    for b in (data["a"], "".join(["hel", "lo"]), data["a"]):
        data["b"] = b
        assert compiled(W)[0] == pytest.approx(f(W), rel=1e-12)
        assert compiled_g(W)[0] == pytest.approx(g(W), rel=1e-12)


ROWS = [*R.normal(size=(N, 3))]
