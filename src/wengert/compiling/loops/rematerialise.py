"""Rematerialisation: residuals of a loop that are as well computed again where they are read.

A loop keeps the values of all its iterations in an array, a row for each, for the reverse pass say. Where such a value
is a view, or little work, of what is the same in all iterations, or kept anyway, the reader computes it from that.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.loops.open_loops import OpenLoop, Region, is_loop
from wengert.compiling.loops.residual_rows import Loops, Reader, Row, Stack, Users, readers_of, row_of, stacks_of
from wengert.tape.ops import Call, Constant, Op, Variable, references, value_of
from wengert.values import functional
from wengert.values.identity_set import Functions
from wengert.values.keys import is_basic

_VIEWS = Functions(
    np.transpose, np.ndarray.transpose, np.reshape, np.ndarray.reshape, np.expand_dims, np.broadcast_to, np.swapaxes,
    np.squeeze, np.full, np.ndarray.item, float,
)  # fmt: skip
_CHEAP = Functions(
    operator.add, operator.sub, operator.mul, operator.neg, np.add, np.subtract, np.multiply, np.negative, np.square,
)  # fmt: skip
_POWERS = Functions(operator.pow, np.power)
_SMALL = 4096  # bytes: with less than these, a call costs more than what it computes


def recompute(region: Region) -> None:
    """Let readers compute again what is worth it; arrays that are then only written are left to `drop_unread`."""
    for loop in region.loops():
        recompute(loop)
    users, rewriter = Users(region), _Rewriter(region)
    for loop in region.loops():
        plan = _Plan(loop, users)
        for stack, readers in plan.dropped.items():
            rewriter.readers.update({reader.op: (plan, stack.value, reader.row) for reader in readers})
    rewriter.run(region, ())
    region.rewrite(rewriter.current)


class _Plan:
    """Which of the stacks of a loop stay `held`, by the value that is in them, and which are `dropped`."""

    def __init__(self, loop: OpenLoop, users: Users) -> None:
        self.loop = loop
        self.held: dict[Op, Stack] = {}
        self.dropped: dict[Stack, list[Reader]] = {}
        found = {stack: readers_of(stack, users) for stack in stacks_of(loop, users)}
        for stack in found:
            self.held.setdefault(stack.value, stack)
        place = {op: k for k, op in enumerate(loop.ops)}
        for stack in sorted(found, key=lambda stack: place.get(stack.value, -1)):
            readers = found[stack]
            if readers is not None and self.may_drop(stack, readers):
                self.dropped[stack] = readers

    def may_drop(self, stack: Stack, readers: list[Reader]) -> bool:
        """Whether what a stack keeps is little work for those who read it, and those of dropped ones can do without."""
        if self.held.get(stack.value) is not stack:
            return True
        del self.held[stack.value]
        most = 1 if stack.row_bytes < _SMALL else 3
        works = [self.work(stack, reader.row) for reader in readers]
        others = [self.work(one, reader.row) for one, those in self.dropped.items() for reader in those]
        if None not in others and all([work is not None and work <= most for work in works]):
            return True
        self.held[stack.value] = stack
        return False

    def work(self, stack: Stack, row: Row) -> int | None:
        """How many calls that are more than views it takes to compute the values of a stack; None where that cannot be.

        Those do not count that readers of other stacks make anyway.
        """
        made = {one.value for one in self.dropped}
        found: dict[tuple[Op, Row], int] = {}
        waiting: list[tuple[Op, Row]] = [(stack.value, row)]
        for op, of in waiting:
            if (op, of) not in found:
                reads = self.reads(op, of)
                if reads is None:
                    return None
                waiting += reads
                found[op, of] = op in self.loop.ops and op not in self.held and (op not in made or op is stack.value)
        return sum([_work(op) or 0 for (op, _), counts in found.items() if counts])

    def reads(self, op: Op, row: Row) -> list[tuple[Op, Row]] | None:
        """Return what a value is computed from, in some iterations; None where that is not available."""
        loop, role = self.loop, self.loop.role(op)
        if op in self.held or isinstance(op, Constant) or role == "same" or _is_among_results(loop, op, row):
            return []
        if role == "place":
            return [] if type(loop.given(op)) is int else None
        if role == "carried":
            before = _before(loop, op)
            if row.is_first():
                return []
            there = isinstance(before, Variable) and row.back().within(loop.count)
            return [(before.op, row.back())] if there else None
        return None if _work(op) is None else [(v.op, row) for v in op.references()]  # type: ignore[misc]


def _before(loop: OpenLoop, op: Op) -> Any:
    """Return the result of the iteration before that is carried as `op`."""
    return loop.results[loop.inputs.index(op) - len(loop.steps)]


def _is_among_results(loop: OpenLoop, op: Op, row: Row) -> bool:
    """Whether a value is among the results of its loop, or may be, as those of the last iteration."""
    return row.loop is None and (row.first == loop.count - 1 or _result(loop, op, row) is not None)


def _result(loop: OpenLoop, op: Op, row: Row) -> int | None:
    """The number of the result of a loop that is the value of an op in one iteration, or was carried from there."""
    if not any([v.op is op for v in references(loop.results)]):
        return None
    back = loop.count - 1 - row.first
    return next((k for k, v in enumerate(loop.results) if _carried_from(loop, v, back) is op), None)


def _carried_from(loop: OpenLoop, v: Any, back: int) -> Any:
    """The op whose value a result is that has been carried on for so many iterations; None where it was not."""
    way: dict[Any, None] = {}
    while isinstance(v, Variable) and v.op not in way:
        if len(way) == back or loop.role(v.op) != "carried":
            return v.op if len(way) == back else None
        way[v.op] = None
        v = _before(loop, v.op)  # type: ignore[arg-type]
    if not isinstance(v, Variable):
        return None
    ops = [*way]
    turns = ops[ops.index(v.op) :]
    return turns[(back - len(ops)) % len(turns)]


def _work(op: Op) -> int | None:
    """0 for a view of what a call reads, 1 for what is computed about as fast as it is stored, else None."""
    if not isinstance(op, Call) or op.guard or "out" in op.kwargs:
        return None
    if op.fn in _VIEWS or (op.fn is operator.getitem and is_basic(_key(op.args[1]))):
        return 0
    small = op.fn in _POWERS and type(op.args[1]) in (int, float) and op.args[1] in (1, 2)
    return 1 if small or op.fn in _CHEAP else None


def _key(key: Any) -> Any:
    return tuple(map(value_of, key)) if type(key) is tuple else value_of(key)


class _Rewriter:
    """Writes in the places of readers what they read."""

    def __init__(self, around: Region) -> None:
        self.around = around
        self.readers: dict[Op, tuple[_Plan, Op, Row]] = {}
        self.instead: dict[Op, Any] = {}
        self.made: dict[tuple[Op, Row, Region], Any] = {}

    def current(self, v: Variable) -> Any:
        """Follow the replacements of a Variable."""
        while isinstance(v, Variable) and v.op in self.instead:
            v = self.instead[v.op]
        return v

    def run(self, region: Region, loops: Loops) -> None:
        """Go through the ops of a region, which is the body of the last of `loops`."""
        ops, region.ops = region.ops, []
        for op in ops:
            if op in self.readers:
                plan, value, row = self.readers[op]
                self.instead[op] = _Place(plan, self.made, self.around, region, loops).value(value, row)
                continue
            if is_loop(op):
                self.run(op.fn, (*loops, op.fn))  # type: ignore[attr-defined]
            region.ops.append(op)


class _Place(NamedTuple):
    """Where values are computed again, and have been `made`: at the end of what `region` has so far.

    It is the body of the last of `loops`, or all `around` these.
    """

    plan: _Plan
    made: dict[tuple[Op, Row, Region], Any]
    around: Region
    region: Region
    loops: Loops

    def value(self, op: Op, row: Row) -> Any:
        """Return the replacement here for the values of an op of the loop that kept them."""
        key = (op, row, self.region)
        if key not in self.made:
            self.made[key] = self.written(op, row)
        return self.made[key]

    def written(self, op: Op, row: Row) -> Any:
        loop, stack, role = self.plan.loop, self.plan.held.get(op), self.plan.loop.role(op)
        if stack is not None:
            whole = self.brought(Variable(stack.whole), self.loops)
            return self.push(row_of(whole, self.at(row, stack.first, stack.step), op.val))
        if _is_among_results(loop, op, row):
            return self.brought(self.result(op, row), self.loops)
        if role == "place":
            return self.at(row, loop.given(op), loop.steps[loop.inputs.index(op)])
        if role == "carried" and not row.is_first():
            return self.value(_before(loop, op).op, row.back())
        if role != "call":
            return self.brought(loop.given(op), self.loops)
        made = op.copy()
        made.rewrite(lambda v: self.value(v.op, row))  # type: ignore[arg-type]
        return self.push(made)

    def result(self, op: Op, row: Row) -> Variable:
        """Return the result of the loop that kept a value."""
        loop, number = self.plan.loop, _result(self.plan.loop, op, row)
        if number is None:
            number = len(loop.results)
            loop.results.append(Variable(op))
        self.around.ops.append(Call(functional.getfield, [Variable(loop.call), number], val=op.val))
        return Variable(self.around.ops[-1])

    def push(self, op: Op) -> Variable:
        self.region.ops.append(op)
        return Variable(op)

    def brought(self, value: Any, loops: Loops) -> Any:
        """Return the counterpart in these loops of a value from outside of them."""
        for loop in loops:
            value = loop.same(value)
        return value

    def at(self, row: Row, first: int, step: int) -> Any:
        """The int that is `first + k * step` in the iterations k of a row."""
        first, step = first + row.first * step, row.step * step
        if row.loop is None:
            return first
        return self.brought(row.loop.place(first, step), self.loops[self.loops.index(row.loop) + 1 :])


__all__ = ["recompute"]
