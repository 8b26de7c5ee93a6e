"""Blocks of native code: loop nests that compute many arrays at once, ordered by data dependence.

Each op of a tape goes into the first nest of its shape after all its operands. A result that only its own nest reads is
a number there, and never an array.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wengert.compiling.native.nests import Let, Nest, NestStore, Reduce, SourceText, as_kind, element
from wengert.compiling.native.values import INT_KIND, Affine, ComputedArray, FlatMemory, Scalar, View, splat_number
from wengert.compiling.ops import BOOL_KIND, FLOAT_KIND


@dataclass(eq=False)
class LoopBlock:
    """A loop or branch: its first lines and its blocks, and lines before it and at the end of each iteration."""

    head: list[str]
    level: BlockLevel
    before: list[str]
    after: list[str]

    def write(self, text: SourceText) -> None:
        for line in self.before:
            text.line(line)
        text.begin(self.head[0])
        text.add_lines([line.strip() for line in self.head[1:]])
        self.level.write(text)
        for line in self.after:
            text.line(line)
        text.end(1)


class BlockLevel:
    """The blocks of a tape or of the body of a loop, and the lines before each, which compute numbers."""

    def __init__(self, names: Iterator[int]) -> None:
        self.names = names
        self.blocks: list[Any] = []
        self.lines_before: list[list[Any]] = [[]]
        self.slot_of_number: dict[str, int] = {}
        self.reads: dict[FlatMemory, list[tuple[int, View | None]]] = {}
        self.writes: dict[FlatMemory, list[tuple[int, View | None]]] = {}
        self.touched: dict[FlatMemory, bool] = {}

    # -- numbers

    def slot(self, *numbers: Scalar | Affine) -> int:
        """Return the first block before which all of some numbers are known."""
        each = [[x.text] if isinstance(x, Scalar) else [k.name for k, _ in x.steps] for x in numbers]
        names = itertools.chain(*each)
        return max([self.slot_of_number.get(name, 0) for name in names], default=0)

    def compute_number(
        self, template: str, *operands: Scalar | Affine, kind: str = FLOAT_KIND, check: str = ""
    ) -> Scalar:
        """Compute a number from others; `check` is the condition under which Python would raise instead."""
        slot = self.slot(*operands)
        made = Scalar(f"t{next(self.names)}", kind)
        texts = [x.text for x in operands]
        self.lines_before[slot].append(f"{made.text} = {template.format(*texts)}")
        if check:
            self.lines_before[slot].append(f"if {check.format(made.text, *texts)}: return FAILED")
        self.slot_of_number[made.text] = slot
        return made

    def guard(self, stale: str, x: Scalar) -> None:
        """Let the native function fail if the condition `stale` holds for a number."""
        self.lines_before[self.slot(x)].append(f"if {stale.format(x.text)}: return FAILED")

    def load(self, view: View) -> Scalar:
        """Load the element of a view that has only one."""
        slot = self.first_block(view, None)
        made = Scalar(f"t{next(self.names)}", view.kind)
        self.lines_before[slot].append((made, view))
        self.slot_of_number[made.text] = slot
        # like no view in a nest, so that stores come after the line
        before = replace(view, strides=(1,), shape=(1,))
        self.note_access(view.memory, slot - 1, before, self.reads)
        return made

    # -- nests

    def let(
        self, template: str, operands: Sequence[Any], shape: tuple[int, ...], kind: str = FLOAT_KIND
    ) -> ComputedArray:
        """Compute an array element by element from arrays and numbers."""
        at, read = self.choose_nest(shape, operands)
        made = ComputedArray(f"t{next(self.names)}", shape, kind, self, at)
        self.blocks[at].statements.append(Let(made, template, read))
        return made

    def store(self, view: View, sign: str, *operands: Any, template: str = "{0}") -> None:
        """Compute elements from operands and write them into a view, or add them."""
        operands = tuple([self.copy_if_overlapping(x, view) for x in operands])
        at, read = self.choose_nest(view.shape, operands, view)
        if getattr(operands[0], "kind", FLOAT_KIND) == BOOL_KIND:
            template = "(1.0 if {0} else 0.0)"
        self.blocks[at].statements.append(NestStore(view, sign, template, read))
        self.note_write(view, at)

    def scatter(self, view: View, x: Any) -> View:
        """Return new memory of zeros, to which the elements of `x` are added through a view of it."""
        whole = View.whole(view.memory, (view.memory.size,))
        at, read = self.choose_nest(view.shape, [x])
        self.blocks[at].cleared.append(whole)
        self.blocks[at].statements.append(NestStore(view, "+=", "{0}", read))
        self.note_write(view, at)
        return whole

    def copy_if_overlapping(self, x: Any, view: View) -> Any:
        """Return an operand, copied if it shows other elements of the memory that is written."""
        shown = x.view if isinstance(x, ComputedArray) else x
        if not isinstance(shown, View) or shown.memory is not view.memory:
            return x
        if not shown.broadcast(view.shape).has_same_elements(view):
            return self.let("{0}", [x], x.shape, x.kind)
        return x

    def reduce(self, begin: str, template: str, operand: Any, shape: tuple[int, ...], keep: int, view: Any) -> Any:
        """Reduce an operand over the axes of a shape from `keep` on, into a view or a number."""
        at, read = self.choose_nest(shape, [operand], None if view is None else view, keep)
        name = f"s{next(self.names)}"
        nest = self.blocks[at]
        nest.keep = keep
        nest.statements.append(Reduce(name, begin, template, read, view))
        self.slot_of_number[name] = at + 1
        if view is not None:
            self.note_access(view.memory, at, view, self.writes)
        return Scalar(name)

    def choose_nest(
        self, shape: tuple[int, ...], operands: Sequence[Any], target: View | None = None, keep: int | None = None
    ) -> tuple[int, list[Any]]:
        """Choose the nest for a statement; return its index, and the operands as the statement reads them there.

        Each number of a Splat is read as such.
        """
        operands = [splat_number(x) for x in operands]
        least = max([self.first_block(x, shape) for x in operands], default=0)
        if target is not None:
            least = max([least, self.slot(target.offset), *self.write_bounds(target)])
            least = max([least, *[self.first_block(part, shape) for part, _ in target.places]])
        fits = (k for k in range(least, len(self.blocks)) if isinstance(self.blocks[k], Nest))
        at = next((k for k in fits if self.blocks[k].can_add(shape, keep)), len(self.blocks))
        if at == len(self.blocks):
            self.append(Nest(shape, keep))
        return at, [self.operand(x, shape, at) for x in operands]

    def append(self, block: Any) -> int:
        self.blocks.append(block)
        self.lines_before.append([])
        return len(self.blocks) - 1

    def first_block(self, x: Any, shape: tuple[int, ...] | None) -> int:
        """Return the first block, or the line before it, at which an operand can be read."""
        if isinstance(x, Scalar):
            return self.slot_of_number.get(x.text, 0)
        if isinstance(x, ComputedArray) and x.view is None:
            return 0 if x.level is not self else x.at + (x.shape != shape)
        view: Any = x.view if isinstance(x, ComputedArray) else x
        same = shape == view.shape
        found = max([self.slot(view.offset), *[self.first_block(part, shape) for part, _ in view.places]])
        for at, written in self.writes.get(view.memory, ()):
            if at >= found and not view.is_disjoint(written):
                found = max(found, at + (not (same and view.has_same_elements(written))))
        return found

    def write_bounds(self, target: View) -> Iterator[int]:
        """Yield, for each read and write of elements of a view, the first block that may write the view after it."""
        for at, view in itertools.chain(self.reads.get(target.memory, ()), self.writes.get(target.memory, ())):
            if not target.is_disjoint(view):
                yield at + (not target.has_same_elements(view))

    def operand(self, x: Any, shape: tuple[int, ...], at: int) -> Any:
        """Return an operand as a statement of the nest `at` reads it."""
        if isinstance(x, Scalar):
            return x
        if isinstance(x, ComputedArray):
            if x.level is self and x.at == at and x.shape == shape:
                return x
            x = self.view(x)
        view = x.broadcast(shape)
        for part in view.parts:
            self.note_access(part.memory, at, part, self.reads)
        return view

    # -- memory

    def view(self, x: Any) -> View:
        """Return an array as a view; allocate memory for a computed array."""
        if isinstance(x, View):
            return x
        if x.view is None:
            level: BlockLevel = x.level
            self.write_to(x, level.new_array(x.shape, x.kind))
        return x.view

    def write_to(self, x: ComputedArray, view: View) -> None:
        """Let a nest write an array that it computes into a view."""
        x.view = view
        view.memory.aliases += x.aliases
        x.aliases = view.memory.aliases
        x.level.note_access(view.memory, x.at, view, x.level.writes)

    def may_write_at(self, x: ComputedArray, view: View) -> bool:
        """Whether the nest that computes an array can write it into a view, which nothing reads later."""
        if x.level is not self or x.view is not None or x.kind != FLOAT_KIND:
            return False
        if max([self.slot(view.offset), *self.write_bounds(view)]) > x.at:
            return False
        statements = self.blocks[x.at].statements
        k = next(k for k, s in enumerate(statements) if isinstance(s, Let) and s.made is x)
        return not any([other.memory is view.memory for other in Nest(x.shape, None, statements[k + 1 :]).views()])

    def new_array(self, shape: tuple[int, ...], kind: str = FLOAT_KIND) -> View:
        """Return an array in new memory, which this level may write."""
        return View.whole(FlatMemory(math.prod(shape), home=self, owner=self), shape, kind)

    def note_access(self, memory: FlatMemory, at: int, view: View | None, kind: dict[FlatMemory, Any]) -> None:
        """Note that a block reads or writes memory."""
        kind.setdefault(memory, []).append((at, view))
        self.touched[memory] = True
        if memory.home is self:
            memory.first = at if memory.first < 0 else min(memory.first, at)
            memory.last = max(memory.last, at)

    def note_write(self, view: View, at: int) -> None:
        """Note that a block writes a view, and reads its indices."""
        self.note_access(view.memory, at, view, self.writes)
        for part, _ in view.places:
            self.note_access(part.memory, at, part, self.reads)

    def append_loop(self, head: list[str], level: BlockLevel, before: list[str], after: list[str]) -> int:
        """Append a loop or branch that begins with these lines, and whose body is another level."""
        at = self.append(LoopBlock(head, level, before, after))
        for memory in level.touched:
            if memory.home is not level:
                if memory in level.reads:
                    self.note_access(memory, at, None, self.reads)
                if memory in level.writes:
                    self.note_access(memory, at, None, self.writes)
        return at

    def append_call(self, call: Any) -> None:
        """Append a call that reads the views of its operands, and fills the view `made`."""
        at = self.append(call)
        for view in call.operands:
            self.note_access(view.memory, at, None, self.reads)
        self.note_access(call.made.memory, at, None, self.writes)

    def track_finite(self, memory: FlatMemory) -> list[str] | None:
        """Return names of sums that are zero if all values written to memory are finite; None if nests cannot do so."""
        found: dict[int, str] = {}
        for at, _ in self.writes.get(memory, ()):
            nest, name = self.blocks[at], f"s{next(self.names)}"
            if not isinstance(nest, Nest) or nest.keep not in (None, 0) or not nest.writes_once(memory):
                return None
            found.setdefault(at, name)
        for at, name in found.items():
            self.blocks[at].gather_finite(memory, name)
        return [*found.values()] or None

    # -- source

    def count_nests(self) -> int:
        """Count the nests, also in loops."""
        return sum([block.level.count_nests() if isinstance(block, LoopBlock) else 1 for block in self.blocks])

    def write(self, text: SourceText) -> None:
        begins: dict[int, list[FlatMemory]] = {}
        ends: dict[int, list[FlatMemory]] = {}
        for memory in self.touched:
            if memory.home is self and not memory.name:
                begins.setdefault(memory.first, []).append(memory)
                ends.setdefault(memory.last, []).append(memory)
        text.first_line = len(text.lines)
        for at, slot in enumerate(self.lines_before):
            block = self.blocks[at] if at < len(self.blocks) else None
            if slot or not isinstance(block, Nest):
                text.close()
            for line in slot:
                text.line(line if isinstance(line, str) else _load_statement(*line))
            if slot:
                text.first_line = len(text.lines)
            for memory in begins.get(at, ()):
                text.take(memory)
            if isinstance(block, Nest):
                text.nest(block)
            elif block is not None:
                block.write(text)
                text.first_line = len(text.lines)
            for memory in ends.get(at, ()):
                text.give(memory)


def _load_statement(made: Scalar, view: View) -> str:
    return f"{made.text} = {element(view, {}) if made.kind == INT_KIND else as_kind(element(view, {}), made.kind)}"
