"""Loop heads: the labels that backward jumps go to, with a separate label for entering the loop.

Where paths through an iteration meet at a statement, they may join again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from bytecode import Instr, Label

from wengert.rewrite.liveness import (
    appended_around,
    grown_within,
    live_at,
    loop_at,
    named_within,
    predecessors,
    set_within,
    target_is_read,
)
from wengert.rewrite.loop_head import LoopHead
from wengert.rewrite.statements import stack_depths, statements_in
from wengert.rewrite.straight import straight_places, straight_statements


def set_apart(items: list[Any], places: int) -> tuple[list[Any], dict[int, LoopHead]]:
    """Return a program's items, and the LoopHeads at their indices, except those of loops that change the stack.

    Heads are at the labels of backward jumps, and at statements where paths meet. A forward jump to a head gets a label
    of its own, right in front of it. An iterator takes `places` stack slots.
    """
    place = {item: k for k, item in enumerate(items) if isinstance(item, Label)}
    jumps: list[tuple[int, Any]] = [
        (k, item) for k, item in enumerate(items) if isinstance(item, Instr) and isinstance(item.arg, Label)
    ]
    last = {jump.arg: k for k, jump in jumps if place[jump.arg] <= k and "NO_INTERRUPT" not in jump.name}
    added = _added_to(items, [(place[label], k, label) for label, k in last.items()], places)
    labels = {label for label in last if added.get(label) != [None]}
    before = predecessors(items)
    outside = straight_statements(items, before, [place[label] for label in last])
    if not labels and not outside:
        return items, {}
    live, heads, fronts = live_at(items), dict[int, LoopHead](), {label: Label() for label in labels}
    straight = straight_places(items, live, before, outside)
    loops = {place[label]: loop_at(before, place[label]) for label in labels}
    grown = {head: grown_within(items, loop) for head, loop in loops.items()}
    breaking = {head for head, loop in loops.items() if _may_break(items, loop, place)}
    inmost = {k: head for head in sorted(loops, key=lambda head: -len(loops[head])) for k in loops[head]}
    meeting = dict[int, int]()
    for head, loop in loops.items():
        statements = {*statements_in(items, stack_depths(items, head, loop), loop)}
        joining = [k for k in statements if inmost[k] == head < k and _joins_paths(before, statements, k)]
        meeting |= _last_passed(before, head, loop, joining)
    at_heads: dict[int, LoopHead] = {}

    def live_in_loop(head: int, k: int) -> frozenset[str]:
        """Return the live variables, without lists of loops around this one to which only these append."""
        around = [(loop, grown[other][0]) for other, loop in loops.items() if other != head]
        return live[k] - (appended_around(around, head) - named_within(items, loops[head]))

    for k, jump in jumps:
        if jump.arg in labels and place[jump.arg] > k:
            jump.arg = fronts[jump.arg]
    made: list[Any] = []
    for k, item in enumerate(items):
        if isinstance(item, Label) and item in labels:
            made.append(fronts[item])
            is_for = _is_for(items, k)
            counts = is_for and not target_is_read(items, live, k)
            instr: Any = next(i for i in items[k:] if isinstance(i, Instr))
            after = live[place[instr.arg]] if is_for else live[k]
            changes = set_within(items, loops[k]), *grown[k]
            fills, breaks = added.get(item, [0])[0] or 0, k in breaking
            heads[len(made)] = at_heads[k] = LoopHead(
                k, k, k, live_in_loop(k, k), is_for, counts, *changes, after, fills, breaks
            )
        elif k in meeting:
            head = inmost[k]
            heads[len(made)] = at_heads[head]._replace(place=k, since=meeting[k], live=live_in_loop(head, k))
        elif k in straight:
            heads[len(made)] = straight[k]
        made.append(item)
    return made, heads


def _joins_paths(before: Sequence[set[int]], statements: Collection[int], k: int) -> bool:
    """Whether several paths lead from other statements to this one."""
    while len(before[k]) == 1:
        [k] = before[k]
        if k in statements:
            return False
    return len(before[k]) > 1


def _last_passed(before: Sequence[set[int]], head: int, loop: set[int], places: Sequence[int]) -> dict[int, int]:
    """Return for each of these places in a loop the last one, or the head, that each path from the head passes."""
    after: dict[int, list[int]] = {k: [] for k in loop}
    for k in loop:
        for j in before[k] & loop:
            after[j].append(k)
    passed: dict[int, list[int]] = {k: [] for k in places}
    for place in (head, *places):
        reached, todo = {head} - {place}, [head][place == head :]
        while todo:
            new = {*after[todo.pop()]} - reached - {place}
            reached |= new
            todo += new
        for k in {*places} - reached - {place}:
            passed[k].append(place)
    return {k: max(found, key=lambda j: len(passed.get(j, ()))) for k, found in passed.items()}


def _added_to(items: list[Any], loops: list[tuple[int, int, Label]], places: int) -> dict[Label, list[int | None]]:
    """Return the labels of loops whose iterations have effects that no variable shows.

    They add to a comprehension's container, which is on the stack below the iterators, or they yield to a consumer. For
    a loop that only appends to a list, the depth of that is given, for one that only yields -1, for others None.
    """
    found = dict[Label, list[int | None]]()
    adding = ADDING if places == 1 else ADDING | UNPACKING
    for k, item in enumerate(items):
        if isinstance(item, Instr) and (item.name in adding or item.name == "YIELD_VALUE"):
            around = [(begin, label) for begin, end, label in loops if begin < k < end]
            above: Any = math.inf if item.name == "YIELD_VALUE" else item.arg
            for begin, label in sorted(around, key=lambda loop: -loop[0]):
                above -= places if _is_for(items, begin) else 1
                if above <= 0:
                    break
                depth = {"LIST_APPEND": above + places, "YIELD_VALUE": -1}.get(item.name)
                found[label] = [depth if found.get(label, [depth]) == [depth] else None]
    return found


def _is_for(items: list[Any], head: int) -> bool:
    return next((i.name for i in items[head:] if isinstance(i, Instr)), "") == "FOR_ITER"


def _may_break(items: list[Any], loop: set[int], place: dict[Any, int]) -> bool:
    """Whether a loop may end otherwise than with its iterator, but for errors."""
    jumps = [(k, items[k]) for k in loop if isinstance(items[k], Instr) and "JUMP" in items[k].name]
    passed = [k + 1 for k, jump in jumps if not jump.is_final()]
    return not loop.issuperset([*passed, *[place[jump.arg] for _, jump in jumps]])


ADDING = {"LIST_APPEND", "SET_ADD", "MAP_ADD"}
UNPACKING = {"LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE"}
"""Opcodes that add all items of an iterable in a comprehension, from 3.15."""
