"""Freeing: loops of a trace that may run any number of times, and go one of several ways each time, become free loops.

All other loops stay as long as they were; what can be said of these is told in `rolling.py`.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.guard_check import counted, kept
from wengert.compiling.loops.branch_tree import WhileLoop, found_in, without_unread
from wengert.compiling.loops.sharing import shared
from wengert.compiling.loops.while_call import FreeLoop, tape_of
from wengert.compiling.watched.loop_states import Head
from wengert.tape.ops import Call, Constant, Op, Variable
from wengert.values import functional
from wengert.values.identity_set import Functions
from wengert.values.specs import FLOATS

_ASKED_LAST = Functions(type, np.shape, np.result_type, np.shares_memory, getattr, functional.getfield)
"""Functions that a trace asks of values when it ends."""


def is_head(op: Op) -> bool:
    """Whether an op marks where an iteration begins."""
    return isinstance(op, Call) and type(op.fn) is Head


def may_be_free(tape: Any) -> bool:
    """Whether there is a loop on the tape whose heads, and the tests between them, leave open how often it runs."""
    ops = list(tape)
    return any([_is_open(ops, heads) for heads in _loops_on(ops)])


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
    made: Any = tape_of(tape, with_tests_early(list(tape)))
    ops, known = list(made), dict[Any, FreeLoop]()
    depending = _depending(ops, {v.op for v in made.inputs[:wanted]})
    while loops := _innermost(ops):
        place = {op: k for k, op in enumerate(ops)}
        last = {v.op: k for k, op in enumerate(ops) for v in op.references()} | {made.result.op: len(ops)}
        found = [found_in(ops, place, heads, last) for heads in loops if _is_open(ops, heads)]
        done = {ops[k] for heads in loops for k in heads}
        free = shared([without_unread(one) for one in found if one is not None])
        ops = _with_free_loops(ops, free, depending, exact, known)
        ops = [op for op in ops if op not in done]
    return tape_of(made, ops)


def with_tests_early(ops: list[Op]) -> list[Op]:
    """The ops of a tape, in which what is asked of values when a trace ends is asked when they are there."""
    place: dict[Any, int] = {op: k for k, op in enumerate(ops)}

    def when(op: Op) -> int:
        reads = [place[v.op] for v in op.references()] if isinstance(op, Call) and op.guard else []
        return max(reads) if reads and op.fn in _ASKED_LAST else place[op]  # type: ignore[attr-defined]

    return sorted(ops, key=when)


def _depending(ops: Iterable[Op], found: set[Op]) -> set[Op]:
    for op in ops:
        if any([v.op in found for v in op.references()]):
            found.add(op)
    return found


def _loops_on(ops: Sequence[Any]) -> list[list[int]]:
    """The places of the heads of each loop."""
    heads: dict[object, list[int]] = {}
    for k, op in enumerate(ops):
        if is_head(op):
            heads.setdefault(op.fn.loop, []).append(k)
    return list(heads.values())


def _innermost(ops: Sequence[Any]) -> list[list[int]]:
    """The places of the heads of loops in which there are no others, in order."""
    loops = _loops_on(ops)
    places = sorted([k for heads in loops for k in heads])
    inmost = [heads for heads in loops if bisect(places, heads[-1]) - bisect(places, heads[0]) == len(heads) - 1]
    return sorted(inmost)


def _with_free_loops(
    ops: list[Op], found: list[WhileLoop], depending: set[Op], exact: bool, known: dict[Any, FreeLoop]
) -> list[Op]:
    """The ops with calls of free loops in the place of what these stand for; loops that do the same are one."""
    made: list[Op] = []
    new: dict[Any, Op] = {}

    def renewed(v: Variable) -> Variable:
        return Variable(new[v.op]) if v.op in new else v

    def given(op: Op) -> Any:
        """Return the argument for `op`; numbers are inlined, so calls that differ in numbers alone are alike."""
        if type(op) is not Constant or type(op.val) not in FLOATS:
            return renewed(Variable(op))
        if type(op.val) is float:
            return op.val
        made.append(Call(np.float64, [float(op.val)], val=op.val))
        return Variable(made[-1])

    def copy(start: int, stop: int) -> None:
        for op in ops[start:stop]:
            op.rewrite(renewed)
            made.append(op)

    end = 0
    for free in found:
        copy(end, free.start)
        end, head = free.stop, ops[free.start]
        head.fn.loop.is_free = True  # type: ignore[attr-defined]
        args = [*free.held, *free.outer]
        actives = [op in depending for op in args]
        key = free.key, tuple(actives)
        loop = known[key] = known.get(key) or FreeLoop(free, actives, exact)
        call = Call(loop, [*map(given, args)], val=tuple([op.val for op in free.values]), site=head.site)
        parts = [Call(functional.getfield, [Variable(call), k], val=op.val) for k, op in enumerate(free.values)]
        if any(loop.actives):
            depending.update([call, *parts])
        made += [*[op for op in ops[free.start : end] if not isinstance(op, Call)], call, *parts]
        new.update(zip(free.values, parts, strict=True))
    copy(end, len(ops))
    return kept(ops, made, counted([op for free in found for op in free.tests(ops)]))
