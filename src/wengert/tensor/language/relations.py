"""Relations between indices as arguments: an array of booleans, a set of index tuples, or a sparse matrix."""

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
    """A relation between indices: the index tuples at which `R[i, j]` is true in a tensor function.

    Parameters:
        entries (Entries): The index tuples, and the shape.
        closed (bool): The relation is false outside its shape, as a set is.
        numbers (bool): It was a sparse matrix with values other than 1, so that it is not allowed as a factor in a
            product.
    See Also:
        relation

    Examples:
        >>> wg.tensor.relation({(0, 1), (1, 1)}).dense
        array([[False,  True],
               [False,  True]])
    """

    entries: Entries
    closed: bool
    numbers: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values that each index can take."""
        return self.entries.shape

    @property
    def dense(self) -> np.ndarray:
        """The relation as an array of booleans."""
        table = np.zeros(self.shape, dtype=bool)
        table[self.entries.columns] = True
        return table


_relations_by_id: dict[int, tuple[weakref.ref[Any], Any, Relation]] = {}


def is_relation(x: Any) -> bool:
    """Whether an argument is a relation, rather than numbers."""
    if isinstance(x, (Relation, Entries, Set)) or _is_sparse(x):
        return True
    return isinstance(x, np.ndarray) and x.dtype == np.bool_ and x.ndim > 0


def relation(x: Any) -> Relation:
    """Convert `x` to a relation: an array of booleans, a set of tuples of indices, or a sparse matrix.

    Tensor functions call it on their arguments. As long as x is unchanged, it returns the same object for x.

    Parameters:
        x (array | set | sparse matrix): The relation.
    Returns:
        Relation: The relation.
    Raises:
        TensorLanguageError: `x` is a set of anything else.
    See Also:
        Relation, function

    Examples:
        >>> wg.tensor.relation(np.eye(2, dtype=bool)).shape
        (2, 2)
    """
    if isinstance(x, Relation):
        return x
    if isinstance(x, Entries):
        return Relation(x, closed=False)
    seen, state = _relations_by_id.get(id(x)), _state(x)
    if seen is not None and seen[0]() is x and _equal_states(seen[1], state):
        return seen[2]
    state, key = tuple(map(_copy_part, state)), id(x)  # copied first: if x changes meanwhile, the next call sees it
    found = _new_relation(x)
    with suppress(TypeError):  # keys of a dictionary, for example, have no weak references
        _relations_by_id[key] = weakref.ref(x, lambda _: _relations_by_id.pop(key, None)), state, found
    return found


def _state(x: Any) -> tuple[Any, ...]:
    """Return the contents of an argument, which are compared to detect a change."""
    if isinstance(x, (Set, np.ndarray)):
        return (x,)
    if x.format in ("csr", "csc", "bsr"):
        return (x.shape, x.data, x.indices, x.indptr)
    plain = x.tocoo()
    return (x.shape, plain.data, *coordinates(plain))


def _equal_states(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(
        np.array_equal(p, q) if isinstance(q, np.ndarray) else p == q for p, q in zip(a, b, strict=True)
    )


def _copy_part(part: Any) -> Any:
    if isinstance(part, np.ndarray):
        return part.copy()
    return frozenset(part) if isinstance(part, Set) else part


def _new_relation(x: Any) -> Relation:
    if isinstance(x, Set):
        return _relation_of_set(x)
    entries = Entries.of(x, tuple(map(int, x.shape)))
    return Relation(entries, closed=False, numbers=not isinstance(x, np.ndarray) and _has_numbers(x))


def _has_numbers(x: Any) -> bool:
    return x.dtype != np.bool_ and bool((nonzero(x)[1] != 1).any())


def _relation_of_set(x: Set[Any]) -> Relation:
    tuples = [t if isinstance(t, tuple) else (t,) for t in x]
    lengths = {len(t) for t in tuples} or {1}
    whole = all(isinstance(k, (int, np.integer)) and k >= 0 for t in tuples for k in t)
    if len(lengths) > 1 or not whole:
        raise TensorLanguageError(
            "a set given as a relation must contain only tuples of indices (integers from 0 on), all of one length"
        )
    at = np.array(tuples, dtype=np.intp).reshape(len(tuples), lengths.pop())
    shape = tuple(int(k) + 1 for k in at.max(axis=0)) if len(at) else (0,) * at.shape[1]
    return Relation(Entries.of(tuples, shape), closed=True)


def _is_sparse(x: Any) -> bool:
    return type(x).__module__.startswith("scipy.sparse") and hasattr(x, "tocoo")
