"""Normalisation of pieces: pinned indices substituted (S2), existentials decided (S6), definitions inlined."""

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
    CellIndex,
    EntryIndex,
    LoopNest,
    NestPiece,
    Read,
    body_names,
    body_reads,
    distinct_atoms,
    fresh_indices,
    product_factors,
    replace_read,
    substitute_in_piece,
    where_names,
    with_fresh_indices,
)
from wengert.tensor.planning.regions import (
    Conjunction,
    Ranges,
    all_implied,
    disjoint_conjunctions,
    is_empty,
    negation,
    without_implied,
)

FEW_PIECES = 16  # limit for virtual definitions, since inlining copies the reader for each piece


@dataclass
class PlanningContext:
    """The state that the passes share. `tables`: relations that replace existentials; `normalised`: a cache."""

    counts: Mapping[str, int] = field(default_factory=dict)  # how many entries each relation has, where known
    supports: Mapping[str, Predicate] = field(default_factory=dict)  # of statements read once
    guard_dropped: bool = False  # whether a guard was dropped, relying on such a support
    fresh: Iterator[str] = field(default_factory=fresh_indices)
    tables: dict[str, tuple[tuple[tuple[str, int], ...], Predicate]] = field(default_factory=dict)
    relations: frozenset[str] = frozenset()  # names of the program's own relations
    normalised: dict[NestPiece, tuple[NestPiece, ...]] = field(default_factory=dict)

    def table(self, p: Exists, ranges: Ranges) -> Predicate:
        """Replace ∃ p by a relation over its free indices, which is tabulated before the program runs."""
        free = sorted(free_index_names(p))
        canonical = substituted(p, {name: affine(f"t{k}") for k, name in enumerate(free)})
        indices = tuple((f"t{k}", ranges[name]) for k, name in enumerate(free)) or (("t0", 1),)
        known = {entry: name for name, entry in self.tables.items()}
        name = known.get((indices, canonical)) or fresh_name("any", {*self.relations, *self.tables})
        self.tables[name] = (indices, canonical)
        return Related(name, tuple(map(affine, free)) or (affine(0),))


# ---- existentials ----


def decide_existential(p: Predicate) -> Predicate:
    """Distribute an existential over disjunctions and decide it where possible; other predicates stay."""
    if not isinstance(p, Exists):
        return p
    choices = (disjuncts(q) for q in conjuncts(p.of))
    return disjoin(*(exists([(p.index, p.size)], conjoin(*parts)) for parts in product(*choices)))


def witnessed(p: Exists, atoms: Conjunction, ranges: Ranges) -> bool:
    """Whether an entry known to be in a relation is a witness for the existential."""
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


def normalised(piece: NestPiece, context: PlanningContext) -> tuple[NestPiece, ...]:
    """The piece as disjoint pieces without pinned indices, and without inequalities that the rest implies."""
    if piece not in context.normalised:
        context.normalised[piece] = tuple(_normal_pieces(piece, context))
    return context.normalised[piece]


def _normal_pieces(piece: NestPiece, context: PlanningContext) -> Iterator[NestPiece]:
    where, ranges = distinct_atoms(map(decide_existential, piece.where)), piece.ranges
    choices = any(isinstance(p, Or) for p in where)
    parts = disjoint_conjunctions(conjoin(*where), ranges, lambda p: context.table(p, ranges)) if choices else (where,)
    for part in parts:
        pinned = replace(piece, where=part)
        pin = best_pin(pinned)
        if pin:
            yield from normalised(_with_pin_substituted(pinned, *pin), context)
        else:
            yield from _without_implied_atoms(pinned, context)


def _with_pin_substituted(piece: NestPiece, index: str, at: AffineExpr, atom: Predicate) -> NestPiece:
    """Substitute the only value `at` of an index and drop the atom that pins it; the value must be in range."""
    rest = tuple(a for a in piece.where if a != atom)
    return substitute_in_piece(replace(piece, where=(*rest, in_range(at, affine(piece.ranges[index])))), {index: at})


def _without_implied_atoms(piece: NestPiece, context: PlanningContext) -> tuple[NestPiece, ...]:
    where = without_implied(piece.where, piece.ranges)
    if where is None:
        return ()
    where = tuple(a for a in where if not (isinstance(a, Exists) and witnessed(a, where, piece.ranges)))
    piece = replace(piece, where=where)
    single = only_value(piece)
    return normalised(_with_pin_substituted(piece, *single), context) if single else (piece,)


def best_pin(piece: NestPiece) -> tuple[str, AffineExpr, Predicate] | None:
    """The index to solve an equality for: a summed one first, then the one with the longest loop (S2)."""
    kept = frozenset().union(*(a.names for a in piece.target))
    found = [(i not in kept, n, i, a) for a in piece.where for i, n in piece.indices if pins(a, i)]
    if not found:
        return None
    _, _, index, atom = max(found, key=lambda f: f[:3])
    assert isinstance(atom, Compare)
    return index, solved(atom.side, index), atom


def only_value(piece: NestPiece) -> tuple[str, AffineExpr, Predicate] | None:
    """An index whose bounds leave one value, and this value."""
    for index, n in piece.indices:
        sides = [a.side for a in piece.where if isinstance(a, Compare) and free_index_names(a) == {index}]
        lows = [0, *(-s.constant for s in sides if s.coefficient(index) == 1)]
        highs = [n - 1, *(s.constant for s in sides if s.coefficient(index) == -1)]
        if max(lows) == min(highs):
            return index, affine(max(lows)), TRUE
    return None


