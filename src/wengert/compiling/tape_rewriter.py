"""A tape that is made of the ops of another one, with where these are on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.compiling.guard_check import check_guards_kept
from wengert.tape.arguments import current_arguments
from wengert.tape.interface import AnyTape
from wengert.tape.ops import Op, Variable
from wengert.tape.tape import Tape


class TapeRewriter:
    """A new tape for `old`; `table` has for ops of the old one the variables of the new one."""

    def __init__(self, old: AnyTape, new: Any = None) -> None:
        self.old, self.new, self.table = old, Tape(old.ctx) if new is None else new, dict[Op | None, Variable]()

    def at(self, op: Op | None) -> Variable:
        """The variable of an op."""
        return self.table[op]

    def push(self, op: Op) -> None:
        """Append an op."""
        self.table[op] = self.new.push(self.copy(op))

    def copy(self, op: Op) -> Any:
        """Return a copy of an op that reads the new tape's variables."""
        copy: Any = op.copy()
        copy.rewrite(lambda v: self.at(v.op))
        return copy

    def finished(self, tested: Iterable[Op] | None = None) -> Any:
        """The new tape, with the result and the arguments of the old one, and all tests, or those that are `tested`."""
        old, new = self.old, self.new
        new.result = self.at(old.result.op)
        new.arguments = current_arguments(old.arguments, list(old)) and old.arguments._replace(
            inputs=tuple([self.at(v.op) for v in old.arguments.inputs])
        )
        return check_guards_kept(old if tested is None else tested, new)
