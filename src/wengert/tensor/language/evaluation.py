"""The reference interpreter, slow and exact: the value ⟦e⟧ρ for all index assignments ρ of a table at once.

A value is an array, or a tuple of values for a pair; a tensor of pairs is stored as a pair of tensors. Inside an
Evaluator the first axis of a value is the rows of the table.

Source: "Differentiating a Tensor Language", 4.1 to 4.21.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from wengert.errors import OutOfRangeError
from wengert.tensor.language.assignments import Assignments, World
from wengert.tensor.language.notation import show_affine, show_expr
from wengert.tensor.language.terms import (
    TRUE,
    Access,
    Add,
    AffineExpr,
    Apply,
    Bracket,
    Const,
    Expr,
    Gen,
    LetIn,
    Mul,
    Pair,
    Predicate,
    Proj,
    Sum,
    TensorProgram,
    Var,
    conjoin,
)

Evaluated = Any  # an array, or a tuple of two values


def evaluate(
    program: TensorProgram,
    inputs: Mapping[str, Evaluated],
    sizes: Mapping[str, int] | None = None,
    relations: Mapping[str, np.ndarray] | None = None,
    number: Callable[[Any], Any] = float,
) -> Evaluated:
    """Return the value of a program. `number` converts each number, so that `Fraction` makes the value exact."""
    evaluator = Evaluator(number)
    table = evaluator.initial_table(program.inputs, inputs, World(sizes or {}, relations or {}))
    return map_arrays(lambda leaf: leaf[0], evaluator.value(program.body, table))


def map_arrays(f: Callable[..., Any], value: Evaluated) -> Evaluated:
    """Apply `f` to each array in a value."""
    return tuple(map_arrays(f, part) for part in value) if isinstance(value, tuple) else f(value)


def behind_brackets(e: Expr) -> tuple[Predicate, Expr]:
    """Return the conjunction of e's outermost brackets, and the expression inside them."""
    where: Predicate = TRUE
    while isinstance(e, Bracket):
        where, e = conjoin(where, e.where), e.body
    return where, e


def summands(e: Sum) -> tuple[dict[str, AffineExpr], Predicate, Expr]:
    """Return directly nested sums and the brackets in them as one sum, Σ ī:n̄ [p] e: indices, predicate, expression."""
    indices: dict[str, AffineExpr] = {}
    body: Expr = e
    while isinstance(body, Sum) and body.index not in indices:
        indices[body.index] = body.size
        body = body.body
    return (indices, *behind_brackets(body))


class Evaluator:
    """Evaluates expressions on tables of assignments. `bindings` are the values of variables."""

    def __init__(self, number: Callable[[Any], Any]) -> None:
        self.number = number
        self.zero = number(0)
        self.dtype = np.asarray(self.zero).dtype
        self.bindings: dict[str, Evaluated] = {}

    def initial_table(
        self, named: Iterable[tuple[str, Any]], inputs: Mapping[str, Evaluated], world: World
    ) -> Assignments:
        """Bind the inputs to their values; return a table of one row."""
        table = Assignments(world, 1, {})
        for name, _ in named:
            table = self.bind(name, self.one_row(inputs[name]), table)
        return table

    def one_row(self, value: Evaluated) -> Evaluated:
        """Return an input as a value with one row."""
        return map_arrays(lambda leaf: self.array(np.asarray(leaf))[None], value)

    def array(self, numbers: np.ndarray) -> np.ndarray:
        converted = np.empty(numbers.size, self.dtype)
        converted[:] = [self.number(x) for x in numbers.flat]
        return converted.reshape(numbers.shape)

    def zeros(self, *shape: int) -> np.ndarray:
        return np.full(shape, self.zero, self.dtype)

    def bind(self, name: str, value: Evaluated, table: Assignments) -> Assignments:
        """Bind a name to a value. A new column of the table holds, for each row, the row of the value that it reads."""
        self.bindings[name] = value
        return table.with_column(f"row of {name}", np.arange(table.rows))

    def value(self, e: Expr, table: Assignments) -> Evaluated:
        """Return the value of e for each row of the table."""
        match e:
            case Const(value):
                return np.full(table.rows, self.number(value), self.dtype)
            case Add(left, right):
                return self.value(left, table) + self.value(right, table)
            case Mul(left, right):
                return self.value(left, table) * self.value(right, table)
            case Apply(of, args):
                values = [self.value(arg, table) for arg in args]
                found = np.asarray(of.fn(*values), self.dtype) if table.rows else self.zero
                return np.broadcast_to(found, table.rows)
            case Pair(left, right):
                return self.value(left, table), self.value(right, table)
            case Var() | Proj() | Access():
                return self.element(e, (), table)
            case Gen():
                return self.gen(e, table)
            case Sum():
                return self.sum(e, table)
            case Bracket(where, body):
                rows = np.flatnonzero(table.holds(where))
                return map_arrays(lambda leaf: self.scatter(table.rows, rows, leaf), self.value(body, table.take(rows)))
            case LetIn():
                return self.let(e, table)

    def let(self, e: LetIn, table: Assignments) -> Evaluated:
        """Return the value of a let's body; afterwards restore the outer binding of its name."""
        value, outer = self.value(e.value, table), self.bindings.get(e.name)
        result = self.value(e.body, self.bind(e.name, value, table))
        self.bindings[e.name] = outer
        return result

    def scatter(self, count: int, rows: np.ndarray, leaf: np.ndarray) -> np.ndarray:
        """Return an array of `count` rows: `leaf` at these rows, zero at others."""
        whole = self.zeros(count, *leaf.shape[1:])
        whole[rows] = leaf
        return whole

    def gen(self, e: Gen, table: Assignments) -> Evaluated:
        inner, _ = table.extended([(e.index, e.size)])
        shape = (table.rows, table.world.size(e.size))
        return map_arrays(lambda leaf: leaf.reshape(shape + leaf.shape[1:]), self.value(e.body, inner))

    def sum(self, e: Sum, table: Assignments) -> np.ndarray:
        indices, where, body = summands(e)
        inner, origins = table.extended(indices.items(), where)
        total = self.zeros(table.rows)
        np.add.at(total, origins, self.value(body, inner))
        return total

    def element(self, e: Expr, at: tuple[np.ndarray, ...], table: Assignments) -> Evaluated:
        """Return the value of e[at..]; of a variable only the elements read are copied."""
        if isinstance(e, Access):
            return self.element(e.of, (table.value(e.at), *at), table)
        found, rows = self.locate(e, table)
        return map_arrays(lambda leaf: _read_elements(e, leaf, rows, at), found)

    def locate(self, e: Expr, table: Assignments) -> tuple[Evaluated, np.ndarray]:
        """Return a value of e, and for each row of the table the row of the value that it reads."""
        match e:
            case Var(name):
                return self.bindings[name], table.columns[f"row of {name}"]
            case Proj(k, of):
                found, rows = self.locate(of, table)
                return found[k], rows
        return self.value(e, table), np.arange(table.rows)


def _read_elements(e: Expr, leaf: np.ndarray, rows: np.ndarray, at: tuple[np.ndarray, ...]) -> np.ndarray:
    for place, size in zip(at, leaf.shape[1:], strict=False):
        if ((place < 0) | (place >= size)).any():
            raise OutOfRangeError(
                f"{show_expr(e)} is read at index {_show_worst(place, size)}; its indices are 0..{size - 1}"
            )
    return leaf[(rows, *at)]


def _show_worst(place: np.ndarray, size: int) -> str:
    return show_affine(AffineExpr(int(place.min() if place.min() < 0 else place.max())))
