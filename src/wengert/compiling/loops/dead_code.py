"""Dead-code elimination across loop boundaries: unread calls, results, loop-carried values and arguments.

What a loop passes on unchanged is read from before the loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wengert.compiling.graphs.to_tape import must_run
from wengert.compiling.loops.open_loops import OpenLoop, Region, is_loop, loop_result
from wengert.tape.ops import Call, Op, Variable, references


def bypass_loops(region: Region) -> None:
    """Have what a loop only passes on read from before the loop."""
    for loop in region.loops():
        bypass_loops(loop)
    before: dict[Op | None, Any] = {}
    for op in region.ops:
        part = loop_result(op)
        if part is not None and part[1] < part[0].carried:
            given = part[0].inputs[len(part[0].steps) + part[1]]
            if part[0].results[part[1]] == Variable(given):
                value = part[0].argument_for(given)
                before[op] = before.get(value.op, value) if isinstance(value, Variable) else value
    if before:
        region.rewrite(lambda v: before.get(v.op, v))


def drop_dead_code(region: Region) -> None:
    """Remove all ops that neither the result, nor a guard, nor a call with side effects needs.

    A loop-carried value is needed if its final value is read, or another needed value depends on it. An array that is
    only written is removed with its stores.
    """
    _LiveOps(region).sweep(region)


class _LiveOps(set[Op]):
    """The ops, in all bodies, whose values are needed; `results` maps loops to the numbers of their needed results."""

    def __init__(self, region: Region) -> None:
        self.called: set[Op] = set()  # calls of loops that contain something needed, if only a guard
        self.results: dict[OpenLoop, set[int]] = {}
        self.inputs: dict[Op, tuple[OpenLoop, int]] = {}
        self.waiting: list[Op] = [v.op for v in references(region.results)]
        self.update(region.inputs)
        self.enter(region, [])
        while self.waiting:
            op = self.waiting.pop()
            if op not in self:
                self.add(op)
                self.waiting += [v.op for v in self.reads(op)]  # type: ignore[misc]

    def enter(self, region: Region, around: list[Op]) -> None:
        """Start with the calls that have to run, and the calls of the loops `around` them."""
        for op in region.ops:
            if is_loop(op):
                loop: OpenLoop = op.fn  # type: ignore[attr-defined]
                self.results[loop] = set()
                first = len(loop.steps)
                self.inputs.update({made: (loop, k - first) for k, made in enumerate(loop.inputs)})
                self.enter(loop, [*around, op])
            elif must_run(op):
                self.waiting.append(op)
                self.called.update(around)
                self.waiting += [call.fn.end_input for call in around if call.fn.end_input]  # type: ignore[attr-defined]

    def reads(self, op: Op) -> Iterator[Variable]:
        """Yield the Variables that a needed op reads."""
        if op in self.inputs:
            loop, k = self.inputs[op]
            yield from references(loop.argument_for(op))
            if 0 <= k < loop.carried:
                yield from self.result(loop, k)
        elif (part := loop_result(op)) is not None:
            self.called.add(part[0].call)
            yield from self.result(*part)
        elif is_loop(op):
            for k in range(len(op.fn.results)):  # type: ignore[attr-defined]
                yield from self.result(op.fn, k)  # type: ignore[attr-defined]
        else:
            yield from op.references()

    def result(self, loop: OpenLoop, k: int) -> Iterator[Variable]:
        self.results[loop].add(k)
        yield from references(loop.results[k])
        if loop.end_input is not None:  # if it runs never, the result is the input
            yield from (Variable(loop.end_input), Variable(loop.inputs[len(loop.steps) + k]))

    def sweep(self, region: Region) -> None:
        region.ops = [op for op in region.ops if op in self or op in self.called]
        numbers = {loop: loop.keep(self, self.results[loop]) for loop in region.loops()}
        for op in region.ops:
            part = loop_result(op)
            if isinstance(op, Call) and part is not None:
                op.args = (op.args[0], numbers[part[0]][part[1]])
        for loop in numbers:
            self.sweep(loop)
