"""Liveness analysis: which local variables may still be read at each index of a program."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from bytecode import Instr, Label
from bytecode.instr import TryBegin, TryEnd


def live_at(items: Sequence[Any]) -> list[frozenset[str]]:
    """Return for each index of a program the names of fast local variables that may be read from there on."""
    place = {item: k for k, item in enumerate(items) if isinstance(item, Label)}
    handlers = _handlers(items, place)
    live: list[frozenset[str]] = [frozenset()] * (len(items) + 1)
    changed = True
    while changed:
        changed = False
        for k in range(len(items) - 1, -1, -1):
            item = items[k]
            found = live[k + 1]
            if isinstance(item, Instr):
                found = found if not item.is_final() else frozenset()
                if isinstance(item.arg, Label):
                    found |= live[place[item.arg]]
                sets, reads = _effect(item)
                found = found - sets
                for handler in handlers[k]:
                    found |= live[handler]
                found |= reads
            if found != live[k]:
                live[k], changed = found, True
    return live


def predecessors(items: Sequence[Any]) -> list[set[int]]:
    """Return for each index of a program from which indices it is reached."""
    place = {item: k for k, item in enumerate(items) if isinstance(item, Label)}
    handlers = _handlers(items, place)
    before: list[set[int]] = [set() for _ in range(len(items) + 1)]
    for k, item in enumerate(items):
        is_instr = isinstance(item, Instr)
        if not is_instr or not item.is_final():
            before[k + 1].add(k)
        for target in [*handlers[k], *([place[item.arg]] if is_instr and isinstance(item.arg, Label) else [])]:
            before[target].add(k)
    return before


def loop_at(before: Sequence[set[int]], head: int) -> set[int]:
    """Return the indices of the loop with its head at this index; `before` are the predecessors of each."""
    return reach_back(before, {head}, [k for k in before[head] if k > head])


def reach_back(before: Sequence[set[int]], found: set[int], todo: list[int]) -> set[int]:
    """Return `found` with the indices in `todo` and all from which paths lead to these without passing `found`."""
    while todo:
        k = todo.pop()
        if k not in found:
            found.add(k)
            todo += before[k]
    return found


def set_within(items: Sequence[Any], loop: Iterable[int]) -> frozenset[str]:
    """Return the names of fast local variables that a loop with these indices may set or delete."""
    sets: list[Any] = [items[k].arg for k in loop if isinstance(items[k], Instr) and _may_set(items[k].name)]
    return frozenset().union(*[arg if isinstance(arg, tuple) else (arg,) for arg in sets])


def named_within(items: Sequence[Any], loop: Iterable[int]) -> frozenset[str]:
    """Return the names of fast local variables in a loop with these indices."""
    named: list[Any] = [items[k].arg for k in loop if isinstance(items[k], Instr) and "_FAST" in items[k].name]
    return frozenset().union(*[arg if isinstance(arg, tuple) else (arg,) for arg in named])


def appended_around(loops: Iterable[tuple[Collection[int], Any]], k: int) -> frozenset[str]:
    """Return the variables that loops around an index only append to; each loop has its indices, and its `grown`."""
    return frozenset([name for loop, grown in loops if k in loop for name, _ in grown])


def grown_within(items: Sequence[Any], loop: Iterable[int]) -> tuple[tuple[tuple[str, int], ...], frozenset[str]]:
    """Return the fast local variables that a loop only appends to, and how many of their last items it reads.

    In the loop each of them stands only in `name.append(...)`, in `name[-1]`, `name[-2]`, and so on, and in items at a
    computed index, such as `name[k - 1]`; the second result has the variables with such.
    """
    depths: dict[str, list[int | None]] = {}
    for k in loop:
        if isinstance(items[k], Instr) and "_FAST" in items[k].name:
            names = items[k].arg if isinstance(items[k].arg, tuple) else (items[k].arg,)
            for place, name in enumerate(names):
                if isinstance(name, str):  # no cell
                    above = len(names) - 1 - place
                    is_load = items[k].name in _LOADS or (not above and items[k].name.endswith(_LOADS))
                    depths.setdefault(name, []).append(_depth_read(items, k, above) if is_load else None)
    grown: dict[str, Any] = {name: depth for name, depth in depths.items() if None not in depth and 0 in depth}
    indexed = frozenset([name for name, depth in grown.items() if _COMPUTED in depth])
    return tuple(sorted([(name, max(depth)) for name, depth in grown.items()])), indexed


_LOADS = (
    "LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
)  # fmt: skip
_PUSHING = (*_LOADS, "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_DEREF")
_COMPUTED = -1
"""Stands for the depth of an item at a computed index."""


def _depth_read(items: Sequence[Any], k: int, above: int) -> int | None:
    """Return n if the variable loaded at an index is used as `x[-n]`, 0 for `x.append`; None for any other use.

    There are so many values `above` it on the stack.
    """
    after = [item for item in items[k + 1 : k + 12] if isinstance(item, Instr)]
    if len(after) < 2:
        return None
    if not above and after[0].name in ("LOAD_METHOD", "LOAD_ATTR") and after[0].arg in ("append", (True, "append")):
        return 0
    if not above and after[0].name == "LOAD_CONST" and _reads_item(after[1]):
        place = after[0].arg
        return -place if type(place) is int and place < 0 else None
    for item in after:
        if _reads_item(item):
            return _COMPUTED if above == 1 else None
        if item.name in _PUSHING:
            above += len(item.arg) if type(item.arg) is tuple else 1
        elif item.name == "BINARY_OP":
            above -= 1
        else:
            return None
    return None


def _reads_item(item: Any) -> bool:
    return item.name == "BINARY_SUBSCR" or getattr(item.arg, "name", "") == "SUBSCR"


def _may_set(name: str) -> bool:
    return name.startswith(("STORE_FAST", "DELETE_FAST")) or name == "LOAD_FAST_AND_CLEAR"


def _handlers(items: Sequence[Any], place: dict[Label, int]) -> list[tuple[int, ...]]:
    """Return for each index where the handlers begin that may catch an exception raised there."""
    found, open_ones = [], list[TryBegin]()
    for item in items:
        if isinstance(item, TryBegin):
            open_ones.append(item)
        elif isinstance(item, TryEnd) and item.entry in open_ones:
            open_ones.remove(item.entry)
        found.append(tuple([place[entry.target] for entry in open_ones if isinstance(entry.target, Label)]))
    return found


def _effect(instr: Instr) -> tuple[frozenset[str], frozenset[str]]:
    """Return the variables that an instruction certainly sets, and those that it may read before that."""
    name, arg = instr.name, instr.arg
    if "_FAST" not in name:
        return frozenset(), frozenset()
    names = [a for a in (arg if isinstance(arg, tuple) else (arg,)) if isinstance(a, str)]
    if name in ("STORE_FAST", "STORE_FAST_STORE_FAST"):
        return frozenset(names), frozenset()
    if name == "STORE_FAST_LOAD_FAST":
        return frozenset(names[:1]), frozenset(names[1:]) - frozenset(names[:1])
    return frozenset(), frozenset(names)


def target_is_read(items: Sequence[Any], live: Sequence[frozenset[str]], head: int) -> bool:
    """Whether the loop variable of the `for` that begins at this index may be read."""
    instrs: list[tuple[int, Any]] = [
        (k, item) for k, item in enumerate(items[head : head + 8], head) if isinstance(item, Instr)
    ]
    _, (k, store) = instrs[:2]
    if store.name == "STORE_FAST":
        return store.arg in live[k + 1]
    if store.name == "STORE_FAST_LOAD_FAST":
        return store.arg[0] in live[k + 1] or store.arg[0] == store.arg[1]
    return store.name != "POP_TOP"
