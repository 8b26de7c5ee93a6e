"""Rolling: replace repeated calls on a tape by a Loop.

This compresses the recording, so it needs no proof: the functions, the constants and the order of all calls stay those
of the tape, in functions and in derivatives. If a value of each iteration is read elsewhere, as the reverse pass reads
residuals, the loop stores it in an array with one row for each iteration.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from wengert.compiling.loops.anti_unify import (
    CarriedValue,
    CounterValue,
    InvariantValue,
    LoopPattern,
    ValuePerIteration,
    links_of,
    patterns_of,
)
from wengert.compiling.loops.body_code import PYTHON_NUMBERS, is_stacked, row_call
from wengert.compiling.loops.constant_inputs import inline_constants
from wengert.compiling.loops.periodicity import Run, is_move, runs_of
from wengert.compiling.loops.rolled_body import push_loop
from wengert.compiling.ops import info
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.interface import AnyTape
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Op, Variable, value_of, with_variables
from wengert.tape.tape import Tape
from wengert.values import functional

_READ_ROWS = (operator.getitem, np.ndarray.item)
DEEPEST = 4
"""So many loops, of which all but the outermost do not roll, may be within one another."""


def rolled(tape: AnyTape) -> Any:
    """Return a tape that computes the same as `tape`, with equal iterations replaced by Loops, which may be nested.

    >>> def f(x):
    ...     for _ in range(100):
    ...         x = x + 0.1 * np.sin(x)
    ...     return x
    >>> tape = wg.gradtape(f, 1.0)
    >>> len(tape), len(tape.rolled())
    (808, 43)
    """
    loops: dict[Any, Loop] = {}
    found, again = tape, _Roller(tape, loops).tape()
    while again is not None:
        found, again = again, _Roller(again, loops).tape()
    return found if found is tape else inline_constants(found)


def _asked_about(ops: Sequence[Op]) -> set[Op | None]:
    """Return the ops about whose memory a query asks, also one in a later loop: rows of a table are other memory."""
    found: set[Op | None] = set()
    for op in reversed(ops):
        if isinstance(op, Call):
            if isinstance(op.fn, Loop):
                inside = _asked_about([*op.fn.body])
                read = [a for v, a in zip(op.fn.inputs, op.args, strict=True) if v.op in inside]
                found.update([a.op for a in read if type(a) is Variable])
            elif info(op.fn).name == "memory_query" or (op in found and _passes_arguments_on(op)):
                found.update([v.op for v in op.references()])
    return found


def _passes_arguments_on(op: Call) -> bool:
    """Whether a result is one of the arguments or of their parts, or a tuple of them."""
    is_read = op.fn in (operator.getitem, functional.getfield) and type(value_of(op.args[0])) is tuple
    return op.fn is functional.make_tuple or is_read


class _Roller(TapeRewriter):
    """Rolls the innermost repetitions of a tape; it finds ops by their positions, those of literals negative."""

    def __init__(self, tape: AnyTape, loops: dict[Any, Loop]) -> None:
        super().__init__(tape)
        self.loops = loops
        ops = list(tape)
        self.ops = sorted(ops, key=lambda op: isinstance(op, Call))  # inputs and constants first
        self.place = {op: k for k, op in enumerate(self.ops)}
        self.asked = _asked_about(ops)
        self.literals: list[Any] = []
        self.values: dict[int, Variable] = {}
        self.stacks: dict[tuple[int, int], Variable] = {}

    def tape(self) -> Tape | None:
        """Return the tape with loops; None if nothing repeats."""
        shortest = 1
        for _ in range(DEEPEST):  # an outer loop may roll whose inner loop does not
            runs = runs_of(self.ops, self.crossings, shortest)
            self.patterns = self.fitting(patterns_of(self.ops, self.place, runs, self.literals))
            if self.patterns or not runs:
                break
            shortest = 1 + max([run.period for run in runs])
        if not self.patterns:
            return None
        ahead = {pattern.run.start: pattern for pattern in self.patterns}
        read = {*self.read(self.patterns)}
        k = 0
        while k < len(self.ops):
            if k in ahead:
                push_loop(self, ahead[k])
                k = ahead[k].run.end
            else:
                if k in read or not is_move(self.ops[k]):
                    self.push(self.ops[k])
                k += 1
        return self.finished()

    def crossings(self, run: Run) -> list[int]:
        """Return for each op of an iteration how many values are computed before it and read after it, in the run.

        A tuple counts as many: it is a result that is unpacked at once, so it should not be a loop-carried value.
        """
        counts = [0] * run.period
        first = run.start + run.count // 2 * run.period
        last: dict[int, int] = {}
        for k in range(first, min(first + 2 * run.period, run.end)):
            last.update((self.place[v.op], k) for v in self.ops[k].references())  # type: ignore[index]
        for k in range(first, first + run.period):
            weight = 1000 if type(self.ops[k].val) is tuple else 1
            for at in range(k + 1, min(last.get(k, k), k + run.period) + 1):
                counts[(at - run.start) % run.period] += weight
        return counts

    def fitting(self, patterns: list[LoopPattern]) -> list[LoopPattern]:
        """Return the patterns whose values that are read elsewhere can be stored."""
        while patterns:
            self.owner = {k: n for n, p in enumerate(patterns) for k in range(p.run.start, p.run.end)}
            self.lasts: list[dict[int, None]] = [{} for _ in patterns]
            self.kept: list[dict[int, None]] = [{} for _ in patterns]
            bad = {n for position in self.read(patterns) if (n := self.demand(position, patterns)) is not None}
            if not bad:
                break
            patterns = [p for n, p in enumerate(patterns) if n not in bad]
        return patterns

    def read(self, patterns: list[LoopPattern]) -> Iterator[int]:
        """Yield the positions of values that are read outside of their run."""
        yield self.place[self.old.result.op]  # type: ignore[index]
        for k, op in enumerate(self.ops):
            if k not in self.owner:
                yield from [self.place[v.op] for v in op.references()]  # type: ignore[index]
        for pattern in patterns:
            for link in links_of(pattern):
                if type(link) is InvariantValue:
                    yield link.position
                elif type(link) is ValuePerIteration:
                    yield from link.positions
                elif type(link) is CarriedValue:
                    yield from link.firsts

    def demand(self, position: int, patterns: list[LoopPattern]) -> int | None:
        """Note that a value of a run is read; return the number of its pattern if it cannot be stored, else None."""
        n = self.owner.get(position)
        if n is None:
            return None
        run = patterns[n].run
        k, j = divmod(position - run.start, run.period)
        if k == run.count - 1:
            self.lasts[n][j] = None
        elif is_stacked(self.ops[position].val) and self.ops[position] not in self.asked:
            self.kept[n][j] = None
        else:
            return n
        return None

    def push(self, op: Op) -> None:
        self.values[self.place[op]] = self.new.push(self.copy(op))

    def copy(self, op: Op) -> Any:
        if isinstance(op, Call) and list in map(type, op.args):
            op = op.copy()
            op.args = tuple([self.with_rows(op, a) if type(a) is list else a for a in op.args])
        return super().copy(op)

    def variable(self, op: Op | None) -> Variable:
        return self.value(self.place[op]) if op in self.place else Variable(op)  # type: ignore[arg-type]

    def with_rows(self, op: Call, parts: list[Any]) -> Any:
        """Build a list in the arguments of a call from a stored array, if it contains all rows of one."""
        positions = [self.place[v.op] if type(v) is Variable else -1 for v in parts]  # type: ignore[index]
        read = self.rows_read(positions) if len(positions) > 1 else None
        if read is not None and read[1:] == (0, 1) and len(self.ops[read[0]].val) == len(parts):
            return self.value(read[0]) if op.fn is np.array else self.joined([], self.value(read[0]), parts, [])
        for k, position in enumerate(positions):
            n = self.owner.get(position)
            if n is None or position - self.patterns[n].run.start >= self.patterns[n].run.period:
                continue
            run, j = self.patterns[n].run, position - self.patterns[n].run.start
            if positions[k : k + run.count] == [*range(position, run.end, run.period)] and (n, j) in self.stacks:
                rows = self.stacks[n, j]
                if len(parts) == run.count and op.fn is np.array:
                    return rows
                return self.joined(parts[:k], rows, parts[k : k + run.count], parts[k + run.count :])
        return parts

    def rows_read(self, positions: Sequence[int]) -> tuple[int, int, int] | None:
        """Return the position of the array, the first row and the step if the ops at these positions read its rows."""
        reads: list[Any] = [self.ops[k] if k >= 0 else None for k in positions]
        if not all([isinstance(op, Call) and op.fn in _READ_ROWS and len(op.args) == 2 for op in reads]):
            return None
        (array, first), (_, second), *_ = [op.args for op in reads]
        is_row = (
            type(array) is Variable and type(value_of(array)) is np.ndarray and {type(first), type(second)} == {int}
        )
        if not is_row or any([op.args != (array, first + k * (second - first)) for k, op in enumerate(reads)]):
            return None
        is_same = all([op.fn is row_call(array, op.args[1], op.val).fn and op not in self.asked for op in reads])
        return (self.place[array.op], first, second - first) if is_same and first >= 0 else None

    def joined(self, before: list[Any], rows: Variable, parts: list[Any], after: list[Any]) -> Variable:
        """Push the list of the values `before`, the rows of an array, which are `parts`, and the values `after`."""
        values, push, renewed = [value_of(v) for v in parts], self.new.push, lambda v: self.variable(v.op)
        found = push(Call(np.ndarray.tolist if type(values[0]) in PYTHON_NUMBERS else list, [rows], val=values))
        if before:
            values = [*map(value_of, before), *values]
            found = push(Call(operator.add, [with_variables(before, renewed), found], val=values))
        if after:
            values = [*values, *map(value_of, after)]
            found = push(Call(operator.add, [found, with_variables(after, renewed)], val=values))
        return found

    def value(self, position: int) -> Variable:
        """Return the value on the new tape for a position on the old."""
        if position < 0 and position not in self.values:
            self.values[position] = self.new.push(Constant(self.literals[-position - 1]))
        if position not in self.values:
            n = self.owner[position]
            run = self.patterns[n].run
            k, j = divmod(position - run.start, run.period)
            self.values[position] = self.new.push(row_call(self.stacks[n, j], k, self.ops[position].val))
        return self.values[position]

    def read_of(self, pattern: LoopPattern) -> tuple[int, list[int], list[int]]:
        """Return the number of a pattern, the ops whose last value is read, and those whose values are stored."""
        n = self.owner[pattern.run.start]
        return n, [*self.lasts[n]], [*self.kept[n]]

    def from_stack(self, link: ValuePerIteration) -> tuple[Variable, CounterValue] | None:
        """Return the array and the row of each iteration if the values of a link are rows of one; else None."""
        read = self.rows_read(link.positions)
        if read is not None:
            return self.value(read[0]), CounterValue(*read[1:])
        owners = {self.owner.get(position) for position in link.positions}
        n = owners.pop()
        if owners or n is None:
            return None
        run = self.patterns[n].run
        pairs = [divmod(position - run.start, run.period) for position in link.positions]
        first, step = pairs[0][0], pairs[1][0] - pairs[0][0]
        if any([pair != (first + k * step, pairs[0][1]) for k, pair in enumerate(pairs)]):
            return None
        stack = self.stacks.get((n, pairs[0][1]))
        return None if stack is None else (stack, CounterValue(first, step))
