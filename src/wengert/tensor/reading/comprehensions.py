"""Read comprehensions: `[e for i in range(n)]` is a tensor, `sum(e for k in range(m) if p)` a sum."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from wengert.tensor.language.terms import (
    TRUE,
    AffineExpr,
    Const,
    Expr,
    Gen,
    Predicate,
    Sum,
    bracket_of,
    compare_to_zero,
    conjoin,
)
from wengert.tensor.reading.meanings import (
    Group,
    Index,
    Iteration,
    Meaning,
    RelationArgument,
    TensorKind,
    Value,
    size_of,
)
from wengert.tensor.reading.reading import array_element, read_expr, read_scalar, read_truth, read_value, reads_syntax
from wengert.tensor.reading.rule_bodies import add_folded
from wengert.tensor.reading.scopes import Scope
from wengert.tensor.reading.surface import bind_target


def read_iterable(node: ast.expr, scope: Scope) -> Iteration | Group:
    """Read the iterable of a `for`: a range, an array, or a tuple or list written out, over which it is unrolled."""
    meaning = read_expr(node, scope)
    if isinstance(meaning, (Iteration, Group)):
        return meaning
    if isinstance(meaning, Value) and isinstance(meaning.kind, TensorKind):
        return array_iteration(scope.bind("t", meaning), node, scope)
    if isinstance(meaning, RelationArgument):
        raise scope.refusal(
            node,
            "a loop over a relation is not in the tensor language",
            "Loop over the ranges of its indices, with `if R[i, j]`.",
        )
    raise scope.refusal(
        node,
        f"a loop over {meaning} is not in the tensor language",
        "Loop over range(n), an array, or a tuple written out.",
    )


def array_iteration(value: Value, node: ast.AST, scope: Scope) -> Iteration:
    """Return the Iteration over the elements of an array; its index needs no guard."""
    kind = value.kind
    assert isinstance(kind, TensorKind)
    size = size_of(kind)
    return Iteration(size, lambda i: array_element(value, i, node, scope), lambda i: TRUE)


def range_iteration(
    starts: tuple[AffineExpr, ...], stops: tuple[AffineExpr, ...], step: int, node: ast.AST, scope: Scope
) -> Iteration:  # fmt: skip
    """Return the Iteration over range(max(starts), min(stops), step).

    If bounds depend on indices, it runs over the widest range, with a guard.
    """
    bounds = scope.builder.bounds
    if step != 1 and len(starts) == len(stops) == 1:
        return _range_with_step(starts[0], stops[0], step, node, scope)
    if step != 1:
        raise scope.refusal(
            node,
            "a range with a step, between a max or min is not in the tensor language",
            "Loop over range(n) with a condition.",
        )
    low = max((bounds.corner(a, high=False) for a in starts), key=lambda a: bounds.value(a) or 0)
    high = min((bounds.corner(a, high=True) for a in stops), key=lambda a: bounds.value(a) or 0)
    size = high - low

    def guard(i: AffineExpr) -> Predicate:
        after = [compare_to_zero(">=", low + i - start) for start in starts if low != start]
        return conjoin(*after, *[compare_to_zero(">", stop - low - i) for stop in stops if high != stop])

    return Iteration(nonnegative_size(size, scope), lambda i: Index(low + i), guard)


def nonnegative_size(size: AffineExpr, scope: Scope) -> AffineExpr:
    """Return the size of a range; 0 if it stops before it starts."""
    value = scope.builder.bounds.value(size)
    return AffineExpr(0) if value is not None and value < 0 else size


def _range_with_step(start: AffineExpr, stop: AffineExpr, step: int, node: ast.AST, scope: Scope) -> Iteration:
    first, last = scope.builder.bounds.value(start), scope.builder.bounds.value(stop)
    if first is None or last is None or step == 0:
        raise scope.refusal(
            node,
            "a range with a step whose bounds depend on an index is not in the tensor language",
            "Loop over range(n) with a condition on the index.",
        )
    return Iteration(AffineExpr(len(range(first, last, step))), lambda i: Index(start + i * step), lambda i: TRUE)


def enter_loop(
    generator: ast.comprehension, found: Iteration, scope: Scope, index: str
) -> tuple[str, Scope, Predicate]:  # fmt: skip
    """Enter one `for`: return its index, the scope inside it, and the conditions on the index."""
    name, i = scope.builder.index(index, found.size)
    p = found.guard(i)
    inner = scope.inside(p)
    bind_target(generator.target, found.at(i), inner)
    for test in generator.ifs:
        q = read_truth(test, inner)
        p, inner.conditions = conjoin(p, q), (*inner.conditions, q)
    return name, inner, p


def _index_name(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Tuple) and target.elts and isinstance(target.elts[0], ast.Name):
        return target.elts[0].id
    return "i"


# ---- generation ----


@reads_syntax(ast.ListComp)
def read_list_comprehension(node: ast.ListComp, scope: Scope) -> Meaning:
    """Read the tensor [e for i in range(n)]."""
    if len(node.generators) > 1:
        raise scope.refusal(
            node,
            "a list comprehension with several `for`s is not in the tensor language",
            "Nest: [[e for j in range(m)] for i in range(n)].",
        )
    (generator,) = node.generators
    if generator.ifs:
        raise scope.refusal(
            node,
            "a list comprehension with `if` is not in the tensor language: its length would depend on a condition",
            "Put the condition on the element: [e if p else 0.0 for i in range(n)].",
        )
    found = read_iterable(generator.iter, scope)
    if isinstance(found, Group):
        return Group(tuple(_element_for_part(generator, part, node.elt, scope) for part in found.parts), True)
    name, inner, p = enter_loop(generator, found, scope, _index_name(generator.target))
    if p != TRUE:
        raise scope.refusal(
            node,
            "a list whose length depends on an index is not in the tensor language",
            "All rows must have one length: loop over the longest, with `e if k <= i else 0.0`.",
        )
    value = read_value(node.elt, inner)
    return Value(Gen(name, found.size, inner.with_lets(value.expr)), TensorKind(found.size, value.kind))


def _element_for_part(generator: ast.comprehension, part: Meaning, elt: ast.expr, scope: Scope) -> Meaning:
    inner = scope.inside()
    bind_target(generator.target, part, inner)
    value = read_value(elt, inner)
    return Value(inner.with_lets(value.expr), value.kind)


# ---- sums ----


def comprehension_sum(node: ast.GeneratorExp | ast.ListComp, scope: Scope) -> Expr:
    """Read sum(e for ... for ... if p) as directly nested Σ."""
    return nested_sum(node.generators, scope, TRUE, lambda inner: read_scalar(node.elt, inner))


def nested_sum(
    generators: Sequence[ast.comprehension], scope: Scope, p: Predicate, leaf: Callable[[Scope], Expr]
) -> Expr:  # fmt: skip
    """Return Σ over the `for`s of [p]·leaf; conditions move inwards, so that sums nest directly."""
    if not generators:
        return bracket_of(p, leaf(scope))
    first, *rest = generators
    if first.is_async:
        raise scope.refusal(first.iter, "an asynchronous loop is not in the tensor language", "Use a plain `for`.")
    found = read_iterable(first.iter, scope)
    if isinstance(found, Group):
        return _unrolled_sum(first, found, rest, scope, p, leaf)
    name, inner, q = enter_loop(first, found, scope, _index_name(first.target))
    if inner.lets:
        body = bracket_of(conjoin(p, q), inner.with_lets(nested_sum(rest, inner, TRUE, leaf)))
    else:
        body = _sum_body(inner, rest, conjoin(p, q), leaf)
    return Sum(name, found.size, body)


def _sum_body(inner: Scope, rest: Sequence[ast.comprehension], p: Predicate, leaf: Callable[[Scope], Expr]) -> Expr:
    """Return the body of a sum, with its lets inside the condition."""
    if rest:
        body = nested_sum(rest, inner, p, leaf)
        return inner.with_lets(body)
    body = leaf(inner)
    return bracket_of(p, inner.with_lets(body))


def _unrolled_sum(
    first: ast.comprehension, found: Group, rest: Sequence[ast.comprehension], scope: Scope, p: Predicate,
    leaf: Callable[[Scope], Expr],
) -> Expr:  # fmt: skip
    """Return a sum over constants term by term; `for y in [e]` is a let."""
    terms: Expr = Const(0)
    for part in found.parts:
        inner = scope.inside()
        bind_target(first.target, part, inner)
        q: Predicate = TRUE
        for test in first.ifs:
            r = read_truth(test, inner)
            q, inner.conditions = conjoin(q, r), (*inner.conditions, r)
        body = bracket_of(conjoin(p, q), inner.with_lets(nested_sum(rest, inner, TRUE, leaf)))
        terms = add_folded(terms, body)
    return terms
