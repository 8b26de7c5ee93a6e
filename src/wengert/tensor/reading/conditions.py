"""Reading conditions on indices and sizes, and choices by them."""

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
    Extreme,
    Group,
    Kind,
    Known,
    Meaning,
    RelationArgument,
    TensorKind,
    Truth,
    TupleKind,
    Value,
    size_of,
)
from wengert.tensor.reading.reading import (
    as_index,
    as_truth,
    either,
    read,
    read_truth,
    read_value,
    reads,
    tupled,
    with_named_length,
)
from wengert.tensor.reading.scopes import Scope


@reads(ast.Compare)
def comparison(node: ast.Compare, scope: Scope) -> Meaning:
    found: Predicate = TRUE
    here = scope
    sides = [node.left, *node.comparators]
    for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
        p = _compared(op, left, right, node, here)
        found = conjoin(found, p)
        here = scope.inside(found)
    return Truth(found)


def _compared(op: ast.cmpop, left: ast.expr, right: ast.expr, node: ast.Compare, scope: Scope) -> Predicate:
    """The predicate of one comparison, of indices, relations or things known beforehand."""
    if isinstance(op, (ast.In, ast.NotIn)):
        p = _member(left, right, node, scope)
        return opposite(p, scope) if isinstance(op, ast.NotIn) else p
    a, b = with_named_length(read(left, scope)), with_named_length(read(right, scope))
    if isinstance(a, Known) or isinstance(b, Known):
        return _of_known(op, a, b, node, scope)
    if isinstance(a, Value) or isinstance(b, Value):
        raise scope.refusal(
            node,
            "numbers are compared",
            "Conditions compare indices and sizes. For a choice by numbers use np.maximum, np.minimum or abs, "
            "or pass the outcome as an array of bools.",
        )
    found = _ORDERS.get(type(op))
    if isinstance(a, Extreme) and found is not None and not isinstance(op, ast.Eq):
        each = [compare_to_zero(found[0], (as_index(b, right, scope) - part) * found[1]) for part in a.of]
        return conjoin(*each) if a.largest == (found[1] > 0) else disjoin(*each)
    if isinstance(b, Extreme) and found is not None and not isinstance(op, ast.Eq):
        each = [compare_to_zero(found[0], (part - as_index(a, left, scope)) * found[1]) for part in b.of]
        return disjoin(*each) if b.largest == (found[1] > 0) else conjoin(*each)
    difference = as_index(b, right, scope) - as_index(a, left, scope)
    if isinstance(op, ast.NotEq):
        return disjoin(compare_to_zero(">", difference), compare_to_zero(">", -difference))
    if found is None:
        raise scope.refusal(node, "this comparison", "Indices are compared by <, <=, ==, != and the like.")
    return compare_to_zero(found[0], difference * found[1])


_ORDERS = {
    ast.Lt: (">", 1), ast.LtE: (">=", 1), ast.Gt: (">", -1), ast.GtE: (">=", -1), ast.Eq: ("=", 1),
}  # fmt: skip


def _member(left: ast.expr, right: ast.expr, node: ast.Compare, scope: Scope) -> Predicate:
    """The predicate (i, j) in R."""
    relation = read(right, scope)
    if not isinstance(relation, RelationArgument):
        raise scope.refusal(node, "`in` asks something other than a set of index tuples", "Compare indices with ==.")
    at = read(left, scope)
    parts = at.parts if isinstance(at, Group) else (at,)
    indices = tuple(as_index(part, left, scope) for part in parts)
    return as_truth(relation.given(*indices), node, scope)


def _of_known(op: ast.cmpop, a: Meaning, b: Meaning, node: ast.Compare, scope: Scope) -> Predicate:
    """A comparison of things that are known beforehand: a text, None."""
    if isinstance(op, (ast.Is, ast.IsNot)) and isinstance(b, Known) and b.it is None:
        same = isinstance(a, Known) and a.it is None
        return TRUE if same == isinstance(op, ast.Is) else FALSE
    if isinstance(op, (ast.Eq, ast.NotEq)) and isinstance(a, Known) and isinstance(b, Known):
        return TRUE if bool(a.it == b.it) == isinstance(op, ast.Eq) else FALSE
    raise scope.refusal(node, f"{a} is compared with {b}", "Conditions compare indices and sizes.")


@reads(ast.BoolOp)
def connective(node: ast.BoolOp, scope: Scope) -> Meaning:
    """`and` and `or`: as in Python, what stands on the right is looked at only where the left leaves it open."""
    both = isinstance(node.op, ast.And)
    found: Predicate = TRUE if both else FALSE
    here = scope
    for part in node.values:
        p = read_truth(part, here)
        found = conjoin(found, p) if both else disjoin(found, p)
        here = scope.inside(found if both else _weak_opposite(found))
    return Truth(found)


def _weak_opposite(p: Predicate) -> Predicate:
    """¬p, or true where the language cannot say it."""
    try:
        return negate(p)
    except ValueError:
        return TRUE


def opposite(p: Predicate, scope: Scope) -> Predicate:
    """¬p; an ∃ in it is first made a relation."""
    return negation(p, scope.building.table)


def sides(p: Predicate, scope: Scope) -> tuple[Predicate, Predicate]:
    """p and ¬p, in a form that shows that they exclude each other."""
    q = opposite(p, scope)
    return negate(q), q


@reads(ast.IfExp)
def choice(node: ast.IfExp, scope: Scope) -> Meaning:
    """The choice e0 if p else e1, as [p]·e0 + [¬p]·e1; a branch that is not chosen is not evaluated."""
    p = read_truth(node.test, scope)
    if p == TRUE:
        return read(node.body, scope)
    if p == FALSE:
        return zero_like(node.body, scope) if is_zero_literal(node.orelse) else read(node.orelse, scope)
    if is_zero_literal(node.orelse):
        value = guarded(p, node.body, scope)
        return Value(Bracket(p, value.expr), value.kind)
    there, q = sides(p, scope)
    if is_zero_literal(node.body):
        value = guarded(q, node.orelse, scope)
        return Value(Bracket(q, value.expr), value.kind)
    return either(there, guarded(p, node.body, scope), q, guarded(q, node.orelse, scope), node, scope)


def zero_like(node: ast.expr, scope: Scope) -> Value:
    """The zero in place of an expression, of its kind, where this can be told without what the expression reads."""
    with scope.building.undone():
        try:
            kind = read_value(node, scope.inside(FALSE)).kind
        except WengertError:
            kind = REAL_KIND
    return Value(_zero(kind, scope), kind)


def _zero(kind: Kind, scope: Scope) -> Expr:
    if isinstance(kind, TensorKind):
        name, _ = scope.building.index("i", size_of(kind))
        return Gen(name, size_of(kind), _zero(kind.of, scope))
    if isinstance(kind, TupleKind):
        return tupled([Value(_zero(part, scope), part) for part in kind.parts]).expr
    return Const(0)


def is_zero_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == 0


def guarded(p: Predicate, node: ast.expr, scope: Scope) -> Value:
    """The meaning of what is evaluated only where p holds, without the bracket."""
    inner = scope.inside(p)
    value = read_value(node, inner)
    return Value(inner.closed(value.expr), value.kind)
