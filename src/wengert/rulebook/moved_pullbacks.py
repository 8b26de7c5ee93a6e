"""Elementwise pullbacks with their derivatives: from ȳ, y, the arguments and their tangents, to each x̄ and its tangent.

The derivative of x̄ = ȳ p is ȳ_dot p + ȳ p_dot. It is generated from the source of a rule: each operator and each
elementwise function in it gets a line for its tangent, by the rule of that function.
"""

from __future__ import annotations

import ast
import functools
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.rulebook.kept_rules import kept_rule
from wengert.rulebook.registry import rules
from wengert.rulebook.rule import Rule
from wengert.rulebook.rule_variants import RuleBody
from wengert.rulebook.syntax import (
    DERIVING,
    SHAPE_ATTRIBUTES,
    SHAPE_FUNCTIONS,
    code_from,
    copied_tree,
    definition,
    named_object,
    parts_of,
    prune,
    unit,
    unused,
    with_closure,
)
from wengert.values.names import import_path, imported, is_of_wengert
from wengert.values.specs import is_complex

_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.USub: operator.neg,
}  # fmt: skip
_made_pullbacks: dict[Any, Callable[..., Any] | None] = {}
_underway: set[Any] = set()
"""Helpers whose source is being read: a recursive one is too complicated."""


def moved_pullback(rule: Rule, wanted: tuple[bool, ...], moves: tuple[bool, ...]) -> Callable[..., Any] | None:
    """Return `(values, dots) -> (x_bars, x_bar_dots)`; None if the source of the rule is too complicated for it.

    All numbers must be real. `values` are ȳ, y and the arguments, `dots` their tangents, and `moves` flags those that
    have one. `wanted` flags the arguments whose cotangents are computed; the others have None. The function raises
    UnsupportedError for values for which the source is too complicated.
    """
    key = rule, wanted, moves, rules.version
    if key not in _made_pullbacks:
        with DERIVING:
            _made_pullbacks[key] = _of_rule(rule, wanted, moves)
    return _made_pullbacks[key]


def _of_rule(rule: Rule, wanted: tuple[bool, ...], moves: tuple[bool, ...]) -> Callable[..., Any] | None:
    body = rule.analysis
    if body is None:
        return None
    return _as_kept(lambda: _moved_rule(body, wanted, moves), body.kept, body.function, wanted, moves)[0]


def _moved_rule(body: RuleBody, wanted: tuple[bool, ...], moves: tuple[bool, ...]) -> MovedCode:
    if body.node is None or body.effects is None or not body.inlines or body.static:
        return _TOO_COMPLICATED

    def results(statement: ast.Return) -> list[ast.stmt]:
        parts = zip(parts_of(statement), (*wanted, *[False] * len(body.names)), strict=False)
        kept: list[ast.expr] = [part if want else ast.Constant(None) for part, want in parts]
        return [ast.copy_location(ast.Return(ast.Tuple(kept, ast.Load())), statement)]

    node = copied_tree(body.node)
    prune(node, results, body.effects.is_free)
    y_bar = body.y_bar or unused("y_bar", node, body.function)
    names = [y_bar, body.y, *body.names[: len(wanted)]]
    made = _Tangents(body.function, node, names, moves)
    for name in body.names[len(wanted) :]:
        made.line(f"{name} = {made.cell('value', body.defaults[name])}")

    def returned(statement: ast.Return) -> None:
        pairs = [made.product(y_bar, part) if body.multiplies else made.pair(part) for part in parts_of(statement)]
        made.line(f"return ({''.join([f'{x}, ' for x, _ in pairs])}), ({''.join([f'{dot}, ' for _, dot in pairs])})")

    return made.build(returned)


@functools.lru_cache(maxsize=1024)
def _of_helper(
    fn: types.FunctionType, moves: tuple[bool, ...], version: int
) -> tuple[Callable[..., Any] | None, MovedCode]:
    """Return `(values, dots) -> (y, y_dot)` for a function of positional arguments, or None, and its MovedCode.

    Errors: UnsupportedError for a recursive function.
    """
    if fn in _underway:
        raise UnsupportedError
    earlier = kept_rule(fn, "helper")
    keep = (lambda make, *key: make()) if earlier is None else lambda make, *key: earlier.get(make, key)
    return _as_kept(lambda: _moved_helper(fn, moves), keep, fn, moves)


