"""Reading x[idx[i]]: an array of whole numbers as an index is a relation that holds of one j for each i, j = idx[i]."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import numpy as np

from wengert.errors import OutOfRangeError
from wengert.tensor.language.relations import Relation
from wengert.tensor.language.terms import Access, AffineExpr, Bracket, Expr, Gen, Related, Sum, Var
from wengert.tensor.planning.walks import Entries
from wengert.tensor.reading.meanings import Kind, RealKind, TensorKind, TupleKind, Value, size_of
from wengert.tensor.reading.scopes import ChosenIndex, Scope


@dataclass(frozen=True)
class Gather:
    """An input of whole numbers that is used as an index, and where it is read; this may be a Gather: x[p[q[i]]]."""

    of: str
    at: tuple[AffineExpr, ...]
    by: tuple[ChosenIndex, ...]


def whole_numbers(value: Value, scope: Scope) -> Gather | None:
    """The Gather that a value is, if it is read from whole numbers; else None."""
    at: list[AffineExpr] = []
    by, expr = scope.building.unwrapped(value.expr)
    while isinstance(expr, Access):
        at.insert(0, expr.at)
        expr = expr.of
    if not isinstance(expr, Var) or not isinstance(value.kind, RealKind) or expr.name not in scope.building.values:
        return None
    array = np.asarray(scope.building.values[expr.name])
    return Gather(expr.name, tuple(at), by) if array.dtype.kind in "iu" and array.ndim == len(at) > 0 else None


def gathered(value: Value, gather: Gather, node: ast.AST, scope: Scope) -> Value:
    """Σ[j:n] [idx(i, j)]·x[j], at each number of x[j]."""
    kind = value.kind
    if not isinstance(kind, TensorKind):
        raise scope.refusal(node, f"{value} is indexed", "Only arrays are; a tuple by a literal number.")
    size = size_of(kind)
    relation = _relation(gather.of, size, scope)
    name, j = scope.building.index("j", size)
    by = (*gather.by, (name, size, Related(relation, (*gather.at, j))))
    return Value(_numbers(scope.bind("x", value).expr, kind.of, j, by, (), node, scope), kind.of)


def _numbers(
    x: Expr,
    kind: Kind,
    j: AffineExpr,
    by: tuple[ChosenIndex, ...],
    then: tuple[AffineExpr, ...],
    node: ast.AST,
    scope: Scope,
) -> Expr:
    if isinstance(kind, TupleKind):
        raise scope.refusal(node, "an array of tuples is indexed by whole numbers", "Index its parts one by one.")
    if isinstance(kind, TensorKind):
        name, i = scope.building.index("c", size_of(kind))
        return Gen(name, size_of(kind), _numbers(x, kind.of, j, by, (*then, i), node, scope))
    body: Expr = Access(x, j)
    for place in then:
        body = Access(body, place)
    for index, size, where in reversed(by):
        body = Sum(index, size, Bracket(where, body))
    return body


def _relation(index: str, size: AffineExpr, scope: Scope) -> str:
    building = scope.building
    for name, known in building.gathers.items():
        if known == (index, size):
            return name
    name = building.fresh(f"{index}_is")
    building.gathers[name] = index, size
    return name


def functional(name: str, index: np.ndarray, size: int) -> Relation:
    """The relation of an array of whole numbers. Errors: OutOfRangeError for numbers outside 0..size-1."""
    numbers = np.asarray(index).astype(np.intp)
    if numbers.size and (numbers.min() < 0 or numbers.max() >= size):
        worst = int(numbers.min() if numbers.min() < 0 else numbers.max())
        raise OutOfRangeError(
            f"{name} holds {worst} and indexes an array of {size}. Here indices count from 0: for one from the end "
            "pass it with the length added"
        )
    places = np.unravel_index(np.arange(numbers.size), numbers.shape)
    return Relation(Entries.of_columns((*numbers.shape, size), [*places, numbers.ravel()]), closed=False)
