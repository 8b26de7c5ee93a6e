"""Read an expression by a table of readers for each kind of syntax; convert and combine the meanings of its parts."""

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
    KnownObject,
    Length,
    Meaning,
    RealKind,
    RelationArgument,
    RunningSum,
    TensorKind,
    Truth,
    TupleKind,
    Value,
    size_of,
)
from wengert.tensor.reading.scopes import Scope, SyntaxReader, is_free_to_read

EXPRESSION_READERS: dict[type[ast.AST], SyntaxReader] = {}


def reads_syntax(*nodes: type[ast.AST]) -> Callable[[Any], Any]:
    """Return a decorator that registers the reader of these kinds of syntax."""

    def declare(reader: Any) -> Any:
        EXPRESSION_READERS.update(dict.fromkeys(nodes, reader))
        return reader

    return declare


def read_expr(node: ast.expr, scope: Scope) -> Meaning:
    """Read an expression; return its meaning."""
    reader = EXPRESSION_READERS.get(type(node))
    if reader is None:
        raise scope.refusal(
            node,
            f"{_article(type(node).__name__)} is not in the tensor language",
            "Use comprehensions over ranges, sum(... for ...), arithmetic, scalar functions such as np.sin, "
            "`e if p else 0.0`, and tuples.",
        )
    return reader(node, scope)


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def read_value(node: ast.expr, scope: Scope) -> Value:
    return as_value(read_expr(node, scope), node, scope)


def read_scalar(node: ast.expr, scope: Scope) -> Expr:
    return as_scalar(read_expr(node, scope), node, scope)


def read_index(node: ast.expr, scope: Scope) -> AffineExpr:
    return as_index(read_expr(node, scope), node, scope)


def read_truth(node: ast.expr, scope: Scope) -> Predicate:
    return as_truth(read_expr(node, scope), node, scope)


def with_named_length(meaning: Meaning) -> Meaning:
    """Return the meaning, with a name for the size if it is a length without one."""
    if isinstance(meaning, Length):
        return Index(meaning.dimension.named(), meaning.dimension)
    return meaning


def as_value(meaning: Meaning, node: ast.AST, scope: Scope) -> Value:
    """Convert a meaning to an expression of the language."""
    match with_named_length(meaning):
        case Value() as value:
            return value
        case Index(affine):
            return _size_as_number(affine, node, scope)
        case Group(parts, True):
            return _written_out_tensor([as_value(part, node, scope) for part in parts], node, scope)
        case Group(parts):
            return tuple_value([as_value(part, node, scope) for part in parts])
        case Truth():
            raise scope.refusal(
                node, "a condition is used as a number", "Write `1.0 if p else 0.0`, or use it as a factor: (p) * e."
            )
        case RelationArgument():
            raise scope.refusal(
                node,
                "a relation is used as a number",
                "Use it as a condition: `e if R[i, j] else 0.0`. Pass numbers as an array of floats.",
            )
        case RunningSum(name):
            raise scope.refusal(
                node,
                f"{name} is read inside the loop that adds to it",
                "A loop over a size may only add to it: `for k in range(n): s += e`.",
            )
    raise scope.refusal(node, f"{meaning} is not a number or an array", "Pass numbers and arrays as arguments.")


def _size_as_number(a: AffineExpr, node: ast.AST, scope: Scope) -> Value:
    """Convert an integer to a constant; it must be known from sizes alone."""
    value = scope.builder.bounds.value(a)
    if value is None:
        raise scope.refusal(
            node,
            "an index is used as a number",
            "Indices may only be compared and used in subscripts. Pass np.arange(n, dtype=float) as an argument, "
            "and read its elements.",
        )
    return Value(Const(value), REAL_KIND)


def as_scalar(meaning: Meaning, node: ast.AST, scope: Scope) -> Expr:
    """Convert a meaning to an expression that is one number."""
    value = as_value(meaning, node, scope)
    if not isinstance(value.kind, RealKind):
        raise scope.refusal(
            node,
            f"{value} is used where a single number is needed",
            "Arithmetic is between single numbers: write it for the elements, [x[i] + y[i] for i in range(n)].",
        )
    return value.expr


