"""The source code of free loops and their reverse passes: a `while` or a `for`, with an `if` for each fork."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.guard_check import check_guards_kept
from wengert.compiling.loops.branch_tree import (
    Fork,
    Link,
    LoopVariable,
    OuterValue,
    PathEnd,
    PathStep,
    StepValue,
    WhileLoop,
    links_in,
    outcome_key,
)
from wengert.compiling.loops.inlining import inline_call
from wengert.compiling.watched.around import handles_fp_errors
from wengert.errors import StaleTapeError
from wengert.tape.ops import Call, Input, Variable, value_of, with_variables
from wengert.tape.tape import Tape
from wengert.values import functional


class LoopWriter:
    """Writes the source code of a loop; the steps between two forks are compiled as a tape.

    The code names variables h0, h1, …, outer values o0, o1, … and steps v0, v1, ….
    """

    def __init__(self, loop: WhileLoop) -> None:
        self.variables = [f"h{j}" for j in range(len(loop.variables))]
        self.outer_values = [f"o{k}" for k in range(len(loop.outer_values))]
        self.loop, self.count = loop, 0
        errors = {"StaleTapeError": StaleTapeError, "raising": handles_fp_errors}
        self.names: dict[str, Any] = {"key": outcome_key, "zero": zero_cotangent, **errors}
        self.floats = False  # whether a part computes with Python floats
        self.lines: list[str] = []

    def function(self) -> Callable[..., Any]:
        """Compile the loop: a function of a list to fill with the trail, or None, and the arguments."""
        self.lines, self.count, self.path, self.floats = [], 0, 0, False
        max_count = self.loop.max_count
        self.write(0, f"def free_loop({', '.join(['trail', *self.variables, *self.outer_values])}):")
        self.write(4, "while True:" if max_count is None else f"for _ in range({max_count}):")
        self.fork(self.loop.tree, 8, [])
        if self.loop.exhausted is not None:
            self.end(self.loop.exhausted, 4)
        elif max_count is not None:
            self.write(4, "raise StaleTapeError('a loop ran to its last iteration, and did not in the trace')")
        return self.compiled("free_loop")

    def reverse_function(self, actives: Sequence[bool], path_adjoints: Sequence[Any]) -> Callable[..., Any]:
        """Compile the reverse pass: a function of the trail, the outer values and the cotangents of the results.

        It returns the cotangents of the `actives`; `path_adjoints` are the reverse passes over single paths. The code
        names the cotangents of results b0, b1, …, of variables d0, d1, … and of outer values t0, t1, ….
        """
        n = len(self.variables)
        variables = [j for j in range(n) if actives[j]]
        outer = [k for k in range(len(self.outer_values)) if actives[n + k]]
        last = next(end for _, end in self.loop.paths() if end.exits)
        self.lines, self.floats = [], any([back.function.floats for back in path_adjoints if back.function])
        cotangents = [f"b{k}" for k in range(len(last.outputs))]
        self.write(0, f"def reverse_free_loop({', '.join(['trail', *self.outer_values, *cotangents])}):")
        for k in outer:
            self.write(4, f"t{k} = None")
        self.write(4, f"for {', '.join(['path_taken', *self.variables])}, in reversed(trail):")
        for path, (back, (_, end)) in enumerate(zip(path_adjoints, self.loop.paths(), strict=True)):
            self.write(8, f"{'el' if path else ''}if path_taken == {path}:")
            found = {x: ("n" if type(x) is LoopVariable else "a") + str(x.number) for x in back.wanted if back.function}
            if found:
                seeds = [f"{'b' if end.exits else 'd'}{k}" for k in back.outputs]
                arguments = [*map(self.name, back.inputs), *seeds]
                for line in inline_call(f"back{path}", back.function, arguments, [*found.values()], self.names):
                    self.write(12, line)
            new = [found.get(LoopVariable(j), f"zero(h{j})") for j in variables]
            if variables:
                self.write(12, f"{', '.join(f'd{j}' for j in variables)} = {', '.join(new)}")
            for k in [x.number for x in found if type(x) is OuterValue]:
                self.write(12, f"t{k} = a{k} if t{k} is None else t{k} + a{k}")
            if not variables and not found:
                self.write(12, "pass")
        totals = [f"zero(o{k}) if t{k} is None else t{k}" for k in outer]
        self.write(4, f"return ({''.join(f'{x}, ' for x in [*[f'd{j}' for j in variables], *totals])})")
        return self.compiled("reverse_free_loop")

    def compiled(self, name: str) -> Callable[..., Any]:
        """Compile the function that was written; it raises at once if NumPy is set to raise and a part uses floats."""
        if self.floats:
            self.lines.insert(1, "    if raising(): raise FloatingPointError\n")
        text = "".join(self.lines)
        exec(compile(text, f"<wengert {name}>", "exec"), self.names)
        function: Any = self.names.pop(name)
        function.source, function.is_free_loop = text, True
        return function

    def write(self, indent: int, text: str) -> None:
        self.lines.append(" " * indent + text + "\n")

    def name(self, link: Any) -> str:
        """Return the name of the value of a link."""
        if type(link) is StepValue:
            return f"v{link.at}"
        return (self.variables if type(link) is LoopVariable else self.outer_values)[link.number]

    def fork(self, fork: Fork, indent: int, before: list[PathStep]) -> None:
        """Write the code from a fork on; `before` are the steps on the path to it."""
        last = fork.start + len(fork.steps) - 1
        later = set(fork.end.outputs if fork.end else ()).union(*map(_links_read, fork.branches.values()))
        outputs: list[Any] = sorted({x for x in later if type(x) is StepValue and fork.start <= x.at <= last})
        if fork.branches and StepValue(last) not in outputs:
            outputs.append(StepValue(last))
        if fork.steps:
            inputs, part = _compile_stretch(fork, outputs, self.loop, before)
            name = f"part{self.count}"
            self.count += 1
            self.floats = self.floats or part.floats  # type: ignore[attr-defined]
            for line in inline_call(name, part, [*map(self.name, inputs)], [*map(self.name, outputs)], self.names):
                self.write(indent, line)
        before = [*before, *fork.steps]
        if fork.end is not None:
            self.end(fork.end, indent)
        elif fork.branches.keys() == {True, False}:
            for n, (outcome, inner) in enumerate(fork.branches.items()):
                self.write(indent, "else:" if n else f"if {'' if outcome else 'not '}v{last}:")
                self.fork(inner, indent + 4, before)
        else:
            for n, (outcome, inner) in enumerate(fork.branches.items()):
                self.names[f"outcome{self.count}_{n}"] = outcome
                self.write(indent, f"{'el' if n else ''}if key(v{last}) == outcome{self.count}_{n}:")
                self.fork(inner, indent + 4, before)
            self.write(indent, "else:")
            self.write(
                indent + 4, "raise StaleTapeError('the outcome of a test in a loop never occurred in the trace')"
            )

    def end(self, end: PathEnd, indent: int) -> None:
        """Write the end of a path: note it on the trail, then return or assign the variables."""
        self.write(indent, "if trail is not None:")
        self.write(indent + 4, f"trail.append(({', '.join([str(self.path), *self.variables])},))")
        self.path += 1
        outputs = [*map(self.name, end.outputs)]
        if end.exits:
            self.write(indent, f"return ({''.join(f'{g}, ' for g in outputs)})")
        elif outputs:
            self.write(indent, f"{', '.join(self.variables)} = {', '.join(outputs)}")


def _links_read(fork: Fork) -> set[Link]:
    """Return the links that the steps and ends from a fork on read."""
    found = {x for step in fork.steps for x in links_in((step.args, step.kwargs))} | {
        *(fork.end.outputs if fork.end else ())
    }
    return found.union(*map(_links_read, fork.branches.values()))


def _compile_stretch(
    fork: Fork, outputs: list[Any], loop: WhileLoop, before: list[PathStep]
) -> tuple[list[Any], Callable[..., Any]]:
    """Return the links that the steps of a fork read from before, and a function of these; its test is a plain call."""
    made, new = Tape(), dict[Any, Variable]()
    places = range(fork.start, fork.start + len(fork.steps))
    inputs = [x for x in dict.fromkeys(x for step in fork.steps for x in links_in((step.args, step.kwargs)))
             if type(x) is not StepValue or x.at < fork.start]  # fmt: skip
    for x in inputs:
        like: Any = before[x.at].op if type(x) is StepValue else loop.op_of(x)
        new[x] = made.push(Input(like.val))
    for at, step in zip(places, fork.steps, strict=True):
        call = step_call(step, new)
        call.guard = call.guard and not (fork.branches and at == places[-1])
        new[StepValue(at)] = made.push(call)
    made.result = push_tuple(made, [new[x] for x in outputs])
    check_guards_kept([step.op for step in (fork.steps[:-1] if fork.branches else fork.steps)], made)
    part: Any = made.optimise(True)
    return inputs, part.compile_part("part")


def step_call(step: PathStep, new: dict[Any, Variable]) -> Call:
    """Return the call of a step, with Variables instead of its links."""
    op = step.op
    args, kwargs = with_variables((step.args, step.kwargs), new.__getitem__, Link)
    return Call(op.fn, args, kwargs, op.val, op.site, guard=op.guard)


def push_tuple(tape: Tape, parts: list[Variable]) -> Variable:
    """Append a tuple of values to a tape."""
    return tape.push(Call(functional.make_tuple, parts, val=tuple(map(value_of, parts))))


def zero_cotangent(x: Any) -> Any:
    """Return zero of the type and shape of a number or array."""
    return np.zeros_like(x) if isinstance(x, np.ndarray) else type(x)(0)
