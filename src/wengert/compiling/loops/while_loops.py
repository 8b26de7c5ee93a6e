"""Find free loops: loops of a trace whose iteration count and branches may differ in another call.

All other loops keep the number of iterations that was recorded, see `rolling.py`.
"""

from __future__ import annotations

import operator
from bisect import bisect
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.guard_check import check_guards_kept, count_guards
from wengert.compiling.loops.branch_tree import WhileLoop, drop_unread_variables, find_while_loops
from wengert.compiling.loops.branching_loops import BranchingLoop, UnsupportedTreeError
from wengert.compiling.loops.periodicity import static_spec
from wengert.compiling.loops.sharing import share_loops
from wengert.compiling.loops.while_call import FreeLoop
from wengert.compiling.tape_rewriter import tape_with_ops
from wengert.compiling.watched.loop_states import Head
from wengert.tape.ops import Call, Constant, Op, Variable
from wengert.values import functional
from wengert.values.identity_set import Functions
from wengert.values.specs import FLOATS

_OF_COUNTERS = Functions(functional.whole, functional.as_index)
_CALLED_AT_END = Functions(type, np.shape, np.result_type, np.shares_memory, getattr, functional.getfield)
"""Functions that a trace calls on values when it ends."""


def is_head(op: Op) -> bool:
    """Whether an op marks the beginning of an iteration."""
    return isinstance(op, Call) and type(op.fn) is Head


def may_have_free_loops(tape: Any) -> bool:
    """Whether a loop on the tape may run a different number of times in another call."""
    ops = list(tape)
    return any([_has_open_count(ops, heads) for heads in _loops_on(ops)])


def _has_open_count(ops: Sequence[Any], heads: list[int]) -> bool:
    """Whether the state recurred at some head, and tests decide on the path or the number of iterations."""
    if not any([ops[k].fn.same and ops[k].fn.is_all for k in heads]):
        return False
    between = ops[heads[0] : heads[-1]]
    return ops[heads[0]].fn.left is None or any(
        [isinstance(op, Call) and op.guard and not is_head(op) for op in between]
    )


def without_heads(tape: Any) -> Any:
    """Delete the heads of loops from the tape; return it."""
    heads = [Variable(op) for op in tape if is_head(op)]
    if heads:
        tape.delete(*heads)
    return tape


def with_free_loops(tape: Any, wanted: int, exact: bool) -> Any:
    """Return the tape without heads, and with a call of a free loop for each loop that may become one.

    Derivatives are taken with respect to the first `wanted` inputs.
    """
    made: Any = tape_with_ops(tape, with_early_guards(list(tape)))
    ops, known = list(made), dict[Any, FreeLoop]()
    depending = _depending(ops, {v.op for v in made.inputs[:wanted]})
    while loops := _innermost(ops):
        place = {op: k for k, op in enumerate(ops)}
        last = {v.op: k for k, op in enumerate(ops) for v in op.references()} | {made.result.op: len(ops)}
        done = {ops[k] for heads in loops for k in heads}
        counted, free = _found_loops(ops, place, loops, last)
        ops = _insert_free_loops(ops, counted, share_loops(free), depending, exact, known)
        ops = [op for op in ops if op not in done]
    return tape_with_ops(made, ops)


def fold_counters(tape: Any) -> Any:
    """Replace the integers that a tape computes from constants only, for loop counters, by these; return the tape."""
    known: dict[Any, Any] = {}
    kept: list[Op] = []
    for op in tape:
        read = [v.op for v in op.references()]
        is_of_constants = all([type(v) is Constant or v in known for v in read])
        if isinstance(op, Call) and is_of_constants and (op.fn in _OF_COUNTERS or _continues(op, known)):
            known[op] = int(op.val) if isinstance(op.val, np.integer) else op.val
        if op not in known or op is tape.result.op:
            op.rewrite(lambda v: known.get(v.op, v))
            kept.append(op)
    return tape_with_ops(tape, kept) if known else tape


def _continues(op: Call, known: dict[Any, Any]) -> bool:
    """Whether a call computes another number from a folded counter."""
    return op.fn in (operator.add, float) and any([v.op in known for v in op.references()])


def with_early_guards(ops: list[Op]) -> list[Op]:
    """Move the guards that a trace adds at its end to where the values they read are computed."""
    place: dict[Any, int] = {op: k for k, op in enumerate(ops)}

    def when(op: Op) -> int:
        reads = [place[v.op] for v in op.references()] if isinstance(op, Call) and op.guard else []
        return max(reads) if reads and op.fn in _CALLED_AT_END else place[op]  # type: ignore[attr-defined]

    return sorted(ops, key=when)


