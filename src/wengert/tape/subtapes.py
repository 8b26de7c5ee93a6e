"""Subtapes: a part of a tape as a tape of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from wengert.tape.interface import AnyWritableTape
from wengert.tape.ops import Call, Constant, Input, Op, Variable, reference_error

T = TypeVar("T", bound=AnyWritableTape)


def subtape(tape: T, result: Variable | int, inputs: Iterable[Variable | int] | None = None) -> T:
    """Make a tape of the part of `tape` that computes `result` from `inputs`.

    `result` and `inputs` are Variables of the tape or positions on it; by default the inputs are the tape's own. The
    guards that these inputs suffice to check are included.
    Errors: TapeError if the result depends on more than the inputs.
    """
    own = [v for v in tape.inputs if not tape[v].callee]  # type: ignore[attr-defined]
    starts = [tape[v] for v in (own if inputs is None else inputs)]
    target = tape[result]
    ops = list(tape)
    computable = _computable(ops, starts)
    if target not in computable:
        raise _missing_input_error(tape, ops, target, computable)
    required = _ancestors(ops, target, computable, starts)
    part = type(tape)(tape.ctx)
    table: dict[Op | None, Variable] = {
        op: part.push(Input(op.val, getattr(op, "name", None), site=op.site)) for op in starts
    }
    for op in ops:
        if op in required and op not in table:
            table[op] = _copied_op(part, op, table)
    part.result = table[target]
    return part


def _computable(ops: Sequence[Op], starts: Sequence[Op]) -> set[Op]:
    """Find the ops whose values depend only on those at which the part starts."""
    computable = set(starts)
    for op in ops:
        follows = isinstance(op, Call) and all(v.op in computable for v in op.references())
        if follows or isinstance(op, Constant) or (isinstance(op, Input) and op.callee):
            computable.add(op)
    return computable


def _ancestors(ops: Sequence[Op], target: Op, computable: set[Op], starts: Sequence[Op]) -> set[Op]:
    """Find the ops on which the wanted one depends, and the guards before it with the ops these depend on."""
    position = ops.index(target)
    required = {target, *(op for op in ops[:position] if isinstance(op, Call) and op.guard and op in computable)}
    for op in reversed(ops):
        if op in required and op not in starts:
            required.update(v.op for v in op.references() if v.op is not None)
    return required


def _copied_op(made: AnyWritableTape, op: Op, table: dict[Op | None, Variable]) -> Variable:
    copy = Constant(op.val) if isinstance(op, Input) else op.copy(lambda v: table[v.op])
    if isinstance(copy.note, tuple):
        copy.note = _moved_note(copy.note, table)
    return made.push(copy)


def _moved_note(note: tuple[Any, ...], table: dict[Op | None, Variable]) -> tuple[Any, ...] | None:
    """Return the note with the new tape's Variables; None if it refers to a value outside the part."""
    if any(isinstance(part, Variable) and part.op not in table for part in note):
        return None
    return tuple(table[part.op] if isinstance(part, Variable) else part for part in note)


def _missing_input_error(tape: AnyWritableTape, ops: Sequence[Op], target: Op, computable: set[Op]) -> Exception:
    """Make the error for a part that depends on an op outside its inputs."""
    missing = {target}
    for op in reversed(ops):
        if op in missing and op not in computable:
            missing.update(v.op for v in op.references() if v.op is not None)
    first = next(op for op in ops if op in missing and op not in computable)
    return reference_error(f"%{target.id} also depends on{tape._line(first)}", f"add %{first.id} to inputs=")
