"""Anti-unification of iterations: what they have in common and how they are linked is the pattern of the loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from wengert.compiling.loops.periodicity import LEAST_COUNT, VARYING, Run, constant_key, is_move, signature, spec_of
from wengert.tape.ops import Op, Variable, sequence_like

Position = int
"""Where a value stands on the tape; -k for the k-th of the constants that stand among the arguments."""


class Inside(NamedTuple):
    """The value of the op at this place of the iteration."""

    op: int


class Carried(NamedTuple):
    """The value of the op at this place of the iteration `back` iterations ago; the first ones read `firsts`."""

    op: int
    back: int
    firsts: tuple[Position, ...]


class Same(NamedTuple):
    """The value at this position before the run."""

    position: Position


class Each(NamedTuple):
    """A value of its own for each iteration, at these positions before the run."""

    positions: tuple[int, ...]


class Place(NamedTuple):
    """An int: `first + k * step` in the k-th iteration."""

    first: int
    step: int


class Table:
    """A constant of its own for each iteration."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values


class Moved:
    """A call before the run for each iteration, which only moves a value: it is made in the iteration."""

    def __init__(self, column: tuple[Any, Any, Any], positions: tuple[int, ...]) -> None:
        self.column, self.positions = column, positions


_LINKS = (Moved, Inside, Carried, Same, Each, Place, Table)


class Pattern(NamedTuple):
    """A run, and for each op of an iteration its function, arguments and keywords, with links in these."""

    run: Run
    columns: list[tuple[Any, Any, Any]]


class NotUniform(Exception):
    """The iteration of this number, or one near it, is not as the others."""


def patterns_of(ops: Sequence[Op], place: dict[Op, int], runs: Sequence[Run], literals: list[Any]) -> list[Pattern]:
    """The Patterns of runs, or of the greatest parts of them that have one; `literals` gets the constants in them."""
    found: list[Pattern] = []
    for run in runs:
        pattern = _pattern(_Links(ops, place, run, [other.run for other in found], literals))
        found += [pattern] if pattern is not None else []
    return found


def _pattern(links: _Links) -> Pattern | None:
    for _ in range(6):
        run = links.run
        if run.count < LEAST_COUNT:
            return None
        try:
            return Pattern(run, [links.column(j) for j in range(run.period)])
        except NotUniform as differs:
            k = differs.args[0]
            before, after = k, run.count - k - 1
            if after >= before:
                links.run = Run(run.start + (k + 1) * run.period, run.period, after)
            else:
                links.run = Run(run.start, run.period, before)
    return None


