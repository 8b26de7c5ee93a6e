"""Reads that `only_reads` declares run untraced where nothing in their reach is traced, and are traced elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.extend import only_reads
from wengert.hooks.data_reads import are_untraced
from wengert.mutation.storage import Memory
from wengert.recording.recording import Recording

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


def _replaced(c: Column) -> None:
    c.numbers = np.array([7.0, 8.0])


def _changed(c: Column) -> None:
    c.numbers[1] = -1.0


def _turned(c: Column) -> None:
    c.numbers = np.array([[2.0, 0.0], [3.0, 0.0]])[:, 0]  # equal, in another memory order


def _labelled(c: Column) -> None:
    c.label = 2


@pytest.mark.parametrize("change", [_replaced, _changed, _turned, _labelled])
@pytest.mark.parametrize("is_global", [False, True])
def test_compiled_code_compares_what_a_table_holds(change: Any, is_global: bool) -> None:
    column = Column(np.array([2.0, 3.0]), 1)

    def by_argument(x: Any, c: Any) -> Any:
        return x[0] * c.total() + np.sum(x * c[:]) * (c.label or 0)

    def by_closure(x: Any) -> Any:
        return by_argument(x, column)

    f, args = (by_closure, (X,)) if is_global else (by_argument, (X, column))
    compiled = wg.compile(wg.value_and_grad(f), strict=True)
    for _ in range(3):
        assert compiled(*args)[0] == f(*args)
        change(column)
    value, gradient = compiled(*args)
    assert value == f(*args)
    np.testing.assert_allclose(gradient, column.numbers * column.label + [np.sum(column.numbers), 0.0])


def test_compiled_code_serves_one_content_with_one_trace() -> None:
    column = Column(np.array([2.0, 3.0]))
    gradient = wg.compile(wg.grad(lambda x, c: x[0] * c.total()), strict=True)
    for k in range(5):
        assert gradient(X + k, column)[0] == 5.0
    assert gradient.explain().splitlines()[0].endswith("1 trace")


def _writes_traced(x: Any, c: Any) -> Any:
    view = c[:]
    view[0] = x[0]
    return np.sum(view * x)


def _writes_constants(x: Any, c: Any) -> Any:
    y = np.sum(x * c[:])
    c[:][:] *= 2.0
    return y


def _sets(x: Any, c: Any) -> Any:
    y = np.sum(x * c[:])
    c.label = (c.label or 0) + 1
    return y * c.label


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
@pytest.mark.parametrize("f", [_writes_traced, _writes_constants, _sets])
def test_what_a_compiled_function_writes_into_a_table_is_there(f: Any) -> None:
    plain, compiled = Column(np.array([2.0, 3.0])), Column(np.array([2.0, 3.0]))
    g = wg.compile(wg.value_and_grad(f))
    for k in range(4):
        value = f(X + k, plain)
        assert g(X + k, compiled)[0] == value
        assert (plain.label, *plain.numbers) == (compiled.label, *compiled.numbers)


@pytest.mark.filterwarnings("ignore::wengert.NotCompiledWarning")
def test_an_array_that_a_compiled_function_returns_or_stores_is_that_of_this_call() -> None:
    column, box = Column(np.array([2.0, 3.0])), Column(np.zeros(1))

    def f(x: Any) -> Any:
        box.label = column[::-1].copy()
        return x * column.total(), column[:] * 1.0, column[:]

    g = wg.compile(f)
    for _ in range(3):
        scaled, twin, own = g(X)
        np.testing.assert_array_equal(scaled, 5.0 * X)
        np.testing.assert_array_equal([twin, own, box.label[::-1]], [[2.0, 3.0]] * 3)
        twin[:] = box.label[:] = -1.0
        assert np.shares_memory(own, column.numbers)


def test_a_list_that_holds_itself_is_looked_at_once() -> None:
    recording = Recording(False)
    recording.memory = Memory(recording)
    loop: list[Any] = [1.0, "a"]
    loop.append((loop, slice(1, None)))
    assert are_untraced(recording, [loop])
    assert not are_untraced(recording, [loop, object()])
