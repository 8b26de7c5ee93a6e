"""Relations between indices as arguments: an array of bools, a set of index tuples, or a sparse matrix."""

from __future__ import annotations

import weakref
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from wengert.errors import TensorLanguageError
from wengert.tensor.planning.walks import Entries, coordinates, nonzero


@dataclass(frozen=True, eq=False)
class Relation:
    """Which tuples of indices belong together, for predicates such as `R[i, j]` in a tensor function.

    `entries` are these tuples and the shape. `closed`: indices outside the shape belong together with none, as in a
    set. `numbers`: it came as a sparse matrix of numbers that are not all 1, which a product must not take for truths.

    >>> wg.tensor.relation({(0, 1), (1, 1)}).dense
    array([[False,  True],
           [False,  True]])
    """

    entries: Entries
    closed: bool
    numbers: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each index has."""
        return self.entries.shape

    @property
    def dense(self) -> np.ndarray:
        """The relation as an array of bools."""
        table = np.zeros(self.shape, dtype=bool)
        table[self.entries.columns] = True
        return table


_seen: dict[int, tuple[weakref.ref[Any], Any, Relation]] = {}


def is_relation(x: Any) -> bool:
    """Whether an argument says which indices belong together, and is no numbers."""
    if isinstance(x, (Relation, Entries, Set)) or _is_sparse(x):
        return True
    return isinstance(x, np.ndarray) and x.dtype == np.bool_ and x.ndim > 0


def relation(x: Any) -> Relation:
    """The relation that `x` stands for: an array of bools, a set of tuples of indices, or a sparse matrix.

    A tensor function calls it on its arguments. It gives the same object for the same x, for as long as x is unchanged.

    >>> wg.tensor.relation(np.eye(2, dtype=bool)).shape
    (2, 2)

    Errors: TensorLanguageError for a set of something else.
    """
    if isinstance(x, Relation):
        return x
    if isinstance(x, Entries):
        return Relation(x, closed=False)
    seen, state = _seen.get(id(x)), _state(x)
    if seen is not None and seen[0]() is x and _same(seen[1], state):
        return seen[2]
    state, made, key = _copied(state), _made(x), id(x)  # the state first: what is changed meanwhile is made again
    with suppress(TypeError):  # the keys of a dictionary, say, cannot be watched
        _seen[key] = weakref.ref(x, lambda _: _seen.pop(key, None)), state, made
    return made


def _state(x: Any) -> tuple[Any, ...]:
    """Return a key that shows whether an argument has changed since it was seen."""
    if isinstance(x, (Set, np.ndarray)):
        return (x,)
    if x.format in ("csr", "csc", "bsr"):
        return (x.shape, x.data, x.indices, x.indptr)
    plain = x.tocoo()
    return (x.shape, plain.data, *coordinates(plain))


def _same(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(
        np.array_equal(p, q) if isinstance(q, np.ndarray) else p == q for p, q in zip(a, b, strict=True)
    )


def _copied(state: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_copy(part) for part in state)


def _copy(part: Any) -> Any:
    if isinstance(part, np.ndarray):
        return part.copy()
    return frozenset(part) if isinstance(part, Set) else part


def _made(x: Any) -> Relation:
    if isinstance(x, Set):
        return _of_set(x)
    entries = Entries.of(x, tuple(map(int, x.shape)))
    return Relation(entries, closed=False, numbers=not isinstance(x, np.ndarray) and _has_numbers(x))


def _has_numbers(x: Any) -> bool:
    return x.dtype != np.bool_ and bool((nonzero(x)[1] != 1).any())


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
    return Relation(Entries.of(tuples, shape), closed=True)


def _is_sparse(x: Any) -> bool:
    return type(x).__module__.startswith("scipy.sparse") and hasattr(x, "tocoo")
