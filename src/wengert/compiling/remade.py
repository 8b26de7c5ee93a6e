"""A tape that is made of the ops of another one, with where these are on it."""

from __future__ import annotations

from typing import Any

from wengert.compiling.accounts import kept
from wengert.tape.interface import AnyTape
from wengert.tape.ops import Op, Variable
from wengert.tape.tape import Tape


class Remade:
    """A new tape for `old`; `table` has for ops of the old one the variables of the new one."""

    def __init__(self, old: AnyTape) -> None:
        self.old, self.new, self.table = old, Tape(old.ctx), dict[Op | None, Variable]()

    def at(self, op: Op | None) -> Variable:
        """The variable of an op."""
        return self.table[op]

    def push(self, op: Op) -> None:
        """Append an op."""
        copy: Any = op.copy()
        copy.rewrite(lambda v: self.at(v.op))
        self.table[op] = self.new.push(copy)

    def finished(self) -> AnyTape:
        """The new tape, with the result and the arguments of the old one."""
        self.new.result = self.at(self.old.result.op)
        if self.old.arguments is not None:
            inputs = tuple([self.at(v.op) for v in self.old.arguments.inputs])
            self.new.arguments = self.old.arguments._replace(inputs=inputs)
        return kept(self.old, self.new)
