"""The table of the running Python."""

from __future__ import annotations

import sys

from wengert.errors import BytecodeError
from wengert.rewrite import opcodes_311, opcodes_312, opcodes_313, opcodes_314
from wengert.rewrite.emitter import Table

TABLES = {module.TABLE.version: module.TABLE for module in (opcodes_311, opcodes_312, opcodes_313, opcodes_314)}


def table_for(version: tuple[int, int]) -> Table:
    """Errors: BytecodeError if there is no table for that Python."""
    table = TABLES.get(version)
    if table is None:
        known = ", ".join(f"{major}.{minor}" for major, minor in TABLES)
        raise BytecodeError(
            f"wengert cannot read the bytecode of Python {version[0]}.{version[1]}, only that of {known}.\n"
            "Run with one of those, or update wengert."
        )
    return table


def running_table() -> Table:
    return table_for(sys.version_info[:2])
