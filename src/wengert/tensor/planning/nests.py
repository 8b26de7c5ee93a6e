"""Loop nests: what statements become before they are run.

A nest is a tensor that fills from pieces; a piece adds its body into a cell for each assignment of its indices that its
predicate allows. Pieces of a nest may meet in a cell: there, and only there, an addition is executed.
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
    """The position of R(at) in the list of R's entries, as an index of a tensor that is stored by entries."""

    relation: str
    at: tuple[AffineExpr, ...]

    def substitute(self, indices: Mapping[str, AffineExpr | int]) -> EntryIndex:
        return EntryIndex(self.relation, tuple(a.substitute(indices) for a in self.at))

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(a.names for a in self.at))


Position = AffineExpr | EntryIndex


@dataclass(frozen=True, slots=True)
class Read:
    """The element name[at]."""

    name: str
    at: tuple[Position, ...]


Body = Any  # Read, Const, or Add, Mul, Apply of bodies: the operators of the language over reads


@dataclass(frozen=True, slots=True)
class Piece:
    """Adds `body` to the cell `target`, for each assignment of the indices that `where` allows."""

    indices: tuple[tuple[str, int], ...]
    where: Conjunction
    target: tuple[Position, ...]
    body: Body

    @property
    def ranges(self) -> dict[str, int]:
        return dict(self.indices)


Size = int | str  # a relation's name: as many as it has entries


@dataclass(frozen=True, slots=True)
class Nest:
    """The tensor name[..shape], zero but for what the pieces add."""

    name: str
    shape: tuple[Size, ...]
    pieces: tuple[Piece, ...]


def reads(body: Body) -> tuple[Read, ...]:
    match body:
        case Read():
            return (body,)
        case Add(x, y) | Mul(x, y):
            return (*reads(x), *reads(y))
        case Apply(_, args):
            return tuple(r for a in args for r in reads(a))
    return ()


def factors(body: Body) -> tuple[Body, ...]:
    """The factors of a product, from left to right."""
    return (*factors(body.left), *factors(body.right)) if isinstance(body, Mul) else (body,)


def product(parts: tuple[Body, ...]) -> Body:
    first, *rest = parts
    for part in rest:
        first = Mul(first, part)
    return first


def length(body: Body) -> int:
    """How many operations and reads a body has."""
    match body:
        case Add(x, y) | Mul(x, y):
            return 1 + length(x) + length(y)
        case Apply(_, args):
            return 1 + sum(map(length, args))
    return 1


def calls(body: Body) -> bool:
    """Whether a body calls black boxes."""
    match body:
        case Add(x, y) | Mul(x, y):
            return calls(x) or calls(y)
    return isinstance(body, Apply)


def replaced(body: Body, old: Read, new: Body) -> Body:
    match body:
        case Read():
            return new if body == old else body
        case Add(x, y):
            return sum_of(replaced(x, old, new), replaced(y, old, new))
        case Mul(x, y):
            return Mul(replaced(x, old, new), replaced(y, old, new))
        case Apply(f, args):
            return Apply(f, tuple(replaced(a, old, new) for a in args))
    return body


ZERO = Const(0)


def sum_of(x: Body, y: Body) -> Body:
    """The body x + y, where a structural zero adds nothing."""
    if x == ZERO:
        return y
    return x if y == ZERO else Add(x, y)


def folded(body: Body) -> Body:
    """The body with its constant factors as one, in front, and without it where it is 1 (S8)."""
    match body:
        case Add(x, y):
            return sum_of(folded(x), folded(y))
        case Apply(f, args):
            return Apply(f, tuple(map(folded, args)))
        case Mul():
            parts = [q for p in factors(body) for q in factors(folded(p) if not isinstance(p, Mul) else p)]
            number = prod(p.value for p in parts if isinstance(p, Const))
            others = tuple(p for p in parts if not isinstance(p, Const))
            return product(others if number == 1 and others else (Const(number), *others))
    return body


def moved(body: Body, indices: Mapping[str, AffineExpr | int]) -> Body:
    """The body with index expressions in place of indices."""
    match body:
        case Read(name, at):
            return Read(name, tuple(a.substitute(indices) for a in at))
        case Add(x, y):
            return Add(moved(x, indices), moved(y, indices))
        case Mul(x, y):
            return Mul(moved(x, indices), moved(y, indices))
        case Apply(f, args):
            return Apply(f, tuple(moved(a, indices) for a in args))
    return body


def body_names(body: Body) -> frozenset[str]:
    return frozenset().union(*(a.names for r in reads(body) for a in r.at))


def moved_where(where: Conjunction, indices: Mapping[str, AffineExpr | int]) -> Conjunction:
    return together(substituted(p, indices) for p in where)


def together(parts: Iterable[Predicate]) -> Conjunction:
    """The atoms of all parts, each once."""
    return tuple(dict.fromkeys(a for p in parts for a in conjuncts(p)))


def moved_piece(piece: Piece, indices: Mapping[str, AffineExpr | int]) -> Piece:
    """The piece with index expressions in place of indices; those replaced go from its list of indices."""
    return Piece(
        tuple((i, n) for i, n in piece.indices if i not in indices),
        moved_where(piece.where, indices),
        tuple(a.substitute(indices) for a in piece.target),
        moved(piece.body, indices),
    )


def renamed(piece: Piece, fresh: Iterator[str]) -> Piece:
    """The piece with indices that no other piece has."""
    new = {i: next(fresh) for i, _ in piece.indices}
    result = moved_piece(piece, {i: affine(j) for i, j in new.items()})
    return replace(result, indices=tuple((new[i], n) for i, n in piece.indices))


def fresh_indices() -> Iterator[str]:
    return (f"i{k}" for k in count())


def where_names(where: Conjunction) -> frozenset[str]:
    return frozenset().union(*(free_index_names(p) for p in where))


def canonical(nest: Nest) -> Nest:
    """The nest with indices named by position and factors in one order, so that nests that say the same are equal."""
    pieces = (renamed(p, fresh_indices_of(k)) for k, p in enumerate(nest.pieces))
    return Nest(nest.name, nest.shape, tuple(replace(p, body=_commuted(p.body)) for p in pieces))


def _commuted(body: Body) -> Body:
    match body:
        case Mul():
            return product(tuple(sorted(map(_commuted, factors(body)), key=repr)))
        case Add(x, y):
            return Add(*sorted((_commuted(x), _commuted(y)), key=repr))
        case Apply(f, args):
            return Apply(f, tuple(map(_commuted, args)))
    return body


def fresh_indices_of(piece: int) -> Iterator[str]:
    return (f"p{piece}_{k}" for k in count())
