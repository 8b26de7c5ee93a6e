"""The derivative of a loop on a tape: a forward loop that stores rows of residuals, and a backward loop."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from wengert.compiling.loops.adjoint_code import CotangentTable, Environment, Get, UnsupportedLoopError, renewed
from wengert.compiling.loops.body_code import BodyCode, closed_tape, is_stacked, new_rows, row_call, rows_like
from wengert.compiling.ops import info
from wengert.tape.folding import is_pure
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Op, Variable, key_value, value_of
from wengert.values import functional
from wengert.values.keys import is_basic
from wengert.values.specs import is_inexact

SMALL_ROW = 4096
"""Bytes of a row: of smaller ones the overhead of a call dominates."""
LEAST_ROWS, LARGE_ROW = 256, 1 << 16
"""The least number of iterations without a limit of which residuals are kept, unless a row has more bytes than this."""
MOST_BYTES = 1 << 30
"""The most bytes of rows that the loops around a loop hold for it."""


class HeldRows:
    """The rows that an inner loop stores, in an array that the loop around it carries.

    `rows` is the input for that array, `after` the array after the inner loop, and `part` that after the outer loop. If
    the outer loop is itself in a loop, `outer` are these rows there.
    """

    after: Variable
    part: Variable

    def __init__(self, rows: Any, outer: HeldRows | None) -> None:
        self.rows: Any = Input(rows if outer is None else outer.rows.val)
        self.outer = outer

    def begin(self, code: BodyCode) -> Variable:
        """Return the array with which the outer loop begins."""
        return code.push(new_rows(self.rows.val, np.empty)) if self.outer is None else Variable(self.outer.rows)

    def end(self, part: Variable) -> None:
        """Note the array that the outer loop returns."""
        self.part = part
        if self.outer is not None:
            self.outer.after = part


class LoopCall:
    """A call of a loop, as a forward loop and a backward one.

    All results count as loop-carried in both: those of which the last iteration is read begin with zeros. A branch
    returns its residuals as they are, without rows. A loop that ends by a flag counts its iterations.

    A loop that ends by a flag or a number may leave most of its rows empty. If another loop is around it, that one, the
    `holder`, carries one array with the rows of all calls. So no call makes or copies empty rows.
    """

    def __init__(self, op: Call, around: Any) -> None:
        self.op, self.around, self.loop = op, around, op.fn
        loop, first = self.loop, len(self.loop.steps)
        self.carried = loop.carried
        inputs: list[Any] = [v.op for v in loop.inputs]
        self.counters, self.inputs, self.given = inputs[:first], inputs[first:], op.args[first:]
        ops = [each for each in loop.body if each not in {*inputs, loop.body.result.op}]
        active = {k for k, a in enumerate(self.given) if around.is_active(a)}
        known: set[int] = set()
        while active != known:  # a value that depends on an active one may be carried to another iteration
            known, found = active, dependents(ops, [self.inputs[k] for k in active])
            active = active | {k for k, v in enumerate(loop.results[: self.carried]) if is_active(v, found)}
        if any([not is_inexact(self.inputs[k].val) for k in active]):
            raise UnsupportedLoopError("a loop-carried value becomes a float")
        read = [a.op for a in self.given if isinstance(a, Variable) and type(value_of(a)) in (tuple, list)]
        if not around.dependent.isdisjoint(read):
            raise UnsupportedLoopError("a loop reads items of a tuple or a list")
        is_outside = around.loop is None or (around.loop.loop.is_branch and around.loop.holder is None)
        self.holder: LoopCall | None = None if is_outside else around.loop
        self.held: list[HeldRows] = []
        self.firsts: dict[int, Input] = {}
        self.region = type(around)(ops, [self.inputs[k] for k in active], loop.results, around.traces, self)

    @property
    def times(self) -> int:
        """How many times the body holds the rows of an inner loop."""
        return 1 if self.loop.is_branch else self.count

    @property
    def is_held(self) -> bool:
        """Whether the loop around this one holds its rows."""
        return self.holder is not None and self.loop.ending != "count" and not self.loop.is_branch

    def first_row(self, n: int) -> Input:
        """Return the number of the first row in the body for an inner loop, of which each iteration holds n rows."""
        if n not in self.firsts:
            self.firsts[n] = Input(value_of(self.outer_row(self.times * n)) + (self.times - 1) * n)
        return self.firsts[n]

    def outer_row(self, n: int) -> Any:
        """Return the number of the first row of n that the loop around this one holds for a call."""
        return 0 if self.holder is None else Variable(self.holder.first_row(n))

    def hold(self, rows: Any) -> HeldRows:
        """Hold these rows for an inner loop, for each iteration. Errors: UnsupportedLoopError if they are too many."""
        if self.times * rows.nbytes > MOST_BYTES:
            raise UnsupportedLoopError("the rows of a loop in loops need too much memory")
        whole = np.zeros((self.times * len(rows), *rows.shape[1:]), rows.dtype)
        whole[len(whole) - len(rows) :] = rows
        self.held.append(HeldRows(whole, None if self.holder is None else self.holder.hold(whole)))
        return self.held[-1]

    def run_forward(self, code: BodyCode, new: Environment) -> None:
        """Build both loops, and write the call of the forward one."""
        loop, body = self.loop, BodyCode()
        counters, values = [[Input(x.val) for x in some] for some in (self.counters, self.inputs)]
        inner: Environment = dict(zip([*self.counters, *self.inputs], map(Variable, [*counters, *values]), strict=True))
        self.region.run_forward(body, inner)
        results = [renewed(v, inner) for v in loop.results]
        args = renewed(self.op.args, new)
        firsts, given, self.steps = args[: len(counters)], args[len(counters) :], loop.steps
        inner_rows, rows = [*self.firsts.values()], [self.outer_row(self.times * n) for n in self.firsts]
        if loop.is_branch:
            values, given = [*values, *inner_rows], [*given, *rows]
        else:
            first = self.outer_row(self.count) if self.is_held else 0
            row = Input(value_of(first) + self.count - 1)
            counters, firsts = [*counters, *inner_rows, row], [*firsts, *rows, first]
            self.steps = (*loop.steps, *self.firsts, 1)
        self.args = [*firsts, *given]
        self.backward = back = _BackwardLoop(self, counters, values, body)
        last = [Input(value_of(v)) for v in results[self.carried :]]
        begun = [code.zero(x.val) if is_inexact(x.val) else x.val for x in last]
        if loop.ending == "flag":
            last.append(Input(float(self.count - 1)))
            begun.append(0.0)
            results.append(body.call(operator.add, Variable(last[-1]), 1.0))
        outer = [self.holder.hold(x.val) for x in back.stacks] if self.holder and self.is_held else []
        for x, held in zip(back.stacks, outer, strict=False):
            x.val = held.rows.val
        own = [Input(x.val) for x in back.stacks]
        stacks = [*own, *[held.rows for held in self.held]]
        if loop.is_branch:
            results += back.rows
            begun += [code.zero(x.val) for x in own]
        else:
            results += [
                body.push(Call(functional.setitem, [Variable(stack), Variable(row), value], val=stack.val))
                for stack, value in zip(own, back.rows, strict=True)
            ]
            make = np.zeros if loop.ending == "count" else np.empty
            begun += [Variable(held.rows) for held in outer] or [code.push(new_rows(x.val, make)) for x in own]
        results += [held.after for held in self.held]
        begun += [held.begin(code) for held in self.held]
        order = [*counters, *values[: self.carried], *last, *stacks, *values[self.carried :]]
        tape = closed_tape(order, body, results)
        made = Loop(tape, self.count, self.steps, len(results), loop.ending, loop.descending)
        args = [*firsts, *given[: self.carried], *begun, *given[self.carried :]]
        call = new[self.op] = code.push(Call(made, args, val=tuple(map(value_of, results)), site=self.op.site))
        parts = code.parts_of(call, [x.val for x in stacks], len(results) - len(stacks))
        self.stacked = parts[: len(own)]
        for held, part in zip(outer, parts, strict=False):
            held.after = part
        for held, part in zip(self.held, parts[len(own) :], strict=True):
            held.end(part)
        if loop.ending == "flag":
            self.number = code.parts_of(call, [float(self.count)], len(results) - len(stacks) - 1)[0]
            if loop.count is None:  # the rows are as many as now
                flag = code.parts_of(call, [False])[0]
                code.push(Call(operator.not_, [flag], val=True, site=self.op.site, guard=True))
        elif loop.ending == "number":
            self.number = given[self.carried]
        for field in self.around.fields[self.op]:
            new[field] = code.copy_of(field, lambda v: new[v.op])

    def begins_active(self, k: int) -> bool:
        """Whether result k begins with a value that has a cotangent: the first iteration may read it."""
        return k < self.carried and bool(self.around.is_active(self.given[k]))

    @property
    def count(self) -> int:
        """The greatest number of iterations of which the residuals are kept."""
        loop = self.loop
        if loop.count is not None:
            return int(loop.count)
        largest = max([np.asarray(op.val).nbytes for op in loop.body if is_inexact(op.val)], default=0)
        return 2 * int(loop.usual) + 8 if largest > LARGE_ROW else max(LEAST_ROWS, 4 * int(loop.usual))

    def run_backward(self, code: BodyCode, cotangents: CotangentTable, get: Get) -> None:
        """Write the call of the backward loop."""
        back, loop = self.backward, self.loop
        code.site = self.op.site
        y_bars = CotangentTable(code)
        for field in self.around.fields[self.op]:
            y_bar = cotangents.take(field)
            if y_bar is not None:
                y_bars.add(field.args[1], y_bar)
        if not y_bars.table:
            return
        seeds = [y_bars.table[k] if k in y_bars.table else code.zero(x.val) for k, x in back.seeds.items()]
        sums = []
        for k, x in back.sums.items():
            known = cotangents.take(self.given[k].op) if self.around.is_active(self.given[k]) else None
            sums.append(code.zero(x.val) if known is None else known)
        is_counted = loop.ending == "count"
        firsts = [self.last(code, k, get) if is_counted else get(self.args[k]) for k in range(len(self.steps))]
        number = [] if is_counted else [get(self.number)]
        outer = [get(self.args[len(firsts) + k]) for k in back.outer]
        stacked = [get(v) for v in (*self.stacked, *[held.part for held in back.held])]
        args = [*firsts, *seeds, *sums, *number, *outer, *stacked]
        values = tuple(map(value_of, back.results))
        if [Variable(x) for x in (*back.seeds.values(), *back.sums.values())] == back.results:
            parts: Sequence[Any] = [*seeds, *sums]  # nothing in it has a cotangent
        else:
            parts = code.parts_of(code.push(Call(back.loop, args, val=values, site=self.op.site)), values)
        n = len(back.seeds)
        begun = [(k, part) for k, part in zip(back.seeds, parts[:n], strict=True) if k < self.carried]
        for k, part in (*begun, *zip(back.sums, parts[n:], strict=True)):
            if self.around.is_active(self.given[k]):
                cotangents.add(self.given[k].op, part)

    def last(self, code: BodyCode, k: int, get: Get) -> Any:
        """Return the value of counter k in the last iteration."""
        first, more = get(self.args[k]), (self.loop.count - 1) * self.steps[k]
        return first + more if type(first) is int else code.call(operator.add, first, more)


class _BackwardLoop:
    """The backward loop of a `LoopCall`.

    `seeds` has the inputs for the cotangents of results, by their numbers; `sums` those for the cotangents of
    invariants, by the numbers of arguments. `rows` are the values of the forward body that it reads from `stacks`.
    `outer` are the numbers of the arguments of the forward loop that it reads.
    """

    def __init__(self, call: LoopCall, counters: list[Input], values: list[Input], body: Sequence[Op]) -> None:
        loop, region = call.loop, call.region
        self.is_branch, self.count, self.carried = loop.is_branch, call.count, call.carried
        self.counters = {op: Input(op.val) for op in counters}
        self.held_after = {held.after.op: held for held in call.held}
        self.places: dict[Any, int] = {op: k for k, op in enumerate(values)}
        self.copied = self.ops_to_copy(counters, values[call.carried :], body)
        ends = [k for k, v in enumerate(loop.results) if region.is_active(v) or call.begins_active(k)]
        self.seeds = {k: _cotangent_input(value_of(loop.results[k])) for k in ends}
        active = [k for k, x in enumerate(call.inputs) if k >= call.carried and region.is_active(Variable(x))]
        self.sums = {k: _cotangent_input(call.inputs[k].val) for k in active}
        self.run_backward(call)
        if cheap := self.cheap_calls(body):
            self.copied |= cheap
            self.run_backward(call)
        carried = [*self.seeds.values(), *self.sums.values()]
        is_counted = loop.ending == "count"
        number = [] if is_counted else [Input(True if loop.is_branch else float(self.count))]
        order = [*self.counters.values(), *carried, *number, *self.inner, *self.stacks, *self.held.values()]
        steps = [-step if is_counted else step for step in call.steps]
        ending, descending = "count" if is_counted else "number", not is_counted and not loop.descending
        tape = closed_tape(order, self.code, self.results)
        self.loop = Loop(tape, self.count, steps, len(self.results), ending, descending)

    def run_backward(self, call: LoopCall) -> None:
        """Write the body, with the rows that it reads."""
        loop, region = call.loop, call.region
        self.code, self.found = BodyCode(), Environment()
        self.rows: list[Variable] = []
        self.stacks: list[Input] = []
        self.outer: list[int] = []
        self.inner: list[Input] = []
        self.held: dict[HeldRows, Input] = {}
        cotangents = CotangentTable(self.code)
        for k, seed in self.seeds.items():
            if region.is_active(loop.results[k]):
                cotangents.add(loop.results[k].op, Variable(seed))
        for k, so_far in self.sums.items():
            cotangents.add(call.inputs[k], Variable(so_far))
        region.run_backward(self.code, cotangents, self.get)
        self.results = [
            cotangents.of(call.inputs[k]) if k < call.carried else self.code.zero(seed.val)
            for k, seed in self.seeds.items()
        ]
        self.results += [cotangents.of(call.inputs[k]) for k in self.sums]

    def get(self, v: Any) -> Any:
        """Return a value of the forward body in the backward one."""
        if not isinstance(v, Variable):
            return v
        waiting: list[Any] = [v.op]
        while waiting:
            op = waiting[-1]
            missing = [u.op for u in op.references() if u.op not in self.found] if op in self.copied else []
            if op not in self.found and not missing:
                self.found[op] = self.fetched(op)
            waiting += missing
            if not missing:
                waiting.pop()
        return self.found[v.op]

    def is_outer(self, op: Any) -> bool:
        """Whether a value of the forward body is an invariant."""
        return self.places.get(op, -1) >= self.carried

    def fetched(self, op: Any) -> Any:
        """Return a value of the forward body: passed from outside, computed again, or read from a row."""
        if op in self.counters:
            return Variable(self.counters[op])
        if op in self.held_after:
            held = self.held_after[op]
            self.held[held] = Input(held.rows.val)
            return Variable(self.held[held])
        if self.is_outer(op):
            self.outer.append(self.places[op])
            self.inner.append(Input(op.val))
            return Variable(self.inner[-1])
        if op in self.copied:
            return self.code.copy_of(op, lambda v: self.found[v.op])
        if not is_stacked(op.val):
            raise UnsupportedLoopError("a residual of a loop is not a number or an array")
        self.rows.append(Variable(op))
        if self.is_branch:
            self.stacks.append(Input(op.val))
            return Variable(self.stacks[-1])
        rows = rows_like(self.count, op.val)
        rows[-1:] = op.val  # none, where the trace has no iteration
        self.stacks.append(Input(rows))
        return self.code.push(row_call(Variable(self.stacks[-1]), Variable([*self.counters.values()][-1]), op.val))

    def ops_to_copy(self, counters: Sequence[Op], invariants: Sequence[Op], body: Sequence[Op]) -> set[Any]:
        """Find the ops to compute again: views, and those that depend on counters, invariants and constants only."""
        fixed: set[Any] = {*counters, *invariants}
        views: set[Any] = set()
        for op in body:
            is_fixed = all([v.op in fixed for v in op.references()])
            if isinstance(op, Constant) or (isinstance(op, Call) and is_fixed and _is_repeatable(op)):
                fixed.add(op)
            elif _is_view(op) or (isinstance(op, Call) and op.fn is functional.as_index):
                views.add(op)
        return fixed.union(views).difference(counters, invariants)

    def cheap_calls(self, body: Sequence[Op]) -> set[Any]:
        """Find the calls that compute values of rows again, from other rows, if that costs no more than to store them.

        So it is for a view, or one call that is about as fast as a store; three if the rows are large.
        """
        held, found = {v.op for v in self.rows}, set[Any]()
        for op in [op for op in body if op in held]:
            held.remove(op)
            calls = self.calls_for(op, held)
            most = 1 if np.asarray(op.val).nbytes < SMALL_ROW else 3
            if calls is None or sum([_recomputation_cost(call) or 0 for call in calls - found]) > most:
                held.add(op)
            else:
                found |= calls
        return found

    def calls_for(self, op: Any, held: Collection[Any]) -> set[Any] | None:
        """Return the calls that compute a value again from the rows that are `held`; None if that is impossible."""
        waiting = {op: None}
        todo = [op]
        while todo:
            part = todo.pop()
            if part not in self.copied and _recomputation_cost(part) is None:
                return None
            read = [v.op for v in part.references()]
            more = [x for x in read if not (x in waiting or x in held or x in self.counters or self.is_outer(x))]
            waiting.update(dict.fromkeys(more))
            todo += more
        return waiting.keys() - self.copied


def _recomputation_cost(op: Op) -> int | None:
    """Return 0 for a view, 1 for a call that is about as fast as a store, else None."""
    if not isinstance(op, Call) or op.guard or "out" in op.kwargs:
        return None
    row = info(op.fn)
    if row.name == "getitem" and is_basic(key_value(op.args[1])):
        return 0
    small = row.name == "power" and type(op.args[1]) in (int, float) and op.args[1] in (1, 2)
    return 1 if small else row.cost


def _cotangent_input(x: Any) -> Input:
    """Return the input for the cotangent of a value; it shares no memory with that."""
    return Input(x.copy(order="K") if isinstance(x, np.ndarray) else x)


def dependents(ops: Sequence[Op], active: Iterable[Any]) -> set[Any]:
    """Return the active ops, and the calls that depend on them, but integers: these have no cotangents."""
    found: set[Any] = {*active}
    for op in ops:
        is_integer = isinstance(op, Call) and op.fn is functional.whole
        if isinstance(op, Call) and not is_integer and not found.isdisjoint([v.op for v in op.references()]):
            found.add(op)
    return found


def is_active(v: Any, dependent: set[Any]) -> bool:
    """Whether a value has a cotangent: it is a dependent float or complex number, or an array of these."""
    return isinstance(v, Variable) and v.op in dependent and is_inexact(value_of(v))


def _is_repeatable(op: Call) -> bool:
    """Whether a call may run again: it is pure, and no guard."""
    return not op.guard and "out" not in op.kwargs and is_pure(op.fn)


def _is_view(op: Op) -> bool:
    """Whether an op shows all elements of its operand, in another shape or order: its operand is stored instead."""
    return isinstance(op, Call) and not op.guard and info(op.fn).cost == 0 and info(op.fn).name != "item"
