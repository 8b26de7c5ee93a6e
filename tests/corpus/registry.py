"""Tables of programs: each file fills its own, and `programs.py` gathers them in an order that is written there."""

from __future__ import annotations

from typing import Any


class Table(dict[str, Any]):
    """Entries of one file, by name."""

    def enter(self, name: str, entry: Any) -> None:
        assert name not in self, name
        self[name] = entry


def gathered(*tables: Table) -> Table:
    """The entries of several tables, no name twice."""
    table = Table()
    for part in tables:
        for name, entry in part.items():
            table.enter(name, entry)
    return table
