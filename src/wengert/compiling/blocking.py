"""Blocks: ops that follow one another are computed together, some rows at a time.

What they read and make stays in a core's cache, and what they alone read needs no array but of a block's size. On the
tape they become a loop over blocks: it takes rows of what it reads, puts rows into the arrays that others read, and
adds sums up. Where a block does not fit the number of rows the rest comes after it, as calls of their own. What stands
between the ops and reads none of them comes before them, and what reads them after.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.graphs.from_tape import deciding, looks_at_memory
from wengert.compiling.graphs.to_tape import must_run
from wengert.compiling.placement import is_elementwise_call, may_keep
from wengert.compiling.row_ops import RESHAPES, Rows, row_plan
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.interface import AnyTape
from wengert.tape.liveness import is_store
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Op, Variable, value_of
from wengert.tape.tape import Tape
from wengert.values.functional import getfield, make_tuple, setitem

FEWEST = 6  # calls


class Paying(NamedTuple):
    """Where blocks pay."""

    block: int  # bytes that the rows of a block take: a core's cache
    least: int  # bytes that are there at a time; where these are fewer, what is read again still lies in some cache
    large: int  # bytes of the array that begins a group
    gain: int  # how many bytes stay in a block for each that comes from outside or leaves
    dot: int  # elements of a product of vectors; for more OpenBLAS wakes threads, each time
    shapes: int  # of rows; native code needs no array for what is read in arrays of the same shape


BY_NUMPY = Paying(1 << 20, 1 << 23, 1 << 18, 3, 10_000, 1)
NATIVELY = Paying(1 << 18, 1 << 18, 1 << 16, 1, 1 << 60, 2)

Readers = dict[Op | None, list[Op | None]]


class Blocks(Loop):
    """A Loop over blocks of `height` rows each, of `rows` in all, for so many `calls`."""

    def __init__(self, body: Tape, rows: int, height: int, carried: int, calls: int) -> None:
        super().__init__(body, rows // height, [height], carried)
        self.rows, self.height, self.calls = rows, height, calls

    def said(self) -> str:
        """Describe it in words."""
        return f"{self.calls} calls by blocks of {self.height} of {self.rows} rows"


def blocked(tape: AnyTape, exact: bool, paying: Paying | None = None) -> AnyTape:
    """The tape with loops over blocks where these pay; with `exact` no sum is added up in another order."""
    ops, paying = list(tape), paying or BY_NUMPY
    if not any([_begins(op, paying.large) for op in ops]) or looks_at_memory(ops):
        return tape
    made, group = _Blocked(tape, ops), None
    decides = {*ops} if exact else deciding(ops)
    for op in ops:
        if group is not None and group.takes(op):
            continue
        made.push_group(group)
        group = _Group(op.val.shape[0], decides, paying) if _begins(op, paying.large) else None
        if group is None or not group.takes(op):
            made.push(op)
    made.push_group(group)
    return made.finished() if made.changed else tape


def _begins(op: Op, large: int) -> bool:
    """Whether a group may begin with an op: it computes a large array element by element."""
    if (
        not isinstance(op, Call)
        or type(op.val) is not np.ndarray
        or op.val.nbytes < large
        or not is_elementwise_call(op)
    ):
        return False
    return op.val.ndim > 0 and row_plan(op, op.val.shape[0], True) is not None


class _Group:
    """Ops that follow one another: what is computed row by row of `n` rows, and what may come before or after that."""

    def __init__(self, n: int, decides: Collection[Any], paying: Paying) -> None:
        self.n, self.decides, self.paying = n, decides, paying
        self.all: list[Op] = []
        self.rows: dict[Any, Rows] = {}
        self.before: list[Op] = []
        self.after: list[Op] = []
        self.late: set[Op | None] = set()  # what is there at the end only
        self.given: dict[Any, None] = {}  # read from outside row by row
        self.whole: dict[Any, None] = {}  # read from outside as a whole

    def takes(self, op: Op) -> bool:
        """Take in the next op; False where it ends the group."""
        rows, reads = row_plan(op, self.n, op in self.decides), {v.op: None for v in op.references()}
        late = any([v in self.late for v in reads])
        apart = not late and not any([v in self.rows for v in reads])
        if rows is not None and not late and self.fits(rows, reads):
            self.enter(op, rows, reads)
        elif _stands(op) or (_begins(op, self.paying.large) if apart else rows is not None or must_run(op)):
            return False
        elif apart:
            self.before.append(op)
        else:
            self.after.append(op)
            self.late.add(op)
        self.all.append(op)
        return True

    def fits(self, rows: Rows, reads: Iterable[Any]) -> bool:
        """Whether nothing is read row by row by one op and as a whole by another, or as a whole before it is there."""
        read = {v.op for v in rows.read}
        whole = [v for v in reads if v not in read]
        return not any([v in self.rows or v in self.given for v in whole]) and not any([v in self.whole for v in read])

    def enter(self, op: Op, rows: Rows, reads: Iterable[Any]) -> None:
        """Take in an op that is computed row by row."""
        read = {v.op: None for v in rows.read}
        self.given.update({v: None for v in read if v not in self.rows})
        self.whole.update({v: None for v in reads if v not in read})
        self.rows[op] = rows
        if rows.total:
            self.late.add(op)

    def leaving(self, readers: Readers) -> set[Any]:
        """The ops that others read, themselves or a view of them."""
        found: set[Any] = set()
        for op in reversed(self.rows):
            read = [reader not in self.rows or (reader in found and self.rows[reader].view) for reader in readers[op]]
            if any(read):
                found.add(op)
        return found

    def height(self, leaving: set[Any]) -> int:
        """How many rows a block has; 0 where blocks do not pay."""
        calls = [op for op, rows in self.rows.items() if not rows.view]
        size = {op: op.val.nbytes // self.n for op in calls if not self.rows[op].total}
        passing = sum([op.val.nbytes // self.n for op in {*self.given, *leaving.intersection(size)}])
        kept = {op: its for op, its in size.items() if op not in leaving}
        width = passing + self.most_alive(kept)
        paying, shapes = self.paying, {tuple([k for k in op.val.shape[1:] if k != 1]) for op in size}
        if sum(kept.values()) < paying.gain * passing or len(calls) < FEWEST or width * self.n < paying.least:
            return 0
        if len(shapes) < paying.shapes:
            return 0
        products = [op.args[0] for op in calls if op.fn is np.vdot]
        most = min([paying.block // max(width, 1), *(paying.dot * self.n // value_of(v).size for v in products)])
        return _divided(self.n, max(most, 1))

    def most_alive(self, size: dict[Op, int]) -> int:
        """How large those that are alive together are at most."""
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


def _divided(n: int, most: int) -> int:
    """The height of blocks of at most so many of n rows: one that leaves no rest, if one above half as high does."""
    count = math.ceil(n / most)
    return math.ceil(n / next((c for c in range(count, 2 * count) if n % c == 0), count)) if count > 1 else 0


def _stands(op: Op) -> bool:
    """Whether an op stays where it is, since it may write memory that others read, or keep it."""
    return isinstance(op, Call) and (is_store(op) or isinstance(op.fn, Loop) or "out" in op.kwargs or may_keep(op))


class _Blocked(TapeRewriter):
    """A tape with loops over blocks, that is made of the ops of another one."""

    def __init__(self, tape: AnyTape, ops: Iterable[Op]) -> None:
        super().__init__(tape)
        self.changed = False
        self.readers: Readers = {op: [] for op in ops}
        self.readers[tape.result.op] = [None]
        for op in ops:
            for v in op.references():
                self.readers[v.op].append(op)

    def push_group(self, group: _Group | None) -> None:
        """Append a group of ops, as a loop over blocks where that pays."""
        if group is None:
            return
        leaving = group.leaving(self.readers)
        height = group.height(leaving)
        for op in group.before if height else group.all:
            self.push(op)
        if height:
            self.changed = True
            self.push_blocks(group, height, [op for op in group.rows if group.rows[op].total or op in leaving])
            for op in group.after:
                self.push(op)

    def push_blocks(self, group: _Group, height: int, leaving: Sequence[Any]) -> None:
        """Append the loop over the blocks of a group, what it leaves, and the views that others read."""
        new, views = self.new, [op for op in leaving if group.rows[op].view]
        parts = [op for op in leaving if not group.rows[op].view]
        begun = [new.push(_initial_value(op, group.rows[op].total)) for op in parts]
        given = [*group.given, *group.whole]
        calls = sum([not rows.view for rows in group.rows.values()])
        loop = Blocks(_block_body(group, height, parts, given), group.n, height, len(parts), calls)
        result = tuple([op.val for op in parts])
        site = next((op.site for op in group.rows if op.site), None)
        done = new.push(Call(loop, [0, *begun, *[self.table[op] for op in given]], val=result, site=site))
        found = [new.push(Call(getfield, [done, k], val=op.val)) for k, op in enumerate(parts)]
        self.table.update(zip(parts, found, strict=True))
        if rest := group.n % height:
            found = _push_rows(new, group, self.table, slice(group.n - rest, None), rest, parts)
            self.table.update(zip(parts, found, strict=True))
        for op in views:
            self.push(op)


def _initial_value(op: Any, total: bool) -> Op:
    """Return the op that makes the array for the rows, or the zero that a sum begins with."""
    if total and not isinstance(op.val, np.ndarray):
        return Constant(op.val.dtype.type(0))
    args = [op.val.shape] if op.val.dtype == np.float64 else [op.val.shape, op.val.dtype]
    return Call(np.zeros if total else np.empty, args, val=op.val)


def _block_body(group: _Group, height: int, parts: Sequence[Any], given: Sequence[Any]) -> Tape:
    """Return the body of the loop: what is done with a block of `height` rows."""
    body = Tape()
    start = body.push(Input(0, "i"))
    table = {op: body.push(Input(op.val)) for op in (*parts, *given)}
    rows = slice(start, body.push(Call(operator.add, [start, height], val=height)))
    found = _push_rows(body, group, table, rows, height, parts)
    body.result = body.push(Call(make_tuple, found, val=tuple([op.val for op in parts])))
    return body


def _push_rows(
    tape: Tape, group: _Group, table: dict[Any, Variable], rows: slice, height: int, parts: Sequence[Any]
) -> list[Variable]:
    """Append what a group does with `height` rows, by where its parts and what it is given are; returns its parts."""
    made = {op: tape.push(Call(operator.getitem, [table[op], rows], val=op.val[:height])) for op in group.given}
    inside, found = {**table, **made}, {op: table[op] for op in parts}
    for op in group.rows:
        copy = _copy(op, inside)
        if group.rows[op].total:
            found[op] = tape.push(Call(operator.add, [found[op], tape.push(copy)], val=op.val))
            continue
        if copy.fn in RESHAPES:
            copy.args = copy.args[0], (height, *op.val.shape[1:])
        copy.val = op.val[:height]
        inside[op] = tape.push(copy)
        if op in found:
            found[op] = tape.push(Call(setitem, [found[op], rows, inside[op]], val=op.val))
    return list(found.values())


def _copy(op: Op, table: dict[Any, Variable]) -> Any:
    """A copy of an op that reads what a table has."""
    copy = op.copy()
    copy.rewrite(lambda v: table[v.op])
    return copy
