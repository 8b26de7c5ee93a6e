"""Copy views that are read after their array is written, so that the array itself can be written in place."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.compiling.graphs.from_tape import DecidingOps
from wengert.tape.liveness import MemoryGroups, is_store, memory_groups
from wengert.tape.loops import calls_in
from wengert.tape.ops import Call, Op, Variable, value_of
from wengert.tape.tape import Tape


def copy_late_views(tape: Tape) -> Tape:
    """Copy on `tape` the views that prevent an in-place write, also in the bodies of loops; return the tape."""
    if not any(map(is_store, calls_in(tape))):
        return tape
    memory = memory_groups(list(tape), tape.result)
    _copy_in(tape, memory)
    for loop, found in memory.loops.items():
        _copy_in(loop.body, found.memory)
    return tape


def _copy_in(tape: Any, memory: MemoryGroups) -> None:
    """Copy the views of a tape if together they are smaller than the array.

    Change nothing if a branch depends on one of them: a sum over a copy may round otherwise.
    """
    ops = list(tape)
    members: dict[int, list[Op]] = {}
    for op in ops:
        members.setdefault(memory.find(op.id), []).append(op)
    stores = [op for op in ops if isinstance(op, Call) and is_store(op) and op.id not in memory.in_place]
    late = dict.fromkeys([view for store in stores for view in _late_views(store, memory, members)])
    for view in late if late and DecidingOps(ops).isdisjoint(late) else ():
        copy = Call(np.copy, [Variable(view)], val=np.copy(view.val), site=view.site)
        tape.replace(Variable(view), view, copy)


def _late_views(store: Call, memory: MemoryGroups, members: dict[int, list[Op]]) -> Iterator[Call]:
    """Yield the views that are read after `store`, if they alone prevent an in-place write."""
    x: Any = store.args[0]
    if not isinstance(x, Variable) or not memory.owner[x.id] or memory.pinned[memory.find(x.id)]:
        return
    group = members[memory.find(x.id)]
    late = [op for op in group if op.id < store.id < memory.last[op.id]]
    if all(map(_is_numeric_item, late)) and sum([op.val.nbytes for op in late]) <= value_of(x).nbytes:
        yield from late  # type: ignore[misc]


def _is_numeric_item(op: Op) -> bool:
    """Whether an op is an item access that returns a numeric array."""
    is_item = isinstance(op, Call) and op.fn is operator.getitem
    return is_item and type(op.val) is np.ndarray and op.val.dtype.kind in "fciu"
