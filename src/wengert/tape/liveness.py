"""Liveness: which op reads each value last, and which stores may write in place.

A functional store (setitem and the like) means "a copy with a change". If no later op reads the old version, or a value
that may share its memory, the store may write into the old version itself. So n stores cost O(n).
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.rulebook.registry import rules
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Op, Variable, references, value_of
from wengert.values import functional
from wengert.values.identity_set import Functions
from wengert.values.keys import is_basic

_IN_PLACE_STORES = Functions(functional.setitem, functional.additem, functional.setlens, functional.addlens)
_ALLOCATING = Functions(*_IN_PLACE_STORES, functional.lens, functional.setpart)


InPlace = frozenset[Any]


class Liveness(NamedTuple):
    """`last[id]` is the id of the op that reads a value last; `in_place` has the ids of stores that may write in place.

    A pair (id, k) in `in_place` says that a loop may write into its k-th loop-carried argument.
    """

    last: list[int]
    in_place: InPlace


def liveness(ops: Sequence[Op], result: Variable) -> Liveness:
    """Find the Liveness of the values of `ops`; `result` is read after all of them."""
    memory = memory_groups(ops, result)
    return Liveness(memory.last, frozenset(memory.in_place))


def memory_groups(ops: Sequence[Op], result: Variable, reuses: Callable[[Call], bool] | None = None) -> MemoryGroups:
    """Find the MemoryGroups of the values of `ops`; `result` is read after all of them."""
    return MemoryGroups(ops, last_readers(ops, result), reuses=reuses)


def last_readers(ops: Sequence[Op], result: Variable) -> list[int]:
    """List for each value the id of the op that reads it last, or its own id; `result` is read after all ops."""
    last = list(range(len(ops) + 1))
    for position, op in enumerate(ops, 1):
        for v in op.references():
            last[v.id] = position
    last[result.id] = len(ops) + 1
    return last


class MemoryGroups:
    """Groups of values that may share memory: for each group its last reader, and whether it may be written.

    `last` are the last readers of values, `last_read` those of groups. `loops` has what is known of loops.
    `owned_inputs` are the ids of inputs whose arrays no other code refers to. `in_place` has the ids of the stores that
    may write in place, (id, k) for loops.
    `overwritten` maps a call, of which `reuses` is true, to the loop-carried operand that it may overwrite. Each part
    of a loop's result has a number above those of the ops.
    """

    def __init__(
        self,
        ops: Iterable[Op],
        last: list[int],
        owned_inputs: frozenset[int] = frozenset(),
        reuses: Callable[[Call], bool] | None = None,
        loops: dict[Loop, LoopMemory] | None = None,
    ) -> None:
        self.last, self.owned_inputs, self.reuses = last, owned_inputs, reuses
        self.loops: dict[Loop, LoopMemory] = {} if loops is None else loops
        self.parent = list(range(len(last)))
        self.last_read = list(last)
        self.pinned = [False] * len(last)
        self.owner = [False] * len(last)
        self.written = [False] * len(last)
        self.carried = [False] * len(last)
        self.parts: dict[int, list[int]] = {}
        self.overwritten: dict[int, Variable] = {}
        self.in_place: set[Any] = set()
        for op in ops:
            self.enter(op)

    def find(self, k: int) -> int:
        while self.parent[k] != k:
            self.parent[k] = k = self.parent[self.parent[k]]
        return k

    def join(self, a: int, b: int) -> None:
        a, b = self.find(a), self.find(b)
        if a != b:
            self.parent[b] = a
            self.last_read[a] = max(self.last_read[a], self.last_read[b])
            self.pinned[a] = self.pinned[a] or self.pinned[b]
            self.written[a] = self.written[a] or self.written[b]
            self.carried[a] = self.carried[a] or self.carried[b]

    def enter(self, op: Op) -> None:
        """Add the next op."""
        if not isinstance(op, Call):
            self.owner[op.id] = self.carried[op.id] = op.id in self.owned_inputs
            self.pinned[op.id] = op.id not in self.owned_inputs
        elif is_store(op):
            self.owner[op.id] = True
            if self._may_write(op, op.args[0], [*op.args[1:], op.kwargs]):
                self._write(op.id, op.args[0])
                self.join(op.args[0].id, op.id)
        elif isinstance(op.fn, Loop):
            self._run(op, loop_memory(op.fn, self.reuses, self.loops))
        elif is_new_memory(op):
            self.owner[op.id] = True
            if self.reuses is not None and self.reuses(op):
                self._reuse(op)
        elif not is_atom(op.val):
            self._share(op)

    def _write(self, store: Any, x: Variable) -> None:
        self.in_place.add(store)
        self.written[self.find(x.id)] = True

    def _may_write(self, op: Call, x: Any, rest: list[Any]) -> bool:
        """Whether an op that reads `x` and `rest` may write into `x`."""
        if not isinstance(x, Variable) or not self.owner[x.id] or not isinstance(value_of(x), np.ndarray | list):
            return False
        place = self.find(x.id)
        if self.pinned[place] or self.last_read[place] > op.id:
            return False
        overlap = any(self.find(v.id) == place for v in references(rest))
        # NumPy assigns overlapping slices correctly
        return not overlap or (op.fn is functional.setitem and is_basic(rest[0]))

    def _reuse(self, op: Call) -> None:
        """Let a call overwrite a loop-carried operand of its shape and dtype that no later op reads."""
        read = [v for v in op.references() if not is_atom(value_of(v))]
        for v in read:
            place, x = self.find(v.id), value_of(v)
            whole = all([self.owner[u.id] for u in read if self.find(u.id) == place])
            dies = self.carried[place] and not self.pinned[place] and self.last_read[place] <= op.id
            if dies and whole and (x.shape, x.dtype) == (op.val.shape, op.val.dtype):
                self.overwritten[op.id] = v
                self.written[place] = True
                self.join(v.id, op.id)
                return

    def _run(self, op: Call, loop: LoopMemory) -> None:
        """Add a loop: it writes into its loop-carried arguments or into copies of them, and returns parts."""
        first = len(op.fn.steps)
        copied = {k for k in loop.written if not self._may_write(op, op.args[k], [*op.args[:k], *op.args[k + 1 :]])}
        for k in loop.written - copied:
            self._write((op.id, k - first), op.args[k])
        self.parts[op.id] = [self._part(op, part, copied) for part in loop.parts]
        for node, part in zip(self.parts[op.id], loop.parts, strict=True):
            self.join(self.parts[op.id][part.group], node)

    def _part(self, op: Call, part: LoopResultPart, copied: set[int]) -> int:
        node, args = len(self.parent), [op.args[k] for k in part.arguments - copied]
        given = [a for a in args if isinstance(a, Variable)]
        self.parent.append(node)
        self.last_read.append(self.last_read[op.id])
        self.pinned.append(part.pinned or any(map(_holds_memory, args)))
        self.owner.append(part.owned and all([self.owner[v.id] for v in given]))
        self.written.append(False)
        self.carried.append(False)
        for v in given:
            self.join(v.id, node)
        return node

    def _share(self, op: Call) -> None:
        for v in op.references():
            if not is_atom(value_of(v)):
                for k in self._behind(op, v):
                    self.join(op.id, k)
                    self.owner[op.id] = k != v.id and op.fn is functional.getfield and self.owner[k]
        if any(_holds_memory(arg) for arg in (*op.args, *op.kwargs.values())):
            self.pinned[self.find(op.id)] = True

    def _behind(self, op: Call, v: Variable) -> list[int]:
        """Return the numbers of the values that `op` reads in `v`: of a loop's result, only the part that it reads."""
        parts = self.parts.get(v.id)
        if parts is None:
            return [v.id]
        return [parts[op.args[1]]] if op.fn is functional.getfield and type(op.args[1]) is int else [v.id, *parts]


