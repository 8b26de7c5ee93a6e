"""Relations between indices: which tuples of indices belong to it, from an array of bools, a set or a sparse matrix."""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property
from typing import Any

import numpy as np

from wengert.errors import TensorLanguageError


class Relation:
    """A set of index tuples within a shape, sorted. `closed`: indices outside the shape are simply not in it."""

    def __init__(self, shape: tuple[int, ...], at: np.ndarray, closed: bool = False) -> None:
        self.shape, self.closed = shape, closed
        at = np.asarray(at, dtype=np.intp).reshape(-1, len(shape))
        self.at = np.unique(at, axis=0) if len(at) else at

    def __len__(self) -> int:
        return len(self.at)

    @cached_property
    def dense(self) -> np.ndarray:
        """The relation as an array of bools."""
        table = np.zeros(self.shape, dtype=bool)
        table[tuple(self.at.T)] = True
        return table


def is_relation(x: Any) -> bool:
    """Whether an argument says which indices belong together rather than numbers."""
    return (
        isinstance(x, (Relation, Set))
        or (isinstance(x, np.ndarray) and x.dtype == np.bool_ and x.ndim > 0)
        or _is_sparse(x)
    )  # fmt: skip


def relation(x: Any) -> Relation:
    """The relation that an argument stands for."""
    if isinstance(x, Relation):
        return x
    if isinstance(x, np.ndarray):
        return Relation(x.shape, np.argwhere(x))
    if _is_sparse(x):
        entries = x.tocoo()
        kept = entries.data != 0
        at = np.stack([entries.row[kept], entries.col[kept]], axis=1) if entries.ndim == 2 else np.argwhere(x.toarray())
        return Relation(tuple(x.shape), at)
    return _of_set(x)


def _of_set(x: Set[Any]) -> Relation:
    tuples = [t if isinstance(t, tuple) else (t,) for t in x]
    lengths = {len(t) for t in tuples} or {1}
    whole = all(isinstance(k, (int, np.integer)) and k >= 0 for t in tuples for k in t)
    if len(lengths) > 1 or not whole:
        raise TensorLanguageError(
            "a set that is a relation holds tuples of indices, all of one length; this one holds something else"
        )
    at = np.array(tuples, dtype=np.intp).reshape(len(tuples), lengths.pop())
    shape = tuple(int(k) + 1 for k in at.max(axis=0)) if len(at) else (0,) * at.shape[1]
    return Relation(shape, at, closed=True)


def _is_sparse(x: Any) -> bool:
    return type(x).__module__.startswith("scipy.sparse") and hasattr(x, "tocoo")
