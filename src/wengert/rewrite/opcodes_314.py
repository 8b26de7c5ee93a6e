"""The opcodes of Python 3.14, as documented; not yet run.

Subscription is a BINARY_OP; `with` copies the manager and loads its two methods by LOAD_SPECIAL;
CALL_FUNCTION_EX always finds four slots (NULL where there is no mapping).
"""

from __future__ import annotations

from wengert.rewrite import opcodes_311, opcodes_313
from wengert.rewrite.emitter import Emitter, Op, words


def binary_op(e: Emitter, instr: Op) -> None:
    if instr.arg.name == "SUBSCR":
        e.hook("getitem", 2)
    else:
        opcodes_311.binary_op(e, instr)


def load_special(e: Emitter, instr: Op) -> None:
    """[manager, manager] and the exit method is the first one loaded: the place to exchange the manager."""
    if instr.arg.name in ("EXIT", "AEXIT"):
        e.op("POP_TOP")
        e.hook("context" if instr.arg.name == "EXIT" else "async_context", 1)
        e.op("COPY", 1)
    e.keep(instr)


def call_function_ex(e: Emitter, instr: Op) -> None:
    if e.previous != "PUSH_NULL":
        e.mapping()
    e.op("SWAP", 2)
    e.hook("iterable", 1)
    e.op("SWAP", 2)
    e.resolve(4)
    e.keep(instr)


GONE = {"BINARY_SUBSCR", "BEFORE_WITH", "BEFORE_ASYNC_WITH"}

TABLE = opcodes_313.TABLE._replace(
    version=(3, 14),
    hooked={
        **{name: handler for name, handler in opcodes_313.HOOKED.items() if name not in GONE},
        "BINARY_OP": binary_op,
        "LOAD_SPECIAL": load_special,
        "CALL_FUNCTION_EX": call_function_ex,
    },
    passed=(opcodes_313.PASSED - {"BUILD_CONST_KEY_MAP", "LOAD_ASSERTION_ERROR", "RETURN_CONST"})
    | words(
        "BUILD_INTERPOLATION BUILD_TEMPLATE LOAD_COMMON_CONSTANT LOAD_FAST_BORROW "
        "LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_SMALL_INT NOT_TAKEN POP_ITER"
    ),
)
