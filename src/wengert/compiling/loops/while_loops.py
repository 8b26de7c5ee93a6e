"""Find free loops: loops of a trace whose iteration count and branches may differ in another call.

All other loops keep the number of iterations that was recorded, see `rolling.py`.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
from bisect import bisect
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.guard_check import check_guards_kept, count_guards
from wengert.compiling.loops.branch_code import UnsupportedTreeError
from wengert.compiling.loops.branch_tree import WhileLoop, drop_unread_variables
from wengert.compiling.loops.branching_loops import BranchingLoop
from wengert.compiling.loops.constant_inputs import inline_constants
from wengert.compiling.loops.loop_finder import find_while_loops, never_runs
from wengert.compiling.loops.periodicity import static_spec
from wengert.compiling.loops.straight_code import join_paths
from wengert.compiling.tape_rewriter import TapeRewriter, inputs_first, tape_with_ops
from wengert.compiling.watched.marks import Earlier, Ending, Head, Mark
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Op, Variable, with_variables
from wengert.values import functional
from wengert.values.identity_set import Functions

MOST_ALONE = 3
"""After so many searches in turn that find one run alone, each other run of the loop becomes a loop of its own."""
_OF_COUNTERS = Functions(functional.whole, functional.as_index)
_CALLED_AT_END = Functions(type, np.shape, np.result_type, np.shares_memory, getattr, functional.getfield)
"""Functions that a trace calls on values when it ends."""


def is_head(op: Op) -> bool:
    """Whether an op marks the beginning of an iteration."""
    return isinstance(op, Call) and type(op.fn) is Head


def is_mark(op: Op) -> bool:
    """Whether an op marks a place in a loop."""
    return isinstance(op, Call) and isinstance(op.fn, Mark)


def _is_mark_of_trace(op: Op) -> bool:
    return isinstance(op, Call) and type(op.fn) is Earlier


def may_have_free_loops(tape: Any) -> bool:
    """Whether in another call a loop on the tape may run a different number of times, or straight code may fork."""
    ops = list(tape)
    has_paths = any([isinstance(op, Call) and type(op.fn) is Ending for op in ops])
    return has_paths or any([_has_open_count(ops, heads) for heads in _loops_on(ops)])


def _has_open_count(ops: Sequence[Any], heads: list[int]) -> bool:
    """Whether the state recurred at some head, and tests decide on the path or the count, or the loop makes lists."""
    if not any([ops[k].fn.same and ops[k].fn.ran_back_once for k in heads]):
        return False
    between = ops[heads[0] : heads[-1]]
    return (
        ops[heads[0]].fn.left is None
        or bool(ops[heads[0]].fn.number)
        or ops[heads[0]].fn.loop.makes_lists
        or any([isinstance(op, Call) and op.guard and not is_mark(op) for op in between])
    )


def without_heads(tape: Any) -> Any:
    """Delete the heads of loops from the tape, other marks, and the calls of earlier traces; return it."""
    ops = [*tape]
    if marks := {*_of_earlier(ops), *filter(is_mark, ops)}:
        tape.delete(*map(Variable, marks))
    return tape


def with_free_loops(tape: Any, constants: Iterable[int] = ()) -> Any:
    """Return the tape without heads; loops whose number of iterations or branches may differ are calls of a Loop.

    The inputs with the indices `constants` have the same values in each call.
    """
    ops, inputs, result = with_early_guards(list(tape)), tape.inputs, tape.result.op
    fixed = {inputs[k].op for k in constants}
    while loops := _innermost(ops):
        done = {ops[k].fn.loop for heads in loops for k in heads}  # type: ignore[attr-defined]
        outer_heads: Any = [op for op in ops if is_head(op) and op.fn.loop not in done]  # type: ignore[attr-defined]
        held = {v.op for op in outer_heads for v in op.references()}
        ops, result = _insert_loops(ops, _found_loops(ops, loops, result, fixed, held), result)
        ops = [op for op in ops if not (is_mark(op) and op.fn.loop in done)]  # type: ignore[attr-defined]
    ops, result = join_paths(ops, result, fixed)
    earlier, made = {*_of_earlier(ops)}, TapeRewriter(tape)
    for op in inputs_first([op for op in ops if op not in earlier and not is_mark(op)]):
        made.push(op)
    made.table[tape.result.op] = made.variable(result)
    return made.finished()


def _traces_of(ops: Sequence[Op]) -> list[int]:
    """Return the number of each op's trace: of earlier ones from 1 on, of the last one what follows, or 0 for all."""
    return [*itertools.accumulate([_is_mark_of_trace(op) for op in ops])]


