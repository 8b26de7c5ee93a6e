"""Read x[idx[i]]: an integer array as an index is a relation, which relates each i to one j, idx[i]."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import numpy as np

from wengert.errors import OutOfRangeError
from wengert.tensor.language.relations import Relation
from wengert.tensor.language.terms import Access, AffineExpr, Bracket, Expr, Gen, Related, Sum, Var
from wengert.tensor.planning.walks import Entries
from wengert.tensor.reading.meanings import RealKind, TensorKind, TupleKind, Value, ValueKind, size_of
from wengert.tensor.reading.scopes import ChosenIndex, Scope


@dataclass(frozen=True)
class Gather:
    """An input of integers that is used as an index, read at the indices `at`; `by` are gathers inside: x[p[q[i]]]."""

    of: str
    at: tuple[AffineExpr, ...]
    by: tuple[ChosenIndex, ...]


def as_gather(value: Value, scope: Scope) -> Gather | None:
    """Return the Gather of a value that is an element of an integer input; None for another value."""
    at: list[AffineExpr] = []
    by, expr = scope.builder.split_gathers(value.expr)
    while isinstance(expr, Access):
        at.insert(0, expr.at)
        expr = expr.of
    if not isinstance(expr, Var) or not isinstance(value.kind, RealKind) or expr.name not in scope.builder.values:
        return None
    array = np.asarray(scope.builder.values[expr.name])
    return Gather(expr.name, tuple(at), by) if array.dtype.kind in "iu" and array.ndim == len(at) > 0 else None


def read_gather(value: Value, gather: Gather, node: ast.AST, scope: Scope) -> Value:
    """Return Σ[j:n] [idx(i, j)]·x[j], for each number in x[j]."""
    kind = value.kind
    if not isinstance(kind, TensorKind):
        raise scope.refusal(node, f"{value} is indexed by an array of integers", "Only arrays are.")
    size = size_of(kind)
    relation = _gather_relation(gather.of, size, scope)
    name, j = scope.builder.index("j", size)
    by = (*gather.by, (name, size, Related(relation, (*gather.at, j))))
    return Value(_gather_elements(scope.bind("x", value).expr, kind.of, j, by, (), node, scope), kind.of)


def _gather_elements(
    x: Expr,
    kind: ValueKind,
    j: AffineExpr,
    by: tuple[ChosenIndex, ...],
    then: tuple[AffineExpr, ...],
    node: ast.AST,
    scope: Scope,
) -> Expr:
    if isinstance(kind, TupleKind):
        raise scope.refusal(
            node, "an array of tuples is indexed by an array of integers", "Index its parts one by one."
        )
    if isinstance(kind, TensorKind):
        name, i = scope.builder.index("c", size_of(kind))
        return Gen(name, size_of(kind), _gather_elements(x, kind.of, j, by, (*then, i), node, scope))
    body: Expr = Access(x, j)
    for place in then:
        body = Access(body, place)
    for index, size, where in reversed(by):
        body = Sum(index, size, Bracket(where, body))
    return body


def _gather_relation(index: str, size: AffineExpr, scope: Scope) -> str:
    builder = scope.builder
    for name, known in builder.gathers.items():
        if known == (index, size):
            return name
    name = builder.fresh(f"{index}_is")
    builder.gathers[name] = index, size
    return name


def relation_of_index_array(name: str, index: np.ndarray, size: int) -> Relation:
    """Return the relation of an integer array. Errors: OutOfRangeError for integers outside 0..size-1."""
    numbers = np.asarray(index).astype(np.intp)
    if numbers.size and (numbers.min() < 0 or numbers.max() >= size):
        worst = int(numbers.min() if numbers.min() < 0 else numbers.max())
        raise OutOfRangeError(
            f"{name} contains {worst} and indexes an array of length {size}. Indices count from 0: add the length to "
            "one that counts from the end"
        )
    places = np.unravel_index(np.arange(numbers.size), numbers.shape)
    return Relation(Entries.of_columns((*numbers.shape, size), [*places, numbers.ravel()]), closed=False)
