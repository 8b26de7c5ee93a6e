"""The derivative of a tape with loops, constructed: the body of each loop is differentiated once.

A forward loop runs the body, and stores what its backward loop reads, one row for each iteration. The backward loop
counts down. It carries the cotangents of the loop-carried values, and those of the invariants, to which each iteration
adds. A read of an item becomes an addition to an item, and a store becomes a read, so loops over arrays stay linear.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.graphs.to_tape import provenance
from wengert.compiling.loops.deferred_reverse import Reverse
from wengert.compiling.loops.residual_rows import row_call
from wengert.compiling.loops.rolled_body import ROWS, is_stacked
from wengert.compiling.ops import info
from wengert.errors import TapeError
from wengert.tape.folding import is_pure
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Op, Variable, references, value_of, with_variables
from wengert.tape.tape import Tape
from wengert.values import functional
from wengert.values.specs import is_inexact

Environment = dict[Any, Any]
"""Map from ops of the old tape to variables, or constant numbers, of the new one."""
Get = Callable[[Any], Any]
"""Returns a value of the forward code in the backward code."""
_KEYED = ("getitem", "item", "setitem", "additem")


class UnsupportedLoopError(TapeError):
    """The derivative of a loop cannot be constructed: each iteration is differentiated instead."""


def constructed_derivative(whole: Any, wanted: int, seeds: Sequence[Any]) -> Tape:
    """Return the derivative of a tape with loops, whose result is a pair of tuples: (outputs, other values).

    The inputs are those of `whole`, then the seeds of the outputs. The result is (outputs, other values, cotangents of
    the first `wanted` inputs). Errors: UnsupportedLoopError.
    """
    inputs: list[Any] = [v.op for v in whole.inputs if not v.op.callee]
    given, seeded = [Input(op.val) for op in inputs], [Input(value_of(seed)) for seed in seeds]
    outputs, others = _parts_of_pair(whole)
    built = {whole.result.op, *[part.op for part in built_items(whole.result) if isinstance(part, Variable)]}
    ops = [op for op in whole if op not in built and op not in inputs]
    region = _Region(ops, inputs[:wanted], [*outputs, *others])
    code, new = _Code(), dict(zip(inputs, map(Variable, given), strict=True))
    cotangents = _Cotangents(code)
    with np.errstate(all="ignore"):
        region.run_forward(code, new)
        for v, seed in zip(outputs, seeded, strict=True):
            if isinstance(v, Variable):
                cotangents.add(v.op, Variable(seed))
        region.run_backward(code, cotangents, lambda v: v)
        found = [cotangents.of(op) for op in inputs[:wanted]]
    parts = [[_renewed(v, new) for v in outputs], [_renewed(v, new) for v in others], found]
    pairs = [code.push(Call(functional.make_tuple, part, val=tuple(map(value_of, part)))) for part in parts]
    return _closed([*given, *seeded], code, pairs)


def built_items(v: Any) -> Sequence[Any]:
    """Return the items of a tuple that a tape builds."""
    op = v.op if isinstance(v, Variable) else None
    return v if op is None else op.args if isinstance(op, Call) else op.val


def _parts_of_pair(tape: Any) -> list[Sequence[Any]]:
    return [built_items(part) for part in built_items(tape.result)]


def _renewed(tree: Any, new: Environment) -> Any:
    return with_variables(tree, lambda v: new[v.op])


def _closed(inputs: Sequence[Op], code: _Code, results: Sequence[Any]) -> Tape:
    """Return the tape of some code, which returns a tuple."""
    made = Tape()
    for op in (*inputs, *code):
        made.push(op)
    made.result = made.push(Call(functional.make_tuple, list(results), val=tuple(map(value_of, results))))
    return made


class _Code(list[Op]):
    """Ops in order, for a tape or the body of a loop; `site` is the user's line of new calls."""

    site: Any = None

    def push(self, op: Op) -> Variable:
        self.append(op)
        return Variable(op)

    def call(self, fn: Any, *args: Any) -> Variable:
        """Push a call; compute its value from the recorded ones."""
        return self.push(Call(fn, args, val=fn(*with_variables(args, value_of)), site=self.site))

    def copy_of(self, op: Op, change: Callable[[Variable], Any]) -> Variable:
        """Push a copy of an op with changed variables."""
        copy = op.copy()
        copy.rewrite(change)
        copy.site, copy.note = provenance(op)
        return self.push(copy)

    def parts_of(self, call: Variable, values: Sequence[Any], first: int = 0) -> list[Variable]:
        """Push the calls that take the results of a loop, from number `first` on."""
        calls = [Call(functional.getfield, [call, k], val=value) for k, value in enumerate(values, first)]
        return [self.push(each) for each in calls]


