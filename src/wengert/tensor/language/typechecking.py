"""Types of expressions: + · Σ f on scalars only, sizes a prefix, every name bound.

Source: "Differentiating a Tensor Language", Figure 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from wengert.errors import TensorLanguageError
from wengert.tensor.language.notation import show_expr, show_type
from wengert.tensor.language.predicates import And, Exists, Or, Related, Unrelated, free_names
from wengert.tensor.language.terms import (
    REAL,
    Access,
    Add,
    Affine,
    Apply,
    Bracket,
    Const,
    Expr,
    Gen,
    Let,
    Mul,
    Pair,
    PairType,
    Predicate,
    Program,
    Proj,
    Sum,
    TensorType,
    Type,
    Var,
)


@dataclass(frozen=True)
class Environment:
    """The typing environment at a place: types of variables, which are indices, and arities of relations."""

    types: Mapping[str, Type]
    indices: frozenset[str]
    relations: Mapping[str, int]

    def typed(self, name: str, of: Type) -> Environment:
        return replace(self, types={**self.types, name: of})

    def indexed(self, index: str) -> Environment:
        return replace(self, indices=self.indices | {index})


def type_of(program: Program) -> Type:
    """The type of the program's value. Errors: TensorLanguageError."""
    return typed(program.body, scope_of(program))


def scope_of(program: Program) -> Environment:
    relations = {name: len(shape) for name, shape in program.relations}
    return Environment(dict(program.inputs), frozenset(program.sizes), relations)


def typed(e: Expr, scope: Environment) -> Type:
    """The type of an expression in an environment. Errors: TensorLanguageError."""
    match e:
        case Var(name):
            if name not in scope.types:
                raise TensorLanguageError(f"{name} is not defined here")
            return scope.types[name]
        case Const():
            return REAL
        case Add(left, right) | Mul(left, right):
            return _all_real(e, (left, right), scope)
        case Apply(_, args):
            return _all_real(e, args, scope)
        case Pair(left, right):
            return PairType(typed(left, scope), typed(right, scope))
        case Proj(k, of):
            return _half(e, k, typed(of, scope))
        case Gen(index, size, body):
            _known(e, size, scope)
            return TensorType(size, typed(body, scope.indexed(index)))
        case Sum(index, size, body):
            _known(e, size, scope)
            return _all_real(e, (body,), scope.indexed(index))
        case Access(of, at):
            _known(e, at, scope)
            return _element(e, typed(of, scope))
        case Bracket(where, body):
            _check_predicate(where, scope)
            return typed(body, scope)
        case Let(name, value, body):
            return typed(body, scope.typed(name, typed(value, scope)))


def _all_real(e: Expr, parts: tuple[Expr, ...], scope: Environment) -> Type:
    for part in parts:
        if (found := typed(part, scope)) != REAL:
            raise TensorLanguageError(
                f"{show_expr(part)} in {show_expr(e)} is a {show_type(found)}, where a scalar is needed; "
                "say it elementwise under ⊞"
            )
    return REAL


def _half(e: Expr, k: int, of: Type) -> Type:
    """The type of a projection of `of`, a pair or a tensor of pairs, which counts as a pair of tensors."""
    match of:
        case PairType(left, right):
            return right if k else left
        case TensorType(size, element):
            return TensorType(size, _half(e, k, element))
    raise TensorLanguageError(f"{show_expr(e)} projects a {show_type(of)}, which is no pair")


def _element(e: Expr, of: Type) -> Type:
    """The type of an element of `of`, a tensor or a pair of tensors, which counts as a tensor of pairs."""
    match of:
        case TensorType(_, element):
            return element
        case PairType(left, right):
            return PairType(_element(e, left), _element(e, right))
    raise TensorLanguageError(f"{show_expr(e)} reads an element of a {show_type(of)}, which is no tensor")


def _known(e: Expr, a: Affine, scope: Environment) -> None:
    if unknown := a.names - scope.indices:
        raise TensorLanguageError(f"{show_expr(e)}: {', '.join(sorted(unknown))} is no index or size here")


def _check_predicate(p: Predicate, scope: Environment) -> None:
    if unknown := free_names(p) - scope.indices:
        raise TensorLanguageError(f"the predicate speaks of {', '.join(sorted(unknown))}, no index or size here")
    match p:
        case And(parts) | Or(parts):
            for part in parts:
                _check_predicate(part, scope)
        case Exists(index, _, of):
            _check_predicate(of, scope.indexed(index))
        case Related(relation, at) | Unrelated(relation, at):
            if scope.relations.get(relation) != len(at):
                raise TensorLanguageError(f"{relation} is no relation of {len(at)} indices")


def arrays(of: Type) -> Type:
    """The type with its pairs outermost: [n](S×T) ≅ [n]S × [n]T."""
    match of:
        case PairType(left, right):
            return PairType(arrays(left), arrays(right))
        case TensorType(size, element):
            inner = arrays(element)
            if isinstance(inner, PairType):
                return PairType(arrays(TensorType(size, inner.left)), arrays(TensorType(size, inner.right)))
            return TensorType(size, inner)
    return of


def shape_of(of: Type) -> tuple[Affine, ...]:
    """The sizes of a tensor of scalars."""
    return (of.size, *shape_of(of.of)) if isinstance(of, TensorType) else ()
