"""Mutable tapes with mutable loops: optimisations edit the ops of loop bodies like the ops around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.interface import AnyTape
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Input, Op, Variable, mkcall, value_of, with_variables
from wengert.tape.tape import Tape
from wengert.values import functional


class Region:
    """The inputs, ops and results of a tape; calls of a loop have an `OpenLoop` as their function."""

    def __init__(self, tape: AnyTape) -> None:
        self.inputs: list[Op] = []
        self.ops: list[Op] = []
        self.copies = TapeRewriter(tape)
        for op in tape:
            made = self.copies.copy(op)
            self.copies.table[op] = Variable(made)
            if isinstance(made, Call) and type(made.fn) is Loop:
                made.fn = OpenLoop(made.fn, made)
            (self.inputs if isinstance(op, Input) else self.ops).append(made)
        place = {op: k for k, op in enumerate(self.ops)}
        self.ops.sort(
            key=lambda op: place[part[0].call if (part := loop_result(op)) else op]
        )  # results right after their loops
        self.results: list[Any] = [self.copies.variable(tape.result.op)]

    def loops(self) -> Iterator[OpenLoop]:
        """Return the loops that are called here, without those in their bodies."""
        return iter([op.fn for op in self.ops if isinstance(op, Call) and type(op.fn) is OpenLoop])

    def rewrite(self, change: Callable[[Variable], Any]) -> None:
        """Replace each Variable v that ops and results read, also in bodies, by `change(v)`."""
        for op in self.ops:
            op.rewrite(change)
        self.results = [with_variables(v, change) for v in self.results]
        for loop in self.loops():
            loop.rewrite(change)

    def push_on(self, tape: Any) -> Any:
        """Push the inputs and ops on an empty tape; the caller sets its result."""
        for op in [*self.inputs, *self.ops]:
            if isinstance(op, Call) and type(op.fn) is OpenLoop:
                op.fn = op.fn.close()
            tape.push(op)
        return tape


class OpenLoop(Region):
    """A loop whose body, and whose arguments in `call`, may be changed."""

    def __init__(self, loop: Loop, call: Call) -> None:
        super().__init__(loop.body)
        self.call, self.count, self.steps, self.carried = call, loop.count, list(loop.steps), loop.carried
        self.loop, self.ending = loop, loop.ending
        self.body_type = type(loop.body)
        made: Any = self.results[0].op
        self.ops.remove(made)
        self.results = [*made.args]

    @property
    def end_input(self) -> Op | None:
        """The input of the body that tells how often the loop runs, if it does not always run `count` times."""
        first = len(self.steps)
        return {"number": self.inputs[first + self.carried :], "flag": self.inputs[first:]}.get(self.ending, [None])[0]

    def argument_for(self, op: Op | None) -> Any:
        """Return the argument of the loop for an input of its body."""
        return self.call.args[self.inputs.index(op)]  # type: ignore[arg-type]

    def role(self, op: Op | None) -> str:
        """Return the role of an op of the body: an input that is a "counter", "carried" or "invariant", or a "call"."""
        if op not in self.inputs:
            return "call"
        k = self.inputs.index(op) - len(self.steps)
        return "counter" if k < 0 else "carried" if k < self.carried else "invariant"

    def invariant(self, value: Any) -> Any:
        """Return the counterpart in the body of a value from outside; add an input if there is none."""
        if not isinstance(value, Variable):
            return value
        first = len(self.steps) + self.carried
        for op, given in zip(self.inputs[first:], self.call.args[first:], strict=True):
            if isinstance(given, Variable) and given.op is value.op:
                return Variable(op)
        return self._input(len(self.inputs), value, value_of(value))

    def counter(self, first: int, step: int) -> Any:
        """Return the counterpart in the body of the integer `first + k * step`; add a counter if there is none."""
        if step == 0:
            return first
        for op, given, its_step in zip(self.inputs, self.call.args, self.steps, strict=False):
            if (type(given), given, its_step) == (int, first, step):
                return Variable(op)
        self.steps.append(step)
        return self._input(len(self.steps) - 1, first, first + (self.count - 1) * step)

    def _input(self, at: int, given: Any, value: Any) -> Variable:
        self.inputs.insert(at, Input(value))
        self.call.args = (*self.call.args[:at], given, *self.call.args[at:])
        return Variable(self.inputs[at])

    def keep(self, inputs: set[Op], results: set[int]) -> dict[int, int]:
        """Keep only these inputs and results; return the new numbers of the results.

        Both sets must contain the same loop-carried values. Other results come after those.
        """
        first = len(self.steps)
        carried = [k for k in range(self.carried) if self.inputs[first + k] in inputs]
        order = [*carried, *[k for k in sorted(results) if k not in carried]]
        pairs = [pair for pair in zip(self.inputs, self.call.args, strict=True) if pair[0] in inputs]
        self.steps = [step for op, step in zip(self.inputs, self.steps, strict=False) if op in inputs]
        self.inputs, self.call.args = [op for op, _ in pairs], tuple([given for _, given in pairs])
        self.results, self.carried = [self.results[k] for k in order], len(carried)
        return {old: new for new, old in enumerate(order)}

    def close(self) -> Loop:
        """Return the Loop that it has become; no more changes are possible."""
        body: Any = self.push_on(self.body_type())
        body.result = body.push(mkcall(functional.make_tuple, *self.results))
        self.call.val = body.result.op.val
        return self.loop.with_body(body, self.steps, self.carried)


def close_region(region: Region) -> Tape:
    """Return the tape that a changed region has become."""
    copies = region.copies
    region.push_on(copies.new)
    copies.table[copies.old.result.op] = region.results[0]
    return copies.finished()


def is_loop(op: Any) -> bool:
    """Whether an op calls an OpenLoop."""
    return isinstance(op, Call) and type(op.fn) is OpenLoop


def loop_result(op: Op | None) -> tuple[OpenLoop, int] | None:
    """Return the loop and the number of the result that an op takes from it; None for any other op."""
    if isinstance(op, Call) and op.fn is functional.getfield and isinstance(op.args[0], Variable):
        call = op.args[0].op
        if is_loop(call) and type(op.args[1]) is int:
            return call.fn, op.args[1]  # type: ignore[union-attr]
    return None
