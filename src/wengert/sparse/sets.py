"""Numbered sets of columns: an array of set numbers says on which columns each element of a value depends."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.errors import ArgumentError

EMPTY = 0  # the number of the set without columns
MAX_ENTRIES = 2**30  # columns in all sets together: 4 GiB


class Sets:
    """Numbered sets of the columns 0 … n - 1; set j + 1 contains just column j.

    The columns of set k are `columns[starts[k] : starts[k] + sizes[k]]`, in ascending order. Equal sets may have
    different numbers.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.count, self.used = n + 1, n
        self.columns = np.arange(n, dtype=np.int32)
        self.starts = np.concatenate([[0], np.arange(n)])
        self.sizes = np.concatenate([[0], np.ones(n, np.int64)])
        self._pairs: dict[tuple[int, int], int] = {}

    def union(self, a: Any, b: Any) -> np.ndarray:
        """Return the unions of the sets in the arrays `a` and `b`, broadcast, in a new array."""
        if np.ndim(a) == np.ndim(b) == 0:
            return np.asarray(self._union_of_two(int(a), int(b)))
        a, b = np.broadcast_arrays(a, b)
        out = np.maximum(a, b)
        new = (a != b) & (np.minimum(a, b) != EMPTY) & (self.sizes[a] < self.n) & (self.sizes[b] < self.n)
        full = self.sizes[a] == self.n
        out[full] = a[full]
        if new.any():
            a, b = a[new], b[new]
            pairs, which = np.unique(np.minimum(a, b) * self.count + np.maximum(a, b), return_inverse=True)
            members = np.stack(np.divmod(pairs, self.count), axis=1).ravel()
            out[new] = self._merge_sets(np.repeat(np.arange(len(pairs)), 2), members, len(pairs))[which]
        return out

    def _union_of_two(self, a: int, b: int) -> int:
        """Return the union of two sets, from a cache if possible."""
        if a == b or EMPTY in (a, b):
            return max(a, b)
        for k in (a, b):
            if self.sizes[k] == self.n:
                return k
        pair = (min(a, b), max(a, b))
        if pair not in self._pairs:
            merged = np.union1d(self.columns_of(a), self.columns_of(b)).astype(np.int32)
            self._pairs[pair] = int(self._append_sets(merged, np.array([len(merged)]))[0])
        return self._pairs[pair]

    def columns_of(self, k: int) -> np.ndarray:
        """Return the columns of set `k`."""
        return self.columns[self.starts[k] : self.starts[k] + self.sizes[k]]

    def unions(self, groups: np.ndarray, sets: np.ndarray, count: int) -> np.ndarray:
        """Return `count` set numbers: the k-th is the union of the `sets` whose number in `groups` is k."""
        out = np.zeros(count, np.int64)
        counted = sets != EMPTY
        pairs = _sorted_distinct(groups[counted] * self.count + sets[counted])
        groups, sets = np.divmod(pairs, self.count)
        members = np.bincount(groups, minlength=count)
        alone = members[groups] == 1
        out[groups[alone]] = sets[alone]
        if not alone.all():
            several = members > 1
            ranks = np.cumsum(several) - 1
            out[several] = self._merge_sets(ranks[groups[~alone]], sets[~alone], int(several.sum()))
        return out

    def _merge_sets(self, groups: np.ndarray, sets: np.ndarray, count: int) -> np.ndarray:
        """Make `count` new sets, each the union of at least two others; return their numbers."""
        columns, lengths = self.concatenated(sets)
        keys = _sorted_distinct(np.repeat(groups, lengths) * self.n + columns)
        groups, columns = np.divmod(keys, self.n)
        return self._append_sets(columns.astype(np.int32), np.bincount(groups, minlength=count))

    def concatenated(self, sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Concatenate the columns of `sets`; return them, and how many each set has."""
        lengths = self.sizes[sets]
        total = int(lengths.sum())
        self._check_size(total)
        ends = np.cumsum(lengths)
        return self.columns[np.repeat(self.starts[sets] - ends + lengths, lengths) + np.arange(total)], lengths

    def _append_sets(self, columns: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Add new sets, whose `columns` are concatenated; return their numbers."""
        self._check_size(self.used + len(columns))
        self.columns = _with_room(self.columns, self.used + len(columns))
        self.columns[self.used : self.used + len(columns)] = columns
        first, last = self.count, self.count + len(sizes)
        self.starts, self.sizes = _with_room(self.starts, last), _with_room(self.sizes, last)
        self.sizes[first:last] = sizes
        self.starts[first:last] = self.used + np.cumsum(sizes) - sizes
        self.used, self.count = self.used + len(columns), last
        return np.arange(first, last)

    def _check_size(self, entries: int) -> None:
        if entries > MAX_ENTRIES:
            raise ArgumentError(
                f"the sparsity pattern needs more than {MAX_ENTRIES} entries: this derivative is not sparse. "
                "Use wg.vjp for products with it."
            )


def _sorted_distinct(keys: np.ndarray) -> np.ndarray:
    """Return the different numbers in `keys` in ascending order; sorts `keys` in place, faster than `np.unique`."""
    keys.sort()
    first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys[first]


def _with_room(x: np.ndarray, size: int) -> np.ndarray:
    """Return `x`, or a longer array that begins with it; lengths double, so that n additions cost O(n)."""
    if size <= len(x):
        return x
    longer = np.empty(max(size, 2 * len(x)), x.dtype)
    longer[: len(x)] = x
    return longer
