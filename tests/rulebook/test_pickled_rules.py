"""Pickled functions bring their rules, but replace none in the process that pickled them."""

from __future__ import annotations

import pytest

import wengert as wg
from wengert.rulebook.pickling import pack, unpacked

pytest.importorskip("cloudpickle")
FACTOR = 2.0


def scaled(x: float) -> float:
    return x * FACTOR


wg.rrule(scaled)(lambda x: (x * FACTOR, lambda y_bar: y_bar * FACTOR))


def test_a_rule_reads_the_globals_of_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpacked(pack(lambda x: scaled(x) + 1.0))
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert wg.value_and_grad(scaled)(1.0) == (5.0, 5.0)
    assert wg.value_and_grad(copy)(1.0) == (6.0, 5.0)


def test_a_function_that_is_pickled_by_value_brings_its_rule() -> None:
    def own(x: float) -> float:
        return x * 3.0

    wg.rrule(own)(lambda x: (x * 3.0, lambda y_bar: y_bar * 30.0))
    copy = unpacked(pack(lambda x: own(x)))
    assert wg.grad(copy)(1.0) == wg.grad(lambda x: own(x))(1.0) == 30.0
