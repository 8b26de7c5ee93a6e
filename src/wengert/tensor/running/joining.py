"""Replacement of pieces that meet in cells by disjoint regions, so that each cell is written once, with the sum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from wengert.tensor.language.indices import AffineExpr, affine
from wengert.tensor.language.predicates import Compare, Predicate, conjoin, negate
from wengert.tensor.planning.nests import LoopNest, NestPiece, PieceBody, fresh_indices, substitute_in_piece, sum_of
from wengert.tensor.planning.pieces import PlanningContext, are_disjoint, is_reduction, normalised
from wengert.tensor.planning.plan import with_readable_indices
from wengert.tensor.planning.regions import Conjunction, disjoint_conjunctions

MAX_REGIONS = 16  # limit beyond which joining does not pay
RegionSum = tuple[Conjunction, PieceBody]


def overlapping_pieces_joined(nest: LoopNest, least: int = 0) -> LoopNest:
    """Make the elementwise pieces of a nest disjoint, if it has at least `least` cells and the regions are few."""
    cells = prod(n for n in nest.shape if isinstance(n, int))
    parts = [p for p in nest.pieces if _is_elementwise_piece(p)]
    if len(parts) < 2 or cells < least or not all(isinstance(n, int) for n in nest.shape):
        return nest
    context = PlanningContext()
    gens = tuple((next(context.fresh), n) for n in nest.shape if isinstance(n, int))
    regions = _overlaid_regions([_region_of(p, gens) for p in parts], dict(gens))
    if len(regions) > MAX_REGIONS:
        return nest
    target = tuple(affine(i) for i, _ in gens)
    pieces = (q for where, body in regions for q in normalised(NestPiece(gens, where, target, body), context))
    return with_readable_indices(replace(nest, pieces=(*pieces, *(p for p in nest.pieces if p not in parts))))


def writes_cells_once(nest: LoopNest) -> bool:
    """Whether no cell of the nest is written twice."""
    return not any(map(is_reduction, nest.pieces)) and are_disjoint(nest.pieces, PlanningContext())


def fills_all_cells(nest: LoopNest) -> bool:
    """Whether every cell of the nest is written exactly once; False if that is not known."""
    volumes = [_volume(p) for p in nest.pieces]
    cells = prod(n for n in nest.shape if isinstance(n, int))
    return (
        all(isinstance(n, int) for n in nest.shape)
        and None not in volumes
        and writes_cells_once(nest)
        and cells == sum(v for v in volumes if v is not None)
    )


def _volume(piece: NestPiece) -> int | None:
    """Count the assignments of a piece; None if an atom is not a bound on one index."""
    lows, highs = dict.fromkeys(piece.ranges, 0), dict(piece.ranges)
    for atom in piece.where:
        if not isinstance(atom, Compare) or len(atom.side.terms) != 1 or abs(atom.side.terms[0][1]) != 1:
            return None
        ((name, c),) = atom.side.terms
        if atom.op == "=":
            return None
        if c > 0:
            lows[name] = max(lows[name], -atom.side.constant)
        else:
            highs[name] = min(highs[name], atom.side.constant + 1)
    return prod(max(highs[i] - lows[i], 0) for i in lows)


def _is_elementwise_piece(piece: NestPiece) -> bool:
    """Whether a piece has one index per dimension and only bounds as atoms, so that nothing is summed."""
    own = [a.terms[0][0] for a in piece.target if isinstance(a, AffineExpr) and a.terms and a == affine(a.terms[0][0])]
    return len(set(own)) == len(own) == len(piece.target) == len(piece.indices) > 0 and all(
        isinstance(p, Compare) and p.op == ">=" for p in piece.where
    )


def _region_of(piece: NestPiece, gens: tuple[tuple[str, int], ...]) -> RegionSum:
    """The region and the body of a piece, in the indices of `gens`."""
    names = [a.terms[0][0] for a in piece.target if isinstance(a, AffineExpr)]
    result = substitute_in_piece(piece, {name: affine(i) for name, (i, _) in zip(names, gens, strict=True)})
    return result.where, result.body


def _overlaid_regions(parts: list[RegionSum], ranges: dict[str, int]) -> list[RegionSum]:
    regions: list[RegionSum] = []
    for where, body in parts:
        if len(regions) <= MAX_REGIONS:
            regions = list(_overlay(regions, where, body, ranges))
    return regions


def _overlay(
    regions: list[RegionSum], where: Conjunction, body: PieceBody, ranges: dict[str, int]
) -> Iterator[RegionSum]:
    """Lay one more region over the others: where it meets one, the bodies are added."""
    left: Predicate = conjoin(*where)
    for other, sum_there in regions:
        yield from ((part, sum_of(sum_there, body)) for part in _split_region(conjoin(*other, *where), ranges))
        yield from ((part, sum_there) for part in _split_region(conjoin(*other, negate(conjoin(*where))), ranges))
        left = conjoin(left, negate(conjoin(*other)))
    yield from ((part, body) for part in _split_region(left, ranges))


def _split_region(p: Predicate, ranges: dict[str, int]) -> tuple[Conjunction, ...]:
    context = PlanningContext(fresh=fresh_indices())
    return disjoint_conjunctions(p, ranges, lambda e: context.table(e, ranges))
