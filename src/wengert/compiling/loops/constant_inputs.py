"""Numbers that a loop is given, and that are the same in all of its iterations, stand in the body of it."""

from __future__ import annotations

from typing import Any

from wengert.tape.interface import AnyTape
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Input, Variable
from wengert.tape.tape import Tape


def settled(tape: AnyTape) -> Any:
    """The tape, with the numbers that its loops are given in their bodies; it is changed, its loops are new."""
    for op in tape:
        if isinstance(op, Call) and type(op.fn) is Loop:
            op.fn, op.args = _settled(op.fn, op.args)
    return tape


def _settled(loop: Loop, args: tuple[Any, ...]) -> tuple[Loop, tuple[Any, ...]]:
    own = len(loop.steps) + loop.carried
    body = Tape()
    given: list[Any] = []
    new: dict[Any, Any] = {}
    for k, op in enumerate(loop.body):
        if isinstance(op, Input):
            if k >= own and not isinstance(args[k], Variable):
                new[op] = args[k]
                continue
            given.append(args[k])
        made = op.copy()
        if isinstance(made, Call):
            made.rewrite(lambda v: new[v.op])
            if type(made.fn) is Loop:
                made.fn, made.args = _settled(made.fn, made.args)
        new[op] = body.push(made)
    body.result = new[loop.body.result.op]
    return Loop(body, loop.count, loop.steps, loop.carried), tuple(given)
