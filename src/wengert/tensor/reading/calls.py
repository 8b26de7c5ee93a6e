"""Read calls: of Python's own functions, of scalar functions, and of helper functions, which are inlined."""

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
    Bracket,
    Const,
    Predicate,
    Sum,
    conjoin,
    disjoin,
    exists,
)
from wengert.tensor.reading.arguments import read_outer_value
from wengert.tensor.reading.blocks import read_function
from wengert.tensor.reading.comprehensions import (
    array_iteration,
    comprehension_sum,
    enter_loop,
    range_iteration,
    read_iterable,
)
from wengert.tensor.reading.conditions import opposite
from wengert.tensor.reading.functions import black_box, known_black_box
from wengert.tensor.reading.meanings import (
    REAL_KIND,
    Extremum,
    Group,
    Index,
    Iteration,
    KnownObject,
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
    read_expr,
    read_index,
    read_scalar,
    read_truth,
    read_value,
    reads_syntax,
    with_named_length,
)
from wengert.tensor.reading.rule_bodies import add_folded
from wengert.tensor.reading.scopes import Scope
from wengert.tensor.reading.surface import axis_length, bind_target, read_attribute
from wengert.values.callables import callable_name

CALL_READERS: dict[Any, Callable[[ast.Call, Scope], Meaning]] = {}


def reads_calls_of(*functions: Any) -> Callable[[Any], Any]:
    """Return a decorator that registers a reader for calls of these functions."""

    def declare(reader: Any) -> Any:
        CALL_READERS.update(dict.fromkeys(functions, reader))
        return reader

    return declare


@reads_syntax(ast.Call)
def read_call(node: ast.Call, scope: Scope) -> Meaning:
    f = read_expr(node.func, scope)
    if isinstance(f, RelationArgument):
        at = tuple(as_index(read_expr(a, scope), a, scope) for a in node.args)
        return f.indexed(*at)
    if not isinstance(f, KnownObject):
        raise scope.refusal(node, f"{f} is called as a function", "Call functions by their name.")
    return read_call_of(f.value, node, scope)


def read_call_of(f: Any, node: ast.Call, scope: Scope) -> Meaning:
    reader = _reader_of_calls(f)
    if reader is not None:
        return reader(node, scope)
    if black_box(f) is not None:
        return read_scalar_call(f, node, scope)
    plain = getattr(f, "plain", None if f in rules else f)  # a tensor function holds its Python function
    if isinstance(plain, types.FunctionType):
        return read_helper(plain, node, scope)
    raise scope.refusal(
        node,
        f"{callable_name(f)} is not known to the tensor language",
        "You can call scalar functions with a rule of partials (`@wengert.partials` declares one), and Python "
        "functions written in the language. Write functions of whole arrays as comprehensions.",
    )


def _reader_of_calls(f: Any) -> Callable[[ast.Call, Scope], Meaning] | None:
    try:
        return CALL_READERS.get(f)
    except TypeError:
        return None


def positional(node: ast.Call, scope: Scope, *counts: int) -> list[ast.expr]:
    """Return the arguments of a call that takes positional arguments only, as many as one of `counts`."""
    if node.keywords or len(node.args) not in counts or any(isinstance(a, ast.Starred) for a in node.args):
        raise scope.refusal(
            node,
            "these arguments are not supported",
            f"Pass {' or '.join(map(str, counts))} by position, no others.",
        )
    return node.args


# ---- scalar functions ----


def read_scalar_call(f: Any, node: ast.Call, scope: Scope) -> Value:
    box = black_box(f, len(node.args))
    assert box is not None
    args = positional(node, scope, len(box.partials))
    return Value(Apply(box, tuple(read_scalar(a, scope) for a in args)), REAL_KIND)


@reads_calls_of(builtins.max)
def read_max(node: ast.Call, scope: Scope) -> Meaning:
    return read_extremum(builtins.max, node, scope)


@reads_calls_of(builtins.min)
def read_min(node: ast.Call, scope: Scope) -> Meaning:
    return read_extremum(builtins.min, node, scope)


@reads_calls_of(builtins.abs)
def read_abs(node: ast.Call, scope: Scope) -> Meaning:
    """Read |a|: of an index it is the larger of a and -a."""
    (x,) = positional(node, scope, 1)
    found = with_named_length(read_expr(x, scope))
    if isinstance(found, Index):
        value = scope.builder.bounds.value(found.affine)
        return Extremum(True, (found.affine, -found.affine)) if value is None else Index(AffineExpr(abs(value)))
    return Value(Apply(known_black_box(builtins.abs), (as_scalar(found, x, scope),)), REAL_KIND)


