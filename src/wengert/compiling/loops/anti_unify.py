"""Anti-unification of iterations: find the pattern of a loop, which says what its iterations share and how they differ.

A link stands in a pattern for an operand, and says where each iteration gets it from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.constants import are_equal_constants, constant_key
from wengert.compiling.loops.periodicity import LEAST_COUNT, VARYING, Run, call_signature, is_move, static_spec
from wengert.tape.ops import Op, Variable, sequence_like

Position = int
"""The index of a value on the tape; -k for the k-th of the literal arguments."""


class LocalValue(NamedTuple):
    """The value of the op with this index in the same iteration."""

    op: int


class CarriedValue(NamedTuple):
    """The value of the op with this index, `back` iterations ago; the first iterations read the positions `firsts`."""

    op: int
    back: int
    firsts: tuple[Position, ...]


class InvariantValue(NamedTuple):
    """The value at this position before the run, the same in all iterations."""

    position: Position


class ValuePerIteration(NamedTuple):
    """One value for each iteration, at these positions before the run."""

    positions: tuple[int, ...]


class CounterValue(NamedTuple):
    """An integer: `first + k * step` in iteration k."""

    first: int
    step: int


class ConstantPerIteration:
    """One constant for each iteration."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values


class MovePerIteration:
    """One call for each iteration that only takes a part of a value: it moves from before the run into the body."""

    def __init__(self, column: tuple[Any, Any, Any], positions: tuple[int, ...]) -> None:
        self.column, self.positions = column, positions


_LINKS = (
    MovePerIteration, LocalValue, CarriedValue, InvariantValue, ValuePerIteration, CounterValue, ConstantPerIteration,
)  # fmt: skip


class LoopPattern(NamedTuple):
    """A run, and for each op of an iteration its function, arguments and keyword arguments, which contain links."""

    run: Run
    columns: list[tuple[Any, Any, Any]]


class NotUniform(Exception):
    """The iteration of this number, or one near it, differs from the others."""


def patterns_of(ops: Sequence[Op], place: dict[Op, int], runs: Sequence[Run], literals: list[Any]) -> list[LoopPattern]:
    """Return the patterns of runs, or of their uniform parts; append their literal arguments to `literals`.

    A run that is not uniform, such as all rows of a triangle, is split where its iterations differ. One whose integers
    count in rows is split into these: it is a loop within another one.
    """
    found: list[LoopPattern] = []
    todo = [(run, 0) for run in reversed(runs)]
    while todo:
        run, splits = todo.pop()
        if run.count < LEAST_COUNT or splits > _MOST_SPLITS:
            continue
        links = _AntiUnifier(ops, place, run, [other.run for other in found], literals)
        try:
            pattern = LoopPattern(run, [links.column(j) for j in range(run.period)])
            n = _row_length(pattern)
            if n == run.count:
                found.append(pattern)
            else:
                todo += [(Run(start, run.period, n), 0) for start in range(run.start, run.end, n * run.period)][::-1]
        except NotUniform as error:
            k = error.args[0]
            before = k + 1 if k < run.count // 2 else k
            after = Run(run.start + before * run.period, run.period, run.count - before)
            todo += [(after, splits + 1), (run._replace(count=before), splits + 1)]
    return found


def _row_length(pattern: LoopPattern) -> int:
    """Return after how many iterations all integers that are no counters of the run begin to count anew."""
    links = [link for link in links_of(pattern) if type(link) in (ConstantPerIteration, ValuePerIteration)]
    tables = [np.array(getattr(link, "values", [None])) for link in links]
    count = pattern.run.count
    if not tables or any([table.dtype != np.int64 or table.ndim > 1 for table in tables]):
        return count
    steps = np.diff(tables)
    n = 1 + int(np.argmax((steps != steps[:, :1]).any(axis=0)))
    if n < LEAST_COUNT or count % n or count // n < LEAST_COUNT:
        return count
    within = np.delete(steps, np.s_[n - 1 :: n], axis=1)
    return n if (within == steps[:, :1]).all() else count


_MOST_SPLITS = 12
"""How often parts of a run are split again."""


