"""Relations at run time: sorted entries, which loops can walk by any argument first (S5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from wengert.values.lazy_attribute import computed_once


@dataclass(frozen=True, slots=True)
class Walk:
    """The entries of a relation, sorted by its arguments in some order: CSR for (0, 1), CSC for (1, 0).

    `coordinates[k]`: the k-th arguments. `starts[v]..starts[v+1]`: the entries whose first argument, in this order, is
    v. `keys`: the arguments as one integer, ascending. `entry`: the position of each in the relation's own order (0, 1,
    ..). `table`: the position for each key, -1 where the relation does not hold; empty if it would be mostly -1.
    """

    coordinates: tuple[np.ndarray, ...]
    starts: np.ndarray
    keys: np.ndarray
    entry: np.ndarray
    table: np.ndarray


@dataclass(eq=False)
class Entries:
    """The entries of a relation (the tuples for which it holds), as columns of indices in lexicographic order."""

    shape: tuple[int, ...]
    columns: tuple[np.ndarray, ...]
    walks: dict[tuple[int, ...], Walk] = field(default_factory=dict, repr=False)

    @property
    def count(self) -> int:
        return len(self.columns[0])

    @classmethod
    def of(cls, relation: Any, shape: tuple[int, ...]) -> Entries:
        """The entries of a boolean array, a scipy.sparse matrix, or an iterable of index tuples."""
        if isinstance(relation, Entries):
            return relation
        if isinstance(relation, np.ndarray) and relation.dtype == bool:
            return cls(shape, tuple(np.nonzero(relation)))
        if hasattr(relation, "tocoo"):
            return cls.of_columns(shape, nonzero(relation)[0])
        return cls.of_columns(shape, list(np.array(sorted(map(tuple, relation)), int).reshape(-1, len(shape)).T))

    @classmethod
    def of_columns(cls, shape: tuple[int, ...], columns: Iterable[np.ndarray]) -> Entries:
        keys = np.unique(row_keys(tuple(np.asarray(c, np.intp) for c in columns), shape))
        return cls(shape, tuple(np.unravel_index(keys, shape)) if shape else ())

    @computed_once
    def mask(self) -> np.ndarray:
        """The relation as an array of booleans."""
        table = np.zeros(self.shape, bool)
        table[self.columns] = True
        return table

    def walk(self, order: tuple[int, ...]) -> Walk:
        if order not in self.walks:
            self.walks[order] = self._sorted(order)
        return self.walks[order]

    def _sorted(self, order: tuple[int, ...]) -> Walk:
        shape = tuple(self.shape[k] for k in order)
        keys = row_keys(tuple(self.columns[k] for k in order), shape)
        by_key = np.argsort(keys, kind="stable")
        columns = tuple(np.ascontiguousarray(c[by_key], np.int64) for c in self.columns)
        starts = np.searchsorted(columns[order[0]], np.arange(shape[0] + 1))
        keys, entry = keys[by_key].astype(np.int64), by_key.astype(np.int64)
        return Walk(columns, starts.astype(np.int64), keys, entry, _position_table(keys, prod(shape)))

    def find(self, at: tuple[np.ndarray, ...]) -> np.ndarray:
        """The position of each index tuple among the entries, -1 where the relation does not hold."""
        at = tuple(np.broadcast_arrays(*at))
        inside = np.logical_and.reduce([(a >= 0) & (a < n) for a, n in zip(at, self.shape, strict=True)])
        walk = self.walk(tuple(range(len(self.shape))))
        wanted = row_keys(tuple(np.where(inside, a, 0) for a in at), self.shape)
        if len(walk.table):
            return np.where(inside, walk.table[wanted], -1)
        keys = walk.keys
        place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        found = inside & (keys[place] == wanted) if len(keys) else np.zeros_like(inside)
        return np.where(found, place, -1)


SPARSE = 32  # cells per entry from which entries are found by binary search, not in a table


def _position_table(keys: np.ndarray, cells: int) -> np.ndarray:
    if cells > SPARSE * (len(keys) + 1000):
        return np.empty(0, np.int32)
    table = np.full(cells, -1, np.int32)
    table[keys] = np.arange(len(keys))
    return table


def nonzero(matrix: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """The coordinates and values of a sparse matrix's nonzero elements; duplicates are added up."""
    plain = matrix.tocoo(copy=True)
    plain.sum_duplicates()
    kept = plain.data != 0
    return [np.asarray(c)[kept] for c in coordinates(plain)], plain.data[kept]


def coordinates(plain: Any) -> tuple[np.ndarray, ...]:
    return tuple(plain.coords) if hasattr(plain, "coords") else (plain.row, plain.col)


def row_keys(columns: tuple[np.ndarray, ...], shape: tuple[int, ...]) -> np.ndarray:
    key = np.zeros(columns[0].shape if columns else (), np.int64)
    for column, n in zip(columns, shape, strict=True):
        key = key * n + column
    return key
