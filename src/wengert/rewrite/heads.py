"""Loop heads: the labels that backward jumps go to, with a separate label for entering the loop."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from bytecode import Instr, Label

from wengert.rewrite.liveness import grown_within, live_at, loop_at, set_within, target_is_read


class LoopHead(NamedTuple):
    """The head of a loop: its index in the program, the local variables that are live there, and its kind.

    The loop may change only the local variables in `set`. `is_for` says that a `for` begins there; `counts`, that its
    loop variable is not read, so that it only counts iterations. `grown` has the local variables that the loop only
    appends to, and how many of their last items it reads.
    """

    number: int
    live: frozenset[str]
    is_for: bool
    counts: bool
    set: frozenset[str]
    grown: tuple[tuple[str, int], ...]


def set_apart(items: list[Any], places: int) -> tuple[list[Any], dict[Label, LoopHead]]:
    """Return a program's items, and the LoopHeads at the labels of backward jumps, except loops that change the stack.

    A forward jump to a head gets a label of its own, right in front of it. An iterator takes `places` stack slots.
    """
    place = {item: k for k, item in enumerate(items) if isinstance(item, Label)}
    jumps: list[tuple[int, Any]] = [
        (k, item) for k, item in enumerate(items) if isinstance(item, Instr) and isinstance(item.arg, Label)
    ]
    last = {jump.arg: k for k, jump in jumps if place[jump.arg] <= k and "NO_INTERRUPT" not in jump.name}
    labels = last.keys() - _changing_the_stack(items, [(place[label], k, label) for label, k in last.items()], places)
    if not labels:
        return items, {}
    live, heads, fronts = live_at(items), dict[Label, LoopHead](), {label: Label() for label in labels}
    loops = {label: loop_at(items, place[label]) for label in labels}
    for k, jump in jumps:
        if jump.arg in labels and place[jump.arg] > k:
            jump.arg = fronts[jump.arg]
    made: list[Any] = []
    for k, item in enumerate(items):
        if isinstance(item, Label) and item in labels:
            made.append(fronts[item])
            is_for = _is_for(items, k)
            counts = is_for and not target_is_read(items, live, k)
            changes = set_within(items, loops[item]), grown_within(items, loops[item])
            heads[item] = LoopHead(k, live[k], is_for, counts, *changes)
        made.append(item)
    return made, heads


def _changing_the_stack(items: list[Any], loops: list[tuple[int, int, Label]], places: int) -> set[Label]:
    """Return the labels of loops whose iterations have effects that no variable shows.

    They add to a comprehension's container, which is on the stack below the iterators, or they yield to a consumer.
    """
    found = set[Label]()
    adding = ADDING if places == 1 else ADDING | UNPACKING
    for k, item in enumerate(items):
        if isinstance(item, Instr) and (item.name in adding or item.name == "YIELD_VALUE"):
            around = [(begin, label) for begin, end, label in loops if begin < k < end]
            above: Any = math.inf if item.name == "YIELD_VALUE" else item.arg
            for begin, label in sorted(around, key=lambda loop: -loop[0]):
                above -= places if _is_for(items, begin) else 1
                if above <= 0:
                    break
                found.add(label)
    return found


def _is_for(items: list[Any], head: int) -> bool:
    return next((i.name for i in items[head:] if isinstance(i, Instr)), "") == "FOR_ITER"


ADDING = {"LIST_APPEND", "SET_ADD", "MAP_ADD"}
UNPACKING = {"LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE"}
"""Opcodes that add all items of an iterable in a comprehension, from 3.15."""
