"""Derivatives of tapes with loops: taken of a few iterations, rolled, and continued to all of them.

A loop of a derivative does in each iteration what it does in any other, so ten iterations tell it; what depends on how
many there are (counts, shapes of what is kept, where a walk back begins) is told by one more, and confirmed by two.
What comes of it is compared with the eager numbers before it is used, those of the trace and others beside them: at
zero, or where a number overflows, two programs may give the same that are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.graphs.to_tape import provenance
from wengert.compiling.guard_check import kept
from wengert.compiling.loops.deferred_reverse import Reverse
from wengert.compiling.loops.extrapolation import continued
from wengert.compiling.loops.periodicity import INEXACT, constant_key
from wengert.compiling.loops.rolling import rolled
from wengert.compiling.loops.unrolling import CannotExtrapolate, unrolled
from wengert.compiling.loops.while_call import FreeLoop, tape_of, with_trails
from wengert.compiling.loops.while_loops import freed, is_head, may_be_free, with_tests_early, without_heads
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
"""To how many iterations long loops are cut, and as how many these are met again: the first and last may differ."""


def lowered(tape: Any, cut: bool = True, exact: bool = False) -> Any:
    """The tape, rolled, with what each Reverse on it stands for; of a few iterations at first, with `cut`."""
    if may_be_free(tape) and (early := with_tests_early([*tape])) != [*tape]:
        tape = tape_of(tape, early)
    with np.errstate(all="ignore"):  # the user was told when the function ran
        while (back := postponed_on(tape)) is not None:
            tape = _lowered(tape, back, cut, exact)
    tape = _freed(tape, 0, exact) if cut else without_heads(tape)
    return kept(tape, rolled(with_trails(tape)))


def _freed(tape: Any, wanted: int, exact: bool) -> Any:
    """The tape with free loops where there may be some, and without the marks of iterations."""
    found = _tried(freed, tape, wanted, exact) if may_be_free(tape) else None
    return without_heads(tape) if found is None else found


def _tried(make: Callable[..., Any], *args: Any) -> Any:
    """Return what `make` makes of a tape; None where it cannot, and the tape stays as it was recorded.

    A loop that cannot be extrapolated raises CannotExtrapolate, or the exception of a rule. Any other is a bug of ours.
    """
    try:
        return make(*args)
    except (CannotExtrapolate, RuleError):
        return None
    except Exception as error:
        mistaken(error)
        return None


def mistaken(error: Exception) -> None:
    """Tell of a mistake of ours, after which loops stay as they were recorded; tests have it raised."""
    warn(f"a mistake in wengert: loops stay as they were recorded ({error!r}). Please report it.", RuntimeWarning)


def postponed_on(tape: Any) -> Any:
    """The first call of a Reverse on a tape."""
    return next((op for op in tape if isinstance(op, Call) and type(op.fn) is Reverse), None)


def _lowered(tape: Any, back: Call, cut: bool, exact: bool) -> Tape:
    forward = _Forward(tape, back)
    return _spliced(tape, back, forward, _derivative(forward, cut, exact))


class _Forward:
    """The part of a tape that a Reverse walks back over, as a tape of its own.

    Its inputs are those of the Reverse, and what else it reads; its result is a pair: the outputs of the Reverse, and
    what else of it is read later.
    """

    def __init__(self, tape: Any, back: Call) -> None:
        fn = back.fn
        self.inputs = [v.op for v in back.args[: fn.inputs]]
        self.outputs = [v.op for v in back.args[fn.inputs : fn.inputs + fn.outputs]]
        self.seeds = back.args[fn.inputs + fn.outputs :]
        self.cotangents = back.val
        ops = list(tape)
        self.span = _span(ops, back, self.inputs, may_be_free(tape))
        read = [v.op for op in ops if op not in self.span and op is not back for v in op.references()]
        read.append(tape.result.op)
        self.later = [op for op in dict.fromkeys(read) if op in self.span and op not in self.outputs]
        self.others: list[Op] = []
        self.tape = kept(self.span, self._tape())

    def _tape(self) -> Tape:
        made = Tape()
        new: dict[Op, Variable] = {op: made.push(Input(op.val)) for op in self.inputs}
        for v in [v for op in self.span for v in op.references()]:
            if v.op not in new and v.op not in self.span:
                self._push_other(made, new, v.op)  # type: ignore[arg-type]
        for op in self.span:
            copy = op.copy()
            copy.rewrite(lambda v: new[v.op])  # type: ignore[index]
            copy.note = None
            new[op] = made.push(copy)
        parts = [[new[op] for op in ops] for ops in (self.outputs, self.later)]
        pair = [made.push(Call(functional.make_tuple, part, val=tuple(map(value_of, part)))) for part in parts]
        made.result = made.push(Call(functional.make_tuple, pair, val=tuple(map(value_of, pair))))
        return made

    def _push_other(self, made: Tape, new: dict[Op, Variable], op: Op) -> None:
        """Push what was computed beside: a number or an array as an input, all else by the calls that make it.

        So is a number that a counter begins with: what it decides is a test, and no constant.
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
            raise CannotExtrapolate("an input of the tape is no number")


