"""The source of loops: a `for` statement, with the iteration's statements inside.

A loop-carried value has a name. The iteration assigns its next value at once if nothing reads the old one any more,
else at its end. An array that the loop writes into is copied before the loop, unless the loop owns it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from wengert.tape.literals import Snippet
from wengert.tape.liveness import loop_memory
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Input, Variable, value_of
from wengert.tape.provenance import variable_names
from wengert.values.functional import overlaps
from wengert.values.names import SUM, TIGHT, is_name

_INDEX_NAMES = "ijklmnpqrst"


def carried_names(op: Call) -> Iterator[tuple[Variable, str | None]]:
    """Yield the loop-carried arguments of a loop's call, each with the user's name for it."""
    loop: Loop = op.fn
    variables = variable_names(list(loop.body))
    n = len(loop.steps)
    for a, v, after in zip(op.args[n:], loop.inputs[n : n + loop.carried], loop.results, strict=False):
        if isinstance(a, Variable):
            yield a, (variables.get(after.id) if isinstance(after, Variable) else None) or _name_of_input(v)


def write_loop(w: Any, op: Call) -> list[Snippet]:
    """Make a SourceWriter write the loop that `op` calls, and return the expressions for the parts of its result."""
    outermost = w.hoisted is None
    w.hoisted = {} if outermost else w.hoisted
    begin = len(w.lines)
    loop = _LoopWriter(w, op)
    loop.write()
    if outermost:
        w.lines[begin:begin] = [f"{name} = {made}" for made, name in w.hoisted.items()]
        w.hoisted = None
    return loop.parts


class _LoopWriter:
    """A writer of one loop, into the lines of the SourceWriter `w` around it; the body has one of its own."""

    def __init__(self, w: Any, op: Call) -> None:
        loop: Loop = op.fn
        self.w, self.op, self.loop, self.memory = w, op, loop, loop_memory(loop, w.reuses, w.memory.loops)
        self.results = loop.results
        self.inner = w.inner(op, self.memory)
        n = len(loop.steps)
        self.inputs, self.starts, self.given = loop.inputs, op.args[:n], op.args[n:]
        self.carried = self.inputs[n : n + loop.carried]
        self.parts: list[Snippet] = []

    def write(self) -> None:
        """Write the statements before the loop, and the loop."""
        w, inner, loop = self.w, self.inner, self.loop
        for v, a in zip(self.inputs[len(self.starts) + loop.carried :], self.given[loop.carried :], strict=True):
            inner.exprs[v.id] = self.plain(a)
        starts = [self.plain(a) for a in self.starts]
        self.number = inner.exprs[self.inputs[len(starts) + loop.carried].id] if loop.ending == "number" else None
        self.read = [w.arg(a).text for a in self.op.args]
        names = [self.begin(k) for k in range(loop.carried)]
        self.flag = names[0] if loop.ending == "flag" else ""
        w.settle_all()
        for v, name in zip(self.carried, names, strict=True):
            inner.exprs[v.id] = Snippet(name, TIGHT)
        inner.reusable_names.update(names)
        for name, v in zip(reversed(names), reversed(self.results[: loop.carried]), strict=True):
            if isinstance(v, Variable):
                inner.next_names[v.id] = name
        counters = [*self.counters(starts)]
        self.body(names)
        w.lines += [*self.head(counters), *(f"    {line}" for line in inner.lines or ["pass"])]
        w.reusable_names.update(names)
        w.last_comment = ""
        w.taken.difference_update(name for name, _ in counters)

    def plain(self, a: Any) -> Snippet:
        """Return the text of an argument that each iteration reads: a name or a number."""
        w, expr = self.w, self.w.arg(a)
        if re.fullmatch(r"-?[\w.]+", expr.text):
            return expr
        if isinstance(a, Variable) and a.id in w.pending:
            w.settle(a.id)
            return w.exprs[a.id]
        name = w.named_like(None, self.op)
        w.statement(None, lambda: f"{name} = {w.arg(a).text}")
        return Snippet(name, TIGHT)

    def begin(self, k: int) -> str:
        """Give the k-th loop-carried value its name in the loop, and return the name."""
        w, a, v = self.w, self.given[k], self.carried[k]
        after = self.results[k].id if isinstance(self.results[k], Variable) else 0
        preferred = self.inner.variables.get(after) or _name_of_input(v)
        old = self.read[len(self.starts) + k]
        is_reusable = self.read.count(old) == 1 and w.is_free(old, self.op)
        name = old if is_reusable and preferred in (None, old) else self.inner.named_like(preferred, v.op)
        if len(self.starts) + k in self.memory.written and (self.op.id, k) not in w.in_place:
            w.copy(name, old, value_of(v), not overlaps(value_of(v)))
        elif name != old:
            w.statement(None, lambda: f"{name} = {w.arg(a).text}")
        return name

    def counters(self, starts: Sequence[Snippet]) -> Iterator[tuple[str, str]]:
        """Yield the names of the loop's counters, with their ranges."""
        for v, start, step in zip(self.inputs, starts, self.loop.steps, strict=False):
            if not step:
                self.inner.exprs[v.id] = start
                continue
            free = [
                name
                for name in (_name_of_input(v), *_INDEX_NAMES)
                if name and is_name(name) and name not in self.w.taken
            ]
            name = self.w.name(free[0] if free else "i")
            self.inner.exprs[v.id] = Snippet(name, TIGHT)
            yield name, self.range(start, step)

    def range(self, start: Snippet, step: int) -> str:
        """Return the numbers of a counter."""
        loop = self.loop
        if loop.count is None:
            count = self.w.outside.expr(itertools.count).text
            return f"{count}({start.text}{f', {step}' * (step != 1)})"
        number = Snippet(f"int({self.number.text})", TIGHT) if self.number is not None else None
        text = _range_text(start, loop.count, step) if number is None else _numbered_range_text(start, number, step)
        return f"reversed({text})" if loop.descending else text

    def head(self, counters: Sequence[tuple[str, str]]) -> list[str]:
        """Return the first lines of the loop."""
        loop, number = self.loop, self.number
        if number is not None and loop.count == 1:
            return [f"if {number.text}:"]
        if loop.ending != "flag":
            return [_for_statement(counters, loop.count if number is None else f"int({number.text})")]
        if loop.count is None and not counters:
            return [f"while {self.flag}:"]
        return [_for_statement(counters, loop.count), f"    if not {self.flag}: break"]

    def body(self, names: list[str]) -> None:
        """Write the statements of an iteration, and assign the loop-carried values and the results."""
        inner, count = self.inner, self.loop.carried
        result = self.loop.body.result.id
        for op in inner.ops:
            if op.id in inner.needed and op.id != result:
                inner.write_under_its_line(op)
        self.parts = [Snippet(name, TIGHT) for name in names]
        moves = list(zip(names, self.results[:count], strict=True))
        for v in self.results[count:]:
            self.parts.append(self.further(v, moves))
        self.move([(name, v) for name, v in moves if inner.arg(v).text != name])

    def further(self, v: Any, moves: list[tuple[str, Any]]) -> Snippet:
        """Return the name of a value that is read after the loop only; give it a new one if it is reassigned."""
        inner = self.inner
        if isinstance(v, Variable):
            if v.id in inner.pending:
                inner.settle(v.id)
            text = inner.exprs[v.id].text
            if text in inner.reusable_names and text not in [name for name, _ in moves]:
                self.w.reusable_names.add(text)
                return Snippet(text, TIGHT)
        for name, other in moves:
            if isinstance(v, Variable) and isinstance(other, Variable) and other == v:
                return Snippet(name, TIGHT)
        name = self.w.name(f"v{inner.prefix}{len(moves)}_")
        moves.append((name, v))
        self.w.reusable_names.add(name)
        return Snippet(name, TIGHT)

    def move(self, moves: list[tuple[str, Any]]) -> None:
        """Assign the names that the next iteration reads, all in one statement if they read each other."""
        inner = self.inner
        words = [word for _, v in moves for word in re.findall(r"\w+", inner.arg(v).text)]
        together = len(moves) > 1 and any([name in words for name, _ in moves])
        for each in [moves] if together else [[move] for move in moves]:
            self.assign(each)

    def assign(self, moves: list[tuple[str, Any]]) -> None:
        names = ", ".join([name for name, _ in moves])
        self.inner.statement(None, lambda: f"{names} = {', '.join([self.inner.arg(v).text for _, v in moves])}")


