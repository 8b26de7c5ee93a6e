"""Loops that run alike are made one: what a turn computes is read in the same turn, and need not be stored (S9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod

from wengert.tensor.language.indices import AffineExpr
from wengert.tensor.language.predicates import Related
from wengert.tensor.planning.loops import Span, Step, bound_by, is_masked, iterations, orders, points, steps_in_order
from wengert.tensor.planning.nests import Nest, Piece, Position, Read, Size, reads, renamed
from wengert.tensor.planning.pieces import determined
from wengert.tensor.running.spelling import INDICES

LINE = 8  # numbers in a line of the cache: a loop that steps further takes a line for each
NEARLY = 1.25  # how much dearer an order of loops may be for the sake of joining others

Shapes = Mapping[str, tuple[Size, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A piece of a nest, and its loops.

    `assigns`: no cell of the nest is written twice. `walks`: relations are walked where they can be, rather than
    tested.
    """

    nest: str
    piece: Piece
    steps: tuple[Step, ...]
    assigns: bool
    walks: bool

    @property
    def kept(self) -> set[str]:
        return {i for a in self.piece.target for i in a.names}

    @property
    def last(self) -> int:
        """How many steps it takes until the cell is known; further ones sum, if they are loops."""
        known = max((k + 1 for k, s in enumerate(self.steps) if self.kept & set(bound_by(s))), default=0)
        return known if any(map(bound_by, self.steps[known:])) else len(self.steps)

    @property
    def splits(self) -> bool:
        """Whether the outermost loop picks the cell, so that no two turns meet in one."""
        alone = {n for a in self.piece.target if isinstance(a, AffineExpr) and len(a.terms) == 1 for n in a.names}
        first = self.steps[0] if self.steps else None
        return isinstance(first, Span) and first.index in alone


@dataclass(slots=True, eq=False)
class Loops:
    """Steps, and what is done inside them, in order."""

    steps: tuple[Step, ...]
    parts: list[Job | Loops]

    def jobs(self) -> Iterator[Job]:
        for part in self.parts:
            yield from [part] if isinstance(part, Job) else part.jobs()


# ---- joining ----


def joined_loops(
    nests: Iterable[tuple[Nest, bool]], shapes: Shapes, counts: Mapping[str, int], least: float
) -> list[Loops]:
    """The nests, each with whether it assigns, in as few loops as they allow.

    `least` is the number of points from which on loops run in parallel; a job that cannot be split is then kept apart
    from those that can.
    """
    found: list[Loops] = []
    for nest, assigns in nests:
        for piece in nest.pieces:
            walks = _walks(piece, counts)
            made = cheapest(piece, nest.name, walks, shapes, counts)
            ways = [Job(nest.name, piece, steps, assigns, walks) for steps in made]
            _place(found, ways, least, counts)
    return found


def _place(trees: list[Loops], ways: list[Job], least: float, counts: Mapping[str, int]) -> None:
    """Put a job into the loops with which it shares most, or behind all; `ways` are its equally good loops."""
    fits = []
    for path in _paths(trees, {r.name for r in reads(ways[0].piece.body)}):
        along = tuple(s for node in path for s in node.steps)
        for way in ways:
            job = _called_alike(way, along)
            shared = _shared(job.steps, along)
            if shared > len(along) - len(path[-1].steps) and _may_join(job, path[0], shared, least, counts):
                fits.append((shared, path, job))
    if fits:
        shared, path, job = max(fits, key=lambda fit: fit[0])
        _insert(path, job, shared)
    else:
        trees.append(Loops(ways[0].steps, [ways[0]]))


def _paths(parts: Sequence[Job | Loops], needed: set[str]) -> Iterator[list[Loops]]:
    """The chains of loops at whose end a job may be added that reads the names `needed`; the last ones first."""
    for part in reversed(parts):
        if isinstance(part, Loops):
            yield [part]
            yield from ([part, *path] for path in _paths(part.parts, needed))
        if not needed.isdisjoint(job.nest for job in ([part] if isinstance(part, Job) else part.jobs())):
            return


def _called_alike(job: Job, along: Sequence[Step]) -> Job:
    """The job with the names that the loops `along` have for its indices."""
    order = [i for s in job.steps for i in bound_by(s)]
    there = [i for s in along for i in bound_by(s)][: len(order)]
    free = (i for i in INDICES if i not in there)
    new = {i: there[k] if k < len(there) else next(free) for k, i in enumerate(order)}
    piece = renamed(job.piece, iter([new[i] for i, _ in job.piece.indices]))
    made = steps_in_order([new[i] for i in order], piece.ranges, piece.where, walks=job.walks)
    return replace(job, piece=piece, steps=made)


