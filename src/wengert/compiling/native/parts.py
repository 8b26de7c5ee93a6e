"""Cut a tape into parts that NumPy and native code run by turns, where native code does not support some ops."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np

from wengert.compiling.graphs.ownership import display_calls, read_by_result
from wengert.compiling.native.callouts import is_of_numerics
from wengert.compiling.native.values import UnsupportedOp
from wengert.compiling.native.whole import NativeTape
from wengert.compiling.native.writer import check_separate_results
from wengert.compiling.ops import info, is_allocation
from wengert.compiling.tape_rewriter import TapeRewriter
from wengert.tape.interface import AnyRunningTape
from wengert.tape.liveness import is_atom, is_store
from wengert.tape.loops import Loop, calls_in
from wengert.tape.needed import only_computes, stays
from wengert.tape.ops import Call, Constant, Input, Op, Variable, references, value_of
from wengert.values import functional
from wengert.values.callables import callable_name

LEAST_OPS = 10  # of a native part without loops; NumPy runs fewer about as fast as native code is called
MOST_BEFORE = 16  # ops without native code that NumPy runs, too, since it runs what reads them
MOST_TRIES = 40


class TapeCutter:
    """Assigns a stage to each call of a tape: NumPy runs the even ones, native code the odd ones.

    Where a function may have side effects, all calls that may raise stay in order, so `is_ordered`.
    """

    def __init__(self, tape: AnyRunningTape) -> None:
        self.tape, self.calls = tape, [op for op in tape if isinstance(op, Call)]
        self.others = [op for op in tape if not isinstance(op, Call)]
        self.by_numpy: set[Op | None] = {*display_calls(tape.result.op)}
        self.is_ordered = not all([_is_pure(op) for op in self.calls])
        self.stages: dict[Op | None, int] = {}

    def parts(self) -> dict[int, Part]:
        """Return the native parts by stage; none if it takes too long to find them.

        Errors: UnsupportedOp if results share memory.
        """
        for op in self.calls:
            if asks_about_memory(op):
                self.by_numpy.update(_with_makers(op))
            elif any(map(_is_of_other_dtype, (op.val, *map(value_of, op.args), *map(value_of, op.kwargs.values())))):
                self.by_numpy.add(op)
        self.by_numpy.update(self._views_in_result())
        made: dict[Any, Part] = {}
        for _ in range(MOST_TRIES):
            self.assign()
            parts = self._parts_as_assigned(made)
            small = [op for part in parts.values() if not part.is_worth_a_call for op in part.ops]
            self.by_numpy.update(small)
            failed = [] if small else [*filter(None, [part.failure for part in parts.values()])]
            if not small and not failed:
                native_results = {op for part in parts.values() for op in part.results}
                check_separate_results(self.others, [op for op in read_by_result(self.tape) if op in native_results])
                return parts
            known = [failure for failure in failed if isinstance(failure[0], Call)] or failed[:1]
            if failed and not any([self.leave_to_numpy(*failure) for failure in known]):
                return {}
        return {}

    def _views_in_result(self) -> Iterator[Op]:
        """Yield the views by which a result shows memory that an argument, a constant or another result shows."""
        results = read_by_result(self.tape)
        arrays = [(op, op.val) for op in (*self.others, *results) if isinstance(op.val, np.ndarray)]
        for op in results:
            shown = [x for other, x in arrays if other is not op and isinstance(op.val, np.ndarray)]
            if not _allocates(op) and any([np.may_share_memory(op.val, x) for x in shown]):
                yield from _with_makers(op)

    def _parts_as_assigned(self, made: dict[Any, Part]) -> dict[int, Part]:
        """Return a part for each native stage: one of those `made` before if it has the same ops and results."""
        ops: dict[int, list[Call]] = {}
        for op in self.calls:
            ops.setdefault(self.stages[op], []).append(op)
        read = {v.op for op in self.calls for v in op.references() if self.stages.get(v.op) != self.stages[op]}
        read.add(self.tape.result.op)
        parts = {}
        for stage in sorted([stage for stage in ops if stage % 2]):
            results = [op for op in ops[stage] if op in read]
            key = (*ops[stage],), (*results,)
            parts[stage] = made[key] = made.get(key) or Part(self.tape, ops[stage], results)
        return parts

    def leave_to_numpy(self, op: Op | None, error: UnsupportedOp) -> bool:
        """Let NumPy run an op, others like it, and a few ops before; all but loops if the op is not known.

        Return whether that is more than before.
        """
        if not isinstance(op, Call):
            others = {op for op in self.calls if not _is_loop_call(op)} - self.by_numpy
            self.by_numpy.update(others)
            return bool(others)
        if _is_item(op):
            op = cast(Call, op.args[0].op)  # they run in one stage
        if op in self.by_numpy:
            return True  # since another part failed at a call of the same function
        whole_function = error.args[0] == callable_name(op.fn)
        alike = [
            x for x in self.calls if x.fn is op.fn and (whole_function or x is op or x.site == op.site is not None)
        ]
        for each in alike:  # the same line in another iteration is likely to fail, too
            before: set[Op | None] = {each}
            todo: list[Op | None] = [each]
            while todo and len(before) <= MOST_BEFORE:
                more = [v.op for v in todo.pop().references() if isinstance(v.op, Call) and v.op not in before]  # type: ignore[union-attr]
                before.update(more)
                todo += more
            is_loop = any([isinstance(x, Call) and isinstance(x.fn, Loop) for x in before])
            self.by_numpy.update([each] if is_loop or len(before) > MOST_BEFORE else before)
        return True

    def assign(self) -> None:
        """Assign the least possible stage to each op, then the last possible one to each that is native."""
        self.stages, last = {}, 0
        for op in self.calls:
            least = max([self.stages.get(v.op, 0) for v in op.references()], default=0)
            if self.is_ordered and stays(op):
                least = last = max(least, last)
            by_numpy = least % 2 == 0 if _is_item(op) else op in self.by_numpy
            self.stages[op] = least + (by_numpy == least % 2)
            last = max(last, self.stages[op]) if stays(op) else last
        latest: dict[Op | None, int] = {}
        for op in reversed(self.calls):
            stage = self.stages[op]
            if stage % 2 and not stays(op) and not _is_item(op):
                stage = self.stages[op] = latest.get(op, stage)
            for v in op.references():
                latest[v.op] = min(latest.get(v.op, stage), stage - (stage % 2 == 0))

    def ops_of(self, stage: int) -> list[Call]:
        """Return the ops of a stage."""
        return [op for op in self.calls if self.stages[op] == stage]


class Part:
    """The ops of a native stage, the ops that they read, and its `results`, the ops whose values others read."""

    def __init__(self, tape: AnyRunningTape, ops: list[Call], results: list[Call]) -> None:
        self.tape, self.ops, self.results = tape, ops, results
        inside: set[Op | None] = {*ops}
        read = dict.fromkeys([v.op for op in ops for v in op.references() if v.op not in inside])
        self.given = sorted(read, key=lambda op: isinstance(op, Constant))
        self.is_worth_a_call = len(ops) >= LEAST_OPS or any(map(_is_loop_call, ops))

    @functools.cached_property
    def failure(self) -> tuple[Op | None, UnsupportedOp] | None:
        """The op for which no native tape can be made, and the error; None if the part has its native tape now."""
        made = TapeRewriter(self.tape, type(self.tape)(self.tape.ctx))
        for op in self.given:
            made.table[op] = made.new.push(op.copy() if isinstance(op, Constant) else Input(op.val))  # type: ignore[union-attr]
        for op in self.ops:
            made.push(op)
        values = tuple([op.val for op in self.results])
        made.new.result = made.new.push(Call(functional.make_tuple, list(map(made.variable, self.results)), val=values))
        returned = {*read_by_result(self.tape)}
        for op in self.results:
            if op in returned and isinstance(op.val, np.ndarray) and not op.val.flags.forc:
                return op, UnsupportedOp("a result array that is not contiguous")
        try:
            self.native = NativeTape(made.new, is_part=True)
        except UnsupportedOp as error:
            return next((op for op in self.ops if made.table[op].op is error.op), None), error
        return None

    def push(self, new: TapeRewriter, build: Callable[..., Any]) -> str:
        """Append a call of the native function to a tape; return the source of the function."""
        found: Any = self.native.function("part", build)
        read = [new.variable(op) for op in self.given if not isinstance(op, Constant)]
        made = new.new.push(Call(found, read, val=tuple([op.val for op in self.results])))
        for k, op in enumerate(self.results):
            new.table[op] = new.new.push(Call(functional.getfield, [made, k], val=op.val, site=op.site))
        return str(found.source)


def asks_about_memory(op: Call) -> bool:
    """Whether an op, or one in a loop, asks which arrays share memory, or are the same."""
    return any([info(each.fn).name == "memory_query" and each.fn not in functional.WINDOWED for each in calls_in([op])])


def _with_makers(query: Call) -> Iterator[Call]:
    """Yield an op that asks about the memory of arrays, and all ops on which the memory layout of these may depend."""
    found, todo = set[Op | None](), [query]
    while todo:
        op = todo.pop()
        yield op
        for v in references(op.args[:1]) if is_store(op) else op.references():
            maker = v.op
            if isinstance(maker, Call) and maker not in found and not is_atom(maker.val) and not _allocates(maker):
                found.add(maker)
                todo.append(maker)


def _allocates(op: Call) -> bool:
    return is_allocation(op.fn) and "order" not in op.kwargs


def _is_of_other_dtype(value: Any) -> bool:
    """Whether a value is of single precision, for example, which native code does not compute with."""
    is_numpys = isinstance(value, (np.ndarray, np.generic))
    return is_numpys and value.dtype.kind not in "biu" and value.dtype not in (np.float64, np.complex128)


def _is_item(op: Call) -> bool:
    """Whether an op reads an item of what another op returns: both run in the same stage."""
    return op.fn is functional.getfield and type(op.args[0]) is Variable and isinstance(op.args[0].op, Call)


def _is_loop_call(op: Call) -> bool:
    return isinstance(op.fn, Loop)


def _is_pure(op: Call) -> bool:
    """Whether an op, and all in a loop, has no side effect: it computes something, by NumPy, SciPy or a rule."""
    if isinstance(op.fn, Loop):
        return all([_is_pure(each) for each in op.fn.body if isinstance(each, Call)])
    known = is_of_numerics(op.fn) and op.val is not None and not any(map(callable, op.args))
    return only_computes(op.fn) or known
