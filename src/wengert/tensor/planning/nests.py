"""Loop nests: the form in which statements are optimised and run.

A nest is a tensor filled by pieces. A piece adds its body into a cell for each assignment of its indices that satisfies
its predicate. Pieces of a nest may meet in a cell: there, and only there, an addition is executed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from math import prod
from typing import Any

from wengert.tensor.language.indices import AffineExpr, affine
from wengert.tensor.language.predicates import Predicate, conjuncts, free_index_names, substituted
from wengert.tensor.language.terms import Add, Apply, Const, Mul
from wengert.tensor.planning.regions import Conjunction


@dataclass(frozen=True, slots=True)
class EntryIndex:
    """The position of R(at) in the list of R's entries; it indexes a tensor that stores one value per entry."""

    relation: str
    at: tuple[AffineExpr, ...]

    def substitute(self, indices: Mapping[str, AffineExpr | int]) -> EntryIndex:
        return EntryIndex(self.relation, tuple(a.substitute(indices) for a in self.at))

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(a.names for a in self.at))


CellIndex = AffineExpr | EntryIndex


@dataclass(frozen=True, slots=True)
class Read:
    """The element name[at]."""

    name: str
    at: tuple[CellIndex, ...]


PieceBody = Any  # Read, Const, or Add, Mul, Apply of bodies: the operators of the language over reads


@dataclass(frozen=True, slots=True)
class NestPiece:
    """Adds `body` to the cell `target` for each assignment of the indices that satisfies `where`."""

    indices: tuple[tuple[str, int], ...]
    where: Conjunction
    target: tuple[CellIndex, ...]
    body: PieceBody

    @property
    def ranges(self) -> dict[str, int]:
        return dict(self.indices)


Size = int | str  # a string is a relation's name: the size is its number of entries


@dataclass(frozen=True, slots=True)
class LoopNest:
    """The tensor name[..shape]: zero plus the values that the pieces add."""

    name: str
    shape: tuple[Size, ...]
    pieces: tuple[NestPiece, ...]


def body_reads(body: PieceBody) -> tuple[Read, ...]:
    match body:
        case Read():
            return (body,)
        case Add(x, y) | Mul(x, y):
            return (*body_reads(x), *body_reads(y))
        case Apply(_, args):
            return tuple(r for a in args for r in body_reads(a))
    return ()


def product_factors(body: PieceBody) -> tuple[PieceBody, ...]:
    """The factors of a product, from left to right."""
    return (*product_factors(body.left), *product_factors(body.right)) if isinstance(body, Mul) else (body,)


def product_of(parts: tuple[PieceBody, ...]) -> PieceBody:
    first, *rest = parts
    for part in rest:
        first = Mul(first, part)
    return first


def body_size(body: PieceBody) -> int:
    """Count the operations and reads of a body."""
    match body:
        case Add(x, y) | Mul(x, y):
            return 1 + body_size(x) + body_size(y)
        case Apply(_, args):
            return 1 + sum(map(body_size, args))
    return 1


def calls_black_box(body: PieceBody) -> bool:
    """Whether a body calls black boxes."""
    match body:
        case Add(x, y) | Mul(x, y):
            return calls_black_box(x) or calls_black_box(y)
    return isinstance(body, Apply)


def replace_read(body: PieceBody, old: Read, new: PieceBody) -> PieceBody:
    match body:
        case Read():
            return new if body == old else body
        case Add(x, y):
            return sum_of(replace_read(x, old, new), replace_read(y, old, new))
        case Mul(x, y):
            return Mul(replace_read(x, old, new), replace_read(y, old, new))
        case Apply(f, args):
            return Apply(f, tuple(replace_read(a, old, new) for a in args))
    return body


ZERO = Const(0)


def sum_of(x: PieceBody, y: PieceBody) -> PieceBody:
    """The body x + y; if one is a structural zero, the other."""
    if x == ZERO:
        return y
    return x if y == ZERO else Add(x, y)


