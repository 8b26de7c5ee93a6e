"""First pass: all lets move to one outermost block. Normal form: s ::= let x = e in s | e, with e free of lets.

Source: "Differentiating a Tensor Language", 5.1 to 5.10.
"""

from __future__ import annotations

from wengert.tensor.language.substitution import children, substitute, uniquely_named, with_children
from wengert.tensor.language.terms import Access, Bracket, Expr, Gen, LetIn, Sum, TensorProgram, Var, affine

Bindings = list[tuple[str, Expr]]


def lift_lets(program: TensorProgram) -> TensorProgram:
    program = uniquely_named(program)
    bindings, body = lift_from(program.body)
    return TensorProgram(program.inputs, with_lets(bindings, body), program.relations, program.sizes)


def with_lets(bindings: Bindings, body: Expr) -> Expr:
    for name, value in reversed(bindings):
        body = LetIn(name, value, body)
    return body


def lets_of(e: Expr) -> tuple[Bindings, Expr]:
    """The bindings of the outermost lets of an expression, and the expression inside."""
    bindings = []
    while isinstance(e, LetIn):
        bindings.append((e.name, e.value))
        e = e.body
    return bindings, e


def lift_from(e: Expr) -> tuple[Bindings, Expr]:
    """The bindings of all lets in e, in order, and e without them."""
    match e:
        case LetIn(name, value, body):
            first, value = lift_from(value)
            then, body = lift_from(body)
            return [*first, (name, value), *then], body
        case Gen(_, _, body) | Sum(_, _, body):
            return _through_index(e, *lift_from(body))
        case Bracket(where, body):
            # 5.9: the bracket stays around the value, or it would be computed where nothing reads it
            bindings, body = lift_from(body)
            return [(name, Bracket(where, value)) for name, value in bindings], Bracket(where, body)
    parts = [lift_from(child) for child in children(e)]
    return [b for bindings, _ in parts for b in bindings], with_children(e, tuple(body for _, body in parts))


def _through_index(e: Gen | Sum, bindings: Bindings, body: Expr) -> tuple[Bindings, Expr]:
    """⊞ or Σ[i:n] (let x = e0 in e1) is let x = ⊞[i:n] e0 in ⊞ or Σ[i:n] e1[x ↦ x[i]]."""
    elements: dict[str, Expr] = {}
    lifted_out: Bindings = []
    for name, value in bindings:
        lifted_out.append((name, Gen(e.index, e.size, substitute(value, values=elements))))
        elements[name] = Access(Var(name), affine(e.index))
    return lifted_out, type(e)(e.index, e.size, substitute(body, values=elements))


def lets_are_lifted(program: TensorProgram) -> bool:
    bindings, body = lets_of(program.body)
    return not any(map(_has_let, (*(value for _, value in bindings), body)))


def _has_let(e: Expr) -> bool:
    return isinstance(e, LetIn) or any(map(_has_let, children(e)))
