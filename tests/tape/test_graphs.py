"""A tape as a graph and in a notebook: the text is read back, and is the tape."""

from __future__ import annotations

import collections
import html.parser
import operator
import random
import re
from typing import Any

import numpy as np
import pytest
from tapes import array_tape, scalar_tape

import wengert as wg
from wengert.tape.notebook import ENDS, LONG_TAPE

TAPES = [scalar_tape(random.Random(3)), array_tape(random.Random(3)), wg.Tape()]


def strange() -> wg.Tape:
    """Labels that mean something to DOT, to Mermaid and to HTML."""
    tape = wg.Tape()
    v = tape.push(wg.Input(np.ones(2), 'a<b>"\\c#{`'))
    tape.push(wg.Constant('x"]; n1 -> n1 & </td>', note="<i>"))
    tape.result = tape.push(wg.mkcall(operator.mul, v, v))
    return tape


def edges(tape: wg.Tape) -> collections.Counter[tuple[int, int]]:
    return collections.Counter((v.id, op.id) for op in tape for v in op.references())


@pytest.mark.parametrize("tape", [*TAPES, strange()])
def test_dot(tape: wg.Tape) -> None:
    head, _, *lines, foot = tape.to_dot().splitlines()
    assert (head, foot) == ("digraph tape {", "}")
    nodes = [re.fullmatch(r'  n(\d+) \[label="((?:[^"\\]|\\.)*)", (.*)\];', line) for line in lines[: len(tape)]]
    assert [int(node[1]) for node in nodes if node] == list(range(1, len(tape) + 1))
    arrows = [re.fullmatch(r"  n(\d+) -> n(\d+);", line) for line in lines[len(tape) :]]
    assert collections.Counter((int(a[1]), int(a[2])) for a in arrows if a) == edges(tape)
    assert None not in nodes and None not in arrows
    for op, node in zip(tape, nodes, strict=True):
        assert node is not None
        assert ("diamond" in node[3]) == (isinstance(op, wg.Call) and op.guard)
        assert ("rounded" in node[3]) == isinstance(op, wg.Input)
        assert ("peripheries=2" in node[3]) == (op is tape[tape.result])


@pytest.mark.parametrize("tape", [*TAPES, strange()])
def test_mermaid(tape: wg.Tape) -> None:
    head, *lines = tape.to_mermaid().splitlines()
    assert head == "flowchart TD"
    nodes = [re.fullmatch(r'  n(\d+)(\(\[|\[/?|\{\{)"([^"]*)"(/?\]\)?|\}\})', line) for line in lines[: len(tape)]]
    assert [int(node[1]) for node in nodes if node] == list(range(1, len(tape) + 1))
    arrows = [re.fullmatch(r"  n(\d+) --> n(\d+)", line) for line in lines[len(tape) :]]
    assert collections.Counter((int(a[1]), int(a[2])) for a in arrows if a) == edges(tape)
    assert lines[-1] == f"  style n{tape.result.id} stroke-width:3px" if len(tape) else not lines


def test_labels_are_the_lines_of_the_dump() -> None:
    _, tape = wg.trace(lambda x: np.sum(x * x) if x[0] > 0 else x, np.ones(2))
    dumped = [re.sub("^(inp|guard|const) ", "", line.strip()) for line in tape.dump().splitlines()[1:-1]]
    assert re.findall(r'label="(.*?)", ', tape.to_dot()) == dumped
    shown = [text.replace("#gt;", ">").replace("#lt;", "<") for text in re.findall('"(.*)"', tape.to_mermaid())]
    assert shown == dumped


class Cells(html.parser.HTMLParser):
    """The text of each table row, cell by cell; every element is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.folded = 0
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
            self.folded += self.open.count("details") > 1
        if tag == "td":
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open:
            self.rows[-1][-1] += data


@pytest.mark.parametrize("tape", [*TAPES, strange()])
def test_notebook(tape: wg.Tape) -> None:
    rows = Cells(tape._repr_html_()).rows
    assert len(rows) == len(tape)
    plain = tape.dump(types=False, notes=False).splitlines()[1 : 1 + len(tape)]
    assert [row[0].strip() for row in rows] == [line.strip() for line in plain]


def test_notes_and_lines_stand_in_the_notebook() -> None:
    text = wg.gradtape(lambda x: x * x, 3.0)._repr_html_()
    rows = Cells(text).rows
    assert rows[2][1] == "float" and "test_graphs.py:" in rows[2][2]
    assert any(row[2].startswith("seed of %3") for row in rows) and "<div>return %" in text


def test_a_long_tape_is_collapsed() -> None:
    tape = wg.Tape()
    v = x = tape.push(wg.Input(1.0))
    for _ in range(LONG_TAPE):
        v = tape.push(wg.mkcall(operator.add, v, x))
    cells = Cells(tape._repr_html_())
    assert len(cells.rows) == LONG_TAPE + 1 and cells.folded == LONG_TAPE + 1 - 2 * ENDS
    assert f"%{ENDS + 1} … %{LONG_TAPE + 1 - ENDS}" in tape._repr_html_()
    assert "<details" not in wg.Tape()._repr_html_()
