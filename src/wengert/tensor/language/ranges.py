"""Interval analysis: derive bounds and predicates from the ranges of indices, and conclude only what is certain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wengert.tensor.language.indices import AffineExpr, affine
from wengert.tensor.language.predicates import (
    FALSE,
    TRUE,
    Compare,
    Exists,
    Or,
    Predicate,
    conjoin,
    conjuncts,
    disjoin,
    exists,
    implies,
    solved,
    substituted,
)

IndexRanges = Mapping[str, AffineExpr]


def lower_bound(a: AffineExpr, ranges: IndexRanges) -> int | None:
    """Return a lower bound of `a` for indices in their ranges, or None. No range is empty, since an index is in it."""
    extremes = {name: affine(0) if c > 0 else ranges[name] - 1 for name, c in a.terms if name in ranges}
    a = a.substitute(extremes)
    full = {name for size in ranges.values() for name, _ in size.terms if size == affine(name)}
    if any(c < 0 for _, c in a.terms):
        return None
    return a.constant + sum(c for name, c in a.terms if name in full)


def follows(p: Predicate, ranges: IndexRanges, given: Predicate = TRUE) -> bool:
    """Whether p follows from the ranges and the predicate `given`; True is certain."""
    if implies(given, p):
        return True
    if isinstance(p, Or):
        return any(follows(part, ranges, given) for part in p.parts)
    if isinstance(p, Exists):
        return _has_witness(p, ranges, given)
    facts = [*_known_nonnegative(conjuncts(given)), AffineExpr(0)]
    return all(
        implies(given, q)
        or (
            isinstance(q, Compare)
            and all(any(_nonnegative(a - fact, ranges) for fact in facts) for a in _nonnegative_sides(q))
        )
        for q in conjuncts(p)
    )


def _has_witness(p: Exists, ranges: IndexRanges, given: Predicate) -> bool:
    """Whether another index in scope, of the same range, is a witness of the existential p."""
    return any(
        size == p.size and follows(substituted(p.of, {p.index: affine(index)}), ranges, given)
        for index, size in ranges.items()
        if index != p.index
    )


def _known_nonnegative(atoms: Iterable[Predicate]) -> list[AffineExpr]:
    """Return the expressions that comparisons among the atoms state to be ≥ 0."""
    return [side for q in atoms if isinstance(q, Compare) for side in _nonnegative_sides(q)]


def _nonnegative_sides(q: Compare) -> tuple[AffineExpr, ...]:
    return (q.side, -q.side) if q.op == "=" else (q.side if q.op == ">=" else q.side - 1,)


def _nonnegative(a: AffineExpr, ranges: IndexRanges) -> bool:
    bound = lower_bound(a, ranges)
    return bound is not None and bound >= 0


def simplify_predicate(p: Predicate, ranges: IndexRanges) -> Predicate:
    """Simplify p for indices in their ranges: drop the parts that the ranges and the other parts imply."""
    if isinstance(p, Or):
        return disjoin(*(simplify_predicate(part, ranges) for part in p.parts))
    parts = [_simplify_part(part, ranges) for part in conjuncts(p)]
    kept = _without_implied(conjuncts(conjoin(*parts)))
    for part in tuple(kept):
        others = conjoin(*(q for q in kept if q is not part))
        if follows(part, ranges, others):
            kept.remove(part)
    return conjoin(*kept)


def _without_implied(parts: Iterable[Predicate]) -> list[Predicate]:
    """Drop the parts that the equalities among them make true, or equal to another part."""
    equalities = [q for q in parts if isinstance(q, Compare) and q.op == "="]
    solution = _solution(equalities)
    others: dict[Predicate, Predicate] = {}
    for q in parts:
        if q not in equalities:
            others.setdefault(substituted(q, solution), q)
    return [*equalities, *(q for solved_part, q in others.items() if solved_part != TRUE)]


def _solution(equalities: Iterable[Compare]) -> dict[str, AffineExpr]:
    """Solve each equality for one of its names of coefficient ±1, where it has one."""
    solution: dict[str, AffineExpr] = {}
    for q in equalities:
        side = q.side.substitute(solution)
        name = max((name for name, c in side.terms if abs(c) == 1), default=None)
        if name is not None:
            at = solved(side, name)
            solution = {other: a.substitute({name: at}) for other, a in solution.items()} | {name: at}
    return solution


def _simplify_part(p: Predicate, ranges: IndexRanges) -> Predicate:
    if isinstance(p, Compare):
        return FALSE if _impossible(p, ranges) else p
    if isinstance(p, Exists):
        return exists([(p.index, p.size)], simplify_predicate(p.of, {**ranges, p.index: p.size}))
    return simplify_predicate(p, ranges) if isinstance(p, Or) else p


def _impossible(p: Compare, ranges: IndexRanges) -> bool:
    return any(_nonnegative(-side - 1, ranges) for side in _nonnegative_sides(p))
