"""Reading the body of a scalar rule as an expression, differentiating one, and writing one as a function."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from wengert.errors import TensorLanguageError
from wengert.rulebook.syntax import definition, named_object, parts_of
from wengert.tensor.language.terms import Add, Apply, BlackBox, Const, Expr, Mul, Var
from wengert.tensor.running.spelling import number_text

Boxes = Callable[[Any], BlackBox | None]

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_REALNESS = {np.iscomplexobj: False, np.isrealobj: True}


class _Body:
    """The body of a rule while it is read: the expressions that its names stand for."""

    def __init__(self, function: types.FunctionType, names: Mapping[str, Expr], boxes: Boxes) -> None:
        self.function, self.names, self.boxes = function, dict(names), boxes

    def read(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant(value=int() | float() as value):
                return Const(value)
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return times_folded(Const(-1), self.read(operand))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return self._operation(_OPERATORS[type(op)], self.read(left), self.read(right))
            case ast.Call(func=func, args=args, keywords=[]):
                return self._call(named_object(func, self.function), args, node)
            case ast.IfExp(test=ast.Call(func=func), body=body, orelse=orelse):
                return self._chosen(named_object(func, self.function), body, orelse, node)
        known = named_object(node, self.function)
        if isinstance(known, (int, float)):
            return Const(known)
        raise _Unreadable(ast.unparse(node))

    def _operation(self, op: str, left: Expr, right: Expr) -> Expr:
        if op == "*":
            return times_folded(left, right)
        if op == "/":
            return divided(left, right, self.boxes)
        if op == "**" and isinstance(right, Const):
            return powered(left, right.value, self.boxes)
        if op == "**":
            return Apply(_the(self.boxes, np.power), (left, right))
        return plus_folded(left, right if op == "+" else times_folded(Const(-1), right))

    def _call(self, f: Any, args: list[ast.expr], node: ast.expr) -> Expr:
        box, parts = self.boxes(f), tuple(map(self.read, args))
        if box is None or len(parts) != len(box.partials):
            raise _Unreadable(ast.unparse(node))
        if parts and all(isinstance(part, Const) for part in parts):
            return Const(float(box.fn(*(float(part.value) for part in parts if isinstance(part, Const)))))
        return Apply(box, parts)

    def _chosen(self, test: Any, body: ast.expr, orelse: ast.expr, node: ast.expr) -> Expr:
        if test not in _REALNESS:
            raise _Unreadable(ast.unparse(node))
        return self.read(body if _REALNESS[test] else orelse)


class _Unreadable(Exception):
    """A rule body says something that is not a scalar expression."""


def body_partials(function: Callable[..., Any], y: Expr, params: tuple[str, ...], boxes: Boxes) -> list[Expr] | None:
    """The partials that a rule's body `(y, *params)` states, as expressions of `params`; None where unreadable."""
    tree = definition(function)
    if tree is None or not isinstance(function, types.FunctionType):
        return None
    names = [a.arg for a in tree.args.posonlyargs + tree.args.args]
    left = names[len(params) + 1 :]
    defaults = dict(zip(reversed(names), reversed(function.__defaults__ or ()), strict=False))
    if len(names) <= len(params) or not all(isinstance(defaults.get(name), (int, float)) for name in left):
        return None
    given = {name: Const(defaults[name]) for name in left}
    body = _Body(function, {**dict(zip(names, [y, *map(Var, params)], strict=False)), **given}, boxes)
    try:
        for statement in tree.body:
            if isinstance(statement, ast.Return):
                return [body.read(part) for part in parts_of(statement)]
            _assign(statement, body)
    except _Unreadable:
        pass
    return None


def _assign(statement: ast.stmt, body: _Body) -> None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            body.names[name] = body.read(value)
        case ast.Expr(value=ast.Constant()):
            pass
        case _:
            raise _Unreadable(ast.unparse(statement))


def plus_folded(left: Expr, right: Expr) -> Expr:
    if Const(0) in (left, right):
        return right if left == Const(0) else left
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value + right.value)
    return Add(left, right)


def times_folded(left: Expr, right: Expr) -> Expr:
    """The product, with constants folded; a literal 0 makes it 0, since a zero in a rule is a structural one."""
    if Const(0) in (left, right):
        return Const(0)
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value * right.value)
    if Const(1) in (left, right):
        return right if left == Const(1) else left
    return Mul(left, right)


def divided(left: Expr, right: Expr, boxes: Boxes) -> Expr:
    if isinstance(right, Const):
        return times_folded(left, Const(1 / right.value))
    return times_folded(left, Apply(_the(boxes, np.reciprocal), (right,)))


@dataclass(frozen=True)
class Power:
    """x ↦ x**exponent, as a function of its own."""

    exponent: int | float | Fraction

    def __call__(self, x: Any) -> Any:
        return x**self.exponent


def powered(base: Expr, exponent: int | float | Fraction, boxes: Boxes) -> Expr:
    if exponent == 0:
        return Const(1)
    if exponent == 1:
        return base
    if exponent == 2 and isinstance(base, (Var, Const)):
        return times_folded(base, base)
    return Apply(_the(boxes, Power(exponent)), (base,))


def _the(boxes: Boxes, f: Any) -> BlackBox:
    box = boxes(f)
    assert box is not None, f
    return box


def partial_derivative(e: Expr, name: str) -> Expr:
    """∂e/∂name of a scalar expression without sums and brackets."""
    match e:
        case Var(found):
            return Const(int(found == name))
        case Add(left, right):
            return plus_folded(partial_derivative(left, name), partial_derivative(right, name))
        case Mul(left, right):
            return plus_folded(
                times_folded(partial_derivative(left, name), right), times_folded(left, partial_derivative(right, name))
            )
        case Apply(box, args):
            inner = [partial_derivative(a, name) for a in args]
            parts = [times_folded(box.partials[m](*args), d) for m, d in enumerate(inner) if d != Const(0)]
            total: Expr = Const(0)
            for part in parts:
                total = plus_folded(total, part)
            return total
    return Const(0)


def substituted(e: Expr, values: Mapping[str, Expr]) -> Expr:
    """A scalar expression with its variables replaced."""
    match e:
        case Var(name):
            return values.get(name, e)
        case Add(left, right):
            return Add(substituted(left, values), substituted(right, values))
        case Mul(left, right):
            return Mul(substituted(left, values), substituted(right, values))
        case Apply(box, args):
            return Apply(box, tuple(substituted(a, values) for a in args))
    return e


def as_function(name: str, params: tuple[str, ...], e: Expr) -> Callable[..., Any]:
    """The expression as a Python function of its `params`, elementwise on NumPy arrays."""
    calls: dict[str, Any] = {}
    text = f"def f({', '.join(params)}):\n    return {_text(e, calls)}"
    namespace = dict(calls)
    exec(compile(text, f"<partial {name!r}>", "exec"), namespace)
    made = namespace["f"]
    made.calls = calls
    return made


def _text(e: Expr, namespace: dict[str, Any]) -> str:
    match e:
        case Var(name):
            return name
        case Const(value):
            return number_text(value)
        case Add(left, right):
            return f"({_text(left, namespace)} + {_text(right, namespace)})"
        case Mul(left, right):
            return f"{_text(left, namespace)} * {_text(right, namespace)}"
        case Apply(box, args):
            known = [n for n, f in namespace.items() if f is box.fn]
            name = known[0] if known else f"f{len(namespace)}"
            namespace[name] = box.fn
            return f"{name}({', '.join(_text(a, namespace) for a in args)})"
    raise TensorLanguageError(f"{type(e).__name__} is no scalar expression")
