"""The opcodes of Python 3.11, and the handlers that later Pythons share.

The stack of a call is [NULL, callable, arguments..] or [callable, self, arguments..]. Only LOAD_METHOD (rewritten
here), decorators, comprehensions, `assert` and the end of `with` produce the second form; an analysis of the NULLs
(`effects`) tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any

from bytecode import BinaryOp, Bytecode, ConcreteBytecode, ConcreteInstr, Instr

from wengert.rewrite.emitter import Emitter, Handler, Instruction, OpcodeTable, StackEffect
from wengert.rewrite.hook_names import words

OPERATORS = {
    "ADD": "add", "SUBTRACT": "sub", "MULTIPLY": "mul", "TRUE_DIVIDE": "truediv", "FLOOR_DIVIDE": "floordiv",
    "REMAINDER": "mod", "POWER": "pow", "MATRIX_MULTIPLY": "matmul", "AND": "and_", "OR": "or_", "XOR": "xor",
    "LSHIFT": "lshift", "RSHIFT": "rshift",
}  # fmt: skip


def operator_hook(op: BinaryOp) -> str:
    if op.name.startswith("INPLACE_"):
        return "i" + OPERATORS[op.name.removeprefix("INPLACE_")].rstrip("_")
    return OPERATORS[op.name]


def replaced(hook: str, operands: int) -> Handler:
    """Return a handler that replaces an instruction by a hook, which returns its result."""
    return lambda e, instr: e.hook(hook, operands)


def commanded(hook: str, operands: int) -> Handler:
    """Return a handler that replaces an instruction without result by a hook."""
    return lambda e, instr: e.command(hook, operands)


def preceded(hook: str) -> Handler:
    """Return a handler that replaces the top of the stack by the hook's result, and then runs the instruction."""

    def handler(e: Emitter, instr: Instruction) -> None:
        e.hook(hook, 1)
        e.keep(instr)

    return handler


def binary_op(e: Emitter, instr: Instruction) -> None:
    e.hook(operator_hook(instr.arg), 2)


def compare_op(e: Emitter, instr: Instruction) -> None:
    e.hook(instr.arg.name.lower(), 2)


def contains_op(e: Emitter, instr: Instruction) -> None:
    e.hook("not_contains" if instr.arg else "contains", 2)


def is_op(e: Emitter, instr: Instruction) -> None:
    last = e.out[-1] if e.out else None
    if e.previous == "LOAD_CONST" and isinstance(last, Instr) and any([last.arg is constant for constant in SINGLE]):
        e.keep(instr)
    else:
        e.hook("is_not" if instr.arg else "is_", 2)


SINGLE = (None, True, False, ...)
"""Constants that a traced value never is."""


def match_class(e: Emitter, instr: Instruction) -> None:
    e.hook("match_class", 3, instr.arg)


def jump_on_truth(e: Emitter, instr: Instruction) -> None:
    if e.previous not in e.table.bools:
        e.hook("truth", 1)
    e.keep(instr)


def jump_or_pop(e: Emitter, instr: Instruction) -> None:
    if e.previous in e.table.bools:
        e.keep(instr)
        return
    e.op("COPY", 1)
    e.hook("truth", 1)
    e.op(instr.name.replace("JUMP_IF", "POP_JUMP_FORWARD_IF").removesuffix("_OR_POP"), instr.arg)
    e.op("POP_TOP")


def load_attr(e: Emitter, instr: Instruction) -> None:
    e.hook("getattr", 1, instr.arg)


def load_method(e: Emitter, instr: Instruction) -> None:
    e.hook("getattr", 1, instr.arg)
    e.push_null()


def store_attr(e: Emitter, instr: Instruction) -> None:
    e.command("setattr", 2, instr.arg)


def delete_attr(e: Emitter, instr: Instruction) -> None:
    e.command("delattr", 1, instr.arg)


def call(e: Emitter, instr: Instruction) -> None:
    prefix = e.take_back("KW_NAMES", "PRECALL")
    e.resolve(instr.arg + (1 if e.no_self.get(id(instr), True) else 2))  # for an unreachable call, either form will do
    e.out.extend(prefix)
    e.keep(instr)


def call_function_ex(e: Emitter, instr: Instruction) -> None:
    expand_arguments(e, instr)
    e.resolve(2 + (instr.arg & 1))
    e.keep(instr)


def expand_arguments(e: Emitter, instr: Instruction) -> None:
    """Pass the starred arguments, and the mapping above them, through their hooks."""
    if not instr.arg & 1:
        e.iterable()
        return
    e.mapping()
    e.op("SWAP", 2)
    e.hook("iterable", 1)
    e.op("SWAP", 2)


def push_exc_info(e: Emitter, instr: Instruction) -> None:
    """Call the hook `caught` at the start of a handler; the new exception is on top of the stack."""
    e.keep(instr)
    e.op("COPY", 1)
    e.command("caught", 1)


def iterate(e: Emitter, instr: Instruction) -> None:
    e.iterable()
    e.keep(instr)