def _shared(a: Sequence[Step], b: Sequence[Step]) -> int:
    return next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _may_join(job: Job, tree: Loops, shared: int, least: float, counts: Mapping[str, int]) -> bool:
    """Whether what a job reads of the loops in `tree` comes from the same turn of those that it shares with them."""
    if job.splits != all(j.splits for j in tree.jobs()) and points(job.steps, job.piece.ranges, counts) >= least:
        return False
    return all(_is_of_its_turn(job, other, shared) for other in tree.jobs())


def _is_of_its_turn(job: Job, writer: Job, shared: int) -> bool:
    common = min(shared, _shared(job.steps, writer.steps))
    turns = {i for s in job.steps[:common] for i in bound_by(s)}
    found = [r.at for r in reads(job.piece.body) if r.name == writer.nest]
    if found and writer.last < common:
        return False  # its sum ends behind these steps
    return all(
        turns <= determined(tuple(a for a, b in zip(at, writer.piece.target, strict=True) if a == b)) for at in found
    )


def _insert(path: list[Loops], job: Job, shared: int) -> None:
    node = path[-1]
    inside = shared - sum(len(above.steps) for above in path[:-1])
    if inside < len(node.steps):
        node.parts = [Loops(node.steps[inside:], node.parts)]
        node.steps = node.steps[:inside]
    node.parts.append(Loops(job.steps[shared:], [job]) if job.steps[shared:] else job)


# ---- what need not be stored ----


@dataclass(frozen=True, slots=True)
class CellAccess:
    """An access to a cell of a nest, and the loops around it."""

    cell: Read
    path: tuple[Loops, ...]
    home: Loops | None  # where a written cell is whole


def without_storage(trees: Iterable[Loops], candidates: Iterable[str]) -> set[str]:
    """Those of the nests `candidates` whose cells are each written and read within one turn of the same loops."""
    found = list(_accesses(trees, ()))
    return {name for name in candidates if _stays([a for a in found if a.cell.name == name])}


def _accesses(parts: Iterable[Job | Loops], path: tuple[Loops, ...]) -> Iterator[CellAccess]:
    for part in parts:
        if isinstance(part, Loops):
            yield from _accesses(part.parts, (*path, part))
        else:
            ends = dict(zip(accumulate(len(node.steps) for node in path), path, strict=True))
            yield CellAccess(Read(part.nest, part.piece.target), path, ends.get(part.last))
            yield from (CellAccess(r, path, None) for r in reads(part.piece.body))


def _stays(accesses: Sequence[CellAccess]) -> bool:
    written = [a for a in accesses if a.home]
    if not written or any(a.home is not written[0].home for a in written):
        return False
    home, cells = written[0].home, {a.cell.at for a in accesses}
    path = written[0].path
    turns = {i for node in path[: path.index(home) + 1] for s in node.steps for i in bound_by(s)}
    return (
        all(any(node is home for node in a.path) for a in accesses)
        and cells <= {a.cell.at for a in written}
        and all(len({a for a in column if a.names}) < 2 for column in zip(*cells, strict=True))
        and all(a.names <= turns for at in cells for a in at)
    )


# ---- orders of loops ----


def _walks(piece: Piece, counts: Mapping[str, int]) -> bool:
    """Whether relations are walked rather than tested: not where all of them hold often."""
    related = [p for p in piece.where if isinstance(p, Related)]
    return not related or not all(is_masked(p, piece.ranges, counts) for p in related)


def cheapest(piece: Piece, name: str, walks: bool, shapes: Shapes, counts: Mapping[str, int]) -> list[tuple[Step, ...]]:
    """The orders of the loops that are about as cheap as the cheapest, which comes first."""
    made = [(o, steps_in_order(o, piece.ranges, piece.where, walks=walks)) for o in orders(piece.ranges)]
    costs = [iterations(s, piece.ranges, counts) * (1 + weight(piece, o, name, shapes)) for o, s in made]
    ranked = sorted(zip(costs, (s for _, s in made), strict=True), key=lambda way: way[0])
    return [s for cost, s in ranked if cost <= NEARLY * ranked[0][0]]


def weight(piece: Piece, order: Sequence[str], name: str, shapes: Shapes) -> float:
    """How badly the loops run through memory: the accesses that need a new line of the cache at each innermost turn."""
    if not order:
        return 0.0
    kept = {i for a in piece.target for i in a.names}
    return _far(piece, name, order[-1], shapes) + (0.5 if order[0] not in kept else 0.0)


def _far(piece: Piece, name: str, index: str, shapes: Shapes) -> int:
    accesses = [Read(name, piece.target), *reads(piece.body)]
    return sum(_stride(r.at, index, shapes[r.name]) > LINE for r in accesses)


def _stride(at: Sequence[Position], index: str, shape: Sequence[Size]) -> int:
    after = [prod(n for n in shape[k + 1 :] if isinstance(n, int)) for k in range(len(at))]
    return sum(abs(a.coefficient(index)) * n for a, n in zip(at, after, strict=True) if isinstance(a, AffineExpr))
