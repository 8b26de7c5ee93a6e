"""Liveness: when an op's value is read for the last time, and where a store may write in place.

A functional store (setitem and the like) means "a copy with a change". Where the old version, and all
that may share its memory, is not read afterwards, the old version may be changed itself: n stores cost O(n).
"""

from __future__ import annotations

import operator
import types
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.rulebook.registry import rules
from wengert.tape.ops import Call, Op, Variable, references, value_of
from wengert.values import functional
from wengert.values.keys import is_basic

STORES = (functional.setitem, functional.additem, functional.setlens, functional.addlens)
_FRESH = (*STORES, functional.lens, functional.setpart)


class Liveness(NamedTuple):
    """`last[id]` is the id of the op that reads a value last; `in_place` has the ids of stores that may write."""

    last: list[int]
    in_place: frozenset[int]


def liveness(ops: Sequence[Op], result: Variable) -> Liveness:
    """The Liveness of the values of `ops`; the op at the position `result` is read after all of them."""
    last = last_readers(ops, result)
    return Liveness(last, Memory(last).in_place(ops))


def last_readers(ops: Sequence[Op], result: Variable) -> list[int]:
    """For each value the id of the op that reads it last, its own where none does; the result is read after all."""
    last = list(range(len(ops) + 1))
    for op in ops:
        for v in op.references():
            last[v.id] = max(last[v.id], op.id)
    last[result.id] = len(ops) + 1
    return last


class Memory:
    """Groups values that may share memory; of each group it knows who reads it last, and whether it may be written."""

    def __init__(self, last: list[int]) -> None:
        self.parent = list(range(len(last)))
        self.until = list(last)
        self.pinned = [False] * len(last)
        self.owner = [False] * len(last)

    def in_place(self, ops: Iterable[Op]) -> frozenset[int]:
        """Take in all ops; returns the ids of the stores that may write in place."""
        return frozenset([op.id for op in ops if self.enter(op)])

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

    def enter(self, op: Op) -> bool:
        """Take in the next op; returns whether it is a store that may write in place."""
        if not isinstance(op, Call):
            self.pinned[op.id] = True
            return False
        if is_store(op):
            self.owner[op.id] = True
            if self._may_write(op):
                self.join(op.args[0].id, op.id)
                return True
        elif is_new_memory(op):
            self.owner[op.id] = True
        elif not is_atom(op.val):
            self._share(op)
        return False

    def _may_write(self, op: Call) -> bool:
        x, *rest = op.args
        if not isinstance(x, Variable) or not self.owner[x.id] or not isinstance(value_of(x), np.ndarray):
            return False
        place = self.find(x.id)
        if self.pinned[place] or self.until[place] > op.id:
            return False
        overlap = any(self.find(v.id) == place for v in references([*rest, op.kwargs]))
        # NumPy assigns overlapping slices rightly
        return not overlap or (op.fn is functional.setitem and is_basic(rest[0]))

    def _share(self, op: Call) -> None:
        for v in op.references():
            if not is_atom(value_of(v)):
                self.join(op.id, v.id)
        if any(_holds_memory(arg) for arg in (*op.args, *op.kwargs.values())):
            self.pinned[self.find(op.id)] = True


def is_store(op: Op) -> bool:
    """Whether an op is a functional store."""
    return isinstance(op, Call) and any(op.fn is fn for fn in STORES)


def is_new_memory(op: Call) -> bool:
    """Whether the result of a call certainly is new memory.

    Its rule says so; but a function in Python may return what it was given.
    """
    if any(op.fn is fn for fn in _FRESH) or _gathers(op):
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
