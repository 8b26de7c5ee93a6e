"""Pullbacks of partials with their derivatives: from ȳ, y, the arguments and their tangents, to each x̄ and its tangent.

The derivative of x̄ = ȳ p is ȳ_dot p + ȳ p_dot. It is generated from the source of the partials p: each operator and
each elementwise function in it gets a line for its tangent, by the rule of that function.
"""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.rulebook.registry import rules
from wengert.rulebook.rule import Rule
from wengert.rulebook.syntax import (
    DERIVING,
    SHAPE_ATTRIBUTES,
    SHAPE_FUNCTIONS,
    compiled,
    copied_tree,
    definition,
    named_object,
    parts_of,
    prune,
    unit,
    unused,
)
from wengert.values.specs import is_complex

_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.USub: operator.neg,
}  # fmt: skip
_known: dict[Any, Callable[..., Any] | None] = {}


def moved_partials(rule: Rule, wanted: tuple[bool, ...], moves: tuple[bool, ...]) -> Callable[..., Any] | None:
    """Return `(values, dots) -> (x_bars, x_bar_dots)`; None if the source of the rule is too complicated for it.

    All numbers must be real. `values` are ȳ, y and the arguments, `dots` their tangents, and `moves` flags those that
    have one. `wanted` flags the arguments whose cotangents are computed; the others have None.
    """
    key = rule, wanted, moves, rules.version
    if key not in _known:
        with DERIVING:
            try:
                _known[key] = _Moved(rule, wanted, moves).build()
            except _UnsupportedError:
                _known[key] = None
    return _known[key]


class _UnsupportedError(Exception):
    """Source of which no derivative is generated."""


