"""Comprehensions: `[e for i in range(n)]` generates, `sum(e for k in range(m) if p)` sums."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from wengert.tensor.language.terms import (
    TRUE,
    AffineExpr,
    Bracket,
    Const,
    Expr,
    Gen,
    Predicate,
    Sum,
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
from wengert.tensor.reading.reading import element, read, read_scalar, read_truth, read_value, reads
from wengert.tensor.reading.rule_bodies import plus_folded
from wengert.tensor.reading.scopes import Scope
from wengert.tensor.reading.surface import bind_target


def iteration(node: ast.expr, scope: Scope) -> Iteration | Group:
    """Read the iterable of a `for`: a range, an array, or a tuple or list written out, which is unrolled."""
    meaning = read(node, scope)
    if isinstance(meaning, (Iteration, Group)):
        return meaning
    if isinstance(meaning, Value) and isinstance(meaning.kind, TensorKind):
        return over(scope.bind("t", meaning), node, scope)
    if isinstance(meaning, RelationArgument):
        raise scope.refusal(node, "a loop over a relation", "Loop over the ranges of its indices, with `if R[i, j]`.")
    raise scope.refusal(node, f"a loop over {meaning}", "Loops run over range(n), an array, or constants written out.")


def over(value: Value, node: ast.AST, scope: Scope) -> Iteration:
    """The Iteration over the elements of an array; its index is in range by itself."""
    kind = value.kind
    assert isinstance(kind, TensorKind)
    size = size_of(kind)
    return Iteration(size, lambda i: element(value, i, node, scope), lambda i: TRUE)


def ranged(
    starts: tuple[AffineExpr, ...], stops: tuple[AffineExpr, ...], step: int, node: ast.AST, scope: Scope
) -> Iteration:  # fmt: skip
    """The Iteration over range(max(starts), min(stops), step); where bounds depend on indices, over all, guarded."""
    bounds = scope.building.bounds
    if step != 1 and len(starts) == len(stops) == 1:
        return _stepped(starts[0], stops[0], step, node, scope)
    if step != 1:
        raise scope.refusal(node, "a range with a step between extrema", "Loop over range(n) with a condition.")
    low = max((bounds.corner(a, high=False) for a in starts), key=lambda a: bounds.value(a) or 0)
    high = min((bounds.corner(a, high=True) for a in stops), key=lambda a: bounds.value(a) or 0)
    size = high - low

    def guard(i: AffineExpr) -> Predicate:
        after = [compare_to_zero(">=", low + i - start) for start in starts if low != start]
        return conjoin(*after, *[compare_to_zero(">", stop - low - i) for stop in stops if high != stop])

    return Iteration(clipped(size, scope), lambda i: Index(low + i), guard)


def clipped(size: AffineExpr, scope: Scope) -> AffineExpr:
    """A size as the length of a range: one that ends before it begins is empty."""
    value = scope.building.bounds.value(size)
    return AffineExpr(0) if value is not None and value < 0 else size


def _stepped(start: AffineExpr, stop: AffineExpr, step: int, node: ast.AST, scope: Scope) -> Iteration:
    first, last = scope.building.bounds.value(start), scope.building.bounds.value(stop)
    if first is None or last is None or step == 0:
        raise scope.refusal(
            node,
            "a range with a step whose bounds depend on an index",
            "Loop over range(n) with a condition on the index.",
        )
    return Iteration(AffineExpr(len(range(first, last, step))), lambda i: Index(start + i * step), lambda i: TRUE)


def entered(
    generator: ast.comprehension, found: Iteration, scope: Scope, index: str
) -> tuple[str, Scope, Predicate]:  # fmt: skip
    """The scope inside one `for`, its index, and the conditions on it."""
    name, i = scope.building.index(index, found.size)
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


@reads(ast.ListComp)
def generated(node: ast.ListComp, scope: Scope) -> Meaning:
    """The tensor [e for i in range(n)]."""
    if len(node.generators) > 1:
        raise scope.refusal(
            node,
            "a list over several `for`s, which is one long list",
            "Nest: [[e for j in range(m)] for i in range(n)].",
        )
    (generator,) = node.generators
    if generator.ifs:
        raise scope.refusal(
            node,
            "a list with `if`, whose length depends on the data",
            "Put the condition on the element: [e if p else 0.0 for i in range(n)].",
        )
    found = iteration(generator.iter, scope)
    if isinstance(found, Group):
        return Group(tuple(_unrolled(generator, part, node.elt, scope) for part in found.parts), True)
    name, inner, p = entered(generator, found, scope, _index_name(generator.target))
    if p != TRUE:
        raise scope.refusal(
            node,
            "a list whose length depends on an index",
            "Rows have one length: loop over the longest, with `e if k <= i else 0.0`.",
        )
    value = read_value(node.elt, inner)
    return Value(Gen(name, found.size, inner.closed(value.expr)), TensorKind(found.size, value.kind))


def _unrolled(generator: ast.comprehension, part: Meaning, elt: ast.expr, scope: Scope) -> Meaning:
    inner = scope.inside()
    bind_target(generator.target, part, inner)
    value = read_value(elt, inner)
    return Value(inner.closed(value.expr), value.kind)


# ---- sums ----


def summed(node: ast.GeneratorExp | ast.ListComp, scope: Scope) -> Expr:
    """The sum sum(e for ... for ... if p), as one joint Σ."""
    return total(node.generators, scope, TRUE, lambda inner: read_scalar(node.elt, inner))


def total(
    generators: Sequence[ast.comprehension], scope: Scope, p: Predicate, leaf: Callable[[Scope], Expr]
) -> Expr:  # fmt: skip
    """Σ over the `for`s of [p]·leaf; conditions move inwards, so that nested sums stand directly in each other."""
    if not generators:
        return bracket_of(p, leaf(scope))
    first, *rest = generators
    if first.is_async:
        raise scope.refusal(first.iter, "an asynchronous loop", "Use a plain one.")
    found = iteration(first.iter, scope)
    if isinstance(found, Group):
        return _written_out(first, found, rest, scope, p, leaf)
    name, inner, q = entered(first, found, scope, _index_name(first.target))
    if inner.lets:
        body = bracket_of(conjoin(p, q), inner.closed(total(rest, inner, TRUE, leaf)))
    else:
        body = _within(inner, rest, conjoin(p, q), leaf)
    return Sum(name, found.size, body)


def _within(inner: Scope, rest: Sequence[ast.comprehension], p: Predicate, leaf: Callable[[Scope], Expr]) -> Expr:
    """The part of a sum inside one `for`, with the lets that it makes inside the condition."""
    if rest:
        body = total(rest, inner, p, leaf)
        return inner.closed(body)
    body = leaf(inner)
    return bracket_of(p, inner.closed(body))


def _written_out(
    first: ast.comprehension, found: Group, rest: Sequence[ast.comprehension], scope: Scope, p: Predicate,
    leaf: Callable[[Scope], Expr],
) -> Expr:  # fmt: skip
    """A sum over constants, term by term; `for y in [e]` is a let."""
    terms: Expr = Const(0)
    for part in found.parts:
        inner = scope.inside()
        bind_target(first.target, part, inner)
        q: Predicate = TRUE
        for test in first.ifs:
            r = read_truth(test, inner)
            q, inner.conditions = conjoin(q, r), (*inner.conditions, r)
        body = bracket_of(conjoin(p, q), inner.closed(total(rest, inner, TRUE, leaf)))
        terms = plus_folded(terms, body)
    return terms


def bracket_of(p: Predicate, e: Expr) -> Expr:
    return e if p == TRUE else Bracket(p, e)
