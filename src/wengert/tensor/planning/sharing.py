"""Passes over all nests: only what is asked for (DCE), once (CSE), and stored no larger than it is (S7, S9, S11)."""

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
    EntryIndex,
    Nest,
    Piece,
    Position,
    Read,
    Size,
    calls,
    canonical,
    factors,
    folded,
    length,
    moved_piece,
    reads,
    replaced,
    together,
    where_names,
)
from wengert.tensor.planning.pieces import (
    Planning,
    are_disjoint,
    determined,
    inlined,
    instance,
    is_reduction,
    is_virtual,
    names_read,
    settled,
    used_names,
    virtuals_inlined,
)

Nests = dict[str, Nest]

LONGEST_BODY = 100  # operations and reads, from which no more is put in: squares of squares double each time


# ---- dead code, common subexpressions ----


def live(nests: Nests, outputs: Iterable[str]) -> Nests:
    needed = set(outputs)
    for nest in reversed(nests.values()):
        if nest.name in needed:
            needed |= names_read(nest)
    return {name: nest for name, nest in nests.items() if name in needed}


def shared(nests: Nests, outputs: Iterable[str]) -> Nests:
    """The nests with one for those that are equal; outputs keep their own."""
    kept: Nests = {}
    first: dict[object, str] = {}
    other: dict[str, str] = {}
    for nest in nests.values():
        nest = replace(nest, pieces=tuple(_renamed_reads(p, other) for p in nest.pieces))
        same = first.setdefault((nest.shape, canonical(nest).pieces), nest.name)
        if same != nest.name and nest.name not in outputs:
            other[nest.name] = same
        else:
            kept[nest.name] = nest
    return kept


def _renamed_reads(piece: Piece, other: dict[str, str]) -> Piece:
    body = piece.body
    for read in reads(body):
        if read.name in other:
            body = replaced(body, read, Read(other[read.name], read.at))
    return replace(piece, body=body)


# ---- free definitions ----


def without_virtuals(nests: Nests, outputs: Iterable[str], context: Planning) -> Nests:
    """The nests with accesses, masks and constants put where they are read, since they cost nothing there."""
    kept: Nests = {}
    virtual: Nests = {}
    for nest in nests.values():
        parts = (virtuals_inlined(p, virtual, context) for p in nest.pieces)
        nest = replace(nest, pieces=tuple(s for ps in parts for p in ps for s in settled(p, context)))
        (virtual if nest.name not in outputs and is_virtual(nest, context) else kept)[nest.name] = nest
    return kept


# ---- one reader: no need of a tensor between ----


def fused(nests: Nests, outputs: Iterable[str], context: Planning, repeats: bool = False) -> Nests:
    """The nests in which a definition that one piece reads is put into it, if that costs no operation.

    The piece reads each cell at most once. With `repeats` it may name the cell several times; a compiler evaluates it
    once.
    """
    for name in reversed(list(nests)):
        users = [(n, k) for n in nests.values() for k, p in enumerate(n.pieces) if _reads_of(p, name)]
        if name not in outputs and len(users) == 1:
            reader, k = users[0]
            pieces = _fused_into(reader.pieces[k], nests[name], context, repeats)
            if pieces is not None and all(length(p.body) <= LONGEST_BODY for p in pieces):
                nests = {**nests, reader.name: replace(reader, pieces=_with(reader.pieces, k, pieces))}
                del nests[name]
    return nests


def _with(pieces: tuple[Piece, ...], k: int, new: tuple[Piece, ...]) -> tuple[Piece, ...]:
    return (*pieces[:k], *new, *pieces[k + 1 :])


def _reads_of(piece: Piece, name: str) -> list[Read]:
    return [r for r in reads(piece.body) if r.name == name]


def _fused_into(piece: Piece, nest: Nest, context: Planning, repeats: bool) -> tuple[Piece, ...] | None:
    read, *more = _reads_of(piece, nest.name)
    once = not more or (repeats and _is_arithmetic(nest) and set(more) == {read})
    if not once or not determined(read.at) >= piece.ranges.keys():
        return None
    if any(map(is_reduction, nest.pieces)) or not are_disjoint(nest.pieces, context):
        return inlined(piece, read, nest, context) if piece.body == read else None
    if read in factors(piece.body) or _covers(piece, read, nest, context):
        return inlined(piece, read, nest, context)
    return None


def _is_arithmetic(nest: Nest) -> bool:
    return not any(calls(p.body) for p in nest.pieces)


