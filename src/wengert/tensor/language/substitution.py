"""e[i ↦ a] and e[x ↦ e0] without capture: a bound name is renamed where a replacement speaks of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wengert.tensor.language.predicates import free_names, fresh_name, substituted
from wengert.tensor.language.terms import (
    Access,
    Affine,
    Apply,
    Bracket,
    Const,
    Expr,
    Gen,
    Let,
    Program,
    Proj,
    Sum,
    Var,
    affine,
)


def children(e: Expr) -> tuple[Expr, ...]:
    """The expressions of which an expression is made."""
    match e:
        case Var() | Const():
            return ()
        case Apply(_, args):
            return args
        case Proj(_, of) | Access(of, _):
            return (of,)
        case Gen(_, _, body) | Sum(_, _, body) | Bracket(_, body):
            return (body,)
        case Let(_, value, body):
            return (value, body)
        case _:
            return (e.left, e.right)


def with_children(e: Expr, new: tuple[Expr, ...]) -> Expr:
    """The same expression with other parts."""
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
        case Let(name, _, _):
            return Let(name, *new)
        case _:
            return type(e)(*new)


def all_names(e: Expr) -> Iterator[str]:
    """Every name in e, free or bound: of indices, variables, sizes and relations."""
    match e:
        case Var(name) | Let(name):
            yield name
        case Access(_, at):
            yield from at.names
        case Gen(index, size) | Sum(index, size):
            yield index
            yield from size.names
        case Bracket(where, _):
            yield from free_names(where)
    for child in children(e):
        yield from all_names(child)


def substitute(e: Expr, indices: Mapping[str, Affine] | None = None, values: Mapping[str, Expr] | None = None) -> Expr:
    """e with `indices` and variables (`values`) replaced, without capture."""
    indices, values = indices or {}, values or {}
    spoken = {name for a in indices.values() for name in a.names}
    spoken |= {name for value in values.values() for name in all_names(value)}
    return _Substitution(spoken, spoken | set(all_names(e)), False).of(e, dict(indices), dict(values))


def uniquely_named(program: Program) -> Program:
    """The same program, in which all binders have names of their own, none that of an input, a size or a relation."""
    taken = {name for name, _ in (*program.inputs, *program.relations)} | set(program.sizes)
    body = _Substitution(taken, taken, True).of(program.body, {}, {})
    return Program(program.inputs, body, program.relations, program.sizes)


class _Substitution:
    """Substitutes; binders named in `avoid` get names not in `taken`, with `every` no name is bound twice."""

    def __init__(self, avoid: set[str], taken: set[str], every: bool) -> None:
        self.avoid, self.taken, self.every = avoid, taken, every

    def binder(self, name: str) -> str:
        new = fresh_name(name, self.taken) if name in self.avoid else name
        self.taken.add(new)
        if self.every:
            self.avoid.add(new)
        return new

    def of(self, e: Expr, indices: dict[str, Affine], values: dict[str, Expr]) -> Expr:
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
            case Let(name, value, body):
                value = self.of(value, indices, values)
                new = self.binder(name)
                return Let(new, value, self.of(body, indices, {**values, name: Var(new)}))
        return with_children(e, tuple(self.of(child, indices, values) for child in children(e)))
