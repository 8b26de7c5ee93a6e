"""Compiled functions that change lists, deques and counters from outside leave what the plain function leaves."""

from __future__ import annotations

import collections
import warnings
from typing import Any

import numpy as np
import pytest

import wengert as wg


class Lists:
    """Containers that functions change."""

    def __init__(self) -> None:
        self.numbers, self.counts, self.arrays = [1.0, 2.0, 3.0], [0, 0], [np.zeros(3), np.ones(3)]
        self.objects, self.nested = [{"a": 1.0}, {"a": 2.0}], [[1.0], [2.0]]
        self.window, self.last = collections.deque([0.0, 0.0], maxlen=2), collections.deque[Any](maxlen=3)
        self.counter = collections.Counter[str]()


def sets_an_item(m: Any, x: Any) -> Any:
    m.numbers[1] = np.sum(x)
    m.numbers[0] += x[0]
    m.numbers[-1] *= 0.5
    return np.sum(x * m.numbers[0]) + m.numbers[1]


def swaps_arrays(m: Any, x: Any) -> Any:
    m.arrays[0], m.arrays[1] = m.arrays[1], x * 2.0
    return np.sum(m.arrays[0] * x)


def swaps_objects(m: Any, x: Any) -> Any:
    m.objects[0], m.objects[1] = m.objects[1], m.objects[0]
    return np.sum(m.objects[0]["a"] * x)


def writes_into_an_array(m: Any, x: Any) -> Any:
    m.arrays[0] += x
    m.arrays[1] = m.arrays[0] * 1.0
    return np.sum(m.arrays[0] * x)


def keeps_a_window(m: Any, x: Any) -> Any:
    m.numbers.append(np.sum(x))
    m.numbers.pop(0)
    return np.mean(np.array(m.numbers)) * x[0]


def inserts(m: Any, x: Any) -> Any:
    m.numbers.insert(0, x[0])
    del m.numbers[1]
    return np.sum(x) * m.numbers[2]


def sorts(m: Any, x: Any) -> Any:
    m.numbers.sort()
    m.numbers.reverse()
    return np.sum(x) * m.numbers[0]


def fills_again(m: Any, x: Any) -> Any:
    m.numbers.clear()
    m.numbers.extend([x[0], x[1], 1.0])
    return np.sum(x)


def counts(m: Any, x: Any) -> Any:
    m.counts[0] += 1
    m.counts[1] += 2
    return np.sum(x) * m.counts[0] + m.counts[1]


def nests(m: Any, x: Any) -> Any:
    m.nested[0][0] = x[0]
    m.nested[1] = m.nested[0]
    return np.sum(x) * m.nested[1][0]


def appends_to_a_deque(m: Any, x: Any) -> Any:
    m.window.append(np.sum(x))
    m.last.appendleft(x)
    return sum(m.window) * x[0] + np.sum(m.last[-1] * x) * len(m.last)


def turns_a_deque(m: Any, x: Any) -> Any:
    m.window.rotate(1)
    m.window[0] += 1.0
    return np.sum(x) * m.window[1]


def counts_by_name(m: Any, x: Any) -> Any:
    m.counter["calls"] += 1
    m.counter["first"] += x[0]
    return np.sum(x) * m.counter["calls"]


def raises_in_between(m: Any, x: Any) -> Any:
    m.numbers[0] = x[0]
    if x[0] > 3.0:
        raise ValueError("too large")
    m.numbers[1] = x[1]
    return np.sum(x)


FUNCTIONS = [
    sets_an_item, swaps_arrays, swaps_objects, writes_into_an_array, keeps_a_window, inserts, sorts, fills_again,
    counts, nests, appends_to_a_deque, turns_a_deque, counts_by_name, raises_in_between,
]  # fmt: skip


def state_of(thing: Any) -> Any:
    if isinstance(thing, np.ndarray):
        return thing.tobytes()
    if isinstance(thing, (list, collections.deque)):
        return type(thing), [*map(state_of, thing)]
    if isinstance(thing, dict):
        return type(thing), {name: state_of(part) for name, part in thing.items()}
    return type(thing), repr(thing)


def result_of(f: Any, x: Any) -> Any:
    try:
        return f(x.copy())
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("transform", [lambda f: f, wg.grad, wg.hessian], ids=["value", "gradient", "hessian"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_containers_hold_what_the_function_leaves(f: Any, transform: Any) -> None:
    plain, other, own = Lists(), Lists(), Lists()
    expected_by, compiled = transform(lambda x: f(other, x)), wg.compile(transform(lambda x: f(own, x)), exact=True)
    with warnings.catch_warnings(action="ignore", category=wg.WengertWarning):
        for k in range(14):
            x = np.array([1.0, 2.0, -0.5]) + 0.3 * k * (-1) ** k
            result_of(lambda x: f(plain, x), x)
            expected, found = result_of(expected_by, x), result_of(compiled, x)
            if isinstance(expected, str):
                assert found == expected
            else:
                np.testing.assert_allclose(found, expected, rtol=1e-12)
            assert state_of(vars(own)) == state_of(vars(other)) == state_of(vars(plain)), f"call {k}"
            assert (own.nested[0] is own.nested[1]) == (plain.nested[0] is plain.nested[1])
    assert "runs uncompiled" not in compiled.explain()
