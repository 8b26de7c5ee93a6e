"""The branch tree of a loop: the calls of its recorded iterations, which fork where a test had several outcomes.

If the state at two heads differs only in the loop variables (`compiling/watched/loop_states.py`), an iteration is a
function of these variables. So all iterations make the same calls up to a test, and after an outcome of it always the
calls that were recorded after that outcome. Nothing is known of outcomes that were not recorded.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.loops.anti_unify import NotUniform
from wengert.compiling.loops.periodicity import call_signature, constant_key
from wengert.tape.ops import Call, Op, Variable, references, sequence_like, with_variables
from wengert.values.specs import is_inexact


class Link:
    """The source of an operand in an iteration."""


@dataclass(frozen=True, order=True)
class StepValue(Link):
    """The value of the step with this index on the path."""

    at: int


@dataclass(frozen=True, order=True)
class LoopVariable(Link):
    """The loop-carried variable of this number, at the head."""

    number: int


@dataclass(frozen=True, order=True)
class OuterValue(Link):
    """The value of this number among those computed before the loop."""

    number: int


class PathStep(NamedTuple):
    """A call on a path, with links in its arguments, and its op in one iteration."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    op: Call


class Fork(NamedTuple):
    """Steps from the index `start` on; then `branches`, by the outcome of the last step, or the `end` of the path."""

    start: int
    steps: list[PathStep]
    branches: dict[Any, Fork]
    end: PathEnd | None


class PathEnd(NamedTuple):
    """The end of a path: its outputs are the variables of the next iteration, or, if it `exits`, the loop's results.

    `variables` are those at the head of an iteration that took this path.
    """

    exits: bool
    outputs: list[Link]
    variables: list[Op]


class WhileLoop(NamedTuple):
    """A loop: its branch tree, its variables at the first head, the outer values it reads, and where its ops are.

    `results` are the ops of the outputs of the end that exits. A `for` has at most `max_count` iterations; `exhausted`
    is the end after the last one, if the trace reached it.
    """

    tree: Fork
    variables: list[Op]
    outer_values: list[Op]
    start: int
    stop: int
    results: list[Op]
    max_count: int | None
    exhausted: PathEnd | None

    def op_of(self, link: Any) -> Op:
        """Return the op of a loop variable at the first head, or of an outer value."""
        return (self.variables if type(link) is LoopVariable else self.outer_values)[link.number]

    def tests(self, ops: Sequence[Op]) -> list[Op]:
        """Return those of the ops that the loop replaces which are its tests."""
        fns = {id(step.op.fn) for steps, _ in self.paths() for step in steps if step.op.guard}
        return [op for op in ops[self.start : self.stop] if isinstance(op, Call) and id(op.fn) in fns]

    @property
    def key(self) -> Any:
        """A key that is equal for loops of the same code, whatever their arguments."""
        at_end = self.exhausted and tuple(self.exhausted.outputs)
        return _fork_key(self.tree), self.max_count, at_end, len(self.variables), len(self.outer_values)

    def paths(self) -> Iterator[tuple[list[PathStep], PathEnd]]:
        """Yield the paths through an iteration: all steps from the head on, and the end."""
        yield from _paths_of(self.tree, [])
        if self.exhausted is not None:
            yield [], self.exhausted


class _Iteration(NamedTuple):
    """An iteration: its number, its ops, the variables at its head, and the index of each op."""

    number: int
    ops: Sequence[Op]
    variables: list[Op]
    index_of: dict[Op, int]


def find_while_loop(
    ops: Sequence[Op], place: dict[Op, int], heads: list[int], last: dict[Any, int]
) -> WhileLoop | None:
    """Return the loop with these positions of heads; None if its iterations are not a function of their variables.

    `place` maps ops to their positions, `last` to the positions where they are read last.
    """
    if not all([ops[k].fn.is_all for k in heads]):  # type: ignore[attr-defined]
        return None
    first = len(heads) - 1
    while first and ops[heads[first]].fn.same:  # type: ignore[attr-defined]
        first -= 1
    while first < len(heads) - 1:
        try:
            return _LoopFinder(ops, place, heads[first:], last).loop()
        except NotUniform as error:
            first += error.args[0] + 1
    return None


