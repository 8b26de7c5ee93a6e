"""Ways: what the iterations of a loop were seen to do, as one program that forks where a test came out differently.

Where the state at two heads is the same but for the variables (`compiling/watched/loop_states.py`), an iteration is a
function of these. So all iterations do the same up to a test, and what was seen after an outcome of it is what comes
after that outcome, whichever iteration it is; of an outcome that was not seen nothing is known.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.loops.periodicity import constant_key, signature
from wengert.tape.ops import Call, Op, Variable, sequence_like
from wengert.values.specs import is_inexact


@dataclass(frozen=True, order=True)
class Within:
    """The value of the op at this place of the way."""

    at: int


@dataclass(frozen=True, order=True)
class Held:
    """The variable of this number at the head."""

    number: int


@dataclass(frozen=True, order=True)
class OuterValue:
    """The value of this number of those that are made before the loop."""

    number: int


Link = Within | Held | OuterValue


class Step(NamedTuple):
    """A call of a way, with links in its arguments, and the op of one iteration as which it was recorded."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    op: Call


class Fork(NamedTuple):
    """Steps from the place `start` on, and what comes next: after the last one a Fork by its outcome, or an End."""

    start: int
    steps: list[Step]
    nexts: dict[Any, Fork]
    end: End | None


class End(NamedTuple):
    """The end of a way: the variables of the next iteration, or, where the loop `leaves`, what is read behind it.

    `held` are the variables with which an iteration that went this way began.
    """

    leaves: bool
    gives: list[Link]
    held: list[Op]


class NotUniform(Exception):
    """The iteration of this number, of those that are looked at, does not go with the others."""


class WhileLoop(NamedTuple):
    """A loop: its ways, its variables at the first head, what it reads from before, and the places of its ops.

    `values` are the ops that the links of the End that leaves stand for. A `for` has `most` iterations; `spent` is the
    End after the last one, where the trace came to it.
    """

    ways: Fork
    held: list[Op]
    outer: list[Op]
    start: int
    stop: int
    values: list[Op]
    most: int | None
    spent: End | None

    def op_of(self, link: Any) -> Op:
        """Return the op at the beginning of the loop for a loop variable or a value from before."""
        return (self.held if type(link) is Held else self.outer)[link.number]

    def tests(self, ops: Sequence[Op]) -> list[Op]:
        """Those of the ops for which the loop stands that are tests, as its ways make them."""
        fns = {id(step.op.fn) for steps, _ in self.ends() for step in steps if step.op.guard}
        return [op for op in ops[self.start : self.stop] if isinstance(op, Call) and id(op.fn) in fns]

    @property
    def key(self) -> Any:
        """Equal for loops that do the same, whatever they begin with."""
        return _key(self.ways), self.most, self.spent and tuple(self.spent.gives), len(self.held), len(self.outer)

    def ends(self) -> Iterator[tuple[list[Step], End]]:
        """The ways, each with all of its steps from the head on, and its End."""
        yield from _ends_of(self.ways, [])
        if self.spent is not None:
            yield [], self.spent


class _Row(NamedTuple):
    """An iteration: its number, its ops, and the variables at its head."""

    number: int
    ops: Sequence[Op]
    held: list[Op]
    at: dict[Op, int]


def found_in(ops: Sequence[Op], place: dict[Op, int], heads: list[int], last: dict[Any, int]) -> WhileLoop | None:
    """The loop whose heads stand at these places; None where its iterations are no function of their variables.

    `place` says where ops stand, `last` where they are read last.
    """
    if not all([ops[k].fn.is_all for k in heads]):  # type: ignore[attr-defined]
        return None
    first = len(heads) - 1
    while first and ops[heads[first]].fn.same:  # type: ignore[attr-defined]
        first -= 1
    while first < len(heads) - 1:
        try:
            return _Finder(ops, place, heads[first:], last).found()
        except NotUniform as differs:
            first += differs.args[0] + 1
    return None


