"""Tables of index assignments, one a row, to count and enumerate exactly where a predicate holds.

The reference interpreter uses them. Indices are solved for where an equality pins them; others run over their ranges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from wengert.tensor.language.indices import AffineExpr, affine
from wengert.tensor.language.predicates import (
    TRUE,
    And,
    Compare,
    Exists,
    Or,
    Predicate,
    Related,
    Unrelated,
    conjuncts,
    free_index_names,
)

Indices = Iterable[tuple[str, AffineExpr]]


@dataclass(frozen=True)
class World:
    """The values of sizes, which are integers, and of relations, which are boolean arrays."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    relations: Mapping[str, np.ndarray] = field(default_factory=dict)

    def size(self, a: AffineExpr) -> int:
        return max(0, a.constant + sum(c * self.sizes[name] for name, c in a.terms))


@dataclass(frozen=True)
class Assignments:
    """A table of assignments: each row assigns an integer to each column, which is an index."""

    world: World
    rows: int
    columns: Mapping[str, np.ndarray]

    def value(self, a: AffineExpr) -> np.ndarray:
        """Return the value of an affine expression in each row."""
        parts = (np.asarray(self.columns.get(name, self.world.sizes.get(name))) * c for name, c in a.terms)
        return np.broadcast_to(sum(parts, np.asarray(a.constant)), (self.rows,))

    def take(self, rows: np.ndarray) -> Assignments:
        return Assignments(self.world, len(rows), {name: column[rows] for name, column in self.columns.items()})

    def with_column(self, name: str, column: np.ndarray) -> Assignments:
        return Assignments(self.world, self.rows, {**self.columns, name: column})

    def without(self, names: Iterable[str]) -> Assignments:
        hidden = set(names)
        return Assignments(self.world, self.rows, {k: v for k, v in self.columns.items() if k not in hidden})

    def where(self, p: Predicate) -> Assignments:
        return self if p == TRUE else self.take(np.flatnonzero(self.holds(p)))

    def holds(self, p: Predicate) -> np.ndarray:
        """Return for each row whether the predicate p holds; a relation is false outside its shape."""
        match p:
            case Compare(op, side):
                value = self.value(side)
                return value == 0 if op == "=" else value > 0 if op == ">" else value >= 0
            case Related(relation, at):
                return self._related(self.world.relations[relation], at)
            case Unrelated(relation, at):
                return ~self._related(self.world.relations[relation], at)
            case And(parts):
                return reduce(np.logical_and, map(self.holds, parts), np.ones(self.rows, bool))
            case Or(parts):
                return reduce(np.logical_or, map(self.holds, parts), np.zeros(self.rows, bool))
            case Exists():
                return self._exists(*_existential(p))

    def _related(self, relation: np.ndarray, at: tuple[AffineExpr, ...]) -> np.ndarray:
        places = [self.value(a) for a in at]
        inside = reduce(
            np.logical_and,
            ((place >= 0) & (place < size) for place, size in zip(places, relation.shape, strict=True)),
            np.ones(self.rows, bool),
        )
        found = np.zeros(self.rows, bool)
        found[inside] = relation[tuple(place[inside] for place in places)]
        return found

    def _exists(self, indices: Indices, p: Predicate) -> np.ndarray:
        found = np.zeros(self.rows, bool)
        found[self.extended(indices, p)[1]] = True
        return found

    def extended(self, indices: Indices, p: Predicate = TRUE) -> tuple[Assignments, np.ndarray]:
        """Extend the rows by all assignments of further `indices` at which p holds; return also the row each came from.

        If p is TRUE, they are in the order of nested loops.
        """
        pending = {index: self.world.size(size) for index, size in indices}
        table, atoms = self.without(pending).with_column("", np.arange(self.rows)), list(conjuncts(p))
        while True:
            known = [q for q in atoms if free_index_names(q).isdisjoint(pending)]
            atoms = [q for q in atoms if q not in known]
            table = reduce(Assignments.where, known, table)
            if not pending:
                return table.without([""]), table.columns[""]
            pin = next((q for q in atoms if isinstance(q, Compare) and _pins_one(q, pending)), None)
            index = next(iter(pin.side.names & pending.keys() if pin else pending))
            size = pending.pop(index)
            table = table._pinned(pin.side, index, size) if pin else table._crossed(index, size)

    def _crossed(self, index: str, size: int) -> Assignments:
        rows = np.repeat(np.arange(self.rows), size)
        return self.take(rows).with_column(index, np.tile(np.arange(size), self.rows))

    def _pinned(self, side: AffineExpr, index: str, size: int) -> Assignments:
        """Keep the rows in which side = 0 has a solution for the index in its range; add this as a column."""
        c = side.coefficient(index)
        rest = self.value(side - affine(index) * c)
        value = -rest // c
        solved = np.flatnonzero((rest % c == 0) & (value >= 0) & (value < size))
        return self.take(solved).with_column(index, value[solved])


def _pins_one(p: Compare, pending: Mapping[str, int]) -> bool:
    return p.op == "=" and len(p.side.names & pending.keys()) == 1


def _existential(p: Predicate) -> tuple[list[tuple[str, AffineExpr]], Predicate]:
    """Return the indices of directly nested existentials, and the predicate under them."""
    indices: dict[str, AffineExpr] = {}
    while isinstance(p, Exists) and p.index not in indices:
        indices[p.index] = p.size
        p = p.of
    return list(indices.items()), p