class LoopResultPart(NamedTuple):
    """The memory that a part of a loop's result may share.

    That is the memory of the arguments at the positions `arguments`, or of the part number `group`, the first such
    part. `pinned` says that it may share other memory. It is `owned` if it is an array of its own, provided that these
    arguments are.
    """

    arguments: frozenset[int]
    group: int
    pinned: bool
    owned: bool


class LoopMemory(NamedTuple):
    """The memory use of a loop: the MemoryGroups of its body's values, and the arguments that are `written`.

    The loop writes into these arguments if it owns them, else into copies, which it makes once.
    """

    memory: MemoryGroups
    written: frozenset[int]
    parts: list[LoopResultPart]


def loop_memory(
    loop: Loop, reuses: Callable[[Call], bool] | None = None, known: dict[Loop, LoopMemory] | None = None
) -> LoopMemory:
    """Find the LoopMemory of a loop, and enter it in `known`.

    Assume that it owns all loop-carried arrays. Drop those that come to share memory, and repeat until none does.
    """
    known = {} if known is None else known
    if loop in known:
        return known[loop]
    body = loop.body
    ops, inputs, results = list(body), [v.id for v in loop.inputs], loop.results
    last = last_readers(ops, body.result)
    for v in references(results):
        last[v.id] = len(ops) + 1
    first = len(loop.steps)
    owned = frozenset(inputs[first : first + loop.carried])
    while True:
        memory = MemoryGroups([op for op in ops if op is not body.result.op], last, owned, reuses, known)
        groups = [memory.find(v.id) if isinstance(v, Variable) else 0 for v in results]
        unshared = [
            memory.owner[v.id] and not memory.pinned[group] and groups.count(group) == 1 if group else False
            for v, group in zip(results, groups, strict=True)
        ]
        pairs = zip(inputs[first:], unshared[: loop.carried], strict=False)
        still_owned = frozenset([k for k, is_unshared in pairs if is_unshared]) & owned
        if still_owned == owned:
            break
        owned = still_owned
    given, written = _shared_arguments(loop, memory, groups)
    parts = [
        LoopResultPart(frozenset(positions), groups.index(group), not group or memory.pinned[group], is_unshared)
        for positions, group, is_unshared in zip(given, groups, unshared, strict=True)
    ]
    known[loop] = LoopMemory(memory, written, parts)
    return known[loop]