def _covers(piece: Piece, read: Read, nest: Nest, context: Planning) -> bool:
    """Whether the definition of a read is one piece that is not masked where it is read."""
    if len(nest.pieces) != 1:
        return False
    given = instance(nest.pieces[0], read.at, context)
    if where_names(given.where) - piece.ranges.keys() - given.ranges.keys():
        return False
    parts = inlined(piece, read, nest, context)
    return len(parts) == 1 and parts[0].body != piece.body and len(parts[0].where) <= len(piece.where)


# ---- only what is asked for ----


def specialised(nests: Nests, outputs: Iterable[str], context: Planning) -> Nests:
    """The nests in which a definition is computed only at slices or diagonals, if these are all that is read."""
    for name in reversed(list(nests)):
        found = list(dict.fromkeys(r for n in nests.values() for p in n.pieces for r in _reads_of(p, name)))
        if name in outputs or not found or not _worthwhile(nests, name):
            continue
        nests = _with_slices(nests, name, context)
    return nests


def _worthwhile(nests: Nests, name: str) -> bool:
    patterns = {_pattern(r, p) for n in nests.values() for p in n.pieces for r in _reads_of(p, name)}
    sizes = [prod(size for _, size in indices) for _, indices in patterns]
    shape = nests[name].shape
    return all(isinstance(n, int) for n in shape) and sum(sizes) < prod(n for n in shape if isinstance(n, int))


def _pattern(read: Read, piece: Piece) -> tuple[tuple[Position, ...], tuple[tuple[str, int], ...]]:
    """A read with its indices named by position, which is equal for readers of the same slice."""
    used = sorted({i for a in read.at for i in a.names}, key=[i for i, _ in piece.indices].index)
    new = {i: affine(f"s{k}") for k, i in enumerate(used)}
    at = tuple(a.substitute(new) for a in read.at)
    return at, tuple((f"s{k}", piece.ranges[i]) for k, i in enumerate(used))


def _with_slices(nests: Nests, name: str, context: Planning) -> Nests:
    result: Nests = {}
    slices: dict[object, str] = {}
    whole = nests[name]
    for nest in nests.values():
        pieces = []
        for piece in nest.pieces:
            for read in _reads_of(piece, name):
                pattern = _pattern(read, piece)
                if pattern not in slices:
                    slices[pattern] = fresh_name(f"{name}_{len(slices)}", {*nests, *result})
                    result[slices[pattern]] = _slice(whole, slices[pattern], *pattern, context)
                order = sorted({i for a in read.at for i in a.names}, key=[i for i, _ in piece.indices].index)
                new = Read(slices[pattern], tuple(map(affine, order)))
                piece = replace(piece, body=replaced(piece.body, read, new))
            pieces.append(piece)
        if nest.name != name:
            result[nest.name] = replace(nest, pieces=tuple(pieces))
    return result


def _slice(
    whole: Nest, name: str, at: tuple[Position, ...], indices: tuple[tuple[str, int], ...], context: Planning
) -> Nest:
    own = {f"s{k}": affine(next(context.fresh)) for k in range(len(indices))}
    at = tuple(a.substitute(own) for a in at)
    gens = tuple((own[s].terms[0][0], n) for s, n in indices)
    parts = (instance(p, at, context) for p in whole.pieces)
    target = tuple(affine(i) for i, _ in gens)
    pieces = (Piece((*gens, *p.indices), p.where, target, p.body) for p in parts)
    return Nest(name, tuple(n for _, n in gens), tuple(chain.from_iterable(settled(p, context) for p in pieces)))


# ---- numbers ----


def constants_folded(nests: Nests, outputs: Iterable[str], context: Planning) -> Nests:
    return {
        name: replace(nest, pieces=tuple(replace(p, body=folded(p.body)) for p in nest.pieces))
        for name, nest in nests.items()
    }


# ---- narrow bands ----


NARROW = 4  # how many times shorter a band has to be than the index that it replaces


def straightened(piece: Piece, context: Planning) -> Piece:
    """The piece in which the difference of two indices takes the place of one, where the predicate keeps it small."""
    for (i, n), (j, m) in permutations(piece.indices, 2):
        low, high = _band(piece, i, j)
        if (high - low + 1) * NARROW <= min(n, m):
            d = next(context.fresh)
            at = affine(i) + affine(d) + low
            moved = moved_piece(piece, {j: at})
            where = together((*moved.where, in_range(at, affine(m))))
            return replace(moved, indices=(*moved.indices, (d, high - low + 1)), where=where)
    return piece


def _band(piece: Piece, i: str, j: str) -> tuple[int, int]:
    """The least and the greatest j - i that the predicate of a piece leaves."""
    low, high = -piece.ranges[i], piece.ranges[j]
    for side in (p.side for p in piece.where if isinstance(p, Compare) and p.op == ">="):
        if side == affine(j) - affine(i) + side.constant:
            low = max(low, -side.constant)
        if side == affine(i) - affine(j) + side.constant:
            high = min(high, side.constant)
    return low, high


