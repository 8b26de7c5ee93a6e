"""The maps from ops of the old tape to the new one, which the steps of a derivative share while it is constructed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from wengert.compiling.loops.body_code import BodyCode
from wengert.errors import TapeError
from wengert.tape.ops import Call, Variable, with_variables

Environment = dict[Any, Any]
"""Map from ops of the old tape to variables, or constant numbers, of the new one."""
Get = Callable[[Any], Any]
"""Returns a value of the forward code in the backward code."""


class UnsupportedLoopError(TapeError):
    """The derivative of a loop cannot be constructed: each iteration is differentiated instead."""


class CotangentTable:
    """The cotangents of ops, as values of the code that computes them."""

    def __init__(self, code: BodyCode) -> None:
        self.code = code
        self.table: Environment = {}

    def add(self, op: Any, contribution: Any) -> None:
        known = self.table.get(op)
        self.table[op] = contribution if known is None else self.code.call(operator.add, known, contribution)

    def take(self, op: Any) -> Any:
        """Remove the cotangent of an op; None if it has none."""
        return self.table.pop(op, None)

    def of(self, op: Any) -> Any:
        """Return the cotangent of an op, zero if it has none."""
        found = self.table.get(op)
        return self.code.zero(op.val) if found is None else found


def built_items(v: Any) -> Sequence[Any]:
    """Return the items of a tuple that a tape builds."""
    op = v.op if isinstance(v, Variable) else None
    return v if op is None else op.args if isinstance(op, Call) else op.val


def parts_of_pair(tape: Any) -> list[Sequence[Any]]:
    return [built_items(part) for part in built_items(tape.result)]


def renewed(tree: Any, new: Environment) -> Any:
    return with_variables(tree, lambda v: new[v.op])
