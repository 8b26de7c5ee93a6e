"""Reading calls: what Python's own functions mean, scalar functions, and helpers, which are read in their place."""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.rulebook.registry import rules
from wengert.rulebook.syntax import definition
from wengert.tensor.language.terms import (
    TRUE,
    AffineExpr,
    Apply,
    BlackBox,
    Bracket,
    Const,
    Predicate,
    Sum,
    conjoin,
    disjoin,
    exists,
)
from wengert.tensor.reading.arguments import outside
from wengert.tensor.reading.comprehensions import entered, iteration, over, ranged, summed
from wengert.tensor.reading.conditions import opposite
from wengert.tensor.reading.functions import black_box
from wengert.tensor.reading.meanings import (
    REAL_KIND,
    Extreme,
    Group,
    Index,
    Iteration,
    Known,
    Meaning,
    RelationArgument,
    TensorKind,
    Truth,
    Value,
)
from wengert.tensor.reading.reading import (
    as_index,
    as_scalar,
    as_value,
    read,
    read_index,
    read_scalar,
    read_truth,
    read_value,
    reads,
    with_named_length,
)
from wengert.tensor.reading.rule_bodies import plus_folded
from wengert.tensor.reading.scopes import Scope
from wengert.tensor.reading.surface import attribute, bind_target, length
from wengert.values.callables import callable_name

MEANT: dict[Any, Callable[[ast.Call, Scope], Meaning]] = {}


def means(*functions: Any) -> Callable[[Any], Any]:
    """A decorator that enters what a call of these functions means."""

    def declare(reader: Any) -> Any:
        MEANT.update(dict.fromkeys(functions, reader))
        return reader

    return declare


@reads(ast.Call)
def call(node: ast.Call, scope: Scope) -> Meaning:
    f = read(node.func, scope)
    if isinstance(f, RelationArgument):
        at = tuple(as_index(read(a, scope), a, scope) for a in node.args)
        return f.given(*at)
    if not isinstance(f, Known):
        raise scope.refusal(node, f"{f} is called", "Call functions by their name.")
    return called(f.it, node, scope)


def called(f: Any, node: ast.Call, scope: Scope) -> Meaning:
    reader = _meant(f)
    if reader is not None:
        return reader(node, scope)
    if black_box(f) is not None:
        return scalar_call(f, node, scope)
    plain = getattr(f, "plain", None if f in rules else f)  # a tensor function has the Python function
    if isinstance(plain, types.FunctionType):
        return helper(plain, node, scope)
    raise scope.refusal(
        node,
        f"{callable_name(f)} is not known to the tensor language",
        "It calls scalar functions that have a rule by their partials (`@wengert.partials` gives one), and Python "
        "functions written in the language. Whole-array functions are written as comprehensions.",
    )


def _meant(f: Any) -> Callable[[ast.Call, Scope], Meaning] | None:
    try:
        return MEANT.get(f)
    except TypeError:
        return None


def positional(node: ast.Call, scope: Scope, *counts: int) -> list[ast.expr]:
    """The arguments of a call that takes them by position only."""
    if node.keywords or len(node.args) not in counts or any(isinstance(a, ast.Starred) for a in node.args):
        raise scope.refusal(
            node, "this way of calling it", f"It takes {' or '.join(map(str, counts))} plain arguments here."
        )
    return node.args


# ---- scalar functions ----


def scalar_call(f: Any, node: ast.Call, scope: Scope) -> Value:
    box = black_box(f, len(node.args))
    assert box is not None
    args = positional(node, scope, len(box.partials))
    return Value(Apply(box, tuple(read_scalar(a, scope) for a in args)), REAL_KIND)


@means(builtins.max)
def largest(node: ast.Call, scope: Scope) -> Meaning:
    return extremum(builtins.max, node, scope)


@means(builtins.min)
def least(node: ast.Call, scope: Scope) -> Meaning:
    return extremum(builtins.min, node, scope)


@means(builtins.abs)
def absolute(node: ast.Call, scope: Scope) -> Meaning:
    """|a| of an index is the larger of a and -a."""
    (x,) = positional(node, scope, 1)
    found = with_named_length(read(x, scope))
    if isinstance(found, Index):
        value = scope.building.bounds.value(found.affine)
        return Extreme(True, (found.affine, -found.affine)) if value is None else Index(AffineExpr(abs(value)))
    return Value(Apply(the_box(builtins.abs), (as_scalar(found, x, scope),)), REAL_KIND)


def the_box(f: Any) -> BlackBox:
    box = black_box(f)
    assert box is not None
    return box


