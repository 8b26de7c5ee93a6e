"""How NumPy runs a piece: which indices are loops, which are axes of arrays, or whether its points are listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

from wengert.tensor.language.indices import AffineExpr
from wengert.tensor.language.predicates import Compare, Related, Unrelated, free_index_names
from wengert.tensor.language.terms import Add, Apply, Mul
from wengert.tensor.planning.loops import Span, Step, in_strips, is_mask, points, steps, steps_in_order
from wengert.tensor.planning.nests import Body, EntryIndex, Piece, Position, calls, factors, reads
from wengert.tensor.planning.plan import Plan
from wengert.tensor.planning.regions import is_inside

# seconds, by measurement: a turn of a Python loop with its slices, a point of a NumPy loop, of a windowed einsum,
# of a matrix product, of a list of points
TURN, POINT, WINDOW, BLAS, LISTED = 3e-6, 1e-9, 3e-9, 2e-10, 2e-8
STRIP = 2**15  # cells that are added up while they stay in the cache


@dataclass(frozen=True, slots=True)
class Box:
    """A piece is run as loops over some indices; others are axes of arrays, with bounds that depend on loops only.

    `masks`: relations that hold often, as arrays of booleans: where they do not hold, the value is zero.
    """

    loops: tuple[Step, ...]
    axes: tuple[Span, ...]
    masks: tuple[Related | Unrelated, ...] = ()


@dataclass(frozen=True, slots=True)
class Listed:
    """A piece is run on a list of its points, which is made once for each relation; reads gather."""


def layout(piece: Piece, plan: Plan) -> Box | Listed:
    """The cheaper way to run a piece, estimated by the constants above."""
    ways: tuple[Box | Listed, ...] = (Listed(), *_boxes(piece, plan))
    best = min(ways, key=lambda how: seconds(piece, how, plan.counts))
    return _in_strips(piece, best) if isinstance(best, Box) else best


def seconds(piece: Piece, how: Box | Listed, counts: Mapping[str, int]) -> float:
    """About how long NumPy takes for a piece that is run so."""
    if isinstance(how, Box):
        turns = points(how.loops, piece.ranges, counts)
        volume = turns * prod(points((s,), piece.ranges, {}) for s in how.axes)
        return turns * TURN + volume * (POINT * 2 * len(how.masks) + _rate(piece, {s.index for s in how.axes}))
    every = points(steps(piece.ranges, piece.where, counts, whole=True), piece.ranges, counts)
    return LISTED * every * (1 + len(reads(piece.body))) + 2 * TURN


def _boxes(piece: Piece, plan: Plan) -> Iterator[Box]:
    masks = tuple(a for a in piece.where if isinstance(a, Related | Unrelated))
    piece = replace(piece, where=tuple(a for a in piece.where if a not in masks))
    if not all(isinstance(a, Compare) for a in piece.where) or _has_entries(piece):
        return
    if masks and (calls(piece.body) or not all(_is_inside(m, piece, plan) for m in masks)):
        return
    ranges = piece.ranges
    for size in range(len(ranges) + 1):
        for looped in combinations(ranges, size):
            if _is_box(piece, looped):
                order = sorted(looped, key=lambda i: ranges[i])
                made = steps_in_order((*order, *(i for i in ranges if i not in looped)), ranges, piece.where)
                axes = tuple(s for s in made if isinstance(s, Span) and s.index not in looped)
                if len(axes) + len(looped) == len(ranges):
                    loops = tuple(s for s in made if s not in axes)
                    yield Box(loops, axes, masks)


def _is_inside(mask: Related | Unrelated, piece: Piece, plan: Plan) -> bool:
    """Whether a relation can be a mask: it holds often, and is asked for only where it is defined."""
    shape = plan.relations[mask.relation]
    often = is_mask(mask.relation, shape, plan.counts)
    return often and all(is_inside(a, n, piece.where, piece.ranges) for a, n in zip(mask.at, shape, strict=True))


def _in_strips(piece: Piece, box: Box) -> Box:
    """The box with its loops in strips, where they add up many cells: what they add to stays in the cache."""
    kept = [i for a in piece.target for i in a.names]
    if not box.loops or not all(isinstance(s, Span) and s.index not in kept for s in box.loops):
        return box
    sizes = piece.ranges
    cells = prod(sizes[s.index] for s in box.axes)
    for axis in sorted((s for s in box.axes if s.index in kept), key=lambda s: kept.index(s.index)):
        length = max(STRIP * sizes[axis.index] // cells, 1)
        if 2 * length <= sizes[axis.index]:
            strips, within = in_strips(axis, sizes[axis.index], length)
            return replace(box, loops=(strips, *box.loops), axes=tuple(within if s is axis else s for s in box.axes))
    return box


def _has_entries(piece: Piece) -> bool:
    positions = (a for at in (piece.target, *(r.at for r in reads(piece.body))) for a in at)
    return any(isinstance(a, EntryIndex) for a in positions)


def _is_box(piece: Piece, looped: tuple[str, ...]) -> bool:
    """Whether with these loops fixed each atom bounds one axis, and axes meet in a cell only to be summed."""
    for atom in piece.where:
        free = free_index_names(atom) - set(looped)
        if len(free) > 1 or (free and isinstance(atom, Compare) and atom.op == "="):
            return False
    free_in_target = {i for a in piece.target for i in a.names} - set(looped)
    alone = {i for a in piece.target for i in a.names - set(looped) if len(a.names - set(looped)) == 1}
    return free_in_target <= alone


def _rate(piece: Piece, axes: set[str]) -> float:
    parts = factors(piece.body)
    if any(is_window(a.at, axes) for part in parts for a in reads(part)):
        return WINDOW
    kept = {i for a in piece.target for i in a.names} & axes
    if len(parts) > 1 and axes - kept and len(kept) > 1:
        return BLAS
    return POINT * max(_passes(piece.body), 1)


def _passes(body: Body) -> int:
    """How often NumPy goes over the arrays for a body: once for each operation."""
    match body:
        case Add(x, y) | Mul(x, y):
            return 1 + _passes(x) + _passes(y)
        case Apply(_, args):
            return 1 + sum(map(_passes, args))
    return 0


def is_window(at: Iterable[Position], axes: set[str]) -> bool:
    """Whether two axes move along one dimension, so that cells overlap."""
    return any(isinstance(a, AffineExpr) and len(a.names & axes) > 1 for a in at)
