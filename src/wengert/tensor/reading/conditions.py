"""Read conditions on indices and sizes, and conditional expressions."""

from __future__ import annotations

import ast

from wengert.errors import WengertError
from wengert.tensor.language.terms import (
    FALSE,
    TRUE,
    Bracket,
    Const,
    Expr,
    Gen,
    Predicate,
    compare_to_zero,
    conjoin,
    disjoin,
    negate,
)
from wengert.tensor.planning.regions import negation
from wengert.tensor.reading.meanings import (
    REAL_KIND,
    Extremum,
    Group,
    KnownObject,
    Meaning,
    RelationArgument,
    TensorKind,
    Truth,
    TupleKind,
    Value,
    ValueKind,
    size_of,
)
from wengert.tensor.reading.reading import (
    as_index,
    as_truth,
    choice_of_values,
    read_expr,
    read_truth,
    read_value,
    reads_syntax,
    tuple_value,
    with_named_length,
)
from wengert.tensor.reading.scopes import Scope


@reads_syntax(ast.Compare)
def read_comparison(node: ast.Compare, scope: Scope) -> Meaning:
    found: Predicate = TRUE
    here = scope
    sides = [node.left, *node.comparators]
    for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
        p = _compare_pair(op, left, right, node, here)
        found = conjoin(found, p)
        here = scope.inside(found)
    return Truth(found)


def _compare_pair(op: ast.cmpop, left: ast.expr, right: ast.expr, node: ast.Compare, scope: Scope) -> Predicate:
    """Read one comparison, of indices, relations or known objects."""
    if isinstance(op, (ast.In, ast.NotIn)):
        p = _read_membership(left, right, node, scope)
        return opposite(p, scope) if isinstance(op, ast.NotIn) else p
    a, b = with_named_length(read_expr(left, scope)), with_named_length(read_expr(right, scope))
    if isinstance(a, KnownObject) or isinstance(b, KnownObject):
        return _compare_known(op, a, b, node, scope)
    if isinstance(a, Value) or isinstance(b, Value):
        raise scope.refusal(
            node,
            "numbers are compared",
            "Conditions compare indices and sizes. To choose by numbers, use np.maximum, np.minimum or abs, "
            "or pass the outcome as an array of booleans.",
        )
    found = _OPERATORS_TO_ZERO.get(type(op))
    if isinstance(a, Extremum) and found is not None and not isinstance(op, ast.Eq):
        each = [compare_to_zero(found[0], (as_index(b, right, scope) - part) * found[1]) for part in a.of]
        return conjoin(*each) if a.largest == (found[1] > 0) else disjoin(*each)
    if isinstance(b, Extremum) and found is not None and not isinstance(op, ast.Eq):
        each = [compare_to_zero(found[0], (part - as_index(a, left, scope)) * found[1]) for part in b.of]
        return disjoin(*each) if b.largest == (found[1] > 0) else conjoin(*each)
    difference = as_index(b, right, scope) - as_index(a, left, scope)
    if isinstance(op, ast.NotEq):
        return disjoin(compare_to_zero(">", difference), compare_to_zero(">", -difference))
    if found is None:
        raise scope.refusal(
            node, "this comparison is not in the tensor language", "Compare indices by <, <=, >, >=, == or !=."
        )
    return compare_to_zero(found[0], difference * found[1])


_OPERATORS_TO_ZERO = {
    ast.Lt: (">", 1), ast.LtE: (">=", 1), ast.Gt: (">", -1), ast.GtE: (">=", -1), ast.Eq: ("=", 1),
}  # fmt: skip


def _read_membership(left: ast.expr, right: ast.expr, node: ast.Compare, scope: Scope) -> Predicate:
    """Read the predicate (i, j) in R."""
    relation = read_expr(right, scope)
    if not isinstance(relation, RelationArgument):
        raise scope.refusal(
            node, "`in` is used with something other than a set of index tuples", "Compare indices with ==."
        )
    at = read_expr(left, scope)
    parts = at.parts if isinstance(at, Group) else (at,)
    indices = tuple(as_index(part, left, scope) for part in parts)
    return as_truth(relation.indexed(*indices), node, scope)


