"""Loop nests of native code: statements that compute arrays of one shape, element by element."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from wengert.compiling.native.values import INT_KIND, ComputedArray, FlatMemory, Scalar, View
from wengert.compiling.ops import BOOL_KIND

MOST_STATEMENTS = 1000  # in a nest
LINES_PER_FUNCTION = 24  # after which nests begin another function
MOST_OFFSETS = 8  # that are parameters of a function
_LARGE_OFFSET = re.compile(r"(\+ |\[)(\d{3,})(?=\)?\])")  # in memory
_NAME = re.compile(r"\b(?:[acorkstwx]\d+|k_\d+)\b")


@dataclass(eq=False)
class Let:
    """`name = ...` for each element; also written to memory if other nests read it."""

    made: ComputedArray
    template: str
    operands: list[Any]

    @property
    def view(self) -> View | None:
        """Where the array is written."""
        return self.made.view

    def reads(self) -> list[View]:
        return [x for x in self.operands if isinstance(x, View)]


@dataclass(eq=False)
class NestStore:
    """`view[i] = ...` or `+=` for each element."""

    view: View
    sign: str
    template: str
    operands: list[Any]

    reads = Let.reads


@dataclass(eq=False)
class Reduce:
    """A reduction of all elements along the inner axes to a number; with a `view`, to one number for each row."""

    name: str
    begin: str
    template: str
    operands: list[Any]
    view: View | None

    reads = Let.reads


@dataclass(eq=False)
class Nest:
    """Loops over a shape; axes from `keep` on are reduced. Views in `cleared` are set to zero before."""

    shape: tuple[int, ...]
    keep: int | None = None
    statements: list[Any] = field(default_factory=list)
    hoisted: dict[str, str] = field(default_factory=dict)
    cleared: list[View] = field(default_factory=list)

    def can_add(self, shape: tuple[int, ...], keep: int | None) -> bool:
        same = self.keep is None or keep is None or self.keep == keep
        return self.shape == shape and same and len(self.statements) < MOST_STATEMENTS

    def views(self) -> Iterator[View]:
        """Yield all views that are read or written, over the shape."""
        for statement in self.statements:
            yield from statement.reads()
            if statement.view is not None:
                yield self.over_all_axes(statement.view)

    def over_all_axes(self, view: View) -> View:
        """Return a view over all axes, with stride zero along the reduced ones."""
        more = len(self.shape) - len(view.shape)
        return View(view.memory, view.offset, view.strides + (0,) * more, self.shape, view.kind) if more else view

    def loops(self) -> list[tuple[int, list[int]]]:
        """Return the loops: for each its number of iterations, and the axes that it merges."""
        strides = [part.strides for view in self.views() for part in view.parts]
        found: list[tuple[int, list[int]]] = []
        for axis, n in enumerate(self.shape):
            one = found and axis != self.keep
            if one and all([s[axis - 1] == s[axis] * n for s in strides]):
                found[-1] = found[-1][0] * n, [*found[-1][1], axis]
            else:
                found.append((n, [axis]))
        return found

    def targets(self, memory: FlatMemory) -> list[Any]:
        """Return the statements that write to memory."""
        return [s for s in self.statements if s.view is not None and s.view.memory is memory]

    def writes_once(self, memory: FlatMemory) -> bool:
        """Whether statements only assign to memory, and do not add to it."""
        adding = [
            s for s in self.targets(memory) if isinstance(s, Reduce) or (isinstance(s, NestStore) and s.sign != "=")
        ]
        return not adding and not any([view.memory is memory for view in self.cleared])

    def gather_finite(self, memory: FlatMemory, name: str) -> None:
        """Sum x - x over all values written to memory: the sum is zero if all are finite."""
        self.keep = 0
        for s in self.targets(memory):
            x = s.made if isinstance(s, Let) else s.operands[0]
            self.statements.append(Reduce(name, "0.0", "radd({0}, {1} - {1})", [x], None))

    def write(self, text: SourceText) -> None:
        loops = self.loops()
        inner = [k for k, (_, axes) in enumerate(loops) if axes[0] == self.keep]
        outer = len(loops) if self.keep is None or self.keep >= len(self.shape) else inner[0]
        counters = [f"i{k}" for k in range(len(loops))]
        last = [axes[-1] for _, axes in loops]
        reduced = [*{s.name: s for s in self.statements if isinstance(s, Reduce)}.values()]
        for view in self.cleared:
            text.begin(f"for z in range({view.shape[0]}):")
            text.line(f"{element(view, {0: 'z'})} = 0.0")
            text.end(1)
        for k, (n, axes) in enumerate(loops):
            if k == outer:
                text.add_lines([f"{r.name} = {r.begin}" for r in reduced])
            if k == len(loops) - 1:
                self.hoisted = self.invariant(axes, dict(zip(last, counters, strict=True)))
                text.add_lines([f"{name} = {found}" for found, name in self.hoisted.items()])
            text.begin(f"for {counters[k]} in range({n}):")
        if outer == len(loops):
            text.add_lines([f"{r.name} = {r.begin}" for r in reduced])
        for statement in self.statements:
            self.element(text, statement, dict(zip(last, counters, strict=True)))
        text.end(len(loops) - outer)
        for r in reduced:
            if r.view is not None:
                row = element(self.over_all_axes(r.view), dict(zip(last[:outer], counters, strict=False)))
                text.line(f"{row} = {r.name}")
        text.end(outer)

    def invariant(self, axes: list[int], at: dict[int, str]) -> dict[str, str]:
        """Return names for elements that are loop-invariant in the innermost loop, which runs over these axes.

        The compiler cannot see that the loop does not write them, and would not vectorise it.
        """
        written = {id(s.view.memory) for s in self.statements if s.view is not None}
        views = [view for s in self.statements for view in s.reads() if id(view.memory) not in written]
        views = [view for view in views if not view.places]
        found = [element(view, at) for view in views if not any([view.strides[axis] for axis in axes])]
        return {text: f"h{k}" for k, text in enumerate(dict.fromkeys(found))}

    def element(self, text: SourceText, statement: Any, at: dict[int, str]) -> None:
        """Write a statement for one element."""
        read = [self.read(x, at) for x in statement.operands]
        if isinstance(statement, Let):
            made = statement.made
            text.line(f"{made.name} = {statement.template.format(*read)}")
            if made.view is not None:
                text.line(f"{element(made.view, at)} = {bool_as_float(made.name, made.kind)}")
            return
        if isinstance(statement, NestStore):
            text.line(f"{element(statement.view, at)} {statement.sign} {statement.template.format(*read)}")
        else:
            text.line(f"{statement.name} = {statement.template.format(statement.name, *read)}")

    def read(self, x: Any, at: dict[int, str]) -> str:
        if isinstance(x, View):
            found = element(x, at)
            found = self.hoisted.get(found, found)
            return as_kind(found, x.kind)
        return x.text if isinstance(x, Scalar) else str(x.name)


def as_kind(text: str, kind: str) -> str:
    """Return the source of an element of memory as a value of its kind."""
    return f"({text} != 0.0)" if kind == BOOL_KIND else f"float({text})" if kind == INT_KIND else text


def bool_as_float(text: str, kind: str) -> str:
    return f"(1.0 if {text} else 0.0)" if kind == BOOL_KIND else text


def element(view: View, at: dict[int, str]) -> str:
    """Return the source of an element of a view; `at` are the loop counters by axis."""
    where = view.offset
    terms = [(i, view.strides[axis]) for axis, i in at.items() if axis < len(view.strides)]
    for place, step in view.places:
        found = element(place, at)
        terms.append((found if place.kind == INT_KIND else f"int({found})", step))
    parts = [f"{step} * {i}" if step != 1 else i for i, step in terms if step]
    if where.first or where.steps or not parts:
        parts.append(where.text)
    index = " + ".join(parts)
    return f"{view.memory.text}[{f'u({index})' if where.steps or view.places else index}]"


class SourceText:
    """Indented source lines, and the workspace in which memory is placed as blocks are written.

    With `in_functions`, nests go into functions, a few in each: compile time grows faster than the size of a function.
    """

    def __init__(self, in_functions: bool) -> None:
        self.in_functions = in_functions
        self.lines: list[str] = []
        self.functions: dict[str, str] = {}  # their names, by what follows those
        self.sizes: dict[int, int] = {}  # of the parts of the workspace, by their offsets
        self.first_line = 0
        self.sums: list[str] = []
        self.depth = 1
        self.size = 0
        self.free: dict[int, list[int]] = {}

    def line(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def add_lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.line(line)

    def begin(self, line: str) -> None:
        self.line(line)
        self.depth += 1

    def end(self, levels: int) -> None:
        if levels and self.lines[-1].endswith(":"):
            self.line("pass")
        self.depth -= levels

    def nest(self, nest: Nest) -> None:
        """Write a nest, into the current function if there is one."""
        if self.first_line == len(self.lines):
            self.sums = []
        nest.write(self)
        self.sums += dict.fromkeys([s.name for s in nest.statements if isinstance(s, Reduce) and s.view is None])
        if len(self.lines) - self.first_line >= LINES_PER_FUNCTION:
            self.close()

    def close(self) -> None:
        """Move the lines of nests that were written since the last call into a function, unless there is one like it.

        A part of the workspace is a parameter, and so are large offsets, if they are few: thus repeated steps of a
        program are calls of one function.
        """
        lines, indent = self.lines[self.first_line :], "    " * self.depth
        if self.in_functions and lines:
            text = "\n".join([f"    {line.removeprefix(indent)}" for line in lines])
            text += f"\n    return {', '.join(self.sums)}" * bool(self.sums)
            offsets = dict.fromkeys([found[2] for found in _LARGE_OFFSET.finditer(text)])
            if len(offsets) <= MOST_OFFSETS:
                text = _LARGE_OFFSET.sub(lambda found: f"{found[1]}k_{found[2]}", text)
            made = {*re.findall(r"^ *([ts]\d+) = ", text, re.MULTILINE)}
            words = dict.fromkeys(_NAME.findall(text))
            renamed = {word: f"{word[0]}{k}" for k, word in enumerate(words)}
            text = _NAME.sub(lambda found: renamed[found[0]], text)
            given = [word for word in words if word not in made]
            parameters = ", ".join([renamed[word] for word in given])
            name = self.functions.setdefault(f"({parameters}):\n{text}", f"part{len(self.functions) + 1}")
            returned = f"{', '.join(self.sums)} = " if self.sums else ""
            args = ", ".join([word.removeprefix("k_") for word in given])
            self.lines[self.first_line :] = [f"{indent}{returned}{name}({args})"]
        self.first_line = len(self.lines)

    def take(self, memory: FlatMemory) -> None:
        free = self.free.get(memory.size)
        if free:
            memory.base = free.pop()
        else:
            memory.base = self.size
            self.sizes[self.size] = memory.size
            self.size += max(-(-memory.size // 8), 1) * 8  # loops over no elements name their memory, too

    def give(self, memory: FlatMemory) -> None:
        self.free.setdefault(memory.size, []).append(memory.base)
