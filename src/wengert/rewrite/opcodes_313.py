"""The opcodes of Python 3.13: NULL or self is above the callable; truth tests are explicit; CALL_KW.

Conditional jumps and UNARY_NOT accept only exact bools, which TO_BOOL makes: the hook `truth` replaces it, and `not_`
is never called. The compiler omits TO_BOOL after `in`, so the hooks of `in` must return exact bools.
"""

from __future__ import annotations

from wengert.rewrite import opcodes_311, opcodes_312
from wengert.rewrite.emitter import Emitter, Handler, Instruction, OpcodeTable
from wengert.rewrite.hook_names import words


def to_bool(e: Emitter, instr: Instruction) -> None:
    if e.previous not in e.table.bools:
        e.hook("truth", 1)


def compare_op(e: Emitter, instr: Instruction) -> None:
    name = instr.arg.name.lower()
    e.hook(name.removesuffix("_cast"), 2)
    if name.endswith("_cast"):
        e.hook("truth", 1)


def call(e: Emitter, instr: Instruction) -> None:
    e.resolve(instr.arg + 2)
    e.keep(instr)


def call_kw(e: Emitter, instr: Instruction) -> None:
    """Resolve the callable; the names of the keyword arguments are on top of the stack."""
    e.resolve(instr.arg + 3)
    e.keep(instr)


def call_function_ex(e: Emitter, instr: Instruction) -> None:
    opcodes_311.expand_arguments(e, instr)
    e.resolve(3 + (instr.arg & 1))
    e.keep(instr)


def convert_value(e: Emitter, instr: Instruction) -> None:
    e.hook("convert", 1, int(instr.arg))


def make_function(e: Emitter, instr: Instruction) -> None:
    """Call the hook `made` on a function without closure; on others once the closure is set."""
    code = e.out[-1].arg
    e.keep(instr)
    if not code.co_freevars:
        opcodes_311.note_made(e, code)


def set_function_attribute(e: Emitter, instr: Instruction) -> None:
    """Call the hook `made` on a function once its closure is set, its first attribute after MAKE_FUNCTION."""
    e.keep(instr)
    if instr.arg == CLOSURE:
        opcodes_311.note_made(e, e.out[-3].arg)


CLOSURE = 8

GONE = {"UNARY_NOT", "FORMAT_VALUE"}

HOOKED: dict[str, Handler] = {
    **{name: handler for name, handler in opcodes_312.SHARED.items() if name not in GONE},
    "TO_BOOL": to_bool,
    "COMPARE_OP": compare_op,
    "CALL": call,
    "CALL_KW": call_kw,
    "CALL_FUNCTION_EX": call_function_ex,
    "CONVERT_VALUE": convert_value,
    "MAKE_FUNCTION": make_function,
    "SET_FUNCTION_ATTRIBUTE": set_function_attribute,
    "FORMAT_SIMPLE": opcodes_311.format_simple,
    "FORMAT_WITH_SPEC": opcodes_311.format_with_spec,
}

PASSED = (opcodes_312.SHARED_PASSED - {"KW_NAMES", "LOAD_CLOSURE"}) | words(
    "UNARY_NOT POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE LOAD_FAST_LOAD_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST"
)

# never in a function's code
REFUSED = words("ENTER_EXECUTOR EXIT_INIT_CHECK INTERPRETER_EXIT RESERVED")

TABLE = OpcodeTable(
    version=(3, 13),
    hooked=HOOKED,
    passed=PASSED,
    refused=REFUSED,
    bools=opcodes_311.BOOLS,
    plain=opcodes_311.PLAIN,
    duplicate=("COPY", 1),
    precall=False,
    null_below=False,
    read=opcodes_311.read,
    effects=None,
)
