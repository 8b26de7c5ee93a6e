"""The layout of a piece for NumPy: loops and array axes for its indices, or a list of its points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

from wengert.tensor.language.indices import AffineExpr
from wengert.tensor.language.predicates import Compare, Related, Unrelated, free_index_names
from wengert.tensor.language.terms import Add, Apply, Mul
from wengert.tensor.planning.loops import LoopStep, Span, cheapest_steps, is_mask, points, steps_in_order, strip_mined
from wengert.tensor.planning.nests import (
    CellIndex,
    EntryIndex,
    NestPiece,
    PieceBody,
    body_reads,
    calls_black_box,
    product_factors,
)
from wengert.tensor.planning.plan import Plan
from wengert.tensor.planning.regions import is_inside

# measured seconds: one iteration of a Python loop with its slices; one point of a NumPy loop, of a windowed einsum,
# of a matrix product, of a list of points
ITERATION, POINT, WINDOW, BLAS, LISTED = 3e-6, 1e-9, 3e-9, 2e-10, 2e-8
STRIP = 2**15  # cells that stay in the cache while values are added to them


@dataclass(frozen=True, slots=True)
class Box:
    """Runs a piece as Python loops over some indices; the others are array axes, whose bounds depend on the loops only.

    `masks`: relations that hold often, as boolean arrays; where they do not hold, the value is zero.
    """

    loops: tuple[LoopStep, ...]
    axes: tuple[Span, ...]
    masks: tuple[Related | Unrelated, ...] = ()


@dataclass(frozen=True, slots=True)
class Listed:
    """Runs a piece on a list of its points, which is built once for the same relations; reads gather."""


def layout(piece: NestPiece, plan: Plan) -> Box | Listed:
    """Choose the cheapest layout of a piece, estimated by the constants above."""
    layouts: tuple[Box | Listed, ...] = (Listed(), *_boxes(piece, plan))
    best = min(layouts, key=lambda chosen: estimated_seconds(piece, chosen, plan.counts))
    return _strip_mined_box(piece, best) if isinstance(best, Box) else best


def estimated_seconds(piece: NestPiece, chosen: Box | Listed, counts: Mapping[str, int]) -> float:
    """Estimate NumPy's seconds for a piece in this layout."""
    if isinstance(chosen, Box):
        iterations = points(chosen.loops, piece.ranges, counts)
        volume = iterations * prod(points((s,), piece.ranges, {}) for s in chosen.axes)
        return iterations * ITERATION + volume * (
            POINT * 2 * len(chosen.masks) + _seconds_per_point(piece, {s.index for s in chosen.axes})
        )
    every = points(cheapest_steps(piece.ranges, piece.where, counts, whole=True), piece.ranges, counts)
    return LISTED * every * (1 + len(body_reads(piece.body))) + 2 * ITERATION


def _boxes(piece: NestPiece, plan: Plan) -> Iterator[Box]:
    masks = tuple(a for a in piece.where if isinstance(a, Related | Unrelated))
    piece = replace(piece, where=tuple(a for a in piece.where if a not in masks))
    if not all(isinstance(a, Compare) for a in piece.where) or _has_entries(piece):
        return
    if masks and (calls_black_box(piece.body) or not all(_is_inside(m, piece, plan) for m in masks)):
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


def _is_inside(mask: Related | Unrelated, piece: NestPiece, plan: Plan) -> bool:
    """Whether a relation can be a mask: it holds often, and its arguments stay in range."""
    shape = plan.relations[mask.relation]
    often = is_mask(mask.relation, shape, plan.counts)
    return often and all(is_inside(a, n, piece.where, piece.ranges) for a, n in zip(mask.at, shape, strict=True))


def _strip_mined_box(piece: NestPiece, box: Box) -> Box:
    """Strip-mine a box whose loops add to many cells, so that a strip of the cells stays in the cache."""
    kept = [i for a in piece.target for i in a.names]
    if not box.loops or not all(isinstance(s, Span) and s.index not in kept for s in box.loops):
        return box
    sizes = piece.ranges
    cells = prod(sizes[s.index] for s in box.axes)
    for axis in sorted((s for s in box.axes if s.index in kept), key=lambda s: kept.index(s.index)):
        length = max(STRIP * sizes[axis.index] // cells, 1)
        if 2 * length <= sizes[axis.index]:
            strips, within = strip_mined(axis, sizes[axis.index], length)
            return replace(box, loops=(strips, *box.loops), axes=tuple(within if s is axis else s for s in box.axes))
    return box


def _has_entries(piece: NestPiece) -> bool:
    positions = (a for at in (piece.target, *(r.at for r in body_reads(piece.body))) for a in at)
    return any(isinstance(a, EntryIndex) for a in positions)


def _is_box(piece: NestPiece, looped: tuple[str, ...]) -> bool:
    """Whether, for fixed loop indices, each atom bounds one axis, and each target axis is alone in a dimension."""
    for atom in piece.where:
        free = free_index_names(atom) - set(looped)
        if len(free) > 1 or (free and isinstance(atom, Compare) and atom.op == "="):
            return False
    free_in_target = {i for a in piece.target for i in a.names} - set(looped)
    alone = {i for a in piece.target for i in a.names - set(looped) if len(a.names - set(looped)) == 1}
    return free_in_target <= alone


def _seconds_per_point(piece: NestPiece, axes: set[str]) -> float:
    parts = product_factors(piece.body)
    if any(is_window(a.at, axes) for part in parts for a in body_reads(part)):
        return WINDOW
    kept = {i for a in piece.target for i in a.names} & axes
    if len(parts) > 1 and axes - kept and len(kept) > 1:
        return BLAS
    return POINT * max(_array_passes(piece.body), 1)


def _array_passes(body: PieceBody) -> int:
    """Count NumPy's passes over the arrays of a body: one per operation."""
    match body:
        case Add(x, y) | Mul(x, y):
            return 1 + _array_passes(x) + _array_passes(y)
        case Apply(_, args):
            return 1 + sum(map(_array_passes, args))
    return 0


def is_window(at: Iterable[CellIndex], axes: set[str]) -> bool:
    """Whether two axes move along one dimension, as in a sliding window."""
    return any(isinstance(a, AffineExpr) and len(a.names & axes) > 1 for a in at)