def extremum(f: Any, node: ast.Call, scope: Scope) -> Meaning:
    """max(a, b, ...) or min of two or more numbers; of sizes it is a size."""
    if len(node.args) < 2 or node.keywords:
        raise scope.refusal(node, "an extremum over an array", "max(a, b) of single numbers is in the language.")
    found = [with_named_length(read(a, scope)) for a in node.args]
    known = [scope.building.bounds.value(m.affine) for m in found if isinstance(m, Index)]
    if len(known) == len(found) and None not in known:
        return Index(AffineExpr(f(k for k in known if k is not None)))
    if len(known) == len(found):
        return Extreme(f is builtins.max, tuple(m.affine for m in found if isinstance(m, Index)))
    box = the_box(f)
    numbers = [as_scalar(m, a, scope) for m, a in zip(found, node.args, strict=True)]
    result = numbers[0]
    for other in numbers[1:]:
        result = Apply(box, (result, other))
    return Value(result, REAL_KIND)


@means(builtins.float, np.float64)
def as_float(node: ast.Call, scope: Scope) -> Meaning:
    (x,) = positional(node, scope, 1)
    return Value(read_scalar(x, scope), REAL_KIND)


@means(np.square)
def square(node: ast.Call, scope: Scope) -> Meaning:
    (x,) = positional(node, scope, 1)
    power = ast.BinOp(x, ast.Pow(), ast.Constant(2))
    return read(ast.copy_location(ast.fix_missing_locations(ast.copy_location(power, node)), node), scope)


# ---- arrays and sizes ----


@means(np.array, np.asarray, builtins.list)
def same(node: ast.Call, scope: Scope) -> Meaning:
    """A function that makes an array, of what is one already."""
    (x,) = positional(node, scope, 1)
    if isinstance(x, ast.GeneratorExp):
        x = ast.copy_location(ast.ListComp(x.elt, x.generators), x)
    return read_value(x, scope)


@means(builtins.len)
def len_(node: ast.Call, scope: Scope) -> Meaning:
    (x,) = positional(node, scope, 1)
    meaning = read(x, scope)
    if isinstance(meaning, Value) and isinstance(meaning.kind, TensorKind):
        return length(meaning.kind)
    if isinstance(meaning, Group):
        return Index(AffineExpr(len(meaning.parts)))
    if isinstance(meaning, RelationArgument):
        found = attribute(ast.copy_location(ast.Attribute(x, "shape"), node), scope)
        return found.parts[0] if isinstance(found, Group) else found
    raise scope.refusal(node, f"the length of {meaning}", "Arrays have one.")


@means(builtins.range)
def range_(node: ast.Call, scope: Scope) -> Meaning:
    first, *rest = positional(node, scope, 1, 2, 3)
    starts = ends_of(first, True, scope) if rest else (AffineExpr(0),)
    stops = ends_of(rest[0] if rest else first, False, scope)
    step = scope.building.bounds.value(read_index(rest[1], scope)) if len(rest) == 2 else 1
    if step is None:
        raise scope.refusal(node, "a step that depends on an index", "Steps are constants or sizes.")
    return ranged(starts, stops, step, node, scope)


def ends_of(node: ast.expr, largest: bool, scope: Scope) -> tuple[AffineExpr, ...]:
    """Return the bounds that a range starts at, or stops at: of several the largest start, the least stop."""
    found = read(node, scope)
    if isinstance(found, Extreme) and found.largest == largest:
        return found.of
    return (as_index(found, node, scope),)


@means(builtins.enumerate)
def enumerate_(node: ast.Call, scope: Scope) -> Meaning:
    found = _iterated(positional(node, scope, 1)[0], scope)
    return Iteration(found.size, lambda i: Group((Index(i), found.at(i))), found.guard)


@means(builtins.zip)
def zip_(node: ast.Call, scope: Scope) -> Meaning:
    found = [_iterated(a, scope) for a in node.args]
    bounds = scope.building.bounds
    if not found or len({bounds.value(part.size) for part in found}) > 1:
        raise scope.refusal(node, "a zip of different lengths", "Loop over range(n) of the shortest.")
    return Iteration(
        found[0].size,
        lambda i: Group(tuple(part.at(i) for part in found)),
        lambda i: conjoin(*(part.guard(i) for part in found)),
    )


@means(builtins.reversed)
def reversed_(node: ast.Call, scope: Scope) -> Meaning:
    found = _iterated(positional(node, scope, 1)[0], scope)
    return Iteration(found.size, lambda i: found.at(found.size - 1 - i), lambda i: found.guard(found.size - 1 - i))


def _iterated(node: ast.expr, scope: Scope) -> Iteration:
    found = iteration(node, scope)
    if isinstance(found, Group):
        return over(scope.bind("t", as_value(Group(found.parts, True), node, scope)), node, scope)
    return found


