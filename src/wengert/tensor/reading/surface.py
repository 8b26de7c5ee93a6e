"""Reading names, constants, tuples and subscripts, and what an assignment names."""

from __future__ import annotations

import ast
import types

from wengert.rulebook.syntax import UNKNOWN, named_object
from wengert.tensor.language.terms import (
    FALSE,
    TRUE,
    AffineExpr,
    Const,
)
from wengert.tensor.reading.arguments import outside
from wengert.tensor.reading.gathers import gathered, whole_numbers
from wengert.tensor.reading.meanings import (
    REAL_KIND,
    Group,
    Index,
    Iteration,
    Known,
    Length,
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
    as_value,
    component,
    element,
    matched,
    read,
    reads,
    with_named_length,
)
from wengert.tensor.reading.scopes import Outside, Scope


@reads(ast.Name)
def name(node: ast.Name, scope: Scope) -> Meaning:
    if node.id in scope.names:
        return scope.names[node.id]
    return around(node, node.id, scope)


def around(node: ast.expr, text: str, scope: Scope) -> Meaning:
    """The meaning of a global, closure or module attribute; the program is right only for that object."""
    building, key = scope.building, (scope.function, text)
    if key not in building.outside:
        it = named_object(node, scope.function)
        if it is UNKNOWN:
            raise scope.refusal(
                node, f"{text} is not known here", "Give it a value before; a name is known from there on."
            )
        meaning = outside(text.rpartition(".")[2], it, building)
        building.outside[key] = Outside(node, scope.function, it, meaning)
    return building.outside[key].meaning


@reads(ast.Constant)
def constant(node: ast.Constant, scope: Scope) -> Meaning:
    value = node.value
    if isinstance(value, bool):
        return Truth(TRUE if value else FALSE)
    if isinstance(value, int):
        return Index(AffineExpr(value))
    if isinstance(value, float):
        return Value(Const(value), REAL_KIND)
    if isinstance(value, complex):
        raise scope.refusal(node, "a complex number", "The tensor language has real numbers.")
    return Known(value)


@reads(ast.Attribute)
def attribute(node: ast.Attribute, scope: Scope) -> Meaning:
    base = read(node.value, scope)
    if isinstance(base, Known) and isinstance(base.it, types.ModuleType):
        return around(node, ast.unparse(node), scope)
    if node.attr == "shape" and isinstance(base, (Value, RelationArgument)):
        return Group(tuple(_axes(base)))
    if node.attr == "T":
        raise scope.refusal(node, "a transposed array", "Write the indices the other way round: A[j, i].")
    raise scope.refusal(node, f"the attribute {node.attr} of {base}", "Only .shape is known. Pass parts as arguments.")


def _axes(of: Value | RelationArgument) -> list[Meaning]:
    if isinstance(of, RelationArgument):
        return [Length(d) for d in of.shape[len(of.at) :]]
    found: list[Meaning] = []
    kind = of.kind
    while isinstance(kind, TensorKind):
        found.append(length(kind))
        kind = kind.of
    return found


def length(kind: TensorKind) -> Meaning:
    return Index(kind.size) if isinstance(kind.size, AffineExpr) else settled_or_open(kind)


def settled_or_open(kind: TensorKind) -> Meaning:
    size = kind.size
    assert not isinstance(size, AffineExpr)
    return Length(size) if size.known is None else Index(size.known)


# ---- tuples, lists and subscripts ----


@reads(ast.Tuple, ast.List)
def group(node: ast.Tuple | ast.List, scope: Scope) -> Meaning:
    for part in node.elts:
        if isinstance(part, ast.Starred):
            raise scope.refusal(part, "an unpacking *", "Write the parts out.")
    return Group(tuple(read(part, scope) for part in node.elts), isinstance(node, ast.List))


@reads(ast.Subscript)
def subscript(node: ast.Subscript, scope: Scope) -> Meaning:
    base = read(node.value, scope)
    places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for place in places:
        if isinstance(place, ast.Slice) or (isinstance(place, ast.Constant) and place.value in (None, ...)):
            raise scope.refusal(node, "a slice", "Write the elements: [x[i + 1] for i in range(len(x) - 1)].")
    for place in places:
        base = _part(base, place, node, scope)
    return base