class _Cotangents:
    """The cotangents of ops, as values of the code that computes them."""

    def __init__(self, code: _Code) -> None:
        self.code = code
        self.table: Environment = {}

    def add(self, op: Any, contribution: Any) -> None:
        known = self.table.get(op)
        self.table[op] = contribution if known is None else self.code.call(operator.add, known, contribution)

    def take(self, op: Any) -> Any:
        """Remove the cotangent of an op; None if it has none."""
        return self.table.pop(op, None)

    def of(self, op: Any) -> Any:
        """Return the cotangent of an op, zero if it has none."""
        found = self.table.get(op)
        return self.zero(op.val) if found is None else found

    def zero(self, x: Any) -> Any:
        """Return the zero cotangent of a number or an array."""
        if type(x) is not np.ndarray:
            return type(x)(0.0)
        return self.code.call(np.zeros, x.shape, *([x.dtype] if x.dtype != np.float64 else []))


class _Region:
    """The ops of a tape, or of a loop's body, in steps that run forward, then backward."""

    def __init__(self, ops: Sequence[Op], active: Iterable[Op], results: Sequence[Any]) -> None:
        self.dependent: set[Any] = {*active}
        self.readers: dict[Any, int] = {}
        self.fields: dict[Any, list[Any]] = {}  # of calls of loops: the ops that take a part of their results
        self.tuples: dict[Any, Any] = {}
        self.steps: list[Any] = []
        self.segment: dict[Any, None] = {}
        for v in (*references([*results]), *[v for op in ops for v in op.references()]):
            self.readers[v.op] = self.readers.get(v.op, 0) + 1
        for op in ops:
            self.add(op)
        self.end_segment()

    def add(self, op: Any) -> None:
        """Add the next op to a step."""
        read: list[Any] = [v.op for v in op.references()]
        if not isinstance(op, Call) or self.dependent.isdisjoint(read):
            self.steps.append(_Copy(op))
            return
        self.dependent.add(op)
        is_field = op.fn is functional.getfield
        if is_field and read and read[0] in self.fields:
            self.fields[read[0]].append(op)
        elif is_field and read and read[0] in self.tuples:
            self.steps.append(_Item(op, self.tuples[read[0]].args[op.args[1]]))
        elif (make := self.step_for(op)) is None:
            self.segment[op] = None
        else:
            if not self.segment.keys().isdisjoint(read):
                self.end_segment()
            self.steps.append(make(op, self))

    def step_for(self, op: Call) -> Any:
        """Return the class of the step that is made for an op alone; None if it joins the segment."""
        if type(op.fn) is Loop:
            self.fields[op] = []
            return _LoopCall
        if op.fn is functional.make_tuple:
            self.tuples[op] = op
            return _Copy
        return _Keyed if info(op.fn).name in _KEYED and not op.guard else None

    def end_segment(self) -> None:
        """End the segment of calls that are differentiated together."""
        if self.segment:
            self.steps.append(_Segment([*self.segment], self))
            self.segment = {}

    def is_active(self, v: Any) -> bool:
        """Whether a value has a cotangent: it depends on an active input, and is of floats or complex numbers."""
        return isinstance(v, Variable) and v.op in self.dependent and is_inexact(value_of(v))

    def run_forward(self, code: _Code, new: Environment) -> None:
        """Write the steps forward, and enter their values in `new`."""
        for step in self.steps:
            step.run_forward(code, new)

    def run_backward(self, code: _Code, cotangents: _Cotangents, get: Get) -> None:
        """Write the steps backward: from the cotangents of results to those of inputs."""
        for step in reversed(self.steps):
            step.run_backward(code, cotangents, get)


class _Copy:
    """An op that depends on no active input, or that builds a tuple."""

    def __init__(self, op: Op, region: Any = None) -> None:
        self.op = op

    def run_forward(self, code: _Code, new: Environment) -> None:
        new[self.op] = code.copy_of(self.op, lambda v: new[v.op])

    def run_backward(self, code: _Code, cotangents: _Cotangents, get: Get) -> None:
        """Pass nothing on."""


