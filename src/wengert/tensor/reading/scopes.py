"""The state of reading a function: names in scope, conditions, lets, the program so far; and errors with the line."""

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
from wengert.tensor.reading.meanings import Dimension, Meaning, Value, ValueKind


@dataclass(frozen=True)
class OuterName:
    """A name of a function from outside it: the object it was bound to when the function was read, and its meaning."""

    node: ast.expr
    function: types.FunctionType
    value: Any
    meaning: Meaning


ChosenIndex = tuple[str, AffineExpr, Predicate]  # an index, its size, and the predicate that determines it


@dataclass
class ProgramBuilder:
    """The program that is being read: its bounds, inputs, relations, and the outer names of its functions."""

    bounds: Bounds = field(default_factory=Bounds)
    inputs: list[tuple[str, ValueKind]] = field(default_factory=list)
    relations: list[tuple[str, tuple[Dimension, ...]]] = field(default_factory=list)
    outer_names: dict[tuple[types.FunctionType, str], OuterName] = field(default_factory=dict)
    used_names: set[str] = field(default_factory=set)
    values: dict[str, Any] = field(default_factory=dict)
    gathers: dict[str, tuple[str, AffineExpr]] = field(default_factory=dict)  # by relation: index array, size indexed
    tables: dict[str, tuple[tuple[tuple[str, AffineExpr], ...], Exists]] = field(default_factory=dict)

    def fresh(self, name: str) -> str:
        """Return `name`, with a number appended if the program uses it already."""
        name = name.strip("_") or "t"
        found, number = name, 1
        while found in self.used_names:
            number += 1
            found = f"{name}{number}"
        self.used_names.add(found)
        return found

    def split_gathers(self, expr: Expr) -> tuple[tuple[ChosenIndex, ...], Expr]:
        """Return the gathers around an expression, the outermost first, and the expression inside them."""
        by: tuple[ChosenIndex, ...] = ()
        while isinstance(expr, Sum) and isinstance(expr.body, Bracket) and self._gathers(expr.body.where):
            by = (*by, (expr.index, expr.size, expr.body.where))
            expr = expr.body.body
        return by, expr

    def _gathers(self, where: Predicate) -> bool:
        return isinstance(where, Related) and where.relation in self.gathers

    def relation_of_exists(self, p: Exists) -> Predicate:
        """Return the ∃ p as a relation over its free indices, made before each run: a relation can be negated."""
        free = sorted(free_index_names(p) & self.bounds.indices.keys())
        canonical = substituted(p, {name: affine(f"t{k}") for k, name in enumerate(free)})
        assert isinstance(canonical, Exists)
        indices = tuple((f"t{k}", self.bounds.indices[name]) for k, name in enumerate(free)) or (("t0", AffineExpr(1)),)
        known = {table: name for name, table in self.tables.items()}
        name = known.get((indices, canonical)) or self.fresh("any")
        self.tables[name] = indices, canonical
        return Related(name, tuple(map(affine, free)) or (AffineExpr(0),))

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Return a context after which the inputs, relations and outer names of the program are restored."""
        fields = "inputs", "relations", "outer_names", "values", "gathers", "tables"
        saved = {name: copy(getattr(self, name)) for name in fields}
        try:
            yield
        finally:
            for name, value in saved.items():
                setattr(self, name, value)

    def dimension(self, value: int, default: str) -> Dimension:
        return Dimension(value, default, self.fresh, self.bounds.sizes.__setitem__)

    def index(self, name: str, size: AffineExpr) -> tuple[str, AffineExpr]:
        """Make a new index of this size, named like `name`; return its name and its expression."""
        found = self.fresh(name)
        self.bounds.indices[found] = size
        return found, AffineExpr(0, ((found, 1),))


@dataclass
class Scope:
    """The scope of a function or comprehension that is being read; `lets` are the bindings to put around its result."""

    builder: ProgramBuilder
    function: types.FunctionType
    names: dict[str, Meaning]
    conditions: tuple[Predicate, ...] = ()
    lets: list[tuple[str, Expr]] = field(default_factory=list)
    calls: tuple[types.FunctionType, ...] = ()

    def inside(self, *conditions: Predicate) -> Scope:
        """Return the scope of a part that is evaluated only where these conditions hold; it has lets of its own."""
        return Scope(
            self.builder, self.function, dict(self.names), (*self.conditions, *conditions), [], self.calls
        )  # fmt: skip

    def bind(self, name: str, value: Value) -> Value:
        """Bind the value to a variable, so that it is computed once; return it as it is if reading it costs nothing."""
        if is_free_to_read(self.builder.split_gathers(value.expr)[1]):
            return value
        name = self.builder.fresh(name)
        self.lets.append((name, value.expr))
        return Value(Var(name), value.kind)

    def with_lets(self, expr: Expr) -> Expr:
        """Put the lets of this scope around an expression."""
        for name, bound in reversed(self.lets):
            expr = LetIn(name, bound, expr)
        return expr

    def refusal(self, node: ast.AST, what: str, remedy: str) -> TensorLanguageError:
        return TensorLanguageError(self.report(node, what, remedy))

    def out_of_range(self, node: ast.AST, what: str, remedy: str) -> OutOfRangeError:
        return OutOfRangeError(self.report(node, what, remedy))

    def report(self, node: ast.AST, what: str, remedy: str) -> str:
        """Return the message at a node: what happened, the user's line with the node underlined, and the next step."""
        code = self.function.__code__
        line = getattr(node, "lineno", code.co_firstlineno)
        text = linecache.getline(code.co_filename, line, self.function.__globals__).rstrip("\n")
        start = getattr(node, "col_offset", 0)
        end = getattr(node, "end_col_offset", len(text)) if getattr(node, "end_lineno", line) == line else len(text)
        lead, marked = len(text.encode()[:start].decode()), len(text.encode()[start:end].decode())
        indent = len(text) - len(text.lstrip())
        marks = f"    {' ' * (lead - indent)}{'^' * marked}"
        return f"{code.co_filename}:{line} in {code.co_name}: {what}\n    {text.strip()}\n{marks}\n{remedy}"


SyntaxReader = Callable[[ast.expr, Scope], Meaning]


def is_free_to_read(expr: Expr) -> bool:
    """Whether an expression costs nothing: a constant, a variable, an element or a part of a variable."""
    if isinstance(expr, (Access, Proj)):
        return is_free_to_read(expr.of)
    return isinstance(expr, (Var, Const))
