"""Reads that `only_reads` declares run untraced where nothing in their reach is traced, and are traced elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.extend import only_reads

X = np.array([1.5, -0.5])


class Column:
    def __init__(self, numbers: Any, label: Any = None) -> None:
        self.numbers, self.label, self.traced = numbers, label, False

    def total(self, scale: Any = 1.0) -> Any:
        self.traced = wg.extend.order() > 0
        return np.sum(self.numbers) * scale

    def __getitem__(self, key: Any) -> Any:
        self.total()
        return self.numbers[key]

    @property
    def first(self) -> Any:
        return self.numbers[0]


only_reads(Column, parts=lambda c: [c.numbers, c.label], names=["total", "first", "__getitem__", "numbers"])
COLUMN = Column(np.array([2.0, 3.0]))


def _by_stores(x: Any) -> Any:
    c = Column(np.ones(2))
    before = c.total()
    c.numbers[0] = x[1]
    return x[0] * before + c.total() + c[0] + c.first


def _in_objects(x: Any) -> Any:
    return Column(np.array([x[0], 2.0], dtype=object)).first * 3.0


def _overwritten(x: Any) -> Any:
    c = Column(np.ones(2))
    y = np.sum(c[:] * x)
    c.numbers *= 4.0
    return y + np.sum(c[:] * x)


CALLS = {
    "method": lambda x: x[0] * COLUMN.total(),
    "traced argument": lambda x: COLUMN.total(x[0]) + COLUMN.total(scale=x[1]),
    "item": lambda x: np.sum(COLUMN[:] * x),
    "property": lambda x: COLUMN.first * x[1],
    "bound method": lambda x: sum(map(Column(x).total, [1.0, 2.0])) + sum(map(COLUMN.total, [x[0]])),
    "traced numbers": lambda x: Column(x).total() + Column(x).first + Column(x)[1],
    "list": lambda x: Column([x[0], 2.0]).first * 2.0,
    "objects": _in_objects,
    "sum of objects": lambda x: Column(np.array([x[0], 2.0, x[1]], dtype=object)).total(),
    "stores": _by_stores,
    "overwritten": _overwritten,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("way", [wg.grad, lambda f: wg.grad(lambda x: wg.jvp(f, (x,), (X,))[0]), wg.compile])
def test_gradients_are_those_of_differences(name: str, way: Any) -> None:
    f = CALLS[name]
    gradient = (wg.compile(wg.grad(f)) if way is wg.compile else way(f))(X)
    steps = 1e-6 * np.eye(2)
    np.testing.assert_allclose(gradient, [(f(X + h) - f(X - h)) / 2e-6 for h in steps], rtol=1e-6, atol=1e-8)


def test_a_read_of_data_is_not_traced_and_one_of_traced_numbers_is() -> None:
    data, traced = Column(np.ones(2)), []

    def f(x: Any) -> Any:
        column = Column(x)
        value = column.total() * data.total()
        traced.append(column.traced)
        return value

    wg.grad(f)(X)
    assert traced == [True]
    assert not data.traced


def test_a_method_that_was_replaced_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any) -> Any:
        monkeypatch.setattr(Column, "total", lambda self: x[0] * 5.0)
        return COLUMN.total()

    np.testing.assert_allclose(wg.grad(f)(X), [5.0, 0.0])


def test_a_tape_notes_what_is_read() -> None:
    column = Column(np.ones(2))
    gradient = wg.compile(wg.grad(lambda x: x[0] * column.total()))
    assert gradient(X)[0] == 2.0
    column.numbers = np.full(2, 4.0)
    assert gradient(X)[0] == 8.0
