"""Rewrite a tape: copy its ops to a new one, and map each to its variable there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.compiling.guard_check import check_guards_kept
from wengert.tape.arguments import current_arguments
from wengert.tape.interface import AnyTape
from wengert.tape.ops import Op, Variable
from wengert.tape.tape import Tape


class TapeRewriter:
    """A new tape for `old`; `table` maps ops of the old tape to variables of the new one."""

    def __init__(self, old: AnyTape, new: Any = None) -> None:
        self.old, self.new, self.table = old, Tape(old.ctx) if new is None else new, dict[Op | None, Variable]()

    def variable(self, op: Op | None) -> Variable:
        """Return the new variable for an op of the old tape."""
        return self.table[op]

    def push(self, op: Op) -> None:
        """Append a copy of an op."""
        self.table[op] = self.new.push(self.copy(op))

    def copy(self, op: Op) -> Any:
        """Return a copy of an op that reads the new tape's variables."""
        copy: Any = op.copy()
        copy.rewrite(lambda v: self.variable(v.op))
        return copy

    def finished(self, guarded: Iterable[Op] | None = None) -> Any:
        """Return the new tape with its result and arguments; check that it keeps the guards of `guarded`, or all."""
        old, new = self.old, self.new
        new.result = self.variable(old.result.op)
        new.arguments = current_arguments(old.arguments, list(old)) and old.arguments._replace(
            inputs=tuple([self.variable(v.op) for v in old.arguments.inputs])
        )
        return check_guards_kept(old if guarded is None else guarded, new)
