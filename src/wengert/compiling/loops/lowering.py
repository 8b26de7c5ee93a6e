"""Lower the derivatives on a tape: replace each deferred reverse pass by its derivative, and roll loops.

The derivative of a loop is constructed from that of its body; if an op does not allow that, it is that of the unrolled
tape, rolled afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.graphs.to_tape import provenance
from wengert.compiling.guard_check import check_guards_kept
from wengert.compiling.loops.adjoint_code import UnsupportedLoopError, built_items
from wengert.compiling.loops.deferred_reverse import Reverse
from wengert.compiling.loops.loop_derivative import constructed_derivative
from wengert.compiling.loops.rolling import rolled
from wengert.compiling.loops.while_call import FreeLoop, tape_with_ops, with_trails
from wengert.compiling.loops.while_loops import (
    fold_counters,
    is_head,
    may_have_free_loops,
    with_early_guards,
    with_free_loops,
    without_heads,
)
from wengert.errors import RuleError
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Op, Variable, value_of
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.frames import warn
from wengert.values.specs import FLOATS, is_inexact


def lowered(tape: Any, loops: bool = True, exact: bool = False) -> Any:
    """Replace each Reverse on a tape by its derivative, and roll the tape.

    With `loops`, loops are differentiated as such, and may become free; else each iteration is differentiated.
    """
    if may_have_free_loops(tape) and (early := with_early_guards([*tape])) != [*tape]:
        tape = tape_with_ops(tape, early)
    with np.errstate(all="ignore"):  # the user was warned when the function ran
        while (back := find_reverse(tape)) is not None:
            tape = _lower_reverse(tape, back, loops, exact)
    tape = _try_free_loops(tape, 0, exact) if loops else without_heads(tape)
    return check_guards_kept(tape, rolled(with_trails(fold_counters(tape))))


def _try_free_loops(tape: Any, wanted: int, exact: bool) -> Any:
    """Return the tape without heads, and with free loops if some can be made."""
    found = _try(with_free_loops, tape, wanted, exact) if may_have_free_loops(tape) else None
    return without_heads(tape) if found is None else found


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
    """Warn of a bug in wengert, after which loops stay as recorded; tests raise the error instead."""
    text = f"a bug in wengert: a loop could not be optimised ({error!r}) and stays as recorded. The results are right"
    warn(f"{text}, but compiling may take longer. Please report it.", RuntimeWarning)


def find_reverse(tape: Any) -> Any:
    """Return the first call of a Reverse on a tape; None if there is none."""
    return next((op for op in tape if isinstance(op, Call) and type(op.fn) is Reverse), None)


def _lower_reverse(tape: Any, back: Call, loops: bool, exact: bool) -> Tape:
    forward = _Forward(tape, back)
    return _replace_reverse(tape, back, forward, _derivative_tape(forward, loops, exact))


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
        self.cotangents = back.val
        ops = list(tape)
        self.ops = _forward_ops(ops, back, self.inputs, may_have_free_loops(tape))
        read = [v.op for op in ops if op not in self.ops and op is not back for v in op.references()]
        read.append(tape.result.op)
        self.later = [op for op in dict.fromkeys(read) if op in self.ops and op not in self.outputs]
        self.others: list[Op] = []
        self.tape = check_guards_kept(self.ops, self._tape())

    def _tape(self) -> Tape:
        made = Tape()
        new: dict[Op, Variable] = {op: made.push(Input(op.val)) for op in self.inputs}
        for v in [v for op in self.ops for v in op.references()]:
            if v.op not in new and v.op not in self.ops:
                self._push_other(made, new, v.op)  # type: ignore[arg-type]
        for op in self.ops:
            copy = op.copy()
            copy.rewrite(lambda v: new[v.op])  # type: ignore[index]
            copy.note = None
            new[op] = made.push(copy)
        parts = [[new[op] for op in ops] for ops in (self.outputs, self.later)]
        pair = [made.push(Call(functional.make_tuple, part, val=tuple(map(value_of, part)))) for part in parts]
        made.result = made.push(Call(functional.make_tuple, pair, val=tuple(map(value_of, pair))))
        return made

    def _push_other(self, made: Tape, new: dict[Op, Variable], op: Op) -> None:
        """Push a value that was computed outside: a number or array as an input, any other with its calls.

        A float constant, with which a counter may begin, is an input, too: tests that depend on it are not constant.
        """
        if isinstance(op, Constant) and type(op.val) not in FLOATS:
            new[op] = made.push(op.copy())
        elif is_inexact(op.val):
            self.others.append(op)
            new[op] = made.push(Input(op.val))
        elif isinstance(op, Call):
            for v in op.references():
                if v.op not in new:
                    self._push_other(made, new, v.op)  # type: ignore[arg-type]
            copy = op.copy()
            copy.rewrite(lambda v: new[v.op])  # type: ignore[index]
            new[op] = made.push(copy)
        else:
            raise UnsupportedLoopError("an input of the tape is not a number")


def _forward_ops(ops: Sequence[Op], back: Call, inputs: Sequence[Op], has_free: bool) -> dict[Op, None]:
    """Return the calls before `back` that depend on the inputs, and those that only these read.

    If there may be free loops, return all calls from the first head on, since tests may read other values.
    """
    at = ops.index(back)
    before, found = ops[:at], {*inputs}
    for op in before:
        if any([v.op in found for v in op.references()]):
            found.add(op)
    if has_free:
        first = next(k for k, op in enumerate(before) if is_head(op))
        found.update([op for op in before[first:] if isinstance(op, Call)])
    found.difference_update(inputs)
    elsewhere = {v.op for op in ops[at:] if op is not back for v in op.references()} | {*inputs}
    for op in reversed(before):
        if isinstance(op, Call) and not op.guard and op not in found and op not in elsewhere:
            found.add(op)
        elif op not in found:
            elsewhere.update([v.op for v in op.references()])
    return dict.fromkeys([op for op in before if op in found])


def _derivative_tape(forward: _Forward, loops: bool, exact: bool) -> Any:
    """Return the tape from the inputs of a forward part and the seeds to its outputs, later values and cotangents."""
    has_free = loops and may_have_free_loops(forward.tape)
    free = _try(with_free_loops, forward.tape, len(forward.inputs), exact) if has_free else None
    without_heads(forward.tape)
    for tape in [forward.tape] if free is None else [free, forward.tape]:
        whole = rolled(tape) if loops else tape
        called = {type(op.fn) for op in whole.calls}
        found = None
        if Loop in called:
            found = _try(constructed_derivative, whole, len(forward.inputs), forward.seeds)
        elif FreeLoop in called:
            found = _try(_reverse_tape, forward, tape)
        if found is not None:
            return found
    return _reverse_tape(forward, forward.tape)


def _reverse_tape(forward: _Forward, tape: Tape) -> Any:
    """Return the derivative tape of a forward part, whose calls are on `tape`."""
    n = len(forward.inputs)
    given = [_fresh_value(op.val) for op in (*forward.inputs, *forward.others)]
    return Reverse.taped(tape, n, given, [_fresh_value(value_of(seed)) for seed in forward.seeds])


def _fresh_value(value: Any) -> Any:
    """Copy an array with its writeable flag, which the function may read; return a number unchanged."""
    if not isinstance(value, np.ndarray):
        return value
    made = value.copy(order="K")
    made.flags.writeable = value.flags.writeable
    return made


def _replace_reverse(tape: Any, back: Call, forward: _Forward, derivative: Any) -> Tape:
    """Replace a Reverse, and the forward part that it differentiates, by a derivative tape."""
    made, new = Tape(tape.ctx), dict[Op, Any]()
    for op in tape:
        if op is back:
            inner = dict[Op, Any]()
            given = [*[new[x] for x in (*forward.inputs, *forward.others)]]
            given += [new[seed.op] if type(seed) is Variable else seed for seed in forward.seeds]  # type: ignore[index]
            inner.update(zip([v.op for v in derivative.inputs if not v.op.callee], given, strict=True))
            _copy_ops(made, [op for op in derivative if op not in inner and not _is_callee(op)], inner)
            outputs, later, cotangents = (_part_values(part, inner) for part in derivative.result.op.args)
            new.update(zip((*forward.outputs, *forward.later), (*outputs, *later), strict=True))
            new[op] = made.push(Call(functional.make_tuple, cotangents, val=op.val))
        elif op not in forward.ops:
            _copy_ops(made, [op], new)
    made.result = new[tape.result.op]
    return check_guards_kept([*[op for op in tape if op not in forward.ops], *derivative], made)


def _copy_ops(made: Tape, ops: Sequence[Op], new: dict[Op, Any]) -> None:
    """Push copies of ops, which read the values in `new`, and enter them there."""
    for op in ops:
        copy = op.copy()
        copy.rewrite(lambda v: new[v.op])  # type: ignore[index]
        copy.site, copy.note = provenance(op)
        new[op] = made.push(copy)


def _is_callee(op: Op) -> bool:
    return isinstance(op, Input) and op.callee


def _part_values(part: Any, new: dict[Op, Any]) -> list[Any]:
    """Return the values in a part of a derivative's result."""
    return [new[v.op] if type(v) is Variable else v for v in built_items(part)]  # type: ignore[index]
