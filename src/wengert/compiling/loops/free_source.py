"""The text of free loops: a `while` or a `for` with an `if` for each fork, between stretches that are tapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compiling.loops.ways import (
    End,
    Fork,
    Found,
    Held,
    Link,
    Step,
    Within,
    links_in,
    outcome_key,
    with_links,
)
from wengert.compiling.optimising import optimised
from wengert.errors import StaleTapeError
from wengert.tape.ops import Call, Input, Variable, value_of
from wengert.tape.tape import Tape
from wengert.values import functional


class Writer:
    """Writes the text of a loop; each stretch of its ways without a fork is a function of its own."""

    def __init__(self, found: Found) -> None:
        self.held = [f"h{j}" for j in range(len(found.held))]
        self.outer = [f"o{k}" for k in range(len(found.outer))]
        self.found, self.count = found, 0
        self.names: dict[str, Any] = {"key": outcome_key, "StaleTapeError": StaleTapeError}
        self.lines: list[str] = []

    def function(self) -> Callable[..., Any]:
        text = self.text()
        exec(compile(text, "<wengert free loop>", "exec"), self.names)
        return self.names.pop("free_loop")

    def text(self) -> str:
        """The text of the loop itself."""
        self.lines, self.count, self.way = [], 0, 0
        most = self.found.most
        self.write(0, f"def free_loop({', '.join(['trail', *self.held, *self.outer])}):")
        self.write(4, "while True:" if most is None else f"for _ in range({most}):")
        self.fork(self.found.ways, 8, [])
        if self.found.spent is not None:
            self.end(self.found.spent, 4)
        elif most is not None:
            self.write(4, "raise StaleTapeError('the trace did not come to the last iteration of a loop')")
        return "".join(self.lines)

    def source(self) -> str:
        text = self.text()
        parts = [f.source for name, f in self.names.items() if hasattr(f, "source")]
        return "\n\n".join([*parts, text])

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
            self.names.setdefault(name, part)
            results = "".join(f"{self.name(x)}, " for x in gives)
            self.write(indent, f"{results and results + '= '}{name}({', '.join(map(self.name, given))})")
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


def _stretch(fork: Fork, gives: list[Any], found: Found, before: list[Step]) -> tuple[list[Any], Callable[..., Any]]:
    """What a stretch reads from before, and its function of that; a fork's test is a call like another."""
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
    return given, optimised(made, True).compile("part")


def call_of(step: Step, new: dict[Any, Variable]) -> Call:
    """The call of a step, with Variables in place of its links."""
    op = step.op
    args, kwargs = with_links((step.args, step.kwargs), new.__getitem__)
    return Call(op.fn, args, kwargs, op.val, op.site, guard=op.guard)


def push_tuple(tape: Tape, parts: list[Variable]) -> Variable:
    """Append a tuple of values to a tape."""
    return tape.push(Call(functional.make_tuple, parts, val=tuple(map(value_of, parts))))
