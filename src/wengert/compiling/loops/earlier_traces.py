"""Earlier traces of a function: the branches that they took in a loop are branches of the loop in a later trace.

Their calls stand before those of the later trace's loops, between marks, until the loops are found.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.graphs.graph import equality_key
from wengert.compiling.guard_check import is_guard, outcome_key
from wengert.compiling.loops.deferred_reverse import is_reverse
from wengert.compiling.loops.periodicity import constant_key
from wengert.compiling.loops.while_loops import is_head, is_mark, may_have_free_loops, with_early_guards
from wengert.compiling.tape_rewriter import TapeRewriter, inputs_first
from wengert.compiling.watched.kept_guards import KeptGuards, absorb, copied, kept_guards
from wengert.compiling.watched.loop_heads import Heads
from wengert.compiling.watched.marks import Earlier
from wengert.compiling.watched.retyped_floats import MAY_RAISE
from wengert.compiling.watched.tracing import WatchedTrace
from wengert.tape.ops import Call, Constant, Input, Op, Variable

MOST_BYTES, MOST_OPS, MOST_EARLIER = 20_000_000, 100_000, 32
"""The largest size of the values on a tape that is kept for later traces, and how many ops and traces one may take."""


class EarlierTrace(NamedTuple):
    """The part of a trace that is kept for later ones: its tape, its guards, and its heads of loops.

    `checks_fp_errors` is as in its recording, `ending` tells how its last loop ended, and what was tested after it.
    """

    tape: Any
    guards: KeptGuards
    heads: Heads
    checks_fp_errors: bool
    ending: list[tuple[Any, Any]]


def kept_trace(traced: WatchedTrace) -> EarlierTrace | None:
    """Return the kept part of a trace, if later ones may use the branches of its loops.

    They may not if a float in its loops may raise an error: nothing would guard against that in another trace.
    """
    tape: Any = traced.tape
    if MAY_RAISE in traced.reads.heads.refusal:
        return None
    size = sum([op.val.nbytes for op in tape if isinstance(op.val, np.ndarray)])
    if traced.reads.draws or size > MOST_BYTES or len(tape) > MOST_OPS or not may_have_free_loops(tape):
        return None
    traced.reads.heads.let_go()
    reads = traced.reads
    return EarlierTrace(tape, kept_guards(reads), reads.heads, reads.recording.checks_fp_errors, _ending_of(tape))


def _ending_of(tape: Any) -> list[tuple[Any, Any]]:
    """Return the lines and outcomes of the tests after the last head of a loop, up to the first reverse pass."""
    ops = [*itertools.takewhile(lambda op: not is_reverse(op), tape)]
    last = max([k for k, op in enumerate(ops) if is_head(op)])
    return [(op.site, outcome_key(op.val)) for op in ops[last:] if is_guard(op)]


def may_join(earlier: Sequence[EarlierTrace], traced: WatchedTrace) -> bool:
    """Whether a trace may take earlier ones.

    They must not be too many, and like this trace in how they handle floating-point errors, and in what their deferred
    reverse passes differentiate by: if a result does not depend on an argument, its derivative is a constant zero.
    """
    tape: Any = traced.tape
    is_small = len(earlier) <= MOST_EARLIER and sum([len(each.tape) for each in earlier], len(tape)) <= MOST_OPS
    checks = traced.reads.recording.checks_fp_errors
    active = _active_inputs(tape)
    alike = [each.checks_fp_errors is checks and _active_inputs(each.tape) == active for each in earlier]
    return is_small and all(alike)


def _active_inputs(tape: Any) -> list[list[str | None]]:
    """Return the names of the inputs of each deferred reverse pass."""
    passes = [op for op in tape if is_reverse(op)]
    return [[getattr(v.op, "name", None) for v in op.args[: op.fn.inputs]] for op in passes]


class Joint(NamedTuple):
    """A trace with the calls, guards and inputs of earlier ones, the mark around these, and each one's inputs."""

    traced: WatchedTrace
    mark: Earlier
    samples: list[list[Any]]


def with_earlier(traced: WatchedTrace, earlier: Sequence[EarlierTrace]) -> Joint:
    """Return a trace with the calls, guards and inputs of earlier ones."""
    tape: Any = traced.tape
    reads, new, mark, known = copied(traced.reads), TapeRewriter(tape), Earlier(), dict[str, Any]()
    for accessor, op in _inputs(tape, reads.inputs):
        new.push(op)
        known[accessor] = new.table[op]
    copies = []
    for each in earlier:
        copies.append(TapeRewriter(each.tape, new.new))
        for accessor, op in _inputs(each.tape, absorb(reads, each.guards)):
            if accessor not in known:
                known[accessor] = new.new.push(op.copy())
            copies[-1].table[op] = known[accessor]
    before, after = _around_first_head(tape)
    for op in before:
        new.push(op)
    given = [new.table[op].op for op in before]
    new.new.push(Call(mark, guard=True, val=None))
    for each, copy in zip(earlier, copies, strict=True):
        _push_calls(copy, each.tape, given)
        new.new.push(Call(mark, guard=True, val=None))
    for op in after:
        new.push(op)
    made = new.finished()
    values = [{v.op: op.val for op, v in copy.table.items() if isinstance(op, Input)} for copy in copies]
    samples = [[own.get(v.op, v.op.val) for v in made.inputs if not v.op.callee] for own in values]
    return Joint(traced._replace(tape=made, reads=reads), mark, samples)


def _inputs(tape: Any, accessors: Iterable[str]) -> list[tuple[str, Op]]:
    """Return the inputs with their accessors; the function that was traced is the first input."""
    return [*zip(("", *accessors), [v.op for v in tape.inputs], strict=True)]


def _around_first_head(tape: Any) -> tuple[list[Op], list[Op]]:
    """Return the ops after the inputs that are before the first head of a loop, and the others."""
    ops = [op for op in with_early_guards([*inputs_first(tape)]) if not isinstance(op, Input)]
    first = next((k for k, op in enumerate(ops) if is_mark(op)), len(ops))
    return ops[:first], ops[first:]


def _push_calls(copy: TapeRewriter, tape: Any, given: Iterable[Op]) -> None:
    """Push the calls up to the first reverse pass; those before the first loop which are among `given` are these."""
    before, after = _around_first_head(tape)
    alike: dict[Any, list[Op]] = {}
    for op in given:
        alike.setdefault(_call_key(op), []).append(op)
    for op in before:
        if is_guard(op):
            continue
        same = alike.get(_call_key(copy.copy(op)))
        if same:
            copy.table[op] = Variable(same.pop(0))
        else:
            copy.push(op)
    for op in after:
        if is_reverse(op):
            break
        copy.push(op)


def _call_key(op: Any) -> Any:
    """Return a key that is equal for constants of equal value, and for calls of one function on equal arguments."""
    return equality_key((op.fn, op.args, op.kwargs)) if isinstance(op, Call) else (Constant, constant_key(op.val))
