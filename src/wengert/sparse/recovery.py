"""The passes by which all entries of a sparse matrix are found from products with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wengert.sparse.colouring import greedy
from wengert.sparse.csr import Csr


class Passes(NamedTuple):
    """The products with a matrix A of a known `pattern` that give all its entries: some sᵀA, and some A s.

    `rows` has for each row the number of the product sᵀA by which it is found; `columns` for each column that of the
    product A s, or -1: its entries are found in their rows.
    """

    pattern: Csr
    rows: np.ndarray
    columns: np.ndarray

    @property
    def number(self) -> int:
        """How many products."""
        return int(self.rows.max(initial=-1) + self.columns.max(initial=-1)) + 2

    def entries(self, by_rows: np.ndarray, by_columns: np.ndarray) -> np.ndarray:
        """The entries of A, row by row, from the products sᵀA and A s with all seeds, one in each row."""
        rows, columns = self.pattern.rows, self.pattern.indices
        in_column = self.columns[columns] >= 0
        found = np.empty(len(rows), np.result_type(*[made for made in (by_rows, by_columns) if len(made)] or [by_rows]))
        found[~in_column] = by_rows[self.rows[rows[~in_column]], columns[~in_column]]
        found[in_column] = by_columns[self.columns[columns[in_column]], rows[in_column]]
        return found


def seeds_of(numbers: np.ndarray) -> Iterator[np.ndarray]:
    """The vectors s of products: for each of the `numbers` the sum of the unit vectors at the places that have it."""
    for k in range(numbers.max(initial=-1) + 1):
        yield (numbers == k).astype(float)


def fewest(pattern: Csr) -> Passes:
    """The passes for a pattern, as few as greedy colouring finds.

    They are by rows, where no other choice takes fewer; or by columns; or the fullest columns are found by themselves
    and the rest by rows, so that a band with some full rows and columns takes few passes, too.
    """
    lengths = np.bincount(pattern.indices, minlength=pattern.columns)
    fullest = np.argsort(-lengths, kind="stable")
    at_least = np.arange(pattern.columns + 1) + np.append(lengths[fullest], 0)
    apart = int(np.argmin(at_least))
    best = _with_apart(pattern, fullest[:0])
    if at_least[apart] < best.number and 0 < apart < pattern.columns:
        best = min(best, _with_apart(pattern, fullest[:apart]), key=lambda passes: passes.number)
    if np.diff(pattern.indptr).max(initial=0) < best.number:
        best = min(best, _with_apart(pattern, fullest), key=lambda passes: passes.number)
    return best


def _with_apart(pattern: Csr, columns: np.ndarray) -> Passes:
    """The passes where these columns are found by themselves, and all others by rows."""
    is_apart = np.zeros(pattern.columns, bool)
    is_apart[columns] = True
    in_column = is_apart[pattern.indices]
    return Passes(pattern, greedy(*pattern.only(~in_column)), greedy(*pattern.only(in_column).transposed()))
