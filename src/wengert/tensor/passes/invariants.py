"""Hoisting of invariants out of ⊞: a statement that does not use an index is computed once, without it (S11)."""

from __future__ import annotations

from dataclasses import replace

from wengert.tensor.language.predicates import Predicate, at_most, conjoin, equal, free_index_names
from wengert.tensor.language.terms import affine
from wengert.tensor.passes.merging import is_gather
from wengert.tensor.passes.ssa import Builder, equal_indices, index_names, primed
from wengert.tensor.passes.statements import (
    SSA,
    Contract,
    Gens,
    Load,
    Pointwise,
    Statement,
    StatementForm,
    Sum2,
    form_predicates,
)


def invariants_hoisted(ssa: SSA) -> SSA:
    builder = Builder.of(replace(ssa, statements=()))
    builder.taken |= {statement.name for statement in ssa.statements}
    unused: dict[str, frozenset[int]] = {}
    for statement in ssa.statements:
        unused[statement.name] = found = _invariant_positions(statement, unused)
        if found and isinstance(statement.form, (Pointwise, Sum2, Contract)) and not is_gather(statement):
            _emit_hoisted(builder, statement, found)
        else:
            builder.statements[statement.name] = statement
    return builder.ssa(ssa.output)


def _invariant_positions(statement: Statement, unused: dict[str, frozenset[int]]) -> frozenset[int]:
    """The positions of the indices that a statement's value does not depend on."""
    form = statement.form
    free = frozenset(
        d
        for d, index in enumerate(statement.at)
        if not any(index in free_index_names(p) for p in form_predicates(form))
    )
    match form:
        case Load():
            return frozenset()
        case Pointwise(_, _, args):
            return free.intersection(*(unused[arg] for arg in args))
        case Sum2(_, x, _, y):
            return free & unused[x] & unused[y]
    return free


def _emit_hoisted(builder: Builder, statement: Statement, unused: frozenset[int]) -> None:
    """Emit a statement without its unused indices, and under its name the free repetition.

    If an unused index has an empty range, nothing is computed.
    """
    kept = tuple(gen for d, gen in enumerate(statement.gens) if d not in unused)
    somewhere = conjoin(*(at_most(1, size) for d, (_, size) in enumerate(statement.gens) if d in unused))
    once = builder.emit(kept, _hoisted_form(builder, statement.form, statement.gens, kept, somewhere))
    js = primed(kept, "j")
    builder.emit(statement.gens, Contract(js, equal_indices(js, kept), ((once, index_names(js)),)), statement.name)


def _hoisted_form(builder: Builder, form: StatementForm, gens: Gens, kept: Gens, where: Predicate) -> StatementForm:
    def first(name: str) -> str:
        """The argument at 0 in each unused index; it has the same value at all others."""
        js = primed(gens, "j")
        pins = (equal(affine(j), affine(i) if (i, n) in kept else 0) for (j, _), (i, n) in zip(js, gens, strict=True))
        return builder.emit(kept, Contract(js, conjoin(where, *pins), ((name, index_names(js)),)))

    match form:
        case Pointwise(p, f, args):
            return Pointwise(conjoin(p, where), f, tuple(map(first, args)))
        case Sum2(p, x, q, y):
            return Sum2(conjoin(p, where), first(x), conjoin(q, where), first(y))
        case Contract(sums, p, factors):
            return Contract(sums, conjoin(p, where), factors)
    raise TypeError(form)