def as_index(meaning: Meaning, node: ast.AST, scope: Scope) -> AffineExpr:
    """Convert a meaning to an affine expression of indices and sizes."""
    meaning = with_named_length(meaning)
    if isinstance(meaning, Index):
        return meaning.affine
    if isinstance(meaning, Value):
        raise scope.refusal(
            node,
            "an index or size is computed from array elements",
            "An index is an integer combination of loop indices, len(x) and int arguments. To relate indices in "
            "another way, pass a relation: `if R[i, j]`.",
        )
    raise scope.refusal(node, f"{meaning} is not an index", "Use a loop index, a size, or an integer.")


def as_truth(meaning: Meaning, node: ast.AST, scope: Scope) -> Predicate:
    """Convert a meaning to a predicate on indices."""
    if isinstance(meaning, Truth):
        return meaning.predicate
    if isinstance(meaning, RelationArgument):
        return relation_predicate(meaning, node, scope)
    if isinstance(meaning, KnownObject) and meaning.has_fixed_truth:
        return TRUE if meaning.value else FALSE
    if isinstance(meaning, Index):
        return negate(equal(meaning.affine, 0))
    raise scope.refusal(
        node,
        f"{meaning} is not a condition",
        "A condition compares indices and sizes, or is a relation. To choose by numbers, use np.maximum or np.abs, "
        "or pass the outcome as an array of booleans.",
    )


def relation_predicate(relation: RelationArgument, node: ast.AST, scope: Scope) -> Predicate:
    """Return the predicate R(a1..ak). Prove that its indices are in range; a set is false outside."""
    if relation.closed and any(dimension.value == 0 for dimension in relation.shape):
        return FALSE  # the empty set, which does not say how many indices it has
    if len(relation.at) != len(relation.shape):
        raise scope.refusal(
            node,
            f"{relation.name} has {len(relation.at)} of its {len(relation.shape)} indices here",
            f"A condition needs all of them: {relation.name}[{', '.join('ijkl'[: len(relation.shape)])}].",
        )
    if FALSE in scope.conditions:
        return FALSE
    guards = []
    for at, dimension in zip(relation.at, relation.shape, strict=True):
        size = axis_size(at, dimension, scope)
        inside = in_range(at, size)
        if not scope.builder.bounds.proves(scope.conditions, at, size - 1 - at):
            guards.append(inside)
    if guards and not relation.closed:
        raise out_of_range_error(node, scope)
    return conjoin(*guards, Related(relation.name, relation.at))


def axis_size(at: AffineExpr, dimension: Any, scope: Scope) -> AffineExpr:
    """Return the size of an axis read at `at`; an axis without a name shares that of the index `at`, if equal."""
    bounds = scope.builder.bounds
    if isinstance(dimension, AffineExpr):
        return dimension
    if dimension.known is None and at.is_constant:
        return AffineExpr(dimension.value)  # x[0] gives its length no name
    if dimension.known is None and len(at.terms) == 1 and at.constant == 0:
        size = bounds.indices.get(at.terms[0][0])
        if at.terms[0][1] == 1 and size is not None and bounds.value(size) == dimension.value:
            dimension.known = size
    return dimension.named()


def out_of_range_error(node: ast.AST, scope: Scope) -> OutOfRangeError:
    text = ast.unparse(node) if isinstance(node, ast.expr) else "this access"
    return scope.out_of_range(
        node,
        f"{text} is not known to stay inside its array",
        f"Guard it: `{text} if 0 <= ... < n else 0.0` (the form `(p) * e` evaluates e where p is false, too).",
    )


def array_element(value: Value, at: AffineExpr, node: ast.AST, scope: Scope) -> Value:
    """Return the element x[a]. Prove that a is in range."""
    kind = value.kind
    if not isinstance(kind, TensorKind):
        raise scope.refusal(node, f"{value} is indexed", "Index an array by an index, a tuple by a literal integer.")
    size = axis_size(at, kind.size, scope)
    if not scope.builder.bounds.proves(scope.conditions, at, size - 1 - at):
        raise out_of_range_error(node, scope)
    return Value(Access(value.expr, at), kind.of)


