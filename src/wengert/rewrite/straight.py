"""Statements outside of loops where paths through a function may have met: after an `if`, or after a call."""

from __future__ import annotations

import dis
from collections.abc import Collection, Sequence
from types import CodeType
from typing import Any

from bytecode import Instr, Label

from wengert.rewrite.liveness import appended_around, live_at, loop_at, predecessors, reach_back, set_within
from wengert.rewrite.loop_head import STRAIGHT, LoopHead
from wengert.rewrite.statements import stack_depths, statements_in
from wengert.rewrite.tables import running_table


def straight_statements(items: Sequence[Any], before: Sequence[set[int]], heads: Collection[int]) -> list[int]:
    """Return the first statement, and those outside of the loops with these heads where paths may have met."""
    if any([isinstance(item, Instr) and item.name in _OF_GENERATORS for item in items]):
        return []
    begin = next((k for k, item in enumerate(items) if isinstance(item, Instr) and item.name == "RESUME"), 0)
    outside = {*range(begin + 1, len(items))}.difference(*[loop_at(before, k) for k in heads])
    statements = [*statements_in(items, stack_depths(items, 0, range(len(items))), outside)]
    known = {*statements}
    met = [k for k in statements[1:] if _may_have_met(items, before, known, k)]
    return [statements[0], *met] if met else []


def straight_places(
    items: Sequence[Any], live: Sequence[frozenset[str]], before: Sequence[set[int]], statements: Collection[int]
) -> dict[int, LoopHead]:
    """Return the LoopHeads of these statements; the `set` of each has what some path sets since its `since`.

    Variables that a loop sets are left out: its heads tell how it begins with constants.
    """
    found, since = dict[int, LoopHead](), _dominators(before, statements)
    in_loops = set_within(items, frozenset[int]().union(*_loops_in(items, before).values()))
    for k in statements:
        sets = set_within(items, _between(before, since[k], k)) - in_loops
        found[k] = LoopHead(STRAIGHT, k, since[k], live[k], False, False, sets, (), frozenset(), frozenset(), 0, False)
    return found


def after_calls(code: CodeType) -> tuple[list[int], list[bool], list[frozenset[str]]]:
    """Return lists with an item for each instruction of a code: its offset, and two facts about what follows.

    If the instruction is a call, the first fact is whether paths may join after it: it is outside of loops, with its
    result alone on the stack. The second is which fast local variables may be read after it, without lists to which
    loops around it only append.
    """
    items = [*running_table().read(code)]
    depths, loops = stack_depths(items, 0, range(len(items))), _loops_in(items, predecessors(items))
    looping, grown = frozenset[int]().union(*loops.values()), _grown_in(items, loops)
    live, places = live_at(items), [k for k, item in enumerate(items) if isinstance(item, Instr)]
    offsets = [instr.offset for instr in dis.get_instructions(code) if instr.opname != "EXTENDED_ARG"]
    after = [live[k + 1] - appended_around(grown, k) for k in places]
    return offsets, [k not in looping and depths.get(k + 1) == 1 for k in places], after


def _grown_in(items: Sequence[Any], loops: dict[int, set[int]]) -> list[tuple[set[int], Any]]:
    """Return the indices of each loop in a twin, with what its LoopHead has as `grown`."""
    found = []
    for head, loop in loops.items():
        inner = set[int]().union(*[other for other in loops.values() if other < loop])
        own: Any = [
            items[k].arg for k in sorted(loop - inner) if k > head and type(getattr(items[k], "arg", 0)) is LoopHead
        ]
        found += [(loop, mark.grown) for mark in own[:1]]
    return found


_OF_GENERATORS = ("RETURN_GENERATOR", "YIELD_VALUE")


def _loops_in(items: Sequence[Any], before: Sequence[set[int]]) -> dict[int, set[int]]:
    """Return the indices in each loop, by that of its head."""
    place = {item: k for k, item in enumerate(items) if isinstance(item, Label)}
    jumps = [(k, item.arg) for k, item in enumerate(items) if isinstance(item, Instr) and isinstance(item.arg, Label)]
    return {place[to]: loop_at(before, place[to]) for k, to in jumps if place[to] <= k}


def _may_have_met(items: Sequence[Any], before: Sequence[set[int]], statements: Collection[int], k: int) -> bool:
    """Whether several paths lead from other statements to this one, or one on which there is a call."""
    while len(before[k]) == 1:
        [k] = before[k]
        if isinstance(items[k], Instr) and items[k].name.startswith("CALL"):
            return True
        if k in statements:
            return False
    return len(before[k]) > 1


def _between(before: Sequence[set[int]], since: int, k: int) -> set[int]:
    """Return the indices on the paths from one index to another."""
    return reach_back(before, {since} - {k}, [*before[k]])


def _dominators(before: Sequence[set[int]], places: Collection[int]) -> dict[int, int]:
    """Return for each of these places the last other one that each path to it passes; for the first one itself."""
    number = {k: n for n, k in enumerate(_in_order(before))}
    last = {0: 0}  # for each index the last one that each path to it passes
    is_changed = True
    while is_changed:
        is_changed = False
        for k in [*number][1:]:
            known = iter([j for j in before[k] if j in last])
            found = next(known)
            for j in known:
                found = _common(last, number, found, j)
            is_changed |= last.get(k) != found
            last[k] = found
    dominators = {}
    for k in places:
        j = last[k]
        while j and j not in places:
            j = last[j]
        dominators[k] = j or k
    return dominators


def _common(last: dict[int, int], number: dict[int, int], a: int, b: int) -> int:
    """Return the last index that each path to one of two passes, and each path to the other."""
    while a != b:
        if number[a] > number[b]:
            a = last[a]
        else:
            b = last[b]
    return a


def _in_order(before: Sequence[set[int]]) -> list[int]:
    """Return the indices that are reached, each after those before it but for jumps backward."""
    after: list[list[int]] = [[] for _ in before]
    for k, those in enumerate(before):
        for j in those:
            after[j].append(k)
    found, seen, todo = list[int](), {0}, [(0, iter(after[0]))]
    while todo:
        k, rest = todo[-1]
        new = next((j for j in rest if j not in seen), None)
        if new is None:
            found.append(k)
            todo.pop()
        else:
            seen.add(new)
            todo.append((new, iter(after[new])))
    return found[::-1]
