"""Simplification of statements: the same values at no more cost (S8, S9 and S11 of the specification of execution).

It folds zeros and constants, propagates copies, merges gathers, hoists invariants, and removes common subexpressions
and dead code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from wengert.tensor.language.predicates import FALSE, Predicate, conjoin, conjuncts, equal, exists, substituted
from wengert.tensor.language.ranges import follows
from wengert.tensor.language.terms import TRUE, affine
from wengert.tensor.passes.invariants import invariants_hoisted
from wengert.tensor.passes.merging import contractions_merged, is_gather, without_pinned
from wengert.tensor.passes.ssa import masked_copy
from wengert.tensor.passes.statements import (
    SSA,
    Contract,
    Fill,
    Output,
    Pointwise,
    Statement,
    StatementForm,
    Sum2,
    canonical_statement,
    form_arguments,
    output_names,
    with_form_arguments,
)

Statements = Mapping[str, Statement]


def simplified(ssa: SSA) -> SSA:
    """The program after all simplifications, repeated until nothing changes."""
    while True:
        before, ssa = ssa, constants_folded(ssa)
        for step in (without_copies, contractions_merged, invariants_hoisted, without_duplicates, without_dead_code):
            ssa = step(ssa)
        if ssa == before:
            return ssa


def without_dead_code(ssa: SSA) -> SSA:
    wanted = set(output_names(ssa.output))
    kept = []
    for statement in reversed(ssa.statements):
        if statement.name in wanted:
            wanted.update(form_arguments(statement.form))
            kept.append(statement)
    return replace(ssa, statements=tuple(reversed(kept)))


def without_duplicates(ssa: SSA) -> SSA:
    """The program without common subexpressions: equal statements become one."""
    first: dict[Any, str] = {}
    names: dict[str, str] = {}
    kept: list[Statement] = []
    for statement in ssa.statements:
        position = {s.name: k for k, s in enumerate(kept)}
        form = _operands_ordered(with_form_arguments(statement.form, names), position)
        statement = canonical_statement(Statement(statement.name, statement.gens, form), ssa.sizes)
        key = (statement.gens, statement.form, _constant_key(statement.form))
        names[statement.name] = first.setdefault(key, statement.name)
        if names[statement.name] == statement.name:
            kept.append(statement)
    return replace(ssa, statements=tuple(kept), output=renamed_output(ssa.output, names))


def _constant_key(form: StatementForm) -> Any:
    """A key that distinguishes the constants 1 and 1.0, 0.0 and -0.0, which compare equal."""
    return repr(form.value) if isinstance(form, Fill) else None


def _operands_ordered(form: StatementForm, position: Mapping[str, int]) -> StatementForm:
    """The form with its operands in the order of their statements, since + and · commute."""
    if isinstance(form, Sum2) and position[form.x] > position[form.y]:
        return Sum2(form.where1, form.y, form.where0, form.x)
    if isinstance(form, Contract):
        return replace(form, factors=tuple(sorted(form.factors, key=lambda factor: position[factor[0]])))
    return form


def renamed_output(output: Output, names: Mapping[str, str]) -> Output:
    if isinstance(output, str):
        return names.get(output, output)
    return tuple(renamed_output(part, names) for part in output)


# ---- zeros and constants ----


def constants_folded(ssa: SSA) -> SSA:
    """The program with zeros dropped from sums, products with zeros made zero, and constant factors folded."""
    done: dict[str, Statement] = {}
    for statement in ssa.statements:
        form = _folded_form(statement, done)
        done[statement.name] = canonical_statement(Statement(statement.name, statement.gens, form), ssa.sizes)
    return replace(ssa, statements=tuple(done.values()))


def _folded_form(statement: Statement, done: Statements) -> StatementForm:
    match statement.form:
        case Sum2():
            return _folded_sum(statement, statement.form, done)
        case Pointwise(where, _, _) if where == FALSE:
            return Fill(FALSE, 0)
        case Contract(_, where, factors):
            if where == FALSE or any(_is_zero(done[name]) for name, _ in factors):
                return Fill(FALSE, 0)
            return _folded_contraction(statement, statement.form, done)
    return statement.form


def _is_zero(statement: Statement) -> bool:
    return isinstance(statement.form, Fill) and statement.form.where == FALSE


def _folded_sum(statement: Statement, form: Sum2, done: Statements) -> StatementForm:
    terms = ((form.where0, form.x), (form.where1, form.y))
    left = [(where, name) for where, name in terms if where != FALSE and not _is_zero(done[name])]
    if len(left) == 2:
        return form
    return masked_copy(statement.gens, *left[0]) if left else Fill(FALSE, 0)


def _folded_contraction(statement: Statement, form: Contract, done: Statements) -> StatementForm:
    """The form of a contraction with a constant factor folded: a factor [p]1 is [p]."""
    for k, (name, at) in enumerate(form.factors):
        constant = done[name].form
        if isinstance(constant, Fill):
            where = conjoin(form.where, _predicate_at(constant.where, done[name], at))
            others = form.factors[:k] + form.factors[k + 1 :]
            if others and constant.value == 1:
                return without_pinned(Contract(form.sums, where, others))
            if is_gather(statement):
                return Fill(exists(form.sums, where), constant.value)
    return form


def _predicate_at(where: Predicate, statement: Statement, at: Iterable[str]) -> Predicate:
    """The predicate of a statement at the indices where it is read."""
    return substituted(where, dict(zip(statement.at, map(affine, at), strict=True)))


# ---- copies ----


def without_copies(ssa: SSA) -> SSA:
    """Copy propagation: the program in which readers of a copy [p]·y[ī] read y.

    Any reader may if p is true. Otherwise a sum reads y under p, and a pointwise call does if it is under p already.
    """
    done: dict[str, Statement] = {}
    copies: dict[str, str] = {}
    for statement in ssa.statements:
        form = _without_copies(statement, with_form_arguments(statement.form, copies), done)
        done[statement.name] = Statement(statement.name, statement.gens, form)
        found = _copy_source(done[statement.name], done)
        if found and found[0] == TRUE:
            copies[statement.name] = found[1]
    return replace(ssa, statements=tuple(done.values()), output=renamed_output(ssa.output, copies))


def _without_copies(statement: Statement, form: StatementForm, done: Statements) -> StatementForm:
    match form:
        case Sum2(p, x, q, y):
            (p0, x0), (q0, y0) = (_copy_source(done[name], done) or (TRUE, name) for name in (x, y))
            return Sum2(conjoin(p, p0), x0, conjoin(q, q0), y0)
        case Pointwise(where, f, args):
            return Pointwise(where, f, tuple(_behind_copy(where, arg, statement, done) for arg in args))
    return form


def _behind_copy(where: Predicate, name: str, statement: Statement, done: Statements) -> str:
    """The statement that `name` copies, if the copy is masked only where the pointwise call does not read it."""
    found = _copy_source(done[name], done)
    return found[1] if found and follows(found[0], dict(statement.gens), where) else name


def _copy_source(statement: Statement, done: Statements) -> tuple[Predicate, str] | None:
    """(p, y), if the statement is the copy [p]·y[ī]; else None."""
    form = statement.form
    if not isinstance(form, Contract) or len(form.factors) != 1:
        return None
    ((name, at),) = form.factors
    if len(at) != len(form.sums) or [n for _, n in done[name].gens] != [n for _, n in statement.gens]:
        return None
    pins = {q for i, j in zip(statement.at, at, strict=True) for q in conjuncts(equal(affine(i), affine(j)))}
    if not pins <= set(conjuncts(form.where)):
        return None
    back = {j: affine(i) for i, j in zip(statement.at, at, strict=True)}
    return substituted(form.where, back), name
