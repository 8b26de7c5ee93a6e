"""Evaluation of a program: the value ⟦e⟧ρ for all assignments ρ of a table at once. A reference: slow, and exact.

A value is an array, or a tuple of values for a pair; a tensor of pairs is held as a pair of tensors. Inside, the first
axis of a value counts the rows of the table.

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
    Affine,
    Apply,
    Bracket,
    Const,
    Expr,
    Gen,
    Let,
    Mul,
    Pair,
    Predicate,
    Program,
    Proj,
    Sum,
    Var,
    conjoin,
)

Evaluated = Any  # an array, or a tuple of two values


def evaluate(
    program: Program,
    inputs: Mapping[str, Evaluated],
    sizes: Mapping[str, int] | None = None,
    relations: Mapping[str, np.ndarray] | None = None,
    number: Callable[[Any], Any] = float,
) -> Evaluated:
    """The value of a program; `number` makes all of its numbers, so that `Fraction` makes it exact."""
    evaluator = Evaluator(number)
    table = evaluator.started(program.inputs, inputs, World(sizes or {}, relations or {}))
    return mapped(lambda leaf: leaf[0], evaluator.value(program.body, table))


def mapped(f: Callable[..., Any], value: Evaluated) -> Evaluated:
    """The value with `f(array)` for each array in it."""
    return tuple(mapped(f, part) for part in value) if isinstance(value, tuple) else f(value)


def behind_brackets(e: Expr) -> tuple[Predicate, Expr]:
    """The predicates of the brackets with which e begins, and the expression in them."""
    where: Predicate = TRUE
    while isinstance(e, Bracket):
        where, e = conjoin(where, e.where), e.body
    return where, e


def summands(e: Sum) -> tuple[dict[str, Affine], Predicate, Expr]:
    """Directly nested sums and the brackets in them as one sum: Σ ī:n̄ [p] e."""
    indices: dict[str, Affine] = {}
    body: Expr = e
    while isinstance(body, Sum) and body.index not in indices:
        indices[body.index] = body.size
        body = body.body
    return (indices, *behind_brackets(body))


class Evaluator:
    """Evaluates expressions on tables of assignments: what each name stands for, and how numbers are made."""

    def __init__(self, number: Callable[[Any], Any]) -> None:
        self.number = number
        self.zero = number(0)
        self.dtype = np.asarray(self.zero).dtype
        self.held: dict[str, Evaluated] = {}

    def started(self, named: Iterable[tuple[str, Any]], inputs: Mapping[str, Evaluated], world: World) -> Assignments:
        """The table of one row, in which the inputs have their values."""
        table = Assignments(world, 1, {})
        for name, _ in named:
            table = self.bound(name, self.given(inputs[name]), table)
        return table

    def given(self, value: Evaluated) -> Evaluated:
        """An input as a value with one row."""
        return mapped(lambda leaf: self.array(np.asarray(leaf))[None], value)

    def array(self, numbers: np.ndarray) -> np.ndarray:
        made = np.empty(numbers.size, self.dtype)
        made[:] = [self.number(x) for x in numbers.flat]
        return made.reshape(numbers.shape)

    def zeros(self, *shape: int) -> np.ndarray:
        return np.full(shape, self.zero, self.dtype)

    def bound(self, name: str, value: Evaluated, table: Assignments) -> Assignments:
        """Bind a name to a value; a new column of the table says in which row of the value each row looks."""
        self.held[name] = value
        return table.having(f"row of {name}", np.arange(table.rows))

    def value(self, e: Expr, table: Assignments) -> Evaluated:
        """The value of e for each row of the table."""
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
                return self.part(e, (), table)
            case Gen():
                return self.generated(e, table)
            case Sum():
                return self.summed(e, table)
            case Bracket(where, body):
                rows = np.flatnonzero(table.holds(where))
                return mapped(lambda leaf: self.scattered(table.rows, rows, leaf), self.value(body, table.take(rows)))
            case Let():
                return self.let(e, table)

    def let(self, e: Let, table: Assignments) -> Evaluated:
        """The value of the body of a let; afterwards the name means what it meant before."""
        value, outer = self.value(e.value, table), self.held.get(e.name)
        result = self.value(e.body, self.bound(e.name, value, table))
        self.held[e.name] = outer
        return result

    def scattered(self, count: int, rows: np.ndarray, leaf: np.ndarray) -> np.ndarray:
        """An array of `count` rows: `leaf` at the rows given, zero at others."""
        whole = self.zeros(count, *leaf.shape[1:])
        whole[rows] = leaf
        return whole

    def generated(self, e: Gen, table: Assignments) -> Evaluated:
        inner, _ = table.extended([(e.index, e.size)])
        shape = (table.rows, table.world.size(e.size))
        return mapped(lambda leaf: leaf.reshape(shape + leaf.shape[1:]), self.value(e.body, inner))

    def summed(self, e: Sum, table: Assignments) -> np.ndarray:
        indices, where, body = summands(e)
        inner, origins = table.extended(indices.items(), where)
        total = self.zeros(table.rows)
        np.add.at(total, origins, self.value(body, inner))
        return total

    def part(self, e: Expr, at: tuple[np.ndarray, ...], table: Assignments) -> Evaluated:
        """The value of e[at..]; only what is read of e is copied."""
        if isinstance(e, Access):
            return self.part(e.of, (table.value(e.at), *at), table)
        found, rows = self.located(e, table)
        return mapped(lambda leaf: _read(e, leaf, rows, at), found)

    def located(self, e: Expr, table: Assignments) -> tuple[Evaluated, np.ndarray]:
        """A value of e, and in which of its rows each row of the table finds its own."""
        match e:
            case Var(name):
                return self.held[name], table.columns[f"row of {name}"]
            case Proj(k, of):
                found, rows = self.located(of, table)
                return found[k], rows
        return self.value(e, table), np.arange(table.rows)


def _read(e: Expr, leaf: np.ndarray, rows: np.ndarray, at: tuple[np.ndarray, ...]) -> np.ndarray:
    for place, size in zip(at, leaf.shape[1:], strict=False):
        if ((place < 0) | (place >= size)).any():
            raise OutOfRangeError(f"{show_expr(e)} is read at {_worst(place, size)}, outside 0..{size - 1}")
    return leaf[(rows, *at)]


def _worst(place: np.ndarray, size: int) -> str:
    return show_affine(Affine(int(place.min() if place.min() < 0 else place.max())))
