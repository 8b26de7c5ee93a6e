"""Rematerialisation: recompute residuals of a loop where they are read, if that is cheap.

A loop stores the values of all its iterations in an array, one row each, for example for the reverse pass. If such a
value is a view or a cheap function of invariants and of other stored values, the reader recomputes it from these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from wengert.compiling.loops.open_loops import OpenLoop, Region, is_loop
from wengert.compiling.loops.residual_rows import (
    Loops,
    ReadersByOp,
    ResidualStack,
    RowIndex,
    RowReader,
    readers_of,
    row_call,
    stacks_of,
)
from wengert.compiling.ops import info
from wengert.tape.ops import Call, Constant, Op, Variable, value_of
from wengert.values.keys import is_basic

_SMALL_ROW = 4096  # bytes: for smaller rows, the overhead of a call dominates


def recompute(region: Region) -> None:
    """Recompute cheap residuals in their readers; `drop_dead_code` removes the arrays that nobody reads then."""
    for loop in region.loops():
        recompute(loop)
    users, rewriter = ReadersByOp(region), _Rewriter()
    for loop in region.loops():
        plan = _Plan(loop, users)
        for stack, readers in plan.dropped.items():
            rewriter.readers.update({reader.op: (plan, stack.value, reader.row) for reader in readers})
    rewriter.run(region, ())
    region.rewrite(rewriter.current)


class _Plan:
    """The stacks of a loop that are `held`, by the value in them, and those to be `dropped`, with their readers."""

    def __init__(self, loop: OpenLoop, users: ReadersByOp) -> None:
        self.loop = loop
        self.held: dict[Op, ResidualStack] = {}
        self.dropped: dict[ResidualStack, list[RowReader]] = {}
        found = {stack: readers_of(stack, users) for stack in stacks_of(loop, users)}
        for stack in found:
            self.held.setdefault(stack.value, stack)
        place = {op: k for k, op in enumerate(loop.ops)}
        for stack in sorted(found, key=lambda stack: place.get(stack.value, -1)):
            readers = found[stack]
            if readers is not None and self.may_drop(stack, readers):
                self.dropped[stack] = readers

    def may_drop(self, stack: ResidualStack, readers: list[RowReader]) -> bool:
        """Whether the readers of a stack can recompute it cheaply, and those of dropped stacks do not need it."""
        if self.held.get(stack.value) is not stack:
            return True
        del self.held[stack.value]
        most = 1 if stack.row_bytes < _SMALL_ROW else 3
        works = [self.work(stack, reader.row) for reader in readers]
        others = [self.work(one, reader.row) for one, those in self.dropped.items() for reader in those]
        if None not in others and all([work is not None and work <= most for work in works]):
            return True
        self.held[stack.value] = stack
        return False

    def work(self, stack: ResidualStack, row: RowIndex) -> int | None:
        """Return how many calls other than views recompute the values of a stack; None if that is impossible.

        Calls that readers of dropped stacks make anyway do not count.
        """
        made = {one.value for one in self.dropped}
        found: dict[tuple[Op, RowIndex], int] = {}
        waiting: list[tuple[Op, RowIndex]] = [(stack.value, row)]
        for op, of in waiting:
            if (op, of) not in found:
                reads = self.reads(op, of)
                if reads is None:
                    return None
                waiting += reads
                found[op, of] = op in self.loop.ops and op not in self.held and (op not in made or op is stack.value)
        return sum([_recomputation_cost(op) or 0 for (op, _), counts in found.items() if counts])

    def reads(self, op: Op, row: RowIndex) -> list[tuple[Op, RowIndex]] | None:
        """Return the operands that recompute a value in some iterations; [] if none is needed, None if impossible."""
        loop, role = self.loop, self.loop.role(op)
        if op in self.held or isinstance(op, Constant) or role == "invariant":
            return []
        if role != "call" and loop.ending != "count":
            return None
        if role == "counter":
            return [] if type(loop.argument_for(op)) is int else None
        if role == "carried":
            before = _carried_result(loop, op)
            if row.is_first():
                return []
            there = isinstance(before, Variable) and row.back().within(loop.count)
            return [(before.op, row.back())] if there else None
        return None if _recomputation_cost(op) is None else [(v.op, row) for v in op.references()]  # type: ignore[misc]


def _carried_result(loop: OpenLoop, op: Op) -> Any:
    """Return the result of an iteration that the next one gets as `op`."""
    return loop.results[loop.inputs.index(op) - len(loop.steps)]


def _recomputation_cost(op: Op) -> int | None:
    """Return 0 for a view, 1 for a call that is about as fast as a store, else None."""
    if not isinstance(op, Call) or op.guard or "out" in op.kwargs:
        return None
    row = info(op.fn)
    if row.name == "getitem" and is_basic(_recorded_key(op.args[1])):
        return 0
    small = row.name == "power" and type(op.args[1]) in (int, float) and op.args[1] in (1, 2)
    return 1 if small else row.cost


def _recorded_key(key: Any) -> Any:
    """Return the recorded value of a key."""
    return tuple(map(value_of, key)) if type(key) is tuple else value_of(key)


class _Rewriter:
    """Replaces the readers of dropped stacks by recomputed values; `instead` maps the readers to these."""

    def __init__(self) -> None:
        self.readers: dict[Op, tuple[_Plan, Op, RowIndex]] = {}
        self.instead: dict[Op, Any] = {}
        self.made: dict[tuple[Op, RowIndex, Region], Any] = {}

    def current(self, v: Variable) -> Any:
        """Follow the replacements of a Variable."""
        while isinstance(v, Variable) and v.op in self.instead:
            v = self.instead[v.op]
        return v

    def run(self, region: Region, loops: Loops) -> None:
        """Rewrite the ops of a region, which is the body of the last of `loops`."""
        ops, region.ops = region.ops, []
        for op in ops:
            if op in self.readers:
                plan, value, row = self.readers[op]
                self.instead[op] = _InsertionPoint(plan, self.made, region, loops).value(value, row)
                continue
            if is_loop(op):
                self.run(op.fn, (*loops, op.fn))  # type: ignore[attr-defined]
            region.ops.append(op)


class _InsertionPoint(NamedTuple):
    """Inserts recomputed values at the end of `region`, the body of the last of `loops`, or what contains these.

    `made` are the values that were inserted before.
    """

    plan: _Plan
    made: dict[tuple[Op, RowIndex, Region], Any]
    region: Region
    loops: Loops

    def value(self, op: Op, row: RowIndex) -> Any:
        """Return the value here of an op of the loop that stored it, in the iterations of a row."""
        key = (op, row, self.region)
        if key not in self.made:
            self.made[key] = self.recomputed(op, row)
        return self.made[key]

    def recomputed(self, op: Op, row: RowIndex) -> Any:
        """Insert the calls that recompute a value."""
        loop, stack, role = self.plan.loop, self.plan.held.get(op), self.plan.loop.role(op)
        if stack is not None:
            whole = self.inside(Variable(stack.whole), self.loops)
            return self.push(row_call(whole, self.at(row, stack.first, stack.step), op.val))
        if role == "counter":
            return self.at(row, loop.argument_for(op), loop.steps[loop.inputs.index(op)])
        if role == "carried" and not row.is_first():
            return self.value(_carried_result(loop, op).op, row.back())
        if role != "call":
            return self.inside(loop.argument_for(op), self.loops)
        return self.push(op.copy(lambda v: self.value(v.op, row)))  # type: ignore[arg-type]

    def push(self, op: Op) -> Variable:
        self.region.ops.append(op)
        return Variable(op)

    def inside(self, value: Any, loops: Loops) -> Any:
        """Return the counterpart inside these nested loops of a value from outside."""
        for loop in loops:
            value = loop.invariant(value)
        return value

    def at(self, row: RowIndex, first: int, step: int) -> Any:
        """Return the integer `first + k * step` for the iterations k of a row."""
        first, step = first + row.first * step, row.step * step
        if row.loop is None:
            return first
        return self.inside(row.loop.counter(first, step), self.loops[self.loops.index(row.loop) + 1 :])
