"""Blocks of native code: nests of loops that compute many arrays at once, in an order that keeps what each reads.

Each op of a tape goes into the first nest of its shape that comes after all it depends on. What is read in its own nest
alone is a number there, and never an array.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wengert.compiling.native.nests import Let, Nest, NestStore, Reduce, Text, element
from wengert.compiling.native.values import BOOL, FLOAT, Computed, Counter, FlatMemory, Scalar, View


@dataclass(eq=False)
class Repeat:
    """A loop of the tape: its blocks, and what each iteration hands on."""

    counter: Counter
    level: BlockLevel
    before: list[str]
    after: list[str]

    def write(self, text: Text) -> None:
        for line in self.before:
            text.line(line)
        text.begin(f"for {self.counter.name} in range({self.counter.count}):")
        self.level.write(text)
        for line in self.after:
            text.line(line)
        text.end(1)


class BlockLevel:
    """The blocks of a tape, or of the body of a loop, and lines of numbers before each."""

    def __init__(self, names: Iterator[int]) -> None:
        self.names = names
        self.blocks: list[Any] = []
        self.slots: list[list[Any]] = [[]]
        self.known: dict[str, int] = {}
        self.reads: dict[FlatMemory, list[tuple[int, View | None]]] = {}
        self.writes: dict[FlatMemory, list[tuple[int, View | None]]] = {}
        self.touched: dict[FlatMemory, bool] = {}

    # -- numbers

    def number(self, template: str, *operands: Scalar, kind: str = FLOAT, check: str = "") -> Scalar:
        """A number computed of others; `check` says when Python would not give it a value."""
        slot = max([self.known.get(x.text, 0) for x in operands], default=0)
        made = Scalar(f"t{next(self.names)}", kind)
        texts = [x.text for x in operands]
        self.slots[slot].append(f"{made.text} = {template.format(*texts)}")
        if check:
            self.slots[slot].append(f"if {check.format(made.text, *texts)}: return FAILED")
        self.known[made.text] = slot
        return made

    def test(self, stale: str, x: Scalar) -> None:
        """End where a test of a number is true."""
        self.slots[self.known.get(x.text, 0)].append(f"if {stale.format(x.text)}: return FAILED")

    def load(self, view: View) -> Scalar:
        """The number at a view of one element."""
        slot = self.after(view, None)
        made = Scalar(f"t{next(self.names)}", view.kind)
        self.slots[slot].append((made, view))
        self.known[made.text] = slot
        before = replace(view, strides=(1,), shape=(1,))  # no nest's own element: a store there comes after the line
        self.touch(view.memory, slot - 1, before, self.reads)
        return made

    # -- nests

    def let(self, template: str, operands: Sequence[Any], shape: tuple[int, ...], kind: str = FLOAT) -> Computed:
        """An array computed element by element of arrays and numbers."""
        at, read = self.place(shape, operands)
        made = Computed(f"t{next(self.names)}", shape, kind, self, at)
        self.blocks[at].statements.append(Let(made, template, read))
        return made

    def store(self, view: View, sign: str, *operands: Any, template: str = "{0}") -> None:
        """Write what is computed of operands, element by element, into a view, or add it."""
        operands = tuple([self.apart(x, view) for x in operands])
        at, read = self.place(view.shape, operands, view)
        if getattr(operands[0], "kind", FLOAT) == BOOL:
            template = "(1.0 if {0} else 0.0)"
        self.blocks[at].statements.append(NestStore(view, sign, template, read))
        self.touch(view.memory, at, view, self.writes)

    def scatter(self, view: View, x: Any) -> View:
        """New memory of zeros, to which all elements of an operand are added at the places of a view of it."""
        whole = View.whole(view.memory, (view.memory.size,))
        at, read = self.place(view.shape, [x])
        self.blocks[at].cleared.append(whole)
        self.blocks[at].statements.append(NestStore(view, "+=", "{0}", read))
        self.touch(view.memory, at, view, self.writes)
        return whole

    def apart(self, x: Any, view: View) -> Any:
        """An operand, in a copy where it shows other places of the memory that is written."""
        if isinstance(x, View) and x.memory is view.memory and not x.over(view.shape).is_like(view):
            return self.let("{0}", [x], x.shape, x.kind)
        return x

    def reduce(self, begin: str, template: str, operand: Any, shape: tuple[int, ...], keep: int, view: Any) -> Any:
        """Gather an operand over the axes of a shape from `keep` on: into a view, or a number."""
        at, read = self.place(shape, [operand], None if view is None else view, keep)
        name = f"s{next(self.names)}"
        nest = self.blocks[at]
        nest.keep = keep
        nest.statements.append(Reduce(name, begin, template, read, view))
        self.known[name] = at + 1
        if view is not None:
            self.touch(view.memory, at, view, self.writes)
        return Scalar(name)

    def place(
        self, shape: tuple[int, ...], operands: Sequence[Any], target: View | None = None, keep: int | None = None
    ) -> tuple[int, list[Any]]:
        """Where a statement goes, and how it reads its operands there."""
        least = max([self.after(x, shape) for x in operands], default=0)
        if target is not None:
            least = max([least, *self.hindrances(target)])
        fits = (k for k in range(least, len(self.blocks)) if isinstance(self.blocks[k], Nest))
        at = next((k for k in fits if self.blocks[k].takes(shape, keep)), len(self.blocks))
        if at == len(self.blocks):
            self.append(Nest(shape, keep))
        return at, [self.operand(x, shape, at) for x in operands]

    def append(self, block: Any) -> int:
        self.blocks.append(block)
        self.slots.append([])
        return len(self.blocks) - 1

    def after(self, x: Any, shape: tuple[int, ...] | None) -> int:
        """The first block, or the slot before it, in which an operand can be read."""
        if isinstance(x, Scalar):
            return self.known.get(x.text, 0)
        if isinstance(x, Computed) and x.view is None:
            return 0 if x.level is not self else x.at + (x.shape != shape)
        view: Any = x.view if isinstance(x, Computed) else x
        same = shape == view.shape
        found = 0
        for at, written in self.writes.get(view.memory, ()):
            if not view.is_apart(written):
                found = max(found, at + (not (same and view.is_like(written))))
        return found

    def hindrances(self, target: View) -> Iterator[int]:
        """For all that reads or writes elements of a view, from which block on the view may be written."""
        for at, view in itertools.chain(self.reads.get(target.memory, ()), self.writes.get(target.memory, ())):
            if not target.is_apart(view):
                yield at + (not target.is_like(view))

    def operand(self, x: Any, shape: tuple[int, ...], at: int) -> Any:
        """An operand as a statement of the nest `at` reads it."""
        if isinstance(x, Scalar):
            return x
        if isinstance(x, Computed):
            if x.level is self and x.at == at and x.shape == shape:
                return x
            x = self.view(x)
        view = x.over(shape)
        self.touch(view.memory, at, view, self.reads)
        return view

    # -- memory

    def view(self, x: Any) -> View:
        """An array as a view; what a nest computes gets memory for it."""
        if isinstance(x, View):
            return x
        if x.view is None:
            level: BlockLevel = x.level
            self.give_memory(x, View.whole(level.memory(x.shape), x.shape, x.kind))
        return x.view

    def give_memory(self, x: Computed, view: View) -> None:
        """Let what a nest computes be written to a view."""
        x.view = view
        view.memory.aliases += x.aliases
        x.aliases = view.memory.aliases
        x.level.touch(view.memory, x.at, view, x.level.writes)

    def may_write_at(self, x: Computed, view: View) -> bool:
        """Whether what a nest of this level computes can be written to a view by it: all who read it come before."""
        if x.level is not self or x.view is not None or x.kind != FLOAT or max(self.hindrances(view), default=0) > x.at:
            return False
        statements = self.blocks[x.at].statements
        k = next(k for k, s in enumerate(statements) if isinstance(s, Let) and s.made is x)
        return not any([other.memory is view.memory for other in Nest(x.shape, None, statements[k + 1 :]).views()])

    def memory(self, shape: tuple[int, ...]) -> FlatMemory:
        """New memory for an array, which this level may write."""
        return FlatMemory(math.prod(shape), home=self, owner=self)

    def touch(self, memory: FlatMemory, at: int, view: View | None, kind: dict[FlatMemory, Any]) -> None:
        """Note that memory is read or written by a block."""
        kind.setdefault(memory, []).append((at, view))
        self.touched[memory] = True
        if memory.home is self:
            memory.first = at if memory.first < 0 else min(memory.first, at)
            memory.last = max(memory.last, at)

    def repeat(self, counter: Counter, level: BlockLevel, before: list[str], after: list[str]) -> int:
        """Append a loop whose blocks are another level's."""
        at = self.append(Repeat(counter, level, before, after))
        for memory in level.touched:
            if memory.home is not level:
                if memory in level.reads:
                    self.touch(memory, at, None, self.reads)
                if memory in level.writes:
                    self.touch(memory, at, None, self.writes)
        return at

    def finite(self, memory: FlatMemory) -> list[str] | None:
        """Have nests tell by names whether all that they write to memory is finite; None where they cannot."""
        found: dict[int, str] = {}
        for at, _ in self.writes.get(memory, ()):
            nest, name = self.blocks[at], f"s{next(self.names)}"
            if not isinstance(nest, Nest) or nest.keep not in (None, 0) or not nest.writes_once(memory):
                return None
            found.setdefault(at, name)
        for at, name in found.items():
            self.blocks[at].gather_finite(memory, name)
        return [*found.values()] or None

    # -- written

    def nests(self) -> int:
        """How many nests there are."""
        return sum([1 if isinstance(block, Nest) else block.level.nests() for block in self.blocks])

    def write(self, text: Text) -> None:
        begins: dict[int, list[FlatMemory]] = {}
        ends: dict[int, list[FlatMemory]] = {}
        for memory in self.touched:
            if memory.home is self and not memory.name:
                begins.setdefault(memory.first, []).append(memory)
                ends.setdefault(memory.last, []).append(memory)
        text.begun = len(text.lines)
        for at, slot in enumerate(self.slots):
            block = self.blocks[at] if at < len(self.blocks) else None
            if slot or not isinstance(block, Nest):
                text.close()
            for line in slot:
                text.line(line if isinstance(line, str) else _load_statement(*line))
            if slot:
                text.begun = len(text.lines)
            for memory in begins.get(at, ()):
                text.take(memory)
            if isinstance(block, Nest):
                text.nest(block)
            elif block is not None:
                block.write(text)
                text.begun = len(text.lines)
            for memory in ends.get(at, ()):
                text.give(memory)


def _load_statement(made: Scalar, view: View) -> str:
    return f"{made.text} = {element(view, {})}" + (" != 0.0" if made.kind == BOOL else "")