class _LoopFinder:
    """Builds the branch tree of a loop; raises NotUniform where iterations differ without a test."""

    def __init__(self, ops: Sequence[Op], place: dict[Op, int], heads: list[int], last: dict[Any, int]) -> None:
        self.ops, self.place, self.heads, self.last = ops, place, heads, last
        states: list[list[Any]] = [[v.op for v in ops[k].references()] for k in heads]
        columns = [*zip(*states, strict=True)]
        fixed = ops[heads[0]].fn.fixed  # type: ignore[attr-defined]
        self.kept: dict[Any, int] = {}  # the columns that change, of equal ones the first
        self.unchanged: list[Op] = []  # variables that the loop sets, to the same value in each iteration
        for j, column in enumerate(columns):
            if any([op is not column[0] for op in column]) or not self.is_before(column[0]):
                self.kept.setdefault(tuple(map(id, column)), j)
            elif j not in fixed:
                self.unchanged.append(column[0])
        self.outer_values: list[Op] = []
        longest = max([b - a for a, b in itertools.pairwise(heads)])
        stops = [*heads[1:], min(heads[-1] + 1 + longest, len(ops))]
        self.iterations = []
        for k, (a, b) in enumerate(zip(heads, stops, strict=True)):
            inside = [op for op in ops[a + 1 : b] if isinstance(op, Call)]
            variables = [states[k][j] for j in self.kept.values()]
            self.iterations.append(_Iteration(k, inside, variables, {op: n for n, op in enumerate(inside)}))
        self.left = ops[heads[0]].fn.left  # type: ignore[attr-defined]
        self.last_iteration = self.iterations[-1]
        self.stop = -1
        self.results: list[Op] = []

    def is_before(self, op: Op) -> bool:
        return not isinstance(op, Call) or self.place[op] < self.heads[0]

    def loop(self) -> WhileLoop:
        is_exhausted = self.left == len(self.iterations) - 1
        tree = self.fork(self.iterations[:-1] if is_exhausted else self.iterations, 0)
        exhausted = self.exit_end(0) if is_exhausted else None
        if self.stop < 0 or not tree.branches:  # a loop of one path and a fixed count is found by rolling
            raise NotUniform(len(self.iterations))
        variables, start = self.iterations[0].variables, self.heads[0]
        return WhileLoop(tree, variables, self.outer_values, start, self.stop, self.results, self.left, exhausted)

    def fork(self, rows: list[_Iteration], start: int) -> Fork:
        """Build the branch tree for these iterations, from op `start` on."""
        steps: list[PathStep] = []
        while True:
            at = start + len(steps)
            if any([at == len(row.ops) for row in rows]):
                return Fork(start, steps, {}, self.end(rows, at))
            steps.append(self.step(rows, at))
            if rows[0].ops[at].guard:  # type: ignore[attr-defined]
                outcomes: dict[Any, list[_Iteration]] = {}
                for row in rows:
                    outcomes.setdefault(outcome_key(row.ops[at].val), []).append(row)
                if len(outcomes) > 1:
                    branches = {key: self.branch(some, at + 1) for key, some in outcomes.items()}
                    return Fork(start, steps, branches, None)

    def branch(self, rows: list[_Iteration], at: int) -> Fork:
        return self.fork(rows, at) if rows != [self.last_iteration] else Fork(at, [], {}, self.exit_end(at))

    def end(self, rows: list[_Iteration], at: int) -> PathEnd:
        """Return the end of iterations that others follow."""
        for row in rows:
            if len(row.ops) != at or row is self.last_iteration:
                raise NotUniform(row.number)
        self.check_unambiguous(rows, self.unchanged)
        nexts = [[self.iterations[row.number + 1].variables[j] for row in rows] for j in range(len(self.kept))]
        return PathEnd(False, [self.link(rows, ops, at) for ops in nexts], rows[-1].variables)

    def exit_end(self, at: int) -> PathEnd:
        """Return the end of the last iteration, after step `at - 1`; its outputs are the ops that are read later."""
        row = self.last_iteration
        self.stop = (self.place[row.ops[at - 1]] if at else self.heads[-1]) + 1
        inside = self.ops[self.heads[0] : self.stop]
        self.results = [op for op in inside if isinstance(op, Call) and self.is_read_later(op)]
        others = [op for op in row.variables if op not in self.results and self.is_read_later(op)]
        self.check_unambiguous([row], others)
        return PathEnd(True, [self.link([row], [op], at) for op in self.results], row.variables)

    def is_read_later(self, op: Op) -> bool:
        return self.last.get(op, -1) >= self.stop

    def check_unambiguous(self, rows: list[_Iteration], outer: list[Any]) -> None:
        """Raise NotUniform if a variable coincides in these iterations with one of the values from outside."""
        if any([all([row.variables[j] is op for row in rows]) for op in outer for j in range(len(self.kept))]):
            raise NotUniform(rows[0].number)

    def step(self, rows: list[_Iteration], at: int) -> PathStep:
        """Return the call that all iterations make at this index."""
        calls: list[Any] = [row.ops[at] for row in rows]
        like = _step_signature(calls[-1])
        for row, call in zip(rows, calls, strict=True):
            if _step_signature(call) != like or like is None:
                raise NotUniform(row.number)
        args = self.tree(rows, [call.args for call in calls], at)
        return PathStep(args, self.tree(rows, [call.kwargs for call in calls], at), calls[-1])

    def tree(self, rows: list[_Iteration], trees: list[Any], at: int) -> Any:
        first, t = trees[-1], type(trees[-1])
        for row, x in zip(rows, trees, strict=True):
            if (type(x) is Variable) is not (t is Variable):  # a computed number equals a constant only by chance
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
            if not _same_constant(x, first):
                raise NotUniform(row.number)
        return first

    def link(self, rows: list[_Iteration], ops: list[Any], at: int) -> Link:
        """Return the source (step, loop variable or outer value) that all iterations share for these operands."""
        places = {row.index_of.get(op, at) for row, op in zip(rows, ops, strict=True)}
        if len(places) == 1 and min(places) < at:
            return StepValue(places.pop())
        if min(places) < at or not all([is_inexact(op.val) for op in ops]):
            raise NotUniform(rows[0].number)
        pairs = [*zip(rows, ops, strict=True)]
        found: list[Link] = [
            LoopVariable(j) for j in range(len(self.kept)) if all([row.variables[j] is op for row, op in pairs])
        ]
        if all([op is ops[0] for op in ops]) and self.is_before(ops[0]):
            found.append(OuterValue(self.number(ops[0])))
        if len(found) != 1:  # these iterations do not say which it is
            raise NotUniform(rows[0].number)
        return found[0]

    def number(self, op: Op) -> int:
        if op not in self.outer_values:
            self.outer_values.append(op)
        return self.outer_values.index(op)


