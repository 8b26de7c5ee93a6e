"""The order in which a sum of products is contracted: an index is summed first where that costs less.

Σ[j, k] a[i, j]·b[j, k]·x[k] takes n³ products, and n² where t[j] = Σ[k] b[j, k]·x[k] is computed first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from wengert.tensor.language.indices import affine
from wengert.tensor.language.predicates import conjoin, exists, free_index_names
from wengert.tensor.language.terms import Add
from wengert.tensor.planning.loops import points, steps
from wengert.tensor.planning.nests import (
    Body,
    Nest,
    Piece,
    Read,
    body_names,
    calls,
    factors,
    product,
    reads,
    replaced,
    together,
)
from wengert.tensor.planning.pieces import Planning, is_reduction, settled

Split = tuple[Nest, Piece]
UNNAMED = ""


def eliminated(nests: Mapping[str, Nest], context: Planning) -> dict[str, Nest]:
    """The nests with each piece as the cheapest sums of products found by summing one index after the other."""
    result: dict[str, Nest] = {}
    fresh = (name for name in (f"s{k}" for k in count()) if name not in nests)
    for nest in nests.values():
        result |= _of_one(nest, fresh, context)
    return result


def _of_one(nest: Nest, fresh: Iterator[str], context: Planning) -> dict[str, Nest]:
    result: dict[str, Nest] = {}
    pieces: list[Piece] = []
    for left in (part for piece in nest.pieces for part in _terms(piece)):
        while split := _cheapest(left, context):
            inner, left = _named(split, next(fresh))
            result |= _of_one(inner, fresh, context)
        pieces += settled(left, context)
    return {**result, nest.name: replace(nest, pieces=tuple(pieces))}


def _terms(piece: Piece) -> tuple[Piece, ...]:
    """A sum of sums as several sums, where products are among them: each is contracted in its own order."""
    terms = _addends(piece.body)
    products = [{body_names(f) for f in factors(term)} for term in terms]
    if len(terms) < 2 or not is_reduction(piece) or all(len(p) < 2 for p in products):
        return (piece,)
    return tuple(replace(piece, body=term) for term in terms)


def _addends(body: Body) -> tuple[Body, ...]:
    return (*_addends(body.left), *_addends(body.right)) if isinstance(body, Add) else (body,)


def _cheapest(piece: Piece, context: Planning) -> Split | None:
    """The split of a piece that leaves the fewest operations, if these are fewer than there are; else None."""
    kept = {i for a in piece.target for i in a.names}
    found = (_without(piece, index) for index in piece.ranges if index not in kept)
    splits = [split for split in found if split is not None]
    best = min(splits, key=lambda split: _operations(split, context), default=None)
    return best if best and _operations(best, context) < _work(piece, context) else None


def _without(piece: Piece, index: str) -> Split | None:
    """The factors that have the index, summed over it as a tensor without a name yet, and the piece that reads it.

    The other factors are looked at where the sum has terms, and nowhere else: there they may be infinite, or outside of
    their arrays.
    """
    parts = factors(piece.body)
    own = [p for p in parts if index in body_names(p)]
    others = [p for p in parts if p not in own]
    inside = tuple(p for p in piece.where if index in free_index_names(p))
    about = {i for p in inside for i in free_index_names(p)} | {i for p in own for i in body_names(p)}
    free = tuple((i, n) for i, n in piece.indices if i in about and i != index)
    outside = tuple(p for p in piece.where if p not in inside)
    if not own or not others or any(map(calls, own)) or any(free_index_names(p) & about for p in outside):
        return None
    at = tuple(affine(i) for i, _ in free)
    some = exists([(index, affine(piece.ranges[index]))], conjoin(*inside))
    inner = Piece((*free, (index, piece.ranges[index])), inside, at, product(tuple(own)))
    body: Body = product((*others, Read(UNNAMED, at)))
    indices = tuple(x for x in piece.indices if x[0] != index)
    outer = replace(piece, indices=indices, where=together((*outside, some)), body=body)
    return Nest(UNNAMED, tuple(n for _, n in free), (inner,)), outer


def _named(split: Split, name: str) -> Split:
    nest, outer = split
    (read,) = (r for r in reads(outer.body) if r.name == UNNAMED)
    return replace(nest, name=name), replace(outer, body=replaced(outer.body, read, Read(name, read.at)))


def _operations(split: Split, context: Planning) -> float:
    nest, outer = split
    return sum(_work(p, context) for p in (*nest.pieces, outer))


def _work(piece: Piece, context: Planning) -> float:
    """About how many products and additions a piece takes."""
    if 0 in piece.ranges.values():
        return 0.0
    made = steps(piece.ranges, piece.where, context.counts)
    return points(made, piece.ranges, context.counts) * len(factors(piece.body))
