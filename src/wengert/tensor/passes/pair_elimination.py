"""Second pass: a tensor of pairs becomes a pair of tensors, and intermediate pairs vanish.

Normal form: projections of inputs only, pairs in the result only, every let a scalar or a tensor of scalars. Lets must
be lifted before.

Source: "Differentiating a Tensor Language", 5.11 to 5.20.
"""

from __future__ import annotations

from wengert.tensor.language.predicates import fresh_name
from wengert.tensor.language.substitution import all_names, children, with_children
from wengert.tensor.language.terms import (
    Access,
    Bracket,
    Expr,
    Gen,
    LetIn,
    Pair,
    PairType,
    Proj,
    TensorProgram,
    TensorType,
    Type,
    Var,
)
from wengert.tensor.language.typechecking import Environment, arrays, environment_of, expr_type
from wengert.tensor.passes.let_lifting import Bindings, lets_of, with_lets


def eliminate_pairs(program: TensorProgram) -> TensorProgram:
    bindings, body = lets_of(program.body)
    taken = {name for name, _ in program.inputs} | set(all_names(program.body))
    elimination = _PairElimination(environment_of(program), taken)
    for name, value in bindings:
        elimination.let(name, value)
    output = elimination.leaves("out", elimination.rewritten(body), arrays(expr_type(body, elimination.scope)))
    inputs = tuple((name, arrays(of)) for name, of in program.inputs)
    return TensorProgram(inputs, with_lets(elimination.bindings, output), program.relations, program.sizes)


class _PairElimination:
    """Rewrites lets so that pairs vanish; `pairs` maps each variable that was a pair to the pair of its parts."""

    def __init__(self, scope: Environment, taken: set[str]) -> None:
        self.scope, self.taken = scope, taken
        self.bindings: Bindings = []
        self.pairs: dict[str, Expr] = {}

    def let(self, name: str, value: Expr) -> None:
        of = expr_type(value, self.scope)
        self.scope = self.scope.typed(name, of)
        if isinstance(arrays(of), PairType):
            self.pairs[name] = self.leaves(name, self.rewritten(value), arrays(of))
        else:
            self.bindings.append((name, self.rewritten(value)))

    def leaves(self, name: str, value: Expr, of: Type) -> Expr:
        """Bind each leaf of a pair by a let of its own; returns the pair of their names."""
        if isinstance(of, PairType):
            left = self.leaves(name, projected(0, value), of.left)
            return Pair(left, self.leaves(name, projected(1, value), of.right))
        if isinstance(value, Var):
            return value
        new = fresh_name(name, self.taken)
        self.taken.add(new)
        self.bindings.append((new, value))
        return Var(new)

    def rewritten(self, e: Expr) -> Expr:
        match e:
            case Var(name):
                return self.pairs.get(name, e)
            case Proj(k, of):
                return projected(k, self.rewritten(of))
        return with_children(e, tuple(map(self.rewritten, children(e))))


def projected(k: int, e: Expr) -> Expr:
    """The projection π_k e, pushed inwards to a pair, where it is resolved, or to an input."""
    match e:
        case Pair(left, right):
            return right if k else left
        case Gen(_, _, body) | Bracket(_, body):
            return with_children(e, (projected(k, body),))
        case Access(of, at):
            return Access(projected(k, of), at)
        case LetIn():
            raise ValueError("lift lets before eliminating pairs: found a let inside a projection")
    return Proj(k, e)


def pairs_are_eliminated(program: TensorProgram) -> bool:
    bindings, body = lets_of(program.body)
    inputs, scope = dict(program.inputs), environment_of(program)
    for name, value in bindings:
        of = expr_type(value, scope)
        scope = scope.typed(name, of)
        if _holds_pair(of) or not _projects_inputs_only(value, inputs):
            return False
    return all(not _holds_pair(of) for of in inputs.values() if isinstance(of, TensorType)) and _is_result(body, inputs)


def _holds_pair(of: Type) -> bool:
    return isinstance(of, PairType) or (isinstance(of, TensorType) and _holds_pair(of.of))


def _is_result(e: Expr, inputs: dict[str, Type]) -> bool:
    if isinstance(e, Pair):
        return _is_result(e.left, inputs) and _is_result(e.right, inputs)
    return isinstance(e, Var)


def _projects_inputs_only(e: Expr, inputs: dict[str, Type]) -> bool:
    if isinstance(e, Proj):
        return is_input(e, inputs)
    return not isinstance(e, Pair) and all(_projects_inputs_only(child, inputs) for child in children(e))


def is_input(e: Expr, inputs: dict[str, Type]) -> bool:
    """Whether e is an input, or a projection of one."""
    return is_input(e.of, inputs) if isinstance(e, Proj) else isinstance(e, Var) and e.name in inputs
