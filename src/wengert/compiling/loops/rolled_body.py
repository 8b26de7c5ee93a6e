"""Build the Loop that replaces a run of equal iterations, and its call."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.compiling.constants import constant_key
from wengert.compiling.loops.anti_unify import (
    CarriedValue,
    ConstantPerIteration,
    CounterValue,
    InvariantValue,
    LocalValue,
    LoopPattern,
    MovePerIteration,
    ValuePerIteration,
    links_of,
    with_links,
)
from wengert.compiling.loops.body_code import new_rows, row_call
from wengert.compiling.loops.periodicity import static_spec
from wengert.compiling.tape_rewriter import provenance
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Op, Variable, mkcall, substituted, value_of
from wengert.tape.tape import Tape
from wengert.values import functional

_COUNTER = CounterValue(0, 1)
_STACKED = {float, complex, np.float64, np.complex128}


def stack_rows(values: list[Any]) -> np.ndarray:
    """Stack values to an array, one in each row; lists become an array of objects."""
    if type(values[0]) is not list:
        return np.array(values)
    made = np.empty(len(values), object)
    for k, value in enumerate(values):
        made[k] = value
    return made


def push_loop(roller: Any, pattern: LoopPattern) -> None:
    """Push the call of the loop that replaces the run of a pattern of a `_Roller`, and the results that are read."""
    number, outputs, kept = roller.read_of(pattern)
    body = _Body(roller, pattern, kept)
    results, at = body.write(outputs)
    body.tape.result = body.tape.push(mkcall(functional.make_tuple, *results))
    values: Any = value_of(body.tape.result)
    steps = [counter.step for counter in body.counters]
    loop = Loop(body.tape, pattern.run.count, steps, len(body.carried) + len(kept))
    loop = roller.loops.setdefault(canonical(loop), loop)
    first = roller.ops[pattern.run.start]
    call = roller.new.push(Call(loop, body.arguments, val=values, site=provenance(first)[0]))

    def part(k: int) -> Variable:
        return roller.new.push(Call(functional.getfield, [call, k], val=values[k]))

    for k, j in enumerate(kept, len(body.carried)):
        roller.stacks[number, j] = part(k)
    for j in outputs:
        last = pattern.run.end - pattern.run.period + j
        roller.values[last] = part(at[j]) if j in at else roller.value(last)


class _Body:
    """The body of one loop, and its `arguments`."""

    def __init__(self, roller: Any, pattern: LoopPattern, kept: list[int]) -> None:
        self.roller, self.pattern, self.run = roller, pattern, pattern.run
        self.tape = Tape()
        self.arguments: list[Any] = []
        self.rows: dict[Any, tuple[Any, CounterValue]] = {}  # per link: what has its values, and the index of that
        self.counters: dict[CounterValue, Variable] = {}
        self.carried: dict[tuple[int, tuple[int, ...]], Variable] = {}
        self.kept: dict[int, Variable] = {}
        self.invariants: dict[Any, Variable] = {}
        self.numbers: Iterator[Variable] = iter(())
        self.found: list[Variable] = []
        self.read: dict[Any, Variable] = {}
        self.inputs(kept)

    def inputs(self, kept: list[int]) -> None:
        """Push the inputs of the body, and the calls that make the arguments."""
        links = [*links_of(self.pattern)]
        counters = {link for link in links if type(link) is CounterValue}
        for link in dict.fromkeys([link for link in links if type(link) in (ValuePerIteration, ConstantPerIteration)]):
            rows = self.roller.from_stack(link) if type(link) is ValuePerIteration else None
            self.rows[link] = rows or (self.table(link), _COUNTER)
            counters.add(self.rows[link][1])
        if kept:
            counters.add(_COUNTER)
        for counter in sorted(counters):
            self.counters[counter] = self.input(counter.first, counter.first + (self.run.count - 1) * counter.step)
        for link in dict.fromkeys([link for link in links if type(link) is CarriedValue]):
            for begin in range(link.back):
                key = (link.op, link.firsts[begin:])
                if key not in self.carried:
                    self.carried[key] = self.input(self.roller.value(key[1][0]), self.at(link.op, link.back - begin))
        for j in kept:
            whole = stack_rows([self.at(j, back) for back in reversed(range(self.run.count))])
            self.kept[j] = self.input(self.roller.new.push(new_rows(whole)), whole)
        for link in dict.fromkeys([link for link in links if type(link) is InvariantValue]):
            self.invariants[link] = self.input(self.roller.value(link.position), self.roller.ops[link.position].val)
        for link, (rows, _) in self.rows.items():
            self.invariants[link] = self.input(rows, value_of(rows))
        self.numbers = iter([self.input(link, link) for link in links if type(link) in (int, float)])

    def input(self, argument: Any, value: Any) -> Variable:
        self.arguments.append(argument)
        return self.tape.push(Input(value))

    def at(self, j: int, back: int) -> Any:
        """Return the recorded value of op j, `back` iterations before the last."""
        return self.roller.ops[self.run.end - (back + 1) * self.run.period + j].val

    def table(self, link: Any) -> Variable:
        """Push what has the values of a link in all iterations: an array of numbers of one type, else a tuple."""
        if type(link) is ConstantPerIteration:
            return self.roller.new.push(Constant(link.values))
        parts = [self.roller.value(position) for position in link.positions]
        kinds = {type(value_of(part)) for part in parts}
        if len(kinds) == 1 and kinds <= _STACKED:
            return self.roller.new.push(mkcall(np.array, parts))
        return self.roller.new.push(mkcall(functional.make_tuple, *parts))

    def write(self, outputs: list[int]) -> tuple[list[Variable], dict[int, int]]:
        """Push one iteration; return its results, and map the ops in `outputs` to their numbers among these."""
        stores: dict[int, Variable] = {}
        for j, (fn, args, kwargs) in enumerate(self.pattern.columns):
            op = self.roller.ops[self.run.end - self.run.period + j]
            assert isinstance(op, Call)
            site, note = provenance(op)
            args, kwargs = with_links(args, self.argument), with_links(kwargs, self.argument)
            self.found.append(self.tape.push(Call(fn, args, kwargs, op.val, site, note, op.guard)))
            if j in self.kept:
                store = Call(functional.setitem, [self.kept[j], self.counters[_COUNTER], self.found[j]])
                store.val, store.site = value_of(self.kept[j]), site
                stores[j] = self.tape.push(store)
        at: dict[int, int] = {}
        results: list[Variable] = []
        for j, firsts in self.carried:
            if len(firsts) == 1:
                at.setdefault(j, len(results))
            results.append(self.found[j] if len(firsts) == 1 else self.carried[j, firsts[1:]])
        results += [stores[j] for j in self.kept]
        for j in outputs:
            if j not in self.kept and at.setdefault(j, len(results)) == len(results):
                results.append(self.found[j])
        return results, at

    def argument(self, link: Any) -> Variable:
        """Return the Variable of a link in the body."""
        if type(link) is LocalValue:
            return self.found[link.op]
        if type(link) is CarriedValue:
            return self.carried[link.op, link.firsts]
        if type(link) is CounterValue:
            return self.counters[link]
        if type(link) is InvariantValue:
            return self.invariants[link]
        if type(link) in (int, float):
            return next(self.numbers)
        if type(link) is MovePerIteration:
            fn, args, kwargs = link.column
            args, kwargs = with_links(args, self.argument), with_links(kwargs, self.argument)
            return self.tape.push(Call(fn, args, kwargs, self.roller.ops[link.positions[-1]].val))
        if link not in self.read:
            last = link.values[-1] if type(link) is ConstantPerIteration else self.roller.ops[link.positions[-1]].val
            rows, place = self.invariants[link], self.counters[self.rows[link][1]]
            whole = isinstance(value_of(rows), tuple)
            self.read[link] = self.tape.push(
                Call(operator.getitem, [rows, place], val=last) if whole else row_call(rows, place, last)
            )
        return self.read[link]


def canonical(loop: Loop) -> Any:
    """Return a key that is equal for equal loops."""
    ops = tuple([_op_key(op) for op in loop.body])
    how = loop.count, loop.steps, loop.carried, loop.ending, loop.descending
    return *how, ops, loop.body.result.id


def _op_key(op: Op) -> Any:
    if not isinstance(op, Call):
        return type(op), int if type(op.val) is int else static_spec(op.val)
    call = substituted(op, lambda v: (Variable, v.id))
    return type(op), constant_key((*call, op.guard and op.val)), static_spec(op.val)
