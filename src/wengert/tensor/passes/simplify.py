"""Simpler statements of the same value, never dearer (S8, S9 and S11 of the specification of execution).

Structural zeros and constants, copies, merged gathers, what a ⊞ need not repeat, common subexpressions, dead code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from wengert.tensor.language.predicates import FALSE, Predicate, conjoin, conjuncts, equal, exists, substituted
from wengert.tensor.language.ranges import follows
from wengert.tensor.language.terms import TRUE, affine
from wengert.tensor.passes.invariants import without_repetition
from wengert.tensor.passes.merging import is_gather, merged, without_pinned
from wengert.tensor.passes.ssa import masked_form
from wengert.tensor.passes.statements import (
    SSA,
    Contract,
    Fill,
    Map,
    Output,
    Statement,
    StatementForm,
    Sum2,
    arguments,
    canonical,
    output_names,
    with_arguments,
)

Statements = Mapping[str, Statement]


def simplified(ssa: SSA) -> SSA:
    """The program after all simplifications, repeated until nothing changes."""
    while True:
        before, ssa = ssa, constants_folded(ssa)
        for step in (without_copies, merged, without_repetition, without_duplicates, without_dead_code):
            ssa = step(ssa)
        if ssa == before:
            return ssa


def without_dead_code(ssa: SSA) -> SSA:
    wanted = set(output_names(ssa.output))
    kept = []
    for statement in reversed(ssa.statements):
        if statement.name in wanted:
            wanted.update(arguments(statement.form))
            kept.append(statement)
    return replace(ssa, statements=tuple(reversed(kept)))


def without_duplicates(ssa: SSA) -> SSA:
    """The program without common subexpressions: statements that say the same become one."""
    first: dict[Any, str] = {}
    names: dict[str, str] = {}
    kept: list[Statement] = []
    for statement in ssa.statements:
        form = _ordered(statement, with_arguments(statement.form, names), {s.name: k for k, s in enumerate(kept)})
        statement = canonical(Statement(statement.name, statement.gens, form), ssa.sizes)
        key = (statement.gens, statement.form, _exactly(statement.form))
        names[statement.name] = first.setdefault(key, statement.name)
        if names[statement.name] == statement.name:
            kept.append(statement)
    return replace(ssa, statements=tuple(kept), output=renamed(ssa.output, names))


def _exactly(form: StatementForm) -> Any:
    """A key of a form that tells 1 from 1.0 and 0.0 from -0.0, which are equal."""
    return repr(form.value) if isinstance(form, Fill) else None


def _ordered(statement: Statement, form: StatementForm, position: Mapping[str, int]) -> StatementForm:
    """The form with its operands in the order in which they are computed: + and · commute."""
    if isinstance(form, Sum2) and position[form.x] > position[form.y]:
        return Sum2(form.where1, form.y, form.where0, form.x)
    if isinstance(form, Contract):
        return replace(form, factors=tuple(sorted(form.factors, key=lambda factor: position[factor[0]])))
    return form


def renamed(output: Output, names: Mapping[str, str]) -> Output:
    if isinstance(output, str):
        return names.get(output, output)
    return tuple(renamed(part, names) for part in output)


# ---- zeros and constants ----


def constants_folded(ssa: SSA) -> SSA:
    """The program in which structural zeros vanish from sums and take products with them, and constants are put in."""
    done: dict[str, Statement] = {}
    for statement in ssa.statements:
        form = _folded(statement, done)
        done[statement.name] = canonical(Statement(statement.name, statement.gens, form), ssa.sizes)
    return replace(ssa, statements=tuple(done.values()))


def _folded(statement: Statement, done: Statements) -> StatementForm:
    match statement.form:
        case Sum2():
            return _sum(statement, statement.form, done)
        case Map(where, _, _) if where == FALSE:
            return Fill(FALSE, 0)
        case Contract(_, where, factors):
            if where == FALSE or any(_is_zero(done[name]) for name, _ in factors):
                return Fill(FALSE, 0)
            return _contraction(statement, statement.form, done)
    return statement.form


def _is_zero(statement: Statement) -> bool:
    return isinstance(statement.form, Fill) and statement.form.where == FALSE


def _sum(statement: Statement, form: Sum2, done: Statements) -> StatementForm:
    terms = ((form.where0, form.x), (form.where1, form.y))
    left = [(where, name) for where, name in terms if where != FALSE and not _is_zero(done[name])]
    if len(left) == 2:
        return form
    return masked_form(statement.gens, *left[0]) if left else Fill(FALSE, 0)


def _contraction(statement: Statement, form: Contract, done: Statements) -> StatementForm:
    """The form of a contraction with constant factors folded: a factor [p]1 is [p]."""
    for k, (name, at) in enumerate(form.factors):
        constant = done[name].form
        if isinstance(constant, Fill):
            where = conjoin(form.where, _at(constant.where, done[name], at))
            others = form.factors[:k] + form.factors[k + 1 :]
            if others and constant.value == 1:
                return without_pinned(Contract(form.sums, where, others))
            if is_gather(statement):
                return Fill(exists(form.sums, where), constant.value)
    return form


def _at(where: Predicate, statement: Statement, at: Iterable[str]) -> Predicate:
    """The predicate of a statement where it is read at these indices."""
    return substituted(where, dict(zip(statement.at, map(affine, at), strict=True)))


# ---- copies ----


def without_copies(ssa: SSA) -> SSA:
    """The program in which readers of a copy [p]·y[ī] read y.

    They may if p is true; a sum may where it is under p too, a map where it looks only there.
    """
    done: dict[str, Statement] = {}
    copies: dict[str, str] = {}
    for statement in ssa.statements:
        form = _without_copies(statement, with_arguments(statement.form, copies), done)
        done[statement.name] = Statement(statement.name, statement.gens, form)
        found = _copy(done[statement.name], done)
        if found and found[0] == TRUE:
            copies[statement.name] = found[1]
    return replace(ssa, statements=tuple(done.values()), output=renamed(ssa.output, copies))


def _without_copies(statement: Statement, form: StatementForm, done: Statements) -> StatementForm:
    match form:
        case Sum2(p, x, q, y):
            (p0, x0), (q0, y0) = (_copy(done[name], done) or (TRUE, name) for name in (x, y))
            return Sum2(conjoin(p, p0), x0, conjoin(q, q0), y0)
        case Map(where, f, args):
            return Map(where, f, tuple(_seen(where, arg, statement, done) for arg in args))
    return form


def _seen(where: Predicate, name: str, statement: Statement, done: Statements) -> str:
    """The statement behind a copy that is masked only where the map does not look."""
    found = _copy(done[name], done)
    return found[1] if found and follows(found[0], dict(statement.gens), where) else name


def _copy(statement: Statement, done: Statements) -> tuple[Predicate, str] | None:
    """(p, y) of a statement that is the copy [p]·y[ī]; else None."""
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
