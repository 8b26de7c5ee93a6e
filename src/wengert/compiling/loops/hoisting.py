"""Hoist loop invariants: compute them once, before the loop."""

from __future__ import annotations

from typing import Any

from wengert.compiling.graphs.ownership import own_results
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.folding import is_pure
from wengert.tape.interface import AnyTape
from wengert.tape.liveness import is_new_memory, is_store
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Op, references


def hoist(tape: AnyTape) -> Any:
    """Return a tape that makes loop-invariant calls before the loops, inner loops first.

    A loop has at least one iteration, so no call runs or raises that did not before. A call that allocates an array
    for in-place writes stays, since each iteration needs its own.
    """
    made = _hoisted(tape)
    own_results(tape, made)
    return made


def _hoisted(tape: AnyTape) -> Any:
    made = _Hoister(tape)
    for op in tape:
        made.push(op)
    return made.finished()


class _Hoister(TapeRewriter):
    """Copies a tape; invariant calls of a loop come before its call, and are arguments of it."""

    def push(self, op: Op) -> None:
        if isinstance(op, Call) and type(op.fn) is Loop:
            self.push_loop(op, _hoisted(op.fn.body))
        else:
            super().push(op)

    def push_loop(self, op: Call, body: Any) -> None:
        """Push the invariant calls of a loop with this body, and the call of a loop of the others."""
        loop, copy, outer = op.fn.with_body(body), self.copy(op), TapeRewriter(body, self.new)
        first = len(loop.steps) + loop.carried
        outer.table = {v.op: a for v, a in zip(loop.inputs[first:], copy.args[first:], strict=True)}
        ops, written, moved = list(body), _written_ops(loop), dict[Op, None]()
        for each in ops if loop.ending != "number" else ():
            reads: Any = dict.fromkeys([v.op for v in each.references()])
            fixed = each is not body.result.op and all([v in outer.table or type(v) is Constant for v in reads])
            if fixed and _is_hoistable(each) and not (each in written and is_new_memory(each)):
                for constant in [v for v in reads if v not in outer.table]:
                    outer.push(constant)
                outer.push(each)
                moved[each] = None
        inner = TapeRewriter(body)
        for v in loop.inputs:
            inner.push(v.op)
        staying = [each for each in ops if each not in moved and not isinstance(each, Input)]
        read = {v.op for each in staying for v in each.references()}
        given = [each for each in moved if each in read]
        for each in given:
            inner.table[each] = inner.new.push(Input(each.val))
        for each in staying:
            inner.push(each)
        copy.fn = loop.with_body(inner.finished())
        copy.args = (*copy.args, *[outer.table[each] for each in given])
        self.table[op] = self.new.push(copy)


def _is_hoistable(op: Op) -> bool:
    """Whether a call is pure, so that it may run once for all iterations."""
    if not isinstance(op, Call) or op.guard or "out" in op.kwargs:
        return False
    if type(op.fn) is Loop:
        return all([_is_hoistable(each) for each in op.fn.body if isinstance(each, Call)])
    return is_pure(op.fn)


def _written_ops(loop: Loop) -> set[Op | None]:
    """Return the ops whose arrays may be written in place, by this iteration or the next."""
    found: list[Any] = [*references(loop.results[: loop.carried])]
    for op in loop.body:
        if isinstance(op, Call) and is_store(op):
            found += references(op.args[0])
        elif isinstance(op, Call) and type(op.fn) is Loop:
            first = len(op.fn.steps)
            found += references(op.args[first : first + op.fn.carried])
    return {v.op for v in found}
