"""Pieces in their simplest form: pinned indices gone (S2), existentials decided (S6), definitions put in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, product

from wengert.tensor.language.indices import AffineExpr, affine
from wengert.tensor.language.predicates import (
    FALSE,
    TRUE,
    Compare,
    Exists,
    Or,
    Predicate,
    Related,
    conjoin,
    conjuncts,
    disjoin,
    disjuncts,
    equal,
    exists,
    free_index_names,
    fresh_name,
    in_range,
    pins,
    solved,
    substituted,
)
from wengert.tensor.language.terms import Const
from wengert.tensor.planning.nests import (
    ZERO,
    EntryIndex,
    Nest,
    Piece,
    Position,
    Read,
    body_names,
    factors,
    fresh_indices,
    moved_piece,
    reads,
    renamed,
    replaced,
    together,
    where_names,
)
from wengert.tensor.planning.regions import Conjunction, Ranges, all_implied, is_empty, negation, reduced, split

FEW_PIECES = 16  # pieces of a definition that is put where it is read: there they multiply


@dataclass
class Planning:
    """The state that the passes share; `tables` are relations made of existentials, `settled` pieces in their form."""

    counts: Mapping[str, int] = field(default_factory=dict)  # how many entries each relation has, where known
    supports: Mapping[str, Predicate] = field(default_factory=dict)  # of what is read once
    unguarded: bool = False  # whether some of that is read where it may be zero
    fresh: Iterator[str] = field(default_factory=fresh_indices)
    tables: dict[str, tuple[tuple[tuple[str, int], ...], Predicate]] = field(default_factory=dict)
    relations: frozenset[str] = frozenset()  # the names of those that are given
    settled: dict[Piece, tuple[Piece, ...]] = field(default_factory=dict)

    def table(self, p: Exists, ranges: Ranges) -> Predicate:
        """The ∃ p as a relation over its free indices, which is tabulated before the program runs."""
        free = sorted(free_index_names(p))
        canonical = substituted(p, {name: affine(f"t{k}") for k, name in enumerate(free)})
        indices = tuple((f"t{k}", ranges[name]) for k, name in enumerate(free)) or (("t0", 1),)
        known = {entry: name for name, entry in self.tables.items()}
        name = known.get((indices, canonical)) or fresh_name("any", {*self.relations, *self.tables})
        self.tables[name] = (indices, canonical)
        return Related(name, tuple(map(affine, free)) or (affine(0),))


# ---- existentials ----


def expanded(p: Predicate) -> Predicate:
    """An existential of conjunctions, decided where it can be."""
    if not isinstance(p, Exists):
        return p
    choices = (disjuncts(q) for q in conjuncts(p.of))
    return disjoin(*(exists([(p.index, p.size)], conjoin(*parts)) for parts in product(*choices)))


def witnessed(p: Exists, atoms: Conjunction, ranges: Ranges) -> bool:
    """Whether an entry that is known to be in a relation shows that there is one."""
    known = [a for a in atoms if isinstance(a, Related)]
    wanted = [a for a in conjuncts(p.of) if isinstance(a, Related) and p.index in free_index_names(a)]
    for want, have in product(wanted, known):
        if want.relation == have.relation:
            for side in (w - h for w, h in zip(want.at, have.at, strict=True) if abs(w.coefficient(p.index)) == 1):
                at = solved(side, p.index)
                if p.index not in at.names and _holds_at(p, at, atoms, ranges):
                    return True
    return False


def _holds_at(p: Exists, at: AffineExpr, atoms: Conjunction, ranges: Ranges) -> bool:
    claims = (*conjuncts(in_range(at, p.size)), *conjuncts(substituted(p.of, {p.index: at})))
    return all_implied(claims, atoms, ranges)


# ---- one piece ----


def settled(piece: Piece, context: Planning) -> tuple[Piece, ...]:
    """The piece as disjoint pieces without pinned indices, whose predicates say nothing that the ranges say already."""
    if piece not in context.settled:
        context.settled[piece] = tuple(_settled(piece, context))
    return context.settled[piece]


def _settled(piece: Piece, context: Planning) -> Iterator[Piece]:
    where, ranges = together(map(expanded, piece.where)), piece.ranges
    choices = any(isinstance(p, Or) for p in where)
    parts = split(conjoin(*where), ranges, lambda p: context.table(p, ranges)) if choices else (where,)
    for part in parts:
        pinned = replace(piece, where=part)
        pin = best_pin(pinned)
        yield from settled(_solved(pinned, *pin), context) if pin else _unpinned(pinned, context)


def _solved(piece: Piece, index: str, at: AffineExpr, atom: Predicate) -> Piece:
    """The piece without an index that has one value, which must be in range."""
    rest = tuple(a for a in piece.where if a != atom)
    return moved_piece(replace(piece, where=(*rest, in_range(at, affine(piece.ranges[index])))), {index: at})


def _unpinned(piece: Piece, context: Planning) -> tuple[Piece, ...]:
    where = reduced(piece.where, piece.ranges)
    if where is None:
        return ()
    where = tuple(a for a in where if not (isinstance(a, Exists) and witnessed(a, where, piece.ranges)))
    piece = replace(piece, where=where)
    single = only_value(piece)
    return settled(_solved(piece, *single), context) if single else (piece,)


def best_pin(piece: Piece) -> tuple[str, AffineExpr, Predicate] | None:
    """The index to solve an equality for: one that is summed, then that of the longest loop (S2)."""
    kept = frozenset().union(*(a.names for a in piece.target))
    found = [(i not in kept, n, i, a) for a in piece.where for i, n in piece.indices if pins(a, i)]
    if not found:
        return None
    _, _, index, atom = max(found, key=lambda f: f[:3])
    assert isinstance(atom, Compare)
    return index, solved(atom.side, index), atom


def only_value(piece: Piece) -> tuple[str, AffineExpr, Predicate] | None:
    """An index to which its bounds leave one value, and this value."""
    for index, n in piece.indices:
        sides = [a.side for a in piece.where if isinstance(a, Compare) and free_index_names(a) == {index}]
        lows = [0, *(-s.constant for s in sides if s.coefficient(index) == 1)]
        highs = [n - 1, *(s.constant for s in sides if s.coefficient(index) == -1)]
        if max(lows) == min(highs):
            return index, affine(max(lows)), TRUE
    return None


# ---- definitions put into their readers ----


def equalities(target: Iterable[Position], at: Iterable[Position]) -> Iterator[Predicate]:
    for t, a in zip(target, at, strict=True):
        if isinstance(t, EntryIndex) and isinstance(a, EntryIndex):
            yield from equalities(t.at, a.at)
        elif isinstance(t, AffineExpr) and isinstance(a, AffineExpr):
            yield equal(t, a)
        else:
            raise TypeError(f"{t} and {a} count different things")


def instance(piece: Piece, at: tuple[Position, ...], context: Planning) -> Piece:
    """The piece with indices of its own, restricted to where it fills the cell `at`."""
    own = renamed(piece, context.fresh)
    return replace(own, where=(*own.where, *(p for p in equalities(own.target, at) if p != TRUE)))


def inlined(piece: Piece, read: Read, nest: Nest, context: Planning) -> tuple[Piece, ...]:
    """The piece with the definition of `nest` in place of the read; where that is zero, with zero there."""
    given = [instance(p, read.at, context) for p in nest.pieces]
    parts = [
        Piece((*piece.indices, *g.indices), (*piece.where, *g.where), piece.target, replaced(piece.body, read, g.body))
        for g in given
    ]
    if read not in factors(piece.body):
        parts.append(_remainder(piece, read, given, context))
    return tuple(chain.from_iterable(settled(p, context) for p in parts))


def _remainder(piece: Piece, read: Read, given: list[Piece], context: Planning) -> Piece:
    ranges = piece.ranges
    without = [negation(c, lambda p: context.table(p, ranges)) for c in _covered(given)]
    where = conjuncts(conjoin(*piece.where, *without))
    return replace(piece, where=where, body=replaced(piece.body, read, ZERO))


def _covered(given: list[Piece]) -> Iterator[Predicate]:
    """For each of the pieces, where it has a value, as a predicate."""
    return (exists(((i, affine(n)) for i, n in g.indices), conjoin(*g.where)) for g in given)


def adds_zeros(nests: Iterable[Nest], context: Planning) -> bool:
    """Whether, where pieces meet, one may read a cell that no piece of a definition fills."""
    named = {nest.name: nest for nest in nests}
    adding = (p for nest in named.values() if not are_disjoint(nest.pieces, context) for p in nest.pieces)
    found = ((p, p.body, named[p.body.name]) for p in adding if isinstance(p.body, Read) and p.body.name in named)
    return any(_may_be_unfilled(*each, context) for each in found)


def _may_be_unfilled(piece: Piece, read: Read, nest: Nest, context: Planning) -> bool:
    given = [instance(p, read.at, context) for p in nest.pieces]
    if any(isinstance(c, Exists) and witnessed(c, piece.where, piece.ranges) for c in _covered(given)):
        return False
    return bool(settled(_remainder(piece, read, given, context), context))


# ---- what a piece is ----


def determined(at: Iterable[Position], known: Iterable[str] = ()) -> frozenset[str]:
    """The indices that the positions `at` determine, found one after the other."""
    found = set(known)
    sides = [a for p in at for a in (p.at if isinstance(p, EntryIndex) else (p,))]
    while True:
        new = {n for a in sides for n in a.names if len(a.names - found) == 1 and n not in found}
        if not new:
            return frozenset(found)
        found |= new


def is_reduction(piece: Piece) -> bool:
    """Whether several assignments of a piece may meet in a cell."""
    return not determined(piece.target) >= piece.ranges.keys()


def are_disjoint(pieces: tuple[Piece, ...], context: Planning) -> bool:
    """Whether no cell is filled by two of the pieces."""
    return all(_apart(a, b, context) for a, b in combinations(pieces, 2))


def _apart(a: Piece, b: Piece, context: Planning) -> bool:
    other = instance(b, a.target, context)
    atoms = together((*a.where, *other.where))
    return FALSE in atoms or is_empty(atoms, {**a.ranges, **other.ranges})


def is_free(piece: Piece) -> bool:
    return isinstance(piece.body, Read | Const) and not is_reduction(piece)


def is_virtual(nest: Nest, context: Planning) -> bool:
    """Whether a definition costs nothing wherever it is read: an access, a mask or a constant."""
    return len(nest.pieces) <= FEW_PIECES and all(map(is_free, nest.pieces)) and are_disjoint(nest.pieces, context)


def names_read(nest: Nest) -> frozenset[str]:
    return frozenset(r.name for p in nest.pieces for r in reads(p.body))


def used_names(piece: Piece) -> frozenset[str]:
    return body_names(piece.body) | where_names(piece.where)


def virtuals_inlined(piece: Piece, virtual: Mapping[str, Nest], context: Planning) -> tuple[Piece, ...]:
    """The piece with each read of a virtual definition replaced by it, until none is left."""
    read = next((r for r in reads(piece.body) if r.name in virtual), None)
    if read is None:
        return (piece,)
    parts = inlined(piece, read, virtual[read.name], context)
    return tuple(chain.from_iterable(virtuals_inlined(p, virtual, context) for p in parts))
