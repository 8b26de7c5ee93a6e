"""The opcodes of Python 3.15.

An iterator takes two places: GET_ITER leaves a list or tuple as it is, with an index above, else the iterator and NULL.
So it makes the iterator of `yield from`, too. None, True, False, "" and -1 are common constants.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from bytecode import Bytecode

from wengert.rewrite import opcodes_314
from wengert.rewrite.emitter import words

CONSTANTS = {
    "CONSTANT_NONE": None,
    "CONSTANT_EMPTY_STR": "",
    "CONSTANT_TRUE": True,
    "CONSTANT_FALSE": False,
    "CONSTANT_MINUS_ONE": -1,
}


def read(code: CodeType) -> Bytecode:
    """As before, with LOAD_CONST for common constants, so that handlers know them as they know others."""
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
