"""The table of the running Python."""

from __future__ import annotations

import opcode
import sys
from functools import cache
from importlib import import_module

from wengert.errors import BytecodeError
from wengert.rewrite.emitter import OpcodeTable

VERSIONS = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))


@cache
def table_for(version: tuple[int, int]) -> OpcodeTable:
    """Return the OpcodeTable of this version of Python. Errors: BytecodeError if there is none."""
    if version not in VERSIONS:
        known = ", ".join(f"{major}.{minor}" for major, minor in VERSIONS)
        raise BytecodeError(
            f"wengert cannot read the bytecode of Python {version[0]}.{version[1]}, only that of {known}.{_unknown()}\n"
            "Run one of those versions, or update wengert."
        )
    table: OpcodeTable = import_module("wengert.rewrite.opcodes_{}{}".format(*version)).TABLE
    return table


def _unknown() -> str:
    """Return a sentence with the opcodes of this Python that the newest table does not have, or ""."""
    newest = table_for(max(VERSIONS))
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