def read_extremum(f: Any, node: ast.Call, scope: Scope) -> Meaning:
    """Read max(a, b, ...) or min: of sizes it is a size, of indices an Extremum, else a call of black boxes."""
    if len(node.args) < 2 or node.keywords:
        raise scope.refusal(
            node,
            f"{f.__name__} of one argument, or with keywords, is not in the tensor language",
            f"Pass the numbers: {f.__name__}(a, b).",
        )
    found = [with_named_length(read_expr(a, scope)) for a in node.args]
    known = [scope.builder.bounds.value(m.affine) for m in found if isinstance(m, Index)]
    if len(known) == len(found) and None not in known:
        return Index(AffineExpr(f(k for k in known if k is not None)))
    if len(known) == len(found):
        return Extremum(f is builtins.max, tuple(m.affine for m in found if isinstance(m, Index)))
    box = known_black_box(f)
    numbers = [as_scalar(m, a, scope) for m, a in zip(found, node.args, strict=True)]
    result = numbers[0]
    for other in numbers[1:]:
        result = Apply(box, (result, other))
    return Value(result, REAL_KIND)


@reads_calls_of(builtins.float, np.float64)
def read_float(node: ast.Call, scope: Scope) -> Meaning:
    (x,) = positional(node, scope, 1)
    return Value(read_scalar(x, scope), REAL_KIND)


@reads_calls_of(np.square)
def read_square(node: ast.Call, scope: Scope) -> Meaning:
    (x,) = positional(node, scope, 1)
    power = ast.BinOp(x, ast.Pow(), ast.Constant(2))
    return read_expr(ast.copy_location(ast.fix_missing_locations(ast.copy_location(power, node)), node), scope)


# ---- arrays and sizes ----


@reads_calls_of(np.array, np.asarray, builtins.list)
def read_array_conversion(node: ast.Call, scope: Scope) -> Meaning:
    """Read a conversion to an array: its argument is one already."""
    (x,) = positional(node, scope, 1)
    if isinstance(x, ast.GeneratorExp):
        x = ast.copy_location(ast.ListComp(x.elt, x.generators), x)
    return read_value(x, scope)


@reads_calls_of(builtins.len)
def read_len(node: ast.Call, scope: Scope) -> Meaning:
    (x,) = positional(node, scope, 1)
    meaning = read_expr(x, scope)
    if isinstance(meaning, Value) and isinstance(meaning.kind, TensorKind):
        return axis_length(meaning.kind)
    if isinstance(meaning, Group):
        return Index(AffineExpr(len(meaning.parts)))
    if isinstance(meaning, RelationArgument):
        found = read_attribute(ast.copy_location(ast.Attribute(x, "shape"), node), scope)
        return found.parts[0] if isinstance(found, Group) else found
    raise scope.refusal(
        node, f"the length of {meaning} is not in the tensor language", "Take that of an array, a tuple or a relation."
    )


@reads_calls_of(builtins.range)
def read_range(node: ast.Call, scope: Scope) -> Meaning:
    first, *rest = positional(node, scope, 1, 2, 3)
    starts = range_ends(first, True, scope) if rest else (AffineExpr(0),)
    stops = range_ends(rest[0] if rest else first, False, scope)
    step = scope.builder.bounds.value(read_index(rest[1], scope)) if len(rest) == 2 else 1
    if step is None:
        raise scope.refusal(
            node, "a step that depends on an index is not in the tensor language", "Use a constant or a size."
        )
    return range_iteration(starts, stops, step, node, scope)


def range_ends(node: ast.expr, largest: bool, scope: Scope) -> tuple[AffineExpr, ...]:
    """Return the starts or stops of a range: a range runs from the largest of its starts to the least of its stops."""
    found = read_expr(node, scope)
    if isinstance(found, Extremum) and found.largest == largest:
        return found.of
    return (as_index(found, node, scope),)


@reads_calls_of(builtins.enumerate)
def read_enumerate(node: ast.Call, scope: Scope) -> Meaning:
    found = _read_array_or_range(positional(node, scope, 1)[0], scope)
    return Iteration(found.size, lambda i: Group((Index(i), found.at(i))), found.guard)


@reads_calls_of(builtins.zip)
def read_zip(node: ast.Call, scope: Scope) -> Meaning:
    found = [_read_array_or_range(a, scope) for a in node.args]
    bounds = scope.builder.bounds
    if not found or len({bounds.value(part.size) for part in found}) > 1:
        raise scope.refusal(
            node,
            "a zip of different lengths is not in the tensor language",
            "Loop over range(n), with n the shortest length.",
        )
    return Iteration(
        found[0].size,
        lambda i: Group(tuple(part.at(i) for part in found)),
        lambda i: conjoin(*(part.guard(i) for part in found)),
    )


@reads_calls_of(builtins.reversed)
def read_reversed(node: ast.Call, scope: Scope) -> Meaning:
    found = _read_array_or_range(positional(node, scope, 1)[0], scope)
    return Iteration(found.size, lambda i: found.at(found.size - 1 - i), lambda i: found.guard(found.size - 1 - i))