def _of_earlier(ops: Sequence[Any]) -> list[Op]:
    """Return the calls of earlier traces, and the marks around them."""
    marks = [k for k, op in enumerate(ops) if _is_mark_of_trace(op)]
    return [*ops[marks[0] : marks[-1] + 1]] if marks else []


def fold_counters(tape: Any) -> Any:
    """Replace the integers that a tape computes from constants only, for loop counters, by these; return the tape."""
    known: dict[Any, Any] = {}
    kept: list[Op] = []
    folded: dict[Any, Loop] = {}
    for op in inline_constants(tape, keeps_loops=True):
        if isinstance(op, Call) and type(op.fn) is Loop:
            if op.fn not in folded:
                folded[op.fn] = op.fn.with_body(fold_counters(op.fn.body))
            op.fn = folded[op.fn]
        read = [v.op for v in op.references()]
        is_of_constants = all([type(v) is Constant or v in known for v in read])
        if isinstance(op, Call) and is_of_constants and (op.fn in _OF_COUNTERS or _continues(op, known)):
            with contextlib.suppress(ArithmeticError):  # in a branch that these constants do not take
                known[op] = _folded(op, known)
        if op not in known or op is tape.result.op:
            if not known.keys().isdisjoint(read):
                op.rewrite(lambda v: known.get(v.op, v))
            kept.append(op)
    return tape_with_ops(tape, kept) if known else tape


def _folded(op: Call, known: dict[Any, Any]) -> Any:
    """Compute a call on constants: in the body of a loop, its recorded value may be that of another run of the loop."""
    made = op.fn(*with_variables(op.args, lambda v: known.get(v.op, v.op.val)))
    return int(made) if isinstance(made, np.integer) else made


def _continues(op: Call, known: dict[Any, Any]) -> bool:
    """Whether a call computes another number from a folded counter."""
    is_number = type(op.val) in (int, float)
    return is_number and op.fn in (operator.add, float) and any([v.op in known for v in op.references()])


def with_early_guards(ops: list[Op]) -> list[Op]:
    """Move each guard that a trace adds at its end, with the line of a value, to where that value is computed."""
    place: dict[Any, int] = {op: k for k, op in enumerate(ops)}

    def when(op: Op) -> int:
        if not (isinstance(op, Call) and op.guard and op.fn in _CALLED_AT_END):
            return place[op]
        return max([place[v.op] for v in op.references() if v.op.site == op.site], default=place[op])  # type: ignore[union-attr]

    return sorted(ops, key=when)


def _loops_on(ops: Sequence[Any]) -> list[list[int]]:
    """Return the positions of the heads of each loop."""
    heads: dict[object, list[int]] = {}
    for k, op in enumerate(ops):
        if is_head(op):
            heads.setdefault(op.fn.loop, []).append(k)
    return list(heads.values())


def _innermost(ops: Sequence[Any]) -> list[list[int]]:
    """Return the positions of the heads of loops that contain no other loop, if possible in any run, in order."""
    loops = _loops_on(ops)
    places = sorted([k for heads in loops for k in heads])
    inmost = [heads for heads in loops if bisect(places, heads[-1]) - bisect(places, heads[0]) == len(heads) - 1]
    others = {ops[heads[0]].fn.loop.key for heads in loops if heads not in inmost}
    never = [heads for heads in inmost if ops[heads[0]].fn.loop.key not in others]
    return sorted(never or inmost)