def _compare_known(op: ast.cmpop, a: Meaning, b: Meaning, node: ast.Compare, scope: Scope) -> Predicate:
    """Read a comparison of known objects, such as strings or None."""
    if isinstance(op, (ast.Is, ast.IsNot)) and isinstance(b, KnownObject) and b.value is None:
        same = isinstance(a, KnownObject) and a.value is None
        return TRUE if same == isinstance(op, ast.Is) else FALSE
    if isinstance(op, (ast.Eq, ast.NotEq)) and isinstance(a, KnownObject) and isinstance(b, KnownObject):
        return TRUE if bool(a.value == b.value) == isinstance(op, ast.Eq) else FALSE
    raise scope.refusal(node, f"{a} is compared with {b}", "Conditions compare indices and sizes.")


@reads_syntax(ast.BoolOp)
def read_connective(node: ast.BoolOp, scope: Scope) -> Meaning:
    """Read `and` or `or`. As in Python, an operand is evaluated only where those before it do not decide."""
    both = isinstance(node.op, ast.And)
    found: Predicate = TRUE if both else FALSE
    here = scope
    for part in node.values:
        p = read_truth(part, here)
        found = conjoin(found, p) if both else disjoin(found, p)
        here = scope.inside(found if both else _weak_opposite(found))
    return Truth(found)


def _weak_opposite(p: Predicate) -> Predicate:
    """Return ¬p, or TRUE if the language cannot express it."""
    try:
        return negate(p)
    except ValueError:
        return TRUE


def opposite(p: Predicate, scope: Scope) -> Predicate:
    """Return ¬p, with each ∃ in p replaced by a relation."""
    return negation(p, scope.builder.relation_of_exists)


def branch_conditions(p: Predicate, scope: Scope) -> tuple[Predicate, Predicate]:
    """Return p and ¬p, in a form that shows that they exclude each other."""
    q = opposite(p, scope)
    return negate(q), q


@reads_syntax(ast.IfExp)
def read_choice(node: ast.IfExp, scope: Scope) -> Meaning:
    """Read e0 if p else e1 as [p]·e0 + [¬p]·e1; a branch that is not chosen is not evaluated."""
    p = read_truth(node.test, scope)
    if p == TRUE:
        return read_expr(node.body, scope)
    if p == FALSE:
        return zero_like(node.body, scope) if is_zero_literal(node.orelse) else read_expr(node.orelse, scope)
    if is_zero_literal(node.orelse):
        value = read_guarded(p, node.body, scope)
        return Value(Bracket(p, value.expr), value.kind)
    there, q = branch_conditions(p, scope)
    if is_zero_literal(node.body):
        value = read_guarded(q, node.orelse, scope)
        return Value(Bracket(q, value.expr), value.kind)
    return choice_of_values(
        there, read_guarded(p, node.body, scope), q, read_guarded(q, node.orelse, scope), node, scope
    )


def zero_like(node: ast.expr, scope: Scope) -> Value:
    """Return a zero of an expression's kind; a number if the expression cannot be read to find its kind."""
    with scope.builder.restored():
        try:
            kind = read_value(node, scope.inside(FALSE)).kind
        except WengertError:
            kind = REAL_KIND
    return Value(_zero_expr(kind, scope), kind)


def _zero_expr(kind: ValueKind, scope: Scope) -> Expr:
    if isinstance(kind, TensorKind):
        name, _ = scope.builder.index("i", size_of(kind))
        return Gen(name, size_of(kind), _zero_expr(kind.of, scope))
    if isinstance(kind, TupleKind):
        return tuple_value([Value(_zero_expr(part, scope), part) for part in kind.parts]).expr
    return Const(0)


def is_zero_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == 0


def read_guarded(p: Predicate, node: ast.expr, scope: Scope) -> Value:
    """Read an expression that is evaluated only where p holds; return it without the bracket."""
    inner = scope.inside(p)
    value = read_value(node, inner)
    return Value(inner.with_lets(value.expr), value.kind)
