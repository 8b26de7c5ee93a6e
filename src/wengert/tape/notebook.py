"""Tapes in a notebook: a coloured table; a long one is collapsed in the middle."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence

from wengert.tape.dump import OUTERMOST, LoopScope, StyledText, note_text, op_pieces, type_text
from wengert.tape.interface import AnyTape
from wengert.tape.loops import Loop
from wengert.tape.ops import MISSING, Call, Op
from wengert.values.names import in_line

LONG_TAPE = 60  # lines; a longer tape is collapsed, but for its ends
ENDS = 25
MAX_OPS = 2000  # above this, the notebook does not store the middle of the tape
_COLOURS = {
    "variable": "#0b7285",
    "fn": "inherit;font-weight:bold",
    "word": "#9c36b5",
    "type": "#2b8a3e",
    "comment": "#868e96",
}
_CELL = "text-align:left;padding:0 1em 0 0;vertical-align:top;white-space:pre"


def html_text(tape: AnyTape) -> str:
    """Return the tape as an HTML table of op, type, note and the user's line; only the ends of a very long one."""
    ops = list(tape)
    if len(ops) <= LONG_TAPE:
        body = _table(ops)
    else:
        middle = ops[ENDS:-ENDS]
        summary = f"%{middle[0].id} … %{middle[-1].id}: {len(middle)} more"
        folded = f"<details><summary>{summary}</summary>{_table(middle)}</details>"
        if len(ops) > MAX_OPS:
            folded = f"<div>{summary}; see wg.show(tape)</div>"
        body = _table(ops[:ENDS]) + folded + _table(ops[-ENDS:])
    result = "" if tape._result is None else f"<div>return {html.escape(repr(tape.result))}</div>"
    title = html.escape(in_line(f"Tape({type(tape.ctx).__name__})"))
    return f'<div style="font-family:monospace;overflow-x:auto"><div>{title}</div>{body}{result}</div>'


def _table(ops: Sequence[Op]) -> str:
    return f'<table style="border:none">{"".join(_table_rows(ops, OUTERMOST))}</table>'


def _table_rows(ops: Iterable[Op], inside: LoopScope) -> Iterator[str]:
    """Yield the rows of ops; a loop is followed by the rows of its body."""
    for op in ops:
        yield _row(op, inside)
        if isinstance(op, Call) and isinstance(op.fn, Loop):
            yield from _table_rows(op.fn.body, inside.body(op))


def _row(op: Op, inside: LoopScope) -> str:
    kind = "" if op.val is MISSING or (isinstance(op, Call) and op.guard) else type_text(op.val)
    comment = "; ".join(filter(None, [note_text(inside.text(op.note)), str(op.site) if op.site else ""]))
    margin = "  " * inside.path.count(".")
    columns = [(margin, ""), *op_pieces(op, inside)], [(kind, "type")], [(comment, "comment")]
    return "<tr>" + "".join(f'<td style="{_CELL}">{_coloured(pieces)}</td>' for pieces in columns) + "</tr>"


def _coloured(pieces: Iterable[StyledText]) -> str:
    return "".join(_span(piece, _COLOURS.get(style)) for piece, style in pieces if piece)


def _span(text: str, colour: str | None) -> str:
    text = in_line(text)
    return html.escape(text) if colour is None else f'<span style="color:{colour}">{html.escape(text)}</span>'
