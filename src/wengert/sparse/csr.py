"""Sparsity patterns in compressed sparse rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Csr(NamedTuple):
    """A sparsity pattern: row i has the columns `indices[indptr[i] : indptr[i + 1]]`, of `columns` in all."""

    indptr: np.ndarray
    indices: np.ndarray
    columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.indptr) - 1, self.columns

    @property
    def rows(self) -> np.ndarray:
        """The row of each entry."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def equals(self, other: Csr) -> bool:
        """Whether two patterns have the same entries, listed in the same order."""
        pairs = (self.indptr, other.indptr), (self.indices, other.indices)
        return self.columns == other.columns and all(np.array_equal(*pair) for pair in pairs)

    def select(self, selected: np.ndarray) -> Csr:
        """Return the pattern of the entries for which the bool in `selected` is true."""
        before = np.concatenate([[0], np.cumsum(selected)])
        return Csr(before[self.indptr], self.indices[selected], self.columns)

    def transposed(self) -> Csr:
        """Return the pattern of the transpose."""
        lengths = np.bincount(self.indices, minlength=self.columns)
        order = np.argsort(self.indices, kind="stable")
        return Csr(np.concatenate([[0], np.cumsum(lengths)]), self.rows[order], len(self.indptr) - 1)
