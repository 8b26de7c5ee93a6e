"""Functions with rules that reach very many objects: a call looks at few of them, and what is traced is found."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.recording import rule_reads
from wengert.recording.recording import FEW

MANY = 20 * FEW
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
    with pytest.raises(wg.RefusedCallError, match=r"test_rule_reads\.py:\d+ .*beside its arguments \(TABLE\)"):
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
    assert len(looked) < FEW


def test_nested_containers_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    globals()["TABLE"] = {k: [[1.0 + k]] for k in range(FEW - 1)}
    looked: list[Any] = []
    parts = rule_reads._Search._parts
    monkeypatch.setattr(rule_reads._Search, "_parts", lambda self, thing: looked.append(0) or parts(self, thing))

    def first(x: Any) -> Any:
        return x * TABLE[0][0][0]

    wg.rrule(first)(lambda x: (first(x), lambda y_bar: y_bar))
    assert wg.grad(lambda x: first(x))(2.0) == 1.0
    assert len(looked) < 5 * FEW
    with pytest.raises(wg.RefusedCallError):
        wg.grad(lambda x: TABLE[FEW - 2][0].append(x) or first(x))(2.0)
