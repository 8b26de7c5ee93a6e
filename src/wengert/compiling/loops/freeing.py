"""Freeing: loops of a trace that may run any number of times, and go one of several ways each time, become free loops.

All other loops stay as long as they were; what can be said of these is told in `rolling.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.loops.free_loops import FreeLoop
from wengert.compiling.loops.ways import Found, found_in, without_unread
from wengert.compiling.watched.heads import Head
from wengert.tape.ops import Call, Op, Variable
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.functions import Functions

_ASKED_LAST = Functions(type, np.shape, np.result_type, np.shares_memory, getattr, functional.getfield)
"""What is asked of values when a trace ends."""


def is_head(op: Op) -> bool:
    """Whether an op marks where an iteration begins."""
    return isinstance(op, Call) and type(op.fn) is Head


def may_be_free(tape: Any) -> bool:
    """Whether there is a loop on the tape whose heads, and the tests between them, leave open how often it runs."""
    ops = list(tape)
    return any([_is_open(ops, heads) for _, heads in _innermost(ops, set())])


def _is_open(ops: list[Any], heads: list[int]) -> bool:
    """Whether the state at some head was that of the head before, and tests tell what an iteration does."""
    if not any([ops[k].fn.same and ops[k].fn.is_all for k in heads]):
        return False
    between = ops[heads[0] : heads[-1]]
    return ops[heads[0]].fn.left is None or any(
        [isinstance(op, Call) and op.guard and not is_head(op) for op in between]
    )


def without_heads(tape: Any) -> Any:
    """The tape without the marks of iterations."""
    heads = [Variable(op) for op in tape if is_head(op)]
    if heads:
        tape.delete(*heads)
    return tape


def freed(tape: Any, wanted: int, exact: bool) -> Any:
    """The tape without marks, and with free loops for what they can stand for.

    Derivatives are taken by as many of its first inputs as are `wanted`.
    """
    made: Any = _with_tests_early(tape)
    ops, done = list(made), set[object]()
    depending = _depending(ops, {v.op for v in made.inputs[:wanted]})
    known: dict[Any, FreeLoop] = {}
    while loops := _innermost(ops, done):
        loop, heads = loops[0]
        done.add(loop)
        is_open = _is_open(ops, heads)
        found = found_in(ops, {op: k for k, op in enumerate(ops)}, heads, made.result.op) if is_open else None
        if found is not None:
            ops = _with_free_loop(ops, without_unread(found), depending, exact, known)
    return _tape_of(made, [op for op in ops if not is_head(op)])


def _with_tests_early(tape: Any) -> Tape:
    """A copy of the tape, in which what is asked of values when a trace ends is asked when they are there."""
    ops = list(tape)
    place: dict[Any, int] = {op: k for k, op in enumerate(ops)}

    def when(op: Op) -> int:
        reads = [place[v.op] for v in op.references()] if isinstance(op, Call) and op.guard else []
        return max(reads) if reads and op.fn in _ASKED_LAST else place[op]  # type: ignore[attr-defined]

    return _tape_of(tape, sorted(ops, key=when))


def _depending(ops: Iterable[Op], found: set[Op]) -> set[Op]:
    for op in ops:
        if any([v.op in found for v in op.references()]):
            found.add(op)
    return found


def _innermost(ops: list[Any], done: set[object]) -> list[tuple[object, list[int]]]:
    """The loops in which no other is that is not done yet, and the places of their heads."""
    heads: dict[object, list[int]] = {}
    for k, op in enumerate(ops):
        if is_head(op) and op.fn.loop not in done:
            heads.setdefault(op.fn.loop, []).append(k)
    return sorted(heads.items(), key=lambda item: item[1][-1] - item[1][0])


def _with_free_loop(
    ops: list[Op], found: Found, depending: set[Op], exact: bool, known: dict[Any, FreeLoop]
) -> list[Op]:
    """The ops with a call of a free loop in the place of what it stands for; loops that do the same are one."""
    head: Any = ops[found.start]
    head.fn.loop.is_free = True
    args = [*found.held, *found.outer]
    actives = [op in depending for op in args]
    key = found.key, tuple(actives)
    loop = known[key] = known.get(key) or FreeLoop(found, actives, exact)
    call = Call(loop, [*map(Variable, args)], val=tuple([op.val for op in found.values]), site=head.site)
    parts = [Call(functional.getfield, [Variable(call), k], val=op.val) for k, op in enumerate(found.values)]
    if any(loop.actives):
        depending.update([call, *parts])
    new = dict(zip(found.values, parts, strict=True))
    inside = ops[found.start : found.stop]
    rest = ops[found.stop :]
    for op in rest:
        op.rewrite(lambda v: Variable(new[v.op]) if v.op in new else v)
    before = [*ops[: found.start], *[op for op in inside if not isinstance(op, Call)]]
    return [*before, call, *parts, *rest]


def _tape_of(tape: Any, ops: Sequence[Op]) -> Tape:
    made, new = Tape(tape.ctx), dict[Any, Variable]()
    for op in ops:
        copy = op.copy()
        copy.rewrite(lambda v: new[v.op])
        new[op] = made.push(copy)
    made.result = new[tape.result.op]
    given = tape.arguments
    made.arguments = given and given._replace(inputs=tuple([new[v.op] for v in given.inputs]))
    return made
