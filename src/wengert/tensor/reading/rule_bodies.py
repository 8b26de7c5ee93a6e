"""Read the body of a scalar rule as an expression; differentiate an expression; compile it to a function."""

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
from wengert.tensor.running.spelling import number_source

Boxes = Callable[[Any], BlackBox | None]

_OPERATOR_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_REALNESS = {np.iscomplexobj: False, np.isrealobj: True}


class _BodyReader:
    """Reads the body of a rule; `names` maps its variables to their expressions."""

    def __init__(self, function: types.FunctionType, names: Mapping[str, Expr], boxes: Boxes) -> None:
        self.function, self.names, self.boxes = function, dict(names), boxes

    def read(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant(value=int() | float() as value):
                return Const(value)
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return multiply_folded(Const(-1), self.read(operand))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATOR_SIGNS:
                return self._operation(_OPERATOR_SIGNS[type(op)], self.read(left), self.read(right))
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
            return multiply_folded(left, right)
        if op == "/":
            return quotient_of(left, right, self.boxes)
        if op == "**" and isinstance(right, Const):
            return power_of(left, right.value, self.boxes)
        if op == "**":
            return Apply(_box_of(self.boxes, np.power), (left, right))
        return add_folded(left, right if op == "+" else multiply_folded(Const(-1), right))

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
    """The body of a rule is not a scalar expression."""


def body_partials(function: Callable[..., Any], y: Expr, params: tuple[str, ...], boxes: Boxes) -> list[Expr] | None:
    """Read the partials from a rule's body `(y, *params)`, as expressions of `params`; None if it is unreadable."""
    tree = definition(function)
    if tree is None or not isinstance(function, types.FunctionType):
        return None
    names = [a.arg for a in tree.args.posonlyargs + tree.args.args]
    left = names[len(params) + 1 :]
    defaults = dict(zip(reversed(names), reversed(function.__defaults__ or ()), strict=False))
    if len(names) <= len(params) or not all(isinstance(defaults.get(name), (int, float)) for name in left):
        return None
    constants = {name: Const(defaults[name]) for name in left}
    body = _BodyReader(function, {**dict(zip(names, [y, *map(Var, params)], strict=False)), **constants}, boxes)
    try:
        for statement in tree.body:
            if isinstance(statement, ast.Return):
                return [body.read(part) for part in parts_of(statement)]
            _assign(statement, body)
    except _Unreadable:
        pass
    return None


def _assign(statement: ast.stmt, body: _BodyReader) -> None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            body.names[name] = body.read(value)
        case ast.Expr(value=ast.Constant()):
            pass
        case _:
            raise _Unreadable(ast.unparse(statement))


def add_folded(left: Expr, right: Expr) -> Expr:
    if Const(0) in (left, right):
        return right if left == Const(0) else left
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value + right.value)
    return Add(left, right)


def multiply_folded(left: Expr, right: Expr) -> Expr:
    """Return the product with constants folded; a literal factor 0 is a structural zero in a rule, and makes it 0."""
    if Const(0) in (left, right):
        return Const(0)
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value * right.value)
    if Const(1) in (left, right):
        return right if left == Const(1) else left
    return Mul(left, right)


def quotient_of(left: Expr, right: Expr, boxes: Boxes) -> Expr:
    if isinstance(right, Const):
        return multiply_folded(left, Const(1 / right.value))
    return multiply_folded(left, Apply(_box_of(boxes, np.reciprocal), (right,)))


@dataclass(frozen=True)
class Power:
    """The function x ↦ x**exponent."""

    exponent: int | float | Fraction

    def __call__(self, x: Any) -> Any:
        return x**self.exponent


def power_of(base: Expr, exponent: int | float | Fraction, boxes: Boxes) -> Expr:
    if exponent == 0:
        return Const(1)
    if exponent == 1:
        return base
    if exponent == 2 and isinstance(base, (Var, Const)):
        return multiply_folded(base, base)
    return Apply(_box_of(boxes, Power(exponent)), (base,))


def _box_of(boxes: Boxes, f: Any) -> BlackBox:
    box = boxes(f)
    assert box is not None, f
    return box


def partial_derivative(e: Expr, name: str) -> Expr:
    """Return ∂e/∂name of a scalar expression without sums and brackets."""
    match e:
        case Var(found):
            return Const(int(found == name))
        case Add(left, right):
            return add_folded(partial_derivative(left, name), partial_derivative(right, name))
        case Mul(left, right):
            return add_folded(
                multiply_folded(partial_derivative(left, name), right),
                multiply_folded(left, partial_derivative(right, name)),
            )
        case Apply(box, args):
            inner = [partial_derivative(a, name) for a in args]
            parts = [multiply_folded(box.partials[m](*args), d) for m, d in enumerate(inner) if d != Const(0)]
            total: Expr = Const(0)
            for part in parts:
                total = add_folded(total, part)
            return total
    return Const(0)


def substitute_variables(e: Expr, values: Mapping[str, Expr]) -> Expr:
    """Replace variables in a scalar expression."""
    match e:
        case Var(name):
            return values.get(name, e)
        case Add(left, right):
            return Add(substitute_variables(left, values), substitute_variables(right, values))
        case Mul(left, right):
            return Mul(substitute_variables(left, values), substitute_variables(right, values))
        case Apply(box, args):
            return Apply(box, tuple(substitute_variables(a, values) for a in args))
    return e


def as_function(name: str, params: tuple[str, ...], e: Expr) -> Callable[..., Any]:
    """Compile an expression to a Python function of `params`, elementwise on NumPy arrays."""
    calls: dict[str, Any] = {}
    text = f"def f({', '.join(params)}):\n    return {_expr_source(e, calls)}"
    namespace = dict(calls)
    exec(compile(text, f"<partial {name!r}>", "exec"), namespace)
    f = namespace["f"]
    f.calls = calls
    return f


def _expr_source(e: Expr, namespace: dict[str, Any]) -> str:
    match e:
        case Var(name):
            return name
        case Const(value):
            return number_source(value)
        case Add(left, right):
            return f"({_expr_source(left, namespace)} + {_expr_source(right, namespace)})"
        case Mul(left, right):
            return f"{_expr_source(left, namespace)} * {_expr_source(right, namespace)}"
        case Apply(box, args):
            known = [n for n, f in namespace.items() if f is box.fn]
            name = known[0] if known else f"f{len(namespace)}"
            namespace[name] = box.fn
            return f"{name}({', '.join(_expr_source(a, namespace) for a in args)})"
    raise TensorLanguageError(f"{type(e).__name__} is not a scalar expression")