def _moved_helper(fn: types.FunctionType, moves: tuple[bool, ...]) -> MovedCode:
    node = copied_tree(definition(fn))
    names = [] if node is None else [arg.arg for arg in [*node.args.posonlyargs, *node.args.args]]
    if len(names) != len(moves):
        return _TOO_COMPLICATED
    made = _Tangents(fn, node, names, moves)

    def returned(statement: ast.Return) -> None:
        if statement.value is None:
            raise UnsupportedError
        value, dot = made.pair(statement.value)
        made.is_moving |= dot is not None
        made.line(f"return {value}, {dot or 0.0}")

    _underway.add(fn)
    try:
        return made.build(returned)
    finally:
        _underway.discard(fn)


MovedCode = tuple[types.CodeType | None, list[tuple[str, str, Any, Any]], list[tuple[Any, str]], bool]
"""Generated code as it is kept: the code, or None if the source is too complicated; its further closure variables, each
as its name, its kind and what it is made from; the rules that it depends on, as pairs of a function and where its rule
is; and whether the result moves."""
_TOO_COMPLICATED: MovedCode = None, [], [], False


def _as_kept(
    make: Callable[[], MovedCode], keep: Callable[..., MovedCode], function: types.FunctionType, *key: Any
) -> tuple[Callable[..., Any] | None, MovedCode]:
    """Return the function of kept code, if the rules that this depends on are the same, else of new code."""
    entry = keep(make, "moved", *key)
    if any([_place_of_rule(_function_at(ref)) != place for ref, place in entry[2]]):
        entry = make()
    if entry[0] is None:
        return None, entry
    cells = {name: types.CellType(_closure_value(*parts)) for name, *parts in entry[1]}
    return with_closure(entry[0], function, cells), entry


def _closure_value(kind: str, ref: Any, detail: Any) -> Any:
    """Return the value of a closure variable: a function, what pushes tangents through it, or a value itself."""
    if kind == "value":
        return ref
    fn = _function_at(ref)
    if kind == "pushing":
        return rules[fn].pushing(detail)
    return _of_helper(fn, detail, rules.version)[0] if kind == "helper" else fn


def _path_or_function(fn: Any) -> Any:
    """Return the import path of a function; the function itself if it has none, which is then not kept."""
    path = import_path(fn)
    return fn if path is None else tuple(path)


def _function_at(ref: Any) -> Any:
    return imported(*ref) if type(ref) is tuple else ref


def _place_of_rule(fn: Any) -> str:
    """Return where the rule of a function is; an empty string if it has none."""
    rule = rules.get(fn) if callable(fn) else None
    return "" if rule is None else rule.where


class UnsupportedError(Exception):
    """Source of which no derivative is generated."""


