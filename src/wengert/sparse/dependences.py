"""Dependences of the values of a tape on its inputs, element by element.

The dependences of a value are an array of set numbers of the value's shape, a container of such arrays, a
`UniformDependence`, or None if the value does not depend on the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.sparse.sets import Sets
from wengert.tape.ops import Call, Variable, with_variables
from wengert.values.specs import is_inexact


class UniformDependence(NamedTuple):
    """The dependences of an object of any type: each number in it depends on the columns of one set."""

    set: int


class RuleDoesNotApply(Exception):
    """The sparsity rule of a function does not apply to this call."""


class Dependences:
    """The dependences of the values of a tape on `n` columns; `by_id[v.id]` are those of a Variable v.

    `reads` has the values by which calls selected elements; with other values they would select others. `free` has the
    ids of calls whose dependences do not depend on the values of their arguments. `may_change` is true once a function
    ran that may read more than its arguments, so that its next call may move other elements. `dense` lists the calls of
    which at most an axis is known, each with the largest set on which a part of its result may depend.
    """

    may_change = False

    def __init__(self, n: int) -> None:
        self.sets = Sets(n)
        self.by_id: dict[int, Any] = {}
        self.reads: dict[int, Any] = {}
        self.free: set[int] = set()
        self.dense: list[tuple[Call, int]] = []

    def known(self, v: Any) -> Any:
        """Return the dependences of an argument; None if it is not a Variable."""
        return self.by_id.get(v.id) if isinstance(v, Variable) else None

    def value(self, arg: Any) -> Any:
        """Return the value of an argument that selects elements; note the values of its Variables in `reads`."""

        def read(v: Variable) -> Any:
            self.reads[v.id] = recorded_value(v)
            return self.reads[v.id]

        return with_variables(arg, read)

    def array(self, arg: Any) -> np.ndarray:
        """Return the dependences of an argument that is an array, a number, or a sequence of these.

        Errors: RuleDoesNotApply for any other argument.
        """
        known = self.known(arg)
        if isinstance(known, tuple | list | dict):
            raise RuleDoesNotApply
        if known is not None:
            return np.asarray(known)
        if isinstance(arg, tuple | list):
            return np.array([self.array(part) for part in arg], np.int64)
        return np.zeros(np.shape(recorded_value(arg)), np.int64)

    def reached(self, op: Call) -> Iterator[np.ndarray]:
        """Yield all sets that the arguments of a call depend on, in one-dimensional arrays."""
        for v in op.references():
            yield from _set_numbers(self.known(v))


def united_by(deps: Dependences, matrix: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the dependences of the product of a constant matrix with an array whose sets are `columns`."""
    i, k = np.nonzero(matrix)
    width = math.prod(columns.shape[1:])
    groups = i[:, np.newaxis] * width + np.arange(width)
    members = columns.reshape(len(columns), width)[k]
    sums = deps.sets.unions(groups.ravel(), members.ravel(), len(matrix) * width)
    return sums.reshape(len(matrix), *columns.shape[1:])


def recorded_value(arg: Any) -> Any:
    """Return the recorded value of an argument."""
    return arg.op.val if isinstance(arg, Variable) and arg.op is not None else arg


def shaped_like(value: Any, part_dependences: Callable[[Any], Any]) -> Any:
    """Build the dependences of a float, an array, or a container of these, from those of each part."""
    if is_inexact(value):
        return part_dependences(value)
    if isinstance(value, tuple | list):
        return [shaped_like(part, part_dependences) for part in value]
    if isinstance(value, dict):
        return {key: shaped_like(part, part_dependences) for key, part in value.items()}
    return None


def everywhere(value: Any, k: int) -> Any:
    """Return the dependences of a value whose numbers all depend on set `k`."""
    if is_inexact(value):
        return np.full(np.shape(value), k)
    return None if isinstance(value, int | str | bytes | None | np.generic | np.ndarray) else UniformDependence(k)


def _set_numbers(known: Any) -> Iterator[np.ndarray]:
    """Yield the set numbers in dependences, in one-dimensional arrays."""
    if isinstance(known, UniformDependence):
        yield np.array([known.set])
    elif isinstance(known, tuple | list | dict):
        for part in known.values() if isinstance(known, dict) else known:
            yield from _set_numbers(part)
    elif known is not None:
        yield np.reshape(known, -1)