class _AntiUnifier:
    """Anti-unifies the arguments of all iterations: equal parts stay, differing ones become links."""

    def __init__(
        self, ops: Sequence[Op], place: dict[Op, int], run: Run, earlier: Sequence[Run], literals: list[Any]
    ) -> None:
        self.ops, self.place, self.run, self.earlier, self.literals = ops, place, run, earlier, literals

    def column(self, j: int) -> tuple[Any, Any, Any]:
        """Return the function, arguments and keyword arguments of op j of the iterations, with links."""
        return self.calls([self.ops[k] for k in range(self.run.start + j, self.run.end, self.run.period)])

    def calls(self, calls: list[Any]) -> tuple[Any, Any, Any]:
        return calls[-1].fn, self([call.args for call in calls]), self([call.kwargs for call in calls])

    def __call__(self, trees: list[Any]) -> Any:
        first = trees[-1]
        t = type(first)
        if t is Variable:
            return self.link(np.array([self.position(tree) for tree in trees]))
        if t is tuple or t is list:
            return sequence_like(first, [self(list(parts)) for parts in zip(*trees, strict=True)])
        if t is dict:
            return {key: self([tree[key] for tree in trees]) for key in first}
        if t is slice:
            return slice(*[self([getattr(tree, name) for tree in trees]) for name in ("start", "stop", "step")])
        return _unify_constants(trees)

    def position(self, tree: Any) -> Position:
        if type(tree) is Variable:
            return self.place[tree.op]  # type: ignore[index]
        self.literals.append(tree)
        return -len(self.literals)

    def link(self, positions: np.ndarray) -> Any:
        """Return the link to the values at these positions, one for each iteration."""
        run, m = self.run, self.run.count // 2
        first, step = int(positions[m]), int(positions[m + 1] - positions[m])
        if first >= run.start and step == run.period:
            return self.link_inside(positions, first)
        if first >= run.start or (step == run.period and positions[m + 1] >= run.start):
            raise NotUniform(min(max(first - run.start, 0) // run.period, run.count - 1))
        if (positions >= run.start).any():
            raise NotUniform(_nearest(np.flatnonzero(positions >= run.start), m))
        if step == 0 and first >= 0:
            return InvariantValue(_check_all_equal(positions, first))
        for other in self.earlier:
            if other.start <= first < other.end and step % other.period == 0:
                expected = first + (np.arange(run.count) - m) * step
                _check_all_equal(positions - expected, 0)
                _check_all_equal(((expected >= other.start) & (expected < other.end)).astype(int), 1)
        moved = self.moved([self.ops[k] for k in positions.tolist()])
        if moved is not None:
            return MovePerIteration(moved, tuple(positions.tolist()))
        return ValuePerIteration(tuple(positions.tolist()))

    def moved(self, ops: list[Any]) -> tuple[Any, Any, Any] | None:
        """Anti-unify calls that each take a part of the same value; return None if they do not."""
        if not all(map(is_move, ops)) or len({call_signature(op) for op in ops}) > 1:
            return None
        column = self.calls(ops)
        return (
            column
            if all([type(link) in (InvariantValue, CounterValue, int, float) for link in _links_in(column[1:])])
            else None
        )

    def link_inside(self, positions: np.ndarray, first: int) -> Any:
        run, m = self.run, self.run.count // 2
        k, j = divmod(first - run.start, run.period)
        back = m - k
        expected = run.start + np.arange(-back, run.count - back) * run.period + j
        wrong = np.flatnonzero(positions[back:] != expected[back:])
        if wrong.size:
            raise NotUniform(_nearest(wrong + back, m))
        if back == 0:
            return LocalValue(j)
        if (positions[:back] >= run.start).any():
            raise NotUniform(0)
        like = self.ops[first].val
        for p in positions[:back].tolist():
            if p < 0 and type(like) is np.float64 and type(self.literals[-p - 1]) is float:
                self.literals[-p - 1] = np.float64(self.literals[-p - 1])  # with a np.float64 it computes the same
            if static_spec(self.literals[-p - 1] if p < 0 else self.ops[p].val) != static_spec(like):
                raise NotUniform(0)
        return CarriedValue(j, back, tuple(positions[:back].tolist()))


def _check_all_equal(positions: np.ndarray, like: int) -> int:
    """Return `like` if all positions equal it; else raise NotUniform."""
    wrong = np.flatnonzero(positions != like)
    if wrong.size:
        raise NotUniform(_nearest(wrong, len(positions) // 2))
    return like


def _nearest(wrong: np.ndarray, middle: int) -> int:
    """Return the number of the iteration nearest to the middle among those that differ from it."""
    return int(wrong[np.abs(wrong - middle).argmin()])


def _unify_constants(values: list[Any]) -> Any:
    """Anti-unify constants to one that equals all, a CounterValue or a ConstantPerIteration."""
    first = values[-1]
    t = type(first)
    if all([x is first for x in values]):
        return first
    other = [k for k, x in enumerate(values) if type(x) is not t]
    if other:
        raise NotUniform(_nearest(np.array(other), len(values) // 2))
    if t is int:
        start, step = values[0], values[1] - values[0]
        if all([x == start + k * step for k, x in enumerate(values)]):
            return CounterValue(start, step) if step else start
        return ConstantPerIteration(tuple(values))
    are_alike = True  # constants of other types are part of the signature
    if t is np.ndarray:
        are_alike = all([are_equal_constants(x, first) for x in values])
    elif t in VARYING:
        are_alike = len({*map(constant_key, values)}) == 1
    return first if are_alike else ConstantPerIteration(tuple(values))


def links_of(pattern: LoopPattern) -> Iterator[Any]:
    """Yield the links in a pattern, and the integers and floats that all iterations share, in order."""
    for _, args, kwargs in pattern.columns:
        yield from _links_in((args, kwargs))


def _links_in(tree: Any) -> Iterator[Any]:
    found: list[Any] = []
    with_links(tree, found.append)
    for link in found:
        yield from _links_in(link.column[1:]) if type(link) is MovePerIteration else (link,)


def with_links(tree: Any, change: Callable[[Any], Any]) -> Any:
    """Replace each link, integer and float x in `tree` by `change(x)`."""
    t = type(tree)
    if t in _LINKS or t is int or t is float:
        return change(tree)
    if t is tuple or t is list:
        return t([with_links(part, change) for part in tree])
    if t is dict:
        return {key: with_links(part, change) for key, part in tree.items()}
    if t is slice:
        return slice(*[with_links(part, change) for part in (tree.start, tree.stop, tree.step)])
    return tree
