"""Earlier traces of a function: the branches that they took in a loop are branches of the loop in a later trace.

Their calls stand before those of the later trace's loops, between marks, until the loops are found.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.constants import constant_key, outcome_key
from wengert.compiling.guard_check import is_guard
from wengert.compiling.loops.deferred_reverse import Reverse, is_reverse
from wengert.compiling.loops.periodicity import static_spec
from wengert.compiling.loops.while_loops import is_head, is_mark, may_have_free_loops, with_early_guards
from wengert.compiling.tape_rewriter import TapeRewriter, inputs_first
from wengert.compiling.watched.kept_guards import KeptGuards, absorb, copied, kept_guards, renamed
from wengert.compiling.watched.loop_heads import Heads
from wengert.compiling.watched.marks import Earlier, Ending
from wengert.compiling.watched.retyped_floats import MAY_RAISE
from wengert.compiling.watched.tracing import WatchedTrace
from wengert.tape.ops import Call, Constant, Input, Op, Variable, with_variables
from wengert.values.specs import is_inexact

MOST_BYTES, MOST_OPS, MOST_EARLIER = 20_000_000, 100_000, 32
"""The largest size of the values on a tape that is kept for later traces, and how many ops and traces one may take."""
MOST_BYTES_JOINED = 100_000_000
"""The largest size of the values on all tapes that one trace takes."""


class EarlierTrace(NamedTuple):
    """The part of a trace that is kept for later ones: its tape, its guards, and its heads of loops.

    `checks_fp_errors` is as in its recording, `ending` tells how its last loop ended, and what was tested after it.
    `returned` is the expression of its value; None if the call has effects. `size` is that of the values on the tape.
    """

    tape: Any
    guards: KeptGuards
    heads: Heads
    checks_fp_errors: bool
    ending: list[tuple[Any, Any]]
    returned: str | None
    size: int


def kept_trace(traced: WatchedTrace) -> EarlierTrace | None:
    """Return the kept part of a trace, if later ones may use the branches of its loops.

    They may not if a float in its loops may raise an error: nothing would guard against that in another trace.
    """
    tape: Any = traced.tape
    if MAY_RAISE in traced.reads.heads.refusal:
        return None
    size = sum([op.val.nbytes for op in tape if isinstance(op.val, np.ndarray)])
    if traced.reads.draws or size > MOST_BYTES or len(tape) > MOST_OPS:
        return None
    if not (may_have_free_loops(tape) or any(map(is_guard, tape))):
        return None
    traced.reads.heads.let_go()
    reads = traced.reads
    checks, returned = reads.recording.checks_fp_errors, None if traced.effects or reads.lengths else traced.returned
    return EarlierTrace(tape, kept_guards(reads), reads.heads, checks, _ending_of(tape), returned, size)


def _ending_of(tape: Any) -> list[tuple[Any, Any]]:
    """Return the lines and outcomes of the tests after the last head of a loop, up to the first reverse pass."""
    ops = [*itertools.takewhile(lambda op: not is_reverse(op), tape)]
    last = max([k for k, op in enumerate(ops) if is_head(op)], default=len(ops))
    return [(op.site, outcome_key(op.val)) for op in ops[last:] if is_guard(op)]


def may_join(earlier: Sequence[EarlierTrace], traced: WatchedTrace) -> bool:
    """Whether a trace may take earlier ones.

    They must not be too many, and like this trace in how they handle floating-point errors, and in what their deferred
    reverse passes differentiate by: if a result does not depend on an argument, its derivative is a constant zero.
    """
    tape: Any = traced.tape
    ops, size = sum([len(each.tape) for each in earlier], len(tape)), sum([each.size for each in earlier])
    is_small = len(earlier) <= MOST_EARLIER and ops <= MOST_OPS and size <= MOST_BYTES_JOINED
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
    reads, new, copies = _with_inputs(traced, earlier)
    mark = Earlier()
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
    return _joint(traced, reads, new, copies, mark)


def with_earlier_paths(traced: WatchedTrace, earlier: Sequence[EarlierTrace]) -> Joint | None:
    """Return a trace beside earlier ones, whose straight code it may join; None if they end differently.

    What all begin with is there once. Then, between marks, each has its code up to the first reverse pass.
    """
    tape: Any = traced.tape
    differentiates_more = any([None in names for names in _active_inputs(tape)])  # than inputs
    if traced.reads.lengths is not None or traced.effects or differentiates_more:
        return None
    ends = [*[end_of(each.tape) for each in earlier], end_of(tape)]
    if any([end.key != ends[-1].key for end in ends]):
        return None
    reads, new, copies = _with_inputs(traced, earlier)
    for each in earlier:
        names = {name: reads.pin(pin, label) for name, (pin, label) in each.guards.pins.items()}
        if each.returned is None or renamed(each.returned, names) != renamed(traced.returned, {}):
            return None
    mark, rewriters = Earlier(), [*copies, new]
    begun = _push_common(rewriters, [end.before for end in ends])
    for end, copy in zip(ends, rewriters, strict=True):
        new.new.push(Call(mark, guard=True, val=None))
        for op in end.before[begun:]:
            copy.push(op)
        new.new.push(Call(Ending(), [copy.table[op] for op in end.outputs], guard=True, val=None))
    outputs = [[copy.table[op].op for op in end.outputs] for end, copy in zip(ends, rewriters, strict=True)]
    own = {new.table[op].op for op in ends[-1].before[begun:] if isinstance(op, Call)}
    may_change = own if any(map(is_reverse, tape)) else {op for op in outputs[-1] if not isinstance(op, Input)}
    if not all([_may_replace(outputs[-1], others, may_change) for others in outputs[:-1]]):
        return None
    for op in ends[-1].after:
        new.push(op)
    return _joint(traced, reads, new, copies, mark)


def _may_replace(outputs: Sequence[Op], others: Sequence[Op], may_change: Collection[Op]) -> bool:
    """Whether values of another path may replace these outputs, of which some `may_change`, wherever they are read.

    An output that is read twice needs one value. A derivative replaces only calls that are differentiated.
    """
    pairs = {*zip(outputs, others, strict=True)}
    are_one = len({op for op, _ in pairs}) == len(pairs)
    return are_one and all([op is other or op in may_change for op, other in pairs])


def _with_inputs(traced: WatchedTrace, earlier: Sequence[EarlierTrace]) -> tuple[Any, TapeRewriter, list[TapeRewriter]]:
    """Return the guards of all traces, and rewriters of the trace and the earlier ones to a tape with all inputs."""
    reads, new, known = copied(traced.reads), TapeRewriter(traced.tape), dict[str, Any]()  # type: ignore[arg-type]
    for accessor, op in _inputs(traced.tape, reads.inputs):
        new.push(op)
        known[accessor] = new.table[op]
    copies = []
    for each in earlier:
        copies.append(TapeRewriter(each.tape, new.new))
        for accessor, op in _inputs(each.tape, absorb(reads, each.guards)):
            if accessor not in known:
                known[accessor] = new.new.push(op.copy())
            copies[-1].table[op] = known[accessor]
    return reads, new, copies


def _joint(traced: WatchedTrace, reads: Any, new: TapeRewriter, copies: Sequence[TapeRewriter], mark: Earlier) -> Joint:
    """Return the finished trace with the inputs that earlier ones had."""
    made = new.finished()
    values = [{v.op: op.val for op, v in copy.table.items() if isinstance(op, Input)} for copy in copies]
    samples = [[own.get(v.op, v.op.val) for v in made.inputs if not v.op.callee] for own in values]
    return Joint(traced._replace(tape=made, reads=reads), mark, samples)


class End(NamedTuple):
    """The straight code of a trace: the ops `before` the first reverse pass or the result, the others, and its outputs.

    The `outputs` are what is read later, each as often as it is. Ends with equal keys compute the same of these.
    """

    before: list[Op]
    after: list[Op]
    outputs: list[Op]
    key: Any


def end_of(tape: Any) -> End:
    """Return the straight code of a trace, and how it ends."""
    ops = [op for op in with_early_guards([*inputs_first(tape)]) if not isinstance(op, Input)]
    at = next((k for k, op in enumerate(ops) if is_reverse(op) or op is tape.result.op), len(ops))
    numbers, outputs = {op: k for k, op in enumerate(ops[at:])}, list[Op]()

    def key_of(v: Variable) -> Any:
        op: Any = v.op
        if op in numbers:
            return "later", numbers[op]
        if type(op) is Constant and not (is_inexact(op.val) or type(op.val) is np.ndarray):
            return Constant, constant_key(op.val)
        outputs.append(op)
        return "output", static_spec(op.val)

    keys: list[Any] = []
    for op in [op for op in ops[at:] if isinstance(op, Call)]:
        fn: Any = (Reverse, op.fn.inputs, op.fn.outputs) if is_reverse(op) else op.fn
        outcome = outcome_key(op.val) if op.guard else None
        keys.append(constant_key((fn, outcome, *with_variables((op.args, op.kwargs), key_of))))
    return End(ops[:at], ops[at:], outputs, [*keys, key_of(tape.result)])


def _push_common(rewriters: Sequence[TapeRewriter], paths: Sequence[list[Op]]) -> int:
    """Push the ops with which all paths begin, once; return their number."""
    for k, ops in enumerate(zip(*paths, strict=False)):
        keys = [_step_key(rewriter.copy(op)) for rewriter, op in zip(rewriters, ops, strict=True)]
        if any(map(is_mark, ops)) or any([key != keys[-1] for key in keys]):
            return k
        rewriters[-1].push(ops[-1])
        for rewriter, op in zip(rewriters[:-1], ops[:-1], strict=True):
            rewriter.table[op] = rewriters[-1].table[ops[-1]]
    return min(map(len, paths))


def _step_key(op: Any) -> Any:
    """Return a key that is equal for calls that do the same with the same outcome."""
    return _call_key(op), is_guard(op) and outcome_key(op.val), static_spec(op.val)


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
    return constant_key((op.fn, op.args, op.kwargs)) if isinstance(op, Call) else (Constant, constant_key(op.val))
