"""The call of a Loop that stands for a run of equal iterations, and the body of it."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from wengert.compiling.graphs.to_tape import provenance
from wengert.compiling.loops.anti_unify import (
    Carried,
    Each,
    Inside,
    Moved,
    Pattern,
    Place,
    Same,
    Table,
    links_of,
    with_links,
)
from wengert.compiling.loops.periodicity import constant_key, spec_of
from wengert.tape.loops import Loop
from wengert.tape.ops import Call, Constant, Input, Op, Variable, value_of
from wengert.tape.tape import Tape
from wengert.values import functional

NUMBERS = (float, bool, complex)  # of Python: an array gives them back by `item`
_COUNTER = Place(0, 1)
ROWS = "a row for each iteration"


class AnyRoller(Protocol):
    """Protocol of the tape that a loop is written on: values by their old positions, and what is read of a run."""

    ops: list[Op]
    made: Tape
    new: dict[int, Variable]
    loops: dict[Any, Loop]
    stacks: dict[tuple[int, int], Variable]

    def value(self, position: int, /) -> Variable: ...
    def from_stack(self, link: Each, /) -> tuple[Variable, Place] | None: ...
    def read_of(self, pattern: Pattern, /) -> tuple[int, list[int], list[int]]: ...


def is_stacked(value: Any) -> bool:
    """Whether an array can keep such values, one in each row."""
    if type(value) is np.ndarray:
        return value.ndim > 0 and value.dtype.kind in "fciub"
    return (
        type(value) is list
        or type(value) in NUMBERS
        or (isinstance(value, np.number | np.bool_) and value.dtype.kind in "fciub")
    )


def stacked(values: list[Any]) -> np.ndarray:
    """The array that keeps these; one of Python objects, of lists."""
    if type(values[0]) is not list:
        return np.array(values)
    made = np.empty(len(values), object)
    for k, value in enumerate(values):
        made[k] = value
    return made


def row(stack: Variable, k: Any, like: Any) -> Call:
    """The row `k` of an array that keeps values like this one."""
    return Call(np.ndarray.item if type(like) in NUMBERS else operator.getitem, [stack, k], val=like)


def write(roller: AnyRoller, pattern: Pattern) -> None:
    """Push the call of the loop that stands for a pattern, and what is read of it."""
    number, outputs, kept = roller.read_of(pattern)
    body = _Body(roller, pattern, kept)
    results, at = body.write(outputs)
    values = tuple([value_of(v) for v in results])
    body.tape.result = body.tape.push(Call(functional.make_tuple, results, val=values))
    loop = Loop(body.tape, pattern.run.count, [place.step for place in body.places], len(body.carried) + len(kept))
    loop = roller.loops.setdefault(canonical(loop), loop)
    first = roller.ops[pattern.run.start]
    call = roller.made.push(Call(loop, body.given, val=values, site=provenance(first)[0]))

    def part(k: int) -> Variable:
        return roller.made.push(Call(functional.getfield, [call, k], val=values[k]))

    for k, j in enumerate(kept, len(body.carried)):
        roller.stacks[number, j] = part(k)
    for j in outputs:
        last = pattern.run.end - pattern.run.period + j
        roller.new[last] = part(at[j]) if j in at else roller.value(last)


class _Body:
    """The body of one loop, and what the loop is `given`."""

    def __init__(self, roller: AnyRoller, pattern: Pattern, kept: list[int]) -> None:
        self.roller, self.pattern, self.run = roller, pattern, pattern.run
        self.tape = Tape()
        self.given: list[Any] = []
        self.rows: dict[Any, tuple[Any, Place]] = {}  # of a link, and where its rows stand
        self.places: dict[Place, Variable] = {}
        self.carried: dict[tuple[int, tuple[int, ...]], Variable] = {}
        self.kept: dict[int, Variable] = {}
        self.same: dict[Any, Variable] = {}
        self.numbers: Iterator[Variable] = iter(())
        self.found: list[Variable] = []
        self.read: dict[Any, Variable] = {}
        self.inputs(kept)

    def inputs(self, kept: list[int]) -> None:
        """Push the inputs of the body, and what makes their first values."""
        links = [*links_of(self.pattern)]
        places = {link for link in links if type(link) is Place}
        for link in dict.fromkeys([link for link in links if type(link) in (Each, Table)]):
            rows = self.roller.from_stack(link) if type(link) is Each else None
            self.rows[link] = rows or (self.table(link), _COUNTER)
            places.add(self.rows[link][1])
        if kept:
            places.add(_COUNTER)
        for place in sorted(places):
            self.places[place] = self.input(place.first, place.first + (self.run.count - 1) * place.step)
        for link in dict.fromkeys([link for link in links if type(link) is Carried]):
            for begin in range(link.back):
                key = (link.op, link.firsts[begin:])
                if key not in self.carried:
                    self.carried[key] = self.input(self.roller.value(key[1][0]), self.at(link.op, link.back - begin))
        for j in kept:
            whole = stacked([self.at(j, back) for back in reversed(range(self.run.count))])
            zeros = Call(np.zeros, [whole.shape, whole.dtype], val=whole, note=ROWS)
            self.kept[j] = self.input(self.roller.made.push(zeros), whole)
        for link in dict.fromkeys([link for link in links if type(link) is Same]):
            self.same[link] = self.input(self.roller.value(link.position), self.roller.ops[link.position].val)
        for link, (rows, _) in self.rows.items():
            self.same[link] = self.input(rows, value_of(rows))
        self.numbers = iter([self.input(link, link) for link in links if type(link) in (int, float)])

    def input(self, given: Any, value: Any) -> Variable:
        self.given.append(given)
        return self.tape.push(Input(value))

    def at(self, j: int, back: int) -> Any:
        """The value of the j-th op, so many iterations before the last."""
        return self.roller.ops[self.run.end - (back + 1) * self.run.period + j].val

    def table(self, link: Any) -> Variable:
        """A tuple of what is another in each iteration."""
        if type(link) is Table:
            return self.roller.made.push(Constant(link.values))
        parts = [self.roller.value(position) for position in link.positions]
        return self.roller.made.push(Call(functional.make_tuple, parts, val=tuple([value_of(v) for v in parts])))

    def write(self, outputs: list[int]) -> tuple[list[Variable], dict[int, int]]:
        """Push one iteration; returns its results, and where those are that are read of the last one."""
        stores: dict[int, Variable] = {}
        for j, (fn, args, kwargs) in enumerate(self.pattern.columns):
            op = self.roller.ops[self.run.end - self.run.period + j]
            assert isinstance(op, Call)
            site, note = provenance(op)
            args, kwargs = with_links(args, self.argument), with_links(kwargs, self.argument)
            self.found.append(self.tape.push(Call(fn, args, kwargs, op.val, site, note, op.guard)))
            if j in self.kept:
                store = Call(functional.setitem, [self.kept[j], self.places[_COUNTER], self.found[j]])
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
        """The Variable of the body that a link stands for."""
        if type(link) is Inside:
            return self.found[link.op]
        if type(link) is Carried:
            return self.carried[link.op, link.firsts]
        if type(link) is Place:
            return self.places[link]
        if type(link) is Same:
            return self.same[link]
        if type(link) in (int, float):
            return next(self.numbers)
        if type(link) is Moved:
            fn, args, kwargs = link.column
            args, kwargs = with_links(args, self.argument), with_links(kwargs, self.argument)
            return self.tape.push(Call(fn, args, kwargs, self.roller.ops[link.positions[-1]].val))
        if link not in self.read:
            last = link.values[-1] if type(link) is Table else self.roller.ops[link.positions[-1]].val
            rows, place = self.same[link], self.places[self.rows[link][1]]
            whole = isinstance(value_of(rows), tuple)
            self.read[link] = self.tape.push(
                Call(operator.getitem, [rows, place], val=last) if whole else row(rows, place, last)
            )
        return self.read[link]


def canonical(loop: Loop) -> Any:
    """Something to find an equal loop by."""
    ops = tuple([_key(op) for op in loop.body])
    return loop.count, loop.steps, loop.carried, ops, loop.body.result.id


def _key(op: Op) -> Any:
    if not isinstance(op, Call):
        return type(op), int if type(op.val) is int else spec_of(op.val)
    return type(op), _tree((op.fn, op.args, op.kwargs, op.guard and op.val)), spec_of(op.val)


def _tree(tree: Any) -> Any:
    t = type(tree)
    if t is Variable:
        return t, tree.id
    if isinstance(tree, (tuple, list)):
        return (t, *map(_tree, tree))
    if t is dict:
        return (t, *[(key, _tree(part)) for key, part in tree.items()])
    if t is slice:
        return t, _tree(tree.start), _tree(tree.stop), _tree(tree.step)
    return (t, tree) if t is type(len) else constant_key(tree)