def _depending(ops: Iterable[Op], found: set[Op]) -> set[Op]:
    """Add the ops that depend on those in `found`; return the set."""
    for op in ops:
        if any([v.op in found for v in op.references()]):
            found.add(op)
    return found


def _loops_on(ops: Sequence[Any]) -> list[list[int]]:
    """Return the positions of the heads of each loop."""
    heads: dict[object, list[int]] = {}
    for k, op in enumerate(ops):
        if is_head(op):
            heads.setdefault(op.fn.loop, []).append(k)
    return list(heads.values())


def _innermost(ops: Sequence[Any]) -> list[list[int]]:
    """Return the positions of the heads of loops that contain no other loop, in order."""
    loops = _loops_on(ops)
    places = sorted([k for heads in loops for k in heads])
    inmost = [heads for heads in loops if bisect(places, heads[-1]) - bisect(places, heads[0]) == len(heads) - 1]
    return sorted(inmost)


def _found_loops(
    ops: Sequence[Op], place: dict[Op, int], loops: list[list[int]], last: dict[Any, int]
) -> tuple[dict[int, tuple[BranchingLoop, WhileLoop]], list[WhileLoop]]:
    """Return the runs of loops that become a Loop, by where they begin, and those that become free loops."""
    groups: dict[Any, list[list[int]]] = {}
    for heads in loops:
        if _has_open_count(ops, heads):
            first: Any = ops[heads[0]]
            is_counted = first.fn.left == len(heads) - 1
            state = tuple([static_spec(v.op.val) for v in ops[heads[-1]].references()])  # type: ignore[union-attr]
            groups.setdefault((first.fn.loop.key, state) if is_counted else heads[0], []).append(heads)
    counted: dict[int, tuple[BranchingLoop, WhileLoop]] = {}
    free: list[WhileLoop] = []
    for key, runs in groups.items():
        found = drop_unread_variables(find_while_loops(ops, place, runs, last))
        loop = _branching_loop(found[0]) if found and type(key) is tuple else None
        if loop is None:
            free += found
        else:
            counted.update({one.start: (loop, one) for one in found})
    return counted, sorted(free, key=lambda one: one.start)


def _branching_loop(one: WhileLoop) -> BranchingLoop | None:
    """Return the Loop with branches that a loop becomes; None if it cannot become one."""
    try:
        return BranchingLoop(one)
    except UnsupportedTreeError:
        return None


def _insert_free_loops(
    ops: list[Op],
    counted: dict[int, tuple[BranchingLoop, WhileLoop]],
    free: list[WhileLoop],
    depending: set[Op],
    exact: bool,
    known: dict[Any, FreeLoop],
) -> list[Op]:
    """Replace the ops of each loop by a call; loops of the same code share one."""
    found = sorted([*[one for _, one in counted.values()], *free], key=lambda one: one.start)
    made: list[Op] = []
    new: dict[Any, Op] = {}

    def renewed(v: Variable) -> Variable:
        return Variable(new[v.op]) if v.op in new else v

    def argument(op: Op) -> Any:
        """Return the argument for `op`; numbers are inlined, so calls that differ only in numbers are alike."""
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
    for one in found:
        copy(end, one.start)
        end, head = one.stop, ops[one.start]
        if one.start in counted:
            head.fn.loop.branches = True  # type: ignore[attr-defined]
            calls, parts = counted[one.start][0].call(one, head.site)
            for op in calls:
                op.rewrite(renewed)
            made += [*[op for op in ops[one.start : end] if not isinstance(op, Call)], *calls]
            new.update(zip(one.results, parts, strict=True))
            _depending(calls, depending)
            continue
        head.fn.loop.is_free = True  # type: ignore[attr-defined]
        args = [*one.variables, *one.outer_values]
        actives = [op in depending for op in args]
        key = one.key, tuple(actives)
        loop = known[key] = known.get(key) or FreeLoop(one, actives, exact)
        call = Call(loop, [*map(argument, args)], val=tuple([op.val for op in one.results]), site=head.site)
        parts = [Call(functional.getfield, [Variable(call), k], val=op.val) for k, op in enumerate(one.results)]
        if any(loop.actives):
            depending.update([call, *parts])
        made += [*[op for op in ops[one.start : end] if not isinstance(op, Call)], call, *parts]
        new.update(zip(one.results, parts, strict=True))
    copy(end, len(ops))
    return check_guards_kept(ops, made, count_guards([op for one in found for op in one.tests(ops)]))
