"""Place the arrays of a tape in buffers, which are reused within a run and kept between runs.

Allocation is expensive because of page faults: a fresh array above the allocator's threshold is mapped, faulted page by
page and unmapped. So the set of buffers is as small as lifetimes allow, and outlives the run.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple
from weakref import WeakSet

import numpy as np

from wengert.compiling.graphs.from_tape import looks_at_memory
from wengert.compiling.ops import as_ufunc, info, is_allocation, is_ufunc_call
from wengert.tape.liveness import MemoryGroups, loop_memory
from wengert.tape.loops import Loop, calls_in
from wengert.tape.ops import Call, Op, Variable, key_value, references, value_of
from wengert.values import functional
from wengert.values.keys import is_basic, key_parts
from wengert.values.names import is_of_library

LEAST_BYTES = 1 << 14  # bytes; smaller arrays cost no page faults, and `x * y` is easier to read


class Buffer(NamedTuple):
    """The shape and dtype of a buffer."""

    shape: tuple[int, ...]
    dtype: np.dtype


class Placement(NamedTuple):
    """Buffers, and the index of the one that holds the result of each op, by the op's id.

    `bodies` are the placements of loop bodies, by the ids of the loops' calls.
    """

    buffers: list[Buffer]
    places: dict[int, int]
    bodies: dict[int, Placement]

    def inside(self, loop: int) -> Placement:
        """Return the Placement of a loop's body, with the same buffers."""
        return self.bodies.setdefault(loop, Placement(self.buffers, {}, {}))


class Pool:
    """Sets of buffers for the runs of one function: a run takes a set and returns it, so runs may overlap.

    All pools together keep at most `most` bytes: if one needs another set, the least recently used pools free theirs.
    """

    most = 1 << 30
    pools: ClassVar[WeakSet[Pool]] = WeakSet()
    _clock: ClassVar = itertools.count()
    _lock: ClassVar = threading.Lock()

    def __init__(self, buffers: Sequence[Buffer]) -> None:
        self.buffers = tuple(buffers)
        self.size = sum([math.prod(buffer.shape) * buffer.dtype.itemsize for buffer in buffers])
        self.free: list[list[np.ndarray]] = []
        self.used = 0
        Pool.pools.add(self)

    def take(self) -> list[np.ndarray]:
        """Return a set of buffers that no other run uses."""
        try:
            return self.free.pop()
        except IndexError:
            self._make_room()
            return [np.empty(*buffer) for buffer in self.buffers]

    def give(self, arrays: list[np.ndarray]) -> None:
        """Take back a set of buffers."""
        if self.size <= self.most:
            self.free.append(arrays)
            self.used = next(self._clock)

    def _make_room(self) -> None:
        with self._lock:
            pools = sorted(Pool.pools, key=lambda pool: pool.used)
            kept = self.size + sum([pool.size * len(pool.free) for pool in pools])
            for pool in pools:
                if kept > self.most:
                    kept -= pool.size * len(pool.free)
                    pool.free.clear()


def place_results(ops: Sequence[Op], memory: MemoryGroups) -> Placement:
    """Place large results of `ops` in buffers, unless they are returned or a function might retain them.

    It is known how these use memory if `memory` has calls that reuse it.
    """
    found = Placement([], {}, {})
    has_large = any(map(is_large, calls_in(ops)))
    if has_large and (memory.reuses is not None or not looks_at_memory(ops)):
        _BufferAllocator(ops, memory, found, {}).place_all()
    return found


def has_known_memory_use(ops: Sequence[Op]) -> bool:
    """Whether it is known how all calls use memory, also in loops."""
    return not looks_at_memory(ops) and not may_retain_arguments(ops)


def may_retain_arguments(ops: Iterable[Op]) -> bool:
    """Whether these ops call unknown code, which may retain its arguments."""
    called = {id(fn): fn for op in calls_in(ops) for fn in (op.fn, *op.args, *op.kwargs.values()) if callable(fn)}
    return not all([is_of_library(fn) for fn in called.values() if not isinstance(fn, Loop)])


class _BufferAllocator:
    """Visits ops in order, and assigns a buffer to each group of values that share memory while it is alive."""

    def __init__(
        self, ops: Sequence[Op], memory: MemoryGroups, found: Placement, free: dict[Buffer, list[int]]
    ) -> None:
        self.ops, self.memory, self.found, self.free = ops, memory, found, free
        self.held: dict[int, int] = {}  # group -> buffer
        self.dying: dict[int, list[int]] = {}  # groups, by their last reader
        self.rows, self.makers = computed_in_stores(ops, memory), makers_of(ops, memory)
        for op in ops if memory.reuses is None else ():
            if may_retain_arguments([op]):
                for v in op.references():
                    memory.pinned[memory.find(v.id)] = True

    def place_all(self) -> None:
        """Place the results of all ops."""
        for op in self.ops:
            group = self.memory.find(op.id)
            if isinstance(op, Call) and self.may_place(op, group):
                self.place_call(op, group)
            elif isinstance(op, Call) and isinstance(op.fn, Loop):  # its body has buffers that are free while it runs
                inside = loop_memory(op.fn, self.memory.reuses).memory
                _BufferAllocator(list(op.fn.body), inside, self.found.inside(op.id), self.free).place_all()
            for dead in self.dying.pop(op.id, ()):
                if dead in self.held:
                    k = self.held.pop(dead)
                    self.free.setdefault(self.found.buffers[k], []).append(k)

    def take(self, op: Call) -> int:
        """Return a buffer for the result of a call: a free one, or a new one."""
        buffer = Buffer(op.val.shape, op.val.dtype)
        if self.free.get(buffer):
            return self.free[buffer].pop()
        self.found.buffers.append(buffer)
        return len(self.found.buffers) - 1

    def may_place(self, op: Call, group: int) -> bool:
        """Whether the result of a call may be written into a buffer."""
        memory = self.memory
        return (
            is_large(op)
            and accepts_out(op)
            and op.id not in self.rows
            and [maker for maker in self.makers.get(group, ()) if not is_getfield(maker)] == [op]
            and not memory.pinned[group]
            and memory.last_read[group] <= len(self.ops)
        )

    def place_call(self, op: Call, group: int) -> None:
        """Assign to an op the buffer of an operand that it reads last, a free one, or a new one."""
        heir = self.reusable_operand(op, Buffer(op.val.shape, op.val.dtype))
        k = self.take(op) if heir is None else self.held.pop(heir)
        self.found.places[op.id] = self.held[group] = k
        self.dying.setdefault(self.memory.last_read[group], []).append(group)

    def reusable_operand(self, op: Call, buffer: Buffer) -> int | None:
        """Return the group of an operand of the same shape that no op after this elementwise one reads, or None."""
        if not is_ufunc_call(op):
            return None
        read = [(v.id, self.memory.find(v.id)) for v in op.references()]
        for group in dict.fromkeys([group for _, group in read]):
            if self.memory.last_read[group] == op.id and group in self.held:
                whole = all([v in self.found.places or v in self.memory.in_place for v, its in read if its == group])
                if whole and self.found.buffers[self.held[group]] == buffer:
                    return group
        return None


