"""Reading arithmetic: of numbers it is a formula, of indices it stays affine."""

from __future__ import annotations

import ast
from fractions import Fraction
from typing import Any

from wengert.tensor.language.terms import (
    AffineExpr,
    Apply,
    Bracket,
    Const,
    Expr,
    Mul,
)
from wengert.tensor.reading.conditions import opposite
from wengert.tensor.reading.functions import black_box, reciprocal
from wengert.tensor.reading.meanings import (
    REAL_KIND,
    Extreme,
    Group,
    Index,
    Meaning,
    RelationArgument,
    Truth,
    Value,
)
from wengert.tensor.reading.reading import (
    as_scalar,
    as_truth,
    as_value,
    read,
    read_truth,
    reads,
    with_named_length,
)
from wengert.tensor.reading.rule_bodies import plus_folded, powered
from wengert.tensor.reading.scopes import Scope


@reads(ast.UnaryOp)
def unary(node: ast.UnaryOp, scope: Scope) -> Meaning:
    if isinstance(node.op, ast.Not):
        return Truth(opposite(read_truth(node.operand, scope), scope))
    if isinstance(node.op, ast.Invert):
        raise scope.refusal(node, "~", "Write `not R[i, j]`.")
    operand = with_named_length(read(node.operand, scope))
    if isinstance(node.op, ast.UAdd):
        return operand
    return Index(-operand.affine) if isinstance(operand, Index) else number(minus(as_scalar(operand, node, scope)))


def number(expr: Expr) -> Value:
    return Value(expr, REAL_KIND)


def minus(e: Expr) -> Expr:
    return Const(-e.value) if isinstance(e, Const) else Mul(Const(-1), e)


@reads(ast.BinOp)
def binary(node: ast.BinOp, scope: Scope) -> Meaning:
    """A binary operator of numbers or of indices."""
    left, inner = with_named_length(read(node.left, scope)), scope.inside()
    right = with_named_length(read(node.right, inner))
    for meaning in (left, right):
        if isinstance(node.op, ast.Mult) and isinstance(meaning, RelationArgument) and meaning.numbers:
            raise scope.refusal(
                node,
                "a sparse matrix of numbers is a factor",
                f"The language sees where it is nonzero: `if {meaning.name}[i, j]`. Pass its numbers as an array of "
                "floats beside it.",
            )
    if isinstance(node.op, ast.Mult) and _is_condition(left):
        value = as_value(right, node.right, inner)
        return Value(Bracket(as_truth(left, node, scope), inner.closed(value.expr)), value.kind)
    scope.lets += inner.lets
    scope.names |= inner.names
    if isinstance(node.op, ast.Mult) and _is_condition(right):
        value = as_value(left, node.left, scope)
        return Value(Bracket(as_truth(right, node, scope), value.expr), value.kind)
    if isinstance(left, Index) and isinstance(right, Index) and not isinstance(node.op, ast.Div):
        return whole(left.affine, right.affine, node, scope)
    if isinstance(left, Extreme) and isinstance(right, Index) and isinstance(node.op, ast.Add | ast.Sub):
        return left.moved(right.affine if isinstance(node.op, ast.Add) else -right.affine)
    if isinstance(left, Index) and isinstance(right, Extreme) and isinstance(node.op, ast.Add):
        return right.moved(left.affine)
    if isinstance(node.op, ast.Pow):
        return number(_power(as_scalar(left, node.left, scope), right, node, scope))
    for meaning, place in ((left, node.left), (right, node.right)):
        if isinstance(meaning, (Group, Truth)):
            as_scalar(meaning, place, scope)
    operation = _OPERATIONS.get(type(node.op))
    if operation is None:
        raise scope.refusal(
            node, "this operator between numbers of arrays", "The language has +, -, *, / and **; name a function."
        )
    return number(operation(as_scalar(left, node.left, scope), as_scalar(right, node.right, scope)))


def _is_condition(factor: Meaning) -> bool:
    """Whether a factor is a condition, as in (p) * e, which guards nothing: Python evaluates e where p is false."""
    return isinstance(factor, Truth) or (isinstance(factor, RelationArgument) and len(factor.at) == len(factor.shape))


def _times(left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value * right.value)
    return Mul(left, right)


def _divided(left: Expr, right: Expr) -> Expr:
    """A division: by a constant, one multiplication; else a reciprocal, and a multiplication unless it is 1/x."""
    if isinstance(right, Const) and right.value != 0:
        exact = isinstance(right.value, (int, Fraction))
        return _times(left, Const(Fraction(1) / Fraction(right.value) if exact else 1.0 / right.value))
    inverse = Apply(reciprocal(), (right,))
    return inverse if left == Const(1) else Mul(left, inverse)


_OPERATIONS = {
    ast.Add: plus_folded,
    ast.Sub: lambda left, right: plus_folded(left, minus(right)),
    ast.Mult: _times,
    ast.Div: _divided,
}


def _power(base: Expr, exponent: Meaning, node: ast.BinOp, scope: Scope) -> Expr:
    """A power: a literal whole exponent up to 4 by multiplications, another constant by a function of one argument."""
    at = as_scalar(exponent, node.right, scope)
    if isinstance(base, Const) and isinstance(at, Const):
        return Const(base.value**at.value)
    if not isinstance(at, Const):
        return Apply(_the_power(), (base, at))
    if at.value not in (2, 3, 4):
        return powered(base, at.value, black_box)
    once = scope.bind("t", number(base)).expr
    if at.value == 4:
        twice = scope.bind("t", number(Mul(once, once))).expr
        return Mul(twice, twice)
    return Mul(once, once) if at.value == 2 else Mul(Mul(once, once), once)


def _the_power() -> Any:
    box = black_box(pow)
    assert box is not None
    return box


def whole(left: AffineExpr, right: AffineExpr, node: ast.BinOp, scope: Scope) -> Meaning:
    """Arithmetic of indices: it must stay affine; of sizes alone it may be anything."""
    match node.op:
        case ast.Add():
            return Index(left + right)
        case ast.Sub():
            return Index(left - right)
        case ast.Mult() if left.is_constant or right.is_constant:
            return Index(right * left.constant if left.is_constant else left * right.constant)
    a, b = scope.building.bounds.value(left), scope.building.bounds.value(right)
    if a is None or b is None:
        return _not_affine(left, right, node, scope)
    if isinstance(node.op, ast.Mult):
        return Index(AffineExpr(a * b))
    if isinstance(node.op, (ast.FloorDiv, ast.Mod)) and b:
        return Index(AffineExpr(a // b if isinstance(node.op, ast.FloorDiv) else a % b))
    if isinstance(node.op, ast.Pow) and b >= 0:
        return Index(AffineExpr(a**b))
    raise scope.refusal(node, "this operator between whole numbers", "Indices have +, -, and * by a constant.")


def _not_affine(left: AffineExpr, right: AffineExpr, node: ast.BinOp, scope: Scope) -> Meaning:
    raise scope.refusal(
        node,
        f"{ast.unparse(node)} is not affine in the indices",
        "Indices have +, -, and * by a constant. For anything else pass a relation: a set of index tuples or an "
        "array of bools, computed beforehand.",
    )
