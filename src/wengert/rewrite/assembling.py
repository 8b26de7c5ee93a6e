"""Assemble a rewritten program to a code object.

The package `bytecode` resolves names and jumps, but its last step, which this replaces, takes three times as long. The
format of locations is that of `code_objects.md` in CPython's documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from opcode import opmap
from types import CodeType
from typing import Any

from bytecode import UNSET, Bytecode

_EXTENDED = opmap["EXTENDED_ARG"]
_NO_LINE, _NO_COLUMNS, _LONG = 15, 13, 14  # kinds of locations


def to_code(program: Bytecode, stacksize: int) -> CodeType:
    """Return the code object of a program."""
    concrete = program.to_concrete_bytecode(compute_exception_stack_depths=False)
    instructions: Any = list(concrete)
    code, places = bytearray(), bytearray()
    line, location, begin, last = concrete.first_lineno, instructions[0].location, 0, None
    for instr in instructions:
        if instr is last:  # one of several inline caches
            code += code[-2:]
            continue
        last, here = instr, instr.location
        if here is not location and here != location:
            places += _location_entries(location, line, (len(code) - begin) // 2)
            line = line if location.lineno is None else location.lineno
            location, begin = here, len(code)
        arg = instr.arg
        if arg is UNSET:
            arg = 0
        elif arg > 0xFF:
            for shift in range(8 * ((arg.bit_length() - 1) // 8), 0, -8):
                code += bytes((_EXTENDED, arg >> shift & 0xFF))
        code.append(instr.opcode)
        code.append(arg & 0xFF)
    places += _location_entries(location, line, (len(code) - begin) // 2)
    concrete[:] = instructions[:1]
    made: CodeType = concrete.to_code(stacksize=stacksize, compute_exception_stack_depths=False)
    return made.replace(co_code=bytes(code), co_linetable=bytes(places))


def _location_entries(location: Any, line: int, units: int) -> bytes:
    """Encode the location of so many code units; the line before is `line`."""
    first = _location_entry(location, line, min(units, 8))
    if units <= 8:
        return first
    again, last = [_location_entry(location, location.lineno, n) for n in (8, (units - 1) % 8 + 1)]
    return first + again * ((units - 9) // 8) + last


def _location_entry(location: Any, before: int, units: int) -> bytes:
    """Encode the location of at most eight code units."""
    line, column, end = location.lineno, location.col_offset, location.end_col_offset
    if line is None:
        return bytes((_first_byte(_NO_LINE, units),))
    delta = line - before
    if column is None:
        return bytes((_first_byte(_NO_COLUMNS, units), *_signed(delta)))
    if location.end_lineno == line and delta == 0 and column < 80 and 0 <= end - column < 16:
        return bytes((_first_byte(column // 8, units), (column % 8 << 4) + end - column))
    if location.end_lineno == line and 0 <= delta <= 2 and column < 128 and end < 128:
        return bytes((_first_byte(10 + delta, units), column, end))
    numbers = *_signed(delta), *_varint(location.end_lineno - line), *_varint(column + 1), *_varint(end + 1)
    return bytes((_first_byte(_LONG, units), *numbers))


def _first_byte(kind: int, units: int) -> int:
    return 0x80 | kind << 3 | units - 1


def _signed(number: int) -> Iterator[int]:
    return _varint(-number << 1 | 1 if number < 0 else number << 1)


def _varint(number: int) -> Iterator[int]:
    """Yield the groups of six bits of a number, the lowest first; all but the last have bit 6 set."""
    while number > 0x3F:
        yield number & 0x3F | 0x40
        number >>= 6
    yield number
