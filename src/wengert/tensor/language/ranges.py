"""Interval analysis: what the ranges of indices say about predicates. Where it is unsure it says nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wengert.tensor.language.indices import Affine, affine
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

IndexRanges = Mapping[str, Affine]


def least(a: Affine, ranges: IndexRanges) -> int | None:
    """A lower bound of `a` while each index is in its range, or None; no such range is empty then."""
    extremes = {name: affine(0) if c > 0 else ranges[name] - 1 for name, c in a.terms if name in ranges}
    a = a.substitute(extremes)
    full = {name for size in ranges.values() for name, _ in size.terms if size == affine(name)}
    if any(c < 0 for _, c in a.terms):
        return None
    return a.constant + sum(c for name, c in a.terms if name in full)


def follows(p: Predicate, ranges: IndexRanges, given: Predicate = TRUE) -> bool:
    """Whether p follows from ranges and from what is `given`; True is certain."""
    if implies(given, p):
        return True
    if isinstance(p, Or):
        return any(follows(part, ranges, given) for part in p.parts)
    if isinstance(p, Exists):
        return _witnessed(p, ranges, given)
    facts = [*_sides(conjuncts(given)), Affine(0)]
    return all(
        implies(given, q)
        or (isinstance(q, Compare) and all(any(_nonnegative(a - fact, ranges) for fact in facts) for a in _both(q)))
        for q in conjuncts(p)
    )


def _witnessed(p: Exists, ranges: IndexRanges, given: Predicate) -> bool:
    """Whether an index in scope of the same range shows that p, an ∃, holds."""
    return any(
        size == p.size and follows(substituted(p.of, {p.index: affine(index)}), ranges, given)
        for index, size in ranges.items()
        if index != p.index
    )


def _sides(atoms: Iterable[Predicate]) -> list[Affine]:
    """The expressions of which the atoms say that they are ≥ 0."""
    return [side for q in atoms if isinstance(q, Compare) for side in _both(q)]


def _both(q: Compare) -> tuple[Affine, ...]:
    return (q.side, -q.side) if q.op == "=" else (q.side if q.op == ">=" else q.side - 1,)


def _nonnegative(a: Affine, ranges: IndexRanges) -> bool:
    bound = least(a, ranges)
    return bound is not None and bound >= 0


def tidied(p: Predicate, ranges: IndexRanges) -> Predicate:
    """A predicate equal to p for indices in their ranges, without what the ranges and other parts of it say anyway."""
    if isinstance(p, Or):
        return disjoin(*(tidied(part, ranges) for part in p.parts))
    parts = [_tidied_part(part, ranges) for part in conjuncts(p)]
    kept = _distinct(conjuncts(conjoin(*parts)))
    for part in tuple(kept):
        others = conjoin(*(q for q in kept if q is not part))
        if follows(part, ranges, others):
            kept.remove(part)
    return conjoin(*kept)


def _distinct(parts: Iterable[Predicate]) -> list[Predicate]:
    """The parts without those that the equalities among them make true, or equal to another."""
    equalities = [q for q in parts if isinstance(q, Compare) and q.op == "="]
    solution = _solution(equalities)
    others: dict[Predicate, Predicate] = {}
    for q in parts:
        if q not in equalities:
            others.setdefault(substituted(q, solution), q)
    return [*equalities, *(q for said, q in others.items() if said != TRUE)]


def _solution(equalities: Iterable[Compare]) -> dict[str, Affine]:
    """Solve equalities for names: each is used once, where one of its names has the coefficient ±1."""
    solution: dict[str, Affine] = {}
    for q in equalities:
        side = q.side.substitute(solution)
        name = max((name for name, c in side.terms if abs(c) == 1), default=None)
        if name is not None:
            at = solved(side, name)
            solution = {other: a.substitute({name: at}) for other, a in solution.items()} | {name: at}
    return solution


def _tidied_part(p: Predicate, ranges: IndexRanges) -> Predicate:
    if isinstance(p, Compare):
        return FALSE if _impossible(p, ranges) else p
    if isinstance(p, Exists):
        return exists([(p.index, p.size)], tidied(p.of, {**ranges, p.index: p.size}))
    return tidied(p, ranges) if isinstance(p, Or) else p


def _impossible(p: Compare, ranges: IndexRanges) -> bool:
    return any(_nonnegative(-side - 1, ranges) for side in _both(p))
