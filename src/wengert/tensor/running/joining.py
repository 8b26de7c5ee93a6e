"""Pieces that meet in cells, as regions that do not: each cell is written once, with the sum of what it gets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from wengert.tensor.language.indices import AffineExpr, affine
from wengert.tensor.language.predicates import Compare, Predicate, conjoin, negate
from wengert.tensor.planning.nests import Body, Nest, Piece, fresh_indices, moved_piece, sum_of
from wengert.tensor.planning.pieces import Planning, are_disjoint, is_reduction, settled
from wengert.tensor.planning.plan import legible
from wengert.tensor.planning.regions import Conjunction, split

REGIONS = 16  # from which there are too many to be worth it
Region = tuple[Conjunction, Body]


def joined(nest: Nest, least: int = 0) -> Nest:
    """The nest with disjoint pieces, if they fill all dimensions within affine bounds and at least `least` cells."""
    cells = prod(n for n in nest.shape if isinstance(n, int))
    parts = [p for p in nest.pieces if _is_plain(p)]
    if len(parts) < 2 or cells < least or not all(isinstance(n, int) for n in nest.shape):
        return nest
    context = Planning()
    gens = tuple((next(context.fresh), n) for n in nest.shape if isinstance(n, int))
    regions = _regions([_over(p, gens) for p in parts], dict(gens))
    if len(regions) > REGIONS:
        return nest
    target = tuple(affine(i) for i, _ in gens)
    pieces = (q for where, body in regions for q in settled(Piece(gens, where, target, body), context))
    return legible(replace(nest, pieces=(*pieces, *(p for p in nest.pieces if p not in parts))))


def is_apart(nest: Nest) -> bool:
    """Whether no cell of the nest is written twice."""
    return not any(map(is_reduction, nest.pieces)) and are_disjoint(nest.pieces, Planning())


def is_full(nest: Nest) -> bool:
    """Whether every cell of the nest is written once."""
    volumes = [_volume(p) for p in nest.pieces]
    cells = prod(n for n in nest.shape if isinstance(n, int))
    return (
        all(isinstance(n, int) for n in nest.shape)
        and None not in volumes
        and is_apart(nest)
        and cells == sum(v for v in volumes if v is not None)
    )


def _volume(piece: Piece) -> int | None:
    """How many assignments a piece has whose bounds concern one index each."""
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


def _is_plain(piece: Piece) -> bool:
    """Whether a piece has one index for each dimension and nothing but bounds: nothing is summed."""
    own = [a.terms[0][0] for a in piece.target if isinstance(a, AffineExpr) and a.terms and a == affine(a.terms[0][0])]
    return len(set(own)) == len(own) == len(piece.target) == len(piece.indices) > 0 and all(
        isinstance(p, Compare) and p.op == ">=" for p in piece.where
    )


def _over(piece: Piece, gens: tuple[tuple[str, int], ...]) -> Region:
    """The piece in the indices of `gens`, with bounds where its own ranges are narrower."""
    names = [a.terms[0][0] for a in piece.target if isinstance(a, AffineExpr)]
    result = moved_piece(piece, {name: affine(i) for name, (i, _) in zip(names, gens, strict=True)})
    return result.where, result.body


def _regions(parts: list[Region], ranges: dict[str, int]) -> list[Region]:
    regions: list[Region] = []
    for where, body in parts:
        if len(regions) <= REGIONS:
            regions = list(_with(regions, where, body, ranges))
    return regions


def _with(regions: list[Region], where: Conjunction, body: Body, ranges: dict[str, int]) -> Iterator[Region]:
    """The regions after one more part is laid over them: where it meets one, they add."""
    left: Predicate = conjoin(*where)
    for other, sum_there in regions:
        yield from ((part, sum_of(sum_there, body)) for part in _parts(conjoin(*other, *where), ranges))
        yield from ((part, sum_there) for part in _parts(conjoin(*other, negate(conjoin(*where))), ranges))
        left = conjoin(left, negate(conjoin(*other)))
    yield from ((part, body) for part in _parts(left, ranges))


def _parts(p: Predicate, ranges: dict[str, int]) -> tuple[Conjunction, ...]:
    context = Planning(fresh=fresh_indices())
    return split(p, ranges, lambda e: context.table(e, ranges))
