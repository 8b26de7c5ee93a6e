"""Find the NULLs of calls on the stack: up to Python 3.12 they determine the stack slot of a call's callable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bytecode import Bytecode, Instr, Label, TryBegin

from wengert.errors import BytecodeError
from wengert.rewrite.emitter import OpcodeTable, StackEffect

Stack = list[bool]
"""One flag per stack slot: whether it is NULL."""


def calls_without_self(program: Bytecode, table: OpcodeTable) -> dict[int, bool]:
    """Return for each reachable CALL, by its id, whether the stack has a NULL in the slot of self.

    Errors: BytecodeError if two paths reach an instruction with different stack depths.
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
        raise BytecodeError(f"two paths reach an instruction with different stack depths, {known} and {depth}")


def exits(item: Any, stack: Stack, effects: Mapping[str, StackEffect]) -> Iterator[tuple[Any, Stack]]:
    """Yield the targets of control flow from an instruction, except the next one, each with the stack there."""
    if isinstance(item, TryBegin):
        yield item.target, stack[: item.stack_depth] + [False] * (1 + item.push_lasti)
    elif isinstance(item, Instr) and item.has_jump():
        yield item.arg, after(item, stack, effects, jump=True)


def after(instr: Any, stack: Stack, effects: Mapping[str, StackEffect], jump: bool) -> Stack:
    """Return the stack after an instruction. An instruction that is not in `effects` takes and leaves no NULL."""
    special = effects.get(instr.name)
    if special:
        stack = stack.copy()
        special(stack, instr.arg)
        return stack
    effect = instr.stack_effect(jump)
    return stack[:effect] if effect < 0 else stack + [False] * effect
