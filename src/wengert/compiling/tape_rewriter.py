"""Rewrite a tape: copy its ops to a new one, and map each to its variable there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.tape.arguments import current_arguments
from wengert.tape.interface import AnyTape
from wengert.tape.ops import Input, Op, Variable, mkcall
from wengert.tape.tape import Tape


class TapeRewriter:
    """A new tape for `old`; `table` maps ops of the old tape to variables of the new one."""

    def __init__(self, old: AnyTape, new: Any = None) -> None:
        self.old, self.new, self.table = old, Tape(old.ctx) if new is None else new, dict[Op | None, Any]()

    def variable(self, op: Op | None) -> Any:
        """Return the new variable for an op of the old tape."""
        return self.table[op]

    def value(self, v: Any) -> Any:
        """Return what replaces a Variable of the old tape, or any other value unchanged."""
        return self.variable(v.op) if type(v) is Variable else v

    def push(self, op: Op) -> None:
        """Append a copy of an op."""
        self.table[op] = self.new.append(self.copy(op))

    def push_call(self, origin: Any, fn: Any, *args: Any, **kwargs: Any) -> Variable:
        """Append a call for an op of the old tape; compute its value from the recorded ones."""
        made = mkcall(fn, *args, **kwargs)
        made.site, made.note = origin.site, origin.note
        return self.new.push(made)

    def copy(self, op: Op) -> Any:
        """Return a copy of an op that reads the new tape's variables."""
        variable = self.variable
        copy = op.copy(lambda v: variable(v.op))
        if type(op.note) is tuple:
            copy.site, copy.note = provenance(op)
        return copy

    def finished(self) -> Any:
        """Return the new tape, with its result and arguments."""
        old, new = self.old, self.new
        new.result = self.variable(old.result.op)
        new.arguments = current_arguments(old.arguments, list(old)) and old.arguments._replace(
            inputs=tuple([self.variable(v.op) for v in old.arguments.inputs])
        )
        return new


def tape_with_ops(tape: AnyTape, ops: Iterable[Op]) -> Any:
    """Return a tape of copies of these ops, inputs first, with the result and arguments of `tape`."""
    made = TapeRewriter(tape)
    for op in inputs_first(ops):
        made.push(op)
    return made.finished()


def inputs_first(ops: Iterable[Op]) -> list[Op]:
    """Return the inputs among these ops, then the others."""
    return sorted(ops, key=lambda op: not isinstance(op, Input))


def provenance(op: Op | None) -> tuple[Any, str | None]:
    """Return the user's line behind an op, and its note: what the op is on a derivative tape."""
    words = ""
    while op is not None and isinstance(op.note, tuple) and isinstance(about := op.note[-1], Variable):
        words, op = f"{words}{op.note[0]} ", about.op
    site = None if op is None else op.site
    if words:
        place = f"{site.file.rpartition('/')[2]}:{site.line}" if site else getattr(op, "name", None)
        return site, f"{words}{place or ''}".rstrip()
    return site, op.note if op is not None and isinstance(op.note, str) else None
