"""Where the arrays that a tape computes go: into buffers that are kept between runs, and used again within one.

What allocating costs is not the memory but its first touch: a fresh array over the allocator's threshold is mapped,
faulted page by page and unmapped. So the set of buffers is as small as lifetimes allow, and outlives the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.from_tape import looks_at_memory
from wengert.compiling.graph import SUM
from wengert.compiling.vocabulary import SIGNS
from wengert.tape.liveness import Memory, last_readers
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Op, Variable, value_of
from wengert.values.names import is_of_library

LEAST = 1 << 14  # bytes; smaller arrays cost no page faults, and `x * y` is easier to read
UFUNCS = {sign: ufunc for ufunc, sign in SIGNS.items()}
_ALSO = (SUM, np.einsum)


class Buffer(NamedTuple):
    """The shape and dtype of an array that is kept."""

    shape: tuple[int, ...]
    dtype: np.dtype


class Placement(NamedTuple):
    """The buffers, and for the ids of ops which of them holds the result."""

    buffers: list[Buffer]
    places: dict[int, int]


class Pool:
    """Sets of buffers for the runs of one function: a run takes one and gives it back, so runs may overlap."""

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self.buffers = tuple(buffers)
        self.free: list[list[np.ndarray]] = []

    def take(self) -> list[np.ndarray]:
        """A set of buffers that nobody else has."""
        try:
            return self.free.pop()
        except IndexError:
            return [np.empty(*buffer) for buffer in self.buffers]

    def give(self, arrays: list[np.ndarray]) -> None:
        """Take back a set of buffers."""
        self.free.append(arrays)


def ufunc_at(fn: Any) -> Any:
    """The ufunc that an operator is for arrays; any other function is itself."""
    try:
        return UFUNCS.get(fn, fn)
    except TypeError:
        return fn


def placement(ops: Sequence[Op], result: Variable) -> Placement:
    """Which results of `ops` go into buffers: large ones that no user gets, and no function that might keep them."""
    if looks_at_memory(ops):
        return Placement([], {})
    memory = Memory(last_readers(ops, result))
    stores = memory.in_place(ops)
    for op in ops:
        if isinstance(op, Call) and _may_keep(op):
            for v in op.references():
                memory.pinned[memory.find(v.id)] = True
    return _Scan(ops, memory, stores).placement()


def _may_keep(op: Call) -> bool:
    """Whether a call runs code that nobody here knows, which may keep what it is given."""
    if isinstance(op.fn, Loop):
        return any([isinstance(each, Call) and _may_keep(each) for each in op.fn.body])
    called = [fn for fn in (op.fn, *op.args, *op.kwargs.values()) if callable(fn) and not isinstance(fn, Variable)]
    return not all(map(is_of_library, called))


class _Scan:
    """Goes through the ops in order, and gives each group of values that share memory a buffer while it lives."""

    def __init__(self, ops: Sequence[Op], memory: Memory, stores: frozenset[int]) -> None:
        self.ops, self.memory, self.stores = ops, memory, stores
        self.free: dict[Buffer, list[int]] = {}
        self.held: dict[int, int] = {}  # group -> buffer
        self.found = Placement([], {})
        self.makers: dict[int, int] = {}
        for op in ops:
            if memory.owner[op.id] and op.id not in stores:
                place = memory.find(op.id)
                self.makers[place] = self.makers.get(place, 0) + 1

    def placement(self) -> Placement:
        """The Placement of all."""
        dying: dict[int, set[int]] = {}
        for op in self.ops:
            group = self.memory.find(op.id)
            if isinstance(op, Call) and self.may_place(op, group):
                self.place(op, group)
                dying.setdefault(self.memory.until[group], set()).add(group)
            for dead in dying.pop(op.id, ()):
                if dead in self.held:
                    k = self.held.pop(dead)
                    self.free.setdefault(self.found.buffers[k], []).append(k)
        return self.found

    def may_place(self, op: Call, group: int) -> bool:
        """Whether the result of a call can be written into a buffer."""
        memory, x = self.memory, op.val
        return (
            type(x) is np.ndarray
            and x.nbytes >= LEAST
            and takes_out(op)
            and self.makers.get(group) == 1
            and not memory.pinned[group]
            and memory.until[group] <= len(self.ops)
        )

    def place(self, op: Call, group: int) -> None:
        """Give an op the buffer of an operand that dies with it, one that is free, or a new one."""
        buffer = Buffer(op.val.shape, op.val.dtype)
        heir = self.dying_operand(op, buffer)
        if heir is not None:
            k = self.held.pop(heir)
        elif self.free.get(buffer):
            k = self.free[buffer].pop()
        else:
            k = len(self.found.buffers)
            self.found.buffers.append(buffer)
        self.held[group] = self.found.places[op.id] = k

    def dying_operand(self, op: Call, buffer: Buffer) -> int | None:
        """The group of an operand, of the same form, that nobody reads after an elementwise op."""
        if not is_elementwise(op):
            return None
        read = [(v.id, self.memory.find(v.id)) for v in op.references()]
        for group in dict.fromkeys([group for _, group in read]):
            if self.memory.until[group] == op.id and group in self.held:
                whole = all([v in self.found.places or v in self.stores for v, its in read if its == group])
                if whole and self.found.buffers[self.held[group]] == buffer:
                    return group
        return None


def is_elementwise(op: Call) -> bool:
    """Whether a call is of a ufunc that computes element by element."""
    ufunc = ufunc_at(op.fn)
    return isinstance(ufunc, np.ufunc) and ufunc.signature is None


def takes_out(op: Call) -> bool:
    """Whether a call can be told where to put its result: one of plain arrays and numbers."""
    values = [value_of(v) for v in op.args]
    plain = all([(type(x) is np.ndarray and x.dtype.kind in "fciub") or not isinstance(x, np.ndarray) for x in values])
    if op.kwargs or not plain or op.val.dtype.kind not in "fciub":
        return False
    if op.fn is np.zeros:
        return True
    ufunc = ufunc_at(op.fn)
    if isinstance(ufunc, np.ufunc):
        return len(op.args) == ufunc.nin and ufunc.nout == 1
    return any([op.fn is fn or op.fn == fn for fn in _ALSO])
