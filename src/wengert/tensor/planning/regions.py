"""Predicates over indices of known range: emptiness, implication, disjoint conjunctions (S1, S4).

Source: the specification of execution, S1 and S4; Fourier and Motzkin for the inequalities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from wengert.tensor.language.indices import AffineExpr, affine
from wengert.tensor.language.predicates import (
    FALSE,
    TRUE,
    And,
    Compare,
    Exists,
    Or,
    Predicate,
    Related,
    Unrelated,
    at_most,
    compare_to_zero,
    conjoin,
    conjuncts,
    disjoin,
    disjuncts,
    in_range,
    negate,
    pins,
    solved,
)

Ranges = Mapping[str, int]  # index → its size; the index runs over 0..size-1
Conjunction = tuple[Predicate, ...]  # atoms: Compare, Related, Unrelated, Exists
Tabulate = Callable[[Exists], Predicate]  # replaces an ∃ by a relation, so that it can be negated

MOST_INEQUALITIES = 60  # limit at which elimination gives up and answers "perhaps not empty"


def value_range(side: AffineExpr, ranges: Ranges) -> tuple[int, int]:
    """The least and the greatest value of an index expression over the ranges of its indices."""
    low = high = side.constant
    for name, c in side.terms:
        reach = c * (ranges[name] - 1)
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high


def is_empty(atoms: Conjunction, ranges: Ranges) -> bool:
    """Whether no assignment satisfies all atoms; only True is certain. Of relations, only R(a) and ¬R(a) contradict."""
    if FALSE in atoms or any(negate(a) in atoms for a in atoms if isinstance(a, Unrelated)):
        return True
    sides = tuple(a for a in atoms if isinstance(a, Compare))
    named = sorted({name for a in sides for name in a.side.names})
    if any(n <= 0 for n in ranges.values()):
        return True
    return _is_infeasible(sides, tuple((name, ranges[name]) for name in named))


@lru_cache(maxsize=65536)
def _is_infeasible(atoms: tuple[Compare, ...], sizes: tuple[tuple[str, int], ...]) -> bool:
    ranges = dict(sizes)
    if any(_is_unsatisfiable(a, ranges) for a in atoms):
        return True
    if all(len(a.side.terms) == 1 for a in atoms) and len(sizes) == len(atoms):
        return False
    bounds = [p for name, n in sizes for p in (at_most(0, affine(name)), at_most(affine(name), n - 1))]
    return _contradiction({*atoms, *bounds}, list(ranges))


def _is_unsatisfiable(atom: Compare, ranges: Ranges) -> bool:
    low, high = value_range(atom.side, ranges)
    return high < 0 or (atom.op == "=" and low > 0)


def _contradiction(atoms: set[Predicate], names: list[str]) -> bool:
    """Whether the atoms contradict each other: substitute pinned indices, then eliminate the others one by one."""
    for name in names:
        pin = next((a for a in atoms if isinstance(a, Compare) and pins(a, name)), None)
        if pin is not None and isinstance(pin, Compare):
            at = {name: solved(pin.side, name)}
            atoms = {compare_to_zero(a.op, a.side.substitute(at)) for a in atoms if isinstance(a, Compare)}
            if FALSE in atoms:
                return True
    sides = {side for a in atoms if isinstance(a, Compare) for side in _as_inequalities(a)}
    for name in sorted({n for s in sides for n in s.names}, key=lambda n: _elimination_growth(sides, n)):
        sides = _eliminated(sides, name)
        if any(s.is_constant and s.constant < 0 for s in sides):
            return True
        if len(sides) > MOST_INEQUALITIES:
            return False
    return False


def _as_inequalities(atom: Compare) -> tuple[AffineExpr, ...]:
    return (atom.side, -atom.side) if atom.op == "=" else (atom.side,)


def _elimination_growth(sides: set[AffineExpr], name: str) -> int:
    signs = [s.coefficient(name) for s in sides]
    return sum(c > 0 for c in signs) * sum(c < 0 for c in signs)


def _eliminated(sides: set[AffineExpr], name: str) -> set[AffineExpr]:
    lower = [s for s in sides if s.coefficient(name) > 0]
    upper = [s for s in sides if s.coefficient(name) < 0]
    met = (compare_to_zero(">=", a * -b.coefficient(name) + b * a.coefficient(name)) for a in lower for b in upper)
    kept = {s for s in sides if not s.coefficient(name)}
    return kept | {a.side if isinstance(a, Compare) else affine(-1) for a in met if a != TRUE}


def implied(atom: Predicate, atoms: Conjunction, ranges: Ranges) -> bool:
    """Whether the atom holds wherever the others do; only True is certain."""
    if atom in atoms or atom == TRUE:
        return True
    if not isinstance(atom, Compare):
        return False
    return all(is_empty((*atoms, part), ranges) for part in disjuncts(negate(atom)))


def all_implied(wanted: Iterable[Predicate], atoms: Conjunction, ranges: Ranges) -> bool:
    return all(implied(a, atoms, ranges) for a in wanted)


def is_inside(at: AffineExpr, size: int, atoms: Conjunction, ranges: Ranges) -> bool:
    """Whether an index expression stays in 0..size-1 wherever the atoms hold."""
    return all_implied(conjuncts(in_range(at, affine(size))), atoms, ranges)


def without_implied(atoms: Conjunction, ranges: Ranges) -> Conjunction | None:
    """The atoms without inequalities that the others and the ranges imply; None if they contradict each other."""
    if is_empty(atoms, ranges):
        return None
    kept = tuple(dict.fromkeys(a for a in atoms if a != TRUE))
    for atom in kept:
        others = tuple(a for a in kept if a != atom)
        if isinstance(atom, Compare) and atom.op != "=" and implied(atom, others, ranges):
            kept = others
    return kept


def disjoint_conjunctions(p: Predicate, ranges: Ranges, table: Tabulate) -> tuple[Conjunction, ...]:
    """Write p as disjoint conjunctions: [p ∨ q] = [p] + [¬p ∧ q] (S4)."""
    return merged_conjunctions(tuple(_disjoint_parts(p, ranges, table)))


def _disjoint_parts(p: Predicate, ranges: Ranges, table: Tabulate) -> Iterator[Conjunction]:
    atoms = tuple(a for a in conjuncts(p) if not isinstance(a, Or))
    choice = next((q for q in conjuncts(p) if isinstance(q, Or)), None)
    if is_empty(atoms, ranges):
        return
    if choice is None:
        yield atoms
        return
    rest = [q for q in conjuncts(p) if q is not choice]
    ahead: list[Predicate] = []
    for part in sorted(disjuncts(choice), key=_holds_existential):
        yield from _disjoint_parts(conjoin(*rest, *ahead, part), ranges, table)
        ahead.append(negation(part, table))


def _holds_existential(p: Predicate) -> bool:
    return any(isinstance(a, Exists) for a in conjuncts(p))


def negation(p: Predicate, table: Tabulate) -> Predicate:
    """¬p, in which each ∃ is first replaced by a relation."""
    match p:
        case Or(parts):
            return conjoin(*(negation(q, table) for q in parts))
        case And(parts):
            return disjoin(*(negation(q, table) for q in parts))
        case Exists():
            return negate(table(p))
    return negate(p)


def merged_conjunctions(parts: tuple[Conjunction, ...]) -> tuple[Conjunction, ...]:
    """Merge conjunctions that differ only in an atom and its complement into one without it."""
    for k, a in enumerate(parts):
        for b in parts[k + 1 :]:
            both = _without_complement(a, b)
            if both is not None:
                return merged_conjunctions((*(c for c in parts if c not in (a, b)), both))
    return parts


def _without_complement(a: Conjunction, b: Conjunction) -> Conjunction | None:
    left, right = set(a) - set(b), set(b) - set(a)
    if len(left) != 1 or len(right) != 1:
        return None
    (p,), (q,) = left, right
    if isinstance(p, Compare | Related | Unrelated) and negate(p) == q:
        return tuple(x for x in a if x != p)
    return None