# ---- sums and quantifiers ----


@means(builtins.sum)
def sum_(node: ast.Call, scope: Scope) -> Meaning:
    terms, *start = positional(node, scope, 1, 2)
    if isinstance(terms, (ast.GeneratorExp, ast.ListComp)):
        expr = summed(terms, scope)
    else:
        found = iteration(terms, scope)
        if isinstance(found, Group):
            expr = Const(0)
            for part in found.parts:
                expr = plus_folded(expr, as_scalar(part, terms, scope))
        else:
            name, i = scope.building.index("i", found.size)
            p = found.guard(i)
            body = as_scalar(found.at(i), terms, scope.inside(p))
            expr = Sum(name, found.size, body if p == TRUE else Bracket(p, body))
    return Value(plus_folded(expr, read_scalar(start[0], scope)) if start else expr, REAL_KIND)


@means(builtins.any)
def any_(node: ast.Call, scope: Scope) -> Meaning:
    return Truth(_exists(node, scope, negated=False))


@means(builtins.all)
def all_(node: ast.Call, scope: Scope) -> Meaning:
    """all(p ...), as not any(not p ...)."""
    return Truth(opposite(_exists(node, scope, negated=True), scope))


def _exists(node: ast.Call, scope: Scope, negated: bool) -> Predicate:
    (tests,) = positional(node, scope, 1)
    if not isinstance(tests, (ast.GeneratorExp, ast.ListComp)):
        raise scope.refusal(node, "any or all of an array", "Write any(p for j in range(m)).")
    return _some(tests.generators, tests.elt, scope, negated)


def _some(generators: Sequence[ast.comprehension], test: ast.expr, scope: Scope, negated: bool) -> Predicate:
    if not generators:
        p = read_truth(test, scope)
        return opposite(p, scope) if negated else p
    first, *rest = generators
    found = iteration(first.iter, scope)
    if isinstance(found, Group):
        return disjoin(*(_of_part(first, part, rest, test, scope, negated) for part in found.parts))
    name, inner, p = entered(first, found, scope, "j")
    return exists([(name, found.size)], conjoin(p, _some(rest, test, inner, negated)))


def _of_part(
    first: ast.comprehension, part: Meaning, rest: Sequence[ast.comprehension], test: ast.expr, scope: Scope,
    negated: bool,
) -> Predicate:  # fmt: skip
    inner = scope.inside()
    bind_target(first.target, part, inner)
    return _some(rest, test, inner, negated)


# ---- helpers ----


HELPERS: list[Callable[[types.FunctionType, ast.FunctionDef, dict[str, Meaning], ast.AST, Scope], Meaning]] = []


def helper(f: types.FunctionType, node: ast.Call, scope: Scope) -> Meaning:
    """A Python function of the language, read in the place of its call."""
    if f in scope.calls:
        raise scope.refusal(
            node, f"{f.__name__} calls itself", "Recursion is not in the language; loops are comprehensions."
        )
    tree = definition(f)
    if tree is None:
        raise scope.refusal(
            node, f"the source of {f.__name__} is not known", "Define it with `def` in a file or a notebook."
        )
    names = _bound(f, tree, node, scope)
    return HELPERS[0](f, tree, names, node, scope)


def _bound(f: types.FunctionType, tree: ast.FunctionDef, node: ast.Call, scope: Scope) -> dict[str, Meaning]:
    """The parameters of a helper, with what they mean in this call."""
    given = {k.arg: read(k.value, scope) for k in node.keywords if k.arg is not None}
    names = [a.arg for a in tree.args.posonlyargs + tree.args.args]
    for name, a in zip(names, node.args, strict=False):
        given[name] = read(a, scope)
    defaults = dict(zip(reversed(names), reversed(f.__defaults__ or ()), strict=False)) | (f.__kwdefaults__ or {})
    every = names + [a.arg for a in tree.args.kwonlyargs]
    odd = tree.args.vararg or tree.args.kwarg or len(node.args) > len(names) or not set(given) <= set(every)
    missing = [name for name in every if name not in given and name not in defaults]
    if odd or missing:
        raise scope.refusal(
            node, f"this call does not fit {f.__name__}", "Pass its parameters one by one; it has no *args."
        )
    for name in every:
        if name not in given:
            given[name] = outside(name, defaults[name], scope.building)
    return {name: _once(name, given[name], scope) for name in every}


def _once(name: str, meaning: Meaning, scope: Scope) -> Meaning:
    if isinstance(meaning, Value):
        return scope.bind(name, meaning)
    if isinstance(meaning, Group):
        return Group(tuple(_once(name, part, scope) for part in meaning.parts), meaning.is_list)
    return meaning
