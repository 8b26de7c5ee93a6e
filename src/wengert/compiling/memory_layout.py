"""Answer the guards that ask whether a result is a view or a copy, by guards on the strides of the arguments.

Whether `x.ravel()` is a view depends on the strides of `x`, and these on those of the arrays from which it is computed.
So if all arguments lie in memory as they did, each answer is the same. A guard that remained would keep loops from
being rolled, and rules from being applied. If an argument is not contiguous, guards on what is made of it remain: it
might have other strides in each call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from wengert.compiling.guard_check import count_guards
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.needed import only_computes
from wengert.tape.ops import Call, Constant, Input, Op, Variable

_LAID_OUT_BY_STRIDES = ("numpy", "scipy", "wengert_rules")
"""The packages whose functions lay out their results by the strides of arguments alone."""


def answer_layout(tape: Any, answered: Counter[Any]) -> Any:
    """Replace guards on views and copies that the strides of arguments decide; add them to `answered`."""
    ops = list(tape)
    asked = [op for op in ops if _asks_for_view(op)]
    undecided = _undecided(ops) if asked else set()
    decided = {op for op in asked if op.args[0].op not in undecided}
    if not decided:
        return tape
    answered.update(count_guards(decided))
    given = _arguments_behind(decided)
    new = TapeRewriter(tape)
    inputs = [op for op in ops if isinstance(op, Input)]
    for op in inputs:
        new.push(op)
    for op in filter(given.__contains__, inputs):
        new.new.push(Call(getattr, [new.variable(op), "strides"], val=op.val.strides, guard=True))
    for op in ops:
        if op not in decided and not isinstance(op, Input):
            new.push(op)
    return new.finished()


def _asks_for_view(op: Op) -> bool:
    """Whether an op is a guard on whether a call's result is a view of its argument."""
    if not (isinstance(op, Call) and op.guard and op.fn is np.shares_memory and len(op.args) == 2):
        return False
    x, y = op.args
    return type(x) is type(y) is Variable and isinstance(y.op, Call) and x in y.op.args[:1]


def _undecided(ops: Iterable[Op]) -> set[Op | None]:
    """Return the ops of which the strides of contiguous arguments do not decide how they lie in memory."""
    found: set[Op | None] = set()
    for op in ops:
        if isinstance(op, Call):
            if not _is_layout_known(op) or any([v.op in found for v in op.references()]):
                found.add(op)
        elif isinstance(op, Input) and isinstance(op.val, np.ndarray):
            if type(op.val) is not np.ndarray or not op.val.flags.forc:
                found.add(op)
        elif not isinstance(op, (Input, Constant)):
            found.add(op)
    return found


def _is_layout_known(op: Call) -> bool:
    """Whether a function lays out its result by the strides of its arguments alone."""
    root = (getattr(op.fn, "__module__", None) or "").partition(".")[0]
    return not isinstance(op.fn, Variable) and (only_computes(op.fn) or root in _LAID_OUT_BY_STRIDES)


def _arguments_behind(ops: Iterable[Call]) -> set[Op | None]:
    """Return the arrays among the arguments from which the operands of these ops are computed."""
    found, todo = set[Op | None](), [v.op for op in ops for v in op.references()]
    while todo:
        op = todo.pop()
        if op not in found:
            found.add(op)
            todo += [v.op for v in op.references()] if isinstance(op, Call) else []
    return {op for op in found if isinstance(op, Input) and isinstance(op.val, np.ndarray)}