class _Item:
    """An item of a tuple that the tape builds."""

    def __init__(self, op: Op, item: Any) -> None:
        self.op, self.item = op, item

    def run_forward(self, code: _Code, new: Environment) -> None:
        new[self.op] = _renewed(self.item, new)

    def run_backward(self, code: _Code, cotangents: _Cotangents, get: Get) -> None:
        y_bar = cotangents.take(self.op)
        if y_bar is not None and isinstance(self.item, Variable):
            cotangents.add(self.item.op, y_bar)


class _Keyed:
    """A read or a store of an item: its derivative is a store or a read at the same key."""

    def __init__(self, op: Call, region: _Region) -> None:
        self.op, self.region, self.name = op, region, info(op.fn).name
        x, *rest = op.args
        if op.kwargs or not rest or type(value_of(x)) is not np.ndarray:
            raise UnsupportedLoopError(f"{self.name} of other than arrays")
        self.key: Any = rest[0] if self.name != "item" or len(rest) == 1 else tuple(rest)
        numbers = [a for a in (op.val, *map(value_of, rest[1:])) if is_inexact(a)]
        if any([np.asarray(a).dtype != value_of(x).dtype for a in numbers]):
            raise UnsupportedLoopError(f"{self.name} of values of several types")
        if not region.dependent.isdisjoint([v.op for v in references(self.key)]):
            raise UnsupportedLoopError("a key depends on the inputs")
        arrays = [*references(self.key, np.ndarray), *map(value_of, references(self.key))]
        if self.name == "setitem" and np.ndarray in map(type, arrays):
            raise UnsupportedLoopError("a store at many indices, of which some may be equal")

    def run_forward(self, code: _Code, new: Environment) -> None:
        new[self.op] = code.copy_of(self.op, lambda v: new[v.op])
        self.new_key = _renewed(self.key, new)

    def run_backward(self, code: _Code, cotangents: _Cotangents, get: Get) -> None:
        x: Any = self.op.args[0]
        y_bar = cotangents.take(self.op)
        if y_bar is None:
            return
        key, code.site = with_variables(self.new_key, get), self.op.site
        if self.name in ("getitem", "item"):
            cotangents.table[x.op] = code.call(functional.additem, cotangents.of(x.op), key, y_bar)
            return
        value = self.op.args[2]
        if self.region.is_active(value):
            cotangents.add(value.op, _summed_to(code, code.call(operator.getitem, y_bar, key), value_of(value)))
        if self.region.is_active(x):
            cotangents.add(x.op, code.call(functional.setitem, y_bar, key, 0.0) if self.name == "setitem" else y_bar)


def _summed_to(code: _Code, v: Variable, x: Any) -> Any:
    """Return a cotangent of the shape of the number or array x, which was stored where v is."""
    shape, stored = np.shape(x), np.shape(value_of(v))
    if shape == stored:
        return v
    if not shape:
        return code.call(np.sum, v)
    if math.prod(shape) == math.prod(stored):
        return code.call(np.reshape, v, shape)
    raise UnsupportedLoopError("a store broadcasts its value")


