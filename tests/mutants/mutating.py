"""Mutants: the source with one small mistake in it, drawn from all places where one can be made."""

from __future__ import annotations

import ast
import zlib
from collections import Counter
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import Any, NamedTuple

Made = Iterator[tuple[str, ast.AST, str]]
"""The kind of mistake, the node that it is made in, and the text that takes its place."""


class Mutant(NamedTuple):
    """A mistake: `new` in place of `old`, which starts at byte `start` of a file."""

    file: str
    function: str
    kind: str
    line: int
    start: int
    old: str
    new: str
    count: int

    @property
    def id(self) -> str:
        """A name that stays as long as the function does."""
        return f"{self.file}:{self.function}: {self.kind} {self.count}: {in_line(self.old)} -> {in_line(self.new)}"

    def applied(self, source: str) -> str:
        text = source.encode()
        end = self.start + len(self.old.encode())
        assert text[self.start : end].decode() == self.old
        return (text[: self.start] + self.new.encode() + text[end:]).decode()


def in_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


_COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip


def factors(node: ast.AST, text: Callable[[ast.AST], str]) -> Made:
    """A factor or divisor that is left out."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        yield "factor", node, f"({text(node.left)})"


def signs(node: ast.AST, text: Callable[[ast.AST], str]) -> Made:
    """A sign that is turned."""
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub(), right) if not isinstance(right, ast.Constant):
            yield "sign", node, f"({text(left)}) {'-' if isinstance(node.op, ast.Add) else '+'} ({text(right)})"
        case ast.UnaryOp(ast.USub(), operand) if not isinstance(operand, ast.Constant):
            yield "sign", node, f"({text(operand)})"


def conjugates(node: ast.AST, text: Callable[[ast.AST], str]) -> Made:
    """A conjugate that is left out."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("conj", "conjugate"):
        yield "conjugate", node, f"({text(node.args[0] if node.args else node.func.value)})"


def axes(node: ast.AST, text: Callable[[ast.AST], str]) -> Made:
    """An axis that is another one."""
    if isinstance(node, ast.keyword) and node.arg == "axis":
        value = text(node.value)
        yield "axis", node.value, {"0": "-1", "-1": "0", "1": "0", "-2": "-1"}.get(value, "0")


def tests(node: ast.AST, text: Callable[[ast.AST], str]) -> Made:
    """A test that is turned, or moved by one."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield "test", node, f"({text(node.left)}) {_COMPARED[type(node.ops[0])]} ({text(node.comparators[0])})"
    if isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.Compare):
        yield "test", node.test, f"(not ({text(node.test)}))"


def parts_of_tests(node: ast.AST, text: Callable[[ast.AST], str]) -> Made:
    """A part of a test that is left out."""
    if isinstance(node, ast.BoolOp):
        yield "part", node, f"({text(node.values[0])})"


def statements(node: ast.AST, text: Callable[[ast.AST], str]) -> Made:
    """A call for its effect that is left out."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "call", node, "pass"


def mutants_of(root: Path, file: str, operators: tuple[Callable[..., Made], ...]) -> list[Mutant]:
    """All mutants of a file by these operators."""
    source = (root / file).read_text()
    lines = [0]
    for line in source.encode().splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    text = lambda node: ast.get_source_segment(source, node) or ""
    counts: Counter[Any] = Counter()
    found = []
    for function, node in _inside(ast.parse(source), ""):
        for operator in operators:
            for kind, place, new in operator(node, text):
                old = text(place)
                if not old:
                    continue
                start = lines[place.lineno - 1] + place.col_offset  # type: ignore[attr-defined]
                counts[function, kind, old, new] += 1
                count = counts[function, kind, old, new]
                found.append(Mutant(file, function, kind, place.lineno, start, old, new, count))  # type: ignore[attr-defined]
    return found


def _inside(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
    """All nodes in functions, with the function's name."""
    for child in ast.iter_child_nodes(node):
        is_named = isinstance(child, ast.FunctionDef | ast.ClassDef)
        inner = f"{name}.{child.name}".lstrip(".") if is_named else name  # type: ignore[attr-defined]
        if name and not is_named:
            yield name, child
        if not (isinstance(child, ast.arguments) or _is_annotation(node, child)):
            yield from _inside(child, inner)


def _is_annotation(node: ast.AST, child: ast.AST) -> bool:
    return child is getattr(node, "annotation", None) or child is getattr(node, "returns", None)


def drawn(mutants: list[Mutant], count: int, known: Container[str]) -> list[Mutant]:
    """So many of them: the known ones first, then by a draw that edits elsewhere do not change."""
    order = sorted(mutants, key=lambda mutant: (zlib.crc32(mutant.id.encode()), mutant.id))
    return sorted(order, key=lambda mutant: mutant.id not in known)[:count]
