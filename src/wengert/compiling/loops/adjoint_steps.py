"""The steps of a derivative: each writes its forward code, and later its backward code."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.compiling.constants import constant_key
from wengert.compiling.loops.adjoint_code import (
    CotangentTable,
    Environment,
    Get,
    UnsupportedLoopError,
    built_items,
    parts_of_pair,
    renewed,
)
from wengert.compiling.loops.body_code import BodyCode
from wengert.compiling.loops.deferred_reverse import Reverse
from wengert.compiling.loops.periodicity import static_spec
from wengert.compiling.ops import info
from wengert.tape.ops import (
    Call,
    Constant,
    Input,
    Op,
    Variable,
    mkcall,
    references,
    substituted,
    value_of,
    with_variables,
)
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.keys import key_parts, may_repeat, names_once
from wengert.values.specs import is_inexact

KEYED = ("getitem", "item", "setitem", "additem")
"""The names of the operations that read or store items."""


class CopiedOp:
    """An op that depends on no active input, or that is not differentiated."""

    def __init__(self, op: Op, region: Any = None) -> None:
        self.op = op

    def run_forward(self, code: BodyCode, new: Environment) -> None:
        new[self.op] = code.copy_of(self.op, lambda v: new[v.op])

    def run_backward(self, code: BodyCode, cotangents: CotangentTable, get: Get) -> None:
        """Pass nothing on."""


class KeyedCall:
    """A read or a store of an item; its adjoint stores or reads at the same key."""

    def __init__(self, op: Call, region: Any) -> None:
        self.op, self.region, self.name = op, region, info(op.fn).name
        x, *rest = op.args
        if op.kwargs or not rest or type(value_of(x)) is not np.ndarray:
            raise UnsupportedLoopError(f"{self.name} of other than arrays")
        self.key: Any = rest[0] if self.name != "item" or len(rest) == 1 else tuple(rest)
        numbers = [a for a in (op.val, *map(value_of, rest[1:])) if is_inexact(a)]
        if any([np.asarray(a).dtype != value_of(x).dtype for a in numbers]):
            raise UnsupportedLoopError(f"{self.name} of values of several types")
        if self.name == "setitem" and _may_store_twice(self.key):
            raise UnsupportedLoopError("a store at many indices, of which some may be equal")
        if not value_of(x).size:
            raise UnsupportedLoopError(f"{self.name} of an empty array, which the trace has not reached")

    def run_forward(self, code: BodyCode, new: Environment) -> None:
        new[self.op] = code.copy_of(self.op, lambda v: new[v.op])
        self.new_key = renewed(self.key, new)

    def run_backward(self, code: BodyCode, cotangents: CotangentTable, get: Get) -> None:
        x: Any = self.op.args[0]
        y_bar = cotangents.take(self.op)
        if y_bar is None:
            return
        key, code.site = with_variables(self.new_key, get), self.op.site
        if self.name in ("getitem", "item"):
            if not self.region.is_active(x):
                return  # the key alone depends on the inputs
            cotangents.table[x.op] = code.call(functional.additem, cotangents.of(x.op), key, y_bar)
            return
        value = self.op.args[2]
        if self.region.is_active(value):
            stored = _summed_to(code, code.call(operator.getitem, y_bar, key), value_of(value))
            cotangents.add(value.op, code.call(float, stored) if type(value_of(value)) is float else stored)
        if self.region.is_active(x):
            cotangents.add(x.op, code.call(functional.setitem, y_bar, key, 0.0) if self.name == "setitem" else y_bar)


def _may_store_twice(key: Any) -> bool:
    """Whether a store at a key may write an element twice: not if its only indices are different constants."""
    several = [part for part in key_parts(key) if may_repeat((value_of(part),))]
    is_constant = len(several) == 1 and not [*references(several)]
    return bool(several) and not (is_constant and names_once(np.asarray(several[0])))


def _summed_to(code: BodyCode, v: Variable, x: Any) -> Any:
    """Return a cotangent of the shape of the number or array x, which was stored where v is."""
    shape, stored = np.shape(x), np.shape(value_of(v))
    if shape == stored:
        return v
    if not shape:
        return code.call(np.sum, v)
    if math.prod(shape) != math.prod(stored):  # the value was broadcast
        core = shape[max(len(shape) - len(stored), 0) :]
        first = len(stored) - len(core)
        axes = (*range(first), *[first + k for k, n in enumerate(core) if n != stored[first + k]])
        v = code.call(np.sum, v, axes)
    return code.call(np.reshape, v, shape)


_FLOAT_OF: dict[Any, Any] = {int: float, np.int64: np.float64}
"""The types of integers that a segment reads, from a counter or an array, and those of the floats in place of them."""
_FLOAT_OF_BOOL: dict[Any, Any] = {bool: float, np.bool_: np.float64}


class Segment:
    """Calls that are differentiated together, by a trace of their pullback.

    `early` and `late` are the ops of that trace: those that depend on no cotangent run forward, the others backward.
    """

    def __init__(self, ops: list[Any], region: Any) -> None:
        self.ops, inside = ops, {*ops}
        within = Counter([v.op for op in ops for v in op.references()])
        outside = [op for op in ops if region.readers[op] > within[op]]
        self.outputs = [op for op in outside if is_inexact(op.val)]
        self.others = [op for op in outside if not is_inexact(op.val)]
        read: list[Any] = [op for op in within if op not in inside and not isinstance(op, Constant)]
        self.constants: list[Any] = [op for op in within if isinstance(op, Constant)]
        self.ints = [op for op in read if type(op.val) in _FLOAT_OF]
        self.exact = [op for op in read if isinstance(op.val, np.ndarray) and _is_exact_as_floats(op.val.dtype)]
        self.bools = [op for op in read if type(op.val) in _FLOAT_OF_BOOL]
        numbers = [op for op in read if is_inexact(op.val)]
        if len(numbers) + len(self.ints) + len(self.exact) + len(self.bools) < len(read):
            raise UnsupportedLoopError("a value that is not a number is read in a loop")
        if any(map(returns_parts, outside)):
            raise UnsupportedLoopError("a result in parts is read in a loop")
        self.wanted = [op for op in numbers if op in region.dependent]
        self.inputs = [*self.wanted, *[op for op in numbers if op not in region.dependent]]
        values = [op.val.copy("K") if isinstance(op.val, np.ndarray) else op.val * 1.0 for op in self.inputs]
        values += [_FLOAT_OF[type(op.val)](op.val) for op in self.ints] + [op.val.astype(float) for op in self.exact]
        values += [_FLOAT_OF_BOOL[type(op.val)](op.val) for op in self.bools]
        # cotangents that are neither zero nor infinite, which a pullback might ask
        seeds = [np.ones_like(op.val) if isinstance(op.val, np.ndarray) else type(op.val)(1.0) for op in self.outputs]
        self.split(region.traces.trace(self.tape(), len(self.wanted), values, seeds))

    def tape(self) -> Tape:
        """Return the calls as a tape of their own; its inputs for integers that a loop counts, for arrays of
        integers and bools, and for bools, are floats."""
        tape, new = Tape(), dict[Any, Any]()
        for op in self.constants:
            new[op] = tape.push(op.copy()) if isinstance(op.val, np.ndarray) else op.val
        for op in (*self.inputs, *self.ints):
            new[op] = tape.push(Input(_FLOAT_OF[type(op.val)](op.val) if type(op.val) in _FLOAT_OF else op.val))
        for op in self.exact:
            new[op] = tape.push(mkcall(np.ndarray.astype, tape.push(Input(op.val.astype(float))), op.val.dtype))
        for op in self.bools:
            new[op] = tape.push(mkcall(operator.ne, tape.push(Input(_FLOAT_OF_BOOL[type(op.val)](op.val))), 0.0))
        counted = {*self.ints}
        for op in self.ops:
            if not counted.isdisjoint([v.op for v in op.references()]) and not _takes_float(op):
                raise UnsupportedLoopError("an integer that a loop counts is read by a function")
            copy = op.copy(lambda v: new[v.op])
            copy.note = None
            new[op] = tape.push(copy)
        pair = [[new[op] for op in some] for some in (self.outputs, self.others)]
        tuples = [tape.push(mkcall(functional.make_tuple, *part)) for part in pair]
        tape.result = tape.push(mkcall(functional.make_tuple, *tuples))
        return tape

    def split(self, traced: Any) -> None:
        """Split the ops of the trace of the pullback by their dependence on the cotangents of the outputs."""
        given: list[Any] = [v.op for v in traced.inputs if not v.op.callee]
        self.given, self.seeds = given[: -len(self.outputs) or None], given[len(given) - len(self.outputs) :]
        *self.results, self.cotangents = parts_of_pair(traced)
        built = {traced.result.op, *[part.op for part in built_items(traced.result) if isinstance(part, Variable)]}
        self.early, self.late = list[Op](), list[Op]()
        depends = {*self.seeds}
        for op in traced:
            if op in built or isinstance(op, Input) or _asks_for_memory(op):
                continue
            if type(op.val) is np.ndarray and not op.val.ndim and isinstance(op, Call) and info(op.fn).arity:
                op.val = op.val[()]  # the pullback of numbers; an array of no axes stood for a bool
            is_late = any([v.op in depends for v in op.references()])
            (self.late if is_late else self.early).append(op)
            depends.update([op] * is_late)

    def run_forward(self, code: BodyCode, new: Environment) -> None:
        floats = [code.call(_FLOAT_OF[type(op.val)], new[op]) for op in self.ints]
        floats += [code.call(np.ndarray.astype, new[op], np.float64) for op in self.exact]
        floats += [code.call(_FLOAT_OF_BOOL[type(op.val)], new[op]) for op in self.bools]
        values = [*[new[op] for op in self.inputs], *floats]
        moved = self.moved = dict(zip(self.given, values, strict=True))
        for op in self.early:
            moved[op] = code.copy_of(op, lambda v: moved[v.op])
        outputs, others = self.results
        arrays = {id(op.val): Variable(op) for op in self.early if type(op.val) is np.ndarray}
        others = [v if isinstance(v, Variable) else arrays.get(id(v)) for v in others]  # a level returns integers bare
        if not all([isinstance(v, Variable) for v in others]):
            raise UnsupportedLoopError("a value without derivative became a constant")
        for op, v in (*zip(self.outputs, outputs, strict=True), *zip(self.others, others, strict=True)):
            new[op] = renewed(v, moved)

    def run_backward(self, code: BodyCode, cotangents: CotangentTable, get: Get) -> None:
        y_bars = [cotangents.take(op) for op in self.outputs]
        if all([y_bar is None for y_bar in y_bars]):
            return
        filled = [code.zero(op.val) if y is None else y for op, y in zip(self.outputs, y_bars, strict=True)]
        moved = dict(zip(self.seeds, filled, strict=True))

        def value(v: Variable) -> Any:
            return moved[v.op] if v.op in moved else get(self.moved[v.op])

        for op in self.late:
            moved[op] = code.copy_of(op, value)
        for op, v in zip(self.wanted, self.cotangents, strict=True):
            x_bar = value(v) if isinstance(v, Variable) else v
            if isinstance(x_bar, Variable) or np.any(x_bar):
                cotangents.add(op, x_bar)


class PullbackTraces(dict[Any, Any]):
    """The traces of pullbacks, by the calls that they differentiate: equal segments share one."""

    def trace(self, tape: Tape, wanted: int, values: list[Any], seeds: list[Any]) -> Any:
        """Return the trace of the pullback of a segment; it may have the recorded numbers of an equal one."""
        key = wanted, *_calls_key(tape)
        found = self.get(key)
        if found is None:
            found = Reverse.taped(tape, wanted, values, seeds, batched=True)
            if not any([op.guard for op in found.calls]):  # a guard might fail for the numbers of an equal segment
                self[key] = found
        return found


def _calls_key(tape: Tape) -> Iterator[Any]:
    """Yield the parts of a key that is equal for tapes that differ in recorded numbers only."""
    numbers = {op: k for k, op in enumerate(tape)}
    for op in numbers:
        if isinstance(op, Constant):
            yield id(op.val)
        else:
            yield static_spec(op.val), getattr(op.val, "strides", None), op.site
        if isinstance(op, Call):
            yield constant_key((op.fn, *substituted(op, lambda v: (Variable, numbers[v.op]))[1:]))


def _is_exact_as_floats(dtype: np.dtype[Any]) -> bool:
    """Whether floats represent all values of a type: bools, and the small integers that LAPACK has for pivots."""
    return dtype.kind in "biu" and dtype.itemsize <= 4


def returns_parts(op: Op) -> bool:
    """Whether an op is a call of a function that returns a tuple, as `np.linalg.slogdet` does."""
    return isinstance(op, Call) and isinstance(op.val, tuple) and op.fn is not functional.make_tuple


def _asks_for_memory(op: Op) -> bool:
    """Whether an op is a guard on the memory of inputs, which are copies here."""
    return isinstance(op, Call) and op.guard and info(op.fn).name == "memory_query"


def _takes_float(op: Call) -> bool:
    """Whether a call does the same with the float of an integer: arithmetic of floats."""
    row = info(op.fn)
    plain = not any([isinstance(a, (tuple, list, slice)) for a in op.args])
    return bool(row.arity) and row.name != "power" and is_inexact(op.val) and plain