def component(value: Value, k: int, node: ast.AST, scope: Scope) -> Value:
    """Return the k-th part of a tuple, which is pairs nested to the right."""
    kind = value.kind
    assert isinstance(kind, TupleKind)
    if not -len(kind.parts) <= k < len(kind.parts):
        raise scope.refusal(node, f"a tuple of {len(kind.parts)} has no part {k}", "Parts count from 0.")
    k %= len(kind.parts)
    expr, last = value.expr, len(kind.parts) - 1
    for _ in range(k):
        expr = Proj(1, expr)
    return Value(Proj(0, expr) if k < last else expr, kind.parts[k])


def tuple_value(values: list[Value]) -> Value:
    """Return a tuple of values, as pairs nested to the right."""
    expr = values[-1].expr
    for value in reversed(values[:-1]):
        expr = Pair(value.expr, expr)
    return Value(expr, TupleKind(tuple(value.kind for value in values)))


def _written_out_tensor(values: list[Value], node: ast.AST, scope: Scope) -> Value:
    """Return the tensor of these elements, ⊞[i:k] [i=0]·e0 + [i=1]·e1 + ..., which costs no addition."""
    if not values:
        raise scope.refusal(
            node, "an empty list is not in the tensor language", "Leave it out: its elements have no type."
        )
    index, i = scope.builder.index("i", AffineExpr(len(values)))
    inner = scope.inside()
    whole = _nested_choice([scope.bind("e", value) for value in values], i, 0, node, inner)
    size = AffineExpr(len(values))
    return Value(Gen(index, size, inner.with_lets(whole.expr)), TensorKind(size, whole.kind))


def _nested_choice(values: list[Value], i: AffineExpr, k: int, node: ast.AST, scope: Scope) -> Value:
    if len(values) == 1:
        return values[0]
    rest = _nested_choice(values[1:], i, k + 1, node, scope)
    return choice_of_values(equal(i, k), values[0], at_most(k + 1, i), rest, node, scope)


def choice_of_values(p: Predicate, left: Value, q: Predicate, right: Value, node: ast.AST, scope: Scope) -> Value:
    """Return [p]·left + [q]·right of any kind, with the brackets at the numbers, so that it costs no addition."""
    if isinstance(left.kind, RealKind) and isinstance(right.kind, RealKind):
        if Const(0) in (left.expr, right.expr):
            return Value(Bracket(q, right.expr) if left.expr == Const(0) else Bracket(p, left.expr), REAL_KIND)
        return Value(Add(Bracket(p, left.expr), Bracket(q, right.expr)), REAL_KIND)
    left, right = (scope.bind(name, with_bracket(r, x)) for name, r, x in (("u", p, left), ("v", q, right)))
    if isinstance(left.kind, TupleKind) and isinstance(right.kind, TupleKind):
        count = len(left.kind.parts)
        if count == len(right.kind.parts):
            parts = [(component(left, k, node, scope), component(right, k, node, scope)) for k in range(count)]
            return tuple_value([choice_of_values(p, a, q, b, node, scope) for a, b in parts])
    if isinstance(left.kind, TensorKind) and isinstance(right.kind, TensorKind):
        size, other = size_of(left.kind), size_of(right.kind)
        bounds = scope.builder.bounds
        if size == other or bounds.value(size) == bounds.value(other):
            index, i = scope.builder.index("i", size)
            inner = scope.inside()
            a, b = Value(Access(left.expr, i), left.kind.of), Value(Access(right.expr, i), right.kind.of)
            whole = choice_of_values(p, a, q, b, node, inner)
            return Value(Gen(index, size, inner.with_lets(whole.expr)), TensorKind(size, whole.kind))
    raise scope.refusal(node, "the branches differ in shape", "Give both branches the same shape.")


def with_bracket(p: Predicate, value: Value) -> Value:
    """Return [p]·value; the value itself if reading it costs nothing, since its elements get brackets later."""
    return value if is_free_to_read(value.expr) else Value(Bracket(p, value.expr), value.kind)
