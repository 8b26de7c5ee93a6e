"""The pipeline finds what a pass does wrong, runs each pass where it may, and logs those that changed something."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.compiling.guard_check import count_guards, is_guard
from wengert.compiling.loops.rolling import rolled
from wengert.compiling.pipeline import LOWERING, NATIVE, NUMPY, OPTIMISING, Context, Pass, has_equal_values, run_passes
from wengert.compiling.tape_rewriter import tape_with_ops
from wengert.errors import TapeError
from wengert.tape.loops import Loop, with_bodies
from wengert.tape.ops import Call, Constant, Input
from wengert.tape.source import LostGuardError
from wengert.tape.tape import Tape


def branching(x: Any) -> Any:
    for _ in range(300):
        x = x * 1.5 if x > 0.5 else x + 1.0
    return x


def recorded(f: Callable[..., Any] = branching, x: Any = 0.75) -> Any:
    return wg.trace(f, x)[1]


def run(tape: Any, change: Callable[..., Any], exact: bool = False, **words: Any) -> tuple[list[Any], list[str]]:
    """Return the tapes that a pass makes, and the log."""
    context = Context(exact)
    tapes = run_passes([Pass("change", change, **words)], tape, context)
    return tapes, [entry.name for entry in context.log]


def without_guards(tape: Any, _: Context) -> Any:
    return tape_with_ops(tape, [op for op in tape if not is_guard(op)])


def unmark_guards(tape: Any, _: Context) -> Any:
    for op in with_bodies(tape):
        if is_guard(op):
            op.guard = False
    return tape


@pytest.mark.parametrize("change", [without_guards, unmark_guards])
def test_a_pass_that_loses_a_guard_is_found(change: Any) -> None:
    with pytest.raises(LostGuardError, match="was lost"):
        run(recorded(), change)


def test_a_pass_that_loses_a_guard_in_a_loop_is_found() -> None:
    tape = rolled(recorded())
    assert any([isinstance(op.fn, Loop) for op in tape.calls])
    with pytest.raises(LostGuardError, match="was lost"):
        run(tape, unmark_guards)


def test_a_pass_may_answer_guards() -> None:
    def answer(tape: Any, context: Context) -> Any:
        context.answered.update(count_guards(tape))
        return without_guards(tape, context)

    tape = recorded()
    assert run(tape, answer)[1] == ["change"]
    assert run(tape, without_guards, counts_guards=True)[1] == ["change"]


def late_input() -> Tape:
    made = Tape()
    made.result = made.push(Call(np.sin, [made.push(Input(1.0))], val=np.sin(1.0)))
    made.push(Input(2.0))
    return made


def stray_result() -> Tape:
    made, other = Tape(), Tape()
    made.push(Input(1.0))
    made.result = made.push(Constant(2.0))
    made._result = other.push(Constant(2.0))
    return made


def late_input_in_a_loop() -> Tape:
    made = Tape()
    loop = made.push(Call(Loop(late_input(), 2, [], 0), [made.push(Input(1.0))], val=(1.0,)))
    made.result = loop
    return made


@pytest.mark.parametrize("make", [late_input, stray_result, late_input_in_a_loop])
def test_a_pass_that_makes_an_ill_formed_tape_is_found(make: Any) -> None:
    with pytest.raises(TapeError):
        run(recorded(np.sin), lambda *_: make())


def test_a_pass_that_changes_nothing_is_not_logged() -> None:
    tape = recorded()
    assert run(tape, lambda tape, _: tape) == ([tape], [])
    assert run(tape, lambda tape, _: tape_with_ops(tape, tape))[1] == []


def test_a_pass_runs_where_it_may() -> None:
    def asks_for_addresses(x: Any) -> Any:
        return x * 2.0 if np.shares_memory(x, x) else x

    def fails(*_: Any) -> Any:
        raise AssertionError

    run(recorded(asks_for_addresses, np.ones(3)), fails, needs=has_equal_values)
    run(recorded(), fails, needs=lambda ops: False)
    context = Context(exact=True)
    run_passes([Pass("change", fails, exact=False)], recorded(), context)
    assert not context.log


@pytest.mark.parametrize("code", [NUMPY, NATIVE], ids=["NumPy", "native"])
def test_each_pass_is_listed_once(code: list[Pass]) -> None:
    names = [each.name for each in (*LOWERING, *OPTIMISING, *code)]
    assert len(names) == len(set(names))


def test_explain_lists_the_passes_that_changed_a_trace() -> None:
    def decay(x: Any) -> Any:
        for _ in range(50):
            x = x - 0.1 * np.sin(x)
        return x

    g = wg.compile(wg.grad(decay), native=False)
    g(1.0)
    lines = [line for line in g.explain().splitlines() if line.startswith("  pass ")]
    found = [re.fullmatch(r"  pass ([\w ]+): (\d+) -> (\d+) ops, \d+\.\d ms", line) for line in lines]
    names, before, after = zip(*[match.groups() for match in found if match], strict=True)
    every = [each.name for each in (*LOWERING, *OPTIMISING, *NUMPY)]
    assert len(names) == len(lines) and [name for name in every if name in names] == [*names]
    assert {"roll loops", "rules", "Python floats"} <= {*names} and "columns" not in names
    assert before[1:] == after[:-1]