class _Links:
    """Makes one tree of the trees of all iterations."""

    def __init__(
        self, ops: Sequence[Op], place: dict[Op, int], run: Run, before: Sequence[Run], literals: list[Any]
    ) -> None:
        self.ops, self.place, self.run, self.before, self.literals = ops, place, run, before, literals

    def column(self, j: int) -> tuple[Any, Any, Any]:
        """The function, arguments and keywords of the j-th op of the iterations."""
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
        return _constant(trees)

    def position(self, tree: Any) -> Position:
        if type(tree) is Variable:
            return self.place[tree.op]  # type: ignore[index]
        self.literals.append(tree)
        return -len(self.literals)

    def link(self, positions: np.ndarray) -> Any:
        """The link that stands for the values at these positions."""
        run, m = self.run, self.run.count // 2
        first, step = int(positions[m]), int(positions[m + 1] - positions[m])
        if first >= run.start and step == run.period:
            return self.link_within(positions, first)
        if first >= run.start or (step == run.period and positions[m + 1] >= run.start):
            raise NotUniform(min(max(first - run.start, 0) // run.period, run.count - 1))
        if (positions >= run.start).any():
            raise NotUniform(int(np.flatnonzero(positions >= run.start)[0]))
        if step == 0 and first >= 0:
            return Same(_alike(positions, first))
        for other in self.before:
            if other.start <= first < other.end and step % other.period == 0:
                expected = first + (np.arange(run.count) - m) * step
                _alike(positions - expected, 0)
                _alike(((expected >= other.start) & (expected < other.end)).astype(int), 1)
        moved = self.moved([self.ops[k] for k in positions.tolist()])
        if moved is not None:
            return Moved(moved, tuple(positions.tolist()))
        return Each(tuple(positions.tolist()))

    def moved(self, ops: list[Any]) -> tuple[Any, Any, Any] | None:
        """Anti-unify calls that take each its part of the same value; None where they do not."""
        if not all(map(is_move, ops)) or len({signature(op) for op in ops}) > 1:
            return None
        column = self.calls(ops)
        return column if all([type(link) in (Same, Place, int, float) for link in _links_in(column[1:])]) else None

    def link_within(self, positions: np.ndarray, first: int) -> Any:
        run, m = self.run, self.run.count // 2
        k, j = divmod(first - run.start, run.period)
        back = m - k
        expected = run.start + np.arange(-back, run.count - back) * run.period + j
        wrong = np.flatnonzero(positions[back:] != expected[back:])
        if wrong.size:
            raise NotUniform(int(wrong[-1]) + back if wrong[-1] < m else int(wrong[0]) + back)
        if back == 0:
            return Inside(j)
        if (positions[:back] >= run.start).any():
            raise NotUniform(0)
        like = self.ops[first].val
        for p in positions[:back].tolist():
            if p < 0 and type(like) is np.float64 and type(self.literals[-p - 1]) is float:
                self.literals[-p - 1] = np.float64(self.literals[-p - 1])  # beside such numbers it is the same
            if spec_of(self.literals[-p - 1] if p < 0 else self.ops[p].val) != spec_of(like):
                raise NotUniform(0)
        return Carried(j, back, tuple(positions[:back].tolist()))


def _alike(positions: np.ndarray, like: int) -> int:
    """The position that all are."""
    wrong = np.flatnonzero(positions != like)
    if wrong.size:
        raise NotUniform(int(wrong[-1]) if wrong[-1] < len(positions) // 2 else int(wrong[0]))
    return like


def _constant(values: list[Any]) -> Any:
    """Anti-unify constants: to the one that all are, a Place, or a Table."""
    first = values[-1]
    t = type(first)
    if all([x is first for x in values]):
        return first
    other = [k for k, x in enumerate(values) if type(x) is not t]
    if other:
        raise NotUniform(other[-1] if other[-1] < len(values) // 2 else other[0])
    if t is int:
        start, step = values[0], values[1] - values[0]
        if all([x == start + k * step for k, x in enumerate(values)]):
            return Place(start, step) if step else start
        return Table(tuple(values))
    if t is np.ndarray:
        if all([x is first or (x.tobytes() == first.tobytes() and x.strides == first.strides) for x in values]):
            return first
        return Table(tuple(values))
    if t in VARYING:
        return first if len({*map(constant_key, values)}) == 1 else Table(tuple(values))
    if isinstance(first, np.generic):
        return first  # its bits are part of the signature
    if all([x == first for x in values]):
        return first
    raise NotUniform(len(values) // 2)


def links_of(pattern: Pattern) -> Iterator[Any]:
    """The links in a pattern, and the ints and floats that all iterations have in common, in order."""
    for _, args, kwargs in pattern.columns:
        yield from _links_in((args, kwargs))


def _links_in(tree: Any) -> Iterator[Any]:
    found: list[Any] = []
    with_links(tree, found.append)
    for link in found:
        yield from _links_in(link.column[1:]) if type(link) is Moved else (link,)


def with_links(tree: Any, change: Callable[[Any], Any]) -> Any:
    """`tree` with `change(x)` in place of each link, int and float x."""
    t = type(tree)
    if t in _LINKS or t is int or t is float:
        return change(tree)
    if t is tuple or t is list:
        return t([with_links(part, change) for part in tree])
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return sequence_like(tree, [with_links(part, change) for part in tree])
    if t is dict:
        return {key: with_links(part, change) for key, part in tree.items()}
    if t is slice:
        return slice(*[with_links(part, change) for part in (tree.start, tree.stop, tree.step)])
    return tree
