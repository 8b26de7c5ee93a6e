"""Recovery of all entries of a sparse matrix from a few products with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wengert.sparse.colouring import greedy
from wengert.sparse.csr import Csr


class Passes(NamedTuple):
    """The products sᵀA and A s that give all entries of a matrix A of a known `pattern`.

    `rows` has for each row the number of the product sᵀA that gives it. `columns` has for each column the number of the
    product A s that gives it, or -1 if the products sᵀA do.
    """

    pattern: Csr
    rows: np.ndarray
    columns: np.ndarray

    @property
    def number(self) -> int:
        """The number of products."""
        return int(self.rows.max(initial=-1) + self.columns.max(initial=-1)) + 2

    def entries(self, by_rows: np.ndarray, by_columns: np.ndarray) -> np.ndarray:
        """Return the entries of A, row by row, from the products sᵀA and A s with all seeds, one in each row."""
        rows, columns = self.pattern.rows, self.pattern.indices
        in_column = self.columns[columns] >= 0
        found = np.empty(len(rows), np.result_type(*[made for made in (by_rows, by_columns) if len(made)] or [by_rows]))
        found[~in_column] = by_rows[self.rows[rows[~in_column]], columns[~in_column]]
        found[in_column] = by_columns[self.columns[columns[in_column]], rows[in_column]]
        return found


def seed_vectors(numbers: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the vectors s of the products: the k-th is 1 where `numbers` is k, and 0 elsewhere."""
    for k in range(numbers.max(initial=-1) + 1):
        yield (numbers == k).astype(float)


def fewest_passes(pattern: Csr) -> Passes:
    """Find the passes for a pattern, as few as greedy colouring finds.

    Choose the fewest of three: all by rows, all by columns, or the fullest columns by columns and the rest by rows. So
    a band matrix with some full rows and columns needs few passes, too.
    """
    lengths = np.bincount(pattern.indices, minlength=pattern.columns)
    fullest = np.argsort(-lengths, kind="stable")
    at_least = np.arange(pattern.columns + 1) + np.append(lengths[fullest], 0)
    apart = int(np.argmin(at_least))
    best = _passes_with_columns(pattern, fullest[:0])
    if at_least[apart] < best.number and 0 < apart < pattern.columns:
        best = min(best, _passes_with_columns(pattern, fullest[:apart]), key=lambda passes: passes.number)
    if np.diff(pattern.indptr).max(initial=0) < best.number:
        best = min(best, _passes_with_columns(pattern, fullest), key=lambda passes: passes.number)
    return best


def _passes_with_columns(pattern: Csr, columns: np.ndarray) -> Passes:
    """Make the Passes that find these columns by products A s, and all other entries by rows."""
    is_apart = np.zeros(pattern.columns, bool)
    is_apart[columns] = True
    in_column = is_apart[pattern.indices]
    return Passes(pattern, greedy(*pattern.select(~in_column)), greedy(*pattern.select(in_column).transposed()))
