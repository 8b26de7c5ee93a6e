"""The Jacobian: the differential at all unit vectors at once, with ⊞[ī:n̄, b̄:n̄] [ī = b̄]·1 as the tangent of x.

The indices b̄ come last in each statement that depends on the tangent, and so in the result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from wengert.tensor.language.predicates import Predicate, conjoin, equal, fresh_name
from wengert.tensor.language.terms import Var, affine
from wengert.tensor.language.typechecking import arrays, shape_of_type
from wengert.tensor.passes.differential import emit_tangents, output_tangent
from wengert.tensor.passes.ssa import Builder
from wengert.tensor.passes.statements import (
    SSA,
    Contract,
    Fill,
    Gens,
    Load,
    Statement,
    StatementForm,
    canonical_statement,
    form_arguments,
    output_names,
)


def jacobian_program(ssa: SSA, wrt: str) -> SSA:
    """The program of the derivatives of each element of the result with respect to each element of an input."""
    builder = Builder.of(ssa)
    output = output_tangent(builder, ssa.output, emit_tangents(ssa, [wrt], builder))
    x_dot, of = builder.inputs[-1]
    sizes = shape_of_type(arrays(of))
    further, inner = (tuple((fresh_name(f"{b}{d}", ssa.sizes), size) for d, size in enumerate(sizes)) for b in "bc")
    widening = Widening(x_dot, further, inner, set(output_names(output)))
    statements = tuple(canonical_statement(widening.widened(s), ssa.sizes) for s in builder.statements.values())
    return replace(ssa, statements=statements, output=output)


@dataclass
class Widening:
    """Adds the indices `further` to statements. Contractions call them `inner`; `wide` names the widened statements."""

    x_dot: str
    further: Gens
    inner: Gens
    wide: set[str]

    def widened(self, statement: Statement) -> Statement:
        """The statement with the further indices, if it is part of the result or depends on the tangent."""
        form = statement.form
        if form == Load(Var(self.x_dot), statement.at):
            form = Fill(self.equal_to_further(statement.at), 1)
        elif self.wide.isdisjoint((statement.name, *form_arguments(form))):
            return statement
        self.wide.add(statement.name)
        return Statement(statement.name, (*statement.gens, *self.further), self.product(form))

    def product(self, form: StatementForm) -> StatementForm:
        """The form with widened factors. A contraction gets indices of its own, equal to the statement's."""
        if not isinstance(form, Contract):
            return form
        inner = tuple(index for index, _ in self.inner)
        factors = tuple((name, (*at, *inner) if name in self.wide else at) for name, at in form.factors)
        return Contract((*form.sums, *self.inner), conjoin(form.where, self.equal_to_further(inner)), factors)

    def equal_to_further(self, indices: Iterable[str]) -> Predicate:
        pairs = zip(indices, self.further, strict=True)
        return conjoin(*(equal(affine(index), affine(name)) for index, (name, _) in pairs))
