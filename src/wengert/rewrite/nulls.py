"""Where the NULLs of calls lie on the stack: up to Python 3.12 this decides where the callable of a call lies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bytecode import Bytecode, Instr, Label, TryBegin

from wengert.errors import BytecodeError
from wengert.rewrite.emitter import OpcodeTable, StackEffect

Stack = list[bool]
"""One flag per slot: is it NULL?"""


def calls_without_self(program: Bytecode, table: OpcodeTable) -> dict[int, bool]:
    """For each reachable CALL, by its id, whether there is a NULL on the stack where self would be.

    Errors: BytecodeError if two ways to an instruction disagree about the stack's depth.
    """
    if table.effects is None:
        return {}
    items: list[Any] = list(program)
    places = {item: index for index, item in enumerate(items) if isinstance(item, Label)}
    depths: dict[Label, int] = {}
    found: dict[int, bool] = {}
    todo: list[tuple[int, Stack]] = [(0, [])]
    while todo:
        start, stack = todo.pop()
        for index in range(start, len(items)):
            item = items[index]
            if isinstance(item, Label):
                if item in depths:
                    check(depths[item], len(stack))
                    break
                depths[item] = len(stack)
            elif isinstance(item, Instr) and item.name == "CALL":
                found[id(item)] = below_arguments(item, stack)
            todo.extend((places[target], there) for target, there in exits(item, stack, table.effects))
            if isinstance(item, Instr):
                if item.is_final():
                    break
                stack = after(item, stack, table.effects, jump=False)
    return found


def below_arguments(call: Any, stack: Stack) -> bool:
    return stack[-call.arg - 2]


def check(known: int, depth: int) -> None:
    if known != depth:
        raise BytecodeError("the stack is not equally deep on all ways to an instruction")


def exits(item: Any, stack: Stack, effects: Mapping[str, StackEffect]) -> Iterator[tuple[Any, Stack]]:
    """Where control can go from an instruction besides to the next one, each with the stack found there."""
    if isinstance(item, TryBegin):
        yield item.target, stack[: item.stack_depth] + [False] * (1 + item.push_lasti)
    elif isinstance(item, Instr) and item.has_jump():
        yield item.arg, after(item, stack, effects, jump=True)


def after(instr: Any, stack: Stack, effects: Mapping[str, StackEffect], jump: bool) -> Stack:
    """The stack after an instruction; one without an entry in the table takes no NULL and leaves none."""
    special = effects.get(instr.name)
    if special:
        stack = stack.copy()
        special(stack, instr.arg)
        return stack
    effect = instr.stack_effect(jump)
    return stack[:effect] if effect < 0 else stack + [False] * effect
