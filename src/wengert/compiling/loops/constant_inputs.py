"""Inline the constant arguments of loops into their bodies."""

from __future__ import annotations

from typing import Any

from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.interface import AnyTape
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Variable


def inline_constants(tape: AnyTape) -> Any:
    """Replace the loops of a tape by loops with their invariant constant arguments inlined; return the tape."""
    for op in tape:
        if isinstance(op, Call) and type(op.fn) is Loop:
            op.fn, op.args = _inline_in_loop(op.fn, op.args)
    return tape


def _number_itself(x: Any) -> Any:
    """Return the number that a variable is which is a constant one; any other argument unchanged."""
    return x.op.val if isinstance(x, Variable) and type(x.op) is Constant and type(x.op.val) in (int, float) else x


def _inline_in_loop(loop: Loop, args: tuple[Any, ...]) -> tuple[Loop, tuple[Any, ...]]:
    varying = len(loop.steps) + loop.carried
    new = TapeRewriter(loop.body)
    remaining: list[Any] = []
    for k, op in enumerate(loop.body):
        if isinstance(op, Input):
            given = _number_itself(args[k])
            if k >= varying + (loop.ending == "number") and not isinstance(given, Variable):
                new.table[op] = given
                continue
            remaining.append(args[k])
        new.push(op)
    return loop.with_body(inline_constants(new.finished())), tuple(remaining)
