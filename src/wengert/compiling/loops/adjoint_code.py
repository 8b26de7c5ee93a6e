"""The code of a derivative while it is constructed: ops in order, and the cotangents of the ops of the old tape."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.tape_rewriter import provenance
from wengert.errors import TapeError
from wengert.tape.ops import Call, Op, Variable, value_of, with_variables
from wengert.tape.tape import Tape
from wengert.values import functional

Environment = dict[Any, Any]
"""Map from ops of the old tape to variables, or constant numbers, of the new one."""
Get = Callable[[Any], Any]
"""Returns a value of the forward code in the backward code."""


class UnsupportedLoopError(TapeError):
    """The derivative of a loop cannot be constructed: each iteration is differentiated instead."""


class AdjointCode(list[Op]):
    """Ops in order, for a tape or the body of a loop; `site` is the user's line of new calls."""

    site: Any = None

    def push(self, op: Op) -> Variable:
        self.append(op)
        return Variable(op)

    def call(self, fn: Any, *args: Any) -> Variable:
        """Push a call; compute its value from the recorded ones."""
        return self.push(Call(fn, args, val=fn(*with_variables(args, value_of)), site=self.site))

    def copy_of(self, op: Op, change: Callable[[Variable], Any]) -> Variable:
        """Push a copy of an op with changed variables."""
        copy = op.copy()
        copy.rewrite(change)
        copy.site, copy.note = provenance(op)
        return self.push(copy)

    def parts_of(self, call: Variable, values: Sequence[Any], first: int = 0) -> list[Variable]:
        """Push the calls that take the results of a loop, from number `first` on."""
        calls = [Call(functional.getfield, [call, k], val=value) for k, value in enumerate(values, first)]
        return [self.push(each) for each in calls]


class CotangentTable:
    """The cotangents of ops, as values of the code that computes them."""

    def __init__(self, code: AdjointCode) -> None:
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
        return self.zero(op.val) if found is None else found

    def zero(self, x: Any) -> Any:
        """Return the zero cotangent of a number or an array."""
        if type(x) is not np.ndarray:
            return type(x)(0.0)
        return self.code.call(np.zeros, x.shape, *([x.dtype] if x.dtype != np.float64 else []))


def built_items(v: Any) -> Sequence[Any]:
    """Return the items of a tuple that a tape builds."""
    op = v.op if isinstance(v, Variable) else None
    return v if op is None else op.args if isinstance(op, Call) else op.val


def parts_of_pair(tape: Any) -> list[Sequence[Any]]:
    return [built_items(part) for part in built_items(tape.result)]


def renewed(tree: Any, new: Environment) -> Any:
    return with_variables(tree, lambda v: new[v.op])


def closed_tape(inputs: Sequence[Op], code: AdjointCode, results: Sequence[Any]) -> Tape:
    """Return the tape of some code, which returns a tuple."""
    made = Tape()
    for op in (*inputs, *code):
        made.push(op)
    made.result = made.push(Call(functional.make_tuple, list(results), val=tuple(map(value_of, results))))
    return made
