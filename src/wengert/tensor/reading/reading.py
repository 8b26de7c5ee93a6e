"""Reading an expression: a table of readers by kind of syntax, and what they make of its parts."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from wengert.errors import OutOfRangeError
from wengert.tensor.language.terms import (
    FALSE,
    TRUE,
    Access,
    Add,
    AffineExpr,
    Bracket,
    Const,
    Expr,
    Gen,
    Pair,
    Predicate,
    Proj,
    Related,
    at_most,
    conjoin,
    equal,
    in_range,
    negate,
)
from wengert.tensor.reading.meanings import (
    REAL_KIND,
    Group,
    Index,
    Known,
    Length,
    Meaning,
    RealKind,
    RelationArgument,
    Running,
    TensorKind,
    Truth,
    TupleKind,
    Value,
    size_of,
)
from wengert.tensor.reading.scopes import Reader, Scope, is_read

READERS: dict[type[ast.AST], Reader] = {}


def reads(*nodes: type[ast.AST]) -> Callable[[Any], Any]:
    """A decorator that enters the reader of these kinds of syntax."""

    def declare(reader: Any) -> Any:
        READERS.update(dict.fromkeys(nodes, reader))
        return reader

    return declare


def read(node: ast.expr, scope: Scope) -> Meaning:
    """The meaning of an expression."""
    reader = READERS.get(type(node))
    if reader is None:
        raise scope.refusal(
            node,
            f"{_article(type(node).__name__)} is not in the tensor language",
            "It has comprehensions over ranges, sum(... for ...), arithmetic, scalar functions such as np.sin, "
            "`e if p else 0.0`, and tuples.",
        )
    return reader(node, scope)


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def read_value(node: ast.expr, scope: Scope) -> Value:
    return as_value(read(node, scope), node, scope)


def read_scalar(node: ast.expr, scope: Scope) -> Expr:
    return as_scalar(read(node, scope), node, scope)


def read_index(node: ast.expr, scope: Scope) -> AffineExpr:
    return as_index(read(node, scope), node, scope)


def read_truth(node: ast.expr, scope: Scope) -> Predicate:
    return as_truth(read(node, scope), node, scope)


def with_named_length(meaning: Meaning) -> Meaning:
    """The meaning, with a name for a length that has none."""
    if isinstance(meaning, Length):
        return Index(meaning.dimension.named(), meaning.dimension)
    return meaning


def as_value(meaning: Meaning, node: ast.AST, scope: Scope) -> Value:
    """The meaning as an expression of the language."""
    match with_named_length(meaning):
        case Value() as value:
            return value
        case Index(affine):
            return _number(affine, node, scope)
        case Group(parts, True):
            return _literal([as_value(part, node, scope) for part in parts], node, scope)
        case Group(parts):
            return tupled([as_value(part, node, scope) for part in parts])
        case Truth():
            raise scope.refusal(
                node, "a truth value is used as a number", "Write `1.0 if p else 0.0`, or put it in front: (p) * e."
            )
        case RelationArgument():
            raise scope.refusal(
                node,
                "a relation is used as a number",
                "It stands where a condition does: `e if R[i, j] else 0.0`. Numbers come as an array of floats.",
            )
        case Running(name):
            raise scope.refusal(
                node,
                f"{name} is read while the loop adds it up",
                "A loop over a size may only add to it: `for k in range(n): s += e`.",
            )
    raise scope.refusal(node, f"{meaning} is not a number or an array", "Pass numbers and arrays as arguments.")


def _number(a: AffineExpr, node: ast.AST, scope: Scope) -> Value:
    """A whole number that is used as a number: a constant."""
    value = scope.building.bounds.value(a)
    if value is None:
        raise scope.refusal(
            node,
            "an index is used as a number",
            "Indices are only compared and used in subscripts. Pass np.arange(n, dtype=float) as an argument, "
            "and read its element.",
        )
    return Value(Const(value), REAL_KIND)


def as_scalar(meaning: Meaning, node: ast.AST, scope: Scope) -> Expr:
    """The meaning as an expression that is one number."""
    value = as_value(meaning, node, scope)
    if not isinstance(value.kind, RealKind):
        raise scope.refusal(
            node,
            f"{value} stands where a single number is needed",
            "Arithmetic is between numbers: write the elements, [x[i] + y[i] for i in range(n)].",
        )
    return value.expr


def as_index(meaning: Meaning, node: ast.AST, scope: Scope) -> AffineExpr:
    """The meaning as an affine expression of indices and sizes."""
    meaning = with_named_length(meaning)
    if isinstance(meaning, Index):
        return meaning.affine
    if isinstance(meaning, Value):
        raise scope.refusal(
            node,
            "an index or size is computed from numbers of an array",
            "Indices are whole-number combinations of loop indices, len(x) and int arguments. "
            "A relation argument can say which indices belong together: `if R[i, j]`.",
        )
    raise scope.refusal(node, f"{meaning} is no index", "Use a loop index, a size, or a whole number.")


def as_truth(meaning: Meaning, node: ast.AST, scope: Scope) -> Predicate:
    """The meaning as a predicate on indices."""
    if isinstance(meaning, Truth):
        return meaning.predicate
    if isinstance(meaning, RelationArgument):
        return related(meaning, node, scope)
    if isinstance(meaning, Known) and meaning.has_one_truth:
        return TRUE if meaning.it else FALSE
    if isinstance(meaning, Index):
        return negate(equal(meaning.affine, 0))
    raise scope.refusal(
        node,
        f"{meaning} is no condition",
        "Conditions compare indices and sizes, or ask a relation. For a choice by numbers use np.maximum, np.abs, "
        "or pass the outcome as an array of bools.",
    )


def related(relation: RelationArgument, node: ast.AST, scope: Scope) -> Predicate:
    """The predicate R(a1..ak), its arguments proven to be in range; a set is false outside."""
    if relation.closed and any(dimension.value == 0 for dimension in relation.shape):
        return FALSE  # the empty set, whose tuples have no length
    if len(relation.at) != len(relation.shape):
        raise scope.refusal(
            node,
            f"{relation.name} is given {len(relation.at)} of {len(relation.shape)} indices",
            f"A condition on it names all: {relation.name}[{', '.join('ijkl'[: len(relation.shape)])}].",
        )
    if FALSE in scope.conditions:
        return FALSE
    guards = []
    for at, dimension in zip(relation.at, relation.shape, strict=True):
        size = matched(at, dimension, scope)
        inside = in_range(at, size)
        if not scope.building.bounds.proves(scope.conditions, at, size - 1 - at):
            guards.append(inside)
    if guards and not relation.closed:
        raise outside_of(node, scope)
    return conjoin(*guards, Related(relation.name, relation.at))


def matched(at: AffineExpr, dimension: Any, scope: Scope) -> AffineExpr:
    """The size of an axis that is read at `at`; one without a name takes that of the index that runs over it."""
    bounds = scope.building.bounds
    if isinstance(dimension, AffineExpr):
        return dimension
    if dimension.known is None and at.is_constant:
        return AffineExpr(dimension.value)  # x[0] says nothing of how long x is
    if dimension.known is None and len(at.terms) == 1 and at.constant == 0:
        size = bounds.indices.get(at.terms[0][0])
        if at.terms[0][1] == 1 and size is not None and bounds.value(size) == dimension.value:
            dimension.known = size
    return dimension.named()


def outside_of(node: ast.AST, scope: Scope) -> OutOfRangeError:
    text = ast.unparse(node) if isinstance(node, ast.expr) else "this access"
    return scope.out_of_range(
        node,
        f"{text} is not known to stay inside its array",
        f"Guard it: `{text} if 0 <= ... < n else 0.0` (the form `(p) * e` evaluates e where p is false, too).",
    )


def element(value: Value, at: AffineExpr, node: ast.AST, scope: Scope) -> Value:
    """The element x[a], with the proof that a is in range."""
    kind = value.kind
    if not isinstance(kind, TensorKind):
        raise scope.refusal(node, f"{value} is indexed", "Only arrays are; a tuple by a literal number.")
    size = matched(at, kind.size, scope)
    if not scope.building.bounds.proves(scope.conditions, at, size - 1 - at):
        raise outside_of(node, scope)
    return Value(Access(value.expr, at), kind.of)


def component(value: Value, k: int, node: ast.AST, scope: Scope) -> Value:
    """The k-th part of a tuple, which is pairs nested to the right."""
    kind = value.kind
    assert isinstance(kind, TupleKind)
    if not -len(kind.parts) <= k < len(kind.parts):
        raise scope.refusal(node, f"a tuple of {len(kind.parts)} has no part {k}", "Parts are counted from 0.")
    k %= len(kind.parts)
    expr, last = value.expr, len(kind.parts) - 1
    for _ in range(k):
        expr = Proj(1, expr)
    return Value(Proj(0, expr) if k < last else expr, kind.parts[k])


def tupled(values: list[Value]) -> Value:
    """The values of a tuple as pairs nested to the right."""
    expr = values[-1].expr
    for value in reversed(values[:-1]):
        expr = Pair(value.expr, expr)
    return Value(expr, TupleKind(tuple(value.kind for value in values)))


def _literal(values: list[Value], node: ast.AST, scope: Scope) -> Value:
    """The tensor written out as {e0, e1, ...}: ⊞[i:k] [i=0]·e0 + [i=1]·e1 + ..., which adds nothing."""
    if not values:
        raise scope.refusal(node, "an empty list", "Its elements have no type; leave it out.")
    index, i = scope.building.index("i", AffineExpr(len(values)))
    inner = scope.inside()
    whole = _chosen([scope.bind("e", value) for value in values], i, 0, node, inner)
    size = AffineExpr(len(values))
    return Value(Gen(index, size, inner.closed(whole.expr)), TensorKind(size, whole.kind))


def _chosen(values: list[Value], i: AffineExpr, k: int, node: ast.AST, scope: Scope) -> Value:
    if len(values) == 1:
        return values[0]
    rest = _chosen(values[1:], i, k + 1, node, scope)
    return either(equal(i, k), values[0], at_most(k + 1, i), rest, node, scope)


def either(p: Predicate, left: Value, q: Predicate, right: Value, node: ast.AST, scope: Scope) -> Value:
    """[p]·left + [q]·right of any kind, with the brackets at the numbers: nothing is added where one is false."""
    if isinstance(left.kind, RealKind) and isinstance(right.kind, RealKind):
        if Const(0) in (left.expr, right.expr):
            return Value(Bracket(q, right.expr) if left.expr == Const(0) else Bracket(p, left.expr), REAL_KIND)
        return Value(Add(Bracket(p, left.expr), Bracket(q, right.expr)), REAL_KIND)
    left, right = (scope.bind(name, bracketed(r, x)) for name, r, x in (("u", p, left), ("v", q, right)))
    if isinstance(left.kind, TupleKind) and isinstance(right.kind, TupleKind):
        count = len(left.kind.parts)
        if count == len(right.kind.parts):
            parts = [(component(left, k, node, scope), component(right, k, node, scope)) for k in range(count)]
            return tupled([either(p, a, q, b, node, scope) for a, b in parts])
    if isinstance(left.kind, TensorKind) and isinstance(right.kind, TensorKind):
        size, other = size_of(left.kind), size_of(right.kind)
        bounds = scope.building.bounds
        if size == other or bounds.value(size) == bounds.value(other):
            index, i = scope.building.index("i", size)
            inner = scope.inside()
            a, b = Value(Access(left.expr, i), left.kind.of), Value(Access(right.expr, i), right.kind.of)
            whole = either(p, a, q, b, node, inner)
            return Value(Gen(index, size, inner.closed(whole.expr)), TensorKind(size, whole.kind))
    raise scope.refusal(node, "the branches differ in shape", "Give both the same shape.")


def bracketed(p: Predicate, value: Value) -> Value:
    """[p]·value, with the bracket further inside where the value is only read."""
    return value if is_read(value.expr) else Value(Bracket(p, value.expr), value.kind)
