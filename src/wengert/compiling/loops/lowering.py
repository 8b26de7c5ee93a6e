"""Lower the derivatives on a tape: replace each deferred reverse pass by its derivative, and roll loops.

The derivative of a loop is constructed from that of its body; if an op does not allow that, it is that of the unrolled
tape, rolled afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.constants import constant_key
from wengert.compiling.guard_check import check_guards_kept
from wengert.compiling.loops.adjoint_code import UnsupportedLoopError, built_items
from wengert.compiling.loops.deferred_reverse import Reverse, is_reverse
from wengert.compiling.loops.loop_derivative import constructed_derivative
from wengert.compiling.loops.rolling import rolled
from wengert.compiling.loops.while_loops import (
    is_mark,
    may_have_free_loops,
    with_early_guards,
    with_free_loops,
    without_heads,
)
from wengert.compiling.tape_rewriter import TapeRewriter, inputs_first, tape_with_ops
from wengert.errors import RuleError, StaleTapeError, WengertError
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Op, Variable, mkcall, value_of
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.frames import warn
from wengert.values.specs import FLOATS, is_inexact
from wengert.values.views import copy_as_laid_out


class NoFreeLoopError(WengertError):
    """A trace with symbolic counters frees no loop from its number of iterations, so its code is not needed."""


def lower_derivatives(tape: Any, loops: bool = True, is_wanted: Callable[[], bool] = lambda: True) -> Any:
    """Replace each Reverse on a tape by its derivative: with `loops` that of loops as such, else of each iteration.

    Errors: NoFreeLoopError as early as possible, see `wanted`.
    """
    early = inputs_first(with_early_guards([*tape]) if may_have_free_loops(tape) else tape)
    tape = tape if early == [*tape] else tape_with_ops(tape, early)
    with np.errstate(all="ignore"):  # the user was warned when the function ran
        while (back := find_reverse(tape)) is not None:
            tape = _lower_reverse(tape, back, loops, is_wanted)
    return tape


def wanted(tape: Any, is_wanted: Callable[[], bool]) -> Any:
    """Return the tape. Errors: NoFreeLoopError if nothing needs its code: no loop is free, or no path is joined."""
    if not is_wanted():
        raise NoFreeLoopError("no loop is free, or the trace joins no earlier one")
    return tape


def make_loops_free(tape: Any, loops: bool) -> Any:
    """Return the tape without heads; with `loops`, make free loops if possible."""
    if not (loops and may_have_free_loops(tape)):
        return without_heads(tape_with_ops(tape, [*tape]))  # later traces read the marks
    free = _try(with_free_loops, tape)
    return without_heads(tape) if free is None else free


def _try(make: Callable[..., Any], *args: Any) -> Any:
    """Return `make(*args)`; return None if it fails, so that the tape stays as recorded.

    A loop that is not supported raises UnsupportedLoopError, or the exception of a rule. Any other is a bug of ours.
    """
    try:
        return make(*args)
    except (UnsupportedLoopError, RuleError):
        return None
    except Exception as error:
        warn_of_bug(error)
        return None


def warn_of_bug(error: Exception) -> None:
    """Warn of a bug in wengert, after which loops stay as recorded; tests raise the error instead.

    A StaleTapeError is none: a solver in an iteration takes a branch that the trace has not seen.
    """
    if isinstance(error, StaleTapeError):
        return
    text = f"a bug in wengert: a loop could not be optimised ({error!r}) and stays as recorded. The results are right"
    warn(f"{text}, but compiling may take longer. Please report it.", RuntimeWarning)


def find_reverse(tape: Any) -> Any:
    """Return the first call of a Reverse on a tape; None if there is none."""
    return next(filter(is_reverse, tape), None)


def _lower_reverse(tape: Any, back: Call, loops: bool, is_wanted: Callable[[], bool]) -> Tape:
    forward = _Forward(tape, back)
    has_free = loops and may_have_free_loops(forward.tape)
    free = _try(with_free_loops, forward.tape, forward.constants) if has_free else None
    if not any([is_mark(op) for op in tape if op not in forward.ops]):  # no loops or paths are outside of it
        wanted(tape, is_wanted)
    return _replace_reverse(tape, back, forward, _derivative_tape(forward, free, loops))


class _Forward:
    """The part of a tape that a Reverse differentiates, as a tape of its own.

    Its inputs are those of the Reverse, then `others` that it reads. Its result is a pair: the outputs of the Reverse,
    and the other values that are read `later`.
    """

    def __init__(self, tape: Any, back: Call) -> None:
        fn = back.fn
        self.inputs = [v.op for v in back.args[: fn.inputs]]
        self.outputs = [v.op for v in back.args[fn.inputs : fn.inputs + fn.outputs]]
        self.seeds = back.args[fn.inputs + fn.outputs :]
        ops = list(tape)
        self.ops = _forward_ops(ops, back, self.inputs, may_have_free_loops(tape))
        read = [v.op for op in ops if op not in self.ops and op is not back for v in op.references()]
        read.append(tape.result.op)
        self.later = [op for op in dict.fromkeys(read) if op in self.ops and op not in self.outputs]
        self.others: list[Op] = []
        self.tape = check_guards_kept(self.ops, self._tape(tape))
        self.constants = [k for k, op in enumerate(self.others, len(self.inputs)) if type(op) is Constant]

    def _tape(self, tape: Any) -> Tape:
        new = TapeRewriter(tape, Tape())
        made, table = new.new, new.table
        table.update({op: made.push(Input(op.val)) for op in self.inputs})
        read = [v.op for op in self.ops for v in op.references()]
        for op in [*read, *self.outputs]:  # on some paths an output depends on no input
            if op not in table and op not in self.ops:
                self._push_other(new, op)
        for op in self.ops:
            new.push(op)
            table[op].op.note = None
        parts = [[table[op] for op in ops] for ops in (self.outputs, self.later)]
        pair = [made.push(mkcall(functional.make_tuple, *part)) for part in parts]
        made.result = made.push(mkcall(functional.make_tuple, *pair))
        return made

    def _push_other(self, new: TapeRewriter, op: Any) -> None:
        """Push a value that was computed outside: a number or array as an input, any other with its calls.

        A float constant, with which a counter may begin, is an input, too: tests that depend on it are not constant.
        """
        if isinstance(op, Constant) and type(op.val) not in FLOATS:
            new.push(op)
        elif is_inexact(op.val):
            self.others.append(op)
            new.table[op] = new.new.push(Input(op.val))
        elif isinstance(op, Call):
            for v in op.references():
                if v.op not in new.table:
                    self._push_other(new, v.op)
            new.push(op)
        else:
            raise UnsupportedLoopError("an input of the tape is not a number")


def _forward_ops(ops: Sequence[Op], back: Call, inputs: Sequence[Op], has_free: bool) -> dict[Op, None]:
    """Return the calls before `back` that depend on the inputs, and those that only these read.

    If there may be free loops, return all calls from the first head on, since tests may read other values, and the
    guards of numbers of iterations.
    """
    at = ops.index(back)
    before, found = ops[:at], {*inputs}
    for op in before:
        if any([v.op in found for v in op.references()]):
            found.add(op)
    if has_free:
        first = next(k for k, op in enumerate(before) if is_mark(op))
        asked = [op for op in before[:first] if isinstance(op, Call) and op.fn is functional.iterations]
        found.update(asked, [op for op in before[first:] if isinstance(op, Call)])
    found.difference_update(inputs)
    elsewhere = {v.op for op in ops[at:] if op is not back for v in op.references()} | {*inputs}
    for op in reversed(before):
        if isinstance(op, Call) and not op.guard and op not in found and op not in elsewhere:
            found.add(op)
        elif op not in found:
            elsewhere.update([v.op for v in op.references()])
    return dict.fromkeys([op for op in before if op in found])


def _derivative_tape(forward: _Forward, free: Any, loops: bool) -> Any:
    """Return the tape from the inputs of a forward part and the seeds to its outputs, later values and cotangents.

    `free` is the tape of the forward part with free loops; None if there are none.
    """
    without_heads(forward.tape)
    for tape in [forward.tape] if free is None else [free, forward.tape]:
        _merge_equal(tape, forward.constants)
        whole = rolled(tape) if loops else tape
        if any([type(op.fn) is Loop for op in whole.calls]):
            found = _try(constructed_derivative, whole, len(forward.inputs), forward.seeds)
            if found is not None:
                return found
    return _reverse_tape(forward, forward.tape)


def _merge_equal(tape: Any, constants: list[int]) -> None:
    """Have ops read the first of equal constants among the inputs, so that iterations which begin with them are alike.

    Loops that may become free need them apart: each is the first value of a variable.
    """
    first: dict[Any, Variable] = {}
    given = tape.inputs
    inputs = [given[k] for k in constants]
    same = {v.op: first.setdefault(constant_key(value_of(v)), v) for v in inputs}
    for op in tape if len(first) < len(inputs) else ():
        op.rewrite(lambda v: same.get(v.op, v))


def _reverse_tape(forward: _Forward, tape: Tape) -> Any:
    """Return the derivative tape of a forward part, whose calls are on `tape`."""
    n = len(forward.inputs)
    given = [_fresh_value(op.val) for op in (*forward.inputs, *forward.others)]
    return Reverse.taped(tape, n, given, [_fresh_value(value_of(seed)) for seed in forward.seeds])


def _fresh_value(value: Any) -> Any:
    """Copy an array with its strides and its writeable flag, which the function may read; return a number unchanged."""
    if not isinstance(value, np.ndarray):
        return value
    made = copy_as_laid_out(value)
    made.flags.writeable = value.flags.writeable
    return made


def _replace_reverse(tape: Any, back: Call, forward: _Forward, derivative: Any) -> Tape:
    """Replace a Reverse, and the forward part that it differentiates, by a derivative tape."""
    new = TapeRewriter(tape)
    inner = TapeRewriter(derivative, new.new)
    for op in tape:
        if op is back:
            given = [new.table[x] for x in (*forward.inputs, *forward.others)]
            given += map(new.value, forward.seeds)
            inner.table.update(zip([v.op for v in derivative.inputs if not v.op.callee], given, strict=True))
            for each in derivative:
                if not isinstance(each, Input):
                    inner.push(each)
            parts = [[*map(inner.value, built_items(part))] for part in derivative.result.op.args]
            new.table.update(zip((*forward.outputs, *forward.later), (*parts[0], *parts[1]), strict=True))
        elif isinstance(op, Call) and op.fn is functional.getfield and op.args[0] == Variable(back):
            part = parts[2][op.args[1]]
            new.table[op] = part if isinstance(part, Variable) else new.new.push(Constant(part))
        elif op not in forward.ops:
            new.push(op)
    return check_guards_kept([*[op for op in tape if op not in forward.ops], *derivative], new.finished())
