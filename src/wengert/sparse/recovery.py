"""The passes by which all entries of a sparse matrix are found from products with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from wengert.sparse.colouring import greedy


class Passes:
    """The products sᵀA with a matrix A of a known pattern that give all its entries; `count` is how many.

    The pattern is in CSR form: row i has the columns `indices[indptr[i] : indptr[i + 1]]`.
    """

    def __init__(self, indptr: np.ndarray, indices: np.ndarray, shape: tuple[int, int]) -> None:
        self.indptr, self.indices, self.shape = indptr, indices, shape
        self.colours = greedy(indptr, indices, shape[1])
        self.count = int(self.colours.max(initial=-1)) + 1

    def seeds(self) -> Iterator[np.ndarray]:
        """The vectors s: of each colour the sum of the unit vectors that have it."""
        for k in range(self.count):
            yield (self.colours == k).astype(float)

    def random_seed(self) -> np.ndarray:
        """One more vector s, by whose product missing entries show."""
        return np.random.default_rng(self.count).normal(size=len(self.colours))

    def entries(self, products: np.ndarray) -> np.ndarray:
        """The entries of A, in the order of `indices`, from the products with all seeds, in rows."""
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        return products[self.colours[rows], self.indices]

    def missed(self, matrix: Any, product: np.ndarray) -> np.ndarray:
        """The columns in which the `product` with the random seed is another than by the `matrix` of the entries."""
        seed = self.random_seed()
        found, size = matrix.T @ seed, abs(matrix).T @ abs(seed) + abs(product)
        eps = np.finfo(product.dtype).eps
        return np.flatnonzero(~(abs(product - found) <= np.sqrt(eps) * size + 1000 * eps * np.max(size, initial=0.0)))