def is_getfield(op: Op) -> bool:
    """Whether an op extracts a field of another op's result, which shares its memory."""
    return isinstance(op, Call) and op.fn is functional.getfield


def makers_of(ops: Iterable[Op], memory: MemoryGroups) -> dict[int, list[Op]]:
    """Map each group of values that share memory to the ops that allocate it."""
    makers: dict[int, list[Op]] = {}
    for op in ops:
        if memory.owner[op.id] and op.id not in memory.in_place and op.id not in memory.overwritten:
            makers.setdefault(memory.find(op.id), []).append(op)
    return makers


def may_reuse(op: Call) -> bool:
    """Whether a call may overwrite one of its operands: its result is large, and computed element by element."""
    return is_large(op) and is_ufunc_call(op) and accepts_out(op)


def is_large(op: Call) -> bool:
    """Whether the result of a call is an array large enough for a buffer."""
    return type(op.val) is np.ndarray and op.val.nbytes >= LEAST_BYTES


def computed_in_stores(ops: Sequence[Op], memory: MemoryGroups) -> dict[int, Call]:
    """Find ops whose results can be computed directly in the target of a store: `np.add(a, b, S[k])`.

    Return the store by the op's id. So can operands that such an op reads last, element by element.
    """
    found: dict[int, Call] = {}
    stores = [op for op in ops if isinstance(op, Call) and op.fn is functional.setitem and op.id in memory.in_place]
    is_known = bool(stores) and (memory.reuses is not None or has_known_memory_use(ops))
    makers = makers_of(ops, memory) if is_known else {}
    for store in stores:
        read: list[Any] = [store.args[2]]
        while read:
            alone = [v.op for v in read if isinstance(v, Variable) and makers.get(memory.find(v.id)) == [v.op]]
            op: Any = next((op for op in alone if _can_lie_in_target(ops, memory, store, op)), None)
            if op is None:
                break
            found[op.id] = store
            inside = is_ufunc_call(op) and value_of(store.args[0])[key_value(store.args[1])].flags.c_contiguous
            read = [v for v in op.references() if memory.last_read[memory.find(v.id)] == op.id] if inside else []
    return found


def _can_lie_in_target(ops: Sequence[Op], memory: MemoryGroups, store: Call, op: Any) -> bool:
    """Whether `op` may compute its result directly in the target of `store`."""
    x, key, _ = store.args
    target, row = memory.find(x.id), memory.find(op.id)
    known = key_value(key)
    if not (isinstance(op, Call) and is_large(op) and accepts_out(op) and not is_allocation(op.fn) and is_basic(known)):
        return False
    part, until = value_of(x)[known], memory.last_read[row]
    same = type(part) is np.ndarray and (part.shape, part.dtype) == (op.val.shape, op.val.dtype)
    if not same or memory.pinned[row] or until > len(ops) or memory.written[row]:
        return False
    spans = [k for k in key_parts(key) if type(k) is slice and any(references(k))]
    early = all([u.id < op.id for u in references((x, key))])
    if not early or (spans and 1 in part.shape):  # in another iteration the slice may be longer
        return False
    between = [other for other in ops if op.id < other.id <= until and other is not store]
    return not any([memory.find(u.id) == target for other in between for u in other.references()])


def is_numeric_call(op: Call) -> bool:
    """Whether the arguments and the result of a call are plain arrays and numbers."""
    values = [value_of(v) for v in op.args]
    plain = all([(type(x) is np.ndarray and x.dtype.kind in "fciub") or not isinstance(x, np.ndarray) for x in values])
    return plain and isinstance(op.val, (np.ndarray, np.generic)) and op.val.dtype.kind in "fciub"


def accepts_out(op: Call) -> bool:
    """Whether a call can write its result into a given array (`out`): one of plain arrays and numbers."""
    if op.kwargs or not is_numeric_call(op):
        return False
    if is_allocation(op.fn) or op.fn is np.copy:
        return True
    ufunc = as_ufunc(op.fn)
    if isinstance(ufunc, np.ufunc):
        return len(op.args) == ufunc.nin and ufunc.nout == 1
    return info(op.fn).takes_out
