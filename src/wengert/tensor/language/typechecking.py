"""Type checking: +, ·, Σ and black boxes take scalars only, and every name must be bound.

Source: "Differentiating a Tensor Language", Figure 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from wengert.errors import TensorLanguageError
from wengert.tensor.language.notation import show_expr, show_type
from wengert.tensor.language.predicates import And, Exists, Or, Related, Unrelated, free_index_names
from wengert.tensor.language.terms import (
    REAL,
    Access,
    Add,
    AffineExpr,
    Apply,
    Bracket,
    Const,
    Expr,
    Gen,
    LetIn,
    Mul,
    Pair,
    PairType,
    Predicate,
    Proj,
    Sum,
    TensorProgram,
    TensorType,
    Type,
    Var,
)


@dataclass(frozen=True)
class Environment:
    """A typing environment: the types of variables, the indices and sizes in scope, and the arities of relations."""

    types: Mapping[str, Type]
    indices: frozenset[str]
    relations: Mapping[str, int]

    def typed(self, name: str, of: Type) -> Environment:
        return replace(self, types={**self.types, name: of})

    def indexed(self, index: str) -> Environment:
        return replace(self, indices=self.indices | {index})


def type_of(program: TensorProgram) -> Type:
    """Return the type of a program's value. Errors: TensorLanguageError."""
    return expr_type(program.body, environment_of(program))


def environment_of(program: TensorProgram) -> Environment:
    relations = {name: len(shape) for name, shape in program.relations}
    return Environment(dict(program.inputs), frozenset(program.sizes), relations)


def expr_type(e: Expr, scope: Environment) -> Type:
    """Return the type of an expression in an environment. Errors: TensorLanguageError."""
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
            return PairType(expr_type(left, scope), expr_type(right, scope))
        case Proj(k, of):
            return _type_of_part(e, k, expr_type(of, scope))
        case Gen(index, size, body):
            _check_indices(e, size, scope)
            return TensorType(size, expr_type(body, scope.indexed(index)))
        case Sum(index, size, body):
            _check_indices(e, size, scope)
            return _all_real(e, (body,), scope.indexed(index))
        case Access(of, at):
            _check_indices(e, at, scope)
            return _type_of_element(e, expr_type(of, scope))
        case Bracket(where, body):
            _check_predicate(where, scope)
            return expr_type(body, scope)
        case LetIn(name, value, body):
            return expr_type(body, scope.typed(name, expr_type(value, scope)))


def _all_real(e: Expr, parts: tuple[Expr, ...], scope: Environment) -> Type:
    for part in parts:
        if (found := expr_type(part, scope)) != REAL:
            raise TensorLanguageError(
                f"{show_expr(part)} in {show_expr(e)} must be a scalar but is a {show_type(found)}; "
                "write the operation on elements, under ⊞"
            )
    return REAL


def _type_of_part(e: Expr, k: int, of: Type) -> Type:
    """Return the type of a part of `of`: a pair, or a tensor of pairs, which counts as a pair of tensors."""
    match of:
        case PairType(left, right):
            return right if k else left
        case TensorType(size, element):
            return TensorType(size, _type_of_part(e, k, element))
    raise TensorLanguageError(f"{show_expr(e)} takes a part of a {show_type(of)}, which is not a pair")


def _type_of_element(e: Expr, of: Type) -> Type:
    """Return the type of an element of `of`: a tensor, or a pair of tensors, which counts as a tensor of pairs."""
    match of:
        case TensorType(_, element):
            return element
        case PairType(left, right):
            return PairType(_type_of_element(e, left), _type_of_element(e, right))
    raise TensorLanguageError(f"{show_expr(e)} reads an element of a {show_type(of)}, which is not a tensor")


def _check_indices(e: Expr, a: AffineExpr, scope: Environment) -> None:
    if unknown := a.names - scope.indices:
        raise TensorLanguageError(f"{show_expr(e)}: {', '.join(sorted(unknown))} is not an index or size in scope")


def _check_predicate(p: Predicate, scope: Environment) -> None:
    if unknown := free_index_names(p) - scope.indices:
        raise TensorLanguageError(
            f"the predicate names {', '.join(sorted(unknown))}, which is not an index or size in scope"
        )
    match p:
        case And(parts) | Or(parts):
            for part in parts:
                _check_predicate(part, scope)
        case Exists(index, _, of):
            _check_predicate(of, scope.indexed(index))
        case Related(relation, at) | Unrelated(relation, at):
            if scope.relations.get(relation) != len(at):
                raise TensorLanguageError(f"{relation} is not a relation of {len(at)} indices")


def arrays(of: Type) -> Type:
    """Return the type with its pairs outermost: [n](S×T) ≅ [n]S × [n]T."""
    match of:
        case PairType(left, right):
            return PairType(arrays(left), arrays(right))
        case TensorType(size, element):
            inner = arrays(element)
            if isinstance(inner, PairType):
                return PairType(arrays(TensorType(size, inner.left)), arrays(TensorType(size, inner.right)))
            return TensorType(size, inner)
    return of


def shape_of_type(of: Type) -> tuple[AffineExpr, ...]:
    """Return the sizes of the axes of a tensor of scalars."""
    return (of.size, *shape_of_type(of.of)) if isinstance(of, TensorType) else ()