def _part(base: Meaning, place: ast.expr, node: ast.Subscript, scope: Scope) -> Meaning:
    """The meaning of base[place], with one index: a part of a tuple, an element, or an element by a gather."""
    if isinstance(base, Group):
        k = _literal(place, scope)
        if k is None or not -len(base.parts) <= k < len(base.parts):
            raise scope.refusal(
                node, f"{base} is indexed by {ast.unparse(place)}", "Its parts are found by literal numbers."
            )
        return base.parts[k]
    if isinstance(base, Value) and isinstance(base.kind, TupleKind):
        k = _literal(place, scope)
        if k is None:
            raise scope.refusal(
                node, f"{base} is indexed by {ast.unparse(place)}", "Its parts are found by literal numbers."
            )
        return component(base, k, node, scope)
    found = with_named_length(read(place, scope))
    numbers = whole_numbers(found, scope) if isinstance(found, Value) and isinstance(base, Value) else None
    if numbers is not None and isinstance(base, Value):
        return gathered(base, numbers, node, scope)
    at = as_index(found, place, scope)
    if isinstance(base, RelationArgument):
        axis = len(base.at)
        if axis < len(base.shape):
            at = _from_the_end(at, place, matched(at, base.shape[axis], scope))
        return base.given(at)
    value = as_value(base, node, scope)
    if isinstance(value.kind, TensorKind):
        at = _from_the_end(at, place, size_of(value.kind)) if _is_negative(place) else at
    return element(value, at, node, scope)


def _literal(place: ast.expr, scope: Scope) -> int | None:
    meaning = with_named_length(read(place, scope))
    return scope.building.bounds.value(meaning.affine) if isinstance(meaning, Index) else None


def _is_negative(place: ast.expr) -> bool:
    return (
        isinstance(place, ast.UnaryOp) and isinstance(place.op, ast.USub) and isinstance(place.operand, ast.Constant)
    )  # fmt: skip


def _from_the_end(at: AffineExpr, place: ast.expr, size: AffineExpr) -> AffineExpr:
    """The place of x[-1], the last element, where it is written so; x[i - 1] never counts from the end."""
    return size + at if _is_negative(place) else at


@reads(ast.NamedExpr)
def named(node: ast.NamedExpr, scope: Scope) -> Meaning:
    if node.target.id in scope.names:
        raise scope.refusal(node, f"{node.target.id} is given a second value", "Give it a name of its own.")
    meaning = assigned(node.target.id, read(node.value, scope), scope)
    scope.names[node.target.id] = meaning
    return meaning


def assigned(text: str, meaning: Meaning, scope: Scope) -> Meaning:
    """Return the meaning of a name after its assignment: a length takes the name, a value is computed once under it."""
    if isinstance(meaning, Length):
        return Index(meaning.dimension.named(text), meaning.dimension)
    if isinstance(meaning, Group):
        return Group(
            tuple(assigned(f"{text}_{k}", part, scope) for k, part in enumerate(meaning.parts)), meaning.is_list
        )
    if isinstance(meaning, Iteration):
        return meaning
    return scope.bind(text, meaning) if isinstance(meaning, Value) else meaning


def bind_target(target: ast.expr, meaning: Meaning, scope: Scope) -> None:
    """Give the names of a target their meanings, unpacking where it is a tuple."""
    if isinstance(target, ast.Name):
        scope.names[target.id] = assigned(target.id, meaning, scope)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part, found in zip(target.elts, _unpacked(target, meaning, scope), strict=True):
            bind_target(part, found, scope)
    else:
        raise scope.refusal(
            target,
            "an assignment to an element",
            "Values do not change: build the array whole, [e for i in range(n)], with `e0 if i == 0 else e1`.",
        )


def _unpacked(target: ast.Tuple | ast.List, meaning: Meaning, scope: Scope) -> list[Meaning]:
    count = len(target.elts)
    if isinstance(meaning, Group) and len(meaning.parts) == count:
        return list(meaning.parts)
    if isinstance(meaning, Value) and isinstance(meaning.kind, TupleKind) and len(meaning.kind.parts) == count:
        whole = scope.bind("t", meaning)
        return [component(whole, k, target, scope) for k in range(count)]
    if isinstance(meaning, Value) and isinstance(meaning.kind, TensorKind):
        whole = scope.bind("t", meaning)
        if scope.building.bounds.value(size_of(meaning.kind)) == count:
            return [element(whole, AffineExpr(k), target, scope) for k in range(count)]
    raise scope.refusal(target, f"{meaning} is unpacked into {count} names", "Count the parts.")