def fold_constant_factors(body: PieceBody) -> PieceBody:
    """The body with the constant factors of each product folded into one, in front, and dropped if it is 1 (S8)."""
    match body:
        case Add(x, y):
            return sum_of(fold_constant_factors(x), fold_constant_factors(y))
        case Apply(f, args):
            return Apply(f, tuple(map(fold_constant_factors, args)))
        case Mul():
            parts = [
                q
                for p in product_factors(body)
                for q in product_factors(fold_constant_factors(p) if not isinstance(p, Mul) else p)
            ]
            number = prod(p.value for p in parts if isinstance(p, Const))
            others = tuple(p for p in parts if not isinstance(p, Const))
            return product_of(others if number == 1 and others else (Const(number), *others))
    return body


def substitute_in_body(body: PieceBody, indices: Mapping[str, AffineExpr | int]) -> PieceBody:
    """Substitute index expressions for indices in a body."""
    match body:
        case Read(name, at):
            return Read(name, tuple(a.substitute(indices) for a in at))
        case Add(x, y):
            return Add(substitute_in_body(x, indices), substitute_in_body(y, indices))
        case Mul(x, y):
            return Mul(substitute_in_body(x, indices), substitute_in_body(y, indices))
        case Apply(f, args):
            return Apply(f, tuple(substitute_in_body(a, indices) for a in args))
    return body


def body_names(body: PieceBody) -> frozenset[str]:
    return frozenset().union(*(a.names for r in body_reads(body) for a in r.at))


def substitute_in_atoms(where: Conjunction, indices: Mapping[str, AffineExpr | int]) -> Conjunction:
    return distinct_atoms(substituted(p, indices) for p in where)


def distinct_atoms(predicates: Iterable[Predicate]) -> Conjunction:
    """The atoms of all predicates, without duplicates."""
    return tuple(dict.fromkeys(a for p in predicates for a in conjuncts(p)))


def substitute_in_piece(piece: NestPiece, indices: Mapping[str, AffineExpr | int]) -> NestPiece:
    """Substitute index expressions for indices of a piece, which no longer lists them."""
    return NestPiece(
        tuple((i, n) for i, n in piece.indices if i not in indices),
        substitute_in_atoms(piece.where, indices),
        tuple(a.substitute(indices) for a in piece.target),
        substitute_in_body(piece.body, indices),
    )


def with_fresh_indices(piece: NestPiece, fresh: Iterator[str]) -> NestPiece:
    """The piece with its indices renamed to names from `fresh`."""
    new = {i: next(fresh) for i, _ in piece.indices}
    result = substitute_in_piece(piece, {i: affine(j) for i, j in new.items()})
    return replace(result, indices=tuple((new[i], n) for i, n in piece.indices))


def fresh_indices() -> Iterator[str]:
    return (f"i{k}" for k in count())


def where_names(where: Conjunction) -> frozenset[str]:
    return frozenset().union(*(free_index_names(p) for p in where))


def canonical_nest(nest: LoopNest) -> LoopNest:
    """The nest with indices named by position and operands sorted, so that equivalent nests compare equal."""
    pieces = (with_fresh_indices(p, fresh_indices_of(k)) for k, p in enumerate(nest.pieces))
    return LoopNest(nest.name, nest.shape, tuple(replace(p, body=_operands_sorted(p.body)) for p in pieces))


def _operands_sorted(body: PieceBody) -> PieceBody:
    match body:
        case Mul():
            return product_of(tuple(sorted(map(_operands_sorted, product_factors(body)), key=repr)))
        case Add(x, y):
            return Add(*sorted((_operands_sorted(x), _operands_sorted(y)), key=repr))
        case Apply(f, args):
            return Apply(f, tuple(map(_operands_sorted, args)))
    return body


def fresh_indices_of(piece: int) -> Iterator[str]:
    return (f"p{piece}_{k}" for k in count())
