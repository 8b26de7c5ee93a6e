"""Liveness: when an op's value is read for the last time, and where a store may write in place.

A functional store (setitem and the like) means "a copy with a change". Where the old version, and all
that may share its memory, is not read afterwards, the old version may be changed itself: n stores cost O(n).
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

STORES = Functions(functional.setitem, functional.additem, functional.setlens, functional.addlens)
_FRESH = Functions(*STORES, functional.lens, functional.setpart)


InPlace = frozenset[Any]


class Liveness(NamedTuple):
    """`last[id]` is the id of the op that reads a value last; `in_place` has the ids of stores that may write.

    In `in_place` (id, k) says that a loop may write into the array that it is given as the k-th to carry.
    """

    last: list[int]
    in_place: InPlace


def liveness(ops: Sequence[Op], result: Variable) -> Liveness:
    """The Liveness of the values of `ops`; the op at the position `result` is read after all of them."""
    memory = memory_of(ops, result)
    return Liveness(memory.last, frozenset(memory.in_place))


def memory_of(ops: Sequence[Op], result: Variable, reuses: Callable[[Call], bool] | None = None) -> Memory:
    """The Memory of the values of `ops`; the op at the position `result` is read after all of them."""
    return Memory(ops, last_readers(ops, result), reuses=reuses)


def last_readers(ops: Sequence[Op], result: Variable) -> list[int]:
    """For each value the id of the op that reads it last, its own where none does; the result is read after all."""
    last = list(range(len(ops) + 1))
    for position, op in enumerate(ops, 1):
        for v in op.references():
            last[v.id] = position
    last[result.id] = len(ops) + 1
    return last


class Memory:
    """Groups values that may share memory; of each group it knows who reads it last, and whether it may be written.

    `last` are the last readers, `own` the ids of inputs whose arrays nobody else has. `in_place` has the ids of the
    stores that may write in place, (id, k) for loops. `over` has the ids of calls that may write over an operand that
    a loop carries, which is the value: calls of which `reuses` is true. Each part of what a loop gives has a number
    beyond those of the ops.
    """

    def __init__(
        self,
        ops: Iterable[Op],
        last: list[int],
        own: frozenset[int] = frozenset(),
        reuses: Callable[[Call], bool] | None = None,
    ) -> None:
        self.last, self.own, self.reuses = last, own, reuses
        self.parent = list(range(len(last)))
        self.until = list(last)
        self.pinned = [False] * len(last)
        self.owner = [False] * len(last)
        self.written = [False] * len(last)
        self.carried = [False] * len(last)
        self.parts: dict[int, list[int]] = {}
        self.over: dict[int, Variable] = {}
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
            self.until[a] = max(self.until[a], self.until[b])
            self.pinned[a] = self.pinned[a] or self.pinned[b]
            self.written[a] = self.written[a] or self.written[b]
            self.carried[a] = self.carried[a] or self.carried[b]

    def enter(self, op: Op) -> None:
        """Take in the next op."""
        if not isinstance(op, Call):
            self.owner[op.id] = self.carried[op.id] = op.id in self.own
            self.pinned[op.id] = op.id not in self.own
        elif is_store(op):
            self.owner[op.id] = True
            if self._may_write(op, op.args[0], [*op.args[1:], op.kwargs]):
                self._write(op.id, op.args[0])
                self.join(op.args[0].id, op.id)
        elif isinstance(op.fn, Loop):
            self._run(op, carrying(op.fn, self.reuses))
        elif is_new_memory(op):
            self.owner[op.id] = True
            if self.reuses is not None and self.reuses(op):
                self._reuse(op)
        elif not is_atom(op.val):
            self._share(op)

    def _write(self, what: Any, x: Variable) -> None:
        self.in_place.add(what)
        self.written[self.find(x.id)] = True

    def _may_write(self, op: Call, x: Any, rest: list[Any]) -> bool:
        """Whether an op, which reads `x` and the rest, may write into `x`."""
        if not isinstance(x, Variable) or not self.owner[x.id] or not isinstance(value_of(x), np.ndarray | list):
            return False
        place = self.find(x.id)
        if self.pinned[place] or self.until[place] > op.id:
            return False
        overlap = any(self.find(v.id) == place for v in references(rest))
        # NumPy assigns overlapping slices rightly
        return not overlap or (op.fn is functional.setitem and is_basic(rest[0]))

    def _reuse(self, op: Call) -> None:
        """Have a call write over an operand of its form that a loop carries, if nobody reads that afterwards."""
        read = [v for v in op.references() if not is_atom(value_of(v))]
        for v in read:
            place, x = self.find(v.id), value_of(v)
            whole = all([self.owner[u.id] for u in read if self.find(u.id) == place])
            dies = self.carried[place] and not self.pinned[place] and self.until[place] <= op.id
            if dies and whole and (x.shape, x.dtype) == (op.val.shape, op.val.dtype):
                self.over[op.id] = v
                self.written[place] = True
                self.join(v.id, op.id)
                return

    def _run(self, op: Call, loop: Carrying) -> None:
        """Take in a loop: it may write into what it is given to carry, or into a copy, and gives parts."""
        first = len(op.fn.steps)
        copied = {k for k in loop.written if not self._may_write(op, op.args[k], [*op.args[:k], *op.args[k + 1 :]])}
        for k in loop.written - copied:
            self._write((op.id, k - first), op.args[k])
        self.parts[op.id] = [self._part(op, part, copied) for part in loop.parts]
        for node, part in zip(self.parts[op.id], loop.parts, strict=True):
            self.join(self.parts[op.id][part.group], node)

    def _part(self, op: Call, part: Part, copied: set[int]) -> int:
        node, args = len(self.parent), [op.args[k] for k in part.given - copied]
        given = [a for a in args if isinstance(a, Variable)]
        self.parent.append(node)
        self.until.append(self.until[op.id])
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
        """The numbers of what lies in the memory of `v`, as far as `op` takes it: of loops, the part that it takes."""
        parts = self.parts.get(v.id)
        if parts is None:
            return [v.id]
        return [parts[op.args[1]]] if op.fn is functional.getfield and type(op.args[1]) is int else [v.id, *parts]


class Part(NamedTuple):
    """The memory that a part of a loop's result may share.

    It may lie in that of the arguments `given`, or of the part of the number `group`, the first such one; `pinned` in
    that of something else. It is `owned` where it is an array of its own, if what it was given was one.
    """

    given: frozenset[int]
    group: int
    pinned: bool
    owned: bool


class Carrying(NamedTuple):
    """The memory use of a loop: the Memory of its body's values, and which arguments it has `written` into.

    Into those it writes if they are its own, else into copies of them, which it makes once.
    """

    memory: Memory
    written: frozenset[int]
    parts: list[Part]


def carrying(loop: Loop, reuses: Callable[[Call], bool] | None = None) -> Carrying:
    """The Carrying of a loop: its own are at first all arrays that it carries, and of these what stays alone."""
    body = loop.body
    ops, inputs, results = list(body), [v.id for v in loop.inputs], loop.results
    last = last_readers(ops, body.result)
    for v in references(results):
        last[v.id] = len(ops) + 1
    first = len(loop.steps)
    own = frozenset(inputs[first : first + loop.carried])
    while True:
        memory = Memory([op for op in ops if op is not body.result.op], last, own, reuses)
        places = [memory.find(v.id) if isinstance(v, Variable) else 0 for v in results]
        alone = [
            memory.owner[v.id] and not memory.pinned[place] and places.count(place) == 1 if place else False
            for v, place in zip(results, places, strict=True)
        ]
        still = frozenset([k for k, its in zip(inputs[first:], alone[: loop.carried], strict=False) if its]) & own
        if still == own:
            break
        own = still
    given, written = _around(loop, memory, places)
    parts = [
        Part(frozenset(those), places.index(place), not place or memory.pinned[place], its)
        for those, place, its in zip(given, places, alone, strict=True)
    ]
    return Carrying(memory, written, parts)


def _around(loop: Loop, memory: Memory, places: list[int]) -> tuple[list[set[int]], frozenset[int]]:
    """The arguments in whose memory each part of the result may lie, and those that are written into.

    What is given comes back in the next iteration at another place.
    """
    groups, carried = [memory.find(v.id) for v in loop.inputs], range(len(loop.steps), len(loop.steps) + loop.carried)
    given = [{k for k, group in enumerate(groups) if group == place} for place in places]
    known = -1
    while known < (known := sum(map(len, given))):
        for those in given:
            those.update(*[given[carried.index(k)] for k in those if k in carried])
    written = {k for k in carried if memory.written[groups[k]]}
    return given, frozenset(written.union(*[given[carried.index(k)] for k in written]))


def is_store(op: Op) -> bool:
    """Whether an op is a functional store."""
    return isinstance(op, Call) and op.fn in STORES


def is_new_memory(op: Call) -> bool:
    """Whether the result of a call certainly is new memory.

    Its rule says so; but a function in Python may return what it was given.
    """
    if op.fn in _FRESH or _gathers(op):
        return True
    if isinstance(op.fn, Variable | types.FunctionType) or "out" in op.kwargs:
        return False
    if getattr(op.fn, "__name__", "") in ("conj", "conjugate"):  # the methods return a real array itself
        return False
    rule = rules.get(op.fn)
    return rule is not None and rule.kind != "rrule" and not rule.view and not rule.identity


def _gathers(op: Call) -> bool:
    """Whether a call picks elements by arrays of places, or sums products: neither ever gives a view."""
    if op.fn is not operator.getitem:
        return op.fn is np.einsum and len(op.args) > 2 and not op.kwargs
    if type(value_of(op.args[0])) is not np.ndarray:
        return False
    key = value_of(op.args[1])
    parts = [value_of(part) for part in (key if isinstance(key, tuple) else (key,))]
    return any([isinstance(part, np.ndarray) and part.ndim > 0 for part in parts])


def is_atom(value: Any) -> bool:
    """Whether a value is immutable and holds no memory: a number, a text, None."""
    return value is None or isinstance(value, int | float | complex | str | bytes | np.number | np.bool_)


def _holds_memory(arg: Any) -> bool:
    if isinstance(arg, tuple | list | dict):
        return any(map(_holds_memory, arg.values() if isinstance(arg, dict) else arg))
    return not isinstance(arg, Variable | slice | type(Ellipsis)) and not is_atom(arg)


def drops(live: Liveness, ops: Iterable[Op]) -> list[list[int]]:
    """For each position, the values that nobody reads after it, and that may be freed."""
    table: list[list[int]] = [[] for _ in live.last]
    for op in ops:
        if live.last[op.id] < len(table):
            table[live.last[op.id]].append(op.id)
    return table
