"""Construct the derivative of a tape with loops: differentiate the body of each loop once.

The forward loop runs the body and stores the residuals of each iteration as a row. The backward loop counts down. It
carries the cotangents of the loop-carried values, and adds to those of the invariants. The adjoint of reading an item
adds to an item, and that of a store reads one. So a loop over an array takes time linear in its iterations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.loops.adjoint_code import CotangentTable, Environment, Get, built_items, parts_of_pair, renewed
from wengert.compiling.loops.adjoint_loops import LoopCall, dependents, is_active
from wengert.compiling.loops.adjoint_steps import KEYED, CopiedOp, KeyedCall, PullbackTraces, Segment, returns_parts
from wengert.compiling.loops.body_code import BodyCode, closed_tape
from wengert.compiling.ops import info
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Input, Op, Variable, references, value_of
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.specs import is_inexact


def constructed_derivative(whole: Any, wanted: int, seeds: Sequence[Any]) -> Tape:
    """Return the derivative of a tape with loops, whose result is a pair of tuples: (outputs, other values).

    The inputs are those of `whole`, then the seeds of the outputs. The result is (outputs, other values, cotangents of
    the first `wanted` inputs). Errors: UnsupportedLoopError.
    """
    inputs: list[Any] = [v.op for v in whole.inputs if not v.op.callee]
    given, seeded = [Input(op.val) for op in inputs], [Input(value_of(seed)) for seed in seeds]
    outputs, others = parts_of_pair(whole)
    built = {whole.result.op, *[part.op for part in built_items(whole.result) if isinstance(part, Variable)]}
    ops = [op for op in whole if op not in built and op not in inputs]
    region = _Region(ops, inputs[:wanted], [*outputs, *others], PullbackTraces())
    code, new = BodyCode(), dict(zip(inputs, map(Variable, given), strict=True))
    cotangents = CotangentTable(code)
    with np.errstate(all="ignore"):
        region.run_forward(code, new)
        for v, seed in zip(outputs, seeded, strict=True):
            if isinstance(v, Variable):
                cotangents.add(v.op, Variable(seed))
        region.run_backward(code, cotangents, lambda v: v)
        found = [cotangents.of(op) for op in inputs[:wanted]]
    parts = [[renewed(v, new) for v in outputs], [renewed(v, new) for v in others], found]
    return closed_tape([*given, *seeded], code, [code.call(functional.make_tuple, *part) for part in parts])


class _Region:
    """The ops of a tape, or of the body of the call of a `loop`, in steps that run forward, then backward."""

    def __init__(
        self, ops: Sequence[Op], active: Iterable[Op], results: Sequence[Any], traces: PullbackTraces, loop: Any = None
    ) -> None:
        self.traces, self.loop = traces, loop
        self.dependent = dependents(ops, active).intersection([*active, *_useful(ops, results)])
        self.readers = Counter([v.op for v in (*references([*results]), *[v for op in ops for v in op.references()])])
        ops = _parts_first(ops)
        self.copied: set[Any] = set()  # arrays without a derivative that several steps read
        while more := self.plan(ops):
            self.copied |= more
        self.steps = [make(of, self) for make, of in self.planned]

    def plan(self, ops: Sequence[Op]) -> set[Any]:
        """Plan the steps; return the arrays without a derivative that a segment makes and others read."""
        self.fields: dict[Any, list[Any]] = {}  # of calls of loops: the ops that take a part of their results
        self.planned: list[tuple[Callable[..., Any], Any]] = []
        self.segment: dict[Any, None] = {}
        for op in ops:
            self.add(op)
        self.end_segment()
        found = set()
        for make, of in self.planned:
            if make is Segment:
                within = Counter([v.op for op in of for v in op.references()])
                arrays = [op for op in of if isinstance(op.val, np.ndarray) and not is_inexact(op.val)]
                read = [op for op in arrays if self.readers[op] > within[op] and op.fn is not functional.getfield]
                found.update(read)
        return found

    def add(self, op: Any) -> None:
        """Plan the step of the next op."""
        read: list[Any] = [v.op for v in op.references()]
        is_part = getattr(op, "fn", None) is functional.getfield and read[0] in self.segment
        if op not in self.dependent and not is_part:
            if not self.segment.keys().isdisjoint(read):
                self.end_segment()
            self.planned.append((CopiedOp, op))
            return
        if op.fn is functional.getfield and read and read[0] in self.fields:
            self.fields[read[0]].append(op)
        elif (make := self.step_for(op)) is None:
            self.segment[op] = None
        else:
            if not self.segment.keys().isdisjoint(read):
                self.end_segment()
            self.planned.append((make, op))

    def step_for(self, op: Call) -> Any:
        """Return the class of the step that is made for an op alone; None if it joins the segment."""
        if type(op.fn) is Loop:
            self.fields[op] = []
            return LoopCall
        is_scalar = not (is_inexact(op.val) or isinstance(op.val, np.ndarray | list) or returns_parts(op))
        if op in self.copied or op.guard or is_scalar:
            return CopiedOp  # a guard, the test of a branch, or what they read
        return KeyedCall if info(op.fn).name in KEYED else None

    def end_segment(self) -> None:
        """End the segment of calls that are differentiated together."""
        if self.segment:
            self.planned.append((Segment, [*self.segment]))
            self.segment = {}

    def is_active(self, v: Any) -> bool:
        """Whether a value has a cotangent: it depends on an active input, and is of floats or complex numbers."""
        return is_active(v, self.dependent)

    def run_forward(self, code: BodyCode, new: Environment) -> None:
        """Write the steps forward, and enter their values in `new`."""
        for step in self.steps:
            step.run_forward(code, new)

    def run_backward(self, code: BodyCode, cotangents: CotangentTable, get: Get) -> None:
        """Write the steps backward: from the cotangents of results to those of inputs."""
        for step in reversed(self.steps):
            step.run_backward(code, cotangents, get)


def _parts_first(ops: Sequence[Op]) -> list[Any]:
    """Return the ops in an order in which the parts of a result in parts follow it: a segment ends at a guard."""
    place = {op: k for k, op in enumerate(ops)}

    def when(op: Any) -> int:
        is_part = getattr(op, "fn", None) is functional.getfield and isinstance(op.args[0], Variable)
        return place.get(op.args[0].op, place[op]) if is_part else place[op]

    return sorted(ops, key=when)


def _useful(ops: Sequence[Op], results: Sequence[Any]) -> set[Any]:
    """Return the ops on which the results depend other than by a test: the cotangents of others are zero."""
    found: set[Any] = {v.op for v in references([*results])}
    for op in reversed(ops):
        if op in found and isinstance(op, Call) and not op.guard and not isinstance(op.val, (bool, np.bool_, str)):
            found.update([v.op for v in op.references()])
    return found
