"""Tapes as Graphviz (DOT) and Mermaid graphs. A node is an op, and an edge is a use of a value."""

from __future__ import annotations

from collections.abc import Iterator

from wengert.tape.dump import line
from wengert.tape.interface import AnyTape
from wengert.tape.ops import Call, Constant, Input, Op

_DOT = {
    "input": 'shape=box, style="rounded,filled", fillcolor="#d0e4f5"',
    "constant": 'shape=box, style=filled, fillcolor="#eeeeee"',
    "guard": 'shape=diamond, style=filled, fillcolor="#f5e6c8"',
    "call": "shape=box",
}
_MERMAID = {
    "input": ('(["', '"])'),
    "constant": ('[/"', '"/]'),
    "guard": ('{{"', '"}}'),
    "call": ('["', '"]'),
}
_ENTITIES = str.maketrans({"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "\n": " "})


def to_dot(tape: AnyTape) -> str:
    """Return the tape as a Graphviz graph, for `dot -Tsvg`."""
    nodes = [f'  n{op.id} [label="{_quoted(_label(op))}", {_DOT[_node_kind(op)]}{_border(tape, op)}];' for op in tape]
    edges = [f"  n{a} -> n{b};" for a, b in _edges(tape)]
    return "\n".join(["digraph tape {", '  node [fontname="monospace", fontsize=10];', *nodes, *edges, "}"])


def to_mermaid(tape: AnyTape) -> str:
    """Return the tape as a Mermaid flowchart, for ```mermaid blocks in Markdown."""
    nodes = [
        f"  n{op.id}{_MERMAID[_node_kind(op)][0]}{_escaped(_label(op))}{_MERMAID[_node_kind(op)][1]}" for op in tape
    ]
    edges = [f"  n{a} --> n{b}" for a, b in _edges(tape)]
    result = [] if tape._result is None else [f"  style n{tape.result.id} stroke-width:3px"]
    return "\n".join(["flowchart TD", *nodes, *edges, *result])


def _edges(tape: AnyTape) -> Iterator[tuple[int, int]]:
    """Yield a pair (value, reader) for each read of a value."""
    for op in tape:
        for v in op.references():
            yield v.id, op.id


def _node_kind(op: Op) -> str:
    if isinstance(op, Input):
        return "input"
    if isinstance(op, Constant):
        return "constant"
    return "guard" if isinstance(op, Call) and op.guard else "call"


def _label(op: Op) -> str:
    """Return the op's line of the dump, without the word that the node's shape already shows."""
    return line(op).removeprefix("inp ").removeprefix("const ").removeprefix("guard ")


def _border(tape: AnyTape, op: Op) -> str:
    return ", peripheries=2" if tape._result is not None and op is tape._result.op else ""


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _escaped(text: str) -> str:
    """Escape the characters that Mermaid would read as syntax."""
    return text.translate(_ENTITIES)


__all__ = ["to_dot", "to_mermaid"]
