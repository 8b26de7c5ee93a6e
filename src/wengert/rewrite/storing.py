"""Where a result goes: the variable in which the next instruction stores it, or the item that an update stores.

Also the name of the function that a call calls.
"""

from __future__ import annotations

from typing import Any

from bytecode import Instr

STORES = {"STORE_FAST", "STORE_DEREF", "STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST"}
CALLS = {"CALL": 1, "CALL_KW": 2}
"""Opcodes of calls, each with the depth of the callable, or its NULL, on the stack without the arguments."""


COMPUTING = {"BINARY_OP", "BINARY_SUBSCR", "BINARY_SLICE", "COMPARE_OP", "UNARY_NEGATIVE", "UNARY_INVERT", *CALLS}


def stored_in(program: list[Any], k: int) -> str | None:
    """Return the variable in which the result of a computing instruction at `k` is stored at once, or None."""
    if program[k].name not in COMPUTING:
        return None
    items = [item for item in program[k + 1 : k + 8] if isinstance(item, Instr)]
    if items and items[0].name == "COPY" and items[0].arg == 1:
        items = items[1:]
    return _variable(items[0].arg) if items and items[0].name in STORES else None


def reads_for_update(program: list[Any], k: int) -> bool:
    """Whether the instruction at `k` reads the item that an update such as `a[key] += v` is about to store."""
    depth = READING.get(program[k].name)  # of the container, also when its key was copied
    before = [] if depth is None else program[max(k - depth, 0) : k]
    copies = [item for item in before if isinstance(item, Instr) and item.name == "COPY" and item.arg == depth]
    return len(copies) == depth


READING = {"BINARY_SUBSCR": 2, "BINARY_OP": 2, "BINARY_SLICE": 3}


def called_at(program: list[Any], k: int) -> str | None:
    """Return the name of the callable of the call at `k`; None if its arguments branch, or it has no name."""
    if program[k].name not in CALLS:
        return None
    place = program[k].arg + CALLS[program[k].name]
    own = k - 1 if k and getattr(program[k - 1], "name", "") == "PRECALL" else k
    for at in range(own - 1, -1, -1):
        item = program[at]
        if not isinstance(item, Instr) or item.has_jump():
            return None
        before, after = item.pre_and_post_stack_effect()
        taken, left = max(-before, 0), after + max(before, 0)
        if place > left:
            place += taken - left
        elif item.name != "PUSH_NULL":
            return _variable(item.arg)
    return None


def _variable(arg: Any) -> str | None:
    """Return the name in the argument of an instruction that loads or stores; of two names, the first is stored."""
    if isinstance(arg, tuple):
        arg = arg[0] if isinstance(arg[0], str) else arg[-1]
    name = getattr(arg, "name", arg)
    return name if isinstance(name, str) else None
