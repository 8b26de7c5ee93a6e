"""What ranges of indices, and what is given, say about a predicate: interval analysis, silent where unsure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wengert.tensor.indices import Affine, affine
from wengert.tensor.predicates import (
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
)

Ranges = Mapping[str, Affine]


def least(a: Affine, ranges: Ranges) -> int | None:
    """A lower bound of a while each index is in its range (so that no such range is empty), if there is one."""
    extremes = {name: affine(0) if c > 0 else ranges[name] - 1 for name, c in a.terms if name in ranges}
    a = a.substitute(extremes)
    full = {name for size in ranges.values() for name, _ in size.terms if size == affine(name)}
    if any(c < 0 for _, c in a.terms):
        return None
    return a.constant + sum(c for name, c in a.terms if name in full)


def known(p: Predicate, ranges: Ranges, given: Predicate = TRUE) -> bool:
    """p follows, seen from bounds: never wrongly yes."""
    if implies(given, p):
        return True
    if isinstance(p, Or):
        return any(known(part, ranges, given) for part in p.parts)
    facts = [*_sides(conjuncts(given)), Affine(0)]
    return all(
        isinstance(q, Compare) and all(any(_nonnegative(side - fact, ranges) for fact in facts) for side in _both(q))
        for q in conjuncts(p)
    )


def _sides(atoms: Iterable[Predicate]) -> list[Affine]:
    """What the atoms say is ≥ 0."""
    return [side for q in atoms if isinstance(q, Compare) for side in _both(q)]


def _both(q: Compare) -> tuple[Affine, ...]:
    return (q.side, -q.side) if q.op == "=" else (q.side if q.op == ">=" else q.side - 1,)


def _nonnegative(a: Affine, ranges: Ranges) -> bool:
    bound = least(a, ranges)
    return bound is not None and bound >= 0


def tidied(p: Predicate, ranges: Ranges) -> Predicate:
    """p, equally true for indices in range, without what the ranges and its other parts say anyway."""
    if isinstance(p, Or):
        return disjoin(*(tidied(part, ranges) for part in p.parts))
    parts = [_tidied_part(part, ranges) for part in conjuncts(p)]
    whole = conjoin(*parts)
    kept = list(conjuncts(whole))
    for part in conjuncts(whole):
        others = conjoin(*(q for q in kept if q is not part))
        if known(part, ranges, others):
            kept.remove(part)
    return conjoin(*kept)


def _tidied_part(p: Predicate, ranges: Ranges) -> Predicate:
    if isinstance(p, Compare):
        return FALSE if _impossible(p, ranges) else p
    if isinstance(p, Exists):
        return exists([(p.index, p.size)], tidied(p.of, {**ranges, p.index: p.size}))
    return tidied(p, ranges) if isinstance(p, Or) else p


def _impossible(p: Compare, ranges: Ranges) -> bool:
    return any(_nonnegative(-side - 1, ranges) for side in _both(p))
