"""The opcodes of Python 3.15.

An iterator takes two stack slots: GET_ITER leaves a list or tuple with an index above it, or an iterator with NULL.
It also makes the iterator of `yield from`. None, True, False, "" and -1 are common constants.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from bytecode import Bytecode

from wengert.rewrite import opcodes_314
from wengert.rewrite.hook_names import words

CONSTANTS = {
    "CONSTANT_NONE": None,
    "CONSTANT_EMPTY_STR": "",
    "CONSTANT_TRUE": True,
    "CONSTANT_FALSE": False,
    "CONSTANT_MINUS_ONE": -1,
}


def read(code: CodeType) -> Bytecode:
    """Disassemble as before, with LOAD_CONST for common constants, so that handlers treat them like other constants."""
    program = opcodes_314.read(code)
    loads: list[Any] = [item for item in program if getattr(item, "name", "") == "LOAD_COMMON_CONSTANT"]
    for load in loads:
        if load.arg.name in CONSTANTS:
            load.set("LOAD_CONST", CONSTANTS[load.arg.name])
    return program


TABLE = opcodes_314.TABLE._replace(
    version=(3, 15),
    hooked={name: handler for name, handler in opcodes_314.TABLE.hooked.items() if name != "GET_YIELD_FROM_ITER"},
    refused=opcodes_314.TABLE.refused | words("TRACE_RECORD"),
    read=read,
    iterator_places=2,
)
