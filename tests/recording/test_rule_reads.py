"""Functions with rules that reach very many objects: a call looks at few of them, and what is traced is found."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.recording import rule_reads
from wengert.recording.recording import MOST_SEARCHED
from wengert.values.trees import leaves

MANY = 20 * MOST_SEARCHED
TABLE: Any = None


def entry(x: Any) -> Any:
    return x * TABLE[MANY // 2] if type(TABLE) is not deque else x * TABLE[-1]


@wg.rrule(entry)
def _(x: Any) -> Any:
    factor = TABLE[MANY // 2] if type(TABLE) is not deque else TABLE[-1]
    return entry(x), lambda y_bar: y_bar * float(factor)


KINDS: dict[str, Callable[[], Any]] = {
    "list": lambda: [1.0 + k for k in range(MANY)],
    "dictionary": lambda: {k: 1.0 + k for k in range(MANY)},
    "deque": lambda: deque(1.0 + k for k in range(MANY)),
    "list of arrays": lambda: [np.float64(1.0 + k) for k in range(MANY)],
}


def put_natively(x: Any) -> Any:
    TABLE[MANY // 2] = x
    return x * 1.0


@wg.rrule(put_natively)
def _(x: Any) -> Any:
    return put_natively(x), lambda y_bar: y_bar


def stored(x: Any) -> Any:
    TABLE[MANY // 2 if type(TABLE) is not deque else -1] = x
    return entry(x)


def stored_for_a_while(x: Any) -> Any:
    place = MANY // 2 if type(TABLE) is not deque else -1
    before = TABLE[place]
    TABLE[place] = x
    y = entry(x)
    TABLE[place] = before
    return y


def added_for_a_while(x: Any) -> Any:
    if type(TABLE) is dict:
        TABLE["last"] = x
        y = entry(x)
        del TABLE["last"]
    else:
        TABLE.append(x)
        y = entry(x)
        TABLE.pop()
    return y


def put_by_another(x: Any) -> Any:
    return put_natively(x) + entry(x)


def in_an_inner_gradient(x: Any) -> Any:
    return wg.grad(lambda t: stored(t) * x)(x)


@pytest.fixture(autouse=True)
def _forgotten() -> Any:
    yield
    globals()["TABLE"] = None


PROGRAMS = [stored, stored_for_a_while, added_for_a_while, put_by_another, in_an_inner_gradient]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_traced_value_among_many_is_found(program: Any, kind: str) -> None:
    globals()["TABLE"] = KINDS[kind]()
    with pytest.raises(wg.RefusedCallError, match=r"test_rule_reads\.py:\d+ .*other than its arguments \(TABLE\)"):
        wg.grad(program)(2.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_looks_at_few_things(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    globals()["TABLE"] = KINDS[kind]()
    looked: list[Any] = []
    parts = rule_reads._Search._parts
    monkeypatch.setattr(rule_reads._Search, "_parts", lambda self, thing: looked.append(0) or parts(self, thing))
    factor = float(TABLE[MANY // 2] if kind != "deque" else TABLE[-1])

    def f(x: Any) -> Any:
        for _ in range(5):
            x = entry(x) / factor
        return x

    assert wg.grad(f)(2.0) == pytest.approx(1.0, rel=1e-12)
    assert len(looked) < MOST_SEARCHED


def test_nested_containers_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    globals()["TABLE"] = {k: [[1.0 + k]] for k in range(MOST_SEARCHED - 1)}
    looked: list[Any] = []
    parts = rule_reads._Search._parts
    monkeypatch.setattr(rule_reads._Search, "_parts", lambda self, thing: looked.append(0) or parts(self, thing))

    def first(x: Any) -> Any:
        return x * TABLE[0][0][0]

    wg.rrule(first)(lambda x: (first(x), lambda y_bar: y_bar))
    assert wg.grad(lambda x: first(x))(2.0) == 1.0
    assert len(looked) < 5 * MOST_SEARCHED
    with pytest.raises(wg.RefusedCallError):
        wg.grad(lambda x: TABLE[MOST_SEARCHED - 2][0].append(x) or first(x))(2.0)


# Functions declared constant, which a tape calls again: what they read has to have a name on it


@dataclasses.dataclass
class _Held:
    a: Any


def _own_closure(x):
    @wg.non_differentiable
    def total():
        return float(np.sum(x))

    try:
        return x.sum() / total()
    finally:
        wg.rules.remove(total)


def _total(held: Any, words: Any = None) -> float:
    return float(sum(np.sum(leaf) for _, leaf in leaves((held, words))))


UNNAMED = {
    "a dict": lambda x, total: x.sum() / total({"a": x}),
    "by keyword": lambda x, total: x.sum() / total(1.0, words=[{"a": x}]),
    "a dict in a list": lambda x, total: x.sum() / total([1.0, {"a": x}]),
    "an object": lambda x, total: x.sum() / total(_Held(x)),
    "a closure": lambda x, total: _own_closure(x),
}


@pytest.mark.parametrize("way", UNNAMED)
def test_what_a_constant_function_reads_has_a_name_on_a_tape_or_is_refused(way: str) -> None:
    with wg.rules.scope():

        @wg.non_differentiable
        def total(held, words=None):
            return _total(held, words)

        for taped in (wg.trace, wg.gradtape):
            with pytest.raises(wg.WengertError, match="an argument of its own"):
                taped(lambda x: UNNAMED[way](x, total), np.ones(3))


@pytest.mark.parametrize("held", [lambda x: x, lambda x: [x, 1.0], lambda x: ([x], (x, 2.0))])
def test_items_of_lists_and_tuples_have_names(held: Any) -> None:
    with wg.rules.scope():

        @wg.non_differentiable
        def total(held):
            return _total(held)

        def f(x):
            return x.sum() / total(held(x))

        other = np.array([1.0, 2.0, 5.0])
        assert wg.trace(f, np.ones(3))[1].play(other) == f(other)


def test_a_rule_is_refused_what_a_list_by_keyword_hides() -> None:
    with wg.rules.scope():

        def scaled(x, *, by):
            return x * by[0]["a"]

        @wg.rrule(scaled)
        def scaled_rule(x, *, by):
            return scaled(x, by=by), lambda y_bar: y_bar * by[0]["a"]

        with pytest.raises(wg.NoRuleError, match="an argument of its own"):
            wg.grad(lambda x: scaled(x, by=[{"a": x}]))(3.0)


def test_a_function_of_a_library_that_gives_a_list_is_called_again_by_a_tape() -> None:
    x, other = np.array([1.0, 2.0, 3.0]), np.array([5.0, 1.0, 2.0])
    with wg.rules.scope():
        wg.non_differentiable(np.array_split)

        def f(x):
            first, last = np.array_split(x, 2)
            return x.sum() * first[0] + last[0]

        assert wg.trace(f, x)[1].play(other) == f(other)
