"""Where statements of a program begin, and how deep the stack is at its instructions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from bytecode import Instr, Label


def statements_in(items: Sequence[Any], depths: Mapping[int, int], within: Collection[int]) -> Iterator[int]:
    """Yield those of these indices where a line begins, and the stack has the depth 0."""
    line = None
    for k in sorted(within):
        if isinstance(items[k], Instr):
            before, line = line, items[k].location and items[k].location.lineno
            if line != before and depths.get(k) == 0:
                yield k


def stack_depths(items: Sequence[Any], head: int, within: Collection[int]) -> dict[int, int]:
    """Return for these indices how many values are on the stack, above those at its head."""
    place = {item: k for k, item in enumerate(items) if isinstance(item, Label)}
    depths, todo = {head: 0}, [head]
    while todo:
        k = todo.pop()
        item, after = items[k], {k + 1: depths[k]}
        if isinstance(item, Instr):
            after = {} if item.is_final() else {k + 1: depths[k] + item.stack_effect(jump=False)}
            if isinstance(item.arg, Label):
                after[place[item.arg]] = depths[k] + item.stack_effect(jump=True)
        new = {at: depth for at, depth in after.items() if at in within and at not in depths}
        depths |= new
        todo += new
    return depths