def _shared_arguments(loop: Loop, memory: MemoryGroups, places: list[int]) -> tuple[list[set[int]], frozenset[int]]:
    """Find the arguments in whose memory each part of the result may lie, and the arguments that are written.

    An iteration may pass a loop-carried array on in another position, so this is repeated until nothing changes.
    """
    groups, carried = [memory.find(v.id) for v in loop.inputs], range(len(loop.steps), len(loop.steps) + loop.carried)
    given = [{k for k, group in enumerate(groups) if group == place} for place in places]
    if loop.ending != "count":  # after no iteration the results are the arguments
        given = [{k, *positions} if k in carried else positions for k, positions in enumerate(given, len(loop.steps))]
    count = -1
    while count < (count := sum(map(len, given))):
        for positions in given:
            positions.update(*[given[carried.index(k)] for k in positions if k in carried])
    written = {k for k in carried if memory.written[groups[k]]}
    return given, frozenset(written.union(*[given[carried.index(k)] for k in written]))


def is_store(op: Op) -> bool:
    """Whether an op is a functional store."""
    return isinstance(op, Call) and op.fn in _IN_PLACE_STORES


def is_new_memory(op: Call) -> bool:
    """Whether the result of a call is certainly new memory.

    Its rule says so. But a Python function may return one of its arguments.
    """
    if op.fn in _ALLOCATING or _gathers(op):
        return True
    if isinstance(op.fn, Variable | types.FunctionType) or "out" in op.kwargs:
        return False
    if getattr(op.fn, "__name__", "") in ("conj", "conjugate"):  # of a real array, the methods return it itself
        return False
    rule = rules.get(op.fn)
    return rule is not None and rule.kind != "rrule" and not rule.view and not rule.identity


def _gathers(op: Call) -> bool:
    """Whether a call indexes by arrays of integers or booleans, or is an einsum of several operands: never a view."""
    if op.fn is not operator.getitem:
        return op.fn is np.einsum and len(op.args) > 2 and not op.kwargs
    if type(value_of(op.args[0])) is not np.ndarray:
        return False
    key = value_of(op.args[1])
    parts = [value_of(part) for part in (key if isinstance(key, tuple) else (key,))]
    return any([isinstance(part, np.ndarray) and part.ndim > 0 for part in parts])


def is_atom(value: Any) -> bool:
    """Whether a value is immutable and holds no array memory: a number, a string, None."""
    return value is None or isinstance(value, int | float | complex | str | bytes | np.number | np.bool_)


def _holds_memory(arg: Any) -> bool:
    if isinstance(arg, tuple | list | dict):
        return any(map(_holds_memory, arg.values() if isinstance(arg, dict) else arg))
    return not isinstance(arg, Variable | slice | type(Ellipsis)) and not is_atom(arg)


def values_to_free(live: Liveness, ops: Iterable[Op]) -> list[list[int]]:
    """List for each position the values that no later op reads, and that may be freed."""
    table: list[list[int]] = [[] for _ in live.last]
    for op in ops:
        if live.last[op.id] < len(table):
            table[live.last[op.id]].append(op.id)
    return table
