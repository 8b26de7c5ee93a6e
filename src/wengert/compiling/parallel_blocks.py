"""Blocks of rows on several threads: each takes the next block, and sums are added in the order of the blocks.

So results have the same bits on any number of threads. NumPy computes without the lock of the interpreter.
"""

from __future__ import annotations

import contextvars
import operator
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from wengert.compiling.blocking import BlockLoop
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.ops import Call, Input, Variable, mkcall
from wengert.tape.tape import Tape
from wengert.values.functional import make_tuple

_pools: list[ThreadPoolExecutor] = []


def thread_count() -> int:
    """Return the number of threads: that of numba's setting NUMBA_NUM_THREADS, else of the cores of this process."""
    given = os.environ.get("NUMBA_NUM_THREADS", "")
    if given.isdigit() and int(given):
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pool() -> ThreadPoolExecutor:
    if not _pools:
        _pools.append(ThreadPoolExecutor(thread_count(), "wengert-blocks"))
    return _pools[0]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)  # its threads are gone


class ParallelBlocks:
    """A function that computes the loop over blocks, for the same arguments, on several threads."""

    def __init__(self, loop: BlockLoop, compile_body: Callable[[Tape], Callable[..., tuple[Any, ...]]]) -> None:
        self.loop, self.count = loop, int(loop.count or 0)
        body = _BlockBody(loop)
        self._by_rows, self._whole, self._is_total = body.by_rows, body.whole, body.is_total
        self._compute = compile_body(body.new)

    def __call__(self, *args: Any) -> list[Any]:
        """Return the loop-carried values after the loop, for those before it and the other arguments."""
        carried, given = [*args[: self.loop.carried]], args[self.loop.carried :]
        terms: list[Any] = [None] * self.count
        left, height = iter(range(self.count)), self.loop.height
        whole = [given[k] for k in self._whole]
        arrays = [given[k] for k in self._by_rows]

        def compute(block: int) -> None:
            rows = slice(block * height, (block + 1) * height)
            found = self._compute(*[array[rows] for array in arrays], *whole)
            terms[block] = [part for part, is_total in zip(found, self._is_total, strict=True) if is_total]
            for k, is_total in enumerate(self._is_total):
                if not is_total:
                    carried[k][rows] = found[k]

        def work() -> None:
            try:
                for block in left:
                    compute(block)
            except BaseException:
                list(left)  # the other threads begin no further block
                raise

        _run_on_threads(work, min(thread_count(), self.count))
        totals = [k for k, is_total in enumerate(self._is_total) if is_total]
        for term in terms:
            for place, part in zip(totals, term, strict=True):
                carried[place] = carried[place] + part
        return carried


def _run_on_threads(work: Callable[[], None], count: int) -> None:
    """Run `work` on this thread and on others, until all are done; each gets NumPy's error state of this one.

    If one raises an error, the others still finish: they write into arrays that later calls use again.
    """
    others: list[Future[None]] = []
    try:
        for _ in range(count - 1):
            others.append(_pool().submit(contextvars.copy_context().run, work))
        work()
    finally:
        running = [other for other in others if not other.cancel()]
        _wait_for(running)
    for other in running:
        other.result()


def _wait_for(running: Sequence[Future[None]]) -> None:
    """Wait until work is done, and raise an interrupt of this only then."""
    try:
        wait(running)
    except BaseException:
        _wait_for(running)
        raise


class _BlockBody(TapeRewriter):
    """The tape of a block, as a function of rows and of other arguments: it returns new rows, and terms of sums.

    `by_rows` and `whole` are the places of these among the arguments behind the loop-carried values.
    """

    def __init__(self, loop: BlockLoop) -> None:
        super().__init__(loop.body)
        first, ops, ends = 1 + loop.carried, list(loop.body), [v.op for v in loop.results]
        places = {v.op: k for k, v in enumerate(loop.inputs[first:])}
        reads: Any = [op for op in ops if isinstance(op, Call) and _reads_rows(op, places)]
        self.by_rows = [places[op.args[0].op] for op in reads]
        for op in reads:
            self.table[op] = self.new.push(Input(op.val))
        read = {op.args[0].op for op in reads}
        self.whole = [place for op, place in places.items() if op not in read]
        hidden = {*[v.op for v in loop.inputs[:first]], *read}  # counters, and arrays of all rows
        for op in ops:
            known = op in self.table or op in hidden or op in ends or op is loop.body.result.op
            if not known and not (isinstance(op, Call) and type(op.val) is int):
                self.push(op)
        self.is_total = [op.fn is operator.add for op in ends]
        values = [self.value(op.args[1 if op.fn is operator.add else 2]) for op in ends]
        self.new.result = self.new.push(mkcall(make_tuple, *values))


def _reads_rows(op: Call, places: Any) -> bool:
    """Whether a call reads the rows of a block from an argument of the loop."""
    if op.fn is not operator.getitem or not isinstance(op.args[0], Variable) or op.args[0].op not in places:
        return False
    key = op.args[1]
    return isinstance(key, slice) and isinstance(key.start, Variable)
