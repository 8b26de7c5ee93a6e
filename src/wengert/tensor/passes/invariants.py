"""Hoist invariants out of ⊞: a statement that does not use one of its indices is computed without it (S11)."""

from __future__ import annotations

from dataclasses import replace

from wengert.tensor.language.predicates import Predicate, at_most, conjoin, equal, free_index_names
from wengert.tensor.language.terms import affine
from wengert.tensor.passes.merging import is_gather
from wengert.tensor.passes.ssa import Builder, equal_indices, names_of, primed
from wengert.tensor.passes.statements import SSA, Contract, Gens, Load, Map, Statement, StatementForm, Sum2, predicates


def without_repetition(ssa: SSA) -> SSA:
    builder = Builder.of(replace(ssa, statements=()))
    builder.taken |= {statement.name for statement in ssa.statements}
    unused: dict[str, frozenset[int]] = {}
    for statement in ssa.statements:
        unused[statement.name] = _unused(statement, unused)
        if unused[statement.name] and isinstance(statement.form, (Map, Sum2, Contract)) and not is_gather(statement):
            _emit_once(builder, statement, unused[statement.name])
        else:
            builder.statements[statement.name] = statement
    return builder.ssa(ssa.output)


def _unused(statement: Statement, unused: dict[str, frozenset[int]]) -> frozenset[int]:
    """The positions of those indices of a statement on which its value does not depend."""
    form = statement.form
    free = frozenset(
        d for d, index in enumerate(statement.at) if not any(index in free_index_names(p) for p in predicates(form))
    )
    match form:
        case Load():
            return frozenset()
        case Map(_, _, args):
            return free.intersection(*(unused[arg] for arg in args))
        case Sum2(_, x, _, y):
            return free & unused[x] & unused[y]
    return free


def _emit_once(builder: Builder, statement: Statement, unused: frozenset[int]) -> None:
    """Emit a statement without its unused indices, and under its name the repetition, which is free.

    With no place to repeat at, nothing is computed.
    """
    kept = tuple(gen for d, gen in enumerate(statement.gens) if d not in unused)
    somewhere = conjoin(*(at_most(1, size) for d, (_, size) in enumerate(statement.gens) if d in unused))
    once = builder.emit(kept, _restricted(builder, statement.form, statement.gens, kept, somewhere))
    js = primed(kept, "j")
    builder.emit(statement.gens, Contract(js, equal_indices(js, kept), ((once, names_of(js)),)), statement.name)


def _restricted(builder: Builder, form: StatementForm, gens: Gens, kept: Gens, where: Predicate) -> StatementForm:
    def first(name: str) -> str:
        """The argument where the unused indices are 0: its value wherever they stand."""
        js = primed(gens, "j")
        pins = (equal(affine(j), affine(i) if (i, n) in kept else 0) for (j, _), (i, n) in zip(js, gens, strict=True))
        return builder.emit(kept, Contract(js, conjoin(where, *pins), ((name, names_of(js)),)))

    match form:
        case Map(p, f, args):
            return Map(conjoin(p, where), f, tuple(map(first, args)))
        case Sum2(p, x, q, y):
            return Sum2(conjoin(p, where), first(x), conjoin(q, where), first(y))
        case Contract(sums, p, factors):
            return Contract(sums, conjoin(p, where), factors)
    raise TypeError(form)