class _Segment:
    """Calls that are differentiated together, by a trace of their pullback.

    `early` and `late` are the ops of that trace: those that depend on no cotangent run forward, the others backward.
    """

    def __init__(self, ops: list[Any], region: _Region) -> None:
        self.ops, inside = ops, {*ops}
        within = [v.op for op in ops for v in op.references()]
        outside = [op for op in ops if region.readers.get(op, 0) > within.count(op)]
        self.outputs = [op for op in outside if is_inexact(op.val)]
        self.others = [op for op in outside if not is_inexact(op.val)]
        read: list[Any] = [op for op in dict.fromkeys(within) if op not in inside and not isinstance(op, Constant)]
        self.constants: list[Any] = [op for op in dict.fromkeys(within) if isinstance(op, Constant)]
        self.ints = [op for op in read if type(op.val) is int]
        numbers = [op for op in read if is_inexact(op.val)]
        if len(numbers) + len(self.ints) < len(read):
            raise UnsupportedLoopError("a value that is not a number is read in a loop")
        self.wanted = [op for op in numbers if op in region.dependent]
        self.inputs = [*self.wanted, *[op for op in numbers if op not in region.dependent]]
        values = [*[_fresh(op.val) for op in self.inputs], *[float(op.val) for op in self.ints]]
        traced = Reverse.taped(self.tape(), len(self.wanted), values, [_fresh(op.val) for op in self.outputs])
        self.split(traced)

    def tape(self) -> Tape:
        """Return the calls as a tape of their own; integers that a loop counts are floats there."""
        tape, new = Tape(), dict[Any, Any]()
        for op in self.constants:
            new[op] = tape.push(op.copy()) if isinstance(op.val, np.ndarray) else op.val
        for op in (*self.inputs, *self.ints):
            new[op] = tape.push(Input(float(op.val) if op in self.ints else op.val))
        for op in self.ops:
            if any([v.op in self.ints for v in op.references()]) and not _takes_float(op):
                raise UnsupportedLoopError("an integer that a loop counts is read by a function")
            copy = op.copy()
            copy.rewrite(lambda v: new[v.op])
            copy.note = None
            new[op] = tape.push(copy)
        pair = [[new[op] for op in some] for some in (self.outputs, self.others)]
        calls = [Call(functional.make_tuple, part, val=tuple(map(value_of, part))) for part in pair]
        tuples = [tape.push(call) for call in calls]
        tape.result = tape.push(Call(functional.make_tuple, tuples, val=tuple(map(value_of, tuples))))
        return tape

    def split(self, traced: Any) -> None:
        """Split the ops of the trace of the pullback by their dependence on the cotangents of the outputs."""
        given: list[Any] = [v.op for v in traced.inputs if not v.op.callee]
        self.given, self.seeds = given[: -len(self.outputs) or None], given[len(given) - len(self.outputs) :]
        *self.results, self.cotangents = _parts_of_pair(traced)
        built = {traced.result.op, *[part.op for part in built_items(traced.result) if isinstance(part, Variable)]}
        self.early, self.late = list[Op](), list[Op]()
        depends = {*self.seeds}
        for op in traced:
            if op in built or isinstance(op, Input) or _asks_for_memory(op):
                continue
            is_late = any([v.op in depends for v in op.references()])
            (self.late if is_late else self.early).append(op)
            depends.update([op] * is_late)

    def run_forward(self, code: _Code, new: Environment) -> None:
        floats = [code.push(Call(float, [new[op]], val=float(op.val))) for op in self.ints]
        values = [*[new[op] for op in self.inputs], *floats]
        moved = self.moved = dict(zip(self.given, values, strict=True))
        for op in self.early:
            moved[op] = code.copy_of(op, lambda v: moved[v.op])
        outputs, others = self.results
        for op, v in (*zip(self.outputs, outputs, strict=True), *zip(self.others, others, strict=True)):
            new[op] = _renewed(v, moved)

    def run_backward(self, code: _Code, cotangents: _Cotangents, get: Get) -> None:
        y_bars = [cotangents.take(op) for op in self.outputs]
        if all([y_bar is None for y_bar in y_bars]):
            return
        filled = [cotangents.zero(op.val) if y is None else y for op, y in zip(self.outputs, y_bars, strict=True)]
        moved = dict(zip(self.seeds, filled, strict=True))

        def value(v: Variable) -> Any:
            return moved[v.op] if v.op in moved else get(self.moved[v.op])

        for op in self.late:
            moved[op] = code.copy_of(op, value)
        for op, v in zip(self.wanted, self.cotangents, strict=True):
            x_bar = value(v) if isinstance(v, Variable) else v
            if isinstance(x_bar, Variable) or np.any(x_bar):
                cotangents.add(op, x_bar)


def _is_view(op: Op) -> bool:
    """Whether an op shows all elements of its operand, in another shape or order: its operand is stored instead."""
    return isinstance(op, Call) and not op.guard and info(op.fn).cost == 0 and info(op.fn).name != "item"


def _asks_for_memory(op: Op) -> bool:
    """Whether an op is a guard on the memory of inputs, which are copies here."""
    return isinstance(op, Call) and op.guard and info(op.fn).name == "memory_query"


def _takes_float(op: Call) -> bool:
    """Whether a call does the same with the float of an integer: arithmetic of floats."""
    row = info(op.fn)
    plain = not any([isinstance(a, (tuple, list, slice)) for a in op.args])
    return bool(row.arity) and row.name != "power" and is_inexact(op.val) and plain


