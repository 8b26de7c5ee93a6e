"""A part of a tape as a tape of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from wengert.tape.interface import AnyWritableTape
from wengert.tape.ops import Call, Constant, Input, Op, Variable, misplaced

T = TypeVar("T", bound=AnyWritableTape)


def subtape(tape: T, result: Variable | int, inputs: Iterable[Variable | int] | None = None) -> T:
    """The part of `tape` that computes `result` from `inputs`, as a tape of its own.

    `result` and `inputs` are Variables of the tape or positions on it; by default the inputs are the tape's own. Guards
    come along where these inputs suffice to check them.
    Errors: TapeError where the result depends on more than the inputs.
    """
    own = [v for v in tape.inputs if not tape[v].callee]  # type: ignore[attr-defined]
    starts = [tape[v] for v in (own if inputs is None else inputs)]
    wanted = tape[result]
    ops = list(tape)
    known = _computable(ops, starts)
    if wanted not in known:
        raise _lacking(tape, ops, wanted, known)
    needed = _ancestors(ops, wanted, known, starts)
    made = type(tape)(tape.ctx)
    table: dict[Op | None, Variable] = {
        op: made.push(Input(op.val, getattr(op, "name", None), site=op.site)) for op in starts
    }
    for op in ops:
        if op in needed and op not in table:
            table[op] = _moved(made, op, table)
    made.result = table[wanted]
    return made


def _computable(ops: Sequence[Op], starts: Sequence[Op]) -> set[Op]:
    """The ops whose values follow from those at which the part starts."""
    known = set(starts)
    for op in ops:
        follows = isinstance(op, Call) and all(v.op in known for v in op.references())
        if follows or isinstance(op, Constant) or (isinstance(op, Input) and op.callee):
            known.add(op)
    return known


def _ancestors(ops: Sequence[Op], wanted: Op, known: set[Op], starts: Sequence[Op]) -> set[Op]:
    """The ops on which the wanted one depends, and the guards before it with what they depend on."""
    position = ops.index(wanted)
    needed = {wanted, *(op for op in ops[:position] if isinstance(op, Call) and op.guard and op in known)}
    for op in reversed(ops):
        if op in needed and op not in starts:
            needed.update(v.op for v in op.references() if v.op is not None)
    return needed


def _moved(made: AnyWritableTape, op: Op, table: dict[Op | None, Variable]) -> Variable:
    copy = Constant(op.val) if isinstance(op, Input) else op.copy()
    copy.rewrite(lambda v: table[v.op])
    if isinstance(copy.note, tuple):
        copy.note = _moved_note(copy.note, table)
    return made.push(copy)


def _moved_note(note: tuple[Any, ...], table: dict[Op | None, Variable]) -> tuple[Any, ...] | None:
    """The note with the Variables of the part; None where it speaks of a value outside."""
    if any(isinstance(part, Variable) and part.op not in table for part in note):
        return None
    return tuple(table[part.op] if isinstance(part, Variable) else part for part in note)


def _lacking(tape: AnyWritableTape, ops: Sequence[Op], wanted: Op, known: set[Op]) -> Exception:
    """The error for a part that also depends on an input that is not among its own."""
    lacking = {wanted}
    for op in reversed(ops):
        if op in lacking and op not in known:
            lacking.update(v.op for v in op.references() if v.op is not None)
    first = next(op for op in ops if op in lacking and op not in known)
    return misplaced(f"%{wanted.id} also depends on{tape._line(first)}", f"give %{first.id} too in inputs=")
