"""Read names, constants, attributes, tuples, subscripts and the targets of assignments."""

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
from wengert.tensor.reading.arguments import read_outer_value
from wengert.tensor.reading.gathers import as_gather, read_gather
from wengert.tensor.reading.meanings import (
    REAL_KIND,
    Group,
    Index,
    Iteration,
    KnownObject,
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
    array_element,
    as_index,
    as_value,
    axis_size,
    component,
    read_expr,
    reads_syntax,
    with_named_length,
)
from wengert.tensor.reading.scopes import OuterName, Scope


@reads_syntax(ast.Name)
def read_name(node: ast.Name, scope: Scope) -> Meaning:
    if node.id in scope.names:
        return scope.names[node.id]
    return read_outer_name(node, node.id, scope)


def read_outer_name(node: ast.expr, text: str, scope: Scope) -> Meaning:
    """Read a global, a closure variable or a module attribute; record its object for the guard of the program."""
    builder, key = scope.builder, (scope.function, text)
    if key not in builder.outer_names:
        value = named_object(node, scope.function)
        if value is UNKNOWN:
            raise scope.refusal(node, f"{text} is not defined here", "Assign a value to it before this line.")
        meaning = read_outer_value(text.rpartition(".")[2], value, builder)
        builder.outer_names[key] = OuterName(node, scope.function, value, meaning)
    return builder.outer_names[key].meaning


@reads_syntax(ast.Constant)
def read_constant(node: ast.Constant, scope: Scope) -> Meaning:
    value = node.value
    if isinstance(value, bool):
        return Truth(TRUE if value else FALSE)
    if isinstance(value, int):
        return Index(AffineExpr(value))
    if isinstance(value, float):
        return Value(Const(value), REAL_KIND)
    if isinstance(value, complex):
        raise scope.refusal(
            node, "a complex number is not in the tensor language", "The tensor language has only real numbers."
        )
    return KnownObject(value)


@reads_syntax(ast.Attribute)
def read_attribute(node: ast.Attribute, scope: Scope) -> Meaning:
    base = read_expr(node.value, scope)
    if isinstance(base, KnownObject) and isinstance(base.value, types.ModuleType):
        return read_outer_name(node, ast.unparse(node), scope)
    if node.attr == "shape" and isinstance(base, (Value, RelationArgument)):
        return Group(tuple(_axis_lengths(base)))
    if node.attr == "T":
        raise scope.refusal(
            node, "a transposed array is not in the tensor language", "Write the indices the other way round: A[j, i]."
        )
    raise scope.refusal(
        node,
        f"the attribute {node.attr} of {base} is not in the tensor language",
        "Only .shape is supported. Pass other data as arguments.",
    )


def _axis_lengths(of: Value | RelationArgument) -> list[Meaning]:
    if isinstance(of, RelationArgument):
        return [Length(d) for d in of.shape[len(of.at) :]]
    found: list[Meaning] = []
    kind = of.kind
    while isinstance(kind, TensorKind):
        found.append(axis_length(kind))
        kind = kind.of
    return found


def axis_length(kind: TensorKind) -> Meaning:
    if isinstance(kind.size, AffineExpr):
        return Index(kind.size)
    return Length(kind.size) if kind.size.known is None else Index(kind.size.known)


# ---- tuples, lists and subscripts ----


@reads_syntax(ast.Tuple, ast.List)
def read_tuple(node: ast.Tuple | ast.List, scope: Scope) -> Meaning:
    for part in node.elts:
        if isinstance(part, ast.Starred):
            raise scope.refusal(part, "unpacking by * is not in the tensor language", "Write out the parts.")
    return Group(tuple(read_expr(part, scope) for part in node.elts), isinstance(node, ast.List))


@reads_syntax(ast.Subscript)
def read_subscript(node: ast.Subscript, scope: Scope) -> Meaning:
    base = read_expr(node.value, scope)
    places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for place in places:
        if isinstance(place, ast.Slice) or (isinstance(place, ast.Constant) and place.value in (None, ...)):
            raise scope.refusal(
                node,
                "a slice is not in the tensor language",
                "Write the elements: [x[i + 1] for i in range(len(x) - 1)].",
            )
    for place in places:
        base = _read_item(base, place, node, scope)
    return base