# ---- inlining ----


def equalities(target: Iterable[CellIndex], at: Iterable[CellIndex]) -> Iterator[Predicate]:
    for t, a in zip(target, at, strict=True):
        if isinstance(t, EntryIndex) and isinstance(a, EntryIndex):
            yield from equalities(t.at, a.at)
        elif isinstance(t, AffineExpr) and isinstance(a, AffineExpr):
            yield equal(t, a)
        else:
            raise TypeError(f"cannot equate an index with the position of an entry: {t} and {a}")


def piece_filling(piece: NestPiece, at: tuple[CellIndex, ...], context: PlanningContext) -> NestPiece:
    """The piece with fresh indices, restricted to the assignments that fill the cell `at`."""
    own = with_fresh_indices(piece, context.fresh)
    return replace(own, where=(*own.where, *(p for p in equalities(own.target, at) if p != TRUE)))


def inlined(piece: NestPiece, read: Read, nest: LoopNest, context: PlanningContext) -> tuple[NestPiece, ...]:
    """Inline the definition `nest` of a read, and zero where none of its pieces fills the cell."""
    definition = [piece_filling(p, read.at, context) for p in nest.pieces]
    parts = [
        NestPiece(
            (*piece.indices, *g.indices), (*piece.where, *g.where), piece.target, replace_read(piece.body, read, g.body)
        )
        for g in definition
    ]
    if read not in product_factors(piece.body):
        parts.append(_uncovered_piece(piece, read, definition, context))
    return tuple(chain.from_iterable(normalised(p, context) for p in parts))


def _uncovered_piece(piece: NestPiece, read: Read, definition: list[NestPiece], context: PlanningContext) -> NestPiece:
    ranges = piece.ranges
    without = [negation(c, lambda p: context.table(p, ranges)) for c in _filled_where(definition)]
    where = conjuncts(conjoin(*piece.where, *without))
    return replace(piece, where=where, body=replace_read(piece.body, read, ZERO))


def _filled_where(definition: list[NestPiece]) -> Iterator[Predicate]:
    """For each piece, the predicate under which it has a value."""
    return (exists(((i, affine(n)) for i, n in g.indices), conjoin(*g.where)) for g in definition)


def adds_zeros(nests: Iterable[LoopNest], context: PlanningContext) -> bool:
    """Whether one of several pieces that meet may read a cell that its definition leaves empty."""
    named = {nest.name: nest for nest in nests}
    adding = (p for nest in named.values() if not are_disjoint(nest.pieces, context) for p in nest.pieces)
    found = ((p, p.body, named[p.body.name]) for p in adding if isinstance(p.body, Read) and p.body.name in named)
    return any(_may_be_unfilled(*each, context) for each in found)


def _may_be_unfilled(piece: NestPiece, read: Read, nest: LoopNest, context: PlanningContext) -> bool:
    definition = [piece_filling(p, read.at, context) for p in nest.pieces]
    if any(isinstance(c, Exists) and witnessed(c, piece.where, piece.ranges) for c in _filled_where(definition)):
        return False
    return bool(normalised(_uncovered_piece(piece, read, definition, context), context))


# ---- properties of pieces and nests ----


def determined_indices(at: Iterable[CellIndex], known: Iterable[str] = ()) -> frozenset[str]:
    """The indices that the cell indices `at` determine, given the `known` ones."""
    found = set(known)
    sides = [a for p in at for a in (p.at if isinstance(p, EntryIndex) else (p,))]
    while True:
        new = {n for a in sides for n in a.names if len(a.names - found) == 1 and n not in found}
        if not new:
            return frozenset(found)
        found |= new


def is_reduction(piece: NestPiece) -> bool:
    """Whether several assignments of a piece may fill the same cell."""
    return not determined_indices(piece.target) >= piece.ranges.keys()


def are_disjoint(pieces: tuple[NestPiece, ...], context: PlanningContext) -> bool:
    """Whether no two pieces fill the same cell."""
    return all(_are_pieces_disjoint(a, b, context) for a, b in combinations(pieces, 2))


def _are_pieces_disjoint(a: NestPiece, b: NestPiece, context: PlanningContext) -> bool:
    other = piece_filling(b, a.target, context)
    atoms = distinct_atoms((*a.where, *other.where))
    return FALSE in atoms or is_empty(atoms, {**a.ranges, **other.ranges})


def is_free(piece: NestPiece) -> bool:
    return isinstance(piece.body, Read | Const) and not is_reduction(piece)


def is_virtual(nest: LoopNest, context: PlanningContext) -> bool:
    """Whether inlining a definition costs nothing: it is an access, a mask or a constant."""
    return len(nest.pieces) <= FEW_PIECES and all(map(is_free, nest.pieces)) and are_disjoint(nest.pieces, context)


def read_names(nest: LoopNest) -> frozenset[str]:
    return frozenset(r.name for p in nest.pieces for r in body_reads(p.body))


def piece_indices(piece: NestPiece) -> frozenset[str]:
    return body_names(piece.body) | where_names(piece.where)


def virtuals_inlined(
    piece: NestPiece, virtual: Mapping[str, LoopNest], context: PlanningContext
) -> tuple[NestPiece, ...]:
    """Inline virtual definitions into a piece until it reads none."""
    read = next((r for r in body_reads(piece.body) if r.name in virtual), None)
    if read is None:
        return (piece,)
    parts = inlined(piece, read, virtual[read.name], context)
    return tuple(chain.from_iterable(virtuals_inlined(p, virtual, context) for p in parts))
