"""Passes over all nests: dead code, common subexpressions, inlining, slices and compressed storage (S7, S9, S11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, permutations
from math import prod

from wengert.tensor.language.indices import affine
from wengert.tensor.language.predicates import (
    Compare,
    Predicate,
    Related,
    conjoin,
    exists,
    free_index_names,
    fresh_name,
    in_range,
)
from wengert.tensor.planning.loops import is_masked
from wengert.tensor.planning.nests import (
    CellIndex,
    EntryIndex,
    LoopNest,
    NestPiece,
    Read,
    Size,
    body_reads,
    body_size,
    calls_black_box,
    canonical_nest,
    distinct_atoms,
    fold_constant_factors,
    product_factors,
    replace_read,
    substitute_in_piece,
    where_names,
)
from wengert.tensor.planning.pieces import (
    PlanningContext,
    are_disjoint,
    determined_indices,
    inlined,
    is_reduction,
    is_virtual,
    normalised,
    piece_filling,
    piece_indices,
    read_names,
    virtuals_inlined,
)

Nests = dict[str, LoopNest]

LONGEST_BODY = 100  # most operations and reads after inlining: squares of squares double each time


# ---- dead code, common subexpressions ----


def live_nests(nests: Nests, outputs: Iterable[str]) -> Nests:
    needed = set(outputs)
    for nest in reversed(nests.values()):
        if nest.name in needed:
            needed |= read_names(nest)
    return {name: nest for name, nest in nests.items() if name in needed}


def equal_nests_merged(nests: Nests, outputs: Iterable[str]) -> Nests:
    """Keep one of several equal nests; outputs keep their own."""
    kept: Nests = {}
    first: dict[object, str] = {}
    other: dict[str, str] = {}
    for nest in nests.values():
        nest = replace(nest, pieces=tuple(_renamed_reads(p, other) for p in nest.pieces))
        same = first.setdefault((nest.shape, canonical_nest(nest).pieces), nest.name)
        if same != nest.name and nest.name not in outputs:
            other[nest.name] = same
        else:
            kept[nest.name] = nest
    return kept


def _renamed_reads(piece: NestPiece, other: dict[str, str]) -> NestPiece:
    body = piece.body
    for read in body_reads(body):
        if read.name in other:
            body = replace_read(body, read, Read(other[read.name], read.at))
    return replace(piece, body=body)


# ---- free definitions ----


def without_virtuals(nests: Nests, outputs: Iterable[str], context: PlanningContext) -> Nests:
    """Inline accesses, masks and constants into their readers, which costs nothing."""
    kept: Nests = {}
    virtual: Nests = {}
    for nest in nests.values():
        parts = (virtuals_inlined(p, virtual, context) for p in nest.pieces)
        nest = replace(nest, pieces=tuple(s for ps in parts for p in ps for s in normalised(p, context)))
        (virtual if nest.name not in outputs and is_virtual(nest, context) else kept)[nest.name] = nest
    return kept


# ---- definitions with one reader ----


def fused(nests: Nests, outputs: Iterable[str], context: PlanningContext, repeats: bool = False) -> Nests:
    """Inline each definition that only one piece reads, if that adds no operation: it reads each cell at most once.

    With `repeats` the body may name the cell several times, since a compiler evaluates it once.
    """
    for name in reversed(list(nests)):
        users = [(n, k) for n in nests.values() for k, p in enumerate(n.pieces) if _reads_named(p, name)]
        if name not in outputs and len(users) == 1:
            reader, k = users[0]
            pieces = _fused_into(reader.pieces[k], nests[name], context, repeats)
            if pieces is not None and all(body_size(p.body) <= LONGEST_BODY for p in pieces):
                nests = {**nests, reader.name: replace(reader, pieces=_piece_replaced(reader.pieces, k, pieces))}
                del nests[name]
    return nests


def _piece_replaced(pieces: tuple[NestPiece, ...], k: int, new: tuple[NestPiece, ...]) -> tuple[NestPiece, ...]:
    return (*pieces[:k], *new, *pieces[k + 1 :])


def _reads_named(piece: NestPiece, name: str) -> list[Read]:
    return [r for r in body_reads(piece.body) if r.name == name]


def _fused_into(
    piece: NestPiece, nest: LoopNest, context: PlanningContext, repeats: bool
) -> tuple[NestPiece, ...] | None:
    read, *more = _reads_named(piece, nest.name)
    once = not more or (repeats and _is_arithmetic(nest) and set(more) == {read})
    if not once or not determined_indices(read.at) >= piece.ranges.keys():
        return None
    if any(map(is_reduction, nest.pieces)) or not are_disjoint(nest.pieces, context):
        return inlined(piece, read, nest, context) if piece.body == read else None
    if read in product_factors(piece.body) or _covers(piece, read, nest, context):
        return inlined(piece, read, nest, context)
    return None


def _is_arithmetic(nest: LoopNest) -> bool:
    return not any(calls_black_box(p.body) for p in nest.pieces)


def _covers(piece: NestPiece, read: Read, nest: LoopNest, context: PlanningContext) -> bool:
    """Whether a definition is one piece, which is not masked in the cells that are read."""
    if len(nest.pieces) != 1:
        return False
    definition = piece_filling(nest.pieces[0], read.at, context)
    if where_names(definition.where) - piece.ranges.keys() - definition.ranges.keys():
        return False
    parts = inlined(piece, read, nest, context)
    return len(parts) == 1 and parts[0].body != piece.body and len(parts[0].where) <= len(piece.where)


# ---- slices ----


def specialised(nests: Nests, outputs: Iterable[str], context: PlanningContext) -> Nests:
    """Compute a definition only at slices or diagonals, if nothing else of it is read."""
    for name in reversed(list(nests)):
        found = list(dict.fromkeys(r for n in nests.values() for p in n.pieces for r in _reads_named(p, name)))
        if name in outputs or not found or not _worthwhile(nests, name):
            continue
        nests = _with_slices(nests, name, context)
    return nests


def _worthwhile(nests: Nests, name: str) -> bool:
    patterns = {_slice_pattern(r, p) for n in nests.values() for p in n.pieces for r in _reads_named(p, name)}
    sizes = [prod(size for _, size in indices) for _, indices in patterns]
    shape = nests[name].shape
    return all(isinstance(n, int) for n in shape) and sum(sizes) < prod(n for n in shape if isinstance(n, int))


def _slice_pattern(read: Read, piece: NestPiece) -> tuple[tuple[CellIndex, ...], tuple[tuple[str, int], ...]]:
    """A read with its indices named by position and their sizes: equal for readers of the same slice."""
    used = sorted({i for a in read.at for i in a.names}, key=[i for i, _ in piece.indices].index)
    new = {i: affine(f"s{k}") for k, i in enumerate(used)}
    at = tuple(a.substitute(new) for a in read.at)
    return at, tuple((f"s{k}", piece.ranges[i]) for k, i in enumerate(used))


def _with_slices(nests: Nests, name: str, context: PlanningContext) -> Nests:
    result: Nests = {}
    slices: dict[object, str] = {}
    whole = nests[name]
    for nest in nests.values():
        pieces = []
        for piece in nest.pieces:
            for read in _reads_named(piece, name):
                pattern = _slice_pattern(read, piece)
                if pattern not in slices:
                    slices[pattern] = fresh_name(f"{name}_{len(slices)}", {*nests, *result})
                    result[slices[pattern]] = _sliced_nest(whole, slices[pattern], *pattern, context)
                order = sorted({i for a in read.at for i in a.names}, key=[i for i, _ in piece.indices].index)
                new = Read(slices[pattern], tuple(map(affine, order)))
                piece = replace(piece, body=replace_read(piece.body, read, new))
            pieces.append(piece)
        if nest.name != name:
            result[nest.name] = replace(nest, pieces=tuple(pieces))
    return result


def _sliced_nest(
    whole: LoopNest,
    name: str,
    at: tuple[CellIndex, ...],
    indices: tuple[tuple[str, int], ...],
    context: PlanningContext,
) -> LoopNest:
    own = {f"s{k}": affine(next(context.fresh)) for k in range(len(indices))}
    at = tuple(a.substitute(own) for a in at)
    gens = tuple((own[s].terms[0][0], n) for s, n in indices)
    parts = (piece_filling(p, at, context) for p in whole.pieces)
    target = tuple(affine(i) for i, _ in gens)
    pieces = (NestPiece((*gens, *p.indices), p.where, target, p.body) for p in parts)
    return LoopNest(name, tuple(n for _, n in gens), tuple(chain.from_iterable(normalised(p, context) for p in pieces)))


# ---- constants ----


def constant_factors_folded(nests: Nests, outputs: Iterable[str], context: PlanningContext) -> Nests:
    return {
        name: replace(nest, pieces=tuple(replace(p, body=fold_constant_factors(p.body)) for p in nest.pieces))
        for name, nest in nests.items()
    }


# ---- narrow bands ----


NARROW = 4  # how many times shorter than the index that it replaces a band must be


def with_band_index(piece: NestPiece, context: PlanningContext) -> NestPiece:
    """Replace an index by its difference to another one, if the predicate keeps that small."""
    for (i, n), (j, m) in permutations(piece.indices, 2):
        low, high = _band(piece, i, j)
        if (high - low + 1) * NARROW <= min(n, m):
            d = next(context.fresh)
            at = affine(i) + affine(d) + low
            moved = substitute_in_piece(piece, {j: at})
            where = distinct_atoms((*moved.where, in_range(at, affine(m))))
            return replace(moved, indices=(*moved.indices, (d, high - low + 1)), where=where)
    return piece


def _band(piece: NestPiece, i: str, j: str) -> tuple[int, int]:
    """The least and the greatest j - i that the predicate of a piece allows."""
    low, high = -piece.ranges[i], piece.ranges[j]
    for side in (p.side for p in piece.where if isinstance(p, Compare) and p.op == ">="):
        if side == affine(j) - affine(i) + side.constant:
            low = max(low, -side.constant)
        if side == affine(i) - affine(j) + side.constant:
            high = min(high, side.constant)
    return low, high


# ---- compressed storage ----


def storage_compressed(nests: Nests, outputs: Iterable[str], context: PlanningContext) -> Nests:
    """Store no pinned, repeated or related dimensions: a tensor is read from smaller ones, which are stored."""
    result: Nests = {}
    for nest in nests.values():
        straight = replace(nest, pieces=tuple(with_band_index(p, context) for p in nest.pieces))
        wasteful = straight != nest or any(_is_wasteful(p, context) for p in nest.pieces)
        if nest.name in outputs or not wasteful or not are_disjoint(nest.pieces, context):
            result[nest.name] = nest
            continue
        nest = straight
        for k, piece in enumerate(nest.pieces):
            small = _compressed_piece(piece, fresh_name(f"{nest.name}_{k}c", {*nests, *result}), context)
            result[small[0].name] = small[0]
            nest = replace(nest, pieces=_piece_replaced(nest.pieces, k, (small[1],)))
        result[nest.name] = nest
    return result


def _is_wasteful(piece: NestPiece, context: PlanningContext) -> bool:
    """Whether a full array of the piece's cells would be mostly zeros or repetitions."""
    kept = {i for a in piece.target for i in a.names}
    return (
        len(kept) < len(piece.target) or bool(_repeated_indices(piece)) or _storing_relation(piece, context) is not None
    )


