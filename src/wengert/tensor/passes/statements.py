"""Tensor SSA: statements of five forms, in which predicates alone say which elements to read and add.

Each statement, let name = ⊞[ī:n̄] form, does one operation. x[i+1] is a contraction over j with j = i+1. Pointwise and
matrix products have the same form and differ in the predicate. Indices are named by position: i for the statement's
own, j and k for those of its first and second factor, l for other summed indices.

Source: "Differentiating a Tensor Language", Figure 10.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from wengert.tensor.language.assignments import Assignments, World
from wengert.tensor.language.cost import cost_at
from wengert.tensor.language.evaluation import Evaluated, Evaluator, map_arrays
from wengert.tensor.language.notation import show_program
from wengert.tensor.language.predicates import fresh_name, substituted
from wengert.tensor.language.ranges import simplify_predicate
from wengert.tensor.language.terms import (
    Add,
    AffineExpr,
    Apply,
    BlackBox,
    Const,
    Expr,
    Mul,
    Pair,
    Predicate,
    Sum,
    TensorProgram,
    Type,
    Var,
    affine,
    bracket_of,
)
from wengert.tensor.passes.gen_pushout import accessed, with_gens
from wengert.tensor.passes.let_lifting import with_lets

Gens = tuple[tuple[str, AffineExpr], ...]
Output = str | tuple["Output", ...]


@dataclass(frozen=True, slots=True)
class Load:
    """The form inp[ī], of a variable or of projections of one."""

    of: Expr
    at: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fill:
    """The form [where]·value."""

    where: Predicate
    value: int | float | Fraction


@dataclass(frozen=True, slots=True)
class Sum2:
    """The form [where0]·x[ī] + [where1]·y[ī], which costs an addition only where both predicates hold."""

    where0: Predicate
    x: str
    where1: Predicate
    y: str


@dataclass(frozen=True, slots=True)
class Pointwise:
    """The form [where]·f(x1[ī], .., xk[ī]); f is called only where the predicate holds."""

    where: Predicate
    f: BlackBox
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contract:
    """The form Σ sums [where]·x[j̄], or Σ sums [where]·x[j̄]·y[k̄]."""

    sums: Gens
    where: Predicate
    factors: tuple[tuple[str, tuple[str, ...]], ...]


StatementForm = Load | Fill | Sum2 | Pointwise | Contract


@dataclass(frozen=True, slots=True)
class Statement:
    """let name = ⊞[ī:n̄] form, with `gens` for the indices and their sizes."""

    name: str
    gens: Gens
    form: StatementForm

    @property
    def at(self) -> tuple[str, ...]:
        return tuple(index for index, _ in self.gens)


@dataclass(frozen=True, slots=True)
class SSA:
    """A program in SSA form: its typed inputs, the statements in order, and the names of its output."""

    statements: tuple[Statement, ...]
    output: Output
    inputs: tuple[tuple[str, Type], ...] = ()
    relations: tuple[tuple[str, tuple[AffineExpr, ...]], ...] = ()
    sizes: tuple[str, ...] = ()


# ---- arguments, predicates and output names ----


def form_arguments(form: StatementForm) -> tuple[str, ...]:
    """The names of the statements that a form reads."""
    match form:
        case Sum2(_, x, _, y):
            return (x, y)
        case Pointwise(_, _, args):
            return args
        case Contract(_, _, factors):
            return tuple(name for name, _ in factors)
    return ()


def with_form_arguments(form: StatementForm, new: Mapping[str, str]) -> StatementForm:
    """The form with its argument names replaced by `new`."""
    match form:
        case Sum2(p, x, q, y):
            return Sum2(p, new.get(x, x), q, new.get(y, y))
        case Pointwise(where, f, args):
            return Pointwise(where, f, tuple(new.get(arg, arg) for arg in args))
        case Contract(sums, where, factors):
            return Contract(sums, where, tuple((new.get(name, name), at) for name, at in factors))
    return form


def form_predicates(form: StatementForm) -> tuple[Predicate, ...]:
    """The predicates of a form, which say where it computes."""
    match form:
        case Fill(where, _) | Pointwise(where, _, _) | Contract(_, where, _):
            return (where,)
        case Sum2(p, _, q, _):
            return (p, q)
    return ()


def output_names(output: Output) -> tuple[str, ...]:
    return (output,) if isinstance(output, str) else tuple(leaf for part in output for leaf in output_names(part))


# ---- statements as expressions: value, cost, print-out ----


def expression(statement: Statement) -> Expr:
    """The right-hand side of a statement as an expression of the language."""

    def read(name: str, at: tuple[str, ...] = statement.at) -> Expr:
        return accessed(Var(name), tuple(map(affine, at)))

    match statement.form:
        case Load(of, at):
            body = accessed(of, tuple(map(affine, at)))
        case Fill(where, value):
            body = bracket_of(where, Const(value))
        case Sum2(p, x, q, y):
            body = Add(bracket_of(p, read(x)), bracket_of(q, read(y)))
        case Pointwise(where, f, args):
            body = bracket_of(where, Apply(f, tuple(map(read, args))))
        case Contract(sums, where, factors):
            body = bracket_of(where, reduce(Mul, (read(name, at) for name, at in factors)))
            for index, size in reversed(sums):
                body = Sum(index, size, body)
    return with_gens(statement.gens, body)


def to_program(ssa: SSA) -> TensorProgram:
    lets = [(statement.name, expression(statement)) for statement in ssa.statements]
    return TensorProgram(ssa.inputs, with_lets(lets, _output_pair(ssa.output)), ssa.relations, ssa.sizes)


def _output_pair(output: Output) -> Expr:
    if isinstance(output, str):
        return Var(output)
    *most, last = map(_output_pair, output)
    return reduce(lambda right, left: Pair(left, right), reversed(most), last)


def show_ssa(ssa: SSA) -> str:
    return show_program(to_program(ssa))


def evaluate_ssa(
    ssa: SSA,
    inputs: Mapping[str, Evaluated],
    sizes: Mapping[str, int] | None = None,
    relations: Mapping[str, np.ndarray] | None = None,
    number: Callable[[Any], Any] = float,
) -> Evaluated:
    """The values of the output, in its tuples, computed by the evaluator of the language."""
    evaluator = Evaluator(number)
    table = evaluator.initial_table(ssa.inputs, inputs, World(sizes or {}, relations or {}))
    for statement in ssa.statements:
        table = evaluator.bind(statement.name, evaluator.value(expression(statement), table), table)
    return _output_values(ssa.output, lambda name: map_arrays(lambda leaf: leaf[0], evaluator.bindings[name]))


def _output_values(output: Output, value: Callable[[str], Evaluated]) -> Evaluated:
    return value(output) if isinstance(output, str) else tuple(_output_values(part, value) for part in output)


def ssa_cost(
    ssa: SSA, sizes: Mapping[str, int] | None = None, relations: Mapping[str, np.ndarray] | None = None
) -> int:
    table = Assignments(World(sizes or {}, relations or {}), 1, {})
    return sum(cost_at(expression(statement), table) for statement in ssa.statements)


# ---- names by position ----


def canonical_statement(statement: Statement, sizes: tuple[str, ...] = ()) -> Statement:
    """The statement with its indices named by position, and predicates without facts that the ranges imply."""
    form = statement.form
    sums = form.sums if isinstance(form, Contract) else ()
    new = positional_names(statement, sizes)
    ranges = {new[index]: size for index, size in (*statement.gens, *sums)}

    def renamed(p: Predicate) -> Predicate:
        return simplify_predicate(substituted(p, {old: affine(name) for old, name in new.items()}), ranges)

    gens = tuple((new[index], size) for index, size in statement.gens)
    return Statement(statement.name, gens, _renamed_form(form, new, renamed))


def positional_names(statement: Statement, sizes: tuple[str, ...]) -> dict[str, str]:
    """Map each index to its name by position."""
    groups = [statement.at]
    if isinstance(statement.form, Contract):
        groups += [at for _, at in statement.form.factors] + [()] * (2 - len(statement.form.factors))
        read = {index for group in groups for index in group}
        groups.append(tuple(index for index, _ in statement.form.sums if index not in read))
    return {
        index: fresh_name(f"{letter}{position}", sizes)
        for letter, group in zip("ijkl", groups, strict=False)
        for position, index in enumerate(group)
    }


def _renamed_form(
    form: StatementForm, new: Mapping[str, str], renamed: Callable[[Predicate], Predicate]
) -> StatementForm:
    match form:
        case Load(of, at):
            return Load(of, tuple(new[index] for index in at))
        case Fill(where, value):
            return Fill(renamed(where), value)
        case Sum2(p, x, q, y):
            return Sum2(renamed(p), x, renamed(q), y)
        case Pointwise(where, f, args):
            return Pointwise(renamed(where), f, args)
        case Contract(sums, where, factors):
            sums = tuple((new[index], size) for index, size in sums)
            return Contract(sums, renamed(where), tuple((x, tuple(new[index] for index in at)) for x, at in factors))
