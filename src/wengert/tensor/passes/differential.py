"""The total derivative: each statement that depends on the inputs in question gets one or a few linear bindings.

A differential that is zero is absent; it is never a tensor of zeros.

Source: "Differentiating a Tensor Language", 6.1 to 6.16.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wengert.tensor.language.predicates import FALSE, Predicate, exists
from wengert.tensor.language.terms import BlackBox, Const, Expr, Mul, Proj, Var
from wengert.tensor.language.typechecking import arrays
from wengert.tensor.passes.gen_pushout import accessed
from wengert.tensor.passes.ssa import Builder, at, masked_form
from wengert.tensor.passes.statements import SSA, Contract, Fill, Gens, Load, Map, Output, Statement, Sum2


@dataclass(frozen=True, slots=True)
class Scaled:
    """The linear form [where]·f'(x1[ī], .., xk[ī])·du[ī], with f' the partial in one argument."""

    where: Predicate
    partial: Expr
    du: str


@dataclass(frozen=True, slots=True)
class Along:
    """The linear form that a contraction is in one of its factors, a differential."""

    contraction: Contract
    factor: int


Linear = Load | Sum2 | Scaled | Along


@dataclass(frozen=True, slots=True)
class Binding:
    """let name = ⊞[ī:n̄] form, linear in the bindings it reads: the differential of a statement, or a part of it."""

    name: str
    of: str
    gens: Gens
    form: Linear


@dataclass(frozen=True, slots=True)
class Differential:
    """The bindings in order, and which of them each statement's differential is; one without is constant."""

    bindings: tuple[Binding, ...]
    of: Mapping[str, str]


def differential(ssa: SSA, wrt: Iterable[str]) -> SSA:
    """D[e; X]: the program with its tangent as the result, and a further input x_dot for each x of X."""
    builder = Builder.of(ssa)
    return builder.ssa(tangent(builder, ssa.output, pushed_forward(ssa, wrt, builder)))


def pushed_forward(ssa: SSA, wrt: Iterable[str], builder: Builder) -> Mapping[str, str]:
    """The statements that are tangents, by the statements that these are tangents of; one without is constant."""
    tangents = {x: builder.add_input(f"{x}_dot", arrays(dict(ssa.inputs)[x])) for x in wrt}
    derivative = linearised(ssa, tangents, builder)
    for binding in derivative.bindings:
        emit_binding(builder, binding)
    return derivative.of


def tangent(builder: Builder, output: Output, of: Mapping[str, str]) -> Output:
    """The tangent of the result; a structural zero where the result is constant."""
    if not isinstance(output, str):
        return tuple(tangent(builder, part, of) for part in output)
    return of[output] if output in of else builder.emit(builder.statements[output].gens, Fill(FALSE, 0))


def emit_binding(builder: Builder, binding: Binding) -> None:
    match binding.form:
        case Scaled(where, partial, du):
            builder.scalar(binding.gens, where, Mul(partial, accessed(Var(du), at(binding.gens))), binding.name)
        case Along(contraction, _):
            builder.emit(binding.gens, contraction, binding.name)
        case Load() | Sum2() as form:
            builder.emit(binding.gens, form, binding.name)


def linearised(ssa: SSA, tangents: Mapping[str, str], builder: Builder) -> Differential:
    """The Differential of statements; `tangents` names those of the inputs, `builder` knows the free names."""
    linearisation = _Linearisation(tangents, builder)
    for statement in ssa.statements:
        linearisation.add(statement)
    return Differential(tuple(linearisation.bindings), linearisation.differentials)


class _Linearisation:
    """Builds the Differential, statement by statement."""

    def __init__(self, tangents: Mapping[str, str], builder: Builder) -> None:
        self.tangents, self.builder = tangents, builder
        self.bindings: list[Binding] = []
        self.differentials: dict[str, str] = {}

    def add(self, statement: Statement) -> None:
        """Add the differential of a statement: the sum of what it is along each of its arguments."""
        where, forms = self.parts(statement)
        if forms:
            parts = [self.bind(statement, form) for form in forms[:-1]]
            whole = self.bind(statement, forms[-1])
            for part in reversed(parts):
                whole = self.bind(statement, Sum2(where, part, where, whole))
            self.differentials[statement.name] = whole

    def bind(self, statement: Statement, form: Linear) -> str:
        name = self.builder.named(f"{statement.name}_dot")
        self.bindings.append(Binding(name, statement.name, statement.gens, form))
        return name

    def parts(self, statement: Statement) -> tuple[Predicate, list[Linear]]:
        """Where the differential of a statement may be nonzero, and the forms that it is the sum of."""
        match statement.form:
            case Load(of, places):
                return FALSE, [Load(_in_variable(of, self.tangents), places)] if root(of) in self.tangents else []
            case Fill():
                return FALSE, []
            case Sum2():
                return FALSE, self.of_addition(statement.gens, statement.form)
            case Map(where, f, args):
                return where, self.of_map(statement, where, f, args)
            case Contract(sums, where, _):
                return exists(sums, where), self.of_contraction(statement.form)

    def of_addition(self, gens: Gens, form: Sum2) -> list[Linear]:
        """6.4: both differentials under the same predicates, or the one there is."""
        du, dv = self.differentials.get(form.x), self.differentials.get(form.y)
        if du and dv:
            return [Sum2(form.where0, du, form.where1, dv)]
        return [Along(masked_form(gens, p, d), 0) for p, d in ((form.where0, du), (form.where1, dv)) if d]

    def of_map(self, statement: Statement, where: Predicate, f: BlackBox, args: tuple[str, ...]) -> list[Linear]:
        """6.6: Σ_m f'_m(e..)·D em."""
        values = tuple(accessed(Var(arg), at(statement.gens)) for arg in args)
        along = [(partial(*values), self.differentials.get(arg)) for partial, arg in zip(f.partials, args, strict=True)]
        return [Scaled(where, partial, du) for partial, du in along if du and partial != Const(0)]

    def of_contraction(self, form: Contract) -> list[Linear]:
        """6.5: D e0·e1 + e0·D e1."""
        parts: list[Linear] = []
        for number, (name, places) in enumerate(form.factors):
            if du := self.differentials.get(name):
                factors = (*form.factors[:number], (du, places), *form.factors[number + 1 :])
                parts.append(Along(Contract(form.sums, form.where, factors), number))
        return parts


def root(of: Expr) -> str:
    """The input of which `of` is a projection, or a projection of one."""
    if isinstance(of, Proj):
        return root(of.of)
    assert isinstance(of, Var)
    return of.name


def _in_variable(of: Expr, new: Mapping[str, str]) -> Expr:
    return Proj(of.k, _in_variable(of.of, new)) if isinstance(of, Proj) else Var(new[root(of)])
