"""Unrolling of short loops, and separate loops for borders, so that all inner iterations have the same terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product

from wengert.tensor.language.indices import affine
from wengert.tensor.language.predicates import Compare, Related, at_most, free_index_names, less
from wengert.tensor.planning.nests import LoopNest, NestPiece, distinct_atoms, substitute_in_piece, sum_of
from wengert.tensor.planning.pieces import PlanningContext, normalised
from wengert.tensor.planning.regions import value_range

SHORT_LOOP, MAX_COPIES = 4, 16  # most iterations of an unrolled loop, and most pieces that one becomes
FEW_TERMS = 64  # most terms of a sum whose border cells are separated
MANY_CELLS = 256  # fewest cells along an index for which that pays


def short_loops_unrolled(nest: LoopNest) -> LoopNest:
    """Unroll short loops into one piece per iteration; the terms of a cell become one sum."""
    context, made = PlanningContext(), dict[object, NestPiece]()
    for piece in nest.pieces:
        for copy in _iteration_pieces(piece, context):
            key = copy.indices, copy.where, copy.target
            made[key] = replace(copy, body=sum_of(made[key].body, copy.body)) if key in made else copy
    return replace(nest, pieces=tuple(made.values()))


def _iteration_pieces(piece: NestPiece, context: PlanningContext) -> Iterator[NestPiece]:
    short, copies = dict[str, int](), 1
    walked = {i for p in piece.where if isinstance(p, Related) for i in free_index_names(p)}
    for index, size in sorted(piece.indices, key=lambda at: at[1]):
        if size <= SHORT_LOOP and copies * size <= MAX_COPIES and index not in walked:
            short[index], copies = size, copies * size
    for values in product(*map(range, short.values())):
        yield from normalised(substitute_in_piece(piece, dict(zip(short, values, strict=True))), context)


def with_borders(nest: LoopNest) -> LoopNest:
    """Separate the border cells of sums with few terms from the inner cells, whose sums all have the same terms."""
    context = PlanningContext()
    return replace(
        nest, pieces=tuple(q for p in nest.pieces for part in _border_pieces(p) for q in normalised(part, context))
    )


def _border_pieces(piece: NestPiece) -> tuple[NestPiece, ...]:
    kept = {i for a in piece.target for i in a.names}
    for (i, n), (j, m) in permutations(piece.indices, 2):
        bounds = [p for p in piece.where if isinstance(p, Compare) and p.op == ">=" and free_index_names(p) == {i, j}]
        if (
            i in kept
            and j not in kept
            and m <= FEW_TERMS
            and n >= MANY_CELLS
            and bounds
            and _have_unit_steps(bounds, i)
        ):
            low, high = _inner_interval(bounds, i, n, j, m)
            if 0 <= low < high < n and (high - low) * 2 > n:
                inside, *borders = _split_at_borders(piece, i, bounds, low, high)
                return (*_border_pieces(inside), *borders)
    return (piece,)


def _have_unit_steps(bounds: list[Compare], index: str) -> bool:
    return all(abs(p.side.coefficient(index)) == 1 for p in bounds)


def _inner_interval(bounds: list[Compare], i: str, n: int, j: str, m: int) -> tuple[int, int]:
    """The first and the last i for which the bounds hold for all j."""
    worst = [
        (p.side.coefficient(i), value_range(p.side - affine(i) * p.side.coefficient(i), {j: m})[0]) for p in bounds
    ]
    return max([0, *(-w for c, w in worst if c > 0)]), min([n - 1, *(w for c, w in worst if c < 0)])


def _split_at_borders(
    piece: NestPiece, index: str, bounds: list[Compare], low: int, high: int
) -> tuple[NestPiece, ...]:
    """The parts of a piece inside an interval of an index, before it and after it."""
    i, rest = affine(index), (p for p in piece.where if p not in bounds)
    inside = distinct_atoms((*rest, at_most(low, i), at_most(i, high)))
    borders = (distinct_atoms((*piece.where, beyond)) for beyond in (less(i, low), less(high, i)))
    return tuple(replace(piece, where=where) for where in (inside, *borders))