def _read_item(base: Meaning, place: ast.expr, node: ast.Subscript, scope: Scope) -> Meaning:
    """Read base[place] with one index: a part of a tuple, an element, or an element by an integer array."""
    if isinstance(base, Group):
        k = _literal_position(place, scope)
        if k is None or not -len(base.parts) <= k < len(base.parts):
            raise scope.refusal(
                node,
                f"{base} is indexed by {ast.unparse(place)}",
                "Index a tuple by a literal integer within its length.",
            )
        return base.parts[k]
    if isinstance(base, Value) and isinstance(base.kind, TupleKind):
        k = _literal_position(place, scope)
        if k is None:
            raise scope.refusal(
                node,
                f"{base} is indexed by {ast.unparse(place)}",
                "Index a tuple by a literal integer within its length.",
            )
        return component(base, k, node, scope)
    found = with_named_length(read_expr(place, scope))
    numbers = as_gather(found, scope) if isinstance(found, Value) and isinstance(base, Value) else None
    if numbers is not None and isinstance(base, Value):
        return read_gather(base, numbers, node, scope)
    at = as_index(found, place, scope)
    if isinstance(base, RelationArgument):
        axis = len(base.at)
        if axis < len(base.shape):
            at = _from_the_end(at, place, axis_size(at, base.shape[axis], scope))
        return base.indexed(at)
    value = as_value(base, node, scope)
    if isinstance(value.kind, TensorKind):
        at = _from_the_end(at, place, size_of(value.kind)) if _is_negative(place) else at
    return array_element(value, at, node, scope)


def _literal_position(place: ast.expr, scope: Scope) -> int | None:
    meaning = with_named_length(read_expr(place, scope))
    return scope.builder.bounds.value(meaning.affine) if isinstance(meaning, Index) else None


def _is_negative(place: ast.expr) -> bool:
    return (
        isinstance(place, ast.UnaryOp) and isinstance(place.op, ast.USub) and isinstance(place.operand, ast.Constant)
    )  # fmt: skip


def _from_the_end(at: AffineExpr, place: ast.expr, size: AffineExpr) -> AffineExpr:
    """Add the size to a literal negative index, as in x[-1]; x[i - 1] never counts from the end."""
    return size + at if _is_negative(place) else at


@reads_syntax(ast.NamedExpr)
def read_walrus(node: ast.NamedExpr, scope: Scope) -> Meaning:
    if node.target.id in scope.names:
        raise scope.refusal(node, f"{node.target.id} is assigned a second time", "Use another name.")
    meaning = bind_name(node.target.id, read_expr(node.value, scope), scope)
    scope.names[node.target.id] = meaning
    return meaning


def bind_name(text: str, meaning: Meaning, scope: Scope) -> Meaning:
    """Assign a meaning to a name: a length without one is named by it, a value is bound to a variable."""
    if isinstance(meaning, Length):
        return Index(meaning.dimension.named(text), meaning.dimension)
    if isinstance(meaning, Group):
        return Group(
            tuple(bind_name(f"{text}_{k}", part, scope) for k, part in enumerate(meaning.parts)), meaning.is_list
        )
    if isinstance(meaning, Iteration):
        return meaning
    return scope.bind(text, meaning) if isinstance(meaning, Value) else meaning


def bind_target(target: ast.expr, meaning: Meaning, scope: Scope) -> None:
    """Assign a meaning to the names of a target, unpacking it if the target is a tuple."""
    if isinstance(target, ast.Name):
        scope.names[target.id] = bind_name(target.id, meaning, scope)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part, found in zip(target.elts, _unpack(target, meaning, scope), strict=True):
            bind_target(part, found, scope)
    else:
        raise scope.refusal(
            target,
            "an assignment to an element is not in the tensor language",
            "Nothing is changed in place: build the whole array, [e for i in range(n)], with `e0 if i == 0 else e1`.",
        )


def _unpack(target: ast.Tuple | ast.List, meaning: Meaning, scope: Scope) -> list[Meaning]:
    count = len(target.elts)
    if isinstance(meaning, Group) and len(meaning.parts) == count:
        return list(meaning.parts)
    if isinstance(meaning, Value) and isinstance(meaning.kind, TupleKind) and len(meaning.kind.parts) == count:
        whole = scope.bind("t", meaning)
        return [component(whole, k, target, scope) for k in range(count)]
    if isinstance(meaning, Value) and isinstance(meaning.kind, TensorKind):
        whole = scope.bind("t", meaning)
        if scope.builder.bounds.value(size_of(meaning.kind)) == count:
            return [array_element(whole, AffineExpr(k), target, scope) for k in range(count)]
    raise scope.refusal(target, f"{meaning} is unpacked into {count} names", "Use one name for each part.")
