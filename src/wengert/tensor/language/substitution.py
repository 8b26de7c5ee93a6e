"""Substitution without capture, e[i ↦ a] and e[x ↦ e0]: a binder is renamed where a replacement names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wengert.tensor.language.predicates import free_index_names, fresh_name, substituted
from wengert.tensor.language.terms import (
    Access,
    AffineExpr,
    Apply,
    Bracket,
    Const,
    Expr,
    Gen,
    LetIn,
    Proj,
    Sum,
    TensorProgram,
    Var,
    affine,
)


def children(e: Expr) -> tuple[Expr, ...]:
    """Return the direct subexpressions of an expression."""
    match e:
        case Var() | Const():
            return ()
        case Apply(_, args):
            return args
        case Proj(_, of) | Access(of, _):
            return (of,)
        case Gen(_, _, body) | Sum(_, _, body) | Bracket(_, body):
            return (body,)
        case LetIn(_, value, body):
            return (value, body)
        case _:
            return (e.left, e.right)


def with_children(e: Expr, new: tuple[Expr, ...]) -> Expr:
    """Return the expression with these subexpressions in place of its own."""
    match e:
        case Var() | Const():
            return e
        case Apply(of, _):
            return Apply(of, new)
        case Proj(k, _):
            return Proj(k, *new)
        case Access(_, at):
            return Access(new[0], at)
        case Gen(index, size, _) | Sum(index, size, _):
            return type(e)(index, size, *new)
        case Bracket(where, _):
            return Bracket(where, *new)
        case LetIn(name, _, _):
            return LetIn(name, *new)
        case _:
            return type(e)(*new)


def all_names(e: Expr) -> Iterator[str]:
    """Yield every name in e, free or bound, of indices, variables and sizes, but not of relations."""
    match e:
        case Var(name) | LetIn(name):
            yield name
        case Access(_, at):
            yield from at.names
        case Gen(index, size) | Sum(index, size):
            yield index
            yield from size.names
        case Bracket(where, _):
            yield from free_index_names(where)
    for child in children(e):
        yield from all_names(child)


def substitute(
    e: Expr, indices: Mapping[str, AffineExpr] | None = None, values: Mapping[str, Expr] | None = None
) -> Expr:
    """Replace `indices`, and variables by `values`, in e, without capture."""
    indices, values = indices or {}, values or {}
    named = {name for a in indices.values() for name in a.names}
    named |= {name for value in values.values() for name in all_names(value)}
    return _Substitution(named, named | set(all_names(e)), False).of(e, dict(indices), dict(values))


def uniquely_named(program: TensorProgram) -> TensorProgram:
    """Rename binders so that none shares its name with another, or with an input, a size or a relation."""
    taken = {name for name, _ in (*program.inputs, *program.relations)} | set(program.sizes)
    body = _Substitution(taken, taken, True).of(program.body, {}, {})
    return TensorProgram(program.inputs, body, program.relations, program.sizes)


class _Substitution:
    """Substitutes, and renames binders in `avoid` to names not in `taken`; with `unique`, no name is bound twice."""

    def __init__(self, avoid: set[str], taken: set[str], unique: bool) -> None:
        self.avoid, self.taken, self.unique = avoid, taken, unique

    def binder(self, name: str) -> str:
        new = fresh_name(name, self.taken) if name in self.avoid else name
        self.taken.add(new)
        if self.unique:
            self.avoid.add(new)
        return new

    def of(self, e: Expr, indices: dict[str, AffineExpr], values: dict[str, Expr]) -> Expr:
        match e:
            case Var(name):
                return values.get(name, e)
            case Access(of, at):
                return Access(self.of(of, indices, values), at.substitute(indices))
            case Bracket(where, body):
                return Bracket(substituted(where, indices), self.of(body, indices, values))
            case Gen(index, size, body) | Sum(index, size, body):
                new = self.binder(index)
                inner = {**indices, index: affine(new)}
                return type(e)(new, size.substitute(indices), self.of(body, inner, values))
            case LetIn(name, value, body):
                value = self.of(value, indices, values)
                new = self.binder(name)
                return LetIn(new, value, self.of(body, indices, {**values, name: Var(new)}))
        return with_children(e, tuple(self.of(child, indices, values) for child in children(e)))