_BOUNDS = ("start", "stop", "step")


def outcome_key(value: Any) -> Any:
    """Return a key that is equal for equal outcomes of a test; np.bool_ counts as bool."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, tuple):
        return (type(value), *map(outcome_key, value))
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return constant_key(value)


def _step_signature(op: Any) -> Any:
    """Return the signature of a call; that of a test without its outcome."""
    if not op.guard:
        return call_signature(op)
    return "test", call_signature(Call(op.fn, op.args, op.kwargs))


def _same_constant(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides and a.tobytes() == b.tobytes()
    return bool(constant_key(a) == constant_key(b))


def _fork_key(fork: Fork) -> Any:
    steps = [(_step_signature(step.op), _argument_key((step.args, step.kwargs))) for step in fork.steps]
    branches = [(outcome, _fork_key(inner)) for outcome, inner in fork.branches.items()]
    return tuple(steps), frozenset(branches), fork.end and (fork.end.exits, *fork.end.outputs)


def _argument_key(tree: Any) -> Any:
    if isinstance(tree, (tuple, list)):
        return (type(tree), *map(_argument_key, tree))
    if isinstance(tree, dict):
        return (*tree, *map(_argument_key, tree.values()))
    if isinstance(tree, slice):
        return (slice, *[_argument_key(getattr(tree, name)) for name in _BOUNDS])
    return tree if isinstance(tree, Link) else constant_key(tree)


def _paths_of(fork: Fork, steps: list[PathStep]) -> Iterator[tuple[list[PathStep], PathEnd]]:
    steps = [*steps, *fork.steps]
    if fork.end is not None:
        yield steps, fork.end
    for inner in fork.branches.values():
        yield from _paths_of(inner, steps)


def links_in(tree: Any) -> list[Any]:
    """Return the links in arguments, in order."""
    return list(references(tree, Link))


def drop_unread_variables(loop: WhileLoop) -> WhileLoop:
    """Return the loop without the variables that iterations only pass on."""
    paths = [*loop.paths()]
    read = {link for steps, end in paths for step in steps for link in links_in((step.args, step.kwargs))}
    read |= {link for _, end in paths if end.exits for link in end.outputs}
    while True:
        more = {end.outputs[k.number] for _, end in paths if not end.exits for k in read if type(k) is LoopVariable}
        if more <= read:
            break
        read |= more
    numbers = [j for j in range(len(loop.variables)) if LoopVariable(j) in read]
    new: dict[Link, Link] = {LoopVariable(j): LoopVariable(k) for k, j in enumerate(numbers)}

    def renumbered(tree: Any) -> Any:
        return with_variables(tree, lambda link: new.get(link, link), Link)

    def new_fork(fork: Fork) -> Fork:
        steps = [PathStep(renumbered(step.args), renumbered(step.kwargs), step.op) for step in fork.steps]
        branches = {key: new_fork(inner) for key, inner in fork.branches.items()}
        return Fork(fork.start, steps, branches, new_end(fork.end))

    def new_end(end: PathEnd | None) -> PathEnd | None:
        if end is None:
            return None
        outputs = end.outputs if end.exits else [end.outputs[j] for j in numbers]
        return PathEnd(end.exits, renumbered(outputs), [end.variables[j] for j in numbers])

    variables = [loop.variables[j] for j in numbers]
    return loop._replace(tree=new_fork(loop.tree), variables=variables, exhausted=new_end(loop.exhausted))
