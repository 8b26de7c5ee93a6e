"""Contraction order: in a sum of products, an index is summed first where that costs less.

Σ[j, k] a[i, j]·b[j, k]·x[k] takes n³ products, but n² if t[j] = Σ[k] b[j, k]·x[k] is computed first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from wengert.tensor.language.indices import affine
from wengert.tensor.language.predicates import conjoin, exists, free_index_names
from wengert.tensor.language.terms import Add
from wengert.tensor.planning.loops import cheapest_steps, points
from wengert.tensor.planning.nests import (
    LoopNest,
    NestPiece,
    PieceBody,
    Read,
    body_names,
    body_reads,
    calls_black_box,
    distinct_atoms,
    product_factors,
    product_of,
    replace_read,
)
from wengert.tensor.planning.pieces import PlanningContext, is_reduction, normalised

FactorSplit = tuple[LoopNest, NestPiece]
UNNAMED = ""


def indices_eliminated(nests: Mapping[str, LoopNest], context: PlanningContext) -> dict[str, LoopNest]:
    """Split each piece into the cheapest sums of products that are found by summing one index after the other."""
    result: dict[str, LoopNest] = {}
    fresh = (name for name in (f"s{k}" for k in count()) if name not in nests)
    for nest in nests.values():
        result |= _eliminate_in_nest(nest, fresh, context)
    return result


def _eliminate_in_nest(nest: LoopNest, fresh: Iterator[str], context: PlanningContext) -> dict[str, LoopNest]:
    result: dict[str, LoopNest] = {}
    pieces: list[NestPiece] = []
    for left in (part for piece in nest.pieces for part in _sum_terms(piece)):
        while split := _cheapest(left, context):
            inner, left = _named_split(split, next(fresh))
            result |= _eliminate_in_nest(inner, fresh, context)
        pieces += normalised(left, context)
    return {**result, nest.name: replace(nest, pieces=tuple(pieces))}


def _sum_terms(piece: NestPiece) -> tuple[NestPiece, ...]:
    """Split a sum over addends into one sum each if some are products, since each has its own contraction order."""
    terms = _addends(piece.body)
    products = [{body_names(f) for f in product_factors(term)} for term in terms]
    if len(terms) < 2 or not is_reduction(piece) or all(len(p) < 2 for p in products):
        return (piece,)
    return tuple(replace(piece, body=term) for term in terms)


def _addends(body: PieceBody) -> tuple[PieceBody, ...]:
    return (*_addends(body.left), *_addends(body.right)) if isinstance(body, Add) else (body,)


def _cheapest(piece: NestPiece, context: PlanningContext) -> FactorSplit | None:
    """The split of a piece that leaves the fewest operations; None if no split saves any."""
    kept = {i for a in piece.target for i in a.names}
    found = (_split_at_index(piece, index) for index in piece.ranges if index not in kept)
    splits = [split for split in found if split is not None]
    best = min(splits, key=lambda split: _split_operations(split, context), default=None)
    return best if best and _split_operations(best, context) < _piece_operations(piece, context) else None


def _split_at_index(piece: NestPiece, index: str) -> FactorSplit | None:
    """Split off the factors that have the index: their sum over it, as a nest without a name, and the piece reading it.

    The piece reads the other factors only where the sum has terms. Elsewhere they may be infinite, or outside of their
    arrays.
    """
    parts = product_factors(piece.body)
    own = [p for p in parts if index in body_names(p)]
    others = [p for p in parts if p not in own]
    inside = tuple(p for p in piece.where if index in free_index_names(p))
    about = {i for p in inside for i in free_index_names(p)} | {i for p in own for i in body_names(p)}
    free = tuple((i, n) for i, n in piece.indices if i in about and i != index)
    outside = tuple(p for p in piece.where if p not in inside)
    if not own or not others or any(map(calls_black_box, own)) or any(free_index_names(p) & about for p in outside):
        return None
    at = tuple(affine(i) for i, _ in free)
    some = exists([(index, affine(piece.ranges[index]))], conjoin(*inside))
    inner = NestPiece((*free, (index, piece.ranges[index])), inside, at, product_of(tuple(own)))
    body: PieceBody = product_of((*others, Read(UNNAMED, at)))
    indices = tuple(x for x in piece.indices if x[0] != index)
    outer = replace(piece, indices=indices, where=distinct_atoms((*outside, some)), body=body)
    return LoopNest(UNNAMED, tuple(n for _, n in free), (inner,)), outer


def _named_split(split: FactorSplit, name: str) -> FactorSplit:
    nest, outer = split
    (read,) = (r for r in body_reads(outer.body) if r.name == UNNAMED)
    return replace(nest, name=name), replace(outer, body=replace_read(outer.body, read, Read(name, read.at)))


def _split_operations(split: FactorSplit, context: PlanningContext) -> float:
    nest, outer = split
    return sum(_piece_operations(p, context) for p in (*nest.pieces, outer))


def _piece_operations(piece: NestPiece, context: PlanningContext) -> float:
    """Estimate the number of products and additions of a piece."""
    if 0 in piece.ranges.values():
        return 0.0
    made = cheapest_steps(piece.ranges, piece.where, context.counts)
    return points(made, piece.ranges, context.counts) * len(product_factors(piece.body))