def _fresh(value: Any) -> Any:
    return value.copy(order="K") if isinstance(value, np.ndarray) else value * 1.0


class _LoopCall:
    """A call of a loop, as a forward loop and a backward one.

    All results count as loop-carried in both: those of which the last iteration is read begin with zeros.
    """

    def __init__(self, op: Call, around: _Region) -> None:
        self.op, self.around, self.loop = op, around, op.fn
        loop, first = self.loop, len(self.loop.steps)
        self.carried = loop.carried
        inputs: list[Any] = [v.op for v in loop.inputs]
        self.counters, self.inputs, self.given = inputs[:first], inputs[first:], op.args[first:]
        ops = [each for each in loop.body if each not in {*inputs, loop.body.result.op}]
        active = {k for k, a in enumerate(self.given) if around.is_active(a)}
        while True:
            if any([not is_inexact(self.inputs[k].val) for k in active]):
                raise UnsupportedLoopError("a loop-carried value becomes a float")
            self.region = _Region(ops, [self.inputs[k] for k in active], loop.results)
            known, active = active, active | {
                k for k, v in enumerate(loop.results[: self.carried]) if self.region.is_active(v)
            }
            if active == known:
                break

    def run_forward(self, code: _Code, new: Environment) -> None:
        """Build both loops, and write the call of the forward one."""
        loop, body = self.loop, _Code()
        counters, values = [[Input(x.val) for x in some] for some in (self.counters, self.inputs)]
        index = Input(loop.count - 1)
        inner: Environment = dict(zip([*self.counters, *self.inputs], map(Variable, [*counters, *values]), strict=True))
        self.region.run_forward(body, inner)
        results = [_renewed(v, inner) for v in loop.results]
        self.backward = back = _BackwardLoop(self, counters, values, {*body})
        last = [Input(value_of(v)) for v in results[self.carried :]]
        stacks = [Input(x.val) for x in back.stacks]
        stores = [
            body.push(Call(functional.setitem, [Variable(stack), Variable(index), row], val=stack.val))
            for stack, row in zip(stacks, back.rows, strict=True)
        ]
        order = [*counters, index, *values[: self.carried], *last, *stacks, *values[self.carried :]]
        results += stores
        made = Loop(_closed(order, body, results), loop.count, [*loop.steps, 1], len(results))
        self.args = _renewed(self.op.args, new)
        firsts, given = self.args[: len(counters)], self.args[len(counters) :]
        zeros = [_Cotangents(code).zero(x.val) if is_inexact(x.val) else x.val for x in last]
        blank = [code.push(Call(np.zeros, [x.val.shape, x.val.dtype], val=x.val, note=ROWS)) for x in stacks]
        args = [*firsts, 0, *given[: self.carried], *zeros, *blank, *given[self.carried :]]
        call = new[self.op] = code.push(Call(made, args, val=tuple(map(value_of, results)), site=self.op.site))
        self.stacked = code.parts_of(call, [x.val for x in stacks], len(results) - len(stacks))
        for field in self.around.fields[self.op]:
            new[field] = code.copy_of(field, lambda v: new[v.op])

    def run_backward(self, code: _Code, cotangents: _Cotangents, get: Get) -> None:
        """Write the call of the backward loop."""
        back, loop = self.backward, self.loop
        code.site = self.op.site
        y_bars = _Cotangents(code)
        for field in self.around.fields[self.op]:
            y_bar = cotangents.take(field)
            if y_bar is not None:
                y_bars.add(field.args[1], y_bar)
        if not y_bars.table:
            return
        seeds = [y_bars.table[k] if k in y_bars.table else cotangents.zero(x.val) for k, x in back.seeds.items()]
        sums = []
        for k, x in back.sums.items():
            known = cotangents.take(self.given[k].op) if self.around.is_active(self.given[k]) else None
            sums.append(cotangents.zero(x.val) if known is None else known)
        firsts = [self.last(code, k, get) for k in range(len(self.counters))]
        outer = [get(self.args[len(firsts) + k]) for k in back.outer]
        args = [*firsts, loop.count - 1, *seeds, *sums, *outer, *map(get, self.stacked)]
        values = tuple(map(value_of, back.results))
        parts = code.parts_of(code.push(Call(back.loop, args, val=values, site=self.op.site)), values)
        n = len(back.seeds)
        begun = [(k, part) for k, part in zip(back.seeds, parts[:n], strict=True) if k < self.carried]
        for k, part in (*begun, *zip(back.sums, parts[n:], strict=True)):
            if self.around.is_active(self.given[k]):
                cotangents.add(self.given[k].op, part)

    def last(self, code: _Code, k: int, get: Get) -> Any:
        """Return the value of counter k in the last iteration."""
        first, more = get(self.args[k]), (self.loop.count - 1) * self.loop.steps[k]
        return first + more if type(first) is int else code.call(operator.add, first, more)


