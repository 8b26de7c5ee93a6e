"""Arrays in which loops store the values of all iterations, one row each, and the readers of these rows."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.loops.open_loops import OpenLoop, Region, is_loop, loop_result
from wengert.compiling.loops.periodicity import static_spec
from wengert.compiling.ops import info
from wengert.tape.ops import Call, Op, Variable, references, value_of
from wengert.values import functional

PYTHON_NUMBERS = (float, bool, complex)  # `item` of an array returns them
Loops = tuple[OpenLoop, ...]


class ResidualStack(NamedTuple):
    """The array that is result `number` of a loop: row `first + k * step` is `value` in iteration k.

    `whole` is the op that takes it from the results of the loop.
    """

    loop: OpenLoop
    number: int
    whole: Op
    value: Op
    first: int
    step: int

    @property
    def row_bytes(self) -> int:
        """The size of a row."""
        return int(np.asarray(self.value.val).nbytes)


class RowIndex(NamedTuple):
    """The iteration that is read: `first + j * step` in iteration j of `loop`; if that is None, `first`."""

    loop: OpenLoop | None
    first: int
    step: int

    def back(self) -> RowIndex:
        """Return the iteration before."""
        return self._replace(first=self.first - 1)

    def is_first(self) -> bool:
        """Whether it is always the first iteration."""
        return self.first == 0 == self.step

    def within(self, count: int) -> bool:
        """Whether a loop of `count` iterations always has this iteration."""
        last = self.first + self.step * (self.loop.count - 1 if self.loop else 0)
        return min(self.first, last) >= 0 and max(self.first, last) < count


class RowReader(NamedTuple):
    """An op that reads a row of a stack."""

    op: Op
    row: RowIndex


class ReadersByOp(dict[Op, list[tuple[Loops, Any]]]):
    """Map from ops to their readers, each with the loops around it; the reader of a result is None."""

    def __init__(self, region: Region) -> None:
        self.enter(region, ())

    def enter(self, region: Region, loops: Loops) -> None:
        for op in region.ops:
            for v in op.references():
                self.setdefault(v.op, []).append((loops, op))  # type: ignore[arg-type]
            if is_loop(op):
                self.enter(op.fn, (*loops, op.fn))  # type: ignore[attr-defined]
        for v in references(region.results):
            self.setdefault(v.op, []).append((loops, None))


def stacks_of(loop: OpenLoop, users: ReadersByOp) -> Iterator[ResidualStack]:
    """Yield the stacks that a loop fills and somebody reads."""
    wholes = {part[1]: op for _, op in users.get(loop.call, ()) if (part := loop_result(op)) is not None}
    for k in range(loop.carried):
        stack = _find_stack(loop, k, wholes.get(k), users)
        if stack is not None:
            yield stack


def _find_stack(loop: OpenLoop, k: int, whole: Op | None, users: ReadersByOp) -> ResidualStack | None:
    """Return loop-carried value k as a stack; None if it is not an array that each iteration only stores a row in."""
    array, store = loop.inputs[len(loop.steps) + k], loop.results[k]
    op = store.op if isinstance(store, Variable) else None
    if whole is None or not isinstance(op, Call) or op.fn is not functional.setitem:
        return None
    if not len(users.get(array, ())) == 1 == len(users[op]):
        return None
    place, value = op.args[1:]
    if not (isinstance(place, Variable) and isinstance(value, Variable) and loop.role(place.op) == "counter"):
        return None
    first, step = loop.argument_for(place.op), loop.steps[loop.inputs.index(place.op)]  # type: ignore[arg-type]
    fits = type(first) is int and value_of(store).shape[1:] == np.shape(value_of(value))
    return ResidualStack(loop, k, whole, value.op, first, step) if fits and value.op is not array else None  # type: ignore[arg-type]


def readers_of(stack: ResidualStack, users: ReadersByOp) -> list[RowReader] | None:
    """Return the readers of a stack; None if one reads something else than a single row that the loop has filled."""
    found: list[RowReader] = []
    waiting: list[Any] = [op for _, op in users[stack.loop.call] if loop_result(op) == (stack.loop, stack.number)]
    for array in waiting:
        for loops, op in users.get(array, ()):
            if is_loop(op):
                inner = [x for x, given in zip(op.fn.inputs, op.args, strict=True) if given == Variable(array)]
                if any([op.fn.role(x) != "invariant" for x in inner]):
                    return None
                waiting += inner
            elif (reader := _row_reader(op, loops, array, stack)) is not None:
                found.append(reader)
            else:
                return None
    return found


def _row_reader(op: Any, loops: Loops, array: Op, stack: ResidualStack) -> RowReader | None:
    """Return the RowReader of an op that takes a row of a stack; None for any other op."""
    if not isinstance(op, Call) or info(op.fn).name not in ("getitem", "item") or len(op.args) != 2:
        return None
    row = _row_index(op.args[1], loops)
    if op.args[0] != Variable(array) or row is None or static_spec(op.val) != static_spec(stack.value.val):
        return None
    (first, other), (step, too) = divmod(row.first - stack.first, stack.step), divmod(row.step, stack.step)
    row = RowIndex(row.loop, first, step)
    return RowReader(op, row) if not other and not too and row.within(stack.loop.count) else None


def _row_index(index: Any, loops: Loops) -> RowIndex | None:
    """Return an index, in the body of the last of these loops, as a RowIndex; None if it is no counter or integer."""
    for loop in reversed(loops):
        if not isinstance(index, Variable):
            break
        role = loop.role(index.op)
        if role == "counter" and type(loop.argument_for(index.op)) is int:
            return RowIndex(loop, loop.argument_for(index.op), loop.steps[loop.inputs.index(index.op)])  # type: ignore[arg-type]
        if role != "invariant":
            return None
        index = loop.argument_for(index.op)
    return RowIndex(None, index, 0) if type(index) is int else None


def is_stacked(value: Any) -> bool:
    """Whether an array can store such values, one in each row."""
    if type(value) is np.ndarray:
        return value.ndim > 0 and value.dtype.kind in "fciub"
    is_scalar = isinstance(value, np.number | np.bool_) and value.dtype.kind in "fciub"
    return is_scalar or type(value) is list or type(value) in PYTHON_NUMBERS


def rows_like(count: int, value: Any) -> np.ndarray:
    """Return an array of zeros that has so many rows for values like this one."""
    return np.zeros((count, *np.shape(value)), np.asarray(value).dtype)


def zero_rows(rows: np.ndarray) -> Call:
    """Return the call that makes the array in which a loop stores these rows."""
    return Call(np.zeros, [rows.shape, rows.dtype], val=rows, note="a row for each iteration")


def row_call(whole: Any, index: Any, like: Any) -> Call:
    """Return the call that reads a row of an array of values like this one."""
    if type(like) is np.ndarray and not like.ndim:
        return Call(operator.getitem, [whole, (index, ...)], val=like)  # with an index alone, it would be a number
    return Call(np.ndarray.item if type(like) in PYTHON_NUMBERS else operator.getitem, [whole, index], val=like)
