"""Predicates on indices, in a normal form that shows which imply which; constant ones fold to TRUE or FALSE.

A constructor never changes where a predicate holds, since the cost of a program counts these index values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import Any

from wengert.tensor.language.indices import AffineExpr, affine


@dataclass(frozen=True, slots=True)
class Compare:
    """The atom side = 0 or side ≥ 0, made by `compare_to_zero`."""

    op: str
    side: AffineExpr


@dataclass(frozen=True, slots=True)
class Related:
    """The atom R(a1, .., ak)."""

    relation: str
    at: tuple[AffineExpr, ...]


@dataclass(frozen=True, slots=True)
class Unrelated:
    """The atom ¬R(a1, .., ak). Only atoms are negated."""

    relation: str
    at: tuple[AffineExpr, ...]


@dataclass(frozen=True, slots=True)
class And:
    """The conjunction of the parts."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """The disjunction of the parts."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    """The quantified predicate ∃[index:size] of."""

    index: str
    size: AffineExpr
    of: Predicate


Predicate = Compare | Related | Unrelated | And | Or | Exists
TRUE, FALSE = And(()), Or(())
CACHED_RESULTS = 2**15  # of each constructor: the passes repeat the same calls many times


def compare_to_zero(op: str, side: AffineExpr) -> Predicate:
    """Return the atom `side op 0` in lowest terms: > becomes ≥, an equality begins with a positive coefficient."""
    if op == ">":
        return compare_to_zero(">=", side - 1)
    if side.is_constant:
        return TRUE if (side.constant == 0 if op == "=" else side.constant >= 0) else FALSE
    divisor = gcd(*(c for _, c in side.terms))
    if op == "=":
        if side.constant % divisor:
            return FALSE
        divisor = divisor if side.terms[0][1] > 0 else -divisor
    return Compare(op, AffineExpr(side.constant // divisor, tuple((name, c // divisor) for name, c in side.terms)))


def equal(a: AffineExpr | int, b: AffineExpr | int) -> Predicate:
    return compare_to_zero("=", affine(a) - b)


def at_most(a: AffineExpr | int, b: AffineExpr | int) -> Predicate:
    return compare_to_zero(">=", affine(b) - a)


def less(a: AffineExpr | int, b: AffineExpr | int) -> Predicate:
    return compare_to_zero(">", affine(b) - a)


def in_range(a: AffineExpr, size: AffineExpr) -> Predicate:
    """Return the predicate 0 ≤ a < size."""
    return conjoin(at_most(0, a), less(a, size))


@lru_cache(maxsize=CACHED_RESULTS)
def conjoin(*parts: Predicate) -> Predicate:
    """Return p ∧ q ∧ .., flat and sorted. Drop parts that others imply; if two exclude each other, return FALSE."""
    found = {q for p in parts for q in conjuncts(p)}
    if FALSE in found or any(_exclude(p, q) for p in found for q in found):
        return FALSE
    return _without_redundant(And, found, lambda p, q: implies(q, p))


@lru_cache(maxsize=CACHED_RESULTS)
def disjoin(*parts: Predicate) -> Predicate:
    """Return p ∨ q ∨ .., flat and sorted, without parts that imply another."""
    found = {q for p in parts for q in disjuncts(p)}
    if TRUE in found:
        return TRUE
    return _without_redundant(Or, found, implies)


def _without_redundant(
    kind: type[And | Or], parts: Iterable[Predicate], redundant: Callable[[Predicate, Predicate], bool]
) -> Predicate:
    """Join the parts in sorted order, without those that are redundant beside one that stays."""
    kept = sorted(parts, key=sort_key)
    for p in tuple(kept):
        if any(redundant(p, q) for q in kept if q is not p):
            kept.remove(p)
    return kept[0] if len(kept) == 1 else kind(tuple(kept))


def _exclude(p: Predicate, q: Predicate) -> bool:
    """Whether p ∧ q is false, as far as their structure shows; only atoms are compared."""
    match p, q:
        case Compare(_, a), Compare(_, b):
            return len(a.terms) == len(b.terms) and p != q and a.names == b.names and implies(p, negate(q))
        case Related(r, a), Unrelated(s, b):
            return r == s and a == b
    return False


def conjuncts(p: Predicate) -> tuple[Predicate, ...]:
    return _flattened(p, And)


def disjuncts(p: Predicate) -> tuple[Predicate, ...]:
    return _flattened(p, Or)


def _flattened(p: Predicate, kind: type[And | Or]) -> tuple[Predicate, ...]:
    return tuple(q for part in p.parts for q in _flattened(part, kind)) if isinstance(p, kind) else (p,)


@lru_cache(maxsize=CACHED_RESULTS)
def implies(p: Predicate, q: Predicate) -> bool:
    """Whether p ⇒ q, as far as their structure shows; True is certain."""
    if isinstance(q, And):
        return all(implies(p, part) for part in q.parts)
    if isinstance(p, Or):
        return all(implies(part, q) for part in p.parts)
    if isinstance(q, Or) and any(implies(p, part) for part in q.parts):
        return True
    return any(part == q or _implies_inequality(part, q) for part in conjuncts(p))


def _implies_inequality(p: Predicate, q: Predicate) -> bool:
    """Whether an atom implies another of the same terms: a + c ≥ 0 ⇒ a + d ≥ 0 where d ≥ c, and a = c ⇒ a ≥ c."""
    if not (isinstance(p, Compare) and isinstance(q, Compare) and q.op == ">="):
        return False
    sides = (p.side, -p.side) if p.op == "=" else (p.side,)
    return any(side.terms == q.side.terms and side.constant <= q.side.constant for side in sides)


@lru_cache(maxsize=CACHED_RESULTS)
def negate(p: Predicate) -> Predicate:
    """Return ¬p, with the negations at the atoms. Errors: ValueError for an ∃ in p, since the language has no ∀."""
    match p:
        case Compare("=", a):
            return disjoin(compare_to_zero(">", a), compare_to_zero(">", -a))
        case Compare(op, a):
            return compare_to_zero(">" if op == ">=" else ">=", -a)
        case Related(relation, at):
            return Unrelated(relation, at)
        case Unrelated(relation, at):
            return Related(relation, at)
        case And(parts):
            return disjoin(*map(negate, parts))
        case Or(parts):
            return conjoin(*map(negate, parts))
    raise ValueError("cannot negate an ∃: the language has no ∀; write it with comparisons of indices")


def exists(indices: Iterable[tuple[str, AffineExpr]], p: Predicate) -> Predicate:
    """Return ∃[ī:n̄] p, with those indices eliminated that an atom determines or that atoms only bound."""
    for index, size in reversed(tuple(indices)):
        p = disjoin(*(_exists_one(index, size, part) for part in disjuncts(p)))
    return p


def _exists_one(index: str, size: AffineExpr, p: Predicate) -> Predicate:
    about = [q for q in conjuncts(p) if index in free_index_names(q)]
    rest = conjoin(*(q for q in conjuncts(p) if index not in free_index_names(q)))
    pin = next((q for q in about if pins(q, index)), None)
    if isinstance(pin, Compare):
        at = solved(pin.side, index)
        return conjoin(rest, in_range(at, size), *(substituted(q, {index: at}) for q in about if q is not pin))
    bounds = [q.side for q in about if isinstance(q, Compare) and abs(q.side.coefficient(index)) == 1]
    if len(bounds) == len(about):
        return conjoin(rest, _bounds_meet(index, size, bounds))
    return conjoin(rest, _quantify(index, size, conjoin(*about)))


def _quantify(index: str, size: AffineExpr, p: Predicate) -> Exists:
    """Return ∃[index:size] p, with the index named by its nesting depth, so that equivalent predicates are equal."""
    name = fresh_name(f"e{_depth(p)}", free_index_names(p) - {index})
    return Exists(name, size, p if name == index else substituted(p, {index: affine(name)}))


def _depth(p: Predicate) -> int:
    """Return how deep existentials are nested in p."""
    if isinstance(p, Exists):
        return 1 + _depth(p.of)
    return max(map(_depth, p.parts), default=0) if isinstance(p, And | Or) else 0


def pins(p: Predicate, index: str) -> bool:
    """Whether p is an equality that determines the index: its coefficient is ±1."""
    return isinstance(p, Compare) and p.op == "=" and abs(p.side.coefficient(index)) == 1


def solved(side: AffineExpr, index: str) -> AffineExpr:
    """Solve side = 0 for an index of coefficient ±1."""
    c = side.coefficient(index)
    return (side - affine(index) * c) * -c


def _bounds_meet(index: str, size: AffineExpr, sides: list[AffineExpr]) -> Predicate:
    """Return ∃[index:size] with all sides ≥ 0, without the index: each lower bound is at most each upper one."""
    lows = [affine(0), *(solved(side, index) for side in sides if side.coefficient(index) > 0)]
    highs = [size - 1, *(solved(side, index) for side in sides if side.coefficient(index) < 0)]
    return conjoin(*(at_most(low, high) for low in lows for high in highs))


def free_index_names(p: Predicate) -> frozenset[str]:
    """Return the free names of indices and sizes in a predicate."""
    match p:
        case Compare(_, side):
            return side.names
        case Related(_, at) | Unrelated(_, at):
            return frozenset().union(*(a.names for a in at))
        case And(parts) | Or(parts):
            return frozenset().union(*map(free_index_names, parts))
        case Exists(index, size, of):
            return size.names | (free_index_names(of) - {index})


def relation_names(p: Predicate) -> frozenset[str]:
    """Return the names of the relations in a predicate."""
    match p:
        case Related(relation, _) | Unrelated(relation, _):
            return frozenset({relation})
        case And(parts) | Or(parts):
            return frozenset().union(*map(relation_names, parts))
        case Exists(_, _, of):
            return relation_names(of)
    return frozenset()


def substituted(p: Predicate, indices: Mapping[str, AffineExpr | int]) -> Predicate:
    """Substitute p[i ↦ a] for each index i in `indices`; rename a bound index where some a names it."""
    if free_index_names(p).isdisjoint(indices):
        return p
    match p:
        case Compare(op, side):
            return compare_to_zero(op, side.substitute(indices))
        case Related(relation, at) | Unrelated(relation, at):
            return type(p)(relation, tuple(a.substitute(indices) for a in at))
        case And(parts):
            return conjoin(*(substituted(q, indices) for q in parts))
        case Or(parts):
            return disjoin(*(substituted(q, indices) for q in parts))
        case Exists(index, size, of):
            inner = {name: a for name, a in indices.items() if name != index}
            bound = fresh_name(
                index, free_index_names(of) | frozenset().union(*(affine(a).names for a in inner.values())) - {index}
            )
            of = substituted(of, {index: affine(bound)}) if bound != index else of
            return exists([(bound, size.substitute(indices))], substituted(of, inner))


def fresh_name(name: str, taken: Iterable[str]) -> str:
    """Return `name`, with the first number appended that makes it none of `taken` if it is one of them."""
    taken = frozenset(taken)
    if name not in taken:
        return name
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def sort_key(p: Predicate) -> tuple[Any, ...]:
    """Return the key by which predicates are sorted; equal predicates have equal keys."""
    match p:
        case Compare(op, side):
            return (0, op, side.terms, side.constant)
        case Related(relation, at) | Unrelated(relation, at):
            return (1 + isinstance(p, Unrelated), relation, tuple((a.terms, a.constant) for a in at))
        case And(parts) | Or(parts):
            return (3 + isinstance(p, Or), *map(sort_key, parts))
        case Exists(index, size, of):
            return (5, index, size.terms, size.constant, sort_key(of))
