"""Derivatives of tapes with loops: derived from a few iterations, rolled, and extrapolated to all of them.

All iterations of a derivative's loop are alike, so ten iterations determine it. What depends on their number (counts,
shapes of residuals, where the reverse pass begins) is determined by one more iteration, and confirmed by two more. The
result is compared with eager values before it is used: at the values of the trace, and at others nearby, since at zero
or after an overflow two different programs may agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.graphs.to_tape import provenance
from wengert.compiling.guard_check import check_guards_kept
from wengert.compiling.loops.deferred_reverse import Reverse
from wengert.compiling.loops.extrapolation import extrapolate
from wengert.compiling.loops.periodicity import INEXACT, constant_key
from wengert.compiling.loops.rolling import rolled
from wengert.compiling.loops.unrolling import CannotExtrapolate, unrolled
from wengert.compiling.loops.while_call import FreeLoop, tape_with_ops, with_trails
from wengert.compiling.loops.while_loops import (
    is_head,
    may_have_free_loops,
    with_early_guards,
    with_free_loops,
    without_heads,
)
from wengert.errors import RuleError
from wengert.tape.loops import Loop, with_bodies
from wengert.tape.ops import Call, Constant, Input, Op, Variable, value_of
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.frames import warn
from wengert.values.specs import FLOATS, is_complex, is_inexact
from wengert.values.trees import leaves

CUT = 10
LIKE_CUT = range(CUT - 3, CUT + 3)
"""Long loops are cut to so many iterations, and found again with so many: the first and the last may differ."""


def lowered(tape: Any, cut: bool = True, exact: bool = False) -> Any:
    """Replace each Reverse on a tape by its derivative, and roll the tape; with `cut`, derive from a few iterations."""
    if may_have_free_loops(tape) and (early := with_early_guards([*tape])) != [*tape]:
        tape = tape_with_ops(tape, early)
    with np.errstate(all="ignore"):  # the user was warned when the function ran
        while (back := find_reverse(tape)) is not None:
            tape = _lower_reverse(tape, back, cut, exact)
    tape = _try_free_loops(tape, 0, exact) if cut else without_heads(tape)
    return check_guards_kept(tape, rolled(with_trails(tape)))


def _try_free_loops(tape: Any, wanted: int, exact: bool) -> Any:
    """Return the tape without heads, and with free loops if some can be made."""
    found = _try(with_free_loops, tape, wanted, exact) if may_have_free_loops(tape) else None
    return without_heads(tape) if found is None else found


def _try(make: Callable[..., Any], *args: Any) -> Any:
    """Return `make(*args)`; return None if it fails, so that the tape stays as recorded.

    A loop that cannot be extrapolated raises CannotExtrapolate, or the exception of a rule. Any other is a bug of ours.
    """
    try:
        return make(*args)
    except (CannotExtrapolate, RuleError):
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


def _lower_reverse(tape: Any, back: Call, cut: bool, exact: bool) -> Tape:
    forward = _Forward(tape, back)
    return _replace_reverse(tape, back, forward, _derivative_tape(forward, cut, exact))


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
            raise CannotExtrapolate("an input of the tape is not a number")


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


def _derivative_tape(forward: _Forward, cut: bool, exact: bool) -> Any:
    """Return the tape from the inputs of a forward part and the seeds to its outputs, later values and cotangents."""
    free = _try_free_loops(forward.tape, len(forward.inputs), exact) if cut else None
    without_heads(forward.tape)
    if free is not None and any([type(op.fn) is FreeLoop for op in free.calls]):
        found = _try(_reverse_tape, forward, free)
        if found is not None:
            return found
    whole = rolled(forward.tape)
    counts = _shortened_counts([op.fn for op in whole if isinstance(op, Call) and type(op.fn) is Loop]) if cut else {}
    if not counts:
        return _reverse_tape(forward, forward.tape)
    found = _try(_extrapolate_derivative, forward, whole, counts)
    if found is not None and _try(_matches_eager, found, forward):
        return found
    return _reverse_tape(forward, forward.tape)


def _extrapolate_derivative(forward: _Forward, whole: Any, counts: dict[int, int]) -> Any:
    """Extrapolate the derivative from a few iterations, from one more of each loop, and from two more of all."""
    tables = [op.val for op in with_bodies(whole) if isinstance(op, Constant) and type(op.val) is tuple]
    if not all(map(_has_distinct_floats, tables)):
        raise CannotExtrapolate("a table of constants has equal elements, or elements that are not floats")
    cuts = [counts, *[{**counts, n: keep + 1} for n, keep in counts.items()], {n: k + 2 for n, k in counts.items()}]
    base, *mores, further = [rolled(_reverse_of_few(forward, _shortened(whole, cut)), LIKE_CUT) for cut in cuts]
    return extrapolate(base, mores, further, [n - keep for n, keep in counts.items()], tables)


def _has_distinct_floats(table: tuple[Any, ...]) -> bool:
    """Whether the elements of a table are distinct floats, which identify their positions; integers do not."""
    return all([type(x) in INEXACT for x in table]) and len({*map(constant_key, table)}) == len(table)


def _matches_eager(found: Tape, forward: _Forward) -> bool:
    """Whether a derivative agrees with the eager one at generic values, since many derivatives are zero at zero.

    If the values of the trace are generic, return True: the code is compared at these later.
    """
    if all(map(_is_generic, (*forward.inputs, *forward.others))) and all(
        [np.all(cotangent) and np.isfinite(cotangent).all() for cotangent in forward.cotangents]
    ):
        return True
    run, fn, rng = found.compile(), Reverse.eager, np.random.default_rng(0)
    for size in (1e-3, -1e-3, 1e-6):
        given = [_perturbed(op.val, size, rng) for op in (*forward.inputs, *forward.others)]
        seeds = [_perturbed(value_of(seed), size, rng) for seed in forward.seeds]
        try:
            expected = fn(forward.tape, len(forward.inputs), [*map(_fresh_value, given)], [*map(_fresh_value, seeds)])
        except Exception:  # a guard fails there, or the function is not defined
            continue
        if all([np.isfinite(leaf).all() for _, leaf in leaves(expected)]):
            try:
                return agree_numerically(run(*given, *seeds), expected)
            except Exception:  # this derivative fails where the function has one
                return False
    return False


def _is_generic(op: Op) -> bool:
    """Whether the real and imaginary parts of a value are all finite, different, and not integers."""
    x = np.asarray(op.val)
    parts = np.stack([x.real, x.imag]) if is_complex(x) else x
    return bool(np.isfinite(parts).all() and (parts != np.rint(parts)).all() and np.unique(parts).size == parts.size)


def _perturbed(value: Any, size: float, rng: np.random.Generator) -> Any:
    """Return a number or array like `value`, with each element changed slightly."""
    step = size * (1 + 1j) if is_complex(value) else size
    near = value + step * rng.uniform(0.5, 1.0, np.shape(value)) * np.where(value == 0, 1.0, np.abs(value))
    return near.astype(value.dtype) if isinstance(value, np.ndarray) else type(value)(near)


def _shortened_counts(loops: Sequence[Loop]) -> dict[int, int]:
    """Map the counts of loops that are long enough to the counts that they are cut to."""
    return {loop.count: CUT for loop in loops if loop.count >= 3 * CUT}


def _shortened(whole: Any, counts: dict[int, int]) -> Tape:
    return unrolled(whole, lambda loop: counts.get(loop.count, loop.count))


def _reverse_tape(forward: _Forward, tape: Tape) -> Any:
    """Return the derivative tape of a forward part, whose calls are on `tape`."""
    n = len(forward.inputs)
    given = [_fresh_value(op.val) for op in (*forward.inputs, *forward.others)]
    return Reverse.taped(tape, n, given, [_fresh_value(value_of(seed)) for seed in forward.seeds])


def _reverse_of_few(forward: _Forward, tape: Tape) -> Any:
    """Return `_reverse_tape` of fewer iterations; raise CannotExtrapolate if these calls fail."""
    try:
        return _reverse_tape(forward, tape)
    except Exception as error:
        raise CannotExtrapolate(f"fewer iterations raise {error!r}") from error


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
    parts = part.op.args if type(part) is Variable and isinstance(part.op, Call) else part
    return [new[v.op] if type(v) is Variable else v for v in parts]  # type: ignore[index]


def agree_numerically(found: Any, expected: Any) -> bool:
    """Whether two results are equal up to rounding."""
    mine, theirs = leaves(found), leaves(expected)
    return len(mine) == len(theirs) and all(
        [_are_close(np.asarray(a), np.asarray(b)) for (_, a), (_, b) in zip(mine, theirs, strict=True)]
    )


def _are_close(a: np.ndarray, b: np.ndarray) -> bool:
    size = np.max(np.abs(b), initial=0, where=np.isfinite(b))
    return a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-9 * float(size), equal_nan=True)