def _read_array_or_range(node: ast.expr, scope: Scope) -> Iteration:
    found = read_iterable(node, scope)
    if isinstance(found, Group):
        return array_iteration(scope.bind("t", as_value(Group(found.parts, True), node, scope)), node, scope)
    return found


# ---- sums and quantifiers ----


@reads_calls_of(builtins.sum)
def read_sum(node: ast.Call, scope: Scope) -> Meaning:
    terms, *start = positional(node, scope, 1, 2)
    if isinstance(terms, (ast.GeneratorExp, ast.ListComp)):
        expr = comprehension_sum(terms, scope)
    else:
        found = read_iterable(terms, scope)
        if isinstance(found, Group):
            expr = Const(0)
            for part in found.parts:
                expr = add_folded(expr, as_scalar(part, terms, scope))
        else:
            name, i = scope.builder.index("i", found.size)
            p = found.guard(i)
            body = as_scalar(found.at(i), terms, scope.inside(p))
            expr = Sum(name, found.size, body if p == TRUE else Bracket(p, body))
    return Value(add_folded(expr, read_scalar(start[0], scope)) if start else expr, REAL_KIND)


@reads_calls_of(builtins.any)
def read_any(node: ast.Call, scope: Scope) -> Meaning:
    return Truth(_read_any(node, scope, negated=False))


@reads_calls_of(builtins.all)
def read_all(node: ast.Call, scope: Scope) -> Meaning:
    """Read all(p ...) as not any(not p ...)."""
    return Truth(opposite(_read_any(node, scope, negated=True), scope))


def _read_any(node: ast.Call, scope: Scope, negated: bool) -> Predicate:
    (tests,) = positional(node, scope, 1)
    if not isinstance(tests, (ast.GeneratorExp, ast.ListComp)):
        raise scope.refusal(
            node, "any or all of an array is not in the tensor language", "Write any(p for j in range(m))."
        )
    return _any_of(tests.generators, tests.elt, scope, negated)


def _any_of(generators: Sequence[ast.comprehension], test: ast.expr, scope: Scope, negated: bool) -> Predicate:
    if not generators:
        p = read_truth(test, scope)
        return opposite(p, scope) if negated else p
    first, *rest = generators
    found = read_iterable(first.iter, scope)
    if isinstance(found, Group):
        return disjoin(*(_any_for_part(first, part, rest, test, scope, negated) for part in found.parts))
    name, inner, p = enter_loop(first, found, scope, "j")
    return exists([(name, found.size)], conjoin(p, _any_of(rest, test, inner, negated)))


def _any_for_part(
    first: ast.comprehension, part: Meaning, rest: Sequence[ast.comprehension], test: ast.expr, scope: Scope,
    negated: bool,
) -> Predicate:  # fmt: skip
    inner = scope.inside()
    bind_target(first.target, part, inner)
    return _any_of(rest, test, inner, negated)


# ---- helpers ----


def read_helper(f: types.FunctionType, node: ast.Call, scope: Scope) -> Meaning:
    """Inline a call of a Python function written in the language."""
    if f in scope.calls:
        raise scope.refusal(
            node, f"{f.__name__} calls itself", "Recursion is not in the language: write a comprehension."
        )
    tree = definition(f)
    if tree is None:
        raise scope.refusal(
            node, f"the source of {f.__name__} was not found", "Define it with `def` in a file or a notebook."
        )
    names = _helper_arguments(f, tree, node, scope)
    return read_function(f, tree, names, node, scope)


def _helper_arguments(f: types.FunctionType, tree: ast.FunctionDef, node: ast.Call, scope: Scope) -> dict[str, Meaning]:
    """Return the parameters of a helper function with their meanings in this call."""
    given = {k.arg: read_expr(k.value, scope) for k in node.keywords if k.arg is not None}
    names = [a.arg for a in tree.args.posonlyargs + tree.args.args]
    for name, a in zip(names, node.args, strict=False):
        given[name] = read_expr(a, scope)
    defaults = dict(zip(reversed(names), reversed(f.__defaults__ or ()), strict=False)) | (f.__kwdefaults__ or {})
    every = names + [a.arg for a in tree.args.kwonlyargs]
    odd = tree.args.vararg or tree.args.kwarg or len(node.args) > len(names) or not set(given) <= set(every)
    missing = [name for name in every if name not in given and name not in defaults]
    if odd or missing:
        raise scope.refusal(
            node,
            f"these arguments do not fit the parameters of {f.__name__}",
            "Pass each parameter once; *args and **kwargs are not supported.",
        )
    for name in every:
        if name not in given:
            given[name] = read_outer_value(name, defaults[name], scope.builder)
    return {name: _bind_argument(name, given[name], scope) for name in every}


def _bind_argument(name: str, meaning: Meaning, scope: Scope) -> Meaning:
    if isinstance(meaning, Value):
        return scope.bind(name, meaning)
    if isinstance(meaning, Group):
        return Group(tuple(_bind_argument(name, part, scope) for part in meaning.parts), meaning.is_list)
    return meaning