class _Tangents:
    """The generator of a function `(values, dots)` that computes tangents beside the values in a function's source.

    `names` are its parameters, and `moves` flags those that have a tangent.
    """

    def __init__(
        self, function: types.FunctionType, node: ast.FunctionDef, names: Sequence[str], moves: Sequence[bool]
    ) -> None:
        self.function, self.node, self.names = function, node, names
        self.moving = {name for name, moves in zip(names, moves, strict=True) if moves}
        self.prefix = unused("t", node, function)
        self.lines: list[str] = []
        self.indent = "    "
        self.count = 0
        self.cells: list[tuple[str, str, Any, Any]] = []
        self.rules: list[tuple[Any, str]] = []
        self.is_moving = False

    def build(self, returned: Callable[[ast.Return], None]) -> MovedCode:
        """Return the code, and what it needs; `returned` writes the line of a `return`."""
        given, along = self.name(), self.name()
        head = [f"def moved({given}, {along}):", f"    {', '.join(self.names)}, = {given}"]
        head.append(f"    {', '.join(map(self.dot, self.names))}, = {along}")
        try:
            self.statements(self.node.body, returned)
        except UnsupportedError:
            return None, [], self.rules, False
        node: Any = ast.parse("\n".join([*head, *self.lines])).body[0]
        code = code_from(node, self.function, [name for name, *_ in self.cells])
        return code, self.cells, self.rules, self.is_moving

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def name(self) -> str:
        self.count += 1
        return f"{self.prefix}_{self.count}"

    def cell(self, kind: str, value: Any, detail: Any = None) -> str:
        """Name a closure variable, which `_closure_value` makes."""
        name = f"{self.name()}_fn"
        self.cells.append((name, kind, value if kind == "value" else _path_or_function(value), detail))
        return name

    def rule_of(self, fn: Any) -> Rule | None:
        """Return the rule of a function, on which the code depends."""
        self.rules.append((_path_or_function(fn), _place_of_rule(fn)))
        return rules.get(fn) if callable(fn) else None

    def helper(self, fn: types.FunctionType, mask: tuple[bool, ...]) -> bool:
        """Whether the result of a helper moves; the code depends on the rules that the helper depends on."""
        code, _, places, is_moving = _of_helper(fn, mask, rules.version)[1]
        self.rules += places
        if code is None:
            raise UnsupportedError
        return is_moving

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
        raise UnsupportedError  # the end of a function without `return`

    def branches(
        self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], returned: Callable[[ast.Return], None]
    ) -> None:
        """Write the lines of two branches, each up to its `return`; or those of one, if the test is known."""
        chosen = self.known(test)
        if chosen is not None:
            self.statements(body if chosen else orelse, returned)
            return
        if self.moves(test):
            raise UnsupportedError
        for head, branch in ((f"if {ast.unparse(test)}:", body), ("else:", orelse)):
            before, moving = self.indent, {*self.moving}
            self.line(head)
            self.indent, count = self.indent + "    ", len(self.lines)
            try:
                self.statements(branch, returned)
            except UnsupportedError:
                self.lines[count:] = [f"{self.indent}raise {self.cell('function', UnsupportedError)}"]
            self.indent, self.moving = before, moving

    def assignment(self, s: ast.stmt) -> None:
        """Write the lines of a statement that binds one name, or does nothing."""
        if isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)):
            return
        if not (isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name)):
            raise UnsupportedError
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
        if isinstance(node, ast.Call):
            fn = named_object(node.func, self.function)
            rule = self.rule_of(fn)
            if any([fn is f for f in SHAPE_FUNCTIONS]) or (rule is not None and rule.kind == "constant"):
                return False
        if isinstance(node, (ast.NamedExpr, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.Starred)):
            raise UnsupportedError
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
        raise UnsupportedError

    def called(self, fn: Any, args: Sequence[ast.expr]) -> tuple[str, str | None]:
        """Return the pair of a call of an elementwise function, or of a helper of ours."""
        pairs = [self.pair(arg) for arg in args]
        mask = tuple([dot is not None for _, dot in pairs])
        values = ", ".join([value for value, _ in pairs])
        rule = self.rule_of(fn)
        if rule is None:
            if not isinstance(fn, types.FunctionType) or not is_of_wengert(fn):
                raise UnsupportedError
            moves, both = self.helper(fn, mask), self.cell("helper", fn, mask)
            made, dot = self.name(), self.name()
            self.line(f"{made}, {dot} = {both}(({values},), ({', '.join([str(d) for _, d in pairs])},))")
            return made, dot if moves else None
        if rule.kind == "constant" or not any(mask) or self.is_flat(rule):
            return f"{self.cell('function', fn)}({values})", None
        made, dot = self.name(), self.name()
        self.line(f"{made} = {self.cell('function', fn)}({values})")
        self.line(f"{dot} = {self.pushed(fn, rule, made, pairs, mask)}")
        return made, dot

    def pushed(
        self, fn: Any, rule: Rule, made: str, pairs: list[tuple[str, str | None]], mask: tuple[bool, ...]
    ) -> str:
        """Return the source of the tangent of a call, whose value is in the variable `made`."""
        plan, forward = rule.plan(len(pairs)), rule.forward
        count = len(plan.positions)
        linear = range(0) if forward is None or forward.kind != "linear" or forward.args is None else forward.args
        if rule.kind == "pullback" and rule.broadcasts and {k for k, moves in enumerate(mask) if moves} <= {*linear}:
            terms = [str(dot or 0.0) if k in linear else value for k, (value, dot) in enumerate(pairs)]
            return f"{self.cell('function', fn)}({', '.join(terms)})"
        if rule.kind != "partials" or any(mask[count:]):
            raise UnsupportedError
        static = [f"{name}={value}" for name, (value, _) in zip(plan.static, pairs[count:], strict=True)]
        given = ", ".join([*[value for value, _ in pairs[:count]], *static])
        dots = ", ".join([str(dot) for _, dot in pairs[:count]])
        return f"{self.cell('pushing', fn, mask[:count])}(({dots},), {made}, {given})"

    def is_flat(self, rule: Rule) -> bool:
        """Whether the pullback of a function of one argument does not depend on ȳ, as that of a sign: it is zero."""
        if rule.kind != "pullback" or rule.analysis is None or len(rule.analysis.names) != 1:
            return False
        try:
            return not self.helper(rule.analysis.function, (True, False, False))
        except UnsupportedError:
            return False

    def product(self, y_bar: str, part: ast.expr) -> tuple[str, str | None]:
        """Return the pair of ȳ times a partial."""
        if isinstance(part, ast.Constant) and part.value is None:
            return "None", None
        factor, sign = ast.Name(y_bar, ast.Load()), unit(part)
        if sign:
            return self.pair(factor if sign > 0 else ast.UnaryOp(ast.USub(), factor))
        return self.pair(ast.BinOp(factor, ast.Mult(), part))

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


__all__ = ["UnsupportedError", "moved_pullback"]
