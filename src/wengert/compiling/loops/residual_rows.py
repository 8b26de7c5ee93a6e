"""Arrays in which loops keep the values of all iterations, a row for each, and who reads which of the rows."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.loops.open_loops import OpenLoop, Region, field, is_loop
from wengert.compiling.loops.periodicity import spec_of
from wengert.tape.ops import Call, Op, Variable, references, value_of
from wengert.values import functional
from wengert.values.identity_set import Functions

_NUMBERS = (float, bool, complex)
_ROWS = Functions(operator.getitem, np.ndarray.item)
Loops = tuple[OpenLoop, ...]


class Stack(NamedTuple):
    """The array that a loop gives as its `number`-th result: row `first + k * step` is `value` in iteration k.

    `whole` is the op that takes it from what the loop gives.
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


class Row(NamedTuple):
    """Iterations that are read of: `first + j * step` in iteration j of `loop`; of None it is one, `first`."""

    loop: OpenLoop | None
    first: int
    step: int

    def back(self) -> Row:
        """The iterations before these."""
        return self._replace(first=self.first - 1)

    def is_first(self) -> bool:
        """Whether it is the first iteration alone."""
        return self.first == 0 == self.step

    def within(self, count: int) -> bool:
        """Whether there are such iterations among so many."""
        last = self.first + self.step * (self.loop.count - 1 if self.loop else 0)
        return min(self.first, last) >= 0 and max(self.first, last) < count


class Reader(NamedTuple):
    """An op that reads what was kept of some iterations."""

    op: Op
    row: Row


class Users(dict[Op, list[tuple[Loops, Any]]]):
    """For each op those that read it, with the loops in whose bodies they are; None reads a result."""

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


def stacks_of(loop: OpenLoop, users: Users) -> Iterator[Stack]:
    """The stacks that a loop fills, as far as somebody reads them."""
    wholes = {part[1]: op for _, op in users.get(loop.call, ()) if (part := field(op)) is not None}
    for k in range(loop.carried):
        stack = _stack(loop, k, wholes.get(k), users)
        if stack is not None:
            yield stack


def _stack(loop: OpenLoop, k: int, whole: Op | None, users: Users) -> Stack | None:
    array, store = loop.inputs[len(loop.steps) + k], loop.results[k]
    op = store.op if isinstance(store, Variable) else None
    if whole is None or not isinstance(op, Call) or op.fn is not functional.setitem:
        return None
    if not len(users.get(array, ())) == 1 == len(users[op]):
        return None
    place, value = op.args[1:]
    if not (isinstance(place, Variable) and isinstance(value, Variable) and loop.role(place.op) == "place"):
        return None
    first, step = loop.given(place.op), loop.steps[loop.inputs.index(place.op)]  # type: ignore[arg-type]
    fits = type(first) is int and value_of(store).shape[1:] == np.shape(value_of(value))
    return Stack(loop, k, whole, value.op, first, step) if fits and value.op is not array else None  # type: ignore[arg-type]


def readers_of(stack: Stack, users: Users) -> list[Reader] | None:
    """Who reads a stack; None where one does that reads no single row of those that the loop has filled."""
    found: list[Reader] = []
    waiting: list[Any] = [op for _, op in users[stack.loop.call] if field(op) == (stack.loop, stack.number)]
    for array in waiting:
        for loops, op in users.get(array, ()):
            if is_loop(op):
                inner = [x for x, given in zip(op.fn.inputs, op.args, strict=True) if given == Variable(array)]
                if any([op.fn.role(x) != "same" for x in inner]):
                    return None
                waiting += inner
            elif (reader := _reader(op, loops, array, stack)) is not None:
                found.append(reader)
            else:
                return None
    return found


def _reader(op: Any, loops: Loops, array: Op, stack: Stack) -> Reader | None:
    """The Reader that an op is, if it takes a row of a stack."""
    if not isinstance(op, Call) or op.fn not in _ROWS or len(op.args) != 2:
        return None
    row = _place(op.args[1], loops)
    if op.args[0] != Variable(array) or row is None or spec_of(op.val) != spec_of(stack.value.val):
        return None
    (first, other), (step, too) = divmod(row.first - stack.first, stack.step), divmod(row.step, stack.step)
    row = Row(row.loop, first, step)
    return Reader(op, row) if not other and not too and row.within(stack.loop.count) else None


def _place(index: Any, loops: Loops) -> Row | None:
    """The places that an index names, in the body of the last of these loops."""
    for loop in reversed(loops):
        if not isinstance(index, Variable):
            break
        role = loop.role(index.op)
        if role == "place" and type(loop.given(index.op)) is int:
            return Row(loop, loop.given(index.op), loop.steps[loop.inputs.index(index.op)])  # type: ignore[arg-type]
        if role != "same":
            return None
        index = loop.given(index.op)
    return Row(None, index, 0) if type(index) is int else None


def row_of(whole: Any, place: Any, like: Any) -> Call:
    """The call that reads a row of an array that keeps values like this one."""
    return Call(np.ndarray.item if type(like) in _NUMBERS else operator.getitem, [whole, place], val=like)
