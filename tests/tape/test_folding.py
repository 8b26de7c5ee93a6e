"""Constant folding: the same value with fewer calls, and only of calls that do nothing else."""

from __future__ import annotations

import copy
import operator
from typing import Any

import numpy as np
import programs
import pytest
from tapes import numbers, same_bits

import wengert as wg
from wengert.tape.folding import is_pure

RNG = np.random.default_rng(0)


def fixed(*steps: Any) -> wg.Tape:
    """x, then a chain of calls that starts from the constant 2.0; x times the last is the result."""
    tape = wg.Tape()
    x, v = tape.push(wg.Input(3.0, "x")), tape.push(wg.Constant(2.0))
    for fn, *more in steps:
        v = tape.push(wg.mkcall(fn, v, *more))
    tape.result = tape.push(wg.mkcall(operator.mul, x, v))
    return tape


def names(tape: wg.Tape) -> list[str]:
    return [getattr(op.fn, "__name__", "?") for op in tape.calls]


def test_a_chain_becomes_one_constant() -> None:
    tape = fixed((np.exp,), (operator.add, 1.0), (np.sqrt,))
    expected = tape.play(5.0)
    assert wg.fold_constants(tape) is tape
    assert names(tape) == ["mul"] and len(tape) == 3
    assert same_bits(wg.verify(tape).play(5.0), expected)
    assert tape[2].note == "folded from np.sqrt"


def test_what_depends_on_an_input_stays() -> None:
    _, tape = wg.trace(lambda x: np.exp(x) * 2.0, 1.0)
    before = tape.dump()
    assert wg.fold_constants(tape).dump() == before


def noisy(x: float) -> float:
    return x + RNG.normal()


def printing(x: float) -> float:
    print(x)
    return x


@pytest.mark.parametrize("fn", [noisy, printing, RNG.normal, np.random.normal, np.empty_like, print])
def test_calls_that_may_do_more_stay(fn: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with wg.rules.scope():
        wg.non_differentiable(*(f for f in [fn] if f not in wg.rules))
        assert not is_pure(fn)
        tape = wg.Tape()
        x, c = tape.push(wg.Input(3.0)), tape.push(wg.Constant(2.0))
        tape.push(wg.Call(fn, [c]))
        tape.result = x
        assert len(wg.fold_constants(tape)) == 3
    assert capsys.readouterr().out == ""


def test_a_function_of_ones_own_on_demand() -> None:
    def half(x: float) -> float:
        return x / 2

    assert names(wg.fold_constants(fixed((half,)))) == ["half", "mul"]
    tape = wg.fold_constants(fixed((half,)), pure=[half])
    assert names(tape) == ["mul"] and tape.play(7.0) == 7.0


def test_what_raises_stays() -> None:
    tape = wg.Tape()
    x, c = tape.push(wg.Input(3.0)), tape.push(wg.Constant(0.0))
    v = tape.push(wg.Call(operator.truediv, [1.0, c]))
    tape.result = tape.push(wg.Call(operator.mul, [x, v]))
    assert names(wg.fold_constants(tape)) == ["truediv", "mul"]
    with pytest.raises(ZeroDivisionError):
        tape.play(1.0)


def test_a_write_into_an_argument_stays() -> None:
    tape = wg.Tape()
    x, c = tape.push(wg.Input(np.ones(2))), tape.push(wg.Constant(np.zeros(2)))
    tape.push(wg.Call(np.add, [c, 1.0], {"out": c}))
    tape.result = tape.push(wg.mkcall(np.add, x, c))
    assert names(wg.fold_constants(tape)) == ["add", "add"]


def test_a_function_that_writes_its_argument_stays() -> None:
    with wg.rules.scope():
        wg.non_differentiable(np.ndarray.fill)
        tape = wg.Tape()
        x, c = tape.push(wg.Input(np.ones(2))), tape.push(wg.Constant(np.zeros(2)))
        tape.push(wg.Call(np.ndarray.fill, [c, 7.0]))
        tape.result = x
        assert names(wg.fold_constants(tape)) == ["fill"]
        assert tape[c].val.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("outcome", [True, False])
def test_guards(outcome: bool) -> None:
    tape = fixed()
    tape.push(wg.Call(operator.gt, [wg.Variable(tape[2]), 1.0], val=outcome, guard=True))
    wg.fold_constants(tape)
    assert [op.guard for op in tape.calls] == [False] + [True] * (not outcome)
    if not outcome:
        with pytest.raises(wg.StaleTapeError):
            tape.play(1.0)


def test_a_folded_array_is_not_written_by_the_stores_behind_it() -> None:
    tape = wg.Tape()
    s = tape.push(wg.Input(5.0, "s"))
    zeros = tape.push(wg.mkcall(np.zeros_like, tape.push(wg.Constant(np.ones(3)))))
    tape.result = tape.push(wg.mkcall(wg.extend.setitem, zeros, 0, s))
    wg.fold_constants(tape)
    assert tape.play(1.0).tolist() == [1.0, 0.0, 0.0] and tape.play(2.0).tolist() == [2.0, 0.0, 0.0]
    assert tape[2].val.tolist() == [0.0, 0.0, 0.0]
    assert tape.compile()(3.0).tolist() == [3.0, 0.0, 0.0] and tape.play(4.0).tolist() == [4.0, 0.0, 0.0]


def test_a_reader_cannot_change_what_was_folded() -> None:
    tape = wg.fold_constants(wg.gradtape(lambda x: np.sum(3.0 * x), np.ones(2)))
    _, (_, bar) = tape.play(np.ones(2))
    with pytest.raises(ValueError, match="read-only"):
        bar += 1.0
    assert tape.play(np.ones(2))[1][1].tolist() == [3.0, 3.0]
    assert "make_tuple" in names(tape)


@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda program: program.name)
def test_derivative_tapes(program: Any) -> None:
    tape = wg.gradtape(program.f, *copy.deepcopy(program.args))
    inputs = [op.val for op in tape if isinstance(op, wg.Input) and not op.callee]
    expected = numbers(tape.play(*copy.deepcopy(inputs)))
    size = len(tape)
    wg.verify(wg.fold_constants(tape))
    assert len(tape) <= size
    for run in (tape.play, tape.compile()):
        assert same_bits(numbers(run(*copy.deepcopy(program.args))), expected)
