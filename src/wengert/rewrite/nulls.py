"""Where the NULLs of calls lie: to Python 3.12 the place of a call's callable depends on it."""

from __future__ import annotations

from bytecode import Bytecode, Instr, Label, TryBegin

from wengert.errors import BytecodeError
from wengert.rewrite.emitter import Table

Stack = list[bool]
"""One flag per slot: is it NULL?"""


def calls_without_self(program: Bytecode, table: Table) -> dict[int, bool]:
    """For each CALL that can be reached, by id: is there a NULL where self would be?

    Errors: BytecodeError if two ways to an instruction disagree about the stack's depth.
    """
    if table.effects is None:
        return {}
    items = list(program)
    places = {item: index for index, item in enumerate(items) if isinstance(item, Label)}
    depths: dict[Label, int] = {}
    visited: set[Label] = set()
    found: dict[int, bool] = {}
    todo: list[tuple[int, Stack]] = [(0, [])]
    while todo:
        index, stack = todo.pop()
        while index < len(items):
            item = items[index]
            if isinstance(item, Label):
                known = depths.setdefault(item, len(stack))
                if known != len(stack):
                    raise BytecodeError("the stack is not equally deep on all ways to an instruction")
                if item in visited:
                    break
                visited.add(item)
            elif isinstance(item, TryBegin):
                handler = stack[: item.stack_depth] + [False] * (1 + item.push_lasti)
                todo.append((places[item.target], handler))
            elif isinstance(item, Instr):
                if item.name == "CALL":
                    found[id(item)] = stack[-item.arg - 2]
                if item.has_jump():
                    todo.append((places[item.arg], after(item, list(stack), table, jump=True)))
                if item.is_final():
                    break
                after(item, stack, table, jump=False)
            index += 1
    return found


def after(instr: Instr, stack: Stack, table: Table, jump: bool) -> Stack:
    """The stack after an instruction; those without an entry in the table take no NULL and leave none."""
    special = table.effects.get(instr.name)
    if special:
        special(stack, instr.arg)
        return stack
    effect = instr.stack_effect(jump)
    if effect < 0:
        del stack[effect:]
    else:
        stack.extend([False] * effect)
    return stack
