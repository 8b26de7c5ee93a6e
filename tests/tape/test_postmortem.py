"""When something goes wrong: the tape so far, the user's stack, the line of the tape, the first nan."""

from __future__ import annotations

import copy
import gc
import json
import math
import operator
import pickle
import sys
import traceback
import weakref
from typing import Any

import numpy as np
import pytest
from tapes import SITE

import wengert as wg


def inner(y: Any) -> Any:
    z = y[:2] * 3.0
    z[0] = y[1]
    return z @ np.ones(5)


def f(x: Any) -> Any:
    return inner(np.exp(x)) * 2.0


def failing(call: Any) -> BaseException:
    with pytest.raises(ValueError, match="matmul") as caught:
        call()
    return caught.value


WAYS = {
    "trace": lambda: wg.trace(f, np.ones(3)),
    "context": lambda: wg.trace(f, np.ones(3), ctx=wg.Context()),
    "grad": lambda: wg.grad(f, np.ones(3)),
    "function": lambda: wg.grad(f)(np.ones(3)),
    "vjp": lambda: wg.vjp(f, np.ones(3)),
    "gradtape": lambda: wg.gradtape(f, np.ones(3)),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_tape_so_far_and_the_users_stack(way: str) -> None:
    found = wg.post_mortem(failing(WAYS[way]))
    assert [op.fn.__name__ for op in found.tape.calls] == ["exp", "getitem", "mul", "getitem", "setitem"]
    assert [site.function for site in found.stack][-2:] == ["f", "inner"]
    start = inner.__code__.co_firstlineno
    assert found.stack[-1].line == start + 3
    assert [op.site.line - start for op in found.tape.calls[1:] if op.site] == [1, 1, 2, 2]
    shown = str(found).splitlines()
    assert shown[0].startswith("ValueError: matmul") and "inner" in shown[-1] and "setitem(%" in shown[-1]
    assert all("wengert/src" not in str(site) for site in found.stack)


def test_values_of_a_trace_are_there() -> None:
    tape = wg.post_mortem(failing(WAYS["trace"])).tape
    assert tape[3].val.tolist() == np.exp(np.ones(3)).tolist()
    with pytest.raises(wg.TapeError, match="no result"):
        tape.play()


def test_the_exception_is_the_same() -> None:
    plain, traced = failing(lambda: f(np.ones(3))), failing(WAYS["grad"])
    assert type(traced) is type(plain) and traced.args == plain.args
    last = [traceback.extract_tb(error.__traceback__)[-2:] for error in (plain, traced)]
    assert [(frame.name, frame.lineno) for frame in last[0]] == [(frame.name, frame.lineno) for frame in last[1]]
    assert not hasattr(traced, "__notes__")


def test_a_copy_does_not_carry_the_tape() -> None:
    error = failing(WAYS["grad"])
    for twin in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert twin.args == error.args and len(wg.post_mortem(twin).tape) == 0


def test_refusals_and_nested_traces() -> None:
    with pytest.raises(wg.NoRuleError) as caught:
        wg.grad(lambda x: len(json.dumps([x * 2.0])) * x)(1.0)
    assert [op.fn for op in wg.post_mortem(caught.value).tape.calls] == [operator.mul]

    def outer(x: Any) -> Any:
        return np.sum(wg.grad(f)(x * 2.0))

    assert wg.post_mortem(failing(lambda: wg.grad(outer)(np.ones(3)))).tape.find(operator.mul)


def test_the_exception_behind_another_one() -> None:
    def wrapped() -> None:
        try:
            wg.grad(f)(np.ones(3))
        except ValueError as error:
            raise RuntimeError("the fit failed") from error

    with pytest.raises(RuntimeError) as caught:
        wrapped()
    assert isinstance(wg.post_mortem(caught.value).error, ValueError)


def test_the_last_uncaught_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "last_value", failing(WAYS["grad"]), raising=False)
    assert wg.post_mortem().tape.find(np.exp)
    with pytest.raises(wg.WengertError, match="no trace was recorded for ValueError"):
        wg.post_mortem(ValueError("x"))
    monkeypatch.delattr(sys, "last_value")
    with pytest.raises(wg.WengertError, match="no trace was recorded for None"):
        wg.post_mortem()