def _found_loops(
    ops: Sequence[Op], loops: list[list[int]], result: Any, constants: Collection[Any], held: Collection[Any]
) -> list[tuple[WhileLoop, BranchingLoop]]:
    """Return the runs of loops that become a Loop, in order; runs of one loop share one if possible.

    `constants` have the same values in each call; `held` are the ops that variables of outer loops hold.
    """
    place = {op: k for k, op in enumerate(ops)}
    traces = _traces_of(ops)
    last: list[dict[Any, int]] = [{} for _ in range(traces[-1] + 1)]
    here = {ops[heads[0]].fn.loop for heads in loops}  # type: ignore[attr-defined]
    for k, op in enumerate(ops):
        if not (is_mark(op) and op.fn.loop in here):  # type: ignore[attr-defined]
            last[traces[k]].update({v.op: k for v in op.references()})
    last[-1][result] = len(ops)
    groups: dict[Any, list[list[int]]] = {}
    known = {_key_of_state(ops, heads) for heads in loops if _has_open_count(ops, heads)}
    for heads in loops:
        if _key_of_state(ops, heads) in known or never_runs(ops, heads, constants):
            first: Any = ops[heads[0]]
            state = tuple([static_spec(v.op.val) for v in ops[heads[-1]].references()])  # type: ignore[union-attr]
            groups.setdefault((first.fn.loop.key, first.fn.number, state), []).append(heads)
    found: list[tuple[WhileLoop, BranchingLoop]] = []
    waiting, alone = [*groups.values()], 0
    while waiting:
        runs = waiting.pop()
        those = drop_unread_variables(find_while_loops(ops, place, runs, last, traces, constants))
        rest = [heads for heads in runs if not any([heads[0] <= one.start <= heads[-1] for one in those])]
        alone = alone + 1 if len(those) == 1 < len(runs) else 0
        if rest and len(runs) > 1:
            waiting += [rest] if those and alone < MOST_ALONE else _separated(ops, rest)
        try:
            for those_alike in _runs_of_one_shape(those):
                loop = BranchingLoop(those_alike, max(map(len, runs)), held)
                found += [(one, loop) for one in those_alike]
                if len({traces[one.start] == traces[-1] for one in those_alike}) == 2:
                    next(filter(_is_mark_of_trace, ops)).fn.joined = True  # type: ignore[attr-defined]
        except UnsupportedTreeError:
            continue
    return sorted(found, key=lambda pair: pair[0].start)


def _key_of_state(ops: Sequence[Any], heads: list[int]) -> Any:
    """Return a key of a loop, and of the constants in its state at the last head."""
    mark = ops[heads[-1]].fn
    return mark.loop.key, mark.form


def _separated(ops: Sequence[Any], runs: list[list[int]]) -> list[list[list[int]]]:
    """Separate runs that are not those of one loop: by their states, or each for itself."""
    groups: dict[int, list[list[int]]] = {}
    for heads in runs:
        groups.setdefault(ops[heads[-1]].fn.form, []).append(heads)
    return [*groups.values()] if len(groups) > 1 else [[heads] for heads in runs]


def _runs_of_one_shape(runs: list[WhileLoop]) -> list[list[WhileLoop]]:
    """Group runs by their number of iterations if they fill lists, since these become arrays of so many rows."""
    groups: dict[Any, list[WhileLoop]] = {}
    for one in runs:
        groups.setdefault(one.max_count if one.listed else None, []).append(one)
    return [*groups.values()]


def _insert_loops(ops: list[Op], found: list[tuple[WhileLoop, BranchingLoop]], result: Any) -> tuple[list[Op], Any]:
    """Replace the ops of each run of a loop by a call; return the ops, and the new one for the `result`.

    The given ops stay as they are: those that read others from now on are copied.
    """
    made: list[Op] = []
    parts: dict[Any, Op] = {}  # the results of loops
    copies: dict[Any, Op] = {}
    traces = _traces_of(ops)
    numbers = {(traces[one.start], one.op_of(one.number)) for one, _ in found if one.number is not None}
    asked: Any = [
        (trace or traces[-1], op)  # what the last trace does before its first loop stands before the earlier ones
        for trace, op in zip(traces, ops, strict=True)
        if getattr(op, "fn", None) is functional.iterations
    ]
    answered = {op for trace, op in asked if (trace, op.args[0].op) in numbers}
    unread = {op for one, _ in found for taken in one.lists for op in taken.rows}

    def renewed(v: Variable) -> Variable:
        op = parts.get(v.op) or copies.get(v.op)
        return v if op is None else Variable(op)

    def push(some: Iterable[Op]) -> None:
        for op in some:
            if _is_mark_of_trace(op):  # another trace begins, which may read the same ops
                parts.clear()
            if op not in answered and op not in unread:
                if any([v.op in parts or v.op in copies for v in op.references()]):
                    copies[op] = op.copy(renewed)
                made.append(copies.get(op, op))

    end = 0
    for one, loop in found:
        push(ops[end : one.start])
        end, head = one.stop, next(op for op in ops[one.start :] if is_head(op))
        run: Any = head.fn.loop  # type: ignore[attr-defined]
        run.kind = "free" if loop.exit is not None else "branching" if one.tree.branches else "counted"
        calls, results = loop.call(one, head.site)
        made += [op for op in ops[one.start : end] if not isinstance(op, Call)]
        push(calls)
        replaced = zip([*one.results, *[op for op, _, _ in one.items]], results, strict=True)
        parts.update({old: copies.get(op, op) for old, op in replaced if old is not None})
    push(ops[end:])
    inside = [op for one, _ in found for op in ops[one.start : one.stop]]
    return check_guards_kept(ops, made, count_guards([*inside, *answered])), copies.get(result, result)
