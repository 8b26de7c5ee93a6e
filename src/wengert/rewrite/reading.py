"""A second table for each Python, with further hooks at opcodes that read or set names from outside a function.

A function reads from outside through a global name, a free variable or an import; everything else it reaches from
there. The hooks of these opcodes take the value that was read, and return the value to continue with.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from bytecode import FreeVar

from wengert.rewrite import opcodes_311 as before
from wengert.rewrite.emitter import Emitter, Handler, Instruction, OpcodeTable
from wengert.rewrite.loop_head import LoopHead
from wengert.rewrite.tables import table_for


@cache
def reading_table(version: tuple[int, int]) -> OpcodeTable:
    """Return the table of this version of Python, with hooks where outside names are read, and at loop heads."""
    base = table_for(version)
    handlers = {name: handler for name, handler in HANDLERS.items() if name in base.passed | set(base.hooked)}
    if base.iterator_places > 1:
        handlers["GET_ITER"] = get_iter
    return base._replace(hooked={**base.hooked, **handlers}, passed=base.passed - set(handlers), tells_heads=True)


def write_head(e: Emitter, label: Any, head: LoopHead) -> None:
    """Write the head of a loop: the hook `loop_entered` at its start, and `loop_head` at each iteration.

    In a `for` loop, both also get the iterator, and `loop_entered` returns the iterator to use instead.
    """
    places = e.table.iterator_places
    if head.fills > 0:
        e.op("COPY", head.fills)
        e.op("LOAD_CONST", head)
        e.command("loop_fills", 2)
    if head.is_for:
        e.swapped(places, "loop_entered", head)
    else:
        e.op("LOAD_CONST", head)
        e.command("loop_entered", 1)
    e.keep(label)
    if head.is_for:
        e.op("COPY", places)
    e.op("LOAD_CONST", head)
    e.command("loop_head", 1 + head.is_for)


def write_statement(e: Emitter, head: LoopHead) -> None:
    """Write the hook `statement`, where a statement begins in a loop."""
    e.op("LOAD_CONST", head)
    e.command("statement", 1)


def get_iter(e: Emitter, instr: Instruction) -> None:
    """Make the iterator of a `for` explicitly: GET_ITER may leave a list and an index, which no hook can take."""
    e.iterable()
    if instr.arg == 0:  # not for `yield from`
        e.op("LOAD_CONST", iter)
        e.op("SWAP", 2)
        e.op("CALL", 0)
    e.keep(instr)


def load_global(e: Emitter, instr: Instruction) -> None:
    """Call the hook on the global's value; push a call's NULL after that if it belongs above the callable."""
    is_called, name = instr.arg
    if e.table.null_below or not is_called:
        e.keep(instr)
        e.hook("global_name", 1, name)
    else:
        e.op("LOAD_GLOBAL", (False, name))
        e.hook("global_name", 1, name)
        e.op("PUSH_NULL")


def load_name(e: Emitter, instr: Instruction) -> None:
    e.keep(instr)
    e.hook("local_name", 1, instr.arg)


def load_deref(e: Emitter, instr: Instruction) -> None:
    e.keep(instr)
    if isinstance(instr.arg, FreeVar):
        load_cell(e, instr)
        e.hook("free_variable", 2)


def set_deref(e: Emitter, instr: Instruction) -> None:
    if isinstance(instr.arg, FreeVar):
        load_cell(e, instr)
        e.command("sets_free_variable", 1)
    e.keep(instr)


def load_cell(e: Emitter, instr: Instruction) -> None:
    """Push the cell itself; from 3.13 on, LOAD_FAST loads it like any local variable."""
    e.op("LOAD_CLOSURE" if "LOAD_CLOSURE" in e.table.passed else "LOAD_FAST", instr.arg)


def import_name(e: Emitter, instr: Instruction) -> None:
    before.import_name(e, instr)
    e.hook("imported", 1, before.imported_name(instr))


def import_from(e: Emitter, instr: Instruction) -> None:
    """Call the hook on a module and an attribute imported from it. The stack is [module], then [module, attribute]."""
    e.keep(instr)
    e.op("COPY", 2)
    e.hook("imported_from", 2, instr.arg)


def set_global(e: Emitter, instr: Instruction) -> None:
    e.op("LOAD_CONST", instr.arg)
    e.command("sets_global", 1)
    e.keep(instr)


def unwatched(reason: str) -> Handler:
    """Return the handler of an opcode at which the hook `unwatched` gives up watching, with the `reason`."""

    def handler(e: Emitter, instr: Instruction) -> None:
        e.op("LOAD_CONST", reason)
        e.command("unwatched", 1)
        e.keep(instr)

    return handler


_OF_CLASS = "a class body or an annotation reads a name that may be its own or come from outside"

HANDLERS: dict[str, Handler] = {
    "LOAD_GLOBAL": load_global,
    "LOAD_NAME": load_name,
    "LOAD_DEREF": load_deref,
    "STORE_DEREF": set_deref,
    "DELETE_DEREF": set_deref,
    "STORE_GLOBAL": set_global,
    "DELETE_GLOBAL": set_global,
    "LOAD_CLASSDEREF": unwatched(_OF_CLASS),
    "LOAD_FROM_DICT_OR_DEREF": unwatched(_OF_CLASS),
    "LOAD_FROM_DICT_OR_GLOBALS": unwatched(_OF_CLASS),
    "IMPORT_NAME": import_name,
    "IMPORT_FROM": import_from,
    "IMPORT_STAR": unwatched("it imports all names of a module"),
}
