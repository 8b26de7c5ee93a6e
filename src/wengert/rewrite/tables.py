"""The table of the running Python."""

from __future__ import annotations

import opcode
import sys

from wengert.errors import BytecodeError
from wengert.rewrite import opcodes_311, opcodes_312, opcodes_313, opcodes_314, opcodes_315
from wengert.rewrite.emitter import OpcodeTable

MODULES = (opcodes_311, opcodes_312, opcodes_313, opcodes_314, opcodes_315)
TABLES = {module.TABLE.version: module.TABLE for module in MODULES}


def table_for(version: tuple[int, int]) -> OpcodeTable:
    """Return the OpcodeTable of this version of Python. Errors: BytecodeError if there is none."""
    table = TABLES.get(version)
    if table is None:
        known = ", ".join(f"{major}.{minor}" for major, minor in TABLES)
        raise BytecodeError(
            f"wengert cannot read the bytecode of Python {version[0]}.{version[1]}, only that of {known}.{_unknown()}\n"
            "Run one of those versions, or update wengert."
        )
    return table


def _unknown() -> str:
    """Return a sentence with the opcodes of this Python that the newest table does not have, or ""."""
    newest = TABLES[max(TABLES)]
    unknown = sorted(real_opcodes() - newest.passed - newest.refused - set(newest.hooked))
    return f" Unknown opcodes: {', '.join(unknown)}." if unknown else ""


def real_opcodes() -> set[str]:
    """Return the opcodes in code objects of the running Python, without pseudo, specialised or instrumented ones."""
    special = {*getattr(opcode, "_specialized_instructions", ()), *getattr(opcode, "_specialized_opmap", ())}
    return {
        name
        for name, number in opcode.opmap.items()
        if number < 256 and name not in special and not name.startswith("INSTRUMENTED_")
    }


def running_table() -> OpcodeTable:
    return table_for(sys.version_info[:2])
