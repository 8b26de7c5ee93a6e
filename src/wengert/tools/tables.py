"""Measurements as tables of the rich package, with bars beside the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from wengert.tools.sources import file_name, line_label, source_line

SMALLEST_SHARE = 0.0005  # of the total: lines below it are left out
WIDEST = 120  # characters of a table
ROUNDS_UP = 0.9995  # of a unit: from here on three digits round to one


def as_text(shown: Any) -> str:
    """Render a rich object as plain text, without colours."""
    console = Console(width=WIDEST, color_system=None, legacy_windows=False, force_jupyter=False)
    with console.capture() as capture:
        console.print(shown)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def profile_table(profile: Any, width: int) -> Iterator[Any]:
    """Yield a table of the lines of each file, with bars, and one of the primitives; fewer columns if it is narrow."""
    columns = _WIDE_COLUMNS if width >= 110 else _NARROW_COLUMNS
    yield Text(_headline(profile))
    yield from _file_tables(profile, columns)
    yield _primitive_table(profile, columns)


def memory_table(use: Any) -> Iterator[Any]:
    """Yield a table of the memory held at the peak, the largest first, with bars beside the source."""
    most = bytes_text(use.peak) or f"{use.peak} B"
    yield Text(f"{use.title}: {most} at the most, {_moment_of_peak(use)}")
    source = Column("line", justify="right", style="dim"), Column("", no_wrap=True, overflow="ellipsis", ratio=1)
    numbers = [Column(name, justify="right", no_wrap=True) for name in ("bytes", "pieces")]
    table = Table(
        *source, Column("", width=16, no_wrap=True), *numbers, Column("", no_wrap=True), box=None, expand=True
    )
    for row in use.lines:
        if row.nbytes > SMALLEST_SHARE * use.peak:
            bar = Text("█" * round(16 * row.nbytes / use.lines[0].nbytes), "blue")
            table.add_row(
                *_line_and_source(row.line), bar, bytes_text(row.nbytes) or f"{row.nbytes} B", str(row.pieces), row.kind
            )
    yield table


def _moment_of_peak(use: Any) -> str:
    """Return the moment of the peak in words."""
    if use.at >= use.turned:
        return f"in the reverse pass, at moment {use.at - use.turned + 1} of {len(use.total) - use.turned}"
    return f"in the forward pass, at moment {use.at + 1} of {use.turned}"


def _line_and_source(line: Any) -> tuple[str, Text]:
    """Return the file and number of a line, and its text."""
    if line is None:
        return "", Text("outside your lines")
    file, number, _ = line
    return f"{file_name(file)}:{number}", Text(line_label(file, number))


def _headline(profile: Any) -> str:
    forward, reverse = (sum(getattr(row, name) for row in profile.rows) for name in ("forward", "reverse"))
    headline = f"{profile.title}: value and gradient take {seconds_text(profile.gradient)}"
    if profile.plain:
        headline += (
            f", {profile.gradient / profile.plain:.1f} times the {seconds_text(profile.plain)} of the value alone"
        )
    passes = " forward, ".join([seconds_text(forward) or "0 s", seconds_text(reverse) or "0 s"])
    return f"{headline}. Under the profiler: {passes} in reverse, {seconds_text(profile.rest)} besides."


def _file_tables(profile: Any, columns: CellTexts) -> Iterator[Table]:
    rows = [
        row
        for row in profile.lines
        if row.what and row.seconds > SMALLEST_SHARE * sum(r.seconds for r in profile.lines)
    ]
    most = max((row.seconds for row in rows), default=0.0)
    for file, its in groupby(sorted(rows, key=lambda row: row.what), key=lambda row: row.what[0]):
        source = Column("", justify="right", style="dim"), Column("", no_wrap=True, overflow="ellipsis", ratio=1)
        table = Table(*source, *_column_heads(columns), title=file_name(file), box=None, expand=True)
        for row in its:
            text = Text(source_line(file, row.what[1]) or row.what[2])
            table.add_row(str(row.what[1]), text, *_bar_and_numbers(row, most, columns))
        yield table


def _primitive_table(profile: Any, columns: CellTexts) -> Table:
    most = max((row.seconds for row in profile.primitives), default=0.0)
    table = Table(Column("primitive", min_width=12), *_column_heads(columns), box=None)
    for row in profile.primitives:
        table.add_row(row.what or "Python", *_bar_and_numbers(row, most, columns))
    return table


def _column_heads(columns: CellTexts) -> list[Column]:
    numbers = [Column(name, justify="right", no_wrap=True) for name in columns]
    return [Column("", width=_bar_width(columns), no_wrap=True), *numbers]


def _bar_width(columns: CellTexts) -> int:
    """Return the length of the longest bar, in characters."""
    return 24 if len(columns) > len(_NARROW_COLUMNS) else 8


def _bar_and_numbers(row: Any, most: float, columns: CellTexts) -> list[Any]:
    """Return a bar, then the numbers."""
    wide = _bar_width(columns)
    lengths = [round(wide * part / most) if most else 0 for part in (row.forward, row.reverse)]
    bar = Text.assemble(("█" * lengths[0], "blue"), ("▓" * lengths[1], "dark_orange"))
    return [bar, *(show(row) for show in columns.values())]


def seconds_text(amount: float) -> str:
    """Return a time in three digits; an empty string for zero."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if amount * factor >= ROUNDS_UP:
            return f"{amount * factor:.3g} {unit}" if amount * factor < 999.5 else f"{amount * factor:.0f} {unit}"
    return "" if not amount else f"{amount * 1e6:.1g} µs"


def bytes_text(amount: float) -> str:
    """Return a number of bytes in three digits; an empty string below a kilobyte."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if amount >= ROUNDS_UP * factor:
            return f"{amount / factor:.3g} {unit}"
    return ""


CellTexts = dict[str, Callable[[Any], str]]
_TIME_COLUMNS: CellTexts = {
    "forward": lambda row: seconds_text(row.forward),
    "reverse": lambda row: seconds_text(row.reverse),
}
_CALL_COLUMN: CellTexts = {"calls": lambda row: str(row.calls or "")}
_NARROW_COLUMNS: CellTexts = {
    **_TIME_COLUMNS,
    "bytes": lambda row: bytes_text(row.forward_bytes + row.reverse_bytes),
    **_CALL_COLUMN,
}
_WIDE_COLUMNS: CellTexts = {
    "plain": lambda row: seconds_text(row.plain),
    **_TIME_COLUMNS,
    "bytes f": lambda row: bytes_text(row.forward_bytes),
    "bytes r": lambda row: bytes_text(row.reverse_bytes),
    **_CALL_COLUMN,
}
