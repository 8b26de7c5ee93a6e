"""The text of free loops, and of the ways back: a `while` or a `for` with an `if` for each fork, between tapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.guard_check import kept
from wengert.compiling.loops.branch_tree import (
    End,
    Fork,
    Held,
    Link,
    OuterValue,
    Step,
    WhileLoop,
    Within,
    links_in,
    outcome_key,
    with_links,
)
from wengert.compiling.loops.inlining import lines_for
from wengert.compiling.numpy_source import compile_placed
from wengert.compiling.optimising import optimised
from wengert.compiling.scalar_specialisation import with_floats
from wengert.compiling.watched.around import raising
from wengert.errors import StaleTapeError
from wengert.tape.ops import MISSING, Call, Input, Variable, value_of
from wengert.tape.tape import Tape
from wengert.values import functional


class Writer:
    """Writes the text of a loop; each stretch of its ways without a fork is a tape.

    The names in it are h0, h1, … for variables, o0, o1, … for what is made before, v0, v1, … for steps.
    """

    def __init__(self, found: WhileLoop) -> None:
        self.held = [f"h{j}" for j in range(len(found.held))]
        self.outer = [f"o{k}" for k in range(len(found.outer))]
        self.found, self.count = found, 0
        told = {"StaleTapeError": StaleTapeError, "raising": raising}
        self.names: dict[str, Any] = {"key": outcome_key, "zero": zero, **told}
        self.floats = False  # whether a part computes by Python's floats
        self.lines: list[str] = []

    def function(self) -> Callable[..., Any]:
        """The loop, as a function of a list for the trail, or None, and its arguments."""
        self.lines, self.count, self.way, self.floats = [], 0, 0, False
        most = self.found.most
        self.write(0, f"def free_loop({', '.join(['trail', *self.held, *self.outer])}):")
        self.write(4, "while True:" if most is None else f"for _ in range({most}):")
        self.fork(self.found.ways, 8, [])
        if self.found.spent is not None:
            self.end(self.found.spent, 4)
        elif most is not None:
            self.write(4, "raise StaleTapeError('the trace did not come to the last iteration of a loop')")
        return self.made("free_loop")

    def way_back(self, actives: Sequence[bool], backs: Sequence[Any]) -> Callable[..., Any]:
        """The way back, as a function of the trail, what is outside and the cotangents of what the loop gives.

        `actives` says of which arguments it gives the cotangents; `backs` are the ways back over the ways. The names
        are b0, b1, … for the cotangents that it is given, d0, … for those of variables, t0, … of what is made before.
        """
        n = len(self.held)
        held = [j for j in range(n) if actives[j]]
        outer = [k for k in range(len(self.outer)) if actives[n + k]]
        last = next(end for _, end in self.found.ends() if end.leaves)
        self.lines, self.floats = [], any([back.function.floats for back in backs if back.function])
        cotangents = [f"b{k}" for k in range(len(last.gives))]
        self.write(0, f"def way_back({', '.join(['trail', *self.outer, *cotangents])}):")
        for k in outer:
            self.write(4, f"t{k} = None")
        self.write(4, f"for {', '.join(['way', *self.held])}, in reversed(trail):")
        for way, (back, (_, end)) in enumerate(zip(backs, self.found.ends(), strict=True)):
            self.write(8, f"{'el' if way else ''}if way == {way}:")
            found = {x: ("n" if type(x) is Held else "a") + str(x.number) for x in back.wanted if back.function}
            if found:
                seeds = [f"{'b' if end.leaves else 'd'}{k}" for k in back.gives]
                given = [*map(self.name, back.given), *seeds]
                for line in lines_for(f"back{way}", back.function, given, [*found.values()], self.names):
                    self.write(12, line)
            new = [found.get(Held(j), f"zero(h{j})") for j in held]
            if held:
                self.write(12, f"{', '.join(f'd{j}' for j in held)} = {', '.join(new)}")
            for k in [x.number for x in found if type(x) is OuterValue]:
                self.write(12, f"t{k} = a{k} if t{k} is None else t{k} + a{k}")
            if not held and not found:
                self.write(12, "pass")
        totals = [f"zero(o{k}) if t{k} is None else t{k}" for k in outer]
        self.write(4, f"return ({''.join(f'{x}, ' for x in [*[f'd{j}' for j in held], *totals])})")
        return self.made("way_back")

    def made(self, name: str) -> Callable[..., Any]:
        """The function that was written; where NumPy is told to raise, it leaves all to the function as it is."""
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
        """The name of the value that a link stands for."""
        return f"v{link.at}" if type(link) is Within else (self.held if type(link) is Held else self.outer)[link.number]

    def fork(self, fork: Fork, indent: int, before: list[Step]) -> None:
        """Write what comes after the steps `before`."""
        last = fork.start + len(fork.steps) - 1
        later = {x for inner in fork.nexts.values() for x in _read(inner)} | {*(fork.end.gives if fork.end else ())}
        gives: list[Any] = sorted({x for x in later if type(x) is Within and fork.start <= x.at <= last})
        if fork.nexts and Within(last) not in gives:
            gives.append(Within(last))
        if fork.steps:
            given, part = _stretch(fork, gives, self.found, before)
            name = f"part{self.count}"
            self.count += 1
            self.floats = self.floats or part.floats  # type: ignore[attr-defined]
            for line in lines_for(name, part, [*map(self.name, given)], [*map(self.name, gives)], self.names):
                self.write(indent, line)
        before = [*before, *fork.steps]
        if fork.end is not None:
            self.end(fork.end, indent)
        elif fork.nexts.keys() == {True, False}:
            for n, (outcome, inner) in enumerate(fork.nexts.items()):
                self.write(indent, "else:" if n else f"if {'' if outcome else 'not '}v{last}:")
                self.fork(inner, indent + 4, before)
        else:
            for n, (outcome, inner) in enumerate(fork.nexts.items()):
                self.names[f"outcome{self.count}_{n}"] = outcome
                self.write(indent, f"{'el' if n else ''}if key(v{last}) == outcome{self.count}_{n}:")
                self.fork(inner, indent + 4, before)
            self.write(indent, "else:")
            self.write(indent + 4, "raise StaleTapeError('a test comes out as it never did in the trace')")

    def end(self, end: End, indent: int) -> None:
        self.write(indent, "if trail is not None:")
        self.write(indent + 4, f"trail.append(({', '.join([str(self.way), *self.held])},))")
        self.way += 1
        gives = [*map(self.name, end.gives)]
        if end.leaves:
            self.write(indent, f"return ({''.join(f'{g}, ' for g in gives)})")
        elif gives:
            self.write(indent, f"{', '.join(self.held)} = {', '.join(gives)}")


def _read(fork: Fork) -> set[Link]:
    found = {x for step in fork.steps for x in links_in((step.args, step.kwargs))} | {
        *(fork.end.gives if fork.end else ())
    }
    return found.union(*map(_read, fork.nexts.values()))


def _stretch(
    fork: Fork, gives: list[Any], found: WhileLoop, before: list[Step]
) -> tuple[list[Any], Callable[..., Any]]:
    """Return what a stretch reads from before, and its function of that; the test of a fork is a call like another."""
    made, new = Tape(), dict[Any, Variable]()
    places = range(fork.start, fork.start + len(fork.steps))
    given = [x for x in dict.fromkeys(x for step in fork.steps for x in links_in((step.args, step.kwargs)))
             if type(x) is not Within or x.at < fork.start]  # fmt: skip
    for x in given:
        like: Any = before[x.at].op if type(x) is Within else found.op_of(x)
        new[x] = made.push(Input(like.val))
    for at, step in zip(places, fork.steps, strict=True):
        call = call_of(step, new)
        call.guard = call.guard and not (fork.nexts and at == places[-1])
        new[Within(at)] = made.push(call)
    made.result = push_tuple(made, [new[x] for x in gives])
    kept([step.op for step in (fork.steps[:-1] if fork.nexts else fork.steps)], made)
    return given, compiled_part(optimised(made, True), "part")


def call_of(step: Step, new: dict[Any, Variable]) -> Call:
    """The call of a step, with Variables in place of its links."""
    op = step.op
    args, kwargs = with_links((step.args, step.kwargs), new.__getitem__)
    return Call(op.fn, args, kwargs, op.val, op.site, guard=op.guard)


def push_tuple(tape: Tape, parts: list[Variable]) -> Variable:
    """Append a tuple of values to a tape."""
    return tape.push(Call(functional.make_tuple, parts, val=tuple(map(value_of, parts))))


def compiled_part(tape: Any, name: str) -> Callable[..., Any]:
    """The function of a tape whose arguments are as they were, so that nobody tests them.

    Where it raises, the function that it is a part of runs as it is.
    """
    floats = with_floats(tape, tape.exact)
    tape = tape if floats is None else floats
    for v in tape.inputs:
        v.op.val = MISSING
    made: Any = compile_placed(tape, name)
    made.floats = floats is not None
    return made


def zero(x: Any) -> Any:
    """Zero like a number or an array."""
    return np.zeros_like(x) if isinstance(x, np.ndarray) else type(x)(0)
