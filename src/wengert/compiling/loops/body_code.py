"""Ops in order, for a tape or the body of a loop, while they are written; and calls for arrays of all iterations."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.tape_rewriter import provenance
from wengert.tape.ops import Call, Input, Op, Variable, mkcall, value_of
from wengert.tape.tape import Tape
from wengert.values import functional


class BodyCode(list[Op]):
    """Ops in order; `site` is the user's line of new calls."""

    site: Any = None

    def push(self, op: Op) -> Variable:
        self.append(op)
        return Variable(op)

    def call(self, fn: Any, *args: Any) -> Variable:
        """Push a call; compute its value from the recorded ones."""
        made = mkcall(fn, *args)
        made.site = self.site
        return self.push(made)

    def copy_of(self, op: Op, change: Callable[[Variable], Any]) -> Variable:
        """Push a copy of an op with changed variables."""
        copy = op.copy(change)
        copy.site, copy.note = provenance(op)
        return self.push(copy)

    def results_of(self, loop: Any, args: Sequence[Any], site: Any) -> list[Variable]:
        """Push a call of a loop, and the calls that take its results."""
        values = tuple(map(value_of, loop.results))
        return self.parts_of(self.push(Call(loop, args, val=values, site=site)), values)

    def parts_of(self, call: Variable, values: Sequence[Any], first: int = 0) -> list[Variable]:
        """Push the calls that take the results of a loop, from number `first` on."""
        calls = [Call(functional.getfield, [call, k], val=value) for k, value in enumerate(values, first)]
        return [self.push(each) for each in calls]

    def zero(self, x: Any) -> Any:
        """Return zero, or an array of zeros, like x."""
        if type(x) is not np.ndarray:
            return type(x)(0.0)
        return self.call(np.zeros, x.shape, *([x.dtype] if x.dtype != np.float64 else []))


def input_like(op: Any) -> Variable:
    """Return a new input with the recorded value of an op."""
    return Variable(Input(op.val))


def closed_tape(inputs: Sequence[Any], code: Sequence[Op], results: Sequence[Any]) -> Tape:
    """Return the tape of some code, which returns a tuple."""
    made = Tape()
    for op in (*inputs, *code):
        made.push(op)
    made.result = made.push(mkcall(functional.make_tuple, *results))
    return made


# -- arrays in which loops store the values of all iterations, one row each

PYTHON_NUMBERS = (float, bool, complex)
"""Types of the numbers that `item` of an array returns."""


def is_stacked(value: Any) -> bool:
    """Whether an array can store such values, one in each row."""
    if type(value) is np.ndarray:
        return value.ndim > 0 and value.dtype.kind in "fciub"
    is_scalar = isinstance(value, np.number | np.bool_) and value.dtype.kind in "fciub"
    return is_scalar or type(value) is list or type(value) in PYTHON_NUMBERS


def rows_like(count: int, value: Any) -> np.ndarray:
    """Return an array of zeros that has so many rows for values like this one."""
    return np.zeros((count, *np.shape(value)), np.asarray(value).dtype)


def new_rows(rows: np.ndarray, make: Any = np.zeros) -> Call:
    """Return the call that makes the array in which a loop stores these rows."""
    return Call(make, [rows.shape, rows.dtype], val=rows, note="a row for each iteration")


def row_call(whole: Any, index: Any, like: Any) -> Call:
    """Return the call that reads a row of an array of values like this one."""
    if type(like) is np.ndarray and not like.ndim:
        return Call(operator.getitem, [whole, (index, ...)], val=like)  # with an index alone, it would be a number
    return Call(np.ndarray.item if type(like) in PYTHON_NUMBERS else operator.getitem, [whole, index], val=like)
