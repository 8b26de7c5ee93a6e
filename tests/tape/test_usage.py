"""Questions to a tape: calls, readers, use counts, and what is alive, against programs counted by hand."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import wengert as wg


def f(x: Any, y: Any) -> Any:
    z = np.exp(x) * x
    return np.sum(z * z) + y


@pytest.fixture
def tape() -> wg.Tape:
    return wg.trace(f, np.ones(100), 2.0)[1]


def ids(variables: Any) -> list[int]:
    return [v.id for v in variables]


def test_find(tape: wg.Tape) -> None:
    assert ids(tape.find(operator.mul)) == ids(tape.find("mul")) == [5, 6]
    assert ids(tape.find(np.exp)) == ids(tape.find("np.exp")) == ids(tape.find("exp")) == [4]
    assert ids(tape.find("x")) == [2] and ids(tape.find(f)) == ids(tape.find("f")) == [1]
    assert tape.find(np.sin) == [] == tape.find("sin")
    assert ids(tape.find(where=lambda op: isinstance(op.val, np.ndarray))) == [2, 4, 5, 6]
    assert ids(tape.find(operator.mul, where=lambda op: op.args[0] == op.args[1])) == [6]


def test_find_follows_edits(tape: wg.Tape) -> None:
    (v,) = tape.find(np.exp)
    tape.replace(v, wg.mkcall(np.expm1, tape.inputs[1]))
    assert tape.find(np.exp) == [] and tape.find(np.expm1) == [v]


def test_uses_and_counts(tape: wg.Tape) -> None:
    _, x, y = tape.inputs
    assert ids(tape.uses(x)) == [4, 5] and ids(tape.uses(5)) == [6] and tape.uses(8) == []
    counts = tape.use_counts()
    assert [counts[wg.Variable(op)] for op in tape] == [0, 2, 1, 1, 2, 1, 1, 1]
    assert counts[x] == 2 and counts[tape.result] == 1 and counts[y] == 1


def test_what_is_alive(tape: wg.Tape) -> None:
    lives = tape.liveness()
    assert [ids(row.live) for row in lives] == [
        [1], [2], [2, 3], [2, 3, 4], [2, 3, 4, 5], [3, 5, 6], [3, 6, 7], [3, 7, 8],
    ]  # fmt: skip
    assert [row.nbytes for row in lives] == [0, 800, 800, 1600, 2400, 1600, 800, 0]
    assert lives.peak.op is tape[5]
    assert next(line for line in str(lives).splitlines() if "peak" in line).startswith("%5 = mul(%4, %2)")


def test_views_keep_what_they_show_and_stores_write_in_place() -> None:
    def g(x: Any) -> Any:
        y = x * 2.0
        rows = y.reshape(10, 10)
        z = rows.copy()
        z[0] = 1.0
        return np.sum(rows) + np.sum(z)

    lives = wg.trace(g, np.ones(100))[1].liveness()
    sizes = {row.op.fn.__name__: row.nbytes for row in lives if isinstance(row.op, wg.Call)}
    assert sizes == {"mul": 1600, "reshape": 800, "copy": 1600, "setitem": 1600, "sum": 800, "add": 0}


def test_a_store_to_a_value_read_later_is_a_copy() -> None:
    tape = wg.Tape()
    x = tape.push(wg.Input(np.ones(100)))
    y = tape.push(wg.mkcall(np.copy, x))
    z = tape.push(wg.mkcall(wg.extend.setitem, y, 0, 5.0))
    tape.result = tape.push(wg.mkcall(operator.add, y, z))
    assert [row.nbytes for row in tape.liveness()] == [800, 1600, 1600, 2400]


def test_ten_thousand_lines() -> None:
    tape = wg.Tape()
    v = x = tape.push(wg.Input(np.ones(2)))
    for _ in range(10_000):
        v = tape.push(wg.mkcall(operator.add, v, x))
    tape.result = v
    assert tape.liveness().peak.nbytes == 48 and len(tape.uses(x)) == 10_000