def _name_of_input(v: Variable) -> str | None:
    """Return the name of an input of a body."""
    return v.op.name if isinstance(v.op, Input) else None


def _range_text(start: Snippet, count: int, step: int) -> str:
    """Return the `range(...)` of `count` integers from `start` on."""
    end = count * step
    if start.text.lstrip("-").isdigit():
        first = int(start.text)
        bounds = [str(first + end)] if first == 0 and step == 1 else [start.text, str(first + end)]
    else:
        bounds = [start.text, f"{start.inside(SUM)} {'-' if end < 0 else '+'} {abs(end)}"]
    return f"range({', '.join([*bounds, *([] if step == 1 else [str(step)])])})"


def _numbered_range_text(start: Snippet, number: Snippet, step: int) -> str:
    """Return the `range(...)` of a number of integers from `start` on."""
    if start.text == "0" and step == 1:
        return f"range({number.text})"
    end = number.inside(SUM) if step == 1 else f"{step} * {number.inside(TIGHT)}"
    end = end if start.text == "0" else f"{start.inside(SUM)} + {end}"
    return f"range({start.text}, {end}{f', {step}' * (step != 1)})"


def _for_statement(counters: Sequence[tuple[str, str]], count: Any) -> str:
    """Return the first line of a loop."""
    if not counters:
        return f"for _ in range({count}):"
    names, ranges = ", ".join([name for name, _ in counters]), ", ".join([text for _, text in counters])
    return f"for {names} in {ranges}:" if len(counters) == 1 else f"for {names} in zip({ranges}):"
