"""Inline the constant arguments of loops into their bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.compiling.constants import constant_key
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.interface import AnyTape
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Variable


def inline_constants(tape: AnyTape, keeps_loops: bool = False) -> Any:
    """Replace the loops of a tape by loops with their invariant constant arguments inlined; return the tape.

    If it `keeps_loops`, a loop that is called several times stays one loop, so that rolling finds its calls alike: an
    argument that differs between the calls stays one. Else it becomes a loop for each set of constants.
    """
    calls: dict[Any, list[Call]] = {}
    for op in tape:
        if isinstance(op, Call) and type(op.fn) is Loop:
            key = None if keeps_loops else (*map(constant_key, _constants(op.fn, op.args)),)
            calls.setdefault((op.fn, key), []).append(op)
    for (loop, _), those in calls.items():
        _inline_in_calls(loop, those, keeps_loops)
    return tape


def _constants(loop: Loop, args: Sequence[Any]) -> list[Any]:
    """Return the constants among the arguments of a loop that are the same in all iterations, None for the others."""
    first = len(loop.steps) + loop.carried + (loop.ending == "number")
    numbers = [*map(_number_itself, args)]
    return [None if k < first or isinstance(x, Variable) else x for k, x in enumerate(numbers)]


def _number_itself(x: Any) -> Any:
    """Return the number that a variable is which is a constant one; any other argument unchanged."""
    return x.op.val if isinstance(x, Variable) and type(x.op) is Constant and type(x.op.val) in (int, float) else x


def _inline_in_calls(loop: Loop, calls: Sequence[Call], keeps_loops: bool) -> None:
    """Replace a loop in these calls by one with the constants inlined that all of them pass to it."""
    columns = [*zip(*[_constants(loop, call.args) for call in calls], strict=True)]
    inlined = {k: given[0] for k, given in enumerate(columns) if len({*map(constant_key, given)}) == 1}
    inlined = {k: x for k, x in inlined.items() if x is not None}
    new = TapeRewriter(loop.body)
    for k, op in enumerate(loop.body):
        if isinstance(op, Input) and k in inlined:
            new.table[op] = inlined[k]
        else:
            new.push(op)
    inner = loop.with_body(inline_constants(new.finished(), keeps_loops))
    for call in calls:
        call.fn, call.args = inner, tuple([x for k, x in enumerate(call.args) if k not in inlined])
