"""Dependences of the values of a tape on its inputs, element by element.

A value's dependences are an array of sets of its shape, a container of such, None where it depends on nothing, or a
`Whole`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.sparse.sets import Sets
from wengert.tape.ops import Call, Variable, with_variables
from wengert.values.specs import is_inexact


class Whole(NamedTuple):
    """The dependences of an object of any kind: each number in it depends on the columns of one set."""

    set: int


class Unknown(Exception):
    """The sparsity rule of a function does not apply to this call."""


class Dependences:
    """The dependences of the values of a tape on `n` columns; `of[v.id]` are those of a Variable v.

    `reads` has the values by which calls chose elements: by others, they would have chosen other ones. `free` has the
    ids of calls that depend on their arguments in one way, whatever the values of these. `may_change` holds once a
    function ran that may read more than its arguments: it may move other elements in the next call. `dense` are the
    calls of which nothing is known but an axis, each with the largest set on which a part of its result may depend.
    """

    may_change = False

    def __init__(self, n: int) -> None:
        self.sets = Sets(n)
        self.of: dict[int, Any] = {}
        self.reads: dict[int, Any] = {}
        self.free: set[int] = set()
        self.dense: list[tuple[Call, int]] = []

    def known(self, v: Any) -> Any:
        """The dependences of an argument; None for what is no Variable."""
        return self.of.get(v.id) if isinstance(v, Variable) else None

    def value(self, arg: Any) -> Any:
        """An argument that chooses elements, as its value; those of its Variables are noted in `reads`."""

        def read(v: Variable) -> Any:
            self.reads[v.id] = recorded(v)
            return self.reads[v.id]

        return with_variables(arg, read)

    def array(self, arg: Any) -> np.ndarray:
        """The dependences of an argument that is an array, a number, or a sequence that becomes an array.

        Errors: Unknown for any other.
        """
        known = self.known(arg)
        if isinstance(known, tuple | list | dict):
            raise Unknown
        if known is not None:
            return np.asarray(known)
        if isinstance(arg, tuple | list):
            return np.array([self.array(part) for part in arg], np.int64)
        return np.zeros(np.shape(recorded(arg)), np.int64)

    def reached(self, op: Call) -> Iterator[np.ndarray]:
        """All sets that the arguments of a call depend on, in arrays of one dimension."""
        for v in op.references():
            yield from _flat(self.known(v))


def recorded(arg: Any) -> Any:
    """The value of an argument when the tape was recorded."""
    return arg.op.val if isinstance(arg, Variable) and arg.op is not None else arg


def shaped(value: Any, of: Callable[[Any], Any]) -> Any:
    """The dependences of a `value`, a number, an array or a container of these, of which `of(number)` has a part's."""
    if is_inexact(value):
        return of(value)
    if isinstance(value, tuple | list):
        return [shaped(part, of) for part in value]
    if isinstance(value, dict):
        return {key: shaped(part, of) for key, part in value.items()}
    return None


def everywhere(value: Any, k: int) -> Any:
    """The dependences of a value of which each number depends on set `k`."""
    if is_inexact(value):
        return np.full(np.shape(value), k)
    return None if isinstance(value, int | str | bytes | None | np.generic | np.ndarray) else Whole(k)


def _flat(known: Any) -> Iterator[np.ndarray]:
    """The sets in dependences."""
    if isinstance(known, Whole):
        yield np.array([known.set])
    elif isinstance(known, tuple | list | dict):
        for part in known.values() if isinstance(known, dict) else known:
            yield from _flat(part)
    elif known is not None:
        yield np.reshape(known, -1)
