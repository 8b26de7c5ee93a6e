"""Where a piece of the user's function is read: names, what guards it, the lets made so far; and errors there."""

from __future__ import annotations

import ast
import linecache
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from wengert.errors import OutOfRangeError, TensorLanguageError
from wengert.tensor.language.bounds import Bounds
from wengert.tensor.language.predicates import free_index_names, substituted
from wengert.tensor.language.terms import (
    Access,
    AffineExpr,
    Bracket,
    Const,
    Exists,
    Expr,
    LetIn,
    Predicate,
    Proj,
    Related,
    Sum,
    Var,
    affine,
)
from wengert.tensor.reading.meanings import Dimension, Kind, Meaning, Value


@dataclass(frozen=True)
class Outside:
    """A name from around a function: what it stood for when the function was read, and what that means."""

    node: ast.expr
    function: types.FunctionType
    it: Any
    meaning: Meaning


ChosenIndex = tuple[str, AffineExpr, Predicate]  # an index, its range, and what leaves it one value


@dataclass
class Building:
    """The program that is being read: its bounds, inputs and relations, and what it takes from around the function."""

    bounds: Bounds = field(default_factory=Bounds)
    inputs: list[tuple[str, Kind]] = field(default_factory=list)
    relations: list[tuple[str, tuple[Dimension, ...]]] = field(default_factory=list)
    outside: dict[tuple[types.FunctionType, str], Outside] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    values: dict[str, Any] = field(default_factory=dict)
    gathers: dict[str, tuple[str, AffineExpr]] = field(default_factory=dict)  # the array a relation is of, its range
    tables: dict[str, tuple[tuple[tuple[str, AffineExpr], ...], Exists]] = field(default_factory=dict)

    def fresh(self, name: str) -> str:
        """`name`, or that with a number where it is taken: all names of a program differ."""
        name = name.strip("_") or "t"
        found, number = name, 1
        while found in self.taken:
            number += 1
            found = f"{name}{number}"
        self.taken.add(found)
        return found

    def unwrapped(self, expr: Expr) -> tuple[tuple[ChosenIndex, ...], Expr]:
        """The gathers around a read, the outermost first, and the read itself."""
        by: tuple[ChosenIndex, ...] = ()
        while isinstance(expr, Sum) and isinstance(expr.body, Bracket) and self._gathers(expr.body.where):
            by = (*by, (expr.index, expr.size, expr.body.where))
            expr = expr.body.body
        return by, expr

    def _gathers(self, where: Predicate) -> bool:
        return isinstance(where, Related) and where.relation in self.gathers

    def table(self, p: Exists) -> Predicate:
        """The ∃ p as a relation over its free indices, made before the program runs: a negated one would be a ∀."""
        free = sorted(free_index_names(p) & self.bounds.indices.keys())
        canonical = substituted(p, {name: affine(f"t{k}") for k, name in enumerate(free)})
        assert isinstance(canonical, Exists)
        indices = tuple((f"t{k}", self.bounds.indices[name]) for k, name in enumerate(free)) or (("t0", AffineExpr(1)),)
        known = {made: name for name, made in self.tables.items()}
        name = known.get((indices, canonical)) or self.fresh("any")
        self.tables[name] = indices, canonical
        return Related(name, tuple(map(affine, free)) or (AffineExpr(0),))

    @contextmanager
    def undone(self) -> Iterator[None]:
        """A context in which reading only looks: afterwards the program has taken nothing from it."""
        taken = "inputs", "relations", "outside", "values", "gathers", "tables"
        kept = {name: copy(getattr(self, name)) for name in taken}
        try:
            yield
        finally:
            for name, before in kept.items():
                setattr(self, name, before)

    def dimension(self, value: int, default: str) -> Dimension:
        return Dimension(value, default, self.fresh, self.bounds.sizes.__setitem__)

    def index(self, name: str, size: AffineExpr) -> tuple[str, AffineExpr]:
        """A new index of this range, named like `name`."""
        found = self.fresh(name)
        self.bounds.indices[found] = size
        return found, AffineExpr(0, ((found, 1),))


@dataclass
class Scope:
    """A function or comprehension that is being read; `lets` are the bindings to put around its result."""

    building: Building
    function: types.FunctionType
    names: dict[str, Meaning]
    conditions: tuple[Predicate, ...] = ()
    lets: list[tuple[str, Expr]] = field(default_factory=list)
    calls: tuple[types.FunctionType, ...] = ()

    def inside(self, *conditions: Predicate) -> Scope:
        """A scope for a part that is evaluated only where these conditions hold; its lets are its own."""
        return Scope(
            self.building, self.function, dict(self.names), (*self.conditions, *conditions), [], self.calls
        )  # fmt: skip

    def bind(self, name: str, value: Value) -> Value:
        """A variable for the value, so that it is computed once; the value itself where reading it costs nothing."""
        if is_read(self.building.unwrapped(value.expr)[1]):
            return value
        name = self.building.fresh(name)
        self.lets.append((name, value.expr))
        return Value(Var(name), value.kind)

    def closed(self, expr: Expr) -> Expr:
        """The expression with the lets of this scope around it."""
        for name, bound in reversed(self.lets):
            expr = LetIn(name, bound, expr)
        return expr

    def refusal(self, node: ast.AST, what: str, remedy: str) -> TensorLanguageError:
        return TensorLanguageError(self.report(node, what, remedy))

    def out_of_range(self, node: ast.AST, what: str, remedy: str) -> OutOfRangeError:
        return OutOfRangeError(self.report(node, what, remedy))

    def report(self, node: ast.AST, what: str, remedy: str) -> str:
        """The error at a node: what happened, the user's line with the place underlined, and what to do next."""
        code = self.function.__code__
        line = getattr(node, "lineno", code.co_firstlineno)
        text = linecache.getline(code.co_filename, line, self.function.__globals__).rstrip("\n")
        start = getattr(node, "col_offset", 0)
        end = getattr(node, "end_col_offset", len(text)) if getattr(node, "end_lineno", line) == line else len(text)
        lead, marked = len(text.encode()[:start].decode()), len(text.encode()[start:end].decode())
        indent = len(text) - len(text.lstrip())
        marks = f"    {' ' * (lead - indent)}{'^' * marked}"
        return f"{code.co_filename}:{line} in {code.co_name}: {what}\n    {text.strip()}\n{marks}\n{remedy}"


Reader = Callable[[ast.expr, Scope], Meaning]


def is_read(expr: Expr) -> bool:
    """Whether an expression only reads a variable, or is a constant."""
    if isinstance(expr, (Access, Proj)):
        return is_read(expr.of)
    return isinstance(expr, (Var, Const))
