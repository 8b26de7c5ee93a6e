"""Short loops written out, and borders of loops apart, so that the terms inside are the same in each turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product

from wengert.tensor.language.indices import affine
from wengert.tensor.language.predicates import Compare, Related, at_most, free_index_names, less
from wengert.tensor.planning.nests import Nest, Piece, moved_piece, sum_of, together
from wengert.tensor.planning.pieces import Planning, settled
from wengert.tensor.planning.regions import span

SHORT, COPIES = 4, 16  # turns of a loop that is written out, and pieces that come of one
FEW, MANY = 64, 256  # terms of a sum with borders, and cells from which there is an inside worth a loop of its own


def unrolled(nest: Nest) -> Nest:
    """The nest with a piece for each turn of a short loop; the terms of a cell become one sum."""
    context, made = Planning(), dict[object, Piece]()
    for piece in nest.pieces:
        for turn in _turns(piece, context):
            key = turn.indices, turn.where, turn.target
            made[key] = replace(turn, body=sum_of(made[key].body, turn.body)) if key in made else turn
    return replace(nest, pieces=tuple(made.values()))


def _turns(piece: Piece, context: Planning) -> Iterator[Piece]:
    short, copies = dict[str, int](), 1
    walked = {i for p in piece.where if isinstance(p, Related) for i in free_index_names(p)}
    for index, size in sorted(piece.indices, key=lambda at: at[1]):
        if size <= SHORT and copies * size <= COPIES and index not in walked:
            short[index], copies = size, copies * size
    for values in product(*map(range, short.values())):
        yield from settled(moved_piece(piece, dict(zip(short, values, strict=True))), context)


def with_borders(nest: Nest) -> Nest:
    """The nest with sums of a few terms near a border apart from those inside, which all have the same terms."""
    context = Planning()
    return replace(nest, pieces=tuple(q for p in nest.pieces for part in _parts(p) for q in settled(part, context)))


def _parts(piece: Piece) -> tuple[Piece, ...]:
    kept = {i for a in piece.target for i in a.names}
    for (i, n), (j, m) in permutations(piece.indices, 2):
        bounds = [p for p in piece.where if isinstance(p, Compare) and p.op == ">=" and free_index_names(p) == {i, j}]
        if i in kept and j not in kept and m <= FEW and n >= MANY and bounds and _steps(bounds, i):
            low, high = _inside(bounds, i, n, j, m)
            if 0 <= low < high < n and (high - low) * 2 > n:
                inside, *borders = _split(piece, i, bounds, low, high)
                return (*_parts(inside), *borders)
    return (piece,)


def _steps(bounds: list[Compare], index: str) -> bool:
    return all(abs(p.side.coefficient(index)) == 1 for p in bounds)


def _inside(bounds: list[Compare], i: str, n: int, j: str, m: int) -> tuple[int, int]:
    """The first and the last i at which the bounds hold for all j."""
    worst = [(p.side.coefficient(i), span(p.side - affine(i) * p.side.coefficient(i), {j: m})[0]) for p in bounds]
    return max([0, *(-w for c, w in worst if c > 0)]), min([n - 1, *(w for c, w in worst if c < 0)])


def _split(piece: Piece, index: str, bounds: list[Compare], low: int, high: int) -> tuple[Piece, ...]:
    """The parts of a piece inside an interval of an index, before it and behind it."""
    i, rest = affine(index), (p for p in piece.where if p not in bounds)
    inside = together((*rest, at_most(low, i), at_most(i, high)))
    borders = (together((*piece.where, beyond)) for beyond in (less(i, low), less(high, i)))
    return tuple(replace(piece, where=where) for where in (inside, *borders))