def _repeated_indices(piece: NestPiece) -> set[str]:
    """The target indices on which the value of a piece does not depend."""
    kept = {i for a in piece.target for i in a.names}
    others = {i for p in piece.where if not free_index_names(p) <= kept for i in free_index_names(p)}
    used = piece_indices(replace(piece, where=())) | others
    found = {i for i in kept - used if not any(i in free_index_names(p) for p in piece.where if isinstance(p, Related))}
    return found if all(isinstance(p, Compare) for p in _where_without(piece, found)) else set()


def _where_without(piece: NestPiece, unused: set[str]) -> tuple[Predicate, ...]:
    """The predicate of a piece with its unused indices bound by ∃."""
    about = tuple(p for p in piece.where if not free_index_names(p).isdisjoint(unused))
    rest = tuple(p for p in piece.where if p not in about)
    return distinct_atoms((*rest, exists([(i, affine(n)) for i, n in piece.indices if i in unused], conjoin(*about))))


def _storing_relation(piece: NestPiece, context: PlanningContext) -> Related | None:
    """A sparse relation over target indices, by whose entries the tensor can be stored; None if there is none."""
    kept = {a.terms[0][0] for a in piece.target if not isinstance(a, EntryIndex) and len(a.terms) == 1}
    if any(isinstance(a, EntryIndex) for a in piece.target):
        return None
    plain = (
        p for p in piece.where if isinstance(p, Related) and free_index_names(p) <= kept and _has_unit_arguments(p)
    )
    return next((p for p in plain if not is_masked(p, piece.ranges, context.counts)), None)