# ---- stored no larger than it is ----


def compressed(nests: Nests, outputs: Iterable[str], context: Planning) -> Nests:
    """The nests in which pinned, unused and related dimensions are not stored: tensors are read from smaller ones."""
    result: Nests = {}
    for nest in nests.values():
        straight = replace(nest, pieces=tuple(straightened(p, context) for p in nest.pieces))
        wasteful = straight != nest or any(_is_wasteful(p, context) for p in nest.pieces)
        if nest.name in outputs or not wasteful or not are_disjoint(nest.pieces, context):
            result[nest.name] = nest
            continue
        nest = straight
        for k, piece in enumerate(nest.pieces):
            small = _small(piece, fresh_name(f"{nest.name}_{k}c", {*nests, *result}), context)
            result[small[0].name] = small[0]
            nest = replace(nest, pieces=_with(nest.pieces, k, (small[1],)))
        result[nest.name] = nest
    return result


def _is_wasteful(piece: Piece, context: Planning) -> bool:
    """Whether a tensor that is stored as a box would be mostly zeros or repetitions."""
    kept = {i for a in piece.target for i in a.names}
    return len(kept) < len(piece.target) or bool(_unused(piece)) or _relation(piece, context) is not None


def _unused(piece: Piece) -> set[str]:
    """The indices of the target on which the value of a piece does not depend."""
    kept = {i for a in piece.target for i in a.names}
    others = {i for p in piece.where if not free_index_names(p) <= kept for i in free_index_names(p)}
    used = used_names(replace(piece, where=())) | others
    found = {i for i in kept - used if not any(i in free_index_names(p) for p in piece.where if isinstance(p, Related))}
    return found if all(isinstance(p, Compare) for p in _without(piece, found)) else set()


def _without(piece: Piece, unused: set[str]) -> tuple[Predicate, ...]:
    """The predicate of a piece without the unused indices: what it says of these says that there are such."""
    about = tuple(p for p in piece.where if not free_index_names(p).isdisjoint(unused))
    rest = tuple(p for p in piece.where if p not in about)
    return together((*rest, exists([(i, affine(n)) for i, n in piece.indices if i in unused], conjoin(*about))))


def _relation(piece: Piece, context: Planning) -> Related | None:
    """A relation over indices of the target that holds seldom, by whose entries the tensor can be stored; or None."""
    kept = {a.terms[0][0] for a in piece.target if not isinstance(a, EntryIndex) and len(a.terms) == 1}
    if any(isinstance(a, EntryIndex) for a in piece.target):
        return None
    plain = (p for p in piece.where if isinstance(p, Related) and free_index_names(p) <= kept and _is_plain(p))
    return next((p for p in plain if not is_masked(p, piece.ranges, context.counts)), None)


def _is_plain(p: Related) -> bool:
    """Whether each argument of a relation is an index of its own, shifted or reversed."""
    return len(free_index_names(p)) == len(p.at) > 1 and all(
        len(a.terms) == 1 and abs(a.terms[0][1]) == 1 for a in p.at
    )


def _small(piece: Piece, name: str, context: Planning) -> tuple[Nest, Piece]:
    """The smaller tensor that is stored, and what the whole one is in terms of it."""
    kept = [i for i, _ in piece.indices if any(i in a.names for a in piece.target)]
    unused, over = _unused(piece), _relation(piece, context)
    inside = _without(piece, unused) if unused else piece.where
    stored = [i for i in kept if i not in unused and (over is None or i not in free_index_names(over))]
    position: tuple[Position, ...] = (*([EntryIndex(over.relation, over.at)] if over else []), *map(affine, stored))
    shape: tuple[Size, ...] = (*([over.relation] if over else []), *(piece.ranges[i] for i in stored))
    indices = tuple((i, n) for i, n in piece.indices if i not in unused)
    nest = Nest(name, shape, (Piece(indices, inside, position, piece.body),))
    gens = tuple((i, n) for i, n in piece.indices if i in kept)
    guard = tuple(p for p in piece.where if free_index_names(p) <= set(kept))
    return nest, Piece(gens, guard, piece.target, Read(name, position))


# ---- all of them ----


def all_passes(nests: Nests, outputs: Sequence[str], context: Planning) -> Nests:
    """The nests after all passes, until nothing changes; three rounds have been enough for every program seen."""
    for _ in range(4):
        before = nests
        for each in (constants_folded, specialised, compressed, without_virtuals, fused):
            nests = live(shared(each(nests, outputs, context), outputs), outputs)
        if nests == before:
            break
    return nests
