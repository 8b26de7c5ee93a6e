"""The opcodes of Python 3.12: no PRECALL; one LOAD_ATTR for attributes and methods; slices; super()."""

from __future__ import annotations

from typing import Any

from bytecode import Intrinsic1Op

from wengert.rewrite import opcodes_311 as before
from wengert.rewrite.emitter import Emitter, Handler, Instruction, OpcodeTable, StackEffect
from wengert.rewrite.hook_names import words


def load_attr(e: Emitter, instr: Instruction) -> None:
    is_method, name = instr.arg
    e.hook("getattr", 1, name)
    if is_method:
        e.push_null()


def load_super_attr(e: Emitter, instr: Instruction) -> None:
    """Call super_getattr(class, self, super, name, has arguments, site). The stack is [super, class, self]."""
    is_method, has_arguments, name = instr.arg
    e.hook("super_getattr", 3, name, has_arguments)
    if is_method:
        e.push_null()


def binary_slice(e: Emitter, instr: Instruction) -> None:
    e.op("BUILD_SLICE", 2)
    e.hook("getitem", 2)


def store_slice(e: Emitter, instr: Instruction) -> None:
    e.op("BUILD_SLICE", 2)
    e.command("setitem", 3)


def call_intrinsic_1(e: Emitter, instr: Instruction) -> None:
    if instr.arg is Intrinsic1Op.INTRINSIC_UNARY_POSITIVE:
        e.hook("pos", 1)
    else:
        e.keep(instr)


def load_attr_effect(stack: list[bool], arg: Any) -> None:
    stack[-1:] = (True, False) if arg[0] else (False,)


def load_super_attr_effect(stack: list[bool], arg: Any) -> None:
    stack[-3:] = (True, False) if arg[0] else (False,)


EFFECTS: dict[str, StackEffect] = {
    **before.EFFECTS,
    "LOAD_ATTR": load_attr_effect,
    "LOAD_SUPER_ATTR": load_super_attr_effect,
}

SHARED: dict[str, Handler] = {
    **before.SHARED,
    "LOAD_ATTR": load_attr,
    "LOAD_SUPER_ATTR": load_super_attr,
    "BINARY_SLICE": binary_slice,
    "STORE_SLICE": store_slice,
    "CALL_INTRINSIC_1": call_intrinsic_1,
}

SHARED_PASSED = before.SHARED_PASSED | words(
    "CALL_INTRINSIC_2 CLEANUP_THROW END_FOR END_SEND LOAD_FAST_AND_CLEAR LOAD_FAST_CHECK "
    "LOAD_FROM_DICT_OR_DEREF LOAD_FROM_DICT_OR_GLOBALS LOAD_LOCALS RETURN_CONST "
    "POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE"
)

TABLE = OpcodeTable(
    version=(3, 12),
    hooked={
        **SHARED,
        "POP_JUMP_IF_FALSE": before.jump_on_truth,
        "POP_JUMP_IF_TRUE": before.jump_on_truth,
    },
    passed=SHARED_PASSED,
    refused=words("INTERPRETER_EXIT RESERVED"),  # never in a function's code
    bools=before.BOOLS,
    plain=before.PLAIN,
    duplicate=("COPY", 1),
    precall=False,
    null_below=True,
    read=before.read,
    effects=EFFECTS,
)