def _has_unit_arguments(p: Related) -> bool:
    """Whether each argument of a relation is a distinct index, shifted or reversed, and there are several."""
    return len(free_index_names(p)) == len(p.at) > 1 and all(
        len(a.terms) == 1 and abs(a.terms[0][1]) == 1 for a in p.at
    )


def _compressed_piece(piece: NestPiece, name: str, context: PlanningContext) -> tuple[LoopNest, NestPiece]:
    """The smaller nest that is stored, and the piece that reads the full tensor from it."""
    kept = [i for i, _ in piece.indices if any(i in a.names for a in piece.target)]
    unused, over = _repeated_indices(piece), _storing_relation(piece, context)
    inside = _where_without(piece, unused) if unused else piece.where
    stored = [i for i in kept if i not in unused and (over is None or i not in free_index_names(over))]
    position: tuple[CellIndex, ...] = (*([EntryIndex(over.relation, over.at)] if over else []), *map(affine, stored))
    shape: tuple[Size, ...] = (*([over.relation] if over else []), *(piece.ranges[i] for i in stored))
    indices = tuple((i, n) for i, n in piece.indices if i not in unused)
    nest = LoopNest(name, shape, (NestPiece(indices, inside, position, piece.body),))
    gens = tuple((i, n) for i, n in piece.indices if i in kept)
    guard = tuple(p for p in piece.where if free_index_names(p) <= set(kept))
    return nest, NestPiece(gens, guard, piece.target, Read(name, position))


# ---- all passes ----


def all_passes(nests: Nests, outputs: Sequence[str], context: PlanningContext) -> Nests:
    """Repeat all passes until nothing changes, at most four times; no known program needs more than three."""
    for _ in range(4):
        before = nests
        for each in (constant_factors_folded, specialised, storage_compressed, without_virtuals, fused):
            nests = live_nests(equal_nests_merged(each(nests, outputs, context), outputs), outputs)
        if nests == before:
            break
    return nests