@pytest.mark.usefixtures("small_heap")
def test_memory_is_freed_with_the_exception() -> None:
    def g(x: Any) -> Any:
        y = np.exp(x)
        alive.append(weakref.ref(y))
        raise KeyError("k")

    alive: list[Any] = []
    for call in (lambda: wg.trace(g, np.ones(5000)), lambda: wg.grad(g)(np.ones(5000))):
        try:
            call()
        except KeyError as error:
            found = len(wg.post_mortem(error).tape.find(np.exp))
        gc.collect()
        assert found == 1 and alive.pop()() is None


# -- play


def logs() -> wg.Tape:
    tape = wg.Tape()
    tape.site = SITE
    x = tape.push(wg.Input(np.full(8, 2.0), "x"))
    v = tape.push(wg.mkcall(np.log, x))
    w = tape.push(wg.mkcall(np.multiply, v, 2.0))
    tape.push(wg.Call(operator.gt, [tape.push(wg.mkcall(np.max, x)), 0.0], val=np.True_, guard=True))
    tape.result = tape.push(wg.mkcall(np.sum, w))
    return tape


def test_debug_prints_each_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert logs().play(debug=True) == pytest.approx(16 * math.log(2.0))
    assert capsys.readouterr().out.splitlines() == [
        "inp %1 = x::float64[8] = float64[8] from 2 to 2",
        "%2 = np.log(%1)::float64[8] = float64[8] from 0.693147 to 0.693147",
        "%3 = np.multiply(%2, 2.0)::float64[8] = float64[8] from 1.38629 to 1.38629",
        "%4 = np.max(%1)::float64 = 2.0",
        "guard gt(%4, 0.0) is True",
        "%6 = np.sum(%3)::float64 = 11.090354888959125",
    ]


def test_debug_marks_the_first_nan_and_inf(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.full(8, 2.0)
    x[0], x[1] = -1.0, 0.0
    with np.errstate(all="ignore"):
        logs().play(x, debug=True)
    marks = [line.partition("  <- ")[2] for line in capsys.readouterr().out.splitlines()]
    assert marks == ["", "first nan", "nan", "", "", "nan"]
    with np.errstate(all="ignore"):
        logs().play(np.abs(x), debug=True)
    marks = [line.partition("  <- ")[2] for line in capsys.readouterr().out.splitlines()]
    assert marks == ["", "first inf", "inf", "", "", "inf"]


def test_debug_marks_another_type(capsys: pytest.CaptureFixture[str]) -> None:
    tape = wg.Tape()
    x = tape.push(wg.Input(np.array([3.0, 0.0, 1.0])))
    tape.result = tape.push(wg.mkcall(np.flatnonzero, x))
    tape.play(np.array([3.0, 0.0, 0.0]), debug=True)
    assert "<- was int64[2] when recorded, now int64[1]" in capsys.readouterr().out


def test_debug_stops_where_the_tape_is_stale(capsys: pytest.CaptureFixture[str]) -> None:
    with np.errstate(all="ignore"), pytest.raises(wg.StaleTapeError):
        logs().play(np.full(8, -1.0), debug=True)
    assert capsys.readouterr().out.splitlines()[-1].startswith("%4 = np.max")


def test_an_exception_names_the_line_of_the_tape() -> None:
    tape = logs()
    tape.replace(3, wg.Call(np.add, [wg.Variable(tape[2]), np.ones(3)]))
    with pytest.raises(ValueError, match="broadcast") as caught:
        tape.play()
    assert caught.value.__notes__ == ["in `%3 = np.add(%2, [1.0, 1.0, 1.0])` of the tape, from program.py:7 in f"]
