"""Where a piece of the user's function is read: its names, what guards it, the lets made so far; and its errors."""

from __future__ import annotations

import ast
import linecache
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from wengert.errors import OutOfRangeError, TensorLanguageError
from wengert.syntax import lookup
from wengert.tensor.bounds import Bounds
from wengert.tensor.meanings import Dimension, Kind, Meaning, Value
from wengert.tensor.terms import Access, Affine, Const, Expr, Let, Predicate, Proj, Var


@dataclass(frozen=True)
class Outside:
    """A name from around a function, what it stood for, and what that means."""

    node: ast.expr
    function: types.FunctionType
    it: Any
    signature: Any
    meaning: Meaning

    def now(self) -> Any:
        """What it stands for by now."""
        return lookup(self.node, self.function)


@dataclass
class Building:
    """The program that is being read: its bounds, inputs, relations, and what it takes from around the function."""

    bounds: Bounds = field(default_factory=Bounds)
    inputs: list[tuple[str, Kind]] = field(default_factory=list)
    relations: list[tuple[str, tuple[Dimension, ...]]] = field(default_factory=list)
    outside: dict[tuple[types.FunctionType, str], Outside] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    values: dict[str, Any] = field(default_factory=dict)
    gathers: dict[str, tuple[str, Affine]] = field(default_factory=dict)  # the array a relation is of, its range

    def fresh(self, name: str) -> str:
        """The name, numbered where it is taken: all names of a program differ."""
        name = name.strip("_") or "t"
        found, number = name, 1
        while found in self.taken:
            number += 1
            found = f"{name}{number}"
        self.taken.add(found)
        return found

    def dimension(self, value: int, default: str) -> Dimension:
        return Dimension(value, default, self.fresh, self.bounds.sizes.__setitem__)

    def index(self, name: str, size: Affine) -> tuple[str, Affine]:
        """A new index of that range."""
        found = self.fresh(name)
        self.bounds.indices[found] = size
        return found, Affine(0, ((found, 1),))


@dataclass
class Scope:
    """One function or comprehension being read. `lets` are the bindings that its result is to be wrapped in."""

    building: Building
    function: types.FunctionType
    names: dict[str, Meaning]
    conditions: tuple[Predicate, ...] = ()
    lets: list[tuple[str, Expr]] = field(default_factory=list)
    calls: tuple[types.FunctionType, ...] = ()

    def inside(self, *conditions: Predicate) -> Scope:
        """A part of it that is evaluated only where these hold; its lets are its own."""
        return Scope(
            self.building, self.function, dict(self.names), (*self.conditions, *conditions), [], self.calls
        )  # fmt: skip

    def bind(self, name: str, value: Value) -> Value:
        """The value under a name, so that it is computed once; what costs nothing to read needs none."""
        if is_read(value.expr):
            return value
        name = self.building.fresh(name)
        self.lets.append((name, value.expr))
        return Value(Var(name), value.kind)

    def closed(self, expr: Expr) -> Expr:
        """The expression within the lets of this scope."""
        for name, bound in reversed(self.lets):
            expr = Let(name, bound, expr)
        return expr

    def refusal(self, node: ast.AST, what: str, remedy: str) -> TensorLanguageError:
        return TensorLanguageError(self.report(node, what, remedy))

    def out_of_range(self, node: ast.AST, what: str, remedy: str) -> OutOfRangeError:
        return OutOfRangeError(self.report(node, what, remedy))

    def report(self, node: ast.AST, what: str, remedy: str) -> str:
        """What happened, the user's line with the place underlined, what to do next."""
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
    """Whether an expression only reads a variable or is a constant."""
    if isinstance(expr, (Access, Proj)):
        return is_read(expr.of)
    return isinstance(expr, (Var, Const))
