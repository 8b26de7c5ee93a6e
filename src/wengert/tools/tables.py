"""Measurements as tables of the rich package, with bars beside the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from wengert.tools.sources import file_name, source_line, text_of

LEAST = 0.0005  # the part of the whole below which a line is left out
LARGE = 0.9995  # of a unit: what three digits round to one


def as_text(shown: Any) -> str:
    """Render a rich object as plain text, without colours."""
    console = Console(width=120, color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(shown)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def profile_table(profile: Any, width: int) -> Iterator[Any]:
    """A table of the lines of each file, with bars, and one of the primitives; fewer columns where there is no room."""
    columns = _WIDE if width >= 110 else _NARROW
    yield Text(_headline(profile))
    yield from _by_file(profile, columns)
    yield _by_primitive(profile, columns)


def memory_table(use: Any, width: int) -> Iterator[Any]:
    """A table of what was held at the peak, most first, with bars beside the source."""
    most = bytes_text(use.peak) or f"{use.peak} B"
    yield Text(f"{use.title}: {most} at the most, {_moment(use)}")
    source = Column("line", justify="right", style="dim"), Column("", no_wrap=True, overflow="ellipsis", ratio=1)
    numbers = [Column(name, justify="right", no_wrap=True) for name in ("bytes", "pieces")]
    table = Table(
        *source, Column("", width=16, no_wrap=True), *numbers, Column("", no_wrap=True), box=None, expand=True
    )
    for row in use.lines:
        if row.nbytes > LEAST * use.peak:
            bar = Text("█" * round(16 * row.nbytes / use.lines[0].nbytes), "blue")
            table.add_row(
                *_place(row.line), bar, bytes_text(row.nbytes) or f"{row.nbytes} B", str(row.pieces), row.kind
            )
    yield table


def _moment(use: Any) -> str:
    """When that was."""
    if use.at >= use.turned:
        return f"in the reverse pass, at moment {use.at - use.turned + 1} of {len(use.total) - use.turned}"
    return f"in the forward pass, at moment {use.at + 1} of {use.turned}"


def _place(line: Any) -> tuple[str, Text]:
    """Where a line is, and its text."""
    if line is None:
        return "", Text("besides your lines")
    file, number, _ = line
    return f"{file_name(file)}:{number}", Text(text_of(file, number))


def _headline(profile: Any) -> str:
    forward, reverse = (sum(getattr(row, name) for row in profile.rows) for name in ("forward", "reverse"))
    said = f"{profile.title}: its value and gradient take {seconds(profile.gradient)}"
    if profile.plain:
        said += f", {profile.gradient / profile.plain:.1f} times the {seconds(profile.plain)} of the value alone"
    passes = " forward, ".join([seconds(forward) or "0 s", seconds(reverse) or "0 s"])
    return f"{said}. Watched: {passes} in reverse, {seconds(profile.rest)} around."


def _by_file(profile: Any, columns: Columns) -> Iterator[Table]:
    rows = [row for row in profile.lines if row.what and row.seconds > LEAST * sum(r.seconds for r in profile.lines)]
    most = max((row.seconds for row in rows), default=0.0)
    for file, its in groupby(sorted(rows, key=lambda row: row.what), key=lambda row: row.what[0]):
        source = Column("", justify="right", style="dim"), Column("", no_wrap=True, overflow="ellipsis", ratio=1)
        table = Table(*source, *_heads(columns), title=file_name(file), box=None, expand=True)
        for row in its:
            text = Text(source_line(file, row.what[1]) or row.what[2])
            table.add_row(str(row.what[1]), text, *_cells(row, most, columns))
        yield table


def _by_primitive(profile: Any, columns: Columns) -> Table:
    most = max((row.seconds for row in profile.primitives), default=0.0)
    table = Table(Column("primitive", min_width=12), *_heads(columns), box=None)
    for row in profile.primitives:
        table.add_row(row.what or "Python", *_cells(row, most, columns))
    return table


def _heads(columns: Columns) -> list[Column]:
    numbers = [Column(name, justify="right", no_wrap=True) for name in columns]
    return [Column("", width=_longest(columns), no_wrap=True), *numbers]


def _longest(columns: Columns) -> int:
    """Return the length of the longest bar, in characters."""
    return 24 if len(columns) > len(_NARROW) else 8


def _cells(row: Any, most: float, columns: Columns) -> list[Any]:
    """A bar, then the numbers."""
    wide = _longest(columns)
    lengths = [round(wide * part / most) if most else 0 for part in (row.forward, row.reverse)]
    bar = Text.assemble(("█" * lengths[0], "blue"), ("▓" * lengths[1], "dark_orange"))
    return [bar, *(show(row) for show in columns.values())]


def seconds(amount: float) -> str:
    """A time in three digits; nothing for none."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if amount * factor >= LARGE:
            return f"{amount * factor:.3g} {unit}" if amount * factor < 999.5 else f"{amount * factor:.0f} {unit}"
    return "" if not amount else f"{amount * 1e6:.1g} µs"


def bytes_text(amount: float) -> str:
    """A number of bytes in three digits; nothing for less than a kilobyte."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if amount >= LARGE * factor:
            return f"{amount / factor:.3g} {unit}"
    return ""


Columns = dict[str, Callable[[Any], str]]
_TIMES: Columns = {"forward": lambda row: seconds(row.forward), "reverse": lambda row: seconds(row.reverse)}
_CALLS: Columns = {"calls": lambda row: str(row.calls or "")}
_NARROW: Columns = {**_TIMES, "bytes": lambda row: bytes_text(row.forward_bytes + row.reverse_bytes), **_CALLS}
_WIDE: Columns = {
    "plain": lambda row: seconds(row.plain),
    **_TIMES,
    "bytes f": lambda row: bytes_text(row.forward_bytes),
    "bytes r": lambda row: bytes_text(row.reverse_bytes),
    **_CALLS,
}