class _BackwardLoop:
    """The backward loop of a `_LoopCall`.

    `seeds` has the inputs for the cotangents of results, by their numbers; `sums` those for the cotangents of
    invariants, by the numbers of arguments. `rows` are the values of the forward body that it reads from `stacks`, and
    `outer` the numbers of the arguments of the forward loop that it reads.
    """

    def __init__(self, call: _LoopCall, counters: list[Input], values: list[Input], body: set[Op]) -> None:
        loop, region, self.body = call.loop, call.region, body
        self.count, self.carried = loop.count, call.carried
        self.counters = {op: Input(op.val) for op in counters}
        self.index, self.code = Input(0), _Code()
        self.places: dict[Any, int] = {op: k for k, op in enumerate(values)}
        self.found: Environment = {}
        self.rows: list[Variable] = []
        self.stacks: list[Input] = []
        self.outer: list[int] = []
        self.inner: list[Input] = []
        self.seeds = {k: Input(value_of(v)) for k, v in enumerate(loop.results) if region.is_active(v)}
        active = [k for k, x in enumerate(call.inputs) if k >= call.carried and region.is_active(Variable(x))]
        self.sums = {k: Input(call.inputs[k].val) for k in active}
        cotangents = _Cotangents(self.code)
        for k, seed in self.seeds.items():
            cotangents.add(loop.results[k].op, Variable(seed))
        for k, so_far in self.sums.items():
            cotangents.add(call.inputs[k], Variable(so_far))
        region.run_backward(self.code, cotangents, self.get)
        self.results = [
            cotangents.of(call.inputs[k]) if k < call.carried else cotangents.zero(seed.val)
            for k, seed in self.seeds.items()
        ]
        self.results += [cotangents.of(call.inputs[k]) for k in self.sums]
        carried = [*self.seeds.values(), *self.sums.values()]
        order = [*self.counters.values(), self.index, *carried, *self.inner, *self.stacks]
        steps = [*[-step for step in loop.steps], -1]
        self.loop = Loop(_closed(order, self.code, self.results), loop.count, steps, len(self.results))

    def get(self, v: Any) -> Any:
        """Return a value of the forward body in the backward one."""
        if not isinstance(v, Variable):
            return v
        if v.op not in self.found:
            self.found[v.op] = self.fetched(v.op)
        return self.found[v.op]

    def fetched(self, op: Any) -> Any:
        """Return a value of the forward body: passed from outside, computed again, or read from a row."""
        if op in self.counters:
            return Variable(self.counters[op])
        if self.places.get(op, -1) >= self.carried:
            self.outer.append(self.places[op])
            self.inner.append(Input(op.val))
            return Variable(self.inner[-1])
        if self.is_recomputed(op) or _is_view(op):
            return self.code.copy_of(op, self.get)
        if not is_stacked(op.val):
            raise UnsupportedLoopError("a residual of a loop is not a number or an array")
        rows = np.zeros((self.count, *np.shape(op.val)), np.asarray(op.val).dtype)
        rows[-1] = op.val
        self.rows.append(Variable(op))
        self.stacks.append(Input(rows))
        return self.code.push(row_call(Variable(self.stacks[-1]), Variable(self.index), op.val))

    def is_recomputed(self, op: Any) -> bool:
        """Whether an op is computed again: it depends on counters, invariants and constants only."""
        if isinstance(op, Constant) or op in self.counters or self.places.get(op, -1) >= self.carried:
            return True
        if not isinstance(op, Call) or op not in self.body or op.guard or "out" in op.kwargs:
            return False
        return is_pure(op.fn) and all([self.is_recomputed(v.op) for v in op.references()])


__all__ = ["UnsupportedLoopError", "built_items", "constructed_derivative"]