class _Finder:
    def __init__(self, ops: Sequence[Op], place: dict[Op, int], heads: list[int], last: dict[Any, int]) -> None:
        self.ops, self.place, self.heads, self.last = ops, place, heads, last
        states: list[list[Any]] = [[v.op for v in ops[k].references()] for k in heads]
        columns = [*zip(*states, strict=True)]
        fixed = ops[heads[0]].fn.fixed  # type: ignore[attr-defined]
        self.kept: dict[Any, int] = {}  # one of those that are always equal, if it is another in some iteration
        self.unchanged: list[Op] = []  # in some iterations, by what they do or by chance
        for j, column in enumerate(columns):
            if any([op is not column[0] for op in column]) or not self.is_before(column[0]):
                self.kept.setdefault(tuple(map(id, column)), j)
            elif j not in fixed:
                self.unchanged.append(column[0])
        self.outer: list[Op] = []
        longest = max([b - a for a, b in itertools.pairwise(heads)])
        stops = [*heads[1:], min(heads[-1] + 1 + longest, len(ops))]
        self.rows = []
        for k, (a, b) in enumerate(zip(heads, stops, strict=True)):
            inside = [op for op in ops[a + 1 : b] if isinstance(op, Call)]
            held = [states[k][j] for j in self.kept.values()]
            self.rows.append(_Row(k, inside, held, {op: n for n, op in enumerate(inside)}))
        self.left = ops[heads[0]].fn.left  # type: ignore[attr-defined]
        self.leaving = self.rows[-1]
        self.stop = -1
        self.values: list[Op] = []

    def is_before(self, op: Op) -> bool:
        return not isinstance(op, Call) or self.place[op] < self.heads[0]

    def found(self) -> WhileLoop:
        is_spent = self.left == len(self.rows) - 1
        ways = self.fork(self.rows[:-1] if is_spent else self.rows, 0)
        spent = self.leave(0) if is_spent else None
        if self.stop < 0 or not ways.nexts:  # a loop of one way, so many times, is one in any case
            raise NotUniform(len(self.rows))
        held, start = self.rows[0].held, self.heads[0]
        return WhileLoop(ways, held, self.outer, start, self.stop, self.values, self.left, spent)

    def fork(self, rows: list[_Row], start: int) -> Fork:
        """Build the branch tree for these iterations, from op `start` on."""
        steps: list[Step] = []
        while True:
            at = start + len(steps)
            if any([at == len(row.ops) for row in rows]):
                return Fork(start, steps, {}, self.end(rows, at))
            steps.append(self.step(rows, at))
            if rows[0].ops[at].guard:  # type: ignore[attr-defined]
                outcomes: dict[Any, list[_Row]] = {}
                for row in rows:
                    outcomes.setdefault(outcome_key(row.ops[at].val), []).append(row)
                if len(outcomes) > 1:
                    nexts = {key: self.after(some, at + 1) for key, some in outcomes.items()}
                    return Fork(start, steps, nexts, None)

    def after(self, rows: list[_Row], at: int) -> Fork:
        return self.fork(rows, at) if rows != [self.leaving] else Fork(at, [], {}, self.leave(at))

    def end(self, rows: list[_Row], at: int) -> End:
        """The End of iterations that are followed by others."""
        for row in rows:
            if len(row.ops) != at or row is self.leaving:
                raise NotUniform(row.number)
        self.tell_apart(rows, self.unchanged)
        nexts = [[self.rows[row.number + 1].held[j] for row in rows] for j in range(len(self.kept))]
        return End(False, [self.link(rows, ops, at) for ops in nexts], rows[-1].held)

    def leave(self, at: int) -> End:
        """The End of the last iteration, behind the test before this place; what is read later is what it gives."""
        row = self.leaving
        self.stop = (self.place[row.ops[at - 1]] if at else self.heads[-1]) + 1
        inside = self.ops[self.heads[0] : self.stop]
        self.values = [op for op in inside if isinstance(op, Call) and self.is_read_later(op)]
        self.tell_apart([row], [op for op in row.held if op not in self.values and self.is_read_later(op)])
        return End(True, [self.link([row], [op], at) for op in self.values], row.held)

    def is_read_later(self, op: Op) -> bool:
        return self.last.get(op, -1) >= self.stop

    def tell_apart(self, rows: list[_Row], before: list[Any]) -> None:
        """Check that no variable of these rows is, by chance, what is handed on or read as a value from before."""
        if any([all([row.held[j] is op for row in rows]) for op in before for j in range(len(self.kept))]):
            raise NotUniform(rows[0].number)

    def step(self, rows: list[_Row], at: int) -> Step:
        """The call that all iterations make at a place."""
        calls: list[Any] = [row.ops[at] for row in rows]
        like = _form(calls[-1])
        for row, call in zip(rows, calls, strict=True):
            if _form(call) != like or like is None:
                raise NotUniform(row.number)
        args = self.tree(rows, [call.args for call in calls], at)
        return Step(args, self.tree(rows, [call.kwargs for call in calls], at), calls[-1])

    def tree(self, rows: list[_Row], trees: list[Any], at: int) -> Any:
        first, t = trees[-1], type(trees[-1])
        for row, x in zip(rows, trees, strict=True):
            if (type(x) is Variable) is not (t is Variable):  # a number that is computed is one only by chance
                raise NotUniform(row.number)
        if t is Variable:
            return self.link(rows, [v.op for v in trees], at)
        if t is tuple or t is list:
            return sequence_like(first, [self.tree(rows, [*parts], at) for parts in zip(*trees, strict=True)])
        if t is dict:
            return {key: self.tree(rows, [tree[key] for tree in trees], at) for key in first}
        if t is slice:
            return slice(*[self.tree(rows, [getattr(s, name) for s in trees], at) for name in _BOUNDS])
        for row, x in zip(rows, trees, strict=True):
            if not _is_equal(x, first):
                raise NotUniform(row.number)
        return first

    def link(self, rows: list[_Row], ops: list[Any], at: int) -> Link:
        """Return the source (step, loop variable or outer value) that all iterations share for these operands."""
        places = {row.at.get(op, at) for row, op in zip(rows, ops, strict=True)}
        if len(places) == 1 and min(places) < at:
            return Within(places.pop())
        if min(places) < at or not all([is_inexact(op.val) for op in ops]):
            raise NotUniform(rows[0].number)
        pairs = [*zip(rows, ops, strict=True)]
        found: list[Link] = [Held(j) for j in range(len(self.kept)) if all([row.held[j] is op for row, op in pairs])]
        if all([op is ops[0] for op in ops]) and self.is_before(ops[0]):
            found.append(OuterValue(self.number(ops[0])))
        if len(found) != 1:  # where it may be either, these iterations do not tell
            raise NotUniform(rows[0].number)
        return found[0]

    def number(self, op: Op) -> int:
        if op not in self.outer:
            self.outer.append(op)
        return self.outer.index(op)