def merge(e: Emitter, instr: Instruction) -> None:
    e.mapping()
    e.keep(instr)


def format_value(e: Emitter, instr: Instruction) -> None:
    how, spec = instr.arg & 3, instr.arg & 4
    if how and spec:
        e.op("SWAP", 2)
    if how:
        e.hook("convert", 1, how)
    if how and spec:
        e.op("SWAP", 2)
    (format_with_spec if spec else format_simple)(e, instr)


def format_simple(e: Emitter, instr: Instruction) -> None:
    e.hook("format", 1, "")


def format_with_spec(e: Emitter, instr: Instruction) -> None:
    e.op("SWAP", 2)
    e.hook("format", 2)


def build_string(e: Emitter, instr: Instruction) -> None:
    e.op("BUILD_TUPLE", instr.arg)
    e.hook("join", 1)


def build_set(e: Emitter, instr: Instruction) -> None:
    if not instr.arg:
        e.keep(instr)
        return
    e.op("BUILD_TUPLE", instr.arg)
    e.hook("build_set", 1)


def build_map(e: Emitter, instr: Instruction) -> None:
    if not instr.arg:
        e.keep(instr)
        return
    e.op("BUILD_TUPLE", 2 * instr.arg)
    e.hook("build_map", 1)


def set_update(e: Emitter, instr: Instruction) -> None:
    e.iterable()
    e.hook("added_all", 1)
    e.keep(instr)


def match_keys(e: Emitter, instr: Instruction) -> None:
    """Call the hook `match_keys` first. The stack is [subject, keys]."""
    e.op("COPY", 2)
    e.op("COPY", 2)
    e.command("match_keys", 2)
    e.keep(instr)


def map_add(e: Emitter, instr: Instruction) -> None:
    e.op("SWAP", 2)
    e.hook("added", 1)
    e.op("SWAP", 2)
    e.keep(instr)


def make_function(e: Emitter, instr: Instruction) -> None:
    code = e.out[-1].arg
    e.keep(instr)
    note_made(e, code)


def note_made(e: Emitter, code: CodeType) -> None:
    """Call the hook `made` on a function that has all attributes that its code needs."""
    if e.nested is not None and code.co_name not in UNSEEN:
        e.hook("made", 1)


def store_name(e: Emitter, instr: Instruction) -> None:
    """Call the hook `touched` on a value that a class body binds to a name: it may have a `__set_name__`."""
    if e.nested is not None:
        e.hook("touched", 1)
    e.keep(instr)


def return_value(e: Emitter, instr: Instruction) -> None:
    if e.giving:
        e.hook("touched", 1)
    e.keep(instr)


UNSEEN = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
"""Functions that only the code that makes them can call, and calls at once."""


def read(code: CodeType) -> Bytecode:
    concrete = ConcreteBytecode.from_code(code, extended_arg=True)
    concrete[:] = _whole_arguments(concrete)
    return concrete.to_bytecode(conserve_exception_block_stackdepth=True)


def _whole_arguments(instructions: Iterable[Any]) -> Iterator[Any]:
    """Join each EXTENDED_ARG with its instruction: `bytecode` does so in a time quadratic in the length of the code."""
    high, count = 0, 0
    for instr in instructions:
        if instr.name == "EXTENDED_ARG":
            high, count = (high << 8) + instr.arg, count + 1
        elif count:
            whole = () if instr.name == "NOP" else ((high << 8) + instr.arg,)
            yield ConcreteInstr(instr.name, *whole, location=instr.location, extended_args=count)
            high, count = 0, 0
        else:
            yield instr


def pushes(*nulls: bool, pops: int = 0) -> StackEffect:
    def effect(stack: list[bool], arg: Any) -> None:
        del stack[len(stack) - pops :]
        stack.extend(nulls)

    return effect


def load_global_effect(stack: list[bool], arg: Any) -> None:
    stack.extend((True, False) if arg[0] else (False,))


def swap_effect(stack: list[bool], arg: int) -> None:
    stack[-1], stack[-arg] = stack[-arg], stack[-1]


def copy_effect(stack: list[bool], arg: int) -> None:
    stack.append(stack[-arg])


def call_effect(stack: list[bool], arg: int) -> None:
    del stack[-arg - 2 :]
    stack.append(False)


def call_function_ex_effect(stack: list[bool], arg: int) -> None:
    del stack[-3 - (arg & 1) :]
    stack.append(False)


EFFECTS: dict[str, StackEffect] = {
    "PUSH_NULL": pushes(True),
    "LOAD_GLOBAL": load_global_effect,
    "LOAD_METHOD": pushes(True, False, pops=1),
    "SWAP": swap_effect,
    "COPY": copy_effect,
    "PRECALL": pushes(),
    "KW_NAMES": pushes(),
    "CALL": call_effect,
    "CALL_FUNCTION_EX": call_function_ex_effect,
}


def imported_name(instr: Instruction) -> str:
    """Return the name of the module that an IMPORT_NAME imports."""
    return instr.arg if isinstance(instr.arg, str) else instr.arg[-1]  # or (is lazy, name)


