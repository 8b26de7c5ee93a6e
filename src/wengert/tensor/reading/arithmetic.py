"""Read arithmetic: of numbers any formula, of indices only what stays affine."""

from __future__ import annotations

import ast
from fractions import Fraction

import numpy as np

from wengert.tensor.language.terms import (
    AffineExpr,
    Apply,
    Bracket,
    Const,
    Expr,
    Mul,
)
from wengert.tensor.reading.conditions import opposite
from wengert.tensor.reading.functions import black_box, known_black_box
from wengert.tensor.reading.meanings import (
    REAL_KIND,
    Extremum,
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
    read_expr,
    read_truth,
    reads_syntax,
    with_named_length,
)
from wengert.tensor.reading.rule_bodies import add_folded, power_of
from wengert.tensor.reading.scopes import Scope


@reads_syntax(ast.UnaryOp)
def read_unary(node: ast.UnaryOp, scope: Scope) -> Meaning:
    if isinstance(node.op, ast.Not):
        return Truth(opposite(read_truth(node.operand, scope), scope))
    if isinstance(node.op, ast.Invert):
        raise scope.refusal(node, "the operator ~ is not in the tensor language", "Write `not R[i, j]`.")
    operand = with_named_length(read_expr(node.operand, scope))
    if isinstance(node.op, ast.UAdd):
        return operand
    return (
        Index(-operand.affine)
        if isinstance(operand, Index)
        else number_value(negative(as_scalar(operand, node, scope)))
    )


def number_value(expr: Expr) -> Value:
    return Value(expr, REAL_KIND)


def negative(e: Expr) -> Expr:
    return Const(-e.value) if isinstance(e, Const) else Mul(Const(-1), e)


@reads_syntax(ast.BinOp)
def read_binary(node: ast.BinOp, scope: Scope) -> Meaning:
    """Read a binary operator between numbers, indices or a condition and a number."""
    left, inner = with_named_length(read_expr(node.left, scope)), scope.inside()
    right = with_named_length(read_expr(node.right, inner))
    for meaning in (left, right):
        if isinstance(node.op, ast.Mult) and isinstance(meaning, RelationArgument) and meaning.numbers:
            raise scope.refusal(
                node,
                "a sparse matrix of numbers is used as a factor",
                f"The language only sees where it is nonzero: `if {meaning.name}[i, j]`. Pass its numbers as an array "
                "of floats too.",
            )
    if isinstance(node.op, ast.Mult) and _is_condition(left):
        value = as_value(right, node.right, inner)
        return Value(Bracket(as_truth(left, node, scope), inner.with_lets(value.expr)), value.kind)
    scope.lets += inner.lets
    scope.names |= inner.names
    if isinstance(node.op, ast.Mult) and _is_condition(right):
        value = as_value(left, node.left, scope)
        return Value(Bracket(as_truth(right, node, scope), value.expr), value.kind)
    if isinstance(left, Index) and isinstance(right, Index) and not isinstance(node.op, ast.Div):
        return index_arithmetic(left.affine, right.affine, node, scope)
    if isinstance(left, Extremum) and isinstance(right, Index) and isinstance(node.op, ast.Add | ast.Sub):
        return left.shifted(right.affine if isinstance(node.op, ast.Add) else -right.affine)
    if isinstance(left, Index) and isinstance(right, Extremum) and isinstance(node.op, ast.Add):
        return right.shifted(left.affine)
    if isinstance(node.op, ast.Pow):
        return number_value(_read_power(as_scalar(left, node.left, scope), right, node, scope))
    for meaning, place in ((left, node.left), (right, node.right)):
        if isinstance(meaning, (Group, Truth)):
            as_scalar(meaning, place, scope)
    operation = _OPERATIONS.get(type(node.op))
    if operation is None:
        raise scope.refusal(
            node,
            "this operator between numbers is not in the tensor language",
            "Use +, -, *, /, ** or a scalar function.",
        )
    return number_value(operation(as_scalar(left, node.left, scope), as_scalar(right, node.right, scope)))


def _is_condition(factor: Meaning) -> bool:
    """Whether a factor is a condition, as in (p) * e. It guards nothing: Python evaluates e where p is false, too."""
    return isinstance(factor, Truth) or (isinstance(factor, RelationArgument) and len(factor.at) == len(factor.shape))


def _product_of(left: Expr, right: Expr) -> Expr:
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(left.value * right.value)
    return Mul(left, right)


def _quotient(left: Expr, right: Expr) -> Expr:
    """Return left / right: a constant divisor becomes a factor, another one a call of the reciprocal."""
    if isinstance(right, Const) and right.value != 0:
        exact = isinstance(right.value, (int, Fraction))
        return _product_of(left, Const(Fraction(1) / Fraction(right.value) if exact else 1.0 / right.value))
    inverse = Apply(known_black_box(np.reciprocal), (right,))
    return inverse if left == Const(1) else Mul(left, inverse)


_OPERATIONS = {
    ast.Add: add_folded,
    ast.Sub: lambda left, right: add_folded(left, negative(right)),
    ast.Mult: _product_of,
    ast.Div: _quotient,
}


def _read_power(base: Expr, exponent: Meaning, node: ast.BinOp, scope: Scope) -> Expr:
    """Read a power: of exponent 2, 3 or 4 as products, of another constant exponent as a function of one argument."""
    at = as_scalar(exponent, node.right, scope)
    if isinstance(base, Const) and isinstance(at, Const):
        return Const(base.value**at.value)
    if not isinstance(at, Const):
        return Apply(known_black_box(pow), (base, at))
    if at.value not in (2, 3, 4):
        return power_of(base, at.value, black_box)
    once = scope.bind("t", number_value(base)).expr
    if at.value == 4:
        twice = scope.bind("t", number_value(Mul(once, once))).expr
        return Mul(twice, twice)
    return Mul(once, once) if at.value == 2 else Mul(Mul(once, once), once)


def index_arithmetic(left: AffineExpr, right: AffineExpr, node: ast.BinOp, scope: Scope) -> Meaning:
    """Read arithmetic of indices, which must stay affine; if all operands are sizes, compute the integer."""
    match node.op:
        case ast.Add():
            return Index(left + right)
        case ast.Sub():
            return Index(left - right)
        case ast.Mult() if left.is_constant or right.is_constant:
            return Index(right * left.constant if left.is_constant else left * right.constant)
    a, b = scope.builder.bounds.value(left), scope.builder.bounds.value(right)
    if a is None or b is None:
        raise scope.refusal(
            node,
            f"{ast.unparse(node)} is not affine in the indices",
            "Combine indices by +, -, and * with a constant. For anything else compute a relation beforehand and pass "
            "it: a set of index tuples or an array of booleans.",
        )
    if isinstance(node.op, ast.Mult):
        return Index(AffineExpr(a * b))
    if isinstance(node.op, (ast.FloorDiv, ast.Mod)) and b:
        return Index(AffineExpr(a // b if isinstance(node.op, ast.FloorDiv) else a % b))
    if isinstance(node.op, ast.Pow) and b >= 0:
        return Index(AffineExpr(a**b))
    raise scope.refusal(
        node,
        "this operator between indices or sizes is not in the tensor language",
        "Combine indices by +, -, and * with a constant.",
    )