def _span(ops: Sequence[Op], back: Call, inputs: Sequence[Op], has_free: bool) -> dict[Op, None]:
    """The calls before `back` that depend on the inputs, and those that only these read.

    Where there may be free loops, it has all from the first on: other values may be in their tests.
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


def _derivative(forward: _Forward, cut: bool, exact: bool) -> Any:
    """The tape from the inputs of a forward part and the seeds to its outputs, the rest of it, and the cotangents."""
    free = _freed(forward.tape, len(forward.inputs), exact) if cut else None
    without_heads(forward.tape)
    if free is not None and any([type(op.fn) is FreeLoop for op in free.calls]):
        found = _tried(_pulled, forward, free)
        if found is not None:
            return found
    whole = rolled(forward.tape)
    counts = _cuts([op.fn for op in whole if isinstance(op, Call) and type(op.fn) is Loop]) if cut else {}
    if not counts:
        return _pulled(forward, forward.tape)
    found = _tried(_continued, forward, whole, counts)
    if found is not None and _tried(_holds, found, forward):
        return found
    return _pulled(forward, forward.tape)


def _continued(forward: _Forward, whole: Any, counts: dict[int, int]) -> Any:
    """The derivative of all iterations, from those of a few, of one more of each loop, and of two more of all."""
    tables = [op.val for op in with_bodies(whole) if isinstance(op, Constant) and type(op.val) is tuple]
    if not all(map(_is_told_apart, tables)):
        raise CannotExtrapolate("a table has an element twice, or others than floats")
    cuts = [counts, *[{**counts, n: keep + 1} for n, keep in counts.items()], {n: k + 2 for n, k in counts.items()}]
    base, *mores, further = [rolled(_pulled_of_few(forward, _cut(whole, cut)), LIKE_CUT) for cut in cuts]
    return continued(base, mores, further, [n - keep for n, keep in counts.items()], tables)


def _is_told_apart(table: tuple[Any, ...]) -> bool:
    """Whether each element of a table is known for what it is wherever it stands; ints stand everywhere."""
    return all([type(x) in INEXACT for x in table]) and len({*map(constant_key, table)}) == len(table)


def _holds(found: Tape, forward: _Forward) -> bool:
    """Whether a derivative is that of the forward part, in numbers as good as any: a gradient may be zero at zero.

    The trace's own numbers, with which the code is compared later on, may do.
    """
    if all(map(_is_as_any, (*forward.inputs, *forward.others))) and all(
        [np.all(cotangent) and np.isfinite(cotangent).all() for cotangent in forward.cotangents]
    ):
        return True
    run, fn, rng = found.compile(), Reverse.eager, np.random.default_rng(0)
    for size in (1e-3, -1e-3, 1e-6):
        given = [_beside(op.val, size, rng) for op in (*forward.inputs, *forward.others)]
        seeds = [_beside(value_of(seed), size, rng) for seed in forward.seeds]
        try:
            expected = fn(forward.tape, len(forward.inputs), [*map(_apart, given)], [*map(_apart, seeds)])
        except Exception:  # a branch goes another way there, or what is computed has no value
            continue
        if all([np.isfinite(leaf).all() for _, leaf in leaves(expected)]):
            try:
                return agree(run(*given, *seeds), expected)
            except Exception:  # where the function has a derivative, this one has none
                return False
    return False


def _is_as_any(op: Op) -> bool:
    """Whether the elements of a value, and their imaginary parts, are finite, no whole numbers and all different."""
    x = np.asarray(op.val)
    parts = np.stack([x.real, x.imag]) if is_complex(x) else x
    return bool(np.isfinite(parts).all() and (parts != np.rint(parts)).all() and np.unique(parts).size == parts.size)


def _beside(value: Any, size: float, rng: np.random.Generator) -> Any:
    """A number or an array of the kind of `value`, a little beside it everywhere."""
    way = size * (1 + 1j) if is_complex(value) else size
    near = value + way * rng.uniform(0.5, 1.0, np.shape(value)) * np.where(value == 0, 1.0, np.abs(value))
    return near.astype(value.dtype) if isinstance(value, np.ndarray) else type(value)(near)


def _cuts(loops: Sequence[Loop]) -> dict[int, int]:
    """For the counts of loops that are long enough, to how many iterations they are cut."""
    return {loop.count: CUT for loop in loops if loop.count >= 3 * CUT}


def _cut(whole: Any, counts: dict[int, int]) -> Tape:
    return unrolled(whole, lambda loop: counts.get(loop.count, loop.count))


def _pulled(forward: _Forward, tape: Tape) -> Any:
    """The derivative tape of a forward part as it stands on `tape`."""
    n = len(forward.inputs)
    given = [_apart(op.val) for op in (*forward.inputs, *forward.others)]
    return Reverse.taped(tape, n, given, [_apart(value_of(seed)) for seed in forward.seeds])


def _pulled_of_few(forward: _Forward, tape: Tape) -> Any:
    """`_pulled` of fewer iterations, in which the function's own calls may raise anything: they were never run so."""
    try:
        return _pulled(forward, tape)
    except Exception as error:
        raise CannotExtrapolate(f"fewer iterations raise {error!r}") from error


