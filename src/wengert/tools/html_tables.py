"""Tables of the rich package as HTML, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Group
from rich.syntax import Syntax
from rich.table import Column, Table
from rich.text import Span, Text

_COLOURS = {"blue": "#2f6fb7", "dark_orange": "#c2571a", "dim": "#868e96"}
_FRAME = "font-family:monospace;overflow-x:auto"


def as_html(parts: Iterable[Any]) -> str:
    """Return rich tables, texts and source code as HTML that needs no scripts; strings in them are escaped."""
    return f'<div style="{_FRAME}">{"".join(map(_part, parts))}</div>'


def _part(part: Any) -> str:
    if isinstance(part, Group):
        return "".join(map(_part, part.renderables))
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Syntax):
        return f"<pre>{html.escape(part.code.strip())}</pre>"
    return f"<div>{_inline(part)}</div>"


def _table(table: Table) -> str:
    title = f"<caption>{_inline(table.title)}</caption>" if table.title else ""
    heads = "".join([f'<th style="{_cell_style(column)}">{_inline(column.header)}</th>' for column in table.columns])
    return f'<table style="border:none">{title}<tr>{heads}</tr>{"".join(_rows(table))}</table>'


def _rows(table: Table) -> Iterator[str]:
    styles = [_cell_style(column) for column in table.columns]
    for cells in zip(*[column.cells for column in table.columns], strict=True):
        row = [f'<td style="{style}">{_inline(cell)}</td>' for style, cell in zip(styles, cells, strict=True)]
        yield f"<tr>{''.join(row)}</tr>"


def _cell_style(column: Column) -> str:
    side = "right" if column.justify == "right" else "left"
    colour = f";color:{_COLOURS['dim']}" if column.style == "dim" else ""
    return f"text-align:{side};padding:0 1em 0 0;vertical-align:top;white-space:pre{colour}"


def _inline(text: Any) -> str:
    """Return a string or a Text as HTML, each span of the Text in its colour."""
    if not isinstance(text, Text):
        return html.escape(str(text))
    spans = text.spans or [Span(0, len(text.plain), text.style)]
    return "".join([_coloured(text.plain[span.start : span.end], _COLOURS.get(str(span.style))) for span in spans])


def _coloured(text: str, colour: str | None) -> str:
    return html.escape(text) if colour is None else f'<span style="color:{colour}">{html.escape(text)}</span>'


__all__ = ["as_html"]
