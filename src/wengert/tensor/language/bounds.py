"""Bounds of affine expressions, and proofs that predicates exclude values, by Fourier–Motzkin elimination."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import gcd

from wengert.tensor.language.terms import AffineExpr, And, Compare, Exists, Or, Predicate

Constraint = tuple[tuple[tuple[str, int], ...], int]
"""Σ c·x + k >= 0."""

MANY_CASES = 512  # of a disjunction; a condition that would make more is ignored
MANY_ROWS = 2000  # of a system under elimination; with more, nothing is proven


class Bounds:
    """The size of each index in scope and the value of each size variable."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.indices: dict[str, AffineExpr] = {}

    def value(self, a: AffineExpr) -> int | None:
        """Return the integer value of an affine expression; None if it contains anything but sizes."""
        if any(name not in self.sizes for name, _ in a.terms):
            return None
        return a.constant + sum(c * self.sizes[name] for name, c in a.terms)

    def corner(self, a: AffineExpr, high: bool) -> AffineExpr:
        """Return the greatest (`high`) or least value of `a` over its indices, as an expression of sizes."""
        while True:
            inside = [(name, c) for name, c in a.terms if name in self.indices]
            if not inside:
                return a
            name, c = inside[0]
            at = self.indices[name] - 1 if (c > 0) == high else AffineExpr(0, ())
            a = a.substitute({name: at})

    def excluded(self, conditions: tuple[Predicate, ...], goal: AffineExpr) -> bool:
        """Whether `goal >= 0` is impossible where all conditions hold."""
        return all(self._is_unsatisfiable([*case, goal]) for case in cases(conditions))

    def proves(self, conditions: tuple[Predicate, ...], *goals: AffineExpr) -> bool:
        """Whether each goal is >= 0 wherever all conditions hold."""
        return all(self.excluded(conditions, goal * -1 - 1) for goal in goals)

    def _is_unsatisfiable(self, constraints: list[AffineExpr]) -> bool:
        """Whether no integers in range make all constraints >= 0, as far as elimination proves it."""
        pending, rows, seen = list(constraints), [], set[str]()
        while pending:
            rows.append(self._row(pending.pop()))
            for name, _ in rows[-1][0]:
                if name not in seen and name in self.indices:
                    seen.add(name)
                    index = AffineExpr(0, ((name, 1),))
                    pending += [index, self.indices[name] - 1 - index]
        return _has_no_solution(rows)

    def _row(self, a: AffineExpr) -> Constraint:
        constant = a.constant + sum(c * self.sizes[name] for name, c in a.terms if name in self.sizes)
        return _tighten({name: c for name, c in a.terms if name not in self.sizes}, constant)


def cases(conditions: tuple[Predicate, ...]) -> list[list[AffineExpr]]:
    """Return the conditions as a disjunction of lists of affine expressions that are >= 0, without relations."""
    found: list[list[AffineExpr]] = [[]]
    for condition in conditions:
        each = list(_cases(condition))
        if len(each) * len(found) <= MANY_CASES:
            found = [left + right for left in found for right in each]
    return found


def _cases(p: Predicate) -> Iterator[list[AffineExpr]]:
    """Yield the cases of p, of which one holds where p does: lists of affine expressions that are >= 0."""
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
        index = AffineExpr(0, ((p.index, 1),))
        for case in _cases(p.of):
            yield [*case, index, p.size - 1 - index]
    else:
        yield []


def _tighten(terms: Mapping[str, int], constant: int) -> Constraint:
    """Divide a constraint by the common divisor of its coefficients, and round its constant down."""
    kept = {name: c for name, c in terms.items() if c}
    divisor = gcd(*kept.values()) or 1
    return tuple(sorted((name, c // divisor) for name, c in kept.items())), constant // divisor


def _has_no_solution(rows: list[Constraint]) -> bool:
    """Whether elimination, variable by variable, proves that the constraints have no solution."""
    found = set(rows)
    while found:
        if any(not terms and constant < 0 for terms, constant in found):
            return True
        names = {name for terms, _ in found for name, _ in terms}
        if not names or len(found) > MANY_ROWS:
            return False
        found = _eliminate(found, min(sorted(names), key=lambda name: _new_row_count(found, name)))
    return False


def _new_row_count(rows: set[Constraint], name: str) -> int:
    signs = [dict(terms).get(name, 0) for terms, _ in rows]
    return sum(s > 0 for s in signs) * sum(s < 0 for s in signs)


def _eliminate(rows: set[Constraint], name: str) -> set[Constraint]:
    below = [row for row in rows if dict(row[0]).get(name, 0) > 0]
    above = [row for row in rows if dict(row[0]).get(name, 0) < 0]
    rest = {row for row in rows if name not in dict(row[0])}
    return rest | {_without_variable(low, high, name) for low in below for high in above}


def _without_variable(low: Constraint, high: Constraint, name: str) -> Constraint:
    """Add two rows, scaled so that `name` cancels."""
    left, right = dict(low[0]), dict(high[0])
    times, other = -right[name], left[name]
    names = left.keys() | right.keys()
    terms = {n: times * left.get(n, 0) + other * right.get(n, 0) for n in names}
    return _tighten(terms, times * low[1] + other * high[1])