class _Tangents:
    """Lines that compute the tangents of the expressions in a function's source; `moving` names what has a tangent."""

    def __init__(self, function: types.FunctionType, node: ast.FunctionDef, moving: Sequence[str]) -> None:
        self.function, self.node, self.moving = function, node, {*moving}
        self.prefix = unused("t", node, function)
        self.lines: list[str] = []
        self.indent = ""
        self.count = 0
        self.cells: dict[str, types.CellType] = {}

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def name(self) -> str:
        self.count += 1
        return f"{self.prefix}_{self.count}"

    def cell(self, value: Any) -> str:
        name = f"{self.name()}_fn"
        self.cells[name] = types.CellType(value)
        return name

    def dot(self, name: str) -> str:
        """Return the name of the tangent of a variable."""
        return f"{self.prefix}_{name}_dot"

    def statements(self, statements: Sequence[ast.stmt], returned: Callable[[ast.Return], None]) -> None:
        """Write the lines of statements up to a `return`, of which `returned` writes the lines."""
        for k, s in enumerate(statements):
            if isinstance(s, ast.Return):
                returned(s)
                return
            if isinstance(s, ast.If):
                rest = statements[k + 1 :]
                self.branches(s.test, [*s.body, *rest], [*s.orelse, *rest], returned)
                return
            self.assignment(s)

    def branches(
        self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], returned: Callable[[ast.Return], None]
    ) -> None:
        """Write the lines of two branches, each up to its `return`; or those of one, if the test is known."""
        chosen = self.known(test)
        if chosen is not None:
            self.statements(body if chosen else orelse, returned)
            return
        if self.moves(test):
            raise _UnsupportedError
        for head, branch in ((f"if {ast.unparse(test)}:", body), ("else:", orelse)):
            before, moving = self.indent, {*self.moving}
            self.line(head)
            self.indent += "    "
            self.statements(branch, returned)
            self.line("pass")
            self.indent, self.moving = before, moving

    def assignment(self, s: ast.stmt) -> None:
        """Write the lines of a statement that binds one name, or does nothing."""
        if isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)):
            return
        if not (isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name)):
            raise _UnsupportedError
        name = s.targets[0].id
        value, dot = self.pair(s.value)
        self.line(f"{name} = {value}")
        if dot is None:
            self.moving.discard(name)
        else:
            self.line(f"{self.dot(name)} = {dot}")
            self.moving.add(name)

    def moves(self, node: ast.AST) -> bool:
        """Whether an expression is computed from more than the shape of a name that moves."""
        if isinstance(node, ast.Name):
            return node.id in self.moving
        if isinstance(node, ast.Compare) or (isinstance(node, ast.Attribute) and node.attr in SHAPE_ATTRIBUTES):
            return False
        if isinstance(node, ast.Call) and any([named_object(node.func, self.function) is f for f in SHAPE_FUNCTIONS]):
            return False
        if isinstance(node, (ast.NamedExpr, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.Starred)):
            raise _UnsupportedError
        return any([self.moves(part) for part in ast.iter_child_nodes(node)])

    def known(self, test: ast.expr) -> bool | None:
        """Return the value of a test that asks whether numbers are complex, which none is; None for other tests."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            known = self.known(test.operand)
            return None if known is None else not known
        fn = named_object(test.func, self.function) if isinstance(test, ast.Call) else None
        return False if fn is np.iscomplexobj or fn is is_complex else True if fn is np.isrealobj else None

    def pair(self, node: ast.expr) -> tuple[str, str | None]:
        """Return the source of an expression and of its tangent, or None if it does not move."""
        if not self.moves(node):
            return ast.unparse(node), None
        if isinstance(node, ast.Name):
            return node.id, self.dot(node.id)
        if isinstance(node, ast.BinOp):
            return self.called(_OPERATORS.get(type(node.op)), [node.left, node.right])
        if isinstance(node, ast.UnaryOp):
            return self.called(_OPERATORS.get(type(node.op)), [node.operand])
        if isinstance(node, ast.IfExp):
            chosen = self.known(node.test)
            return self.chosen(node) if chosen is None else self.pair(node.body if chosen else node.orelse)
        if isinstance(node, ast.Call) and not node.keywords:
            return self.called(named_object(node.func, self.function), node.args)
        raise _UnsupportedError

    def called(self, fn: Any, args: Sequence[ast.expr]) -> tuple[str, str | None]:
        """Return the pair of a call of an elementwise function, or of one that is piecewise constant."""
        pairs = [self.pair(arg) for arg in args]
        mask = tuple([dot is not None for _, dot in pairs])
        rule = rules.get(fn) if callable(fn) else None
        values = ", ".join([value for value, _ in pairs])
        if rule is None or rule.kind == "constant":
            if rule is None and not (any(mask) and _is_flat(fn, mask)):
                raise _UnsupportedError
            return f"{self.cell(fn)}({values})", None
        if rule.kind == "pullback" and not rule.broadcasts and _is_flat(rule.body, (True,)):  # x̄ = 0, as of a sign
            return f"{self.cell(fn)}({values})", None
        plan = rule.plan(len(args))
        count = len(plan.positions)
        if rule.kind != "partials" or any(mask[count:]):
            raise _UnsupportedError
        made, dot = self.name(), self.name()
        self.line(f"{made} = {self.cell(fn)}({values})")
        dots = ", ".join([str(dot) for _, dot in pairs[:count]])
        static = [f"{name}={value}" for name, (value, _) in zip(plan.static, pairs[count:], strict=True)]
        given = ", ".join([*[value for value, _ in pairs[:count]], *static])
        self.line(f"{dot} = {self.cell(rule.pushing(mask[:count]))}(({dots},), {made}, {given})")
        return made, dot

    def chosen(self, node: ast.IfExp) -> tuple[str, str | None]:
        """Return the pair of a conditional expression."""
        made, dot = self.name(), self.name()
        before, any_moves = self.indent, False
        for head, branch in ((f"if {ast.unparse(node.test)}:", node.body), ("else:", node.orelse)):
            self.line(head)
            self.indent += "    "
            value, value_dot = self.pair(branch)
            self.line(f"{made} = {value}")
            self.line(f"{dot} = {value_dot or 0.0}")
            self.indent, any_moves = before, any_moves or value_dot is not None
        return made, dot if any_moves else None


def _is_flat(fn: Any, mask: tuple[bool, ...]) -> bool:
    """Whether the result of a Python function is piecewise constant in the arguments flagged in `mask`."""
    node = definition(fn) if isinstance(fn, types.FunctionType) else None
    if node is None:
        return False
    names = [arg.arg for arg in [*node.args.posonlyargs, *node.args.args]]
    moving = [name for name, moves in zip(names, mask, strict=False) if moves]
    flat = []

    def returned(s: ast.Return) -> None:
        flat.append(s.value is None or tangents.pair(s.value)[1] is None)

    tangents = _Tangents(fn, node, moving)
    try:
        tangents.statements(node.body, returned)
    except _UnsupportedError:
        return False
    return bool(flat) and all(flat)


class _Moved:
    """The generator of `moved_partials`."""

    def __init__(self, rule: Rule, wanted: tuple[bool, ...], moves: tuple[bool, ...]) -> None:
        body = rule.analysis
        if rule.kind != "partials" or body is None or body.node is None or not body.inlines or body.static:
            raise _UnsupportedError
        self.function, self.wanted = body.function, wanted
        self.node = copied_tree(body.node)
        prune(self.node, self._results, body.effects.is_free)  # type: ignore[union-attr]
        self.y_bar = unused("y_bar", self.node, self.function)
        self.names = [self.y_bar, body.y, *body.names[: len(wanted)]]
        self.defaults = {name: body.defaults[name] for name in body.names[len(wanted) :]}
        self.moves = moves

    def _results(self, statement: ast.Return) -> list[ast.stmt]:
        parts = zip(parts_of(statement), (*self.wanted, *[False] * len(parts_of(statement))), strict=False)
        kept = [part if want else ast.Constant(None) for part, want in parts]
        return [ast.copy_location(ast.Return(ast.Tuple(kept, ast.Load())), statement)]

    def build(self) -> Callable[..., Any]:
        moving = [name for name, moves in zip(self.names, self.moves, strict=True) if moves]
        made = _Tangents(self.function, self.node, moving)
        made.indent = "    "
        for name, value in self.defaults.items():
            made.line(f"{name} = {made.cell(value)}")
        dots = [made.dot(name) if name in moving else made.name() for name in self.names]
        made.statements(self.node.body, lambda s: self._returned(made, s))
        given, along = made.name(), made.name()
        head = [
            f"def moved({given}, {along}):",
            f"    {', '.join(self.names)}, = {given}",
            f"    {', '.join(dots)}, = {along}",
        ]
        node: Any = ast.parse("\n".join([*head, *made.lines])).body[0]
        return compiled(node, self.function, made.cells)

    def _returned(self, made: _Tangents, statement: ast.Return) -> None:
        pairs = [self._product(made, part) for part in parts_of(statement)]
        made.line(f"return ({''.join([f'{x}, ' for x, _ in pairs])}), ({''.join([f'{dot}, ' for _, dot in pairs])})")

    def _product(self, made: _Tangents, part: ast.expr) -> tuple[str, str | None]:
        """Return the pair of ȳ times a partial."""
        if isinstance(part, ast.Constant) and part.value is None:
            return "None", None
        y_bar, sign = ast.Name(self.y_bar, ast.Load()), unit(part)
        if sign:
            return made.pair(y_bar if sign > 0 else ast.UnaryOp(ast.USub(), y_bar))
        return made.pair(ast.BinOp(y_bar, ast.Mult(), part))


__all__ = ["moved_partials"]
