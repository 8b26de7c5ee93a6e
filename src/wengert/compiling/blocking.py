"""Compute groups of consecutive ops block by block: a few rows at a time.

The operands of a block stay in a core's cache, and arrays that only the group reads need the size of a block. On the
tape a group becomes a loop over blocks: it slices rows of its inputs, stores rows of its outputs, and accumulates
sums. Rows that do not fill a block are computed after the loop. Other ops between those of the group move before the
loop if they read none of its results, else after it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.graphs.from_tape import DecidingOps
from wengert.compiling.graphs.to_tape import must_run
from wengert.compiling.ops import info, is_ufunc_call
from wengert.compiling.placement import may_retain_arguments
from wengert.compiling.row_ops import RowPlan, row_plan
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.interface import AnyTape
from wengert.tape.liveness import is_store
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Op, Variable, value_of
from wengert.tape.tape import Tape
from wengert.tape.usage import readers_of
from wengert.values.functional import getfield, make_tuple, setitem


class BlockLimits(NamedTuple):
    """When blocks pay."""

    block: int  # most bytes of a block: a core's cache
    least: int  # least bytes in use at a time; fewer still lie in some cache when they are read again
    large: int  # least bytes of the array that begins a group
    gain: int  # least ratio of bytes that stay in a block to bytes that enter or leave it
    dot: int  # most elements of a product of vectors; for more, OpenBLAS wakes threads each time
    shapes: int  # least number of row shapes; native code needs no array between ops of the same shape
    fewest: int = 1  # least number of blocks, so that each thread has some


FEWEST_CALLS = 6
NUMPY_LIMITS = BlockLimits(1 << 20, 1 << 23, 1 << 18, 3, 10_000, 1)
PARALLEL_LIMITS = BlockLimits(1 << 23, 1 << 23, 1 << 18, 1, 1 << 60, 1, 8)  # large, as threads wait for each other
NATIVE_LIMITS = BlockLimits(1 << 18, 1 << 18, 1 << 16, 1, 1 << 60, 2)

Readers = dict[Op | None, list[Op | None]]


class BlockLoop(Loop):
    """A Loop over blocks of `height` rows, out of `rows`, which computes `calls` calls."""

    def __init__(self, body: Tape, rows: int, height: int, carried: int, calls: int) -> None:
        super().__init__(body, rows // height, [height], carried)
        self.rows, self.height, self.calls = rows, height, calls

    def describe(self) -> str:
        """Describe the loop for `explain()`."""
        return f"{self.calls} calls are computed in blocks of {self.height} of {self.rows} rows"


def with_block_loops(tape: AnyTape, exact: bool, limits: BlockLimits) -> AnyTape:
    """Return the tape with loops over blocks where these pay; with `exact` no sum changes its order."""
    ops = list(tape)
    if not any([_may_begin_group(op, limits.large) for op in ops]):
        return tape
    made, group = _BlockRewriter(tape, ops), None
    exact_ops = {*ops} if exact else DecidingOps(ops)
    for op in ops:
        if group is not None and group.add(op):
            continue
        made.push_group(group)
        group = _RowGroup(op.val.shape[0], exact_ops, limits) if _may_begin_group(op, limits.large) else None
        if group is None or not group.add(op):
            made.push(op)
    made.push_group(group)
    return made.finished() if made.changed else tape


def _may_begin_group(op: Op, large: int) -> bool:
    """Whether an op may begin a group: it computes a large array element by element."""
    if not isinstance(op, Call) or type(op.val) is not np.ndarray or op.val.nbytes < large or not is_ufunc_call(op):
        return False
    return op.val.ndim > 0 and row_plan(op, op.val.shape[0], True) is not None


class _RowGroup:
    """Consecutive ops: those computed row by row on `n` rows, and others that can move before or after these."""

    def __init__(self, n: int, exact_ops: Collection[Any], limits: BlockLimits) -> None:
        self.n, self.exact_ops, self.limits = n, exact_ops, limits
        self.all: list[Op] = []
        self.rows: dict[Any, RowPlan] = {}
        self.before: list[Op] = []
        self.after: list[Op] = []
        self.late: set[Op | None] = set()  # computed only after the last row
        self.read_by_rows: dict[Any, None] = {}  # outer arrays
        self.read_whole: dict[Any, None] = {}  # outer arrays and numbers

    def add(self, op: Op) -> bool:
        """Add the next op; return False if it ends the group."""
        plan, reads = row_plan(op, self.n, op in self.exact_ops), {v.op: None for v in op.references()}
        late = any([v in self.late for v in reads])
        independent = not late and not any([v in self.rows for v in reads])
        if plan is not None and not late and self.can_add(plan, reads):
            self.add_by_rows(op, plan, reads)
        elif self.ends_at(op, plan, independent):
            return False
        elif independent:
            self.before.append(op)
        else:
            self.after.append(op)
            self.late.add(op)
        self.all.append(op)
        return True

    def ends_at(self, op: Op, plan: RowPlan | None, independent: bool) -> bool:
        """Whether the group ends at an op that cannot be added by rows; `independent` ops read none of its results."""
        if independent:
            return _is_barrier(op) or _may_begin_group(op, self.limits.large)
        return _is_barrier(op) or plan is not None or must_run(op)

    def can_add(self, plan: RowPlan, reads: Iterable[Any]) -> bool:
        """Whether no value is read both by rows and as a whole, or as a whole before all its rows are computed."""
        read = {v.op for v in plan.read}
        whole = [v for v in reads if v not in read]
        has_both = any([v in self.read_whole for v in read]) or any([v in self.read_by_rows for v in whole])
        return not has_both and not any([v in self.rows for v in whole])

    def add_by_rows(self, op: Op, plan: RowPlan, reads: Iterable[Any]) -> None:
        """Add an op that is computed row by row."""
        read = {v.op: None for v in plan.read}
        self.read_by_rows.update({v: None for v in read if v not in self.rows})
        self.read_whole.update({v: None for v in reads if v not in read})
        self.rows[op] = plan
        if plan.is_total:
            self.late.add(op)

    def outputs(self, readers: Readers) -> set[Any]:
        """Return the ops that others read, directly or through a view."""
        found: set[Any] = set()
        for op in reversed(self.rows):
            for reader in readers.get(op, ()):
                if reader not in self.rows or (reader in found and self.rows[reader].is_view):
                    found.add(op)
        return found

    def height(self, outputs: set[Any]) -> int:
        """Return the number of rows of a block; 0 if blocks do not pay."""
        calls = [op for op, plan in self.rows.items() if not plan.is_view]
        size = {op: op.val.nbytes // self.n for op in calls if not self.rows[op].is_total}
        passing = sum([op.val.nbytes // self.n for op in {*self.read_by_rows, *outputs.intersection(size)}])
        kept = {op: its for op, its in size.items() if op not in outputs}
        width = passing + self.peak_bytes(kept)
        limits, shapes = self.limits, {tuple([k for k in op.val.shape[1:] if k != 1]) for op in size}
        if sum(kept.values()) < limits.gain * passing or width * self.n < limits.least:
            return 0
        if len(calls) < FEWEST_CALLS or len(shapes) < limits.shapes:
            return 0
        products = [op.args[0] for op in calls if op.fn is np.vdot]
        most = min(
            [
                limits.block // max(width, 1),
                self.n // limits.fewest,
                *(limits.dot * self.n // value_of(v).size for v in products),
            ]
        )
        return _block_height(self.n, max(most, 1))

    def peak_bytes(self, size: dict[Op, int]) -> int:
        """Return the most bytes a row of results takes that are in use at the same time."""
        last = {v.op: op for op in self.rows for v in op.references()}
        dying: dict[Op, int] = {}
        alive = most = 0
        for op in self.rows:
            if op in size:
                alive += size[op]
                dying[last.get(op, op)] = dying.get(last.get(op, op), 0) + size[op]
            most = max(most, alive)
            alive -= dying.get(op, 0)
        return most


def _block_height(n: int, most: int) -> int:
    """Return the height of blocks of n rows: at most `most`, and a divisor of n if one above half of that is."""
    count = math.ceil(n / most)
    return math.ceil(n / next((c for c in range(count, 2 * count) if n % c == 0), count)) if count > 1 else 0


def _is_barrier(op: Op) -> bool:
    """Whether no op can move past this one: it may write or retain memory that others read."""
    return isinstance(op, Call) and (
        is_store(op) or isinstance(op.fn, Loop) or "out" in op.kwargs or may_retain_arguments([op])
    )


class _BlockRewriter(TapeRewriter):
    """Rewrites a tape: groups of ops become loops over blocks."""

    def __init__(self, tape: AnyTape, ops: Iterable[Op]) -> None:
        super().__init__(tape)
        self.changed = False
        self.readers: Readers = readers_of(ops)
        self.readers.setdefault(tape.result.op, []).append(None)

    def push_group(self, group: _RowGroup | None) -> None:
        """Append a group of ops, as a loop over blocks if that pays."""
        if group is None:
            return
        outputs = group.outputs(self.readers)
        height = group.height(outputs)
        for op in group.before if height else group.all:
            self.push(op)
        if height:
            self.changed = True
            self.push_blocks(group, height, [op for op in group.rows if group.rows[op].is_total or op in outputs])
            for op in group.after:
                self.push(op)

    def push_blocks(self, group: _RowGroup, height: int, outputs: Sequence[Any]) -> None:
        """Append the loop over the blocks of a group, the remaining rows, and the views that others read."""
        new, views = self.new, [op for op in outputs if group.rows[op].is_view]
        parts = [op for op in outputs if not group.rows[op].is_view]
        initial = [new.push(_initial_value(op, group.rows[op].is_total)) for op in parts]
        given = [*group.read_by_rows, *group.read_whole]
        calls = sum([not plan.is_view for plan in group.rows.values()])
        loop = BlockLoop(_block_body(group, height, parts, given), group.n, height, len(parts), calls)
        result = tuple([op.val for op in parts])
        site = next((op.site for op in group.rows if op.site), None)
        done = new.push(Call(loop, [0, *initial, *[self.table[op] for op in given]], val=result, site=site))
        found = [new.push(Call(getfield, [done, k], val=op.val)) for k, op in enumerate(parts)]
        self.table.update(zip(parts, found, strict=True))
        if rest := group.n % height:
            found = _push_rows(new, group, self.table, slice(group.n - rest, None), rest, parts)
            self.table.update(zip(parts, found, strict=True))
        for op in views:
            self.push(op)


def _initial_value(op: Any, total: bool) -> Op:
    """Return the op that allocates the array for the rows of a result, or the zero that a sum begins with."""
    if total and not isinstance(op.val, np.ndarray):
        return Constant(op.val.dtype.type(0))
    args = [op.val.shape] if op.val.dtype == np.float64 else [op.val.shape, op.val.dtype]
    return Call(np.zeros if total else np.empty, args, val=op.val)


def _block_body(group: _RowGroup, height: int, parts: Sequence[Any], given: Sequence[Any]) -> Tape:
    """Return the body of the loop, which computes a block of `height` rows."""
    body = Tape()
    start = body.push(Input(0, "i"))
    table = {op: body.push(Input(op.val)) for op in (*parts, *given)}
    rows = slice(start, body.push(Call(operator.add, [start, height], val=height)))
    found = _push_rows(body, group, table, rows, height, parts)
    body.result = body.push(Call(make_tuple, found, val=tuple([op.val for op in parts])))
    return body


def _push_rows(
    tape: Tape, group: _RowGroup, table: dict[Any, Variable], rows: slice, height: int, parts: Sequence[Any]
) -> list[Variable]:
    """Append the ops of a group for some `height` rows, with variables from `table`; return those of its parts."""
    made = {op: tape.push(Call(operator.getitem, [table[op], rows], val=op.val[:height])) for op in group.read_by_rows}
    inside, found = {**table, **made}, {op: table[op] for op in parts}
    for op in group.rows:
        copy: Any = op.copy(lambda v: inside[v.op])
        if group.rows[op].is_total:
            found[op] = tape.push(Call(operator.add, [found[op], tape.push(copy)], val=op.val))
            continue
        if info(copy.fn).name == "reshape":
            copy.args = copy.args[0], (height, *op.val.shape[1:])
        copy.val = op.val[:height]
        inside[op] = tape.push(copy)
        if op in found:
            found[op] = tape.push(Call(setitem, [found[op], rows, inside[op]], val=op.val))
    return list(found.values())
