"""Third pass: each right-hand side becomes ⊞[ī:n̄] s with s scalar, no ⊞ in s, and accesses of variables only.

Lets must be lifted and pairs eliminated before.

Source: "Differentiating a Tensor Language", 5.21 to 5.24.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from wengert.tensor.language.predicates import conjuncts, free_index_names, fresh_name
from wengert.tensor.language.ranges import IndexRanges, follows
from wengert.tensor.language.substitution import all_names, children, substitute, with_children
from wengert.tensor.language.terms import (
    TRUE,
    Access,
    AffineExpr,
    Bracket,
    Const,
    Expr,
    Gen,
    Predicate,
    Proj,
    Sum,
    TensorProgram,
    Type,
    Var,
    affine,
    conjoin,
    in_range,
)
from wengert.tensor.language.typechecking import environment_of, expr_type, shape_of_type
from wengert.tensor.passes.let_lifting import lets_of, with_lets
from wengert.tensor.passes.pair_elimination import is_input


def push_out_gens(program: TensorProgram) -> TensorProgram:
    bindings, body = lets_of(program.body)
    scope = environment_of(program)
    taken = set(scope.types) | scope.indices | set(scope.relations) | set(all_names(program.body))
    pushed_out = []
    for name, value in bindings:
        of = expr_type(value, scope)
        scope = scope.typed(name, of)
        pushed_out.append((name, gens_outside(value, of, taken)))
    return replace(program, body=with_lets(pushed_out, body))


def gens_outside(e: Expr, of: Type, taken: set[str]) -> Expr:
    """The expression ⊞[ī:n̄] e[ī], with every ⊞ of e pushed out. An outermost ⊞ keeps its index name."""
    own = [index for index, _ in gens_of(e)[0]]
    gens: list[tuple[str, AffineExpr]] = []
    for d, size in enumerate(shape_of_type(of)):
        name = own[d] if d < len(own) and own[d] not in own[:d] else fresh_name("i", taken | dict(gens).keys())
        gens.append((name, size))
    return with_gens(tuple(gens), element_at(e, tuple(affine(name) for name, _ in gens), Facts(dict(gens), TRUE)))


@dataclass(frozen=True)
class Facts:
    """Facts that hold at a subexpression: the ranges of its indices, and the predicate of the brackets around it."""

    ranges: IndexRanges
    predicate: Predicate

    def indexed(self, index: str, size: AffineExpr) -> Facts:
        still = conjoin(*(q for q in conjuncts(self.predicate) if index not in free_index_names(q)))
        return Facts({**self.ranges, index: size}, still)

    def where(self, p: Predicate) -> Facts:
        return replace(self, predicate=conjoin(self.predicate, p))


def element_at(e: Expr, at: tuple[AffineExpr, ...], facts: Facts) -> Expr:
    """The element e[at..] without any ⊞, in which only variables and their projections are accessed."""
    match e:
        case Gen(index, size, body):
            inside = in_range(at[0], size)
            element = element_at(substitute(body, {index: at[0]}), at[1:], facts.where(inside))
            return element if follows(inside, facts.ranges, facts.predicate) else Bracket(inside, element)
        case Access(of, place):
            return element_at(of, (place, *at), facts)
        case Bracket(where, body):
            return Bracket(where, element_at(body, at, facts.where(where)))
        case Sum(index, size, body):
            return Sum(index, size, element_at(body, (), facts.indexed(index, size)))
        case Var() | Proj():
            return accessed(e, at)
    return with_children(e, tuple(element_at(child, (), facts) for child in children(e)))


def accessed(e: Expr, at: tuple[AffineExpr, ...]) -> Expr:
    for place in at:
        e = Access(e, place)
    return e


def with_gens(gens: tuple[tuple[str, AffineExpr], ...], body: Expr) -> Expr:
    for index, size in reversed(gens):
        body = Gen(index, size, body)
    return body


def gens_of(e: Expr) -> tuple[tuple[tuple[str, AffineExpr], ...], Expr]:
    """The indices of the outermost ⊞ of an expression, and the expression inside."""
    gens = []
    while isinstance(e, Gen):
        gens.append((e.index, e.size))
        e = e.body
    return tuple(gens), e


def gens_are_pushed_out(program: TensorProgram) -> bool:
    bindings, _ = lets_of(program.body)
    inputs = dict(program.inputs)
    return all(_is_scalar_expression(gens_of(value)[1], inputs) for _, value in bindings)


def _is_scalar_expression(e: Expr, inputs: dict[str, Type]) -> bool:
    match e:
        case Gen():
            return False
        case Access(of, _):
            return isinstance(of, (Access, Var, Proj)) and _is_scalar_expression(of, inputs)
        case Proj():
            return is_input(e, inputs)
        case Var() | Const():
            return True
    return all(_is_scalar_expression(child, inputs) for child in children(e))