def _apart(value: Any) -> Any:
    """A number, or a copy of an array that can be written where the array can: the function may ask."""
    if not isinstance(value, np.ndarray):
        return value
    made = value.copy(order="K")
    made.flags.writeable = value.flags.writeable
    return made


def _spliced(tape: Any, back: Call, forward: _Forward, derivative: Any) -> Tape:
    """The tape with a derivative in the place of a Reverse, and of the part that it walks back over."""
    made, new = Tape(tape.ctx), dict[Op, Any]()
    for op in tape:
        if op is back:
            inner = dict[Op, Any]()
            given = [*[new[x] for x in (*forward.inputs, *forward.others)]]
            given += [new[seed.op] if type(seed) is Variable else seed for seed in forward.seeds]  # type: ignore[index]
            inner.update(zip([v.op for v in derivative.inputs if not v.op.callee], given, strict=True))
            _copied(made, [op for op in derivative if op not in inner and not _is_callee(op)], inner)
            outputs, later, cotangents = (_parts(part, inner) for part in derivative.result.op.args)
            new.update(zip((*forward.outputs, *forward.later), (*outputs, *later), strict=True))
            new[op] = made.push(Call(functional.make_tuple, cotangents, val=op.val))
        elif op not in forward.span:
            _copied(made, [op], new)
    made.result = new[tape.result.op]
    return kept([*[op for op in tape if op not in forward.span], *derivative], made)


def _copied(made: Tape, ops: Sequence[Op], new: dict[Op, Any]) -> None:
    for op in ops:
        copy = op.copy()
        copy.rewrite(lambda v: new[v.op])  # type: ignore[index]
        copy.site, copy.note = provenance(op)
        new[op] = made.push(copy)


def _is_callee(op: Op) -> bool:
    return isinstance(op, Input) and op.callee


def _parts(part: Any, new: dict[Op, Any]) -> list[Any]:
    """The values in a part of a derivative's result."""
    parts = part.op.args if type(part) is Variable and isinstance(part.op, Call) else part
    return [new[v.op] if type(v) is Variable else v for v in parts]  # type: ignore[index]


def agree(found: Any, expected: Any) -> bool:
    """Whether two results are the same but for rounding."""
    mine, theirs = leaves(found), leaves(expected)
    return len(mine) == len(theirs) and all(
        [_near(np.asarray(a), np.asarray(b)) for (_, a), (_, b) in zip(mine, theirs, strict=True)]
    )


def _near(a: np.ndarray, b: np.ndarray) -> bool:
    size = np.max(np.abs(b), initial=0, where=np.isfinite(b))
    return a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-9 * float(size), equal_nan=True)
