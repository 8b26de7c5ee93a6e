"""Hoist loop invariants: compute them once, before the loop."""

from __future__ import annotations

from typing import Any

from wengert.compiling.loops.open_loops import OpenLoop, Region, is_loop
from wengert.tape.folding import is_pure
from wengert.tape.liveness import is_new_memory, is_store
from wengert.tape.ops import Call, Constant, Op, Variable, references


def hoist(region: Region) -> None:
    """Move loop-invariant calls out of the bodies of loops, inner loops first.

    A loop has at least one iteration, so no call runs or raises that did not before. A call that allocates an array
    for in-place writes stays, since each iteration needs its own.
    """
    for loop in region.loops():
        hoist(loop)
    ops, region.ops = region.ops, []
    for op in ops:
        if is_loop(op) and op.fn.ending != "number":  # type: ignore[attr-defined]
            _hoist_out_of(op.fn, region)  # type: ignore[attr-defined]
        region.ops.append(op)


def _hoist_out_of(loop: OpenLoop, region: Region) -> None:
    """Append the invariant calls of the body to the region around it."""
    outside: dict[Op, Any] = {op: loop.argument_for(op) for op in loop.inputs if loop.role(op) == "invariant"}
    constants = {op for op in loop.ops if isinstance(op, Constant)}
    written, staying, moved = _written_ops(loop), [], set()

    def outer(v: Variable) -> Any:
        if v.op in constants and v.op not in outside:
            region.ops.append(v.op.copy())
            outside[v.op] = Variable(region.ops[-1])
        return outside[v.op]  # type: ignore[index]

    for op in loop.ops:
        fixed = all([v.op in outside or v.op in constants for v in op.references()])
        if fixed and _is_hoistable(op) and not (op in written and is_new_memory(op)):  # type: ignore[arg-type]
            op.rewrite(outer)
            region.ops.append(op)
            outside[op] = Variable(op)
            moved.add(op)
        else:
            staying.append(op)
    loop.ops = staying
    loop.rewrite(lambda v: loop.invariant(outside[v.op]) if v.op in moved else v)


def _is_hoistable(op: Op) -> bool:
    """Whether a call is pure, so that it may run once for all iterations."""
    if not isinstance(op, Call) or op.guard or "out" in op.kwargs:
        return False
    return all(map(_is_hoistable, op.fn.ops)) if is_loop(op) else is_pure(op.fn)


def _written_ops(loop: OpenLoop) -> set[Op | None]:
    """Return the ops whose arrays may be written in place, by this iteration or the next."""
    found = list(references(loop.results[: loop.carried]))
    for op in loop.ops:
        if isinstance(op, Call) and is_store(op):
            found += references(op.args[0])
        elif isinstance(op, Call) and is_loop(op):
            first = len(op.fn.steps)
            found += references(op.args[first : first + op.fn.carried])
    return {v.op for v in found}
