"""The opcodes of Python 3.14.

Subscription is a BINARY_OP. `with` copies the manager and loads its two methods with LOAD_SPECIAL.
CALL_FUNCTION_EX always has four stack slots, with NULL for a missing mapping. There are t-strings.
"""

from __future__ import annotations

import opcode
from types import CodeType
from typing import Any, TypeGuard

from bytecode import Bytecode, ConcreteBytecode, Instr

from wengert.rewrite import opcodes_311, opcodes_313
from wengert.rewrite.emitter import Emitter, Instruction
from wengert.rewrite.hook_names import words


def binary_op(e: Emitter, instr: Instruction) -> None:
    if instr.arg.name == "SUBSCR":
        e.hook("getitem", 2)
    else:
        opcodes_311.binary_op(e, instr)


def load_special(e: Emitter, instr: Instruction) -> None:
    """Call the hook on the manager before the exit method is loaded, the first. The stack is [manager, manager]."""
    if instr.arg.name in ("EXIT", "AEXIT"):
        e.op("POP_TOP")
        e.hook("context" if instr.arg.name == "EXIT" else "touched", 1)
        e.op("COPY", 1)
    e.keep(instr)


def call_function_ex(e: Emitter, instr: Instruction) -> None:
    if e.previous != "PUSH_NULL":
        e.mapping()
    e.op("SWAP", 2)
    e.hook("iterable", 1)
    e.op("SWAP", 2)
    e.resolve(4)
    e.keep(instr)


def build_interpolation(e: Emitter, instr: Instruction) -> None:
    """Call the hook on [value, expression] or [value, expression, spec]; `read` has put the argument in front."""
    argument = e.out.pop().arg
    if not argument & 1:
        e.op("LOAD_CONST", "")
    e.hook("interpolation", 3, argument >> 2)


INTERPOLATION = opcode.opmap.get("BUILD_INTERPOLATION", -1)
BARE = 2  # the argument of an interpolation without conversion and spec


def read(code: CodeType) -> Bytecode:
    """Disassemble as before, but load the argument of each t-string in front of it: `bytecode` 0.19 misreads it."""
    if INTERPOLATION not in [*code.co_code[::2]]:
        return opcodes_311.read(code)
    concrete = ConcreteBytecode.from_code(code)
    arguments = []
    for instr in concrete:
        if is_interpolation(instr):
            arguments.append(instr.arg)
            instr.arg = BARE
    program = concrete.to_bytecode(conserve_exception_block_stackdepth=True)
    fields = [(place, item) for place, item in enumerate(program) if is_interpolation(item)]
    for (place, item), argument in zip(reversed(fields), reversed(arguments), strict=True):
        program.insert(place, Instr("LOAD_CONST", argument, location=item.location))
    return program


def is_interpolation(item: Any) -> TypeGuard[Instr]:
    return getattr(item, "name", None) == "BUILD_INTERPOLATION"


GONE = {"BINARY_SUBSCR", "BEFORE_WITH", "BEFORE_ASYNC_WITH"}

TABLE = opcodes_313.TABLE._replace(
    version=(3, 14),
    hooked={
        **{name: handler for name, handler in opcodes_313.HOOKED.items() if name not in GONE},
        "BINARY_OP": binary_op,
        "LOAD_SPECIAL": load_special,
        "CALL_FUNCTION_EX": call_function_ex,
        "BUILD_INTERPOLATION": build_interpolation,
    },
    passed=(opcodes_313.PASSED - {"BUILD_CONST_KEY_MAP", "LOAD_ASSERTION_ERROR", "RETURN_CONST"})
    | words(
        "BUILD_TEMPLATE LOAD_COMMON_CONSTANT LOAD_FAST_BORROW "
        "LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_SMALL_INT NOT_TAKEN POP_ITER"
    ),
    read=read,
)
