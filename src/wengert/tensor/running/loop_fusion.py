"""Loop fusion: loops with equal steps become one. A value read only in its own iteration is not stored (S9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod

from wengert.tensor.language.indices import AffineExpr
from wengert.tensor.language.predicates import Related
from wengert.tensor.planning.loops import (
    LoopStep,
    Span,
    bound_by,
    is_masked,
    iterations,
    loop_orders,
    points,
    steps_in_order,
)
from wengert.tensor.planning.nests import CellIndex, LoopNest, NestPiece, Read, Size, body_reads, with_fresh_indices
from wengert.tensor.planning.pieces import determined_indices
from wengert.tensor.running.spelling import INDICES

CACHE_LINE = 8  # numbers in a cache line: a loop with a larger stride takes a line per access
ORDER_SLACK = 1.25  # factor by which a loop order may cost more than the cheapest, to allow fusion

Shapes = Mapping[str, tuple[Size, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A piece of a nest, and its loops.

    `assigns`: no cell of the nest is written twice. `walks`: relations are walked, not tested, where possible.
    """

    nest: str
    piece: NestPiece
    steps: tuple[LoopStep, ...]
    assigns: bool
    walks: bool

    @property
    def kept(self) -> set[str]:
        return {i for a in self.piece.target for i in a.names}

    @property
    def cell_depth(self) -> int:
        """The number of steps that determine the cell; if loops follow, these sum."""
        known = max((k + 1 for k, s in enumerate(self.steps) if self.kept & set(bound_by(s))), default=0)
        return known if any(map(bound_by, self.steps[known:])) else len(self.steps)

    @property
    def splits(self) -> bool:
        """Whether the outermost loop determines the cell, so that no two iterations write to the same one."""
        alone = {n for a in self.piece.target if isinstance(a, AffineExpr) and len(a.terms) == 1 for n in a.names}
        first = self.steps[0] if self.steps else None
        return isinstance(first, Span) and first.index in alone


@dataclass(slots=True, eq=False)
class LoopTree:
    """Steps, and the jobs and further loops inside them, in order."""

    steps: tuple[LoopStep, ...]
    parts: list[Job | LoopTree]

    def jobs(self) -> Iterator[Job]:
        for part in self.parts:
            yield from [part] if isinstance(part, Job) else part.jobs()


# ---- fusion ----


def fused_loops(
    nests: Iterable[tuple[LoopNest, bool]], shapes: Shapes, counts: Mapping[str, int], parallel_from: float
) -> list[LoopTree]:
    """Fuse the loops of nests, each given with whether it assigns, into as few as possible.

    Loops of at least `parallel_from` points may run in parallel: there, jobs that can be split stay apart from others.
    """
    found: list[LoopTree] = []
    for nest, assigns in nests:
        for piece in nest.pieces:
            walks = _walks_relations(piece, counts)
            made = cheapest_orders(piece, nest.name, walks, shapes, counts)
            variants = [Job(nest.name, piece, steps, assigns, walks) for steps in made]
            _add_job(found, variants, parallel_from, counts)
    return found


def _add_job(trees: list[LoopTree], variants: list[Job], parallel_from: float, counts: Mapping[str, int]) -> None:
    """Add one of a job's `variants`, its loop orders, to the loops with the most equal steps, or else as a new tree."""
    fits = []
    for path in _paths(trees, {r.name for r in body_reads(variants[0].piece.body)}):
        along = tuple(s for node in path for s in node.steps)
        for variant in variants:
            job = _renamed_alike(variant, along)
            shared = _shared_steps(job.steps, along)
            if shared > len(along) - len(path[-1].steps) and _may_join(job, path[0], shared, parallel_from, counts):
                fits.append((shared, path, job))
    if fits:
        shared, path, job = max(fits, key=lambda fit: fit[0])
        _insert_job(path, job, shared)
    else:
        trees.append(LoopTree(variants[0].steps, [variants[0]]))


def _paths(parts: Sequence[Job | LoopTree], needed: set[str]) -> Iterator[list[LoopTree]]:
    """The chains of loops to whose end a job that reads the names `needed` may be added, the last ones first."""
    for part in reversed(parts):
        if isinstance(part, LoopTree):
            yield [part]
            yield from ([part, *path] for path in _paths(part.parts, needed))
        if not needed.isdisjoint(job.nest for job in ([part] if isinstance(part, Job) else part.jobs())):
            return


def _renamed_alike(job: Job, along: Sequence[LoopStep]) -> Job:
    """The job with its indices renamed to those of the loops `along`."""
    order = [i for s in job.steps for i in bound_by(s)]
    there = [i for s in along for i in bound_by(s)][: len(order)]
    free = (i for i in INDICES if i not in there)
    new = {i: there[k] if k < len(there) else next(free) for k, i in enumerate(order)}
    piece = with_fresh_indices(job.piece, iter([new[i] for i, _ in job.piece.indices]))
    made = steps_in_order([new[i] for i in order], piece.ranges, piece.where, walks=job.walks)
    return replace(job, piece=piece, steps=made)


