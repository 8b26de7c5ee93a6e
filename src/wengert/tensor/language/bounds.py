"""Which values an affine index can take, and whether predicates exclude some: Fourier–Motzkin over whole numbers.

A `Bounds` knows the size of each index and the number that each size variable stands for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd

from wengert.tensor.language.terms import Affine, And, Compare, Exists, Or, Predicate

Constraint = tuple[tuple[tuple[str, int], ...], int]
"""Σ c·x + k >= 0."""

MANY_CASES = 512  # of a disjunction that are looked at one by one; beyond, the guard counts for nothing
MANY_ROWS = 2000  # of a system under elimination; beyond, nothing is proven


class Bounds:
    """The size of each index in scope and the value of each size variable."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.indices: dict[str, Affine] = {}

    def value(self, a: Affine) -> int | None:
        """The number that an affine expression of sizes alone stands for."""
        if any(name not in self.sizes for name, _ in a.terms):
            return None
        return a.constant + sum(c * self.sizes[name] for name, c in a.terms)

    def corner(self, a: Affine, high: bool) -> Affine:
        """The greatest (`high`) or least value of `a` over all values of its indices, as an expression of sizes."""
        while True:
            inside = [(name, c) for name, c in a.terms if name in self.indices]
            if not inside:
                return a
            name, c = inside[0]
            at = self.indices[name] - 1 if (c > 0) == high else Affine(0, ())
            a = a.substitute({name: at})

    def excluded(self, conditions: tuple[Predicate, ...], goal: Affine) -> bool:
        """Whether `goal >= 0` is impossible where all conditions hold."""
        return all(self._empty([*case, goal]) for case in cases(conditions))

    def proves(self, conditions: tuple[Predicate, ...], *goals: Affine) -> bool:
        """Whether each goal is >= 0 wherever all conditions hold."""
        return all(self.excluded(conditions, goal * -1 - 1) for goal in goals)

    def _empty(self, constraints: list[Affine]) -> bool:
        """Whether no whole numbers in range make all constraints >= 0."""
        pending, rows, seen = list(constraints), [], set[str]()
        while pending:
            rows.append(self._row(pending.pop()))
            for name, _ in rows[-1][0]:
                if name not in seen and name in self.indices:
                    seen.add(name)
                    index = Affine(0, ((name, 1),))
                    pending += [index, self.indices[name] - 1 - index]
        return _infeasible(rows)

    def _row(self, a: Affine) -> Constraint:
        constant = a.constant + sum(c * self.sizes[name] for name, c in a.terms if name in self.sizes)
        return _tight({name: c for name, c in a.terms if name not in self.sizes}, constant)


def cases(conditions: tuple[Predicate, ...]) -> list[list[Affine]]:
    """The conditions as a disjunction of lists of affine expressions that are >= 0; relations are left out."""
    found: list[list[Affine]] = [[]]
    for condition in conditions:
        each = list(_cases(condition))
        if len(each) * len(found) <= MANY_CASES:
            found = [left + right for left in found for right in each]
    return found


def _cases(p: Predicate) -> Iterator[list[Affine]]:
    """The alternatives of which one holds where p does, each a list of affine expressions that are ≥ 0."""
    if isinstance(p, Compare):
        if p.op == "=":
            yield [p.side, p.side * -1]
        else:
            yield [p.side - 1 if p.op == ">" else p.side]
    elif isinstance(p, And):
        yield from cases(tuple(p.parts))
    elif isinstance(p, Or):
        for part in p.parts:
            yield from _cases(part)
    elif isinstance(p, Exists):
        index = Affine(0, ((p.index, 1),))
        for case in _cases(p.of):
            yield [*case, index, p.size - 1 - index]
    else:
        yield []


def _tight(terms: Mapping[str, int], constant: int) -> Constraint:
    """The row of a constraint divided by the common divisor of its coefficients, its constant rounded down."""
    kept = {name: c for name, c in terms.items() if c}
    divisor = gcd(*kept.values()) or 1
    return tuple(sorted((name, c // divisor) for name, c in kept.items())), constant // divisor


def _infeasible(rows: list[Constraint]) -> bool:
    """Whether constraints have no solution: variables are eliminated one by one, until 0 ≥ 1 remains or nothing."""
    found = set(rows)
    while found:
        if any(not terms and constant < 0 for terms, constant in found):
            return True
        names = {name for terms, _ in found for name, _ in terms}
        if not names or len(found) > MANY_ROWS:
            return False
        found = _eliminate(found, min(sorted(names), key=lambda name: _pairs(found, name)))
    return False


def _pairs(rows: set[Constraint], name: str) -> int:
    signs = [dict(terms).get(name, 0) for terms, _ in rows]
    return sum(s > 0 for s in signs) * sum(s < 0 for s in signs)


def _eliminate(rows: set[Constraint], name: str) -> set[Constraint]:
    below = [row for row in rows if dict(row[0]).get(name, 0) > 0]
    above = [row for row in rows if dict(row[0]).get(name, 0) < 0]
    rest = {row for row in rows if name not in dict(row[0])}
    return rest | {_combined(low, high, name) for low in below for high in above}


def _combined(low: Constraint, high: Constraint, name: str) -> Constraint:
    """The sum of two rows, scaled so that `name` cancels."""
    left, right = dict(low[0]), dict(high[0])
    times, other = -right[name], left[name]
    names = left.keys() | right.keys()
    terms = {n: times * left.get(n, 0) + other * right.get(n, 0) for n in names}
    return _tight(terms, times * low[1] + other * high[1])
