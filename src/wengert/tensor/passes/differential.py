"""The total derivative: one or a few linear bindings for each statement that depends on the chosen inputs.

A zero differential has no binding; it is never a tensor of zeros.

Source: "Differentiating a Tensor Language", 6.1 to 6.16.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wengert.tensor.language.predicates import FALSE, Predicate, exists
from wengert.tensor.language.terms import BlackBox, Const, Expr, Mul, Proj, Var
from wengert.tensor.language.typechecking import arrays
from wengert.tensor.passes.gen_pushout import accessed
from wengert.tensor.passes.ssa import Builder, index_expressions, masked_copy
from wengert.tensor.passes.statements import SSA, Contract, Fill, Gens, Load, Output, Pointwise, Statement, Sum2


@dataclass(frozen=True, slots=True)
class ScaledDifferential:
    """The linear form [where]·f'(x1[ī], .., xk[ī])·du[ī], with f' the partial in one argument."""

    where: Predicate
    partial: Expr
    du: str


@dataclass(frozen=True, slots=True)
class LinearContraction:
    """A contraction as a linear form in one of its factors, which is a differential."""

    contraction: Contract
    factor: int


LinearForm = Load | Sum2 | ScaledDifferential | LinearContraction


@dataclass(frozen=True, slots=True)
class Binding:
    """let name = ⊞[ī:n̄] form, linear in the bindings it reads: the differential of a statement, or a part of it."""

    name: str
    of: str
    gens: Gens
    form: LinearForm


@dataclass(frozen=True, slots=True)
class Differential:
    """The bindings in order, and the binding of each statement's differential; a statement without one is constant."""

    bindings: tuple[Binding, ...]
    of: Mapping[str, str]


def differential(ssa: SSA, wrt: Iterable[str]) -> SSA:
    """D[e; X]: the program whose result is the tangent, with one more input x_dot for each x of X."""
    builder = Builder.of(ssa)
    return builder.ssa(output_tangent(builder, ssa.output, emit_tangents(ssa, wrt, builder)))


def emit_tangents(ssa: SSA, wrt: Iterable[str], builder: Builder) -> Mapping[str, str]:
    """Add inputs x_dot and the tangents' statements; map each statement to its tangent, unless it is constant."""
    tangents = {x: builder.add_input(f"{x}_dot", arrays(dict(ssa.inputs)[x])) for x in wrt}
    derivative = linearise(ssa, tangents, builder)
    for binding in derivative.bindings:
        emit_binding(builder, binding)
    return derivative.of


def output_tangent(builder: Builder, output: Output, of: Mapping[str, str]) -> Output:
    """The tangent of the result; a structural zero for each part that is constant."""
    if not isinstance(output, str):
        return tuple(output_tangent(builder, part, of) for part in output)
    return of[output] if output in of else builder.emit(builder.statements[output].gens, Fill(FALSE, 0))


def emit_binding(builder: Builder, binding: Binding) -> None:
    match binding.form:
        case ScaledDifferential(where, partial, du):
            scaled = Mul(partial, accessed(Var(du), index_expressions(binding.gens)))
            builder.scalar(binding.gens, where, scaled, binding.name)
        case LinearContraction(contraction, _):
            builder.emit(binding.gens, contraction, binding.name)
        case Load() | Sum2() as form:
            builder.emit(binding.gens, form, binding.name)


def linearise(ssa: SSA, tangents: Mapping[str, str], builder: Builder) -> Differential:
    """The Differential of a program; `tangents` maps inputs to their tangents, `builder` supplies fresh names."""
    lineariser = _Lineariser(tangents, builder)
    for statement in ssa.statements:
        lineariser.add(statement)
    return Differential(tuple(lineariser.bindings), lineariser.differentials)


class _Lineariser:
    """Builds the Differential, statement by statement."""

    def __init__(self, tangents: Mapping[str, str], builder: Builder) -> None:
        self.tangents, self.builder = tangents, builder
        self.bindings: list[Binding] = []
        self.differentials: dict[str, str] = {}

    def add(self, statement: Statement) -> None:
        """Add the differential of a statement: the sum of its differentials along each argument."""
        where, forms = self.parts(statement)
        if forms:
            parts = [self.bind(statement, form) for form in forms[:-1]]
            whole = self.bind(statement, forms[-1])
            for part in reversed(parts):
                whole = self.bind(statement, Sum2(where, part, where, whole))
            self.differentials[statement.name] = whole

    def bind(self, statement: Statement, form: LinearForm) -> str:
        name = self.builder.named(f"{statement.name}_dot")
        self.bindings.append(Binding(name, statement.name, statement.gens, form))
        return name

    def parts(self, statement: Statement) -> tuple[Predicate, list[LinearForm]]:
        """Where the differential of a statement may be nonzero, and the forms whose sum it is."""
        match statement.form:
            case Load(of, places):
                return FALSE, [Load(_of_tangent(of, self.tangents), places)] if input_of(of) in self.tangents else []
            case Fill():
                return FALSE, []
            case Sum2():
                return FALSE, self.of_addition(statement.gens, statement.form)
            case Pointwise(where, f, args):
                return where, self.of_pointwise(statement, where, f, args)
            case Contract(sums, where, _):
                return exists(sums, where), self.of_contraction(statement.form)

    def of_addition(self, gens: Gens, form: Sum2) -> list[LinearForm]:
        """6.4: both differentials under the same predicates; if one argument is constant, the other alone."""
        du, dv = self.differentials.get(form.x), self.differentials.get(form.y)
        if du and dv:
            return [Sum2(form.where0, du, form.where1, dv)]
        return [LinearContraction(masked_copy(gens, p, d), 0) for p, d in ((form.where0, du), (form.where1, dv)) if d]

    def of_pointwise(
        self, statement: Statement, where: Predicate, f: BlackBox, args: tuple[str, ...]
    ) -> list[LinearForm]:
        """6.6: Σ_m f'_m(e..)·D em."""
        values = tuple(accessed(Var(arg), index_expressions(statement.gens)) for arg in args)
        along = [(partial(*values), self.differentials.get(arg)) for partial, arg in zip(f.partials, args, strict=True)]
        return [ScaledDifferential(where, partial, du) for partial, du in along if du and partial != Const(0)]

    def of_contraction(self, form: Contract) -> list[LinearForm]:
        """6.5: D e0·e1 + e0·D e1."""
        parts: list[LinearForm] = []
        for number, (name, places) in enumerate(form.factors):
            if du := self.differentials.get(name):
                factors = (*form.factors[:number], (du, places), *form.factors[number + 1 :])
                parts.append(LinearContraction(Contract(form.sums, form.where, factors), number))
        return parts


def input_of(of: Expr) -> str:
    """The input that `of` is, or projects from."""
    if isinstance(of, Proj):
        return input_of(of.of)
    assert isinstance(of, Var)
    return of.name


def _of_tangent(of: Expr, new: Mapping[str, str]) -> Expr:
    return Proj(of.k, _of_tangent(of.of, new)) if isinstance(of, Proj) else Var(new[input_of(of)])