def _shared_steps(a: Sequence[LoopStep], b: Sequence[LoopStep]) -> int:
    return next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _may_join(job: Job, tree: LoopTree, shared: int, parallel_from: float, counts: Mapping[str, int]) -> bool:
    """Whether a job may share its first steps with `tree`: it reads only values of the same iteration of these."""
    splits = all(j.splits for j in tree.jobs())
    if job.splits != splits and points(job.steps, job.piece.ranges, counts) >= parallel_from:
        return False
    return all(_reads_same_iteration(job, other, shared) for other in tree.jobs())


def _reads_same_iteration(job: Job, writer: Job, shared: int) -> bool:
    common = min(shared, _shared_steps(job.steps, writer.steps))
    indices = {i for s in job.steps[:common] for i in bound_by(s)}
    found = [r.at for r in body_reads(job.piece.body) if r.name == writer.nest]
    if found and writer.cell_depth < common:
        return False  # the sum is complete only after these steps
    return all(
        indices <= determined_indices(tuple(a for a, b in zip(at, writer.piece.target, strict=True) if a == b))
        for at in found
    )


def _insert_job(path: list[LoopTree], job: Job, shared: int) -> None:
    node = path[-1]
    inside = shared - sum(len(above.steps) for above in path[:-1])
    if inside < len(node.steps):
        node.parts = [LoopTree(node.steps[inside:], node.parts)]
        node.steps = node.steps[:inside]
    node.parts.append(LoopTree(job.steps[shared:], [job]) if job.steps[shared:] else job)


# ---- nests without storage ----


@dataclass(frozen=True, slots=True)
class CellAccess:
    """An access to a cell of a nest, and the loops around it."""

    cell: Read
    path: tuple[LoopTree, ...]
    home: LoopTree | None  # the loops after which a written cell is complete


def without_storage(trees: Iterable[LoopTree], candidates: Iterable[str]) -> set[str]:
    """The nests among `candidates` whose cells are written and read within one iteration of the same loops."""
    found = list(_cell_accesses(trees, ()))
    return {name for name in candidates if _needs_no_array([a for a in found if a.cell.name == name])}


def _cell_accesses(parts: Iterable[Job | LoopTree], path: tuple[LoopTree, ...]) -> Iterator[CellAccess]:
    for part in parts:
        if isinstance(part, LoopTree):
            yield from _cell_accesses(part.parts, (*path, part))
        else:
            ends = dict(zip(accumulate(len(node.steps) for node in path), path, strict=True))
            yield CellAccess(Read(part.nest, part.piece.target), path, ends.get(part.cell_depth))
            yield from (CellAccess(r, path, None) for r in body_reads(part.piece.body))


def _needs_no_array(accesses: Sequence[CellAccess]) -> bool:
    written = [a for a in accesses if a.home]
    if not written or any(a.home is not written[0].home for a in written):
        return False
    home, cells = written[0].home, {a.cell.at for a in accesses}
    path = written[0].path
    indices = {i for node in path[: path.index(home) + 1] for s in node.steps for i in bound_by(s)}
    return (
        all(any(node is home for node in a.path) for a in accesses)
        and cells <= {a.cell.at for a in written}
        and all(len({a for a in column if a.names}) < 2 for column in zip(*cells, strict=True))
        and all(a.names <= indices for at in cells for a in at)
    )


# ---- orders of loops ----


def _walks_relations(piece: NestPiece, counts: Mapping[str, int]) -> bool:
    """Whether to walk relations rather than test them: not if all of them hold often."""
    related = [p for p in piece.where if isinstance(p, Related)]
    return not related or not all(is_masked(p, piece.ranges, counts) for p in related)


def cheapest_orders(
    piece: NestPiece, name: str, walks: bool, shapes: Shapes, counts: Mapping[str, int]
) -> list[tuple[LoopStep, ...]]:
    """The loop orders that cost about as little as the cheapest, which comes first."""
    made = [(o, steps_in_order(o, piece.ranges, piece.where, walks=walks)) for o in loop_orders(piece.ranges)]
    costs = [iterations(s, piece.ranges, counts) * (1 + memory_penalty(piece, o, name, shapes)) for o, s in made]
    ranked = sorted(zip(costs, (s for _, s in made), strict=True), key=lambda ranking: ranking[0])
    return [s for cost, s in ranked if cost <= ORDER_SLACK * ranked[0][0]]


def memory_penalty(piece: NestPiece, order: Sequence[str], name: str, shapes: Shapes) -> float:
    """Count the accesses with a new cache line per innermost iteration; add 0.5 if the outermost loop sums."""
    if not order:
        return 0.0
    kept = {i for a in piece.target for i in a.names}
    return _far_accesses(piece, name, order[-1], shapes) + (0.5 if order[0] not in kept else 0.0)


def _far_accesses(piece: NestPiece, name: str, index: str, shapes: Shapes) -> int:
    accesses = [Read(name, piece.target), *body_reads(piece.body)]
    return sum(_stride(r.at, index, shapes[r.name]) > CACHE_LINE for r in accesses)


def _stride(at: Sequence[CellIndex], index: str, shape: Sequence[Size]) -> int:
    after = [prod(n for n in shape[k + 1 :] if isinstance(n, int)) for k in range(len(at))]
    return sum(abs(a.coefficient(index)) * n for a, n in zip(at, after, strict=True) if isinstance(a, AffineExpr))