_BOUNDS = ("start", "stop", "step")


def outcome_key(value: Any) -> Any:
    """Something to tell outcomes of a test apart by; NumPy's bools count as Python's."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, tuple):
        return (type(value), *map(outcome_key, value))
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return constant_key(value)


def _form(op: Any) -> Any:
    """The signature of a call, but for what a test gives."""
    if not op.guard:
        return signature(op)
    return "test", signature(Call(op.fn, op.args, op.kwargs))


def _is_equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides and a.tobytes() == b.tobytes()
    return bool(constant_key(a) == constant_key(b))


def _key(fork: Fork) -> Any:
    steps = [(_form(step.op), _key_of((step.args, step.kwargs))) for step in fork.steps]
    nexts = [(outcome, _key(inner)) for outcome, inner in fork.nexts.items()]
    return tuple(steps), frozenset(nexts), fork.end and (fork.end.leaves, *fork.end.gives)


def _key_of(tree: Any) -> Any:
    if isinstance(tree, (tuple, list)):
        return (type(tree), *map(_key_of, tree))
    if isinstance(tree, dict):
        return (*tree, *map(_key_of, tree.values()))
    if isinstance(tree, slice):
        return (slice, *[_key_of(getattr(tree, name)) for name in _BOUNDS])
    return tree if isinstance(tree, (Within, Held, OuterValue)) else constant_key(tree)


def _ends_of(fork: Fork, steps: list[Step]) -> Iterator[tuple[list[Step], End]]:
    steps = [*steps, *fork.steps]
    if fork.end is not None:
        yield steps, fork.end
    for inner in fork.nexts.values():
        yield from _ends_of(inner, steps)


def with_links(tree: Any, change: Callable[[Link], Any]) -> Any:
    """`tree` with `change(link)` in place of each link."""
    t = type(tree)
    if t is Within or t is Held or t is OuterValue:
        return change(tree)
    if isinstance(tree, (tuple, list)):
        return sequence_like(tree, [with_links(part, change) for part in tree])
    if t is dict:
        return {key: with_links(part, change) for key, part in tree.items()}
    if t is slice:
        return slice(*[with_links(getattr(tree, name), change) for name in _BOUNDS])
    return tree


def links_in(tree: Any) -> list[Link]:
    """The links in arguments, in order."""
    found: list[Link] = []
    with_links(tree, found.append)
    return found


def without_unread(found: WhileLoop) -> WhileLoop:
    """The loop without the variables that no iteration reads, but to hand them on."""
    ways = [*found.ends()]
    read = {link for steps, end in ways for step in steps for link in links_in((step.args, step.kwargs))}
    read |= {link for _, end in ways if end.leaves for link in end.gives}
    while True:
        more = {end.gives[link.number] for _, end in ways if not end.leaves for link in read if type(link) is Held}
        if more <= read:
            break
        read |= more
    numbers = [j for j in range(len(found.held)) if Held(j) in read]
    new: dict[Link, Link] = {Held(j): Held(k) for k, j in enumerate(numbers)}

    def renamed(tree: Any) -> Any:
        return with_links(tree, lambda link: new.get(link, link))

    def kept(fork: Fork) -> Fork:
        steps = [Step(renamed(step.args), renamed(step.kwargs), step.op) for step in fork.steps]
        return Fork(fork.start, steps, {key: kept(inner) for key, inner in fork.nexts.items()}, kept_end(fork.end))

    def kept_end(end: End | None) -> End | None:
        if end is None:
            return None
        gives = end.gives if end.leaves else [end.gives[j] for j in numbers]
        return End(end.leaves, renamed(gives), [end.held[j] for j in numbers])

    return found._replace(ways=kept(found.ways), held=[found.held[j] for j in numbers], spent=kept_end(found.spent))