def import_name(e: Emitter, instr: Instruction) -> None:
    e.op("LOAD_CONST", imported_name(instr))
    e.command("importing", 1)
    e.keep(instr)


SHARED: dict[str, Handler] = {
    "IMPORT_NAME": import_name,
    "BINARY_OP": binary_op,
    "BINARY_SUBSCR": replaced("getitem", 2),
    "STORE_SUBSCR": commanded("setitem", 3),
    "DELETE_SUBSCR": commanded("delitem", 2),
    "UNARY_NEGATIVE": replaced("neg", 1),
    "UNARY_INVERT": replaced("invert", 1),
    "UNARY_NOT": replaced("not_", 1),
    "COMPARE_OP": compare_op,
    "CONTAINS_OP": contains_op,
    "IS_OP": is_op,
    "STORE_ATTR": store_attr,
    "DELETE_ATTR": delete_attr,
    "CALL": call,
    "CALL_FUNCTION_EX": call_function_ex,
    "GET_ITER": iterate,
    "GET_YIELD_FROM_ITER": iterate,
    "UNPACK_SEQUENCE": iterate,
    "UNPACK_EX": iterate,
    "LIST_EXTEND": iterate,
    "SET_UPDATE": set_update,
    "DICT_UPDATE": merge,
    "DICT_MERGE": merge,
    "FORMAT_VALUE": format_value,
    "BUILD_STRING": build_string,
    "BUILD_SET": build_set,
    "BUILD_MAP": build_map,
    "SET_ADD": preceded("added"),
    "MAP_ADD": map_add,
    "BEFORE_WITH": preceded("context"),
    "BEFORE_ASYNC_WITH": preceded("touched"),
    "GET_AITER": preceded("touched"),
    "GET_AWAITABLE": preceded("touched"),
    "MATCH_CLASS": match_class,
    "MATCH_KEYS": match_keys,
    "MAKE_FUNCTION": make_function,
    "STORE_NAME": store_name,
    "RETURN_VALUE": return_value,
    "PUSH_EXC_INFO": push_exc_info,
}

SHARED_PASSED = words(
    "CACHE EXTENDED_ARG NOP RESUME "  # CACHE and EXTENDED_ARG never reach the rewriter: `bytecode` folds them
    "BUILD_CONST_KEY_MAP BUILD_LIST BUILD_SLICE BUILD_TUPLE COPY SWAP POP_TOP PUSH_NULL "
    "CHECK_EG_MATCH CHECK_EXC_MATCH POP_EXCEPT RAISE_VARARGS RERAISE WITH_EXCEPT_START "
    "COPY_FREE_VARS MAKE_CELL LOAD_CLOSURE LOAD_DEREF STORE_DEREF DELETE_DEREF "
    "LOAD_FAST STORE_FAST DELETE_FAST LOAD_NAME DELETE_NAME "
    "LOAD_GLOBAL STORE_GLOBAL DELETE_GLOBAL "
    "LOAD_CONST LOAD_ASSERTION_ERROR LOAD_BUILD_CLASS SETUP_ANNOTATIONS "
    "END_ASYNC_FOR FOR_ITER GET_ANEXT SEND YIELD_VALUE RETURN_GENERATOR "
    "GET_LEN MATCH_MAPPING MATCH_SEQUENCE IMPORT_FROM "
    "JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD KW_NAMES LIST_APPEND"
)

BOOLS = words("UNARY_NOT CONTAINS_OP IS_OP CHECK_EXC_MATCH MATCH_MAPPING MATCH_SEQUENCE")

PLAIN = words(
    "LOAD_CONST BUILD_TUPLE BUILD_LIST BUILD_MAP BUILD_CONST_KEY_MAP BUILD_STRING LIST_TO_TUPLE "
    "LIST_EXTEND DICT_UPDATE DICT_MERGE"
)

TABLE = OpcodeTable(
    version=(3, 11),
    hooked={
        **SHARED,
        "UNARY_POSITIVE": replaced("pos", 1),
        "LOAD_ATTR": load_attr,
        "LOAD_METHOD": load_method,
        "JUMP_IF_FALSE_OR_POP": jump_or_pop,
        "JUMP_IF_TRUE_OR_POP": jump_or_pop,
        "POP_JUMP_BACKWARD_IF_FALSE": jump_on_truth,
        "POP_JUMP_BACKWARD_IF_TRUE": jump_on_truth,
        "POP_JUMP_FORWARD_IF_FALSE": jump_on_truth,
        "POP_JUMP_FORWARD_IF_TRUE": jump_on_truth,
    },
    passed=SHARED_PASSED
    | words(
        "ASYNC_GEN_WRAP IMPORT_STAR LIST_TO_TUPLE LOAD_CLASSDEREF PRECALL PREP_RERAISE_STAR PRINT_EXPR "
        "POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE "
        "POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE"
    ),
    refused=frozenset(),
    bools=BOOLS,
    plain=PLAIN,
    duplicate=("COPY", 1),
    precall=True,
    null_below=True,
    read=read,
    effects=EFFECTS,
)
