"""Loops on optimised tapes: bodies are optimised, and their results have places; numbers are those of plain calls."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from loop_programs import cell, cell_by_hand, heat, heat_by_hand, orbit, orbit_by_hand, table, table_by_hand
from loop_tapes import arguments, random_tape, tape_of
from tapes import assert_close, plainly

import wengert as wg
from wengert.tape.loops import Loop
from wengert.values.functional import getfield

PROGRAMS = {
    "heat": (heat(9, 6), lambda u, rate: heat_by_hand(u, rate, 6)),
    "orbit": (orbit(7), lambda x, a: orbit_by_hand(x, a, 7)),
    "cell": (cell(3, 5), cell_by_hand),
    "table": (table(3, 4), table_by_hand),
}


def given(tape: Any) -> list[Any]:
    """Arguments that are not those the tape was made on."""
    return [v.op.val * 0.75 for v in tape.inputs]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    tape, by_hand = PROGRAMS[name]
    made = tape.optimise()
    expected = by_hand(*given(tape))
    for run in (made.play, made.compile()):
        assert_close(run(*given(tape)), expected, 1e-12, 1e-12)


@pytest.mark.parametrize("block", range(8))
def test_random_loops(block: int) -> None:
    for seed in range(1000 + 25 * block, 1025 + 25 * block):
        tape = random_tape(seed)
        made = tape.optimise()
        for run in (made.play, made.compile()):
            args = arguments(seed + 7)
            expected = plainly(tape, *args)
            for _ in range(2):
                found = run(*args)
                assert_close(found, expected, 1e-12, 1e-12)
                assert_close(args, arguments(seed + 7), 0.0, 0.0)
        for k, part in enumerate(found):
            for other, plain in [*zip(found[:k], expected[:k], strict=True), *((arg, arg) for arg in args)]:
                assert np.may_share_memory(expected[k], plain) or not np.may_share_memory(part, other), seed


def test_bodies_are_optimised() -> None:
    def step(call: Any, x: Any, y: Any) -> Any:
        return [call(np.add, call(np.multiply, x, 1.0), call(np.multiply, call(np.multiply, y, 2.0), 3.0))]

    def f(call: Any, x: Any, y: Any) -> Any:
        return call(getfield, call(Loop(tape_of([x.op.val] * 2, step), 3, [], 1), x, y), 0)

    tape = tape_of([np.ones(3)] * 2, f)
    (made,) = [op.fn for op in tape.optimise().calls if isinstance(op.fn, Loop)]
    assert len(made.body.calls) == 3
    x, y = np.arange(3.0), np.arange(3.0) + 0.5
    np.testing.assert_allclose(tape.optimise().play(x, y), x + 18.0 * y, rtol=1e-15)


def test_an_argument_that_a_rule_gives_back_is_not_written() -> None:
    """With 1.0 * y taken as y, what is carried is the user's array."""

    def step(call: Any, i: Any, u: Any, y: Any) -> Any:
        return [call(wg.extend.setitem, call(np.multiply, u, 1.0), i, 7.0), call(np.multiply, y, 1.0)]

    def f(call: Any, x: Any) -> Any:
        found = call(Loop(tape_of([0, *[x.op.val] * 2], step), 2, [1], 1), 0, x, x)
        return [call(getfield, found, 0), call(getfield, found, 1)]

    run = tape_of([np.ones(3)], f).optimise().compile()
    x = np.arange(3.0)
    first, second = run(x)
    np.testing.assert_array_equal(first, [7.0, 7.0, 2.0])
    np.testing.assert_array_equal(second, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(x, [0.0, 1.0, 2.0])
    assert not np.may_share_memory(second, x)


def test_a_decision_in_a_later_iteration_is_as_recorded() -> None:
    """What a guard of the next iteration reads is computed as it was recorded, to the bit."""

    def step(call: Any, x: Any, y: Any) -> Any:
        call(operator.lt, x, 10.0, guard=True)
        return [call(operator.add, call(operator.mul, call(operator.mul, x, 0.1), 3.0), y)]

    values = [0.3, 0.7]
    loop = Loop(tape_of(values, step), 4, [], 1)
    made = tape_of(values, lambda call, x, y: call(getfield, call(loop, x, y), 0)).optimise()
    x = 0.9
    for _ in range(4):
        x = x * 0.1 * 3.0 + 0.7
    assert made.compile()(0.9, 0.7) == x
    with pytest.raises(wg.StaleTapeError):
        made.compile()(11.0, 0.7)
